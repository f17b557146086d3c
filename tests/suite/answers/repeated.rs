//! Parameters that the debug information of a copy has twice.
use crate::hostile::dwarf::{index as index_module, victim};
use crate::support::raw::Raw;
use gimli::constants::*;
use probeidx::answer::Placement;
use probeidx::lookup::Lookup;
use probeidx::query::resolve::placement::Wanted;
use probeidx::query::spec::argument;
use probeidx::query::value::parameter_list::ParameterList;
use probeidx::query::value::place::Place;
use probeidx::query::value::reader::ValueAt;
use probeidx::query::{resolve, spec};

const RDI: [u8; 1] = [DW_OP_reg5.0];
const RSI: [u8; 1] = [DW_OP_reg4.0];

/// `twice(p, q)` with a local variable, as GCC 12 describes a copy whose callers all pass constants: the parameters follow
/// the variable once more. The first `q` of it was optimized out.
fn twice() -> Raw {
    let mut raw = Raw::unit(4);
    let function =
        raw.code(DW_TAG_subprogram, true, &[(DW_AT_name, DW_FORM_string), (DW_AT_inline, DW_FORM_data1)]);
    let base = raw.code(
        DW_TAG_base_type,
        false,
        &[(DW_AT_byte_size, DW_FORM_data1), (DW_AT_encoding, DW_FORM_data1), (DW_AT_name, DW_FORM_string)],
    );
    let named = [(DW_AT_name, DW_FORM_string), (DW_AT_type, DW_FORM_ref4)];
    let parameter = raw.code(DW_TAG_formal_parameter, false, &named);
    let variable = raw.code(DW_TAG_variable, false, &named);
    let of_origin = [(DW_AT_abstract_origin, DW_FORM_ref4)];
    let with = |name, form| [of_origin[0], (name, form)];
    let concrete = raw.code(
        DW_TAG_subprogram,
        true,
        &[of_origin[0], (DW_AT_low_pc, DW_FORM_addr), (DW_AT_high_pc, DW_FORM_data4)],
    );
    let located = raw.code(DW_TAG_formal_parameter, false, &with(DW_AT_location, DW_FORM_exprloc));
    let constant = raw.code(DW_TAG_formal_parameter, false, &with(DW_AT_const_value, DW_FORM_data1));
    let gone = raw.code(DW_TAG_formal_parameter, false, &of_origin);
    let local = raw.code(DW_TAG_variable, false, &with(DW_AT_location, DW_FORM_exprloc));

    let long = raw.here();
    raw.entry(base).u8(8).u8(DW_ATE_signed.0).string("long");
    let origin = raw.here();
    raw.entry(function).string("twice").u8(DW_INL_not_inlined.0);
    let p = raw.here();
    raw.entry(parameter).string("p").u32(long);
    let q = raw.here();
    raw.entry(parameter).string("q").u32(long);
    let v = raw.here();
    raw.entry(variable).string("v").u32(long).end();
    raw.entry(concrete).u32(origin).u64(0x1000).u32(0x100);
    raw.entry(located).u32(p).uleb(1).bytes(&RDI);
    raw.entry(gone).u32(q);
    raw.entry(local).u32(v).uleb(1).bytes(&RSI);
    raw.entry(constant).u32(q).u8(7);
    raw.entry(constant).u32(p).u8(8).end();
    victim(&mut raw);
    raw
}

/// Listed and asked for by name: the first that can be read.
#[test]
fn a_parameter_is_there_once() {
    let (index, skipped) = index_module(&twice().module(&[]));
    assert!(skipped.is_empty(), "{skipped:?}");
    let view = index.view();
    let resolve = |arguments: &[&str], each: &mut dyn FnMut(&Placement<'_>)| {
        let arguments: Vec<_> = arguments.iter().map(|text| argument::parse(text).unwrap()).collect();
        let wanted = Wanted { locals: true, arguments: &arguments, ..Wanted::default() };
        let point = spec::parse("twice").unwrap();
        let found = resolve::resolve(&view, &point[0], wanted, |place, _| {
            each(&place);
            Ok(())
        });
        found.unwrap();
    };
    let values = |arguments: &[&str]| {
        let mut found = vec![];
        let text = |v: &ValueAt| format!("{} {} {}", v.name, v.state.name(), v.location.as_deref().unwrap());
        resolve(arguments, &mut |place| found.extend(place.values.iter().map(text)));
        found
    };
    assert_eq!(values(&[]), ["p readable %di", "q constant \\7", "v readable %si"]);
    assert_eq!(values(&["q", "p"]), ["q constant \\7", "p readable %di"]);

    let (mut list, mut found) = (ParameterList::new(&view), vec![]);
    resolve(&[], &mut |p| {
        let Placement { object, placed: Some(placed), pc, .. } = *p else { panic!("it is described") };
        let place = Place { object, placed, pc, at_return: false, with_lines: false };
        list.list(place, p.entry, |v| {
            found.push((
                v.number,
                String::from_utf8_lossy(v.name).into_owned(),
                v.location.unwrap().to_string(),
            ));
            Ok(())
        })
        .unwrap();
    });
    let lookup = Lookup::new(index.view());
    let names: Vec<_> = lookup.functions(b"twice").flat_map(|f| f.placements()).collect();
    let names = names.iter().flat_map(|place| place.variables()).map(|v| v.name());
    assert_eq!(names.collect::<Vec<_>>(), [&b"p"[..], b"q", b"v"]);

    let listed = |number, name: &str, location: &str| (number, name.to_owned(), location.to_owned());
    assert_eq!(found, [listed(1, "p", "%di"), listed(2, "q", "\\7")]);
}
