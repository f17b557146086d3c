//! A whole small index as text. Its debug information is written here byte by byte, so that no compiler's version
//! shows.
use crate::support::fixture::Tree;
use crate::support::index::{Reader, build};
use crate::support::raw::Raw;
use gimli::*;
use probeidx_format::id::PlaceId;

/// `outer` calls `inner` twice; the variables are in registers, on the stack, constant, optimized out.
fn unit() -> Raw {
    let mut raw = Raw::unit(4);
    let base = raw.code(
        DW_TAG_base_type,
        false,
        &[(DW_AT_name, DW_FORM_string), (DW_AT_byte_size, DW_FORM_data1), (DW_AT_encoding, DW_FORM_data1)],
    );
    let structure = raw.code(
        DW_TAG_structure_type,
        true,
        &[(DW_AT_name, DW_FORM_string), (DW_AT_byte_size, DW_FORM_data1)],
    );
    let member = raw.code(
        DW_TAG_member,
        false,
        &[
            (DW_AT_name, DW_FORM_string),
            (DW_AT_type, DW_FORM_ref4),
            (DW_AT_data_member_location, DW_FORM_data1),
        ],
    );
    let bits = raw.code(
        DW_TAG_member,
        false,
        &[
            (DW_AT_name, DW_FORM_string),
            (DW_AT_type, DW_FORM_ref4),
            (DW_AT_bit_size, DW_FORM_data1),
            (DW_AT_data_bit_offset, DW_FORM_data1),
        ],
    );
    let pointer =
        raw.code(DW_TAG_pointer_type, false, &[(DW_AT_type, DW_FORM_ref4), (DW_AT_byte_size, DW_FORM_data1)]);
    let int = raw.here();
    raw.entry(base).string("int").u8(4).u8(DW_ATE_signed.0);
    let node = raw.here();
    raw.entry(structure).string("node").u8(16);
    // The pointer's entry follows the struct's end: two members, of which the first is as long as this.
    let next = raw.here() + (1 + 5 + 4 + 1) + (1 + 6 + 4 + 1 + 1) + 1;
    raw.entry(member).string("next").u32(next).u8(0);
    raw.entry(bits).string("flags").u32(int).u8(3).u8(64).end();
    assert_eq!(raw.here(), next);
    raw.entry(pointer).u32(node).u8(8);

    let inline = raw.code(
        DW_TAG_subprogram,
        true,
        &[
            (DW_AT_name, DW_FORM_string),
            (DW_AT_decl_line, DW_FORM_data1),
            (DW_AT_inline, DW_FORM_data1),
            (DW_AT_type, DW_FORM_ref4),
        ],
    );
    let named = [(DW_AT_name, DW_FORM_string), (DW_AT_decl_line, DW_FORM_data1), (DW_AT_type, DW_FORM_ref4)];
    let parameter = raw.code(DW_TAG_formal_parameter, false, &named);
    let local = raw.code(DW_TAG_variable, false, &named);
    let inner = raw.here();
    raw.entry(inline).string("inner").u8(10).u8(1).u32(int);
    let inner_node = raw.here();
    raw.entry(parameter).string("node").u8(10).u32(next);
    let inner_sum = raw.here();
    raw.entry(local).string("sum").u8(12).u32(int).end();

    let function = raw.code(
        DW_TAG_subprogram,
        true,
        &[
            (DW_AT_name, DW_FORM_string),
            (DW_AT_decl_line, DW_FORM_data1),
            (DW_AT_low_pc, DW_FORM_addr),
            (DW_AT_high_pc, DW_FORM_data1),
            (DW_AT_external, DW_FORM_flag_present),
        ],
    );
    let located = raw.code(
        DW_TAG_formal_parameter,
        false,
        &[
            (DW_AT_name, DW_FORM_string),
            (DW_AT_decl_line, DW_FORM_data1),
            (DW_AT_type, DW_FORM_ref4),
            (DW_AT_location, DW_FORM_exprloc),
        ],
    );
    let instance = raw.code(
        DW_TAG_inlined_subroutine,
        true,
        &[
            (DW_AT_abstract_origin, DW_FORM_ref4),
            (DW_AT_low_pc, DW_FORM_addr),
            (DW_AT_high_pc, DW_FORM_data1),
            (DW_AT_call_line, DW_FORM_data1),
        ],
    );
    let placed = raw.code(
        DW_TAG_formal_parameter,
        false,
        &[(DW_AT_abstract_origin, DW_FORM_ref4), (DW_AT_location, DW_FORM_exprloc)],
    );
    let constant = raw.code(
        DW_TAG_variable,
        false,
        &[(DW_AT_abstract_origin, DW_FORM_ref4), (DW_AT_const_value, DW_FORM_sdata)],
    );
    let block =
        raw.code(DW_TAG_lexical_block, true, &[(DW_AT_low_pc, DW_FORM_addr), (DW_AT_high_pc, DW_FORM_data1)]);
    raw.entry(function).string("outer").u8(20).u64(0x1100).u8(0x40);
    raw.entry(located).string("head").u8(20).u32(next).u8(1).bytes(&[0x55]);
    raw.entry(instance).u32(inner).u64(0x1104).u8(8).u8(23);
    raw.entry(placed).u32(inner_node).u8(1).bytes(&[0x55]);
    raw.entry(constant).u32(inner_sum).uleb(0x7f).end();
    raw.entry(block).u64(0x1110).u8(0x20);
    raw.entry(local).string("lost").u8(25).u32(int);
    raw.entry(instance).u32(inner).u64(0x1118).u8(4).u8(26);
    raw.entry(placed).u32(inner_node).u8(2).bytes(&[0x91, 0x68]).end();
    raw.end().end();
    raw
}

#[test]
fn a_small_index() {
    let tree = Tree::empty();
    tree.file("lib/modules/6.1.0-test/kernel/small.ko", &unit().module(&[]));
    let index = build(&[tree.path()], 1);
    let reader = Reader { v: index.view() };
    let facts = index.facts();
    let mut text = String::from("placements\n");
    for place in 0..reader.v.places.len() {
        let place = PlaceId::new(place as u32);
        let inlined = reader.v.outer(place, reader.v.places.at(place.index())).is_some();
        text += &reader.place(place, usize::from(inlined));
    }
    text += "\nfunctions\n";
    for declared in &facts.declared {
        text += &format!("{}\n", declared.head);
        declared.variables.iter().for_each(|v| text += &format!("  {v}\n"));
    }
    text += "\ntypes\n";
    facts.types.iter().for_each(|t| text += &format!("{t}\n"));
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("a-small-index", text));
}
