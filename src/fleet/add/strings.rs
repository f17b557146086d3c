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
/// `others` are texts that are no strings of the index.
pub fn share(view: &View<'_>, before: Option<&Kernel<'_>>, texts: &[Vec<u8>]) -> Strings {
    let mut known: FxHashMap<&[u8], u32> = FxHashMap::default();
    known.reserve(before.map_or(0, |kernel| kernel.end(Part::Strings) as usize));
    for (strings, first) in before.iter().flat_map(|kernel| kernel.strings()) {
        known.extend(strings.iter().zip(first..));
    }
    let release = view.release();
    let objects: FxHashSet<u32> = view.objects.iter().map(|o| o.path.get()).collect();
    let first = view.objects.first().map_or(&[][..], |object| view.string(object.path));
    let own: Vec<Cow<'_, [u8]>> = (0..)
        .zip(view.strings().iter())
        .map(|(at, string)| match objects.contains(&at) {
            true => Cow::Owned(paths::shared(string, release, first)),
            false => Cow::Borrowed(string),
        })
        .collect();
    let mut numbers = vec![u32::MAX; own.len()];
    let mut others: FxHashMap<Vec<u8>, u32> = FxHashMap::default();
    let mut missing: Vec<(&[u8], u32)> = vec![];
    for (at, string) in own.iter().enumerate() {
        match known.get(&string[..]) {
            Some(number) => numbers[at] = *number,
            None => missing.push((string, at as u32)),
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
