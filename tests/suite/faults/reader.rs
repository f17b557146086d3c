//! Those who read an index while it is replaced, or written over.
use super::{assert_whole, forced, indexed, times};
use crate::support::fixture::{RELEASE, Tree, USUAL};
use crate::support::program::{KERNEL, command, run_in};
use probeidx::query::Index;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

#[test]
fn a_reader_keeps_what_it_opened_and_the_next_gets_the_new_one() {
    let tree = Tree::compile(&USUAL);
    let db = tempfile::tempdir().unwrap();
    let build = || run_in(db.path(), ["build".as_ref(), tree.path().as_os_str()]);
    assert_eq!(build().code, 0);
    let file = db.path().join(format!("{RELEASE}.pidx"));
    let objects = |index: &Index| index.view().unwrap().object_ids().count();
    let old = Index::open(&file).unwrap();
    assert_eq!(objects(&old), 3);
    fs::remove_file(tree.module("beta")).unwrap();
    assert_eq!(build().code, 0);
    let new = Index::open(&file).unwrap();
    assert_eq!((objects(&old), objects(&new)), (3, 2));
}

#[test]
fn whoever_asks_while_it_is_built_gets_a_whole_one() {
    let db = indexed();
    std::thread::scope(|scope| {
        let builder = scope.spawn(|| {
            (0..times(8)).for_each(|_| assert!(forced(db.path()).output().unwrap().status.success()));
        });
        while !builder.is_finished() {
            assert_whole(db.path());
        }
    });
}

/// Somebody copies over the index in place while it is read: a line and an exit code in place of SIGBUS.
#[test]
fn an_index_that_is_cut_off_under_its_reader() {
    for json in [false, true] {
        let db = tempfile::tempdir().unwrap();
        let file = db.path().join(format!("{RELEASE}.pidx"));
        fs::copy(KERNEL.db.path().join(format!("{RELEASE}.pidx")), &file).unwrap();
        let mut c = command(db.path());
        c.args(json.then_some("--json")).args(["decode", "--kernel", RELEASE]);
        c.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut reader = c.spawn().unwrap();
        let mut log = reader.stdin.take().unwrap();
        let frame = "[  1.0] RIP: 0010:clamp_value+0x1/0x20\n";
        log.write_all(frame.as_bytes()).unwrap();
        if !json {
            let mut line = String::new();
            BufReader::new(reader.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
            assert!(line.contains("clamp_value+0x1"), "{line}");
        } else {
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
        OpenOptions::new().write(true).open(&file).unwrap().set_len(0).unwrap();
        // It may be gone already.
        let _ = log.write_all(frame.replace("clamp_value", "other_name").repeat(100).as_bytes());
        drop(log);
        let mut said = String::new();
        reader.stderr.as_mut().unwrap().read_to_string(&mut said).unwrap();
        let status = reader.wait().unwrap();
        assert_eq!(status.code(), Some(3), "{status:?}: {said}");
        // Of what it read before it may have said something too.
        let said = said.lines().last().unwrap();
        let what = "the index was cut off while it was read, or its disk fails";
        let path = file.display();
        match json {
            false => assert!(said.starts_with(&format!("probeidx: error: {path}: {what}; ")), "{said}"),
            true => {
                let told: serde_json::Value = serde_json::from_str(said).unwrap();
                assert_eq!(told["error"]["message"], what);
                assert_eq!(told["error"]["path"], path.to_string());
            }
        }
    }
}
