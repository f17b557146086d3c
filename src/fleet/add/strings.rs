//! Shared strings.
use probeidx_format::View;
use probeidx_format::store::Kernel;
use probeidx_format::store::paths;
use probeidx_format::store::segment::Part;
use probeidx_format::strings::{self as stored, Blocks};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;

/// The strings of a kernel.
pub struct Strings {
    /// By the number of a string: its shared number.
    pub numbers: Vec<u32>,
    /// Those that no kernel before has, sorted, as they are stored.
    pub new: Vec<u8>,
    /// How many these are.
    pub count: u32,
    /// The number of the first of them.
    pub first: u32,
    /// The numbers of strings that are none of the index.
    pub others: FxHashMap<Vec<u8>, u32>,
}

/// In place of the number of a text that is no string of the index.
const NO_STRING: u32 = u32::MAX;

/// Finds all strings among those of the kernel before. Cost: linear in the strings of both.
/// `texts` are no strings of the index.
pub fn share(view: &View<'_>, before: Option<&Kernel<'_>>, texts: &[Vec<u8>]) -> Strings {
    let release = view.release();
    let objects: FxHashSet<u32> = view.objects.iter().map(|o| o.path.get()).collect();
    let first = view.objects.first().map_or(&[][..], |object| view.string(object.path));
    // Those of the index are sorted, but for the paths that are shared without the release.
    let mut own: Vec<(&[u8], u32)> = vec![];
    let mut more: Vec<(Cow<'_, [u8]>, u32)> = vec![];
    for (at, string) in (0..).zip(view.strings().iter()) {
        match objects.contains(&at) {
            true => more.push((Cow::Owned(paths::shared(string, release, first)), at)),
            false => own.push((string, at)),
        }
    }
    let mut numbers = vec![u32::MAX; own.len() + more.len()];
    let options = view.options().flat_map(|(name, value)| [name, value]);
    let texts = options.chain(texts.iter().map(|text| &text[..]));
    more.extend(texts.map(|text| (Cow::Borrowed(text), NO_STRING)));
    let mut more: Vec<(&[u8], u32)> = more.iter().map(|(text, at)| (&text[..], *at)).collect();
    more.sort_unstable();
    let mut others: FxHashMap<Vec<u8>, u32> = FxHashMap::default();
    let mut missing: Vec<(&[u8], u32)> = vec![];
    for sorted in [&own, &more] {
        for ((text, at), number) in sorted.iter().zip(known(before, sorted)) {
            match number {
                None => missing.push((text, *at)),
                Some(number) if *at == NO_STRING => drop(others.insert(text.to_vec(), number)),
                Some(number) => numbers[*at as usize] = number,
            }
        }
    }
    missing.sort_unstable();
    let first = before.map_or(0, |kernel| kernel.end(Part::Strings));
    let mut new: Vec<&[u8]> = vec![];
    let mut last: Option<(&[u8], u32)> = None;
    for (string, at) in missing {
        let number = match last {
            Some((same, number)) if same == string => number,
            _ => {
                let number = first + new.len() as u32;
                new.push(string);
                number
            }
        };
        last = Some((string, number));
        if at == NO_STRING {
            others.insert(string.to_vec(), number);
        } else {
            numbers[at as usize] = number;
        }
    }
    let count = new.len() as u32;
    let new = if new.is_empty() { vec![] } else { stored::section(&[Blocks::of(new)]) };
    Strings { numbers, new, count, first, others }
}

/// The numbers of sorted texts among the strings of the kernel before, of which each segment has its own sorted.
fn known(before: Option<&Kernel<'_>>, texts: &[(&[u8], u32)]) -> Vec<Option<u32>> {
    let mut numbers = vec![None; texts.len()];
    for (strings, first) in before.iter().flat_map(|kernel| kernel.strings()) {
        let mut at = 0;
        for (string, number) in strings.iter().zip(first..) {
            at = skip(texts, at, string);
            while texts.get(at).is_some_and(|(text, _)| *text == string) {
                numbers[at] = Some(number);
                at += 1;
            }
        }
    }
    numbers
}

/// The first of the sorted texts from a position on that is not before a string. Cost: the logarithm of its distance.
fn skip(texts: &[(&[u8], u32)], from: usize, string: &[u8]) -> usize {
    let is_before = |at: usize| texts.get(at).is_some_and(|(text, _)| *text < string);
    let (mut start, mut step) = (from, 1);
    while is_before(start + step - 1) {
        start += step;
        step *= 2;
    }
    let end = (start + step - 1).min(texts.len());
    start + texts[start.min(end)..end].partition_point(|(text, _)| *text < string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_skipped_is_before() {
        let texts: Vec<(&[u8], u32)> =
            [&b"a"[..], b"b", b"b", b"d", b"f", b"g", b"h", b"h", b"x"].map(|text| (text, 0)).to_vec();
        for from in 0..=texts.len() {
            for string in [&b""[..], b"a", b"aa", b"b", b"c", b"g", b"h", b"w", b"x", b"z"] {
                let wanted = (from..texts.len()).find(|at| texts[*at].0 >= string).unwrap_or(texts.len());
                assert_eq!(skip(&texts, from, string), wanted, "{from} {string:?}");
            }
        }
    }
}
