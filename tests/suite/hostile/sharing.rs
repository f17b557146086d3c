//! A small file in which many entries refer to the same long thing, so that reading it for each would take the square of its
//! size: the build ends, what is too much is said, and the rest is whole. What a compiler shares is read in full.
use super::dwarf::{FUNCTION, assert_victim, index, victim};
use crate::support::elf::module;
use crate::support::raw::Raw;
use gimli::*;

/// With any of the bounds gone, a test takes minutes and gigabytes.
const MANY: u32 = 20_000;

#[track_caller]
fn says(skipped: &[String], what: &str) {
    assert!(skipped.iter().any(|line| line.contains(what)), "{what} in {skipped:#?}");
}

#[test]
fn one_long_list_for_all() {
    // Fewer: what may be read is written too.
    const LISTS: u32 = 3000;
    let mut raw = Raw::unit(4);
    victim(&mut raw);
    let ranged = [(DW_AT_name, DW_FORM_string), (DW_AT_ranges, DW_FORM_sec_offset)];
    let function = raw.code(DW_TAG_subprogram, true, &ranged);
    let located = [(DW_AT_name, DW_FORM_string), (DW_AT_location, DW_FORM_sec_offset)];
    let variable = raw.code(DW_TAG_variable, false, &located);
    for _ in 0..LISTS {
        raw.entry(function).string("f").u32(0).entry(variable).string("v").u32(0).end();
    }
    let (mut ranges, mut locations) = (vec![], vec![]);
    for at in (0..u64::from(LISTS)).map(|at| 0x1000 + at % 0x8000) {
        for list in [&mut ranges, &mut locations] {
            list.extend([at.to_le_bytes(), (at + 1).to_le_bytes()].concat());
        }
        locations.extend([1, 0, DW_OP_reg0.0]);
    }
    ranges.extend([0; 16]);
    locations.extend([0; 16]);
    // Behind all that is too much.
    let code = raw.code(DW_TAG_subprogram, false, &FUNCTION);
    raw.entry(code).string("plain").u64(0x2f00).u32(0x10);
    let (found, skipped) = index(&raw.module(&[(".debug_ranges", &ranges), (".debug_loc", &locations)]));
    assert_victim(&found);
    assert_eq!(super::dwarf::places(&found, "plain").len(), 1, "what needs no list is read to the end");
    let what = "range and location lists are read more than 32 times: they overlap";
    says(&skipped, &format!("section .debug_ranges at 0x0: {what}"));
    assert_eq!(skipped.len(), 2, "of ranges and of locations: {skipped:?}");
    assert!(skipped.iter().all(|line| line.ends_with(what)), "nothing is called damaged: {skipped:?}");
}

/// Line tables that start one behind the other and all go on in the same long list of files, or the same long name.
#[test]
fn line_tables_that_end_in_one_another() {
    const TABLES: u32 = 20_000;
    const HEADER: u32 = 31;
    let long_name = vec![b'n'; 1_000_000];
    let names: Vec<u8> = (0..TABLES).flat_map(|n| [format!("{n}").as_bytes(), &[0]].concat()).collect();
    for (count, names) in [(TABLES, names), (1, [&long_name[..], &[0]].concat())] {
        let mut shared = vec![1, 1, 8];
        leb128::write::unsigned(&mut shared, count.into()).unwrap();
        shared.extend(names);
        let end = TABLES * HEADER + shared.len() as u32;
        let (mut info, mut line) = (vec![], vec![]);
        let (unit, abbrev) = unit_with_lines().finish();
        for number in 0..TABLES {
            let start = number * HEADER;
            line.extend((end - start - 4).to_le_bytes());
            line.extend([5, 0, 8, 0]);
            line.extend((end - start - 12).to_le_bytes());
            // Directories of one attribute of a vendor's, a block of all that stands before the shared list.
            line.extend([1, 1, 1, 0xfb, 14, 1, 1, 0x81, 0x40, DW_FORM_block.0 as u8, 1]);
            let rest = TABLES * HEADER - start - 27;
            line.extend(
                [0, 7, 14, 21].map(|bit| (rest >> bit) as u8 & 0x7f | if bit < 21 { 0x80 } else { 0 }),
            );
            line.resize((start + HEADER) as usize, 0);
            let mut unit = unit.clone();
            let at = unit.len() - 5;
            unit[at..at + 4].copy_from_slice(&start.to_le_bytes());
            info.extend(unit);
        }
        line.extend(shared);
        let sections = [(".debug_info", &info[..]), (".debug_abbrev", &abbrev), (".debug_line", &line)];
        let (_, skipped) = index(&module(&sections));
        let [report] = &skipped[..] else { panic!("{skipped:?}") };
        assert!(report.ends_with("line tables are read more than 32 times: they overlap"), "{report}");
    }
}

