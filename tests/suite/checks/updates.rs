//! Which kernels count: those from one on, what an update breaks, and programs of which one suffices.
use crate::answers::history::FLEET;
use crate::support::program::{Run, run_in};
use std::ffi::OsStr;

fn check(text: &str, options: &[&str]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("points");
    std::fs::write(&file, text).unwrap();
    let mut arguments = vec![OsStr::new("check"), file.as_ref()];
    arguments.extend(options.iter().map(OsStr::new));
    run_in(FLEET.path(), arguments)
}

/// The kernels of the table.
fn kernels(run: &Run) -> Vec<String> {
    run.out.lines().next().unwrap().split_whitespace().skip(1).map(str::to_owned).collect()
}

#[test]
fn from_a_release_on() {
    let run = check("stays\n", &["--min", "6.1.0-2"]);
    assert_eq!((run.code, kernels(&run).join(" ")), (0, "6.1.0-2-rt 6.2.0-1-rt 6.2.0-1-up".to_owned()));
    let run = check("comes\n", &["--min", "6.1.0-2", "--kernel", "*-rt"]);
    assert_eq!((run.code, kernels(&run).join(" ")), (1, "6.1.0-2-rt 6.2.0-1-rt".to_owned()));
    assert_eq!(check("comes\n", &["--min", "6.2", "--kernel", "*-rt"]).code, 0);
    let run = check("stays\n", &["--min", "7"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.err.contains("no kernel from 7 on is indexed"), "{run:?}");
    assert_eq!(check("stays\n", &["--min", "newest"]).code, 2);
}

#[test]
fn only_what_an_update_breaks() {
    // It is not there before the update, either.
    let run = check("comes\nno_such\n", &["--new", "6.1.0-2-rt", "--since", "6.1.0-1-rt"]);
    assert_eq!((run.code, kernels(&run).join(" ")), (0, "6.1.0-2-rt".to_owned()), "{run:?}");
    assert!(!run.out.contains("absent"), "{run:?}");
    // Back to the older kernel it is gone.
    let run = check("comes\nno_such\n", &["--new", "6.1.0-2-rt", "--since", "6.2.0-1-rt"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.out.contains("comes: nothing matches") && !run.out.contains("no_such: nothing"), "{run:?}");
    // Each is compared with that of its own flavour: one has it, one does not.
    let run = check("comes\n", &["--new", "6.1*", "--since", "6.2*"]);
    assert_eq!((run.code, kernels(&run).join(" ")), (1, "6.1.0-1-rt 6.1.0-2-rt".to_owned()), "{run:?}");
    let run = check("comes\n", &["--new", "6.1*", "--since", "6.2*-up"]);
    assert_eq!(run.code, 0, "{run:?}");
    // Both ends of the update are needed, and have to be there.
    assert_eq!(check("comes\n", &["--new", "6.1*"]).code, 2);
    let run = check("comes\n", &["--new", "6.1*", "--since", "5.10*"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.err.contains("no index of kernel 5.10*"), "{run:?}");
}

#[test]
fn of_alternatives_one_suffices() {
    let all = ["--kernel", "*"];
    assert_eq!(check("away\nno_such\n", &all).code, 1);
    let run = check("stays\nno_such\n", &[&all[..], &["--need", "stays|no_such"]].concat());
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.out.contains("warning: no_such: nothing matches no_such; stays works, and one suffices"),
        "{run:?}"
    );
    // Neither is there on the older kernels.
    let run = check("comes\nno_such\n", &[&all[..], &["--need", "comes|no_such"]].concat());
    assert_eq!(run.code, 1, "{run:?}");
    // In a comment of the file.
    let run = check("# probeidx: need stays|no_*\nstays\nno_such\n", &all);
    assert_eq!(run.code, 0, "{run:?}");
    for wrong in ["stays", "stays|", ""] {
        assert_eq!(check("stays\n", &[&all[..], &["--need", wrong]].concat()).code, 2, "{wrong}");
    }
}
