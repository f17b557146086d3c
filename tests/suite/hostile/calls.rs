//! Call sites that name what no call can: they are left out, and all others are whole.
use super::dwarf::{FUNCTION, assert_victim, index, victim};
use crate::support::index::{Index, Reader};
use crate::support::raw::Raw;
use gimli::*;
use probeidx_format::id::FunctionId;

const CALL: [(DwAt, DwForm); 2] = [(DW_AT_call_return_pc, DW_FORM_addr), (DW_AT_call_origin, DW_FORM_ref4)];

/// The addresses of the calls of a function, with whether they are jumps.
fn calls(index: &Index, name: &str) -> Vec<(u32, bool)> {
    let view = index.view();
    let reader = Reader { v: view };
    let functions: Vec<FunctionId> = reader
        .places_named(name)
        .into_iter()
        .map(|(_, place)| view.places.at(place.index()).function)
        .collect();
    assert!(!functions.is_empty(), "{name}");
    functions.into_iter().flat_map(|f| view.calls(f)).map(|call| (call.pc.get(), call.is_tail)).collect()
}

#[test]
fn origins_that_are_no_functions() {
    for version in [4, 5] {
        let mut raw = Raw::unit(version);
        let called = raw.here();
        victim(&mut raw);
        let site = raw.code(DW_TAG_call_site, false, &CALL);
        let children = raw.code(DW_TAG_call_site, true, &CALL);
        let value = raw.code(DW_TAG_call_site_parameter, true, &[(DW_AT_name, DW_FORM_string)]);
        let jump = [CALL[0], (DW_AT_call_tail_call, DW_FORM_flag_present), CALL[1]];
        let jump = raw.code(DW_TAG_call_site, false, &jump);
        let at_call = raw.code(DW_TAG_call_site, false, &[(DW_AT_call_pc, DW_FORM_addr), CALL[1]]);
        let indirect = raw.code(DW_TAG_call_site, false, &CALL[..1]);
        let nameless = raw.code(DW_TAG_subprogram, false, &[(DW_AT_declaration, DW_FORM_flag_present)]);
        let circle = [(DW_AT_abstract_origin, DW_FORM_ref4), (DW_AT_low_pc, DW_FORM_addr)];
        let circle = raw.code(DW_TAG_subprogram, false, &circle);
        let function = raw.code(DW_TAG_subprogram, true, &FUNCTION);
        let declared = raw.here();
        raw.entry(nameless);
        let itself = raw.here();
        raw.entry(circle).u32(itself).u64(0x1d00);
        raw.entry(function).string("caller").u64(0x1000).u32(0x100);
        raw.entry(site).u64(0x1005).u32(called);
        // In the middle of nothing, in no unit, at no function, at itself, at what has no name.
        let own = raw.here();
        for origin in [3, u32::MAX - 7, 12, own, declared, itself] {
            raw.entry(site).u64(0x1010).u32(origin);
        }
        // Before all code, behind the last byte, and nowhere.
        for address in [0, 1, u64::MAX] {
            raw.entry(site).u64(address).u32(called);
        }
        raw.entry(children).u64(0x1020).u32(called);
        raw.entry(value).string("v").entry(value).string("w").end().end().end();
        raw.entry(jump).u64(0x1030).u32(called);
        raw.entry(at_call).u64(0x1040).u32(called);
        raw.entry(indirect).u64(0x1050);
        // Twice the same.
        raw.entry(site).u64(0x1060).u32(called).entry(site).u64(0x1060).u32(called);
        raw.end();
        let (index, skipped) = index(&raw.module(&[]));
        assert_victim(&index);
        let expected = [(0x1004, false), (0x101f, false), (0x102f, true), (0x1040, false), (0x105f, false)];
        assert_eq!(calls(&index, "victim"), expected, "{version}");
        assert!(
            skipped.iter().any(|line| line.contains("the origin of a call cannot be followed")),
            "{skipped:?}"
        );
    }
}

/// Entries that all end in the same long name. Without a bound, they would be read in the square of their number.
#[test]
fn declarations_that_overlap() {
    const CALLS: u32 = 20_000;
    let mut raw = Raw::unit(5);
    victim(&mut raw);
    let site = raw.code(DW_TAG_call_site, false, &CALL);
    let function = raw.code(DW_TAG_subprogram, true, &FUNCTION);
    let named = [(DW_AT_name, DW_FORM_string), (DW_AT_declaration, DW_FORM_flag_present)];
    raw.abbreviation(u64::from(b'n'), DW_TAG_subprogram, false, &named);
    let long = raw.code(DW_TAG_variable, false, &[(DW_AT_name, DW_FORM_string)]);
    let start = raw.here() + 1;
    raw.entry(long).string(&"n".repeat(500_000));
    raw.entry(function).string("caller").u64(0x1000).u32(0x100);
    for at in 0..CALLS {
        raw.entry(site).u64(0x1005).u32(start + at);
    }
    raw.end();
    let (index, skipped) = index(&raw.module(&[]));
    assert_victim(&index);
    assert!(
        skipped.iter().any(|line| line.contains("the origin of a call cannot be followed")),
        "{skipped:?}"
    );
    assert!(index.view().strings().len() < 100_000_000, "{}", index.view().strings().len());
}
