//! The symbol table embedded in a kernel image (CONFIG_KALLSYMS), found without the help of other symbols.
//!
//! scripts/kallsyms.c writes these tables one after another into `.rodata`:
//!
//! | up to 6.3 | from 6.4 on | what it is |
//! | --- | --- | --- |
//! | offsets, relative_base | num_syms | 32 bits per symbol, from the base (or its address, without CONFIG_KALLSYMS_BASE_RELATIVE) |
//! | num_syms | names | number of symbols, 32 bits |
//! | names | markers | per symbol a length (two bytes from 128 on, since 6.1) and that many tokens: nm's letter, then the name |
//! | markers | token_table | start of every 256th name: 32 bits (64 before 4.20) |
//! | (seqs_of_names) | token_index | not read |
//! | token_table | offsets, relative_base | 256 NUL-terminated texts |
//! | token_index | seqs_of_names | start of each text, 16 bits |
//!
//! Each table is aligned to the size of a pointer. Since 7.0 (seen on 7.3) each is aligned to 4, and there is no
//! base: an offset is relative to its own location.
//!
//! The token table is found by ten consecutive texts that occur nowhere else: `0` to `9`. The index behind it gives
//! its start. The names are found where count, lengths and markers agree. Every table is checked against another, so
//! that no lookalike is accepted.
use super::elf::Elf;
use super::symbol_table::{ListedSymbol, SymbolTable};
use crate::error::{Error, ErrorKind, Result};
use object::{Endian, Endianness};

/// The longest name with its letter, with room to spare (KSYM_NAME_LEN is 512).
const LONGEST: usize = 1024;

/// The decoded names may be this many times longer than the section; twice is usual.
const MOST_EXPANDED: usize = 16;

/// Work limit for the search: symbols decoded per byte of the section.
const MOST_TRIED: usize = 16;

/// Every name with a multiple of this index has a marker.
const MARKED: usize = 256;

impl SymbolTable {
    /// The embedded symbols; `None` if there are none. Cost: a search through the read-only data, then all symbols;
    /// some ten milliseconds.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if the tables do not fit together.
    pub fn embedded(object: &Elf<'_>) -> Result<Option<Self>> {
        let code = || object.sections.iter().filter(|s| s.is_allocated() && s.is_executable());
        let is_code =
            |address: u64| code().any(|s| address.checked_sub(s.address()).is_some_and(|o| o < s.size()));
        for section in object.sections.iter().filter(|s| s.is_allocated() && !s.is_executable()) {
            let data = Data { bytes: section.raw(), order: object.order, address: section.address() };
            if let Some(kallsyms) = Kallsyms::find(data, is_code) {
                let kallsyms = kallsyms.map_err(|e| e.section(section.name))?;
                return Ok(Some(Self::new(object, kallsyms.symbols())));
            }
        }
        Ok(None)
    }
}

/// The embedded symbols of a kernel.
pub struct Kallsyms {
    names: Names,
    addresses: Vec<u64>,
}

impl Kallsyms {
    /// Searches data for the tables; `None` if there are none. `is_code` checks a candidate address of `_text` or
    /// `_stext`.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if the tables do not fit together.
    pub fn find(data: Data<'_>, is_code: impl Fn(u64) -> bool) -> Option<Result<Self>> {
        let tokens = Tokens::find(data)?;
        let unsupported = |what| {
            let error = Error::new(ErrorKind::Unsupported, what).offset(tokens.table as u64);
            error.hint("give the vmlinux of the debug package")
        };
        let names = Names::find(data, &tokens)
            .ok_or_else(|| unsupported("the table of the kernel's symbols has no names that fit its tokens"));
        let whole = names.and_then(|names| {
            if names.text.len() > data.bytes.len().saturating_mul(MOST_EXPANDED) {
                let what = "the names of the kernel's symbols are more than 16 times as long as its data";
                return Err(unsupported(what));
            }
            let addresses = addresses(data, &tokens, &names, is_code).ok_or_else(|| {
                unsupported("the table of the kernel's symbols has no addresses that fit its names")
            })?;
            Ok(Self { names, addresses })
        });
        Some(whole)
    }

    /// The symbols as nm would print them.
    pub fn symbols(&self) -> impl Iterator<Item = ListedSymbol<'_>> {
        self.names.iter().zip(&self.addresses).map(|(whole, address)| {
            let (letter, name) = whole.split_first().unwrap_or((&b'?', &[]));
            ListedSymbol { address: *address, letter: *letter, name }
        })
    }
}

/// Data that may hold the tables.
#[derive(Clone, Copy)]
pub struct Data<'d> {
    /// The bytes of the section, or of the whole kernel.
    pub bytes: &'d [u8],
    /// The byte order.
    pub order: Endianness,
    /// The address of the first byte.
    pub address: u64,
}

