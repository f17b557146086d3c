//! Chooses which of a line's addresses to probe.
use probeidx_format::id::{ObjectId, PlaceId, StrId};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// An address of a line, with the properties it is ranked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The object that holds the address.
    pub object: ObjectId,
    /// The address, as a [`Pc`](probeidx_format::id::Pc).
    pub pc: u32,
    /// The function or inlined copy that the line belongs to at this address.
    pub copy: Option<PlaceId>,
    /// The source file, as the line table has it.
    pub file: StrId,
    /// From 1.
    pub line: u32,
    /// Whether `register_kprobe` accepts it.
    pub can_be_probed: bool,
    /// How many of the requested variables are readable there.
    pub readable: usize,
    /// Whether the line table marks it as the start of a statement.
    pub is_stmt: bool,
}

/// The positions of the best addresses, in rising order: one for each line in each copy of its function. Addresses that
/// can be probed come first, then those with more readable variables, then recommended breakpoint locations, then the
/// lowest.
pub fn best(candidates: &[Candidate]) -> Vec<usize> {
    let worth = |c: &Candidate| (c.can_be_probed, c.readable, c.is_stmt, Reverse(c.pc));
    let mut chosen: FxHashMap<_, usize> = FxHashMap::default();
    for (at, c) in candidates.iter().enumerate() {
        let best = chosen.entry((c.object, c.copy, c.file, c.line)).or_insert(at);
        if worth(c) > worth(&candidates[*best]) {
            *best = at;
        }
    }
    let mut positions: Vec<usize> = chosen.into_values().collect();
    positions.sort_unstable();
    positions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_each_copy_has_one_best_address() {
        let plain = Candidate {
            object: ObjectId::new(0),
            pc: 100,
            copy: Some(PlaceId::new(1)),
            file: StrId::new(7),
            line: 9,
            can_be_probed: true,
            readable: 1,
            is_stmt: true,
        };
        let best_of = |others: &[Candidate]| best(&[&[plain], others].concat());
        let at = |pc| Candidate { pc, ..plain };
        assert_eq!(best(&[]), [0; 0]);
        assert_eq!(best_of(&[at(101)]), [0]);
        assert_eq!(best_of(&[at(99), at(101)]), [1]);
        assert_eq!(best_of(&[Candidate { is_stmt: false, ..at(99) }]), [0]);
        assert_eq!(best_of(&[Candidate { is_stmt: false, readable: 2, ..at(101) }]), [1]);
        assert_eq!(best_of(&[Candidate { can_be_probed: false, readable: 2, ..at(99) }]), [0]);
        let elsewhere = [
            Candidate { line: 10, ..at(99) },
            Candidate { copy: Some(PlaceId::new(2)), ..at(99) },
            Candidate { file: StrId::new(8), ..at(99) },
            Candidate { object: ObjectId::new(1), ..at(99) },
        ];
        assert_eq!(best_of(&elsewhere), [0, 1, 2, 3, 4]);
    }
}
