//! Which instructions of a program can be reached once its relocations are decided.
use crate::object::{FunctionId, Object};
use crate::relocate::Decision;
use crate::section::Section;

/// What is known of a kernel when its externs are asked for.
pub trait Environment {
    /// The value of an option (`.kconfig`), by the number of the extern: as it stands in memory, zero-extended. `None` if
    /// it is not known: both branches then count.
    fn option(&self, external: u32) -> Option<u64>;

    /// Whether the kernel has a variable or kfunc of `.ksyms`. `None` if it is not known.
    fn exists(&self, external: u32) -> Option<bool>;
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
    /// Reads of the context.
    pub context: Vec<ContextRead>,
    /// Whether a bound was met, and all instructions that were not seen count as reached.
    pub is_bounded: bool,
}

/// A relocation whose instruction is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReachedRelocation {
    /// Its number in [`Object::relocations`](crate::object::Object::relocations).
    pub relocation: u32,
    /// The `const volatile` variables on whose values it may hang: image and number of the variable there. Empty if it is
    /// reached whatever they are.
    pub variables: Vec<(u32, u32)>,
}

/// A read of the context: of the registers, the arguments, or the event that a program is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContextRead {
    /// Where.
    pub place: Place,
    /// From the start of the context, in bytes.
    pub offset: i32,
    /// In bytes.
    pub size: u32,
}

/// Follows a program through its code and subprograms. `decisions` are those of all relocations of the object.
pub fn reach<E: Environment>(
    _object: &Object<'_>,
    _program: FunctionId,
    _section: Option<&Section<'_>>,
    _decisions: &[Decision],
    _environment: &E,
) -> Reached {
    todo!()
}