impl<'d> Data<'d> {
    fn short(self, at: usize) -> Option<u16> {
        self.bytes.get(at..)?.first_chunk().map(|b| self.order.read_u16(*b))
    }
    fn number(self, at: usize) -> Option<u32> {
        self.bytes.get(at..)?.first_chunk().map(|b| self.order.read_u32(*b))
    }
    fn long(self, at: usize) -> Option<u64> {
        self.bytes.get(at..)?.first_chunk().map(|b| self.order.read_u64(*b))
    }
    /// A number of 4 or 8 bytes.
    fn word(self, at: usize, size: usize) -> Option<u64> {
        if size == 4 { self.number(at).map(u64::from) } else { self.long(at) }
    }
}

/// The texts of which names are composed.
struct Tokens<'d> {
    texts: Vec<&'d [u8]>,
    /// Start of their table, and end of the index behind it.
    table: usize,
    end: usize,
}

impl<'d> Tokens<'d> {
    fn find(data: Data<'d>) -> Option<Self> {
        const DIGITS: &[u8] = b"0\x001\x002\x003\x004\x005\x006\x007\x008\x009\x00";
        memchr::memmem::find_iter(data.bytes, DIGITS).find_map(|at| Self::around(data, at))
    }

    /// The table with the text `0` at this offset, if the index behind it agrees.
    fn around(data: Data<'d>, zero: usize) -> Option<Self> {
        const DIGIT: usize = b'0' as usize;
        let mut ends = memchr::memchr_iter(0, &data.bytes[zero..]).map(|nul| zero + nul + 1);
        let end = ends.nth(255 - DIGIT)?;
        let starts_at = |index: usize| {
            let entry = |n: usize| data.short(index + 2 * n).map(usize::from);
            let table = zero.checked_sub(entry(DIGIT)?)?;
            let mut texts = Vec::with_capacity(256);
            let mut due = table;
            for n in 0..256 {
                let start = table + entry(n)?;
                let text = &data.bytes[start.min(end)..end];
                let text = &text[..memchr::memchr(0, text)?];
                (start == due).then_some(())?;
                due = start + text.len() + 1;
                texts.push(text);
            }
            (due == end).then_some(Self { texts, table, end: index + 512 })
        };
        (end..end + 8).filter(|at| at.is_multiple_of(4)).find_map(starts_at)
    }
}

/// The names of all symbols, each preceded by its letter.
struct Names {
    text: Vec<u8>,
    ends: Vec<usize>,
    /// Offset of the number of symbols.
    count_at: usize,
    /// Alignment of the tables: 4 or 8 bytes.
    aligned: usize,
}

impl Names {
    /// Finds the number of symbols, and names that end where the markers require.
    fn find(data: Data<'_>, tokens: &Tokens<'_>) -> Option<Self> {
        let mut left = data.bytes.len().saturating_mul(MOST_TRIED);
        for count_at in (0..tokens.table.saturating_sub(16)).step_by(4) {
            let count = data.number(count_at)? as usize;
            // No name is empty, so zeros can only be padding.
            let aligned = if data.number(count_at + 4) == Some(0) { 8 } else { 4 };
            let is_likely = (2..data.bytes.len()).contains(&count) && count_at.is_multiple_of(aligned);
            if !is_likely || !starts_with_letter(data.bytes, count_at + aligned, tokens) {
                continue;
            }
            if let Some(names) = Self::at(data, count_at, count, aligned, tokens, &mut left) {
                return Some(names);
            }
            if left == 0 {
                break;
            }
        }
        None
    }

    fn at(
        data: Data<'_>,
        count_at: usize,
        count: usize,
        aligned: usize,
        tokens: &Tokens<'_>,
        left: &mut usize,
    ) -> Option<Self> {
        let first = count_at + aligned;
        let mut names = Self { text: vec![], ends: vec![], count_at, aligned };
        let mut markers = vec![];
        let mut at = first;
        for n in 0..count {
            if n.is_multiple_of(MARKED) {
                markers.push(at - first);
            }
            let entry = entry(data.bytes, at)?;
            *left = left.checked_sub(entry.len() + 1).unwrap_or(0);
            at = entry.as_ptr_range().end as usize - data.bytes.as_ptr() as usize;
            let start = names.text.len();
            for token in entry {
                names.text.extend_from_slice(tokens.texts[usize::from(*token)]);
            }
            let length = names.text.len() - start;
            let fits = (2..=LONGEST).contains(&length) && is_letter(names.text[start]);
            if !fits || at > tokens.table || *left == 0 || names.text.len() > data.bytes.len() * MOST_EXPANDED
            {
                return None;
            }
            names.ends.push(names.text.len());
        }
        let behind = at.next_multiple_of(aligned);
        let are = |size: usize| {
            // The token table follows, directly or after three bytes per symbol (seqs_of_names).
            let end = (behind + size * markers.len()).next_multiple_of(aligned);
            let is_next = [end, end + (3 * count).next_multiple_of(aligned)].contains(&tokens.table);
            let is_there = |(n, m): (usize, &usize)| data.word(behind + size * n, size) == Some(*m as u64);
            is_next && markers.iter().enumerate().all(is_there)
        };
        (are(4) || are(8)).then_some(names)
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.text[start..*end])
    }
}

