//! Paths through types: `file->f_path.dentry`, `struct task_struct.comm[3]`.

pub(crate) use super::member_walk::position;
pub use super::member_walk::{Position, walk, walk_path};

use probeidx_format::id::TypeId;

/// One operation on an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Read the pointer at the address, and continue at the address that it holds.
    Deref,
    /// Add this many bytes. A negative distance is its two's complement.
    Add(u64),
}

/// The result of walking a path. Two additions never follow one another, and none adds 0 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walked {
    /// The operations, in order.
    pub moves: Vec<Move>,
    /// The type at the end; `None` for void.
    pub type_id: Option<TypeId>,
    /// If `type_id` is an array, the number of its dimensions already indexed, outermost first: `a[1]` of `int a[2][3]`
    /// is the type of `a` with 1.
    pub indexed: usize,
    /// For a bit-field, its first bit in the storage unit of its type, and its width. Bits are counted from the lowest
    /// or, on big-endian machines, from the highest. In a packed struct, the bit-field can extend beyond the storage
    /// unit.
    pub bits: Option<(u32, u32)>,
}

/// What is at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// `None` for void.
    pub type_id: Option<TypeId>,
    /// The offset in bytes from the start of the outermost object since the last pointer was read.
    pub offset: u64,
    /// As in [`Walked`].
    pub bits: Option<(u32, u32)>,
}

impl Walked {
    /// The place within the root, or within the object that the last pointer pointed to.
    pub fn place(&self) -> Place {
        let offset = match self.moves.last() {
            Some(Move::Add(bytes)) => *bytes,
            _ => 0,
        };
        Place { type_id: self.type_id, offset, bits: self.bits }
    }
}
