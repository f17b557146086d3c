//! CO-RE relocations as libbpf 1.7 decides them (`relo_core.c`, `libbpf.c`).
//!
//! The kernel's types are asked for through [`Kernel`], so that they can be raw BTF or the tables of an index.
mod candidates;
mod compatible;
mod explain;
mod matches;
mod member;
mod patch;
mod spec;
mod value;

pub use candidates::{Candidate, Kernel, KernelBtf, KernelObject, Scope};
pub use explain::{Mismatch, Reason};
pub use patch::{POISON, Patch};

use crate::btf::{Btf, RelocationKind};
use crate::bytes::ByteOrder;
use crate::instruction::Instruction;
use crate::object::{CoreRelocation, Object};
use crate::types::{TypeId, Types, essential};
use compatible::Budget;
use rustc_hash::FxHashMap;
use spec::Spec;
use value::{Outcome, Value};

/// How a relocation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The instruction is patched.
    Applied {
        /// What stood in the instruction.
        original: u64,
        /// What stands there now. Of a guard 0 or 1.
        new: u64,
        /// The instruction as it is loaded.
        patch: Patch,
    },
    /// The instruction becomes a call that the verifier refuses if it is reached: [`POISON`].
    Poisoned(Poison),
    /// libbpf does not load the object.
    Failed(Failure),
}

/// Why an instruction is poisoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poison {
    /// No type of the kernel has what is asked for: [`Relocator::explain`] says what is missing.
    NoMatch,
    /// It is there, of another width, and is neither an unsigned number nor a pointer.
    Width {
        /// In the object, in bytes.
        original: u32,
        /// In the kernel, in bytes.
        new: u32,
    },
}

/// Why a relocation fails altogether.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The record is damaged, or of a kind that libbpf 1.7 does not know.
    BadRecord,
    /// Types without a name cannot be looked for.
    Anonymous,
    /// Several types of the kernel fit, and the field is elsewhere in each: the first and the next offset, in bits.
    AmbiguousOffset(u32, u32),
    /// Several types of the kernel fit, with different results.
    AmbiguousValue(u64, u64),
    /// A type of the kernel nests too deep or has no size.
    BadTarget,
    /// Nothing that can be asked of such a member or access: a bit-field over more than 64 bits, a shift of an array.
    NotApplicable,
    /// The instruction does not have the value that the object's own types give.
    UnexpectedValue {
        /// What stands there.
        found: u64,
        /// What should.
        expected: u64,
    },
    /// The offset exceeds the 15 bits of a load or store.
    TooFar(u64),
    /// The instruction moves another number of bytes than the field has.
    UnexpectedWidth,
    /// The instruction cannot be relocated.
    BadInstruction,
    /// Comparing the types takes more steps than any types of C: damaged, or made to do so.
    TooComplex,
}

/// Decides the relocations of one object on one kernel.
///
/// The order of questions matters, as in libbpf: of several types of a name, those that did not have what an earlier
/// relocation wanted are not asked again for the same type of the object.
#[derive(Debug)]
pub struct Relocator<'o, 'a, K> {
    btf: &'o Btf<'a>,
    order: ByteOrder,
    kernel: &'o K,
    cache: FxHashMap<TypeId, Vec<Candidate>>,
    budget: Budget,
}

/// Whether two types may stand for each other, names aside: `bpf_core_types_are_compat`, by which libbpf compares the prototype
/// of a kfunc with the kernel's. `None` where it cannot be said.
pub fn are_compatible<L: Types, T: Types>(
    local: &L,
    local_id: TypeId,
    target: &T,
    target_id: TypeId,
) -> Option<bool> {
    let mut budget = Budget::new();
    budget.next();
    compatible::types(local, local_id, target, target_id, compatible::MAX_NESTING, &mut budget).ok()
}

