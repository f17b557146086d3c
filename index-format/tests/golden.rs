//! The golden index of the present version, read by whatever host runs this: of the other byte order and of 32 bits too
//! (`scripts/other-hosts quick`).
use probeidx_format::id::{FunctionId, TypeId};
use probeidx_format::strings::Decoded;
use probeidx_format::tapset::DefinitionKind;
use probeidx_format::{VERSION, View};
use std::path::Path;

fn golden() -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/compat").join(format!("v{VERSION}"));
    std::fs::read(folder.join("kernel.pidx")).unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
}

#[test]
fn the_golden_index_is_whole_and_says_what_it_said() {
    let file = golden();
    let decoded = Decoded::new();
    let view = View::open(&file, &decoded).unwrap();
    assert_eq!(view.whole(), Ok(()));
    assert_eq!((view.release(), view.machine()), (&b"6.1.0-gold"[..], 62));

    let name = view.name(b"walk").unwrap();
    let functions = view.functions_named(name);
    assert_eq!(functions.len(), 1);
    let function = view.functions.get(functions.start).unwrap();
    let variables: Vec<_> = view.variables(function).map(|v| view.string(v.name)).collect();
    assert!(variables.starts_with(&[b"first", b"count"]), "{variables:?}");
    let places: Vec<_> = view.places_of_function(FunctionId::new(functions.start as u32)).collect();
    assert_eq!(places.len(), 1);
    let place = view.places.get(places[0].index()).unwrap();
    let ranges: Vec<_> = view.details(places[0], place).ranges.collect();
    assert!(ranges[0].start == place.entry.get() && ranges[0].start < ranges[0].end, "{ranges:?}");

    let node = view.types.iter().position(|t| view.string(t.name) == b"node").unwrap();
    let members: Vec<_> =
        view.members(TypeId::new(node as u32)).iter().map(|m| view.string(m.name)).collect();
    assert!(members.contains(&&b"next"[..]) && members.contains(&&b"key"[..]), "{members:?}");

    let object = view.object_ids().next().unwrap();
    let sequences = view.sequences_of(object);
    assert!(!sequences.is_empty());
    for sequence in sequences {
        let rows: Vec<_> = view.rows(sequence).collect();
        assert!(rows.is_sorted_by_key(|row| row.pc) && !rows.is_empty());
        assert!(rows.iter().all(|row| (sequence.start.get()..sequence.end.get()).contains(&row.pc)));
    }
    assert!(
        !view.tapset_sources().unwrap().texts.is_empty()
            && view.tapset.of_kind(DefinitionKind::Alias).count() > 0
    );
}
