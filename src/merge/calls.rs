//! Gathers the calls of all batches. What they name is found when the symbols are known: see `link::calls`.
use super::Resolved;
use super::functions::Functions;
use super::order::Order;
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
pub(super) fn merge(batches: &[Resolved<'_>], order: &Order, functions: &Functions) -> Vec<Call> {
    let mut calls = Vec::with_capacity(batches.iter().map(|b| b.batch.calls.len()).sum());
    for part in &order.parts {
        let (at, b) = (part.of.0, &batches[part.of.0]);
        let all = &b.batch.calls;
        let starts_before = |place: usize| all.partition_point(|call| (call.place as usize) < place);
        let own = &all[starts_before(part.places.start)..starts_before(part.places.end)];
        calls.extend(own.iter().map(|call| Call {
            callee: match call.callee {
                Callee::Function(function) => Named::Function(functions.id(at, function)),
                Callee::Named(name) => Named::Symbol(b.string(name)),
                Callee::At(pc) => Named::At(pc),
            },
            place: PlaceId::new(call.place.wrapping_add(part.by.place)),
            pc: call.pc,
            is_tail: call.is_tail,
        }));
    }
    calls
}