/// Decides all relocations of an object, in its order. One step per relocation and candidate.
///
/// libbpf leaves out the programs that it does not load ([`autoload`](crate::object::Function::autoload)): these are
/// decided after the others, so that they change nothing for them.
pub fn relocate<K: Kernel>(object: &Object<'_>, kernel: &K) -> Vec<Decision> {
    let Some(btf) = &object.btf else { return Vec::new() };
    let mut relocator = Relocator::new(btf, object.byte_order(), kernel);
    let mut decisions = vec![Decision::Failed(Failure::BadRecord); object.relocations.len()];
    for autoload in [true, false] {
        for (relocation, decision) in object.relocations.iter().zip(&mut decisions) {
            let function = object.function(relocation.function);
            if function.autoload == autoload {
                *decision = relocator.decide(relocation, &function.code[relocation.instruction as usize..]);
            }
        }
    }
    decisions
}

impl<'o, 'a, K: Kernel> Relocator<'o, 'a, K> {
    /// A relocator of an object with these types and this byte order.
    pub fn new(btf: &'o Btf<'a>, order: ByteOrder, kernel: &'o K) -> Self {
        Self { btf, order, kernel, cache: FxHashMap::default(), budget: Budget::new() }
    }

    /// Decides a relocation of the first of these instructions. The second is needed for loads of 64-bit constants.
    pub fn decide(&mut self, relocation: &CoreRelocation<'_>, code: &[Instruction]) -> Decision {
        match self.outcome(relocation) {
            Ok(outcome) => patch::apply(&outcome, code),
            Err(failure) => Decision::Failed(failure),
        }
    }

    /// Why nothing of the kernel fits a relocation: of the candidate that comes nearest. `None` where one does.
    pub fn explain(&self, relocation: &CoreRelocation<'_>) -> Option<Reason> {
        explain::explain(self.btf, self.kernel, relocation)
    }

    /// `bpf_core_calc_relo_insn` of libbpf 1.7.
    fn outcome(&mut self, relocation: &CoreRelocation<'_>) -> Result<Outcome, Failure> {
        let kind = relocation.kind.map_err(|_| Failure::BadRecord)?;
        let local = Spec::parse(self.btf, relocation.type_id, relocation.access, kind)?;
        if kind == RelocationKind::TypeIdLocal {
            let id = u64::from(relocation.type_id.0);
            return Ok(Outcome { original: Value::of(id), new: Value::of(id), ..Outcome::unchecked() });
        }
        let root = self.btf.get(relocation.type_id).ok_or(Failure::BadRecord)?;
        if root.name.is_empty() {
            return Err(Failure::Anonymous);
        }
        let kernel = self.kernel;
        let candidates = self
            .cache
            .entry(relocation.type_id)
            .or_insert_with(|| candidates::find(kernel, essential(root.name), root.kind));
        let mut decided: Option<(u32, Outcome)> = None;
        let mut matching = Vec::new();
        for &candidate in candidates.iter() {
            let Some(types) = kernel.types(candidate.object) else { continue };
            let Some(target) = matches::find(self.btf, &local, types, candidate.id, &mut self.budget)? else {
                continue;
            };
            let outcome = value::outcome(kind, self.btf, &local, types, Some(&target), self.order)?;
            match &decided {
                None => decided = Some((target.bit_offset, outcome)),
                Some((offset, _)) if *offset != target.bit_offset => {
                    return Err(Failure::AmbiguousOffset(*offset, target.bit_offset));
                }
                Some((_, first))
                    if first.poison != outcome.poison || first.new.value != outcome.new.value =>
                {
                    return Err(Failure::AmbiguousValue(first.new.value, outcome.new.value));
                }
                Some(_) => {}
            }
            matching.push(candidate);
        }
        match decided {
            Some((_, outcome)) => {
                *candidates = matching;
                Ok(outcome)
            }
            None => value::outcome(kind, self.btf, &local, self.btf, None, self.order),
        }
    }
}
