//! The records of a table side by side, for walks: one is then read in less time than one of an index.
use super::Kernel;
use crate::store::runs::Hints;
use crate::store::runs::later::Later;
use crate::store::segment::Space;
use crate::store::translate::Shared;

/// The tables of a kernel, each put side by side when enough of its records were searched for to pay for it.
pub struct SideBySide(Vec<Later<Box<[u8]>>>);

/// How many records of a table are searched for in the time of reading so many one after another.
const WORTH: u32 = 4;
/// The most bytes of a table that is put side by side. What a kernel has is a tenth of it; only a damaged segment has more.
const MOST: usize = 256 << 20;

impl SideBySide {
    /// No table yet, given the number of records of each.
    pub fn new(records: impl Fn(Space) -> u32) -> Self {
        Self(Space::ALL.iter().map(|space| Later::after(records(*space) / WORTH)).collect())
    }
}

impl Kernel<'_> {
    /// A record of a table that is side by side, or becomes so with this search.
    #[inline]
    pub(super) fn beside<R: Shared>(&self, at: u32, hints: &Hints) -> Option<R> {
        let table = &self.tables.0[R::SPACE as usize];
        let bytes = match table.made() {
            Some(bytes) => bytes,
            None => becoming(table, at, hints, &|| self.put_side_by_side::<R>())?,
        };
        let start = at as usize * size_of::<R>();
        R::read_from_bytes(bytes.get(start..start + size_of::<R>())?).ok()
    }
    /// All records of a table; none if one is missing, as in a damaged segment.
    #[cold]
    #[inline(never)]
    fn put_side_by_side<R: Shared>(&self) -> Box<[u8]> {
        let (length, mut hints) = (self.length(R::SPACE), Hints::default());
        let all = length as usize * size_of::<R>();
        if u64::from(length) > self.rows(R::PART) || all > MOST {
            return Box::default();
        }
        self.levels().flatten(R::SPACE);
        let mut bytes = Vec::with_capacity(all);
        for at in 0..length {
            let Some(record) = self.searched::<R>(at, &mut hints) else { return Box::default() };
            bytes.extend_from_slice(record.as_bytes());
        }
        bytes.into()
    }
}

/// A table that is side by side from this search on. The same code for all records.
#[inline(never)]
fn becoming<'t>(
    table: &'t Later<Box<[u8]>>,
    at: u32,
    hints: &Hints,
    put: &dyn Fn() -> Box<[u8]>,
) -> Option<&'t [u8]> {
    // What follows the record before it is not searched for.
    let is_searched_for = hints.rows.get(at).is_none();
    is_searched_for.then(|| table.get(put).map(|bytes| &**bytes))?
}
