//! How much changed from one kernel to another.
use super::surface::{Item, Items, Kind, Part, Surface};
use std::collections::BTreeMap;
use std::fmt;

/// How many things of a kind changed from one kernel to another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The number that the first kernel has.
    pub before: usize,
    /// The number that the second kernel has.
    pub after: usize,
    /// The number that only the second kernel has.
    pub added: usize,
    /// The number that only the first kernel has.
    pub removed: usize,
    /// The number that both have and that differ.
    pub changed: usize,
    /// How they differ: one thing may do so in several ways, and counts for each.
    pub how: BTreeMap<How, usize>,
}

/// A way in which a thing differs: some of its parts were changed so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct How {
    /// Of which kind the parts are.
    pub part: Part,
    /// What became of them.
    pub way: Way,
}

/// What became of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// Only the second kernel has it.
    Added,
    /// Only the first kernel has it.
    Removed,
    /// A parameter has another position.
    Moved,
    /// It has another type, or an enumerator another value.
    Changed,
}

impl fmt::Display for How {
    /// `parameter added`, `member type`, `enumerator value`, `return type`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = match self.part {
            Part::Parameter => "parameter",
            Part::Returns => return f.write_str("return type"),
            Part::Member => "member",
            Part::Enumerator => "enumerator",
            Part::Field => "field",
        };
        let way = match self.way {
            Way::Added => "added",
            Way::Removed => "removed",
            Way::Moved => "moved",
            Way::Changed if self.part == Part::Enumerator => "value",
            Way::Changed => "type",
        };
        write!(f, "{part} {way}")
    }
}

/// The changes of a kind. Both must have been read with the same spellings. Things of which one kernel does not know
/// the parts differ in nothing. Cost: linear in both.
pub fn changes(before: &Surface, after: &Surface, kind: Kind) -> Changes {
    let [one, other] = [before, after].map(|surface| surface.of(kind));
    let mut changes = Changes { before: one.len(), after: other.len(), ..Changes::default() };
    for (name, items) in one {
        match other.get(name) {
            None => changes.removed += 1,
            Some(others) => changes.compare(items, others),
        }
    }
    // Each name of the second is one of both, or new.
    changes.added = other.len() - (one.len() - changes.removed);
    changes
}

impl Changes {
    fn compare(&mut self, before: &Items, after: &Items) {
        let (Some(before), Some(after)) = (before, after) else { return };
        if before == after {
            return;
        }
        let mut ways: Vec<How> = vec![];
        let is_same = |one: &Item, other: &Item| (one.part, one.name) == (other.part, other.name);
        let mut others = after.chunk_by(is_same).peekable();
        let key = |items: &[Item]| items.first().map(|item| (item.part, item.name));
        let mut tell =
            |items: &[Item], way| ways.extend(items.first().map(|item| How { part: item.part, way }));
        for own in before.chunk_by(is_same) {
            while let Some(new) = others.next_if(|other| key(other) < key(own)) {
                tell(new, Way::Added);
            }
            let Some(same) = others.next_if(|other| key(other) == key(own)) else {
                tell(own, Way::Removed);
                continue;
            };
            let differs = |of: fn(&Item) -> u32| !own.iter().map(of).eq(same.iter().map(of));
            if differs(|item| item.value) {
                tell(own, Way::Changed);
            }
            if own.iter().map(|item| item.at).min() != same.iter().map(|item| item.at).min() {
                tell(own, Way::Moved);
            }
        }
        others.for_each(|new| tell(new, Way::Added));
        ways.sort_unstable();
        ways.dedup();
        self.changed += usize::from(!ways.is_empty());
        for how in ways {
            *self.how.entry(how).or_default() += 1;
        }
    }
}
