use super::symbols::{LITERAL, SYMBOLS};
use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn opened<'a>(section: &'a [u8], decoded: &'a Decoded) -> Strings<'a> {
    Strings::new(Coded::open(section).unwrap(), decoded)
}

/// The code of a symbol.
fn code(text: &[u8]) -> u8 {
    SYMBOLS.iter().position(|s| s.bytes.to_le_bytes()[..s.length.into()] == *text).unwrap() as u8
}

fn sorted(texts: BTreeSet<Vec<u8>>) -> Vec<Vec<u8>> {
    texts.into_iter().collect()
}

fn encoded(texts: &[Vec<u8>], piece: usize) -> Vec<u8> {
    let pieces: Vec<Blocks> =
        texts.chunks(piece * BLOCK).map(|piece| Blocks::of(piece.iter().map(|text| &text[..]))).collect();
    section(&pieces)
}

#[test]
fn a_block_is_what_the_specification_says() {
    let texts = ["", "vfs_read", "vfs_readv", "vfs_~"].map(|text| text.as_bytes().to_vec());
    let section = encoded(&texts, 1);
    let (_, codes) = section.split_at(24);
    assert_eq!(section[..8], [4, 0, 0, 0, codes.len() as u8, 0, 0, 0]);
    let bits = section[8..24].iter().map(|byte| byte.count_ones()).sum::<u32>();
    assert!((5..=8).contains(&bits), "vfs, fs_, s_r, _re, rea, ead, adv, s_~: {bits}");
    assert_eq!(codes[..2], [code(b"\0"), 0], "the empty one, and the next shares nothing");
    let last = [4, LITERAL, b'~', code(b"\0")];
    assert_eq!(codes[codes.len() - 4..], last, "no symbol has a tilde");
}

#[test]
fn each_string_ends() {
    let ends = SYMBOLS.iter().filter(|symbol| symbol.is_last).count();
    assert!(SYMBOLS.iter().any(|symbol| symbol.is_last && symbol.length == 1) && ends > 30, "{ends}");
    // Nowhere else is a NUL.
    assert!(
        SYMBOLS.iter().all(|s| (0..s.length).all(|at| s.bytes >> (8 * at) & 0xff != 0 || at + 1 == s.length))
    );
    assert_eq!(SYMBOLS[usize::from(LITERAL)].length, 0);
}

#[test]
fn no_strings_are_no_bytes() {
    let decoded = Decoded::new();
    let none = opened(&[], &decoded);
    assert!(none.is_empty() && none.get(0).is_empty() && none.find(b"").is_none());
}

#[test]
fn what_a_forged_section_says_is_bounded() {
    // Each string but the first shares 255 bytes with the one before it, in two bytes.
    let long = vec![b'a'; 255];
    let first = section(&[Blocks::of([&long[..]])]);
    let end = code(b"\0");
    let mut block = first[24..].to_vec();
    (1..BLOCK).for_each(|_| block.extend([255, end]));
    let blocks = (3 * MOST / (BLOCK * 256)) as u32;
    let mut forged = (blocks * BLOCK as u32).to_le_bytes().to_vec();
    (1..=blocks).for_each(|number| forged.extend((number * block.len() as u32).to_le_bytes()));
    (0..blocks).for_each(|_| forged.extend([0xff; 16]));
    (0..blocks).for_each(|_| forged.extend_from_slice(&block));
    let decoded = Decoded::new();
    let strings = opened(&forged, &decoded);
    assert_eq!(strings.get(BLOCK as u32 - 1), long);
    let length: usize = strings.iter().map(<[u8]>::len).sum();
    assert!((MOST - (1 << 20)..MOST + (1 << 20)).contains(&length), "{length}");
    let mut found = 0;
    strings.containing(b"aaaa", |_, _| found += 1);
    assert!((1..=MOST / 255).contains(&found), "{found}");
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        texts in proptest::collection::btree_set("[a-c_]{0,9}(\\.constprop)?|[ -~]{0,300}|\u{e9}{0,200}", 0..200),
        piece in 1_usize..4,
        part in "[a-c_]{1,5}|\\.con",
    ) {
        let texts = sorted(texts.into_iter().map(String::into_bytes).collect());
        let section = encoded(&texts, piece);
        let decoded = Decoded::new();
        let strings = opened(&section, &decoded);
        prop_assert_eq!(strings.iter().collect::<Vec<_>>(), texts.iter().map(|text| &text[..]).collect::<Vec<_>>());
        for (at, text) in (0..).zip(&texts) {
            prop_assert_eq!(strings.find(text), Some(at));
        }
        prop_assert_eq!(strings.find(b"\xff"), None);
        let mut found = vec![];
        strings.containing(part.as_bytes(), |at, text| found.push((at, text.to_vec())));
        let due = (0..).zip(&texts).filter(|(_, text)| memchr::memmem::find(text, part.as_bytes()).is_some());
        prop_assert_eq!(found, due.map(|(at, text)| (at, text.clone())).collect::<Vec<_>>());
    }

    #[test]
    fn damaged_strings_are_read(mut section in proptest::collection::vec(any::<u8>(), 0..300), count in 0_u32..100) {
        if let Some(first) = section.first_chunk_mut() {
            *first = count.to_le_bytes();
        }
        let decoded = Decoded::new();
        if let Ok(coded) = Coded::open(&section) {
            let strings = Strings::new(coded, &decoded);
            let length: usize = strings.iter().map(<[u8]>::len).sum();
            prop_assert!(length < section.len() * (8 + 255) + 8);
            strings.find(b"vfs_read");
            strings.containing(b"e", |_, _| {});
        }
    }
}
