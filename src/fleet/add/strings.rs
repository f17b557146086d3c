//! Shared strings.
use probeidx_format::View;
use probeidx_format::store::Kernel;
use probeidx_format::store::paths;
use probeidx_format::store::segment::Part;
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;

/// The strings of a kernel.
pub struct Strings {
    /// By the position of a string's first byte: its shared number, or `u32::MAX` between strings.
    pub numbers: Vec<u32>,
    /// Those that no kernel before has, sorted and NUL-terminated.
    pub new: Vec<u8>,
    /// The number of the first byte of them.
    pub first: u32,
    /// The numbers of strings that are none of the index.
    pub others: FxHashMap<Vec<u8>, u32>,
}

/// In place of the position of a text that is no string of the index.
const NO_STRING: u32 = u32::MAX;

/// Finds all strings among those of the kernel before. Cost: linear in the strings of both.
/// `others` are texts that are no strings of the index.
pub fn share(view: &View<'_>, before: Option<&Kernel<'_>>, texts: &[Vec<u8>]) -> Strings {
    let mut known: FxHashMap<&[u8], u32> = FxHashMap::default();
    for (strings, first) in before.iter().flat_map(|kernel| kernel.strings()) {
        known.extend(each(strings).map(|(at, string)| (string, first + at)));
    }
    let release = view.release();
    let objects: FxHashSet<u32> = view.objects.iter().map(|o| o.path.get()).collect();
    let first = view.objects.first().map_or(&[][..], |object| view.string(object.path));
    let own: Vec<(u32, Cow<'_, [u8]>)> = each(view.strings())
        .map(|(at, string)| match objects.contains(&at) {
            true => (at, Cow::Owned(paths::shared(string, release, first))),
            false => (at, Cow::Borrowed(string)),
        })
        .collect();
    let mut numbers = vec![u32::MAX; view.strings().len()];
    let mut others: FxHashMap<Vec<u8>, u32> = FxHashMap::default();
    let mut missing: Vec<(&[u8], u32)> = vec![];
    for (at, string) in &own {
        match known.get(&string[..]) {
            Some(number) => numbers[*at as usize] = *number,
            None => missing.push((string, *at)),
        }
    }
    let options = view.options().flat_map(|(name, value)| [name, value]);
    for text in options.chain(texts.iter().map(|text| &text[..])) {
        match known.get(text) {
            Some(number) => drop(others.insert(text.to_vec(), *number)),
            None => missing.push((text, NO_STRING)),
        }
    }
    missing.sort_unstable();
    let first = before.map_or(0, |kernel| kernel.end(Part::Strings));
    let mut new = vec![];
    let mut last: Option<(&[u8], u32)> = None;
    for (string, at) in missing {
        let number = match last {
            Some((same, number)) if same == string => number,
            _ => {
                let number = first + new.len() as u32;
                new.extend_from_slice(string);
                new.push(0);
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
    Strings { numbers, new, first, others }
}

/// The strings with their positions.
fn each(strings: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let length = memchr::memchr(0, strings.get(at..)?)?;
        let string = &strings[at..at + length];
        at += length + 1;
        Some(((at - length - 1) as u32, string))
    })
}
