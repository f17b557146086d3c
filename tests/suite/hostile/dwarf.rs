//! Debug information that was made to do harm: the build ends, says what was wrong, and indexes all the rest.
use crate::support::fixture::{Tree, USUAL};
use crate::support::index::{Index, Reader, build};
use crate::support::raw::Raw;
use gimli::*;
use probeidx_format::record::FunctionRecord;
use std::sync::LazyLock;

static WHOLE: LazyLock<Tree> = LazyLock::new(|| Tree::compile(&USUAL));

pub const FUNCTION: [(DwAt, DwForm); 3] =
    [(DW_AT_name, DW_FORM_string), (DW_AT_low_pc, DW_FORM_addr), (DW_AT_high_pc, DW_FORM_data4)];

/// Indexes the module beside whole objects, whose facts must not suffer; gives the index and what was skipped.
pub fn index(module: &[u8]) -> (Index, Vec<String>) {
    let tree = WHOLE.copy();
    tree.file("lib/modules/6.1.0-test/kernel/hostile.ko", module);
    let index = build(&[tree.path()], 2);
    let (mut found, whole) = (index.facts(), build(&[WHOLE.path()], 1).facts());
    found.objects.remove("hostile");
    for (name, object) in &whole.objects {
        assert_eq!(object.functions, found.objects[name].functions, "functions of {name:?}");
        assert_eq!(object.sequences, found.objects[name].sequences, "lines of {name:?}");
    }
    let skipped = index.skipped(&tree.modules());
    (index, skipped)
}

/// The placements of this name, as text.
pub fn places(index: &Index, name: &str) -> Vec<String> {
    let reader = Reader { v: index.view() };
    reader.places_named(name).into_iter().map(|(_, place)| reader.place(place, 0)).collect()
}

/// A function to be found whatever else the unit has.
pub fn victim(raw: &mut Raw) {
    let code = raw.code(DW_TAG_subprogram, false, &FUNCTION);
    raw.entry(code).string("victim").u64(0x1f00).u32(0x10);
}

#[track_caller]
pub fn assert_victim(index: &Index) {
    assert_eq!(
        places(index, "victim"),
        ["victim <unknown source>:0 inline0 -> void at 0x1f00 0x1f00-0x1f10\n"]
    );
}

#[test]
fn origins_that_lead_in_circles() {
    let mut raw = Raw::unit(4);
    let function =
        [(DW_AT_abstract_origin, DW_FORM_ref4), (DW_AT_low_pc, DW_FORM_addr), (DW_AT_high_pc, DW_FORM_data4)];
    let concrete = raw.code(DW_TAG_subprogram, true, &function);
    let inlined = raw.code(DW_TAG_inlined_subroutine, false, &function);
    let variable = raw.code(DW_TAG_variable, false, &[(DW_AT_abstract_origin, DW_FORM_ref4)]);
    let abstract_only = raw.code(DW_TAG_subprogram, false, &[(DW_AT_specification, DW_FORM_ref4)]);
    let itself = raw.here();
    raw.entry(concrete).u32(itself).u64(0x1000).u32(0x100);
    let inline = raw.here();
    raw.entry(inlined).u32(inline).u64(0x1010).u32(4);
    raw.entry(inlined).u32(itself).u64(0x1020).u32(4);
    let own = raw.here();
    raw.entry(variable).u32(own).end();
    let (first, second) = (raw.here(), raw.here() + 5);
    raw.entry(abstract_only).u32(second).entry(abstract_only).u32(first);
    victim(&mut raw);
    let (index, skipped) = index(&raw.module(&[]));
    assert_victim(&index);
    let at = |offset: u32, what: &str| format!("hostile.ko: section .debug_info at {offset:#x}: {what}");
    let expected = [
        format!("part of 2 times: {}", at(second, "an origin that cannot be followed")),
        format!("part of {}", at(inline, "the origin of a function is none")),
        format!("part of {}", at(inline + 17, "an inline instance without origin, or nested too deep")),
    ];
    assert_eq!(skipped, expected);
}

