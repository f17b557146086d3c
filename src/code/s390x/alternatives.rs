//! Instructions that depend on the processor or boot options (`__apply_alternatives`,
//! arch/s390/kernel/alternative.c). A replacement has the length of the original, but its instructions may start
//! elsewhere.
use super::Opcodes;
use super::decode::{Start, instructions};
use crate::code::SiteFacts;
use crate::code::sites::site;
use crate::code::text::Text;
use probeidx_format::record::SiteKind;

/// Code and its replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Alternative {
    pub start: u32,
    pub length: u8,
    pub replacement: u32,
}

/// The places that can be probed with some alternatives only. `all` are the entries of the table.
pub fn differing(mut all: Vec<Alternative>, text: &Text<'_>, opcodes: Option<&Opcodes>) -> Vec<SiteFacts> {
    all.sort_unstable();
    let mut found = vec![];
    let mut end = 0;
    for group in all.chunk_by(|a, b| a.start == b.start) {
        let (start, length) = (group[0].start, group[0].length);
        let longest = group.iter().map(|a| a.length).max().unwrap_or(0);
        let whole = |at: u32| text.at(at).and_then(|code| code.get(..usize::from(length)));
        let variants: Option<Vec<&[u8]>> =
            std::iter::once(start).chain(group.iter().map(|a| a.replacement)).map(whole).collect();
        match variants.filter(|_| longest == length && start >= end) {
            Some(variants) => differ(start, &variants, opcodes, &mut found),
            // Which of the overlapping replacements apply depends on their order.
            None => found.push(site(start, longest, SiteKind::PatchedWhole)),
        }
        end = end.max(start.saturating_add(longest.into()));
    }
    found
}

/// Appends the offsets at which the variants differ.
fn differ(start: u32, variants: &[&[u8]], opcodes: Option<&Opcodes>, found: &mut Vec<SiteFacts>) {
    let starts = |code: &[u8]| {
        let mut starts: Vec<Option<Start>> = vec![None; code.len()];
        instructions(code, opcodes).for_each(|(at, _, found)| starts[at as usize] = Some(found));
        starts
    };
    let Some((own, others)) = variants.split_first() else { return };
    let (own, others) = (starts(own), others.iter().map(|code| starts(code)).collect::<Vec<_>>());
    let differs = |at: &u32| others.iter().any(|other| other[*at as usize] != own[*at as usize]);
    let places = (0..own.len() as u32).filter(differs);
    found.extend(places.map(|at| site(start.saturating_add(at), 1, SiteKind::PatchedWhole)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_places_that_differ_depend_on_the_processor() {
        let places = |variants: &[&[u8]]| {
            let mut found = vec![];
            differ(100, variants, None, &mut found);
            found.iter().map(|s| s.start).collect::<Vec<_>>()
        };
        // One no-op of six bytes, or one jump: no difference.
        assert_eq!(places(&[&[0xc0, 4, 0, 0, 0, 0], &[0xc0, 0xf4, 0, 0, 0, 9]]), [0; 0]);
        // Three of two bytes.
        assert_eq!(places(&[&[0xc0, 4, 0, 0, 0, 0], &[7, 0, 7, 0, 7, 0]]), [102, 104]);
        // One that cannot be probed.
        assert_eq!(places(&[&[0x47, 0, 0, 0], &[0x83, 0, 0, 0x44]]), [100]);
        // Decoding ends at a breakpoint.
        assert_eq!(places(&[&[7, 0, 7, 0], &[0, 2, 7, 0]]), [102]);
    }
}