#[test]
fn abbreviations_for_many_units() {
    let (info, mut abbrev) = {
        let mut raw = Raw::unit(4);
        victim(&mut raw);
        raw.finish()
    };
    // Shared as LLVM's full LTO and dwz do: all units are read.
    let (found, skipped) = index(&module(&[(".debug_info", &info.repeat(2000)), (".debug_abbrev", &abbrev)]));
    assert_eq!(skipped, [] as [&str; 0]);
    assert_eq!(super::dwarf::places(&found, "victim").len(), 2000);
    // Each unit starts one abbreviation further on in the same long table.
    let one = abbrev[..abbrev.len() - 1].to_vec();
    abbrev = one.repeat(MANY as usize);
    abbrev.push(0);
    let mut all = info.clone();
    for number in 1..MANY {
        let mut unit = info.clone();
        unit[6..10].copy_from_slice(&(number * one.len() as u32).to_le_bytes());
        all.extend(unit);
    }
    let (found, skipped) = index(&module(&[(".debug_info", &all), (".debug_abbrev", &abbrev)]));
    assert!(!super::dwarf::places(&found, "victim").is_empty());
    says(&skipped, "abbreviations are read more than 32 times: they overlap");
}

#[test]
fn abbreviations_that_cost_more_than_their_entries() {
    let mut raw = Raw::unit(4);
    victim(&mut raw);
    let flags = vec![(DW_AT_name, DW_FORM_flag_present); MANY as usize];
    let empty = raw.code(DW_TAG_variable, false, &flags);
    let mut far = empty;
    for code in 0..u64::from(MANY) {
        far = raw.abbreviation((1 << 40) + code, DW_TAG_variable, false, &[]);
    }
    for _ in 0..MANY {
        raw.entry(empty).entry(far);
    }
    let (found, skipped) = index(&raw.module(&[]));
    assert_victim(&found);
    assert_eq!(skipped, [] as [&str; 0]);
}

/// A unit of DWARF 4 with the line table at offset 0.
fn unit_with_lines() -> Raw {
    let mut raw = Raw::unit(4);
    raw.info.truncate(11);
    let unit = [(DW_AT_name, DW_FORM_string), (DW_AT_stmt_list, DW_FORM_sec_offset)];
    let unit = raw.code(DW_TAG_compile_unit, true, &unit);
    raw.entry(unit).string("lines.c").u32(0);
    raw
}

fn line_table(files: &[u8], program: &[u8]) -> Vec<u8> {
    let mut header = vec![1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0];
    header.extend(files);
    header.push(0);
    let mut table = 4u16.to_le_bytes().to_vec();
    table.extend((header.len() as u32).to_le_bytes());
    table.extend(header);
    table.extend(program);
    [&(table.len() as u32).to_le_bytes()[..], &table].concat()
}

#[test]
fn one_line_table_for_many_units() {
    let (info, abbrev) = unit_with_lines().finish();
    let start = [&[0, 9, 2][..], &0x1000u64.to_le_bytes()].concat();
    let program = [&start[..], &vec![0x20; MANY as usize], &[0, 1, 1]].concat();
    let files: Vec<u8> = (0..MANY).flat_map(|n| [format!("{n}").as_bytes(), &[0; 4]].concat()).collect();
    let sections = |info: &[u8], line: &[u8]| {
        module(&[(".debug_info", info), (".debug_abbrev", &abbrev), (".debug_line", line)])
    };
    let many = info.repeat(MANY as usize);
    let (found, skipped) = index(&sections(&many, &line_table(b"", &program)));
    assert_eq!(skipped, [] as [&str; 0]);
    // A program is run once. Its rows are in pieces of 2048.
    assert_eq!(found.facts().objects["hostile"].sequences.len(), (MANY as usize).div_ceil(2048));
    let (_, skipped) = index(&sections(&many, &line_table(&files, &[])));
    says(&skipped, "line tables are read more than 32 times: they overlap");
}

