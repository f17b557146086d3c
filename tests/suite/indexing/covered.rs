//! The fixture holds what it was written for, and the index tells it apart: agreement over nothing proves nothing.
use crate::support::fixture::{Tree, USUAL};
use crate::support::index::{Index, Reader, build_whole};
use probeidx_format::record::{FunctionRecord, SymbolRecord};
use std::sync::LazyLock;

static INDEX: LazyLock<Index> = LazyLock::new(|| build_whole(&Tree::compile(&USUAL)));

/// The placements of a name, each as its first line without file paths.
fn places(name: &str) -> Vec<String> {
    let reader = Reader { v: INDEX.view() };
    let first_line = |text: String| text.lines().next().unwrap().to_owned();
    reader.places_named(name).into_iter().map(|(_, p)| first_line(reader.place(p, 0))).collect()
}

/// The function symbols whose names begin so, with name and flags.
fn symbols(prefix: &str) -> Vec<(String, SymbolRecord)> {
    let reader = Reader { v: INDEX.view() };
    let named = reader.v.symbols.iter().map(|s| (reader.s(s.name), s));
    named.filter(|(name, s)| name.starts_with(prefix) && s.is_function()).collect()
}

#[test]
fn functions_of_one_name_stay_apart() {
    let reader = Reader { v: INDEX.view() };
    let id = reader.v.name(b"do_open").unwrap();
    let functions = reader.v.functions.part(reader.v.functions_named(id));
    let files: Vec<_> =
        functions.iter().map(|f| reader.s(f.file).rsplit('/').next().unwrap().to_owned()).collect();
    assert_eq!(files, ["alpha_main.c", "core.c", "fs.c"]);
    assert_eq!(places("init_module").len(), 2, "one in each module");
    let weak = places("weak_hook");
    assert_eq!(weak.len(), 2, "the weak one's code is there, though nothing calls it: {weak:?}");
    assert_eq!(symbols("weak_hook").len(), 1);
}

#[test]
fn clones_are_placements_of_the_function_that_they_are_clones_of() {
    for (function, suffix) in [
        ("scaled", ".constprop."),
        ("two_members", ".isra."),
        ("maybe_slow", ".part."),
        ("with_cold_half", ".cold"),
    ] {
        let found = symbols(function);
        let clone = found.iter().find(|(name, _)| name.contains(suffix));
        let (name, symbol) = clone.unwrap_or_else(|| panic!("{function}{suffix} among {found:?}"));
        let at = format!("{:#x}-", symbol.pc.get());
        assert!(places(function).iter().any(|p| p.contains(&at)), "{name} at {at}: {:?}", places(function));
    }
    let halves = places("with_cold_half");
    assert_eq!(halves.len(), 1, "two halves, one placement: {halves:?}");
    assert_eq!(
        halves[0].split(" at ").nth(1).unwrap().split(' ').count(),
        3,
        "entry and two ranges: {halves:?}"
    );
}

#[test]
fn inline_instances_nest_and_repeat() {
    let reader = Reader { v: INDEX.view() };
    let v = reader.v;
    let name = |p| {
        let place = v.places.get(probeidx_format::id::PlaceId::index(p)).unwrap();
        reader.s(v.functions.get(place.function.index()).unwrap().name)
    };
    let chain = |mut place| {
        let mut names = vec![name(place)];
        while let Some(outer) = v.outer(place, v.places.get(place.index()).unwrap()) {
            names.push(name(outer));
            place = outer;
        }
        names.join(" < ")
    };
    let chains: Vec<_> = reader.places_named("inner_step").into_iter().map(|(_, p)| chain(p)).collect();
    let deep = "inner_step < middle_step < outer_step < twice_in_one";
    assert!(chains.iter().filter(|c| *c == deep).count() >= 2, "twice in one caller: {chains:?}");
    assert!(chains.contains(&"inner_step < submit_beta".to_owned()), "{chains:?}");
    let clamp = places("clamp_value");
    assert!(clamp.iter().any(|p| !p.contains(" from ")), "out of line: {clamp:?}");
    assert!(clamp.iter().filter(|p| p.contains(" from ")).count() > 4, "inline: {clamp:?}");
}

#[test]
fn code_in_dropped_sections_has_no_placement() {
    assert_eq!(places("core_teardown"), [] as [&str; 0], "discarded by the linker script");
    assert_eq!(places("core_setup").len(), 1, ".init.text is kept");
    assert_eq!(places("cleanup_module").len(), 1, ".exit.text of a module is kept");
}

#[test]
fn assembly_has_the_place_of_its_line_or_only_a_symbol() {
    for name in ["asm_entry", "asm_other"] {
        let [(_, symbol)] = &symbols(name)[..] else { panic!("{name}") };
        assert!(symbol.has(SymbolRecord::DESCRIBED | SymbolRecord::ENTRY), "{name}");
        let [place] = &places(name)[..] else { panic!("{name}: {:?}", places(name)) };
        assert!(place.contains("/entry.S:"), "{place}");
    }
    for name in ["bare_entry", "bare_alias"] {
        let [(_, symbol)] = &symbols(name)[..] else { panic!("{name}") };
        assert!(!symbol.has(SymbolRecord::DESCRIBED | SymbolRecord::ENTRY), "{name}");
        assert_eq!(places(name), [] as [&str; 0]);
    }
}

#[test]
fn what_is_exported_and_what_does_not_return() {
    let exported: Vec<_> =
        symbols("").into_iter().filter(|s| s.1.has(SymbolRecord::EXPORTED)).map(|s| s.0).collect();
    assert_eq!(exported, ["lookup"]);
    let reader = Reader { v: INDEX.view() };
    let noreturn =
        reader.v.functions.iter().filter(|f| f.has(FunctionRecord::NORETURN)).map(|f| reader.s(f.name));
    assert_eq!(noreturn.collect::<Vec<_>>(), ["never_returns"]);
}

#[test]
fn a_struct_that_is_only_declared_means_the_one_definition() {
    let facts = INDEX.facts();
    let request = facts.types.iter().find(|t| t.starts_with("struct request<")).unwrap();
    assert!(request.contains("owner: pointer{}struct opaque</"), "{request}");
    let nodes: Vec<_> = facts.types.iter().filter(|t| t.starts_with("struct node<")).collect();
    assert_eq!(nodes.len(), 2, "two of one name stay two: {nodes:?}");
}
