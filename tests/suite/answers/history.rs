//! A name over several kernels.
use crate::support::fixture::{RELEASE, Recipe, Tree, USUAL, replace};
use crate::support::program::{Run, run_in};
use probeidx::Pattern;
use probeidx::query::Index;
use probeidx::query::report::{self, Changes, Kind, Shares, Spellings, Surface};
use probeidx::query::spec::ModuleScope;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;
use tempfile::TempDir;

/// Three kernels of one flavour, of which the last is newer, and one of another.
pub const KERNELS: [(&str, bool); 4] =
    [("6.1.0-1-rt", false), ("6.1.0-2-rt", false), ("6.2.0-1-rt", true), ("6.2.0-1-up", false)];

pub static FLEET: LazyLock<TempDir> = LazyLock::new(|| {
    let db = tempfile::tempdir().unwrap();
    for flags in [&["-O2", "-gdwarf-5"][..], &["-O2", "-gdwarf-5", "-DNEWER"]] {
        let recipe = Recipe::new("gcc", flags);
        let tree = Tree::compile(if flags.len() == 2 { &USUAL } else { &recipe });
        tree.add_module(&recipe, "diff-mod", &["diff", "diff_two"]);
        for (release, _) in KERNELS.iter().filter(|(_, is_newer)| *is_newer == (flags.len() == 3)) {
            add(&tree, release, db.path());
        }
    }
    db
});

/// Indexes a tree as a kernel of another release, which has as many letters.
fn add(tree: &Tree, release: &str, db: &Path) {
    let copy = Tree::empty();
    let modules = copy.path().join(format!("lib/modules/{release}/kernel"));
    std::fs::create_dir_all(&modules).unwrap();
    for (from, to) in [
        (tree.vmlinux(), copy.path().join(format!("vmlinux-{release}"))),
        (tree.module("diff-mod"), modules.join("diff-mod.ko")),
    ] {
        let mut bytes = std::fs::read(from).unwrap();
        replace(&mut bytes, RELEASE.as_bytes(), release.as_bytes());
        std::fs::write(to, bytes).unwrap();
    }
    let built = run_in(db, ["build", "-q", copy.path().to_str().unwrap()]);
    assert_eq!(built.code, 0, "{built:?}");
}

fn ask(arguments: &[&str]) -> Run {
    run_in(FLEET.path(), arguments)
}

/// The facts of a name: name, kind of fact, its state, its kernels.
fn facts(arguments: &[&str]) -> Vec<(String, String, Value, Vec<String>)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let out = ask(&[&["--json", "history"], arguments].concat()).found();
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let kernels = line["kernels"].as_array().unwrap().iter().map(text).collect();
        (text(&line["name"]), text(&line["fact"]["what"]), line["fact"].clone(), kernels)
    };
    out.lines().map(line).collect()
}

#[test]
fn every_kind_of_fact() {
    let folder = format!("{}/tests/fixtures/", env!("CARGO_MANIFEST_DIR"));
    let mut told = String::new();
    let names =
        ["signature", "stays", "stays@diff.c", "away", "comes", "struct grown", "grown.kind", "enum phase"];
    for name in names {
        let history = ask(&["history", name]).found();
        told += &format!("$ probeidx history '{name}'\n");
        // The width of columns depends on where this project lies.
        for line in history.replace(&folder, "").lines() {
            let cells: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
            told += &format!("{}{}\n", if line.starts_with(' ') { "  " } else { "" }, cells.join(" | "));
        }
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!("history", told));
}

#[test]
fn of_each_kind_every_kernel_has_one_fact() {
    for name in
        ["signature", "stays", "away", "back", "calls", "struct grown", "grown.mode", "lookup", "diff.c:70"]
    {
        let mut seen: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        for (name, what, _, kernels) in facts(&[name]) {
            seen.entry((name, what)).or_default().extend(kernels);
        }
        for (of, mut kernels) in seen {
            kernels.sort_unstable();
            assert_eq!(kernels, KERNELS.map(|k| k.0), "{name}: {of:?}");
        }
    }
}

