//! Tapsets in the index: what is kept, for whom, and what happens where something is missing or damaged.
use crate::support::fixture::{RELEASE, Tree};
use crate::support::program::{KERNEL, Run, run_in};
use probeidx::query::Index;
use probeidx::tapset::{Definitions, Library, Target};
use probeidx_format::tapset::{BLOCK, DefinitionKind};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Folders of tapsets and an index of the fixture with them.
struct Indexed {
    folders: Tree,
    db: TempDir,
}

impl Indexed {
    fn new(files: &[(&str, &str)]) -> Self {
        let folders = Tree::empty();
        for (path, text) in files {
            folders.file(path, text.as_bytes());
        }
        Self { folders, db: tempfile::tempdir().unwrap() }
    }
    fn folder(&self, name: &str) -> PathBuf {
        self.folders.path().join(name)
    }
    fn file(&self) -> PathBuf {
        self.db.path().join(format!("{RELEASE}.pidx"))
    }
    /// Builds the index with these folders of tapsets.
    fn build(&self, folders: &[&Path]) -> Run {
        let vmlinux = KERNEL.tree.vmlinux();
        let mut line: Vec<&OsStr> = vec!["build".as_ref(), "--no-modules".as_ref(), vmlinux.as_ref()];
        for folder in folders {
            line.extend([OsStr::new("--tapset"), folder.as_os_str()]);
        }
        run_in(self.db.path(), line)
    }
    fn tapset(&self, arguments: &[&str]) -> Run {
        run_in(self.db.path(), ["tapset"].iter().chain(arguments))
    }
    /// What is printed, without the folder.
    fn shown(&self, arguments: &[&str]) -> String {
        let folder = self.folders.path().display().to_string();
        self.tapset(arguments).found().replace(&folder, "")
    }
}

const FILES: [(&str, &str); 5] = [
    (
        "a/vm.stp",
        "/**\n * probe vm.fault - A fault\n * of a page\n *\n * @address: where\n */\n\
         probe vm.fault = kernel.function(\"fault\") !, kernel.trace(\"fault\") ? if (on)\n\
         { name = \"fault\"; address = @choose($addr) } , { done = 1 }\n\
         probe vm.old = vm.o = begin { }\nprobe _vm.hidden = end { }\n\
         %( CONFIG_GONE == \"y\" %? probe vm.gone = begin {} %)\nglobal on",
    ),
    ("a/own.stpm", "@define choose(a) %( @defined(@a) ? @a : 0 %)\n@define plain %( \"x\" %)"),
    ("a/string.stp", "function f:long(s:string) %{ /* pure */ %}\nfunction _g() {}\nprivate function h() {}"),
    ("a/arm64/only.stp", "probe arm.only = begin {}"),
    ("b/vm.stp", "probe vm.other = begin {}"),
];

#[test]
fn definitions_are_shown_from_the_index_alone() {
    let indexed = Indexed::new(&FILES);
    let built = indexed.build(&[&indexed.folder("a"), &indexed.folder("b")]);
    assert_eq!((built.code, built.err.as_str()), (0, ""), "{built:?}");
    std::fs::remove_dir_all(indexed.folder("a")).unwrap();
    assert_eq!(
        indexed.shown(&[]),
        "vm.fault = kernel.function(\"fault\")!, kernel.trace(\"fault\")? if (on)\nvm.old = vm.o = begin\n"
    );
    assert_eq!(
        indexed.shown(&["vm.f*"]),
        "vm.fault  /a/vm.stp:7\n  A fault\n  of a page\n    \
         kernel.function(\"fault\")!  no function fault in vmlinux, and no modules are indexed\n    \
         kernel.trace(\"fault\")? if (on)  no tracepoint fault\n  before: name = \"fault\"\n  \
         before: address = (@defined($addr))?($addr):(0)\n  behind: done = 1\n"
    );
    // An alias of two names is one; hidden ones are to be asked for.
    assert_eq!(indexed.shown(&["vm.o*"]).lines().next(), Some("vm.old = vm.o  /a/vm.stp:9"));
    assert_eq!(indexed.shown(&["vm.o", "vm.old"]).lines().count(), 2);
    assert_eq!(indexed.tapset(&["*.hidden"]).code, 1);
    assert_eq!(indexed.shown(&["_*.hidden"]), "_vm.hidden  /a/vm.stp:10\n    end  1 probe\n");
    assert_eq!(indexed.shown(&["--functions"]), "f:long (s:string)\n");
    assert_eq!(indexed.shown(&["--functions", "h"]), "private h:unknown ()  /a/string.stp:3\n");
    assert_eq!(indexed.shown(&["--macros"]), "@choose(a)\n@plain\n");
    assert_eq!(indexed.shown(&["--macros", "plain"]), "@plain  /a/own.stpm:2\n    \"x\"\n");
    let found: Value = serde_json::from_str(&indexed.shown(&["--json", "vm.fault"])).unwrap();
    assert_eq!(found["points"][0]["point"], "kernel.function(\"fault\")");
    assert_eq!(found["points"][0]["sufficient"], true);
    assert_eq!(found["points"][1]["if"], "on");
    assert_eq!(found["before"][1]["name"], "address");
    indexed.tapset(&["vm.falt"]).refused(1, "probeidx: no alias vm.falt; did you mean vm.fault?");
}