#[test]
fn names_that_are_ends_of_one_another() {
    let mut raw = Raw::unit(4);
    victim(&mut raw);
    let code = raw.code(DW_TAG_structure_type, false, &[(DW_AT_name, DW_FORM_strp)]);
    for at in 0..MANY {
        raw.entry(code).u32(at);
    }
    let names = [&vec![b'x'; 65_000][..], &[0]].concat().repeat(2);
    let (found, skipped) = index(&raw.module(&[(".debug_str", &names)]));
    assert_victim(&found);
    says(&skipped, "names are read more than 32 times: they overlap");
    assert!(found.bytes.len() < 64 << 20, "{}", found.bytes.len());
}

#[test]
fn variables_that_only_placements_have() {
    let mut raw = Raw::unit(4);
    victim(&mut raw);
    let declared =
        raw.code(DW_TAG_subprogram, false, &[(DW_AT_name, DW_FORM_string), (DW_AT_inline, DW_FORM_data1)]);
    let placed =
        [(DW_AT_abstract_origin, DW_FORM_ref4), (DW_AT_low_pc, DW_FORM_addr), (DW_AT_high_pc, DW_FORM_data4)];
    let placed = raw.code(DW_TAG_subprogram, true, &placed);
    let variable = raw.code(DW_TAG_variable, false, &[(DW_AT_name, DW_FORM_string)]);
    let origin = raw.here();
    raw.entry(declared).string("f").u8(1).entry(placed).u32(origin).u64(0x1000).u32(8);
    for number in 0..MANY {
        raw.entry(variable).string(&format!("{number}"));
    }
    raw.end();
    let (found, skipped) = index(&raw.module(&[]));
    assert_victim(&found);
    says(&skipped, "more than 4096 variables that their function lacks");
}

#[test]
fn types_and_functions_nested_or_chained_100_000_deep() {
    const DEEP: u32 = 100_000;
    let mut raw = Raw::unit(4);
    victim(&mut raw);
    let structure = raw.code(DW_TAG_structure_type, true, &[(DW_AT_name, DW_FORM_string)]);
    let block = raw.code(DW_TAG_lexical_block, true, &[]);
    let namespace = raw.code(DW_TAG_namespace, true, &[]);
    let typedef =
        raw.code(DW_TAG_typedef, false, &[(DW_AT_name, DW_FORM_string), (DW_AT_type, DW_FORM_ref4)]);
    let pointer = raw.code(DW_TAG_pointer_type, false, &[(DW_AT_type, DW_FORM_ref4)]);
    let function = raw.code(DW_TAG_subprogram, true, &FUNCTION);
    for number in 0..DEEP {
        let next = raw.here() + 12;
        raw.entry(typedef).string(&format!("{number:06}")).u32(next);
    }
    for _ in 0..DEEP {
        let next = raw.here() + 5;
        raw.entry(pointer).u32(next);
    }
    raw.entry(function).string("f").u64(0x1000).u32(8);
    for code in [structure, block, namespace] {
        for _ in 0..DEEP {
            raw.entry(code);
            if code == structure {
                raw.string("s");
            }
        }
        for _ in 0..DEEP {
            raw.end();
        }
    }
    raw.end();
    let (found, skipped) = index(&raw.module(&[]));
    assert_victim(&found);
    says(&skipped, "types are nested too deep");
}

#[test]
fn units_that_import_one_another() {
    let mut raw = Raw::unit(4);
    let import = raw.code(DW_TAG_imported_unit, false, &[(DW_AT_import, DW_FORM_ref_addr)]);
    victim(&mut raw);
    for at in [0, 11, 12, 0x40, u32::MAX] {
        raw.entry(import).u32(at);
    }
    let (info, abbrev) = raw.finish();
    let (found, _) = index(&module(&[(".debug_info", &info), (".debug_abbrev", &abbrev)]));
    assert_victim(&found);
}

#[test]
fn sections_that_inflate_without_measure() {
    let section = [b"ZLIB", &(200u64 << 20).to_be_bytes()[..], &[0x78, 0xda, 3, 0, 0, 0, 0, 1]].concat();
    let (_, skipped) = index(&module(&[(".zdebug_info", &section)]));
    says(&skipped, "bytes inflate to 209715200, more than the");
}
