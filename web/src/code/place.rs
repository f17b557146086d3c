//! The function that an address is in.
use crate::lines::text;
use probeidx::query::index::functions::{self, Placed};
use probeidx::query::index::{instructions, line_table, symbols};
use probeidx::query::runtime::address_map::Loaded;
use probeidx::query::spec::address;
use probeidx::query::symbolize::locate::locate;
use probeidx::{Error, ErrorKind, Result};
use probeidx_format::View;
use probeidx_format::details::Range;
use probeidx_format::id::{ObjectId, PlaceId};

/// The most bytes of code that are shown of a function; the largest of a kernel has a tenth of it.
const MOST_BYTES: u32 = 1 << 20;
/// The most parts; a function of a kernel has up to three.
const MOST_PARTS: usize = 256;
/// The most placements that are inlined into it.
const MOST_SCOPES: usize = 20_000;

/// A function whose code is shown.
pub struct Shown {
    /// What it is in.
    pub object: ObjectId,
    /// The asked address.
    pub pc: u32,
    /// The address that all others are counted from.
    pub base: u32,
    /// Its code, ascending: the split-off part has a range of its own.
    pub parts: Vec<Range>,
    /// It, then what is inlined into it, in the order of the debug information; empty if it has none.
    pub scopes: Vec<Placed>,
    /// Whether code was left out.
    pub is_cut: bool,
    /// How many functions the address could mean.
    pub meanings: usize,
}

impl Shown {
    /// Finds it: `0xffffffff8134cccc`, `vfs_read+0x7c`, `nfs:do_open`, `nfs:.text+0x3270`. Cost: a look-up, then linear in
    /// what is inlined.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for what is no address, [`ErrorKind::NoMatch`] where no code is.
    pub fn find(view: &View<'_>, asked: &str) -> Result<Self> {
        let parsed = address::parse(asked.as_bytes()).ok_or_else(|| {
            Error::new(ErrorKind::Usage, format!("{asked} is no address"))
                .hint("give a number or a symbol: 0xffffffff8134cccc, vfs_read+0x7c, nfs:do_open")
        })?;
        let none = || Error::new(ErrorKind::NoMatch, format!("no code of this kernel is at {asked}"));
        let places = locate(view, &parsed, &Loaded::moved_by(view, 0)).map_err(|_| none())?;
        let is_code = |&(object, pc): &(ObjectId, u32)| {
            symbols::section(view, object, pc).is_some_and(symbols::is_executable)
        };
        let mut found = places.iter().copied().filter(is_code);
        let (object, pc) = found.next().ok_or_else(none)?;
        let mut shown = Self::of(view, object, pc).ok_or_else(none)?;
        shown.meanings += found.count();
        Ok(shown)
    }

    fn of(view: &View<'_>, object: ObjectId, pc: u32) -> Option<Self> {
        let scopes = functions::holding(view, object, pc).map_or(vec![], |inner| {
            let root = functions::root(view, inner);
            let places = root.id.index() + 1..view.places_of(object).end;
            let inlined = places.map_while(|at| {
                let record = view.places.get(at)?;
                let inner = Placed { id: PlaceId::new(at as u32), record };
                (view.outer(inner.id, record)? >= root.id).then_some(inner)
            });
            std::iter::once(root).chain(inlined.take(MOST_SCOPES)).collect()
        });
        let (base, parts) = match scopes.first() {
            Some(root) => (root.record.entry.get(), view.details(root.id, root.record).ranges.collect()),
            None => {
                let held = symbols::holding(view, object, pc)?;
                let start = held.record.pc.get();
                let size = symbols::reach(view, object, held.record).size.max(1);
                (start, vec![Range { start, end: start.checked_add(size)? }])
            }
        };
        let (parts, is_cut) = bounded(parts);
        Some(Self { object, pc, base, parts, scopes, is_cut, meanings: 1 })
    }

    /// An address as a number of bytes from the base.
    pub fn offset(&self, pc: u32) -> i64 {
        i64::from(pc) - i64::from(self.base)
    }

    /// Where instructions start, with the end of each: of the index; where it has read no code, where lines start.
    pub fn instructions(&self, view: &View<'_>) -> Vec<Range> {
        let mut all = vec![];
        for part in &self.parts {
            let mut starts: Vec<u32> = instructions::starts(view, self.object, *part).collect();
            if starts.is_empty() {
                let rows = line_table::within(view, self.object, *part);
                starts = rows.iter().map(|row| row.pc.max(part.start)).collect();
                starts.insert(0, part.start);
                starts.dedup();
            }
            let ends = starts.iter().skip(1).copied().chain([part.end]);
            all.extend(starts.iter().zip(ends).map(|(start, end)| Range { start: *start, end }));
        }
        all
    }

    /// Whether the index knows where instructions start.
    pub fn has_boundaries(&self, view: &View<'_>) -> bool {
        self.parts.iter().any(|part| instructions::starts(view, self.object, *part).next().is_some())
    }

    /// The name of the module; `None` for vmlinux.
    pub fn module(&self, view: &View<'_>) -> Option<String> {
        let name = view.objects.get(self.object.index()).map(|object| text(view.string(object.name)));
        name.filter(|name| !name.is_empty())
    }
}

/// Ascending, without what is beyond the bound.
fn bounded(mut parts: Vec<Range>) -> (Vec<Range>, bool) {
    parts.retain(|part| part.start < part.end);
    parts.sort_unstable_by_key(|part| part.start);
    parts.dedup();
    let mut left = MOST_BYTES;
    let mut is_cut = parts.len() > MOST_PARTS;
    parts.truncate(MOST_PARTS);
    for part in &mut parts {
        let length = (part.end - part.start).min(left);
        is_cut |= part.end - part.start > length;
        part.end = part.start + length;
        left -= length;
    }
    parts.retain(|part| part.start < part.end);
    (parts, is_cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_bounded() {
        let range = |start, end| Range { start, end };
        assert_eq!(
            bounded(vec![range(9, 12), range(4, 6), range(7, 7)]),
            (vec![range(4, 6), range(9, 12)], false)
        );
        let (parts, is_cut) = bounded(vec![range(0, MOST_BYTES - 1), range(u32::MAX - 9, u32::MAX)]);
        assert_eq!((parts[1], is_cut), (range(u32::MAX - 9, u32::MAX - 8), true));
        assert!(bounded(vec![]).0.is_empty());
    }
}