#[test]
fn an_index_serves_as_a_folder() {
    let first = Indexed::new(&FILES);
    assert_eq!(first.build(&[&first.folder("a")]).code, 0);
    let second = Indexed::new(&[]);
    assert_eq!(second.build(&[&first.file()]).code, 0);
    let all = |of: &Indexed| ["--functions", "--macros", "--all"].map(|what| of.tapset(&[what]).found());
    assert_eq!(all(&first), all(&second));
    // Files for other kernels are kept too: read for another architecture they count.
    let index = Index::open(&second.file()).unwrap();
    let mut sources = probeidx::tapset::sources::Sources::default();
    sources.unpack(index.view().unwrap().tapset_sources().unwrap(), &second.file()).unwrap();
    let library = Library::read(&sources, &Target::new("arm64", "6.12.0", &|_| None));
    assert!(library.errors.is_empty(), "{:?}", library.errors);
    assert_eq!(library.aliases().filter(|alias| alias.names[0].name() == "arm.only").count(), 1);
    assert_eq!(library.path(library.scripts[0].file), first.folder("a/arm64/only.stp"));
}

#[test]
fn a_change_of_tapsets_is_a_change() {
    let indexed = Indexed::new(&FILES);
    let build = || indexed.build(&[&indexed.folder("a")]).found().contains("nothing had changed");
    assert!(!build());
    assert!(build());
    // Also of a file that does not count for this kernel.
    indexed.folders.file("a/arm64/only.stp", b"probe arm.many = begin {}");
    assert!(!build());
    assert!(build());
    std::fs::remove_file(indexed.folder("a/arm64/only.stp")).unwrap();
    assert!(!build());
    assert!(!indexed.build(&[]).found().contains("nothing had changed"));
    let said = format!(
        "probeidx: error: {}: the index was built without tapsets; build it again with: probeidx build --force --tapset DIR",
        indexed.file().display()
    );
    indexed.tapset(&["vm.*"]).refused(3, &said);
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_indexed() {
    let indexed = Indexed::new(&[("a/bad.stp", "probe bad = {"), ("a/good.stp", "probe good = begin {}")]);
    let gone = indexed.build(&[&indexed.folder("gone")]);
    assert_eq!(gone.code, 3, "{gone:?}");
    assert!(!indexed.file().exists() && gone.err.contains("cannot read the folder of tapsets"), "{gone:?}");
    let bad = indexed.folder("a/bad.stp");
    let left_out = format!("probeidx: left out: {}:1:14: expected a name", bad.display());
    let built = indexed.build(&[&indexed.folder("a")]);
    assert!(built.code == 4 && built.err.starts_with(&left_out), "{built:?}");
    // It is told again while nothing changes.
    let again = indexed.build(&[&indexed.folder("a")]);
    assert!(again.code == 4 && again.err.contains("1:14: expected a name"), "{again:?}");
    assert_eq!(indexed.shown(&[]), "good = begin\n");
}

#[test]
fn a_damaged_definition_is_an_error_and_not_silence() {
    let indexed = Indexed::new(&FILES);
    assert_eq!(indexed.build(&[&indexed.folder("a")]).code, 0);
    let mut bytes = std::fs::read(indexed.file()).unwrap();
    let decoded = probeidx_format::strings::Decoded::new();
    let view = probeidx_format::View::open(&bytes, &decoded).unwrap();
    let number = view.tapset.definition(view.tapset.named(DefinitionKind::Alias, b"vm.fault").start);
    let block = view.tapset.block(view.tapset.tree(number).start / BLOCK);
    let (start, length) = (block.as_ptr() as usize - bytes.as_ptr() as usize, block.len());
    bytes[start..start + length].fill(0xff);
    std::fs::write(indexed.file(), &bytes).unwrap();
    let shown = indexed.tapset(&["vm.fault"]);
    assert_eq!(shown.code, 3, "{shown:?}");
    let said = format!("section tapset_trees: definition {number} cannot be decoded");
    assert!(shown.err.contains(&said), "{shown:?}");
}

/// Of every construct: what an index gives is what was read.
#[test]
fn trees_are_kept_whole() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tapset");
    let target = Target { guru: true, ..Target::new("x86_64", "6.1.0", &|_| None) };
    let mut library = Library::default();
    let path = folder.join("language.stp");
    let script = library.script(&path, &std::fs::read(&path).unwrap(), &target).unwrap();
    library.scripts.push(script);
    let definitions = Definitions::new(&library);
    fn shown<T: std::fmt::Debug>(all: impl Iterator<Item = T>) -> Vec<String> {
        let all: Vec<String> = all.map(|of| format!("{of:?}")).collect();
        assert!(!all.is_empty());
        all
    }
    assert_eq!(shown(definitions.aliases()), shown(library.aliases()));
    assert_eq!(shown(definitions.all_functions()), shown(library.functions()));
    assert_eq!(shown(definitions.probes(0)), shown(library.probes()));
    definitions.whole().unwrap();
}
