//! Debug information nested without end: the depth costs neither the stack nor the square of the time.
use super::dwarf::{FUNCTION, assert_victim, index, places, victim};
use crate::support::raw::Raw;
use gimli::*;

const DEEP: usize = 100_000;

/// A module whose victim function holds this entry nested in itself.
fn nested(tag: DwTag, attributes: &[(DwAt, DwForm)], values: impl Fn(&mut Raw, u32)) -> Vec<u8> {
    let mut raw = Raw::unit(4);
    let origin = raw.here();
    let inline =
        raw.code(DW_TAG_subprogram, false, &[(DW_AT_name, DW_FORM_string), (DW_AT_inline, DW_FORM_data1)]);
    raw.entry(inline).string("deep").u8(1);
    let function = raw.code(DW_TAG_subprogram, true, &FUNCTION);
    raw.entry(function).string("holder").u64(0x1000).u32(0x100);
    let level = raw.code(tag, true, attributes);
    for _ in 0..DEEP {
        raw.entry(level);
        values(&mut raw, origin);
    }
    raw.bytes(&[0; DEEP + 1]);
    victim(&mut raw);
    raw.module(&[])
}

#[test]
fn inline_instances_nested_without_end() {
    let attributes =
        [(DW_AT_abstract_origin, DW_FORM_ref4), (DW_AT_low_pc, DW_FORM_addr), (DW_AT_high_pc, DW_FORM_data1)];
    let module = nested(DW_TAG_inlined_subroutine, &attributes, |raw, origin| {
        raw.u32(origin).u64(0x1010).u8(8);
    });
    let (index, skipped) = index(&module);
    assert_victim(&index);
    assert!((100..1000).contains(&places(&index, "deep").len()), "{}", places(&index, "deep").len());
    let [line] = &skipped[..] else { panic!("{skipped:?}") };
    assert!(line.starts_with("part of hostile.ko: section .debug_info at 0x"), "{line}");
    assert!(line.contains("nested too deep"), "{line}");
}

#[test]
fn lexical_blocks_nested_without_end() {
    let attributes = [(DW_AT_low_pc, DW_FORM_addr), (DW_AT_high_pc, DW_FORM_data1)];
    let (index, _) = index(&nested(DW_TAG_lexical_block, &attributes, |raw, _| {
        raw.u64(0x1010).u8(8);
    }));
    assert_victim(&index);
    assert_eq!(places(&index, "holder").len(), 1);
}

#[test]
fn functions_nested_without_end() {
    let (index, _) = index(&nested(DW_TAG_subprogram, &FUNCTION, |raw, _| {
        raw.string("f").u64(0x1010).u32(8);
    }));
    assert_victim(&index);
    assert!(!places(&index, "f").is_empty());
}

#[test]
fn types_nested_without_end() {
    let mut raw = Raw::unit(4);
    let structure = raw.code(DW_TAG_structure_type, true, &[(DW_AT_name, DW_FORM_string)]);
    let member = raw.code(DW_TAG_member, false, &[(DW_AT_type, DW_FORM_ref4)]);
    for level in 0..DEEP {
        raw.entry(structure).string(&format!("s{level}"));
        let inner = raw.here() + 5;
        raw.entry(member).u32(inner);
    }
    raw.bytes(&[0; DEEP]);
    victim(&mut raw);
    let (index, _) = index(&raw.module(&[]));
    assert_victim(&index);
}

#[test]
fn pointers_to_pointers_without_end() {
    let mut raw = Raw::unit(4);
    let pointer = raw.code(DW_TAG_pointer_type, false, &[(DW_AT_type, DW_FORM_ref4)]);
    let variable =
        raw.code(DW_TAG_variable, false, &[(DW_AT_name, DW_FORM_string), (DW_AT_type, DW_FORM_ref4)]);
    let first = raw.here();
    for _ in 0..DEEP {
        let next = raw.here() + 5;
        raw.entry(pointer).u32(next);
    }
    raw.entry(pointer).u32(first);
    let function = raw.code(DW_TAG_subprogram, true, &FUNCTION);
    raw.entry(function).string("holder").u64(0x1000).u32(0x100);
    raw.entry(variable).string("v").u32(first).end();
    victim(&mut raw);
    let (index, skipped) = index(&raw.module(&[]));
    assert_victim(&index);
    assert_eq!(skipped.len(), 1, "{skipped:?}");
    assert!(skipped[0].contains("types are nested too deep"), "{skipped:?}");
}

/// Each origin describes its function's variables, and passes over the functions within.
#[test]
fn origins_nested_without_end() {
    let mut raw = Raw::unit(4);
    let inline = raw.code(DW_TAG_subprogram, true, &[(DW_AT_inline, DW_FORM_data1)]);
    let mut origins = vec![];
    for _ in 0..DEEP {
        origins.push(raw.here());
        raw.entry(inline).u8(1);
    }
    raw.bytes(&[0; DEEP]);
    let function = raw.code(DW_TAG_subprogram, true, &FUNCTION);
    let attributes = [(DW_AT_abstract_origin, DW_FORM_ref4), (DW_AT_low_pc, DW_FORM_addr)];
    let instance = raw.code(DW_TAG_inlined_subroutine, false, &attributes);
    raw.entry(function).string("holder").u64(0x1000).u32(0x100);
    for origin in origins {
        raw.entry(instance).u32(origin).u64(0x1010);
    }
    raw.end();
    victim(&mut raw);
    let (index, skipped) = index(&raw.module(&[]));
    assert_victim(&index);
    assert!(skipped.iter().any(|s| s.contains("functions are nested too deep")), "{skipped:?}");
}
