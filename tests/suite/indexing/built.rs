//! Kernels built in other ways than distributions do: paths are relative to their sources wherever they were built, and
//! parameters are there at the entry whichever compiler placed them.
use crate::support::fixture::{Recipe, Tree, possible, run_all};
use crate::support::program::Indexed;
use crate::support::tables::{text, try_index};
use std::path::Path;
use std::process::Command;

/// The folder of the sources and that of the build, below another one.
struct Layout {
    sources: &'static str,
    build: &'static str,
    /// How the compiler is told where the sources are.
    named: &'static str,
    /// `init/main.c` is compiled with its paths cut off up to here, as if by another compiler than the rest.
    cut: bool,
}

const LAYOUTS: [Layout; 6] = [
    Layout { sources: "linux", build: "linux", named: ".", cut: false },
    Layout { sources: "linux", build: "linux", named: "{}/linux", cut: false },
    Layout { sources: "linux", build: "linux/build", named: "..", cut: false },
    Layout { sources: "linux", build: "out", named: "{}/linux", cut: false },
    Layout { sources: "linux", build: "out", named: "../linux", cut: false },
    Layout {
        sources: "debian/build/source_rt",
        build: "debian/build/build_rt",
        named: "{}/debian/build/source_rt",
        cut: true,
    },
];

const GCC: Recipe = Recipe::new("gcc", &[]);
const CLANG: Recipe = Recipe::new("clang", &[]);

/// What sites of ftrace and landing pads take.
const TRACED: &[&str] = &["-gdwarf-5", "-pg", "-mfentry", "-fcf-protection=branch"];

fn compile(recipe: &Recipe, flags: &[&str], layout: &Layout, has_table: bool) -> Tree {
    let tree = Tree::empty();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/built");
    let (sources, build) = (tree.path().join(layout.sources), tree.path().join(layout.build));
    std::fs::create_dir_all(sources.parent().unwrap()).unwrap();
    let mut copy = Command::new("cp");
    copy.arg("-r").arg(&fixture).arg(&sources);
    run_all([copy]);
    std::fs::create_dir_all(&build).unwrap();
    let named = layout.named.replace("{}", tree.path().to_str().unwrap());
    let units = ["init/main", "fs/open"];
    let object = |unit: &str| tree.path().join(unit.replace('/', "-") + ".o");
    run_all(units.iter().map(|unit| {
        let mut c = Command::new(recipe.compiler);
        c.current_dir(&build).args(["-O2", "-ffreestanding", "-fno-pic", "-mcmodel=kernel"]);
        c.args(["-fno-asynchronous-unwind-tables", "-fno-stack-protector"]).args(flags);
        if layout.cut && *unit == "init/main" {
            c.arg(format!("-ffile-prefix-map={}/=", tree.path().display()));
        }
        let source = if named == "." { format!("{unit}.c") } else { format!("{named}/{unit}.c") };
        c.arg(format!("-I{named}/include")).args(["-c", &source, "-o"]).arg(object(unit));
        c
    }));
    let mut ld = Command::new("ld");
    ld.arg("-T").arg(fixture.join("kernel.lds")).args(["--no-warn-rwx-segments", "-o"]);
    ld.arg(tree.path().join("vmlinux-6.1.0-built")).args(units.map(object));
    if has_table {
        let mut sites = Command::new("gcc");
        sites.args(["-c", "-o"]).arg(object("sites")).arg(fixture.join("sites.S"));
        run_all([sites]);
        ld.arg(object("sites"));
    }
    run_all([ld]);
    for object in units.iter().map(|unit| object(unit)).chain(has_table.then(|| object("sites"))) {
        std::fs::remove_file(object).unwrap();
    }
    tree
}

/// Tables that this kernel has not are told, which is no matter here.
fn index(recipe: &Recipe, flags: &[&str], layout: &Layout, has_table: bool) -> Indexed {
    try_index(compile(recipe, flags, layout, has_table)).0
}

#[test]
fn paths_are_relative_to_the_sources_wherever_they_were_built() {
    for recipe in [GCC, CLANG].iter().filter(|recipe| possible(recipe)) {
        for dwarf in ["-gdwarf-4", "-gdwarf-5"] {
            for layout in &LAYOUTS {
                let indexed = index(recipe, &[dwarf], layout, false);
                let how = format!("{} {dwarf}, {} for {}", recipe.compiler, layout.named, layout.build);
                for (function, file) in
                    [("start", "init/main.c"), ("open_file", "fs/open.c"), ("mode_of", "include/linux/fs.h")]
                {
                    let places = indexed.json(&["resolve", function]);
                    assert!(!places.is_empty(), "{how}: {function}");
                    for place in &places {
                        assert_eq!(text(place, "file"), file, "{how}: {function}");
                    }
                }
                let lines = indexed.run(&["lines", "open_file@fs/open.c"]);
                assert_eq!(lines.code, 0, "{how}: {lines:?}");
            }
        }
    }
}

/// clang starts location lists behind `endbr64` and the site; GCC at the entry.
#[test]
fn parameters_are_at_the_entry_before_which_nothing_happened() {
    for recipe in [GCC, CLANG].iter().filter(|recipe| possible(recipe)) {
        let indexed = index(recipe, TRACED, &LAYOUTS[0], true);
        let place = &indexed.json(&["resolve", "open_file", "file", "flags", "file->mode"])[0];
        let fetched: Vec<_> = place["vars"].as_array().unwrap().iter().map(|v| text(v, "fetch")).collect();
        assert_eq!(
            fetched,
            ["file=%di:x64", "flags=%si:s32", "mode=+0(%di):s32"],
            "{}: {place:#}",
            recipe.compiler
        );
    }
}

/// What stands where a site would be, and is in no table, may do anything.
#[test]
fn a_call_at_the_entry_that_is_no_site_may_change_all() {
    if !possible(&CLANG) {
        return;
    }
    let indexed = index(&CLANG, TRACED, &LAYOUTS[0], false);
    let place = &indexed.json(&["resolve", "open_file", "file"])[0];
    assert_eq!(text(&place["vars"][0], "state"), "elsewhere", "{place:#}");
}
