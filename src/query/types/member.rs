//! Ways through types: `file->f_path.dentry`, `struct task_struct.comm[3]`.

pub(crate) use super::member_walk::position;
pub use super::member_walk::{Position, walk, walk_path};

use probeidx_format::id::TypeId;

/// What is done with the address of the root on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// The pointer that stands there is read: go on at the address it has.
    Deref,
    /// Go that many bytes further. A distance back is its two's complement.
    Add(u64),
}

/// Where a way leads. Two additions never follow one another, and none is of 0 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walked {
    /// In the order in which they are made.
    pub moves: Vec<Move>,
    /// What stands there; `None` for void.
    pub type_id: Option<TypeId>,
    /// Of an array in `type_id`: how many dimensions, outermost first, were gone into. `a[1]` of `int a[2][3]` is the
    /// type of `a` with 1.
    pub indexed: usize,
    /// Of a bit-field: its first bit within the number of its type that stands there, and its width. Bits are counted from
    /// the lowest one, on big-endian machines from the highest. In a packed struct the two together can reach beyond that
    /// number.
    pub bits: Option<(u32, u32)>,
}

/// What stands where a way leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// `None` for void.
    pub type_id: Option<TypeId>,
    /// In bytes from the start of the outermost object since the last pointer was read.
    pub offset: u64,
    /// As in [`Walked`].
    pub bits: Option<(u32, u32)>,
}

impl Walked {
    /// Where it leads within the object that the last pointer led to, or the root.
    pub fn place(&self) -> Place {
        let offset = match self.moves.last() {
            Some(Move::Add(bytes)) => *bytes,
            _ => 0,
        };
        Place { type_id: self.type_id, offset, bits: self.bits }
    }
}