#[test]
fn more_variables_than_an_index_counts() {
    let mut raw = Raw::unit(4);
    let variable = raw.code(DW_TAG_variable, false, &[(DW_AT_name, DW_FORM_string)]);
    let function = raw.code(DW_TAG_subprogram, true, &FUNCTION);
    raw.entry(function).string("many").u64(0x1100).u32(0x10);
    let mut last = 0;
    for number in 0..70_000 {
        last = raw.here();
        raw.entry(variable).string(&format!("{number:x}"));
    }
    raw.end();
    victim(&mut raw);
    let (index, skipped) = index(&raw.module(&[]));
    assert_victim(&index);
    let what = "a function has more than 65535 variables, and the rest is left out";
    assert_eq!(skipped, [format!("part of hostile.ko: section .debug_info at {last:#x}: {what}")]);
    let view = index.view();
    let of = |f: FunctionRecord| (view.string(f.name) == b"many").then(|| f.variables.get());
    assert_eq!(view.functions.iter().filter_map(of).collect::<Vec<_>>(), [65_535]);
}

#[test]
fn types_that_lead_in_circles() {
    let mut raw = Raw::unit(4);
    let target = [(DW_AT_type, DW_FORM_ref4)];
    let pointer = raw.code(DW_TAG_pointer_type, false, &target);
    let constant = raw.code(DW_TAG_const_type, false, &target);
    let array = raw.code(DW_TAG_array_type, false, &target);
    let typedef =
        raw.code(DW_TAG_typedef, false, &[(DW_AT_name, DW_FORM_string), (DW_AT_type, DW_FORM_ref4)]);
    let structure = raw.code(DW_TAG_structure_type, true, &[]);
    let member = raw.code(DW_TAG_member, false, &target);
    let variable =
        raw.code(DW_TAG_variable, false, &[(DW_AT_name, DW_FORM_string), (DW_AT_type, DW_FORM_ref4)]);
    let function = raw.code(DW_TAG_subprogram, true, &FUNCTION);
    let mut heads = vec![];
    for code in [pointer, constant, array] {
        let at = raw.here();
        heads.push(at);
        raw.entry(code).u32(at);
    }
    let (a, b) = (raw.here(), raw.here() + 7);
    raw.entry(typedef).string("a").u32(b).entry(typedef).string("b").u32(a);
    heads.extend([a, b]);
    let whole = raw.here();
    raw.entry(structure).entry(member).u32(whole).end();
    heads.push(whole);
    raw.entry(function).string("victim").u64(0x1f00).u32(0x10);
    for (name, head) in ["p", "c", "r", "ta", "tb", "s"].iter().zip(&heads) {
        raw.entry(variable).string(name).u32(*head);
    }
    raw.end();
    let (index, skipped) = index(&raw.module(&[]));
    assert_eq!(skipped, [] as [&str; 0]);
    let text = places(&index, "victim").concat();
    for line in [
        "var p: pointer{}void line 0 nowhere",
        "var r: array{}void line 0 nowhere",
        "var ta: typedef a line 0 nowhere",
        "var s: struct{: void at 0 width 0; } line 0 nowhere",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
}

#[test]
fn siblings_that_lead_backwards_or_away() {
    for target in [0, 11, 0x30, u32::MAX] {
        let mut raw = Raw::unit(4);
        let attributes = [(DW_AT_name, DW_FORM_string), (DW_AT_sibling, DW_FORM_ref4)];
        let structure = raw.code(DW_TAG_structure_type, true, &attributes);
        let function =
            [(DW_AT_sibling, DW_FORM_ref4), (DW_AT_low_pc, DW_FORM_addr), (DW_AT_high_pc, DW_FORM_data4)];
        let function = raw.code(DW_TAG_subprogram, true, &function);
        raw.entry(structure).string("s").u32(target).end();
        raw.entry(function).u32(target).u64(0x1000).u32(8).end();
        victim(&mut raw);
        let (index, skipped) = index(&raw.module(&[]));
        assert_victim(&index);
        assert_eq!(skipped, [] as [&str; 0], "{target:#x}");
    }
}

/// A victim function, and a unit that the closure spoils by whatever it appends.
fn spoiled(version: u16, spoil: impl FnOnce(&mut Raw)) -> Raw {
    let mut raw = Raw::unit(version);
    victim(&mut raw);
    spoil(&mut raw);
    raw
}

#[test]
fn abbreviations_with_huge_codes_or_cut_off() {
    let mut raw = spoiled(4, |raw| {
        let huge = raw.abbreviation(u64::MAX, DW_TAG_base_type, false, &[(DW_AT_name, DW_FORM_string)]);
        raw.abbreviation(1 << 40, DW_TAG_base_type, false, &[]);
        raw.entry(huge).string("huge");
    });
    raw.uleb(0x7fff_ffff);
    let (found, skipped) = index(&raw.module(&[]));
    assert_victim(&found);
    assert_eq!(
        skipped,
        ["part of hostile.ko: section .debug_info at 0x0: the entries of a unit are damaged"]
    );

    let (info, abbrev) = spoiled(4, |_| {}).finish();
    let module = crate::support::elf::module(&[
        (".debug_info", &info),
        (".debug_abbrev", &abbrev[..abbrev.len() - 4]),
    ]);
    let (_, skipped) = index(&module);
    let [line] = &skipped[..] else { panic!("{skipped:?}") };
    assert!(line.starts_with("part of hostile.ko: section .debug_abbrev at 0x"), "{line}");
}

#[test]
fn values_that_reach_beyond_the_end() {
    let forms = [
        (DW_FORM_block, vec![0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
        (DW_FORM_exprloc, vec![0xff, 0xff, 0xff, 0x7f]),
        (DW_FORM_block4, vec![0xff, 0xff, 0xff, 0xff]),
        (DW_FORM_string, vec![b'a'; 3]),
        (DW_FORM_data8, vec![1]),
        (DW_FORM_indirect, vec![0x16, 0x16, 0x16]),
        (DwForm(0x7777), vec![]),
    ];
    for (form, value) in forms {
        let mut raw = spoiled(4, |raw| {
            let code = raw.code(DW_TAG_variable, false, &[(DW_AT_location, form)]);
            let own = raw.code(DW_TAG_subprogram, true, &FUNCTION);
            raw.entry(own).string("holder").u64(0x1000).u32(8).entry(code);
        });
        raw.bytes(&value);
        let (mut info, abbrev) = raw.finish();
        // The last byte ends the unit: without it the string has no end.
        info.pop();
        let length = info.len() as u32 - 4;
        info[..4].copy_from_slice(&length.to_le_bytes());
        let (found, skipped) =
            index(&crate::support::elf::module(&[(".debug_info", &info), (".debug_abbrev", &abbrev)]));
        assert_victim(&found);
        assert!(
            !skipped.is_empty()
                && skipped.iter().all(|s| s.contains("hostile.ko: section .debug_info at 0x")),
            "{form}: {skipped:?}"
        );
    }
}

#[test]
fn unit_headers_that_lie() {
    let (info, abbrev) = spoiled(4, |_| {}).finish();
    let cases: [(&str, &[u8]); 5] = [
        ("a unit is longer than the section", &[0xff, 0xff, 0xff, 0x7f, 4, 0]),
        ("a unit is longer than the section", &[0xff; 20]),
        ("a unit of a DWARF version other than 2 to 5: compile with -gdwarf-5", &[3, 0, 0, 0, 99, 0, 0]),
        ("the header of a unit is damaged", &[7, 0, 0, 0, 4, 0, 0, 0, 0, 0, 3]),
        ("the header of a unit is damaged", &[2, 0, 0, 0, 4, 0]),
    ];
    for (what, second) in cases {
        let both = [&info[..], second].concat();
        let (found, skipped) =
            index(&crate::support::elf::module(&[(".debug_info", &both), (".debug_abbrev", &abbrev)]));
        assert_victim(&found);
        assert_eq!(
            skipped,
            [format!("part of hostile.ko: section .debug_info at {:#x}: {what}", info.len())]
        );
    }
}

#[test]
fn lists_without_end_or_order() {
    for version in [4, 5] {
        let mut raw = spoiled(version, |raw| {
            let ranged = [(DW_AT_name, DW_FORM_string), (DW_AT_ranges, DW_FORM_sec_offset)];
            let function = raw.code(DW_TAG_subprogram, true, &ranged);
            let variable = raw.code(
                DW_TAG_variable,
                false,
                &[(DW_AT_name, DW_FORM_string), (DW_AT_location, DW_FORM_sec_offset)],
            );
            for offset in [0, 1, 0xffff_fff0] {
                raw.entry(function).string("ranged").u32(offset);
                raw.entry(variable).string("v").u32(offset).end();
            }
        });
        raw.uleb(0);
        // Overlapping, inverted, empty, and without an end.
        let pairs: Vec<u8> = [
            (0x1000u64, 0x1100u64),
            (0x1080, 0x1180),
            (0x1200, 0x1100),
            (0x1300, 0x1300),
            (0x1400, u64::MAX),
        ]
        .iter()
        .flat_map(|(start, end)| {
            let kind: &[u8] = if version == 5 { &[6] } else { &[] };
            [kind, &start.to_le_bytes(), &end.to_le_bytes()].concat()
        })
        .collect();
        let (found, skipped) = index(&raw.module(&[
            (".debug_ranges", &pairs),
            (".debug_rnglists", &pairs),
            (".debug_loc", &pairs),
            (".debug_loclists", &pairs),
        ]));
        assert_victim(&found);
        assert!(skipped.iter().any(|s| s.contains("a range list is damaged")), "{skipped:?}");
        let text = places(&found, "ranged").concat();
        assert!(
            text.contains("at 0x1000 0x1000-0x1100 0x1080-0x1180\n"),
            "overlapping ranges are kept: {text}"
        );
    }
}

#[test]
fn indexes_beyond_their_tables() {
    let mut raw = spoiled(5, |raw| {
        let attributes = [
            (DW_AT_name, DW_FORM_strx),
            (DW_AT_low_pc, DW_FORM_addrx),
            (DW_AT_ranges, DW_FORM_rnglistx),
            (DW_AT_decl_file, DW_FORM_udata),
        ];
        let function = raw.code(DW_TAG_subprogram, true, &attributes);
        let variable = raw.code(DW_TAG_variable, false, &[(DW_AT_location, DW_FORM_loclistx)]);
        for number in [0, 1, u64::from(u32::MAX), u64::MAX] {
            raw.entry(function);
            (0..4).for_each(|_| {
                raw.uleb(number);
            });
            raw.entry(variable).uleb(number).end();
        }
    });
    raw.uleb(0);
    let tables: [(&str, &[u8]); 5] = [
        (".debug_addr", &[1; 16]),
        (".debug_rnglists", &[0xff; 16]),
        (".debug_loclists", &[0xff; 16]),
        (".debug_str_offsets", &[0xff; 16]),
        (".debug_line", &[]),
    ];
    let (found, _) = index(&raw.module(&tables));
    assert_victim(&found);
}

#[test]
fn line_programs_that_lie() {
    let header = |opcode_base: u8, line_range: u8| {
        let mut program = vec![0; 4];
        program.extend(4u16.to_le_bytes());
        program.extend([0; 4]);
        program.extend([1, 1, 1, 0xfb, line_range, opcode_base]);
        program.extend(vec![1; usize::from(opcode_base).saturating_sub(1)]);
        program.extend([0, 0]);
        let length = program.len() as u32 - 10;
        program[6..10].copy_from_slice(&length.to_le_bytes());
        program
    };
    let whole = |mut program: Vec<u8>, opcodes: &[u8]| {
        program.extend(opcodes);
        let length = program.len() as u32 - 4;
        program[..4].copy_from_slice(&length.to_le_bytes());
        program
    };
    let cut = "a line program ends within a sequence";
    let damaged = "the header of a line program is damaged";
    let cases = [
        (damaged, whole(header(0, 14), &[])),
        (damaged, whole(header(13, 0), &[])),
        (cut, whole(header(13, 14), &[0x20, 0x20])),
        (cut, whole(header(1, 255), &[0x20; 100])),
        ("an opcode is longer than the program", whole(header(13, 14), &[0, 0xff, 0x7f, 2])),
        ("a line program of an unknown version", b"\x08\0\0\0\x63\0\0\0\0\0\0\0".to_vec()),
        ("a line program is longer than the section", b"\xff\xff\xff\x7f\x04\0".to_vec()),
        (
            "the header of a line program is longer than the program",
            b"\x06\0\0\0\x04\0\xff\xff\xff\x7f".to_vec(),
        ),
    ];
    for (what, line) in cases {
        let mut raw = Raw::unit(4);
        raw.info.truncate(11);
        let unit = [(DW_AT_name, DW_FORM_string), (DW_AT_stmt_list, DW_FORM_sec_offset)];
        let unit = raw.code(DW_TAG_compile_unit, true, &unit);
        raw.entry(unit).string("lines.c").u32(0);
        victim(&mut raw);
        let (found, skipped) = index(&raw.module(&[(".debug_line", &line)]));
        assert_victim(&found);
        let [report] = &skipped[..] else { panic!("{what}: {skipped:?}") };
        assert!(
            report.starts_with("part of hostile.ko: section .debug_line at 0x") && report.ends_with(what),
            "{what}: {report}"
        );
    }
}