#[test]
fn a_fact_has_the_kernels_that_say_so_themselves() {
    for (_, what, fact, kernels) in facts(&["grown.kind"]) {
        for kernel in kernels {
            let out = ask(&["--json", "--kernel", &kernel, "type", "grown.kind"]).found();
            let said: Value = serde_json::from_str(&out).unwrap();
            if what == "offset" {
                assert_eq!(fact["value"], said["offset"], "{kernel}");
            }
        }
    }
    for (_, _, fact, kernels) in facts(&["stays@diff.c"]).into_iter().filter(|f| f.1 == "attach") {
        for kernel in kernels {
            let out = ask(&["--json", "--kernel", &kernel, "resolve", "stays@diff.c"]).found();
            let said: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
            assert_eq!(fact["value"], said["attach"], "{kernel}");
        }
    }
}

#[test]
fn since_a_kernel_only_what_changed_after_it() {
    let whats = |arguments: &[&str]| {
        let mut whats: Vec<String> = facts(arguments).into_iter().map(|f| f.1).collect();
        whats.dedup();
        whats
    };
    assert_eq!(whats(&["signature", "--since", "6.1.0-2"]), ["prototype", "declared", "parameters"]);
    let kernels: Vec<String> =
        facts(&["signature", "--since", "6.1.0-2"]).into_iter().take(2).flat_map(|f| f.3).collect();
    assert_eq!(kernels, ["6.1.0-2-rt", "6.2.0-1-up", "6.2.0-1-rt"]);
    let none = ask(&["history", "signature", "--since", "6.2"]);
    assert_eq!((none.code, none.out.as_str()), (0, ""), "{none:?}");
    assert_eq!(none.err, "probeidx: nothing of signature changed after 6.2\n");
    let wrong = "probeidx: error: --since newest: a release starts with a version";
    ask(&["history", "signature", "--since", "newest"]).refused(2, wrong);
}

#[test]
fn what_no_kernel_has() {
    ask(&["history", "signatur"]).refused(1, "probeidx: no function signatur; did you mean signature?");
    let said = "probeidx: grown.kin: struct grown has no member kin; did you mean kind?";
    ask(&["history", "grown.kin"]).refused(1, said);
    let run = ask(&["history", "sig*"]);
    assert_eq!(run.code, 2, "{run:?}");
}

#[test]
fn kernels_by_range_kind_and_build_id() {
    let kernels = |selection: &str| -> Vec<String> {
        let out = ask(&["--json", "kernels", "--kernel", selection]).found();
        let kernel =
            |line| serde_json::from_str::<Value>(line).unwrap()["kernel"].as_str().unwrap().to_owned();
        out.lines().map(kernel).collect()
    };
    let [one, two, new, up] = KERNELS.map(|k| k.0);
    assert_eq!(kernels("*"), [one, two, new, up]);
    assert_eq!(kernels("6.1.0-2..6.2"), [two, new, up]);
    assert_eq!(kernels("..6.1"), [one, two]);
    assert_eq!(kernels("unknown/*/rt"), [one, two, new]);
    assert_eq!(kernels("*/6.2/up"), [up]);
    let none = ask(&["kernels", "--kernel", "debian/*"]);
    assert_eq!(none.code, 3, "{none:?}");
    assert!(none.err.contains("indexed are: unknown/6.1/rt, unknown/6.2/rt, unknown/6.2/up"), "{none:?}");
    let none = ask(&["kernels", "--kernel", "7.0.."]);
    assert!(
        none.code == 3 && none.err.contains("no index of kernel 7.0..; indexed are: 6.1.0-1-rt"),
        "{none:?}"
    );
    // All have the same vmlinux but for the release.
    let out = ask(&["--json", "kernels", "--kernel", one]).found();
    let id = serde_json::from_str::<Value>(&out).unwrap()["build_id"].as_str().unwrap().to_owned();
    let several = ask(&["kernels", "--kernel", &id[..10]]);
    assert_eq!(several.code, 2, "{several:?}");
    assert!(several.err.contains("several build ids"), "{several:?}");
    let single = tempfile::tempdir().unwrap();
    std::fs::copy(FLEET.path().join(format!("{one}.pidx")), single.path().join("other.pidx")).unwrap();
    for selection in [&id[..10], &id, one] {
        let found = run_in(single.path(), ["history", "stays", "--kernel", selection]).found();
        assert!(found.starts_with("stays  function\n"), "{found}");
    }
    assert_eq!(run_in(single.path(), ["kernels", "--kernel", "a..b"]).code, 2);
}

