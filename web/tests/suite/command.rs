//! The command line.
use super::support::{INDEX, Program};
use std::process::Command;

fn run(words: &[&str]) -> (Option<i32>, String) {
    let ran = Command::new(env!("CARGO_BIN_EXE_probeidx-web")).args(words).output().unwrap();
    assert!(ran.stdout.is_empty());
    (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
}

#[test]
fn an_address_that_cannot_be_had_is_named_with_the_way_out() {
    let program = Program::start(INDEX.path());
    let (code, said) = run(&["--listen", program.host()]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains(program.host()) && said.contains("--listen 127.0.0.1:0"), "{said}");
    let (code, said) = run(&["--listen", "example.org"]);
    assert_eq!(code, Some(2), "{said}");
}
