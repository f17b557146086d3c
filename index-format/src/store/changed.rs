//! What differs between a kernel and the one whose segment is before it, by name, as a comparison of the two found when
//! the kernel was added.
//!
//! ```text
//! functions     count, and the number of each name: the first as it is, others less the one before; LEB128
//! types         the same: structs, unions, classes and enums
//! tracepoints   the same
//! ```
//!
//! With 2 records, a `U32` with the length of a filter comes first, and the filter: see [`differing`].
//!
//! What a name has is equal in both kernels unless it is listed, so that kernels further apart differ at most in what is
//! listed between them.
use super::differing::{self, Kind};
use super::segment::{Part, Segment};
use crate::id::StrId;
use crate::varint::{Reader, put};
use zerocopy::byteorder::little_endian::U32;
use zerocopy::{FromBytes, IntoBytes};

/// The names, each list ascending by shared number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Functions.
    pub functions: Vec<StrId>,
    /// Types with members or enumerators.
    pub types: Vec<StrId>,
    /// Tracepoints, without their system.
    pub tracepoints: Vec<StrId>,
}

impl Changed {
    /// The lists as bytes.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![];
        for names in [&self.functions, &self.types, &self.tracepoints] {
            put(&mut bytes, names.len() as u64);
            let mut last = 0;
            for name in names {
                put(&mut bytes, u64::from(name.get().wrapping_sub(last)));
                last = name.get();
            }
        }
        bytes
    }
    /// What these bytes list; `None` if they are damaged.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let mut names = || {
            // Each name takes a byte or more.
            let count = usize::try_from(reader.number()).ok().filter(|n| *n <= bytes.len())?;
            let mut last = 0_u32;
            let mut next = || {
                last = last.wrapping_add(reader.number32());
                StrId::new(last)
            };
            Some((0..count).map(|_| next()).collect())
        };
        let found = Self { functions: names()?, types: names()?, tracepoints: names()? };
        (!reader.ended() && reader.rest().is_empty()).then_some(found)
    }
}

/// The records of [`Part::Changed`] without and with a filter.
const LISTS: u32 = 1;
const WITH_FILTER: u32 = 2;

/// The bytes of [`Part::Changed`], and how many records it has.
pub fn part(changed: &Changed, filter: Option<&[u8]>) -> (Vec<u8>, u32) {
    let lists = changed.to_bytes();
    match filter {
        None => (lists, LISTS),
        Some(filter) => ([U32::new(filter.len() as u32).as_bytes(), filter, &lists].concat(), WITH_FILTER),
    }
}

impl<'a> Segment<'a> {
    /// What differs from the kernel before; `None` if that is not known.
    pub fn changed(&self) -> Option<Changed> {
        match self.entry(Part::Changed).records.get() {
            LISTS => Changed::read(self.part(Part::Changed)),
            _ => Changed::read(self.filter()?.1),
        }
    }
    /// Whether anything of a name may differ from the kernel before, as far as that is known. Cost: a look-up.
    pub fn may_differ(&self, kind: Kind, name: &[u8]) -> bool {
        self.filter().is_none_or(|(filter, _)| differing::has(filter, kind, name))
    }
    /// The filter, and the lists behind it.
    fn filter(&self) -> Option<(&'a [u8], &'a [u8])> {
        let bytes = self.part(Part::Changed);
        let bytes = Some(bytes).filter(|_| self.entry(Part::Changed).records.get() == WITH_FILTER)?;
        let (length, rest) = U32::ref_from_prefix(bytes).ok()?;
        rest.split_at_checked(length.get() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_back_and_damaged_ones_do_not() {
        let ids = |ids: &[u32]| ids.iter().copied().map(StrId::new).collect();
        let changed =
            Changed { functions: ids(&[1, 300, 17_000_000]), types: ids(&[]), tracepoints: ids(&[0, 5]) };
        let bytes = changed.to_bytes();
        assert_eq!(bytes.len(), 1 + 1 + 2 + 4 + 1 + 1 + 1 + 1);
        assert_eq!(Changed::read(&bytes), Some(changed));
        for length in 0..bytes.len() {
            assert_eq!(Changed::read(&bytes[..length]), None, "{length} bytes");
        }
        assert_eq!(Changed::read(&[&bytes[..], &[0]].concat()), None);
        assert_eq!(Changed::read(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]), None);
    }
}
