//! However an object is packed, its index is the same; and what makes an index the same, byte for byte.
use crate::hostile::dwarf::FUNCTION;
use crate::support::elf::TEXT;
use crate::support::facts::assert_equal;
use crate::support::fixture::{Tree, USUAL, run_all};
use crate::support::index::{build, build_whole};
use crate::support::raw::Raw;
use gimli::*;
use std::process::Command;

#[test]
fn compressed_modules_are_read_as_plain_ones() {
    for (tool, extension) in [("gzip", "gz"), ("xz", "xz"), ("zstd", "zst")] {
        let plain = Tree::compile(&USUAL);
        let packed = plain.copy();
        let pack = |name: &str| {
            let mut c = Command::new(tool);
            c.args(["-q", "-k"]).arg(packed.module(name));
            c
        };
        run_all(["alpha-mod", "beta"].map(pack));
        for name in ["alpha-mod", "beta"] {
            std::fs::remove_file(packed.module(name)).unwrap();
        }
        let index = build_whole(&packed);
        assert_equal(&index.facts(), &build_whole(&plain).facts(), tool);
        let paths: Vec<_> = index.view().meta().unwrap().inputs.iter().map(|i| i.path.clone()).collect();
        assert!(paths[1].ends_with(&format!("alpha-mod.ko.{extension}")), "{paths:?}");
    }
}

#[test]
fn debug_files_beside_stripped_modules_are_the_ones_that_are_read() {
    let tree = Tree::compile(&USUAL);
    let whole = build_whole(&tree).facts();
    for name in ["alpha-mod", "beta"] {
        let (module, debug) = (tree.module(name), tree.module(name).with_extension("ko.debug"));
        let tool = |arguments: &[&str]| {
            let mut c = Command::new("objcopy");
            c.args(arguments).arg(&module);
            c
        };
        let mut keep = tool(&["--only-keep-debug"]);
        keep.arg(&debug);
        run_all([keep]);
        run_all([tool(&["--strip-debug"])]);
    }
    assert_equal(&build_whole(&tree).facts(), &whole, "debug files");
}

#[test]
fn neither_threads_nor_repetition_show_in_the_bytes() {
    let tree = Tree::compile(&USUAL);
    // Modules in several batches: each is padded to a good part of what one batch takes.
    let padding = tree.file("padding", &vec![0; 9 << 20]);
    for copy in 0..4 {
        let path = tree.modules().join(format!("copy-{copy}.ko"));
        let mut c = Command::new("objcopy");
        c.arg(format!("--add-section=.padding={}", padding.display())).arg(tree.module("beta")).arg(&path);
        run_all([c]);
    }
    std::fs::write(tree.vmlinux(), kernel_of_several_batches()).unwrap();
    let first = build(&[tree.path()], 1);
    assert_eq!(first.view().object_ids().count(), 7);
    let facts = first.facts();
    assert_eq!(facts.objects[""].functions.len(), 8);
    assert_eq!(
        facts.declared.iter().filter(|d| d.head.starts_with("shared ")).count(),
        2,
        "{:?}",
        facts.declared
    );
    assert_eq!(facts.types.iter().filter(|t| t.starts_with("struct node ")).count(), 1, "one of all batches");
    for jobs in [1, 2, 8] {
        assert!(build(&[tree.path()], jobs).bytes == first.bytes, "{jobs} threads");
    }
}

/// Four units, each padded to more than one batch takes. All describe `struct node`, and each two the same `shared`.
fn kernel_of_several_batches() -> Vec<u8> {
    let (mut info, mut abbrev) = (vec![], vec![]);
    for number in 0..4 {
        let mut raw = Raw::unit(4);
        let node = raw.code(DW_TAG_structure_type, false, &[(DW_AT_name, DW_FORM_string)]);
        let typed = [(DW_AT_name, DW_FORM_string), (DW_AT_type, DW_FORM_ref4)];
        let variable = raw.code(DW_TAG_variable, false, &typed);
        let function = raw.code(DW_TAG_subprogram, true, &FUNCTION);
        let described = raw.here();
        raw.entry(node).string("node");
        let own = format!("own_{number}");
        for (at, (name, local)) in [("shared", ["x", "y"][number % 2]), (&own, "z")].into_iter().enumerate() {
            raw.entry(function).string(name).u64(TEXT + (2 * number + at) as u64 * 0x100).u32(0x80);
            raw.entry(variable).string(local).u32(described).end();
        }
        raw.end().bytes(&[0; 5 << 20]);
        let unit = raw.finish();
        info.extend(unit.0);
        abbrev = unit.1;
    }
    crate::support::elf::vmlinux(&[(".debug_info", &info), (".debug_abbrev", &abbrev)])
}
