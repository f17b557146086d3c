use super::*;
use proptest::prelude::*;
use regex_automata::dfa::{Automaton, dense};
use regex_automata::util::{start, syntax};

fn matches(pattern: &str, text: &str) -> bool {
    Pattern::new(pattern).unwrap().matches(text.as_bytes())
}

/// Whether the regular expression of a pattern matches, by an automaton that takes one byte after the other.
fn regex_matches(pattern: &Pattern, text: &[u8]) -> bool {
    let syntax = syntax::Config::new().utf8(false);
    let dfa = dense::Builder::new().syntax(syntax).build(&pattern.to_regex()).unwrap();
    let mut state = dfa.start_state(&start::Config::new().anchored(regex_automata::Anchored::Yes)).unwrap();
    for &byte in text {
        state = dfa.next_state(state, byte);
    }
    dfa.is_match_state(dfa.next_eoi_state(state))
}

#[test]
fn wildcards() {
    for (pattern, yes, no) in [
        ("vfs_*", "vfs_", "xvfs_read"),
        ("*read", "vfs_read", "vfs_reads"),
        ("*a*b", "xaybzb", "xbya"),
        ("vfs_rea?", "vfs_read", "vfs_rea"),
        ("fs/*.c", "fs/ext4/file.c", "fs/file.h"),
        ("[vx]fs", "xfs", "yfs"),
        ("[!vx]fs", "yfs", "xfs"),
        ("[^vx]fs", "yfs", "vfs"),
        ("[a-c-]", "-", "d"),
        ("[]a]", "]", "b"),
        ("[!]a]", "b", "]"),
        ("[a\\]b]", "]", "\\"),
        ("[[:digit:]_]x", "7x", "ax"),
        ("[[:upper:][:digit:]]", "Q", "q"),
        ("[a", "[a", "a"),
        ("x[", "x[", "x"),
        ("a\\*b", "a*b", "axb"),
        ("\\[a]", "[a]", "a"),
    ] {
        assert!(matches(pattern, yes), "{pattern} {yes}");
        assert!(!matches(pattern, no), "{pattern} {no}");
    }
    assert!(matches("*", "") && matches("**", "fs/x"));
    assert!(!matches("[z-a]x", "zx") && !matches("[z-a]x", "ax"));
}

#[test]
fn a_class_takes_its_bracket_along_and_leaves_the_outer_one_open() {
    assert!(matches("[[:alpha:]", "[p"), "an ordinary bracket, and a set of five letters");
    assert!(!matches("[[:alpha:]", "a") && !matches("[[:alpha:]", "[b"));
}

#[test]
fn what_cannot_match_is_refused() {
    assert_eq!(Pattern::new("[[:word:]]").unwrap_err().message(), "there is no character class [:word:]");
    assert_eq!(Pattern::new("a\\").unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn literals_and_prefixes() {
    for (pattern, literal, prefix) in [
        ("vfs_read", true, "vfs_read"),
        ("vfs_*d", false, "vfs_"),
        ("a\\*b", true, "a*b"),
        ("\\?*", false, "?"),
        ("*x", false, ""),
        ("é*", false, "é"),
        ("a[", true, "a["),
    ] {
        let pattern = Pattern::new(pattern).unwrap();
        assert_eq!((pattern.is_literal(), pattern.literal_prefix()), (literal, prefix), "{pattern}");
    }
}

#[test]
fn paths_are_met_by_whole_components() {
    let path = b"/build/linux/fs/read_write.c";
    for (pattern, met) in [
        ("read_write.c", true),
        ("fs/read_write.c", true),
        ("d_write.c", false),
        ("*_write.c", true),
        ("linux/*.c", true),
        ("inux/*.c", false),
        ("/build/linux/fs/read_write.c", true),
        ("/fs/read_write.c", false),
        ("", false),
        ("*", true),
        ("fs", false),
    ] {
        assert_eq!(Pattern::new(pattern).unwrap().matches_path(path), met, "{pattern}");
    }
}

#[test]
fn many_stars_do_not_blow_up() {
    let pattern = Pattern::new(&"*a".repeat(40)).unwrap();
    let text = "a".repeat(5000) + "b";
    let start = std::time::Instant::now();
    assert!(!pattern.matches(text.as_bytes()));
    assert!(start.elapsed().as_secs() < 2);
}

proptest! {
    #[test]
    fn the_regular_expression_agrees(
        pattern in r"([a-c*?!^\\\]\[é.-]|\[[!^]?[]]?[a-c-]{1,3}\]|\[\[:(alpha|punct):\]\]){0,10}",
        text in proptest::collection::vec(prop_oneof![Just(b'a'), Just(b'b'), Just(b'c'), Just(b'-'), Just(b'['),
            Just(b']'), Just(b'\n'), any::<u8>()], 0..8),
    ) {
        if let Ok(pattern) = Pattern::new(&pattern) {
            prop_assert_eq!(pattern.matches(&text), regex_matches(&pattern, &text), "{}", pattern.to_regex());
        }
    }

    #[test]
    fn a_text_made_from_the_pattern_matches(parts in proptest::collection::vec("[a-z_/]{0,4}", 1..5), gap in "[a-z/]{0,6}") {
        let pattern = Pattern::new(&parts.join("*")).unwrap();
        let text = parts.join(&gap);
        prop_assert!(pattern.matches(text.as_bytes()));
        prop_assert!(regex_matches(&pattern, text.as_bytes()));
    }

    #[test]
    fn a_path_is_met_as_with_a_star_and_a_slash_before(pattern in "[ab/*?]{0,5}", path in "[ab/]{0,8}") {
        let both = [pattern.clone(), format!("*/{pattern}")];
        let met = both.iter().any(|p| Pattern::new(p).unwrap().matches(path.as_bytes()));
        prop_assert_eq!(Pattern::new(&pattern).unwrap().matches_path(path.as_bytes()), met);
    }

    #[test]
    fn nothing_makes_it_panic(pattern in any::<String>(), text in any::<Vec<u8>>()) {
        if let Ok(pattern) = Pattern::new(&pattern) {
            pattern.matches_path(&text);
        }
    }
}

#[test]
fn a_bracket_that_is_never_closed_is_found() {
    for (text, at) in
        [("vfs_[a", Some(4)), ("[a]b[", Some(4)), ("[[:alpha:]", Some(0)), ("a\\[b", None), ("[]]", None)]
    {
        assert_eq!(unclosed(text), at, "{text}");
    }
}
