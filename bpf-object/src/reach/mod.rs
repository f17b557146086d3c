//! Which instructions of a program can be reached once its relocations are decided.
mod flow;
mod helpers;
mod memory;
mod patched;
mod pointer;
mod state;
mod value;
mod walk;

use crate::feature::Feature;
use crate::object::{CoreRelocation, FunctionId, Object};
use crate::relocate::Decision;
use crate::types::TypeId;
use patched::Patched;
pub use pointer::{AfterRead, Pointer};
use rustc_hash::FxHashSet;
use value::Value;
use walk::Walk;

/// What is known of a kernel when its externs are asked for.
pub trait Environment {
    /// The value of an option (`.kconfig`), by the number of the extern: as it stands in memory, zero-extended. `None` if
    /// it is not known: both branches then count.
    fn option(&self, external: u32) -> Option<u64>;

    /// Whether the kernel has a variable or kfunc of `.ksyms`. `None` if it is not known.
    fn exists(&self, external: u32) -> Option<bool>;

    /// Whether `const volatile` variables are taken for what the file says, as if the loader set none. Else they may be
    /// anything.
    fn takes_initial_values(&self) -> bool {
        false
    }

    /// Whether the verifier checks global subprograms only where they are called: from 6.8 on (`bpf: Validate global subprogs
    /// lazily`). Before, each that is loaded with the program is checked.
    fn checks_called_only(&self) -> bool {
        false
    }

    /// What is read from the context at an offset, both in bytes.
    fn read_of_context(&self, _offset: i32, _size: u32) -> Pointer {
        Pointer::Unknown
    }

    /// What stands in a type of the kernel, so many bytes in, where 8 bytes are read.
    fn read_of_type(&self, _id: TypeId, _offset: i32) -> Pointer {
        Pointer::Unknown
    }

    /// What `bpf_get_current_task_btf` gives.
    fn current_task(&self) -> Pointer {
        Pointer::Unknown
    }

    /// What becomes of what a helper reads on the stack.
    fn after_read(&self) -> AfterRead {
        AfterRead::Kept
    }
}

/// An environment of which nothing is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unknown;

impl Environment for Unknown {
    fn option(&self, _: u32) -> Option<u64> {
        None
    }

    fn exists(&self, _: u32) -> Option<bool> {
        None
    }
}

/// An instruction of a program or one of its subprograms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The function.
    pub function: FunctionId,
    /// The instruction within it.
    pub instruction: u32,
}

/// What the reached instructions of a program do. Everything is ascending by place, each once.
#[derive(Clone, Debug, Default)]
pub struct Reached {
    /// The relocations whose instructions are reached, by their number in
    /// [`Object::relocations`](crate::object::Object::relocations).
    pub relocations: Vec<ReachedRelocation>,
    /// Calls of helpers, by number.
    pub helpers: Vec<(Place, u32)>,
    /// Calls of kfuncs, by the number of the extern.
    pub kfuncs: Vec<(Place, u32)>,
    /// Uses of maps, by number.
    pub maps: Vec<(Place, u32)>,
    /// Uses of externs that are no calls, by number.
    pub externs: Vec<(Place, u32)>,
    /// What old kernels do not have of the instruction set.
    pub features: Vec<(Place, Feature)>,
    /// Reads of the context.
    pub context: Vec<ContextRead>,
    /// Offsets into memory of the kernel that no relocation says.
    pub plain_offsets: Vec<PlainOffset>,
    /// Loads and stores through what the verifier takes for a number: it refuses them.
    pub through_numbers: Vec<Place>,
    /// Loads and stores through what a helper may not have given: it has to be compared with null first.
    pub through_unchecked: Vec<Place>,
    /// Loads and stores where it depends on the release whether they go through a number.
    pub through_doubtful: Vec<Place>,
    /// Where the program ends with a number that is known, and the number.
    pub returns: Vec<(Place, u64)>,
    /// Whether a bound was met, and all instructions that were not seen count as reached.
    pub is_bounded: bool,
}

/// A relocation whose instruction is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReachedRelocation {
    /// Its number in [`Object::relocations`](crate::object::Object::relocations).
    pub relocation: u32,
    /// The `const volatile` variables on which that hangs; empty if it is reached whatever they are. Found only of
    /// relocations that are not applied.
    pub conditions: Vec<Assumption>,
}

