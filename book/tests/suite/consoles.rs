//! The blocks of consoles in README and book: `tests/kernel` runs them, here they are counted.
use probeidx_book::console::blocks;
use std::fs;

/// The blocks that no test runs. Each more is to be a decision.
const NOT_RUN: usize = 12;

#[test]
fn most_blocks_are_run_and_the_others_say_why_not() {
    let (mut run, mut not_run) = (0, vec![]);
    for path in probeidx_book::pages() {
        let text = fs::read_to_string(probeidx_book::root().join(&path)).unwrap();
        for block in blocks(&text).unwrap_or_else(|wrong| panic!("{path}:{wrong}")) {
            match block.not_run {
                Some(reason) => not_run.push(format!("{path}:{}: {reason}", block.line)),
                None => run += 1,
            }
        }
    }
    assert!(run >= 20, "{run} blocks are run");
    assert_eq!(not_run.len(), NOT_RUN, "not run are:\n{}", not_run.join("\n"));
}

#[test]
fn the_readme_is_short() {
    let lines = fs::read_to_string(probeidx_book::root().join("README.md")).unwrap().lines().count();
    assert!(lines < 150, "{lines} lines: what is longer than three minutes belongs into the book");
}
