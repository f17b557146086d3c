//! What the verifier takes values for that lead into memory of the kernel.
use crate::types::TypeId;

/// What the verifier takes 8 bytes for that a program reads from its context or from memory of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pointer {
    /// A number, whatever it is: the verifier refuses to follow it ("invalid mem access 'scalar'").
    Number,
    /// A pointer to a type of the kernel, so many bytes in: programs may read there.
    To(TypeId, i32),
    /// One or the other: it depends on the release in a way that is not known.
    Doubtful,
    /// Not known, and taken for a pointer.
    #[default]
    Unknown,
}

impl Pointer {
    /// The pointer so many bytes further.
    pub(super) fn plus(self, bytes: i64) -> Self {
        match self {
            Self::To(id, offset) => {
                let moved = i32::try_from(bytes).ok().and_then(|bytes| offset.checked_add(bytes));
                moved.map_or(Self::Unknown, |offset| Self::To(id, offset))
            }
            other => other,
        }
    }
}

/// What becomes of what a program keeps on its stack once a helper has read it there (`check_stack_range_initialized`,
/// kernel/bpf/verifier.c).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AfterRead {
    /// It stays what it is: since 6.14, which tells helpers that read from those that write.
    #[default]
    Kept,
    /// Pointers to types of the kernel stay, and all else becomes a number that is not known: up to 5.18.
    PointersKept,
    /// All becomes a number that is not known: 5.19 to 6.13.
    Lost,
    /// Whether pointers to types of the kernel stay is not known.
    Doubtful,
}
