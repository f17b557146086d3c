//! What differs between a kernel and the one whose segment is before it, by name, as a comparison of the two found when
//! the kernel was added.
//!
//! ```text
//! functions     count, and the number of each name: the first as it is, others less the one before; LEB128
//! types         the same: structs, unions, classes and enums
//! tracepoints   the same
//! ```
//!
//! What a name has is equal in both kernels unless it is listed, so that kernels further apart differ at most in what is
//! listed between them.
use super::segment::{Part, Segment};
use crate::id::StrId;
use crate::varint::{Reader, put};

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
    /// The bytes of [`Part::Changed`].
    pub fn to_bytes(&self) -> Vec<u8> {
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

impl Segment<'_> {
    /// What differs from the kernel before; `None` if that is not known.
    pub fn changed(&self) -> Option<Changed> {
        (self.entry(Part::Changed).records.get() == 1).then(|| Changed::read(self.part(Part::Changed)))?
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
