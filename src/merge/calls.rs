//! Gathers the calls of all batches. What they name is found when the symbols are known: see `link::calls`.
use super::functions::Functions;
use super::{Resolved, bases};
use crate::dwarf::facts::Callee;
use probeidx_format::id::{FunctionId, PlaceId, StrId};

/// A call from a placement.
#[derive(Clone, Copy)]
pub struct Call {
    pub callee: Named,
    /// The placement that contains it.
    pub place: PlaceId,
    pub pc: u32,
    pub is_tail: bool,
}

/// What a call names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Named {
    Function(FunctionId),
    Symbol(StrId),
    /// Of the same object.
    At(u32),
}

/// The calls by object, in the order of the debug information.
pub(super) fn merge(batches: &[Resolved<'_>], functions: &Functions) -> Vec<Call> {
    let place_bases = bases(batches.iter().map(|b| b.batch.places.len()));
    let mut calls = Vec::with_capacity(batches.iter().map(|b| b.batch.calls.len()).sum());
    for (at, b) in batches.iter().enumerate() {
        calls.extend(b.batch.calls.iter().map(|call| Call {
            callee: match call.callee {
                Callee::Function(function) => Named::Function(functions.id(at, function)),
                Callee::Named(name) => Named::Symbol(b.string(name)),
                Callee::At(pc) => Named::At(pc),
            },
            place: PlaceId::new(call.place + place_bases[at]),
            pc: call.pc,
            is_tail: call.is_tail,
        }));
    }
    calls
}