/// Something that is taken to hold of a `const volatile` variable, which the loader may set before it loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Assumption {
    /// Which: the number of the image, and of the variable in it.
    pub variable: (u32, u32),
    /// Whether it still has its initial value, or another.
    pub is_initial: bool,
}

/// A read of the context: of the registers, the arguments, or the event that a program is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContextRead {
    /// Where.
    pub place: Place,
    /// From the start of the context, in bytes.
    pub offset: i32,
    /// In bytes.
    pub size: u32,
}

/// An offset that is added to a pointer of the context, or to one that is read through such a pointer, without a
/// relocation: the layout of another kernel may be another. Which pointers lead to a user's memory, or to something that
/// does not change, is not known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlainOffset {
    /// The load, or the call of a helper that reads.
    pub place: Place,
    /// In bytes, of all that is added.
    pub offset: i32,
    /// Whether a relocation went to a field first: the offset is then likely of an element in it.
    pub in_field: bool,
}

/// Follows a program through its code and subprograms, by what is known of registers, the stack, constants and relocated
/// guards. `decisions` are those of all relocations of the object.
///
/// What is not known lets both branches count. The verifier knows more (ranges of numbers), so that an instruction that it
/// finds dead may be given as reached, but not the other way round. Bounded: at most 400,000 steps, eight times that where
/// a condition is looked for.
pub fn reach<E: Environment>(
    object: &Object<'_>,
    program: FunctionId,
    decisions: &[Decision],
    environment: &E,
) -> Reached {
    let linked = object.linked(program);
    let code = Patched::new(object, &linked, decisions);
    let walk = |assumption| {
        let mut walk = Walk::new(object, &code, environment, assumption);
        walk.enter(program, Value::Context(0));
        if !environment.checks_called_only() {
            let globals = linked.iter().skip(1).filter(|&&id| object.function(id).is_global);
            globals.for_each(|&id| walk.enter_global(id));
        }
        walk.run()
    };
    let found = walk(None);
    let mut reached = Reached {
        relocations: Vec::new(),
        helpers: sorted(&found.helpers),
        kfuncs: sorted(&found.kfuncs),
        maps: sorted(&found.maps),
        externs: sorted(&found.externs),
        features: sorted(&found.features),
        context: sorted(&found.context),
        plain_offsets: sorted(&found.plain),
        through_numbers: sorted(&found.numbers),
        through_unchecked: sorted(&found.unchecked),
        through_doubtful: sorted(&found.doubtful),
        returns: sorted(&found.returns),
        is_bounded: found.is_bounded,
    };
    let place = |relocation: &CoreRelocation<'_>| Place {
        function: relocation.function,
        instruction: relocation.instruction,
    };
    for (number, relocation) in object.relocations.iter().enumerate() {
        let is_unseen = found.is_bounded && linked.contains(&relocation.function);
        if found.places.contains(&place(relocation)) || is_unseen {
            reached.relocations.push(ReachedRelocation { relocation: number as u32, conditions: Vec::new() });
        }
    }
    let is_broken = |number: u32| !matches!(decisions.get(number as usize), Some(Decision::Applied { .. }));
    if !found.is_bounded && reached.relocations.iter().any(|r| is_broken(r.relocation)) {
        for variable in sorted(&found.variables).into_iter().take(MAX_CONDITIONS) {
            for is_initial in [true, false] {
                // Not reached with the one, so it hangs on the other.
                let without = walk(Some(Assumption { variable, is_initial: !is_initial }));
                for r in reached.relocations.iter_mut().filter(|r| is_broken(r.relocation)) {
                    let place = place(&object.relocations[r.relocation as usize]);
                    if !without.is_bounded && !without.places.contains(&place) {
                        r.conditions.push(Assumption { variable, is_initial });
                    }
                }
            }
        }
    }
    reached
}

/// How many variables are tried for a condition.
const MAX_CONDITIONS: usize = 16;

fn sorted<T: Copy + Ord>(set: &FxHashSet<T>) -> Vec<T> {
    let mut all: Vec<T> = set.iter().copied().collect();
    all.sort_unstable();
    all
}