/// The tokens of a name whose length is at `at`.
fn entry(data: &[u8], at: usize) -> Option<&[u8]> {
    let low = usize::from(*data.get(at)?);
    // Since 6.1 (73bbb94466fd), names may have more than 127 tokens.
    let (length, start) = match low & 0x80 {
        0 => (low, at + 1),
        _ => (low & 0x7f | usize::from(*data.get(at + 1)?) << 7, at + 2),
    };
    data.get(start..start.checked_add(length)?).filter(|tokens| (1..=LONGEST).contains(&tokens.len()))
}

fn starts_with_letter(data: &[u8], at: usize, tokens: &Tokens<'_>) -> bool {
    let first = entry(data, at).and_then(|entry| tokens.texts[usize::from(entry[0])].first());
    first.is_some_and(|letter| is_letter(*letter))
}

/// Whether nm uses this letter.
fn is_letter(letter: u8) -> bool {
    b"aAbBcCdDgGiInNpPrRsStTuUvVwW?".contains(&letter)
}

/// How addresses are stored.
#[derive(Clone, Copy)]
enum Stored {
    /// 32-bit offsets from a base.
    Offsets { base: u64 },
    /// Negative offsets count down from the base less 1; others are absolute per-cpu addresses
    /// (CONFIG_KALLSYMS_ABSOLUTE_PERCPU).
    Percpu { base: u64 },
    /// Signed 32-bit offsets from their own location.
    FromItself,
    /// Absolute, with this many bytes.
    Absolute { size: usize },
}

impl Stored {
    /// The address stored at `at`.
    fn read(self, data: Data<'_>, at: usize) -> Option<u64> {
        let signed = |number: u32| i64::from(number as i32) as u64;
        Some(match self {
            Self::Absolute { size } => data.word(at, size)?,
            Self::Offsets { base } => base.wrapping_add(data.number(at)?.into()),
            Self::Percpu { base } => match data.number(at)? {
                plain if plain as i32 >= 0 => plain.into(),
                negative => base.wrapping_sub(1).wrapping_sub(signed(negative)),
            },
            Self::FromItself => data.address.wrapping_add(at as u64).wrapping_add(signed(data.number(at)?)),
        })
    }
    fn size(self) -> usize {
        if let Self::Absolute { size } = self { size } else { 4 }
    }
}

/// The addresses of the symbols, in the encoding by which they ascend and `_text` or `_stext` is the start of code.
fn addresses(
    data: Data<'_>,
    tokens: &Tokens<'_>,
    names: &Names,
    is_code: impl Fn(u64) -> bool,
) -> Option<Vec<u64>> {
    let count = names.ends.len();
    let text = names.iter().position(|n| {
        matches!(n, [_, b'_', b't', b'e', b'x', b't'] | [_, b'_', b's', b't', b'e', b'x', b't'])
    })?;
    // With tables aligned to 4, either pointers have 4 bytes or there is no base.
    let word = names.aligned;
    let wide = (4 * count).next_multiple_of(word);
    let behind = tokens.end.next_multiple_of(word);
    // Location of the addresses and the base: since 6.4, and before it.
    let newer = data.word(behind + wide, word).map(|base| (behind, base));
    let older = || {
        let base_at = names.count_at.checked_sub(word)?;
        Some((base_at.checked_sub(wide)?, data.word(base_at, word)?))
    };
    let relative = [newer, older()].into_iter().flatten();
    let mut tried: Vec<(usize, Stored)> = relative
        .flat_map(|(at, base)| [(at, Stored::Percpu { base }), (at, Stored::Offsets { base })])
        .collect();
    tried.extend(names.count_at.checked_sub(word * count).map(|at| (at, Stored::Absolute { size: word })));
    if word == 4 {
        tried.extend([(behind, Stored::FromItself), (behind, Stored::Absolute { size: 4 })]);
    }
    tried.into_iter().find_map(|(at, stored)| {
        let address = |n: usize| stored.read(data, at + stored.size() * n);
        address(text).filter(|a| is_code(*a))?;
        let all: Vec<u64> = (0..count).map(address).collect::<Option<_>>()?;
        all.is_sorted().then_some(all)
    })
}

#[cfg(test)]
pub(super) mod tests;