#[test]
fn shares_and_changes_of_whole_kernels() {
    let index = |release: &str| Index::open(&FLEET.path().join(format!("{release}.pidx"))).unwrap();
    let [old, new] = ["6.1.0-1-rt", "6.2.0-1-rt"].map(index);
    let [old, new] = [old.view().unwrap(), new.view().unwrap()];
    let module = ModuleScope::Module(Pattern::literal("diff_mod"));
    let [before, after] = [old, new].map(|view| report::shares(&view, &module));
    for Shares { functions, not_inlined, fully_inlined, selectively_inlined, .. } in [before, after] {
        assert_eq!(not_inlined + fully_inlined + selectively_inlined, functions);
        assert_eq!((fully_inlined, selectively_inlined), (1, 0), "back, then away");
    }
    assert_eq!((before.collided, after.collided), (0, 1), "stays");
    assert_eq!((before.duplicated, after.duplicated), (0, 0));
    let mut spellings = Spellings::default();
    let mut surface = |view| Surface::of_kernel(view, &ModuleScope::Any, &mut spellings);
    let (old, new) = (surface(&old), surface(&new));
    let [function, of, tracepoint] =
        [Kind::Function, Kind::Struct, Kind::Tracepoint].map(|kind| report::changes(&old, &new, kind));
    assert!(function.added > 0 && function.removed > 0 && function.changed > 0, "{function:?}");
    assert_eq!(function.before + function.added - function.removed, function.after);
    assert_eq!((of.added, of.removed, of.changed), (0, 0, 1), "grown: {of:?}");
    assert_eq!((tracepoint.added, tracepoint.removed, tracepoint.changed), (0, 0, 0));
    for kind in Kind::ALL {
        let Changes { added, removed, changed, how, .. } = report::changes(&new, &new, kind);
        assert_eq!((added, removed, changed, how.len()), (0, 0, 0, 0), "a kernel and itself");
    }
}

#[test]
fn a_report_has_a_line_for_each_kernel_and_for_each_kind_at_each_step() {
    let out = ask(&["--json", "fleet", "report", "--modules"]).found();
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (shares, changes): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line["kind"] == "shares");
    assert_eq!(shares.len(), KERNELS.len());
    for line in shares {
        let [all, not, fully, partly] = ["functions", "not_inlined", "fully_inlined", "selectively_inlined"]
            .map(|field| line[field].as_u64().unwrap());
        assert_eq!(not + fully + partly, all);
    }
    let mut steps: Vec<_> = changes
        .iter()
        .map(|line| ["between", "before", "after"].map(|f| line[f].as_str().unwrap()))
        .collect();
    assert_eq!(steps.len() % Kind::ALL.len(), 0);
    steps.dedup();
    let [one, two, new, _] = KERNELS.map(|k| k.0);
    assert_eq!(steps, [["kernels", one, two], ["lines", two, new]]);
    let grown = changes.iter().find(|line| line["between"] == "lines" && line["of"] == "struct").unwrap();
    assert_eq!(grown["changed"], 1, "{grown}");
    let table = ask(&["fleet", "report", "--modules", "--kernel", "*/*/rt"]).found();
    assert!(table.contains("6.1.0-2-rt .. 6.2.0-1-rt") && !table.contains("6.2.0-1-up"), "{table}");
}
