//! Compares lists of named items with a place and a type: parameters, members, fields.
use super::{Change, Side, Spelling, State, What};
use rustc_hash::FxHashMap;

/// An item of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// The name; empty for an unnamed item.
    pub name: &'a [u8],
    /// The position, or the offset.
    pub at: u64,
    /// The width of a bit-field in bits.
    pub bits: Option<u8>,
    /// Its type.
    pub of: Spelling,
}

/// The differences between two lists: items that were removed, moved, or changed their type, in the order of the first
/// list; then additions. Unnamed items are identified by their place.
pub fn compare<'a>(
    what: What,
    sides: [&Side<'_, '_>; 2],
    before: &[Item<'a>],
    after: &[Item<'a>],
    changes: &mut Vec<Change>,
) {
    if before == after {
        return;
    }
    let key = |item: &Item<'a>| (item.name, if item.name.is_empty() { item.at } else { 0 });
    // Items of the same name (in unnamed unions of several structs) are matched in order.
    let mut theirs: FxHashMap<_, Vec<&Item<'a>>> = FxHashMap::default();
    for item in after.iter().rev() {
        theirs.entry(key(item)).or_default().push(item);
    }
    let mut change = |name: &[u8], before: Option<&Item<'_>>, after: Option<&Item<'_>>| {
        let state = |side: &Side<'_, '_>, item: &Item<'_>| State::Typed {
            at: item.at,
            bits: item.bits,
            of: side.text(item.of),
        };
        changes.push(Change {
            what,
            name: String::from_utf8_lossy(name).into_owned(),
            before: before.map(|item| state(sides[0], item)),
            after: after.map(|item| state(sides[1], item)),
        });
    };
    for item in before {
        match theirs.get_mut(&key(item)).and_then(Vec::pop) {
            Some(same) if same == item => {}
            found => change(item.name, Some(item), found),
        }
    }
    for item in after {
        if let Some(rest) = theirs.get_mut(&key(item))
            && rest.last().is_some_and(|last| std::ptr::eq(*last, item))
        {
            rest.pop();
            change(item.name, None, Some(item));
        }
    }
}
