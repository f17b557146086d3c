//! A small x86-64 kernel and a module that carry the kernel's own tables: where probes are refused, and why.
use super::fixture::{Tree, run_all};
use super::program::{Indexed, Run, run_in};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What kernels differ in.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    pub release: &'static str,
    /// The sizes of entries.
    pub alternative: u8,
    pub bug: u8,
    /// What the debug information says of them: see `structs.c`; 0 nothing.
    pub structs: u8,
    /// Whether the functions are there whose names betray rules of the configuration.
    pub has_rules: bool,
    /// Whether its kprobes emulate instructions.
    pub emulates: bool,
    /// Whether it has the functions of `prototypes.c`.
    pub has_prototypes: bool,
    /// Whether it has what `oldest.S` and `oldest_module.S` say.
    pub is_oldest: bool,
}

/// As Debian's kernel of this version.
pub const OLD: Kernel = Kernel {
    release: "6.1.0-old",
    alternative: 12,
    bug: 12,
    structs: 0,
    has_rules: true,
    emulates: true,
    has_prototypes: false,
    is_oldest: false,
};
pub const NEW: Kernel = Kernel {
    release: "6.12.0-new",
    alternative: 14,
    bug: 12,
    structs: 0,
    has_rules: true,
    emulates: true,
    has_prototypes: false,
    is_oldest: false,
};
/// As Ubuntu's kernel of 5.4; by its version it closes other areas.
pub const OLDEST: Kernel =
    Kernel { release: "5.9.0-oldest", alternative: 13, emulates: false, is_oldest: true, ..OLD };

impl Kernel {
    /// Compiles and links vmlinux and the module. Panics with the tool's own words where one fails.
    pub fn compile(&self) -> Tree {
        let tree = Tree::empty();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/verdicts");
        let tool = |name: &str| {
            let mut c = Command::new(name);
            c.current_dir(&folder);
            c
        };
        let object = |name: &str| tree.path().join(format!("{}.o", name.replace('.', "_")));
        let mut kernel = vec!["kernel.S", "nested.S", "kernel.c", "strong.c"];
        kernel.extend((self.structs > 0).then_some("structs.c"));
        kernel.extend(self.has_prototypes.then_some("prototypes.c"));
        kernel.extend(self.is_oldest.then_some("oldest.S"));
        let mut module = vec!["module.S", "module.c"];
        module.extend(self.is_oldest.then_some("oldest_module.S"));
        run_all(kernel.iter().chain(&module).map(|source| {
            let mut c = tool("gcc");
            if source.ends_with(".c") {
                c.args([
                    "-g",
                    "-gdwarf-5",
                    "-O2",
                    "-ffreestanding",
                    "-fno-pic",
                    "-fno-pie",
                    "-mcmodel=kernel",
                ]);
                c.args(["-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-fcf-protection=none"]);
                c.args(["-pg", "-mfentry", "-mnop-mcount", "-mrecord-mcount", "-ffile-prefix-map=.=."]);
                c.arg("-fdebug-prefix-map=".to_owned() + &folder.display().to_string() + "=.");
                c.args(["-fno-toplevel-reorder", "-fno-ipa-icf"]);
            }
            c.arg(format!("-DALTERNATIVE={}", self.alternative)).arg(format!("-DBUG={}", self.bug));
            c.arg(format!("-DSTRUCTS={}", self.structs));
            c.arg(format!("-DRELEASE=\"{}\"", self.release));
            if !self.has_rules {
                c.arg("-DWITHOUT_RULES");
            }
            if self.emulates {
                c.arg("-DEMULATES");
            }
            c.args(["-c", source, "-o"]).arg(object(source));
            c
        }));
        let mut vmlinux = tool("ld");
        vmlinux.args(["-T", "kernel.lds", "--build-id=sha1", "--no-warn-rwx-segments", "-o"]);
        vmlinux.arg(self.vmlinux(&tree)).args(kernel.iter().map(|source| object(source)));
        let path = self.module(&tree);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut places = tool("ld");
        places
            .args(["-r", "--build-id=sha1", "-o"])
            .arg(path)
            .args(module.iter().map(|source| object(source)));
        run_all([vmlinux, places]);
        for name in kernel.iter().chain(&module) {
            std::fs::remove_file(object(name)).unwrap();
        }
        tree
    }

    /// Compiles and indexes, of which there is nothing to say.
    pub fn index(&self) -> Indexed {
        index(self.compile())
    }

    pub fn vmlinux(&self, tree: &Tree) -> PathBuf {
        tree.path().join(format!("vmlinux-{}", self.release))
    }

    pub fn module(&self, tree: &Tree) -> PathBuf {
        tree.path().join(format!("lib/modules/{}/kernel/places.ko", self.release))
    }
}

/// Indexes a tree of which there is nothing to say but that verdicts are undecided.
pub fn index(tree: Tree) -> Indexed {
    let (indexed, built) = try_index(tree);
    let is_of_verdicts =
        |line: &&str| line.contains(": verdicts of ") || line.contains(": verdicts stay undecided");
    let mut others = built.err.lines().filter(|line| !is_of_verdicts(line));
    assert_eq!((built.code, others.next()), (0, None), "{built:?}");
    indexed
}

/// Indexes a tree, and gives what was said of it.
pub fn try_index(tree: Tree) -> (Indexed, Run) {
    let db = tempfile::tempdir().unwrap();
    let built = run_in(db.path(), [OsStr::new("build"), tree.path().as_ref()]);
    (Indexed { tree, db }, built)
}

impl Indexed {
    pub fn run(&self, arguments: &[&str]) -> Run {
        run_in(self.db.path(), arguments)
    }

    /// The objects that a command prints with `--json`.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Vec<Value> {
        let mut line = vec!["--json"];
        line.extend(arguments);
        let out = self.run(&line).found();
        out.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{l}: {e}"))).collect()
    }

    /// The one place of a spec.
    #[track_caller]
    pub fn place(&self, spec: &str) -> Value {
        let mut places = self.json(&["resolve", spec]);
        assert_eq!(places.len(), 1, "{spec}: {places:#?}");
        places.remove(0)
    }

    /// What a mechanism does with the one place of a spec.
    #[track_caller]
    pub fn says(&self, spec: &str, mechanism: &str) -> String {
        text(&self.place(spec)["attach"], mechanism).to_owned()
    }
}

#[track_caller]
pub fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_else(|| panic!("{field}: {value}"))
}
