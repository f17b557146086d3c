//! Over a whole kernel and its modules: no two places share an anchor.
use crate::installed::{self, Kernel, needed, wanted};
use probeidx::query::Index;
use probeidx::query::index::{functions, symbols};
use probeidx::query::verdict::Judge;
use probeidx_format::View;
use probeidx_format::id::{NameId, ObjectId};
use probeidx_format::record::SymbolRecord;
use std::collections::{BTreeSet, HashMap};

#[test]
fn an_anchor_of_the_installed_kernel_denotes_one_place() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    anchors_differ(&kernel);
}

#[test]
fn an_anchor_of_a_newer_kernel_denotes_one_place() {
    let Some(kernel) = wanted(installed::newer()) else { return };
    anchors_differ(&kernel);
}

fn anchors_differ(kernel: &Kernel) {
    let index = Index::open(&installed::index(kernel)).unwrap_or_else(|e| panic!("{e}"));
    let view = index.view().unwrap_or_else(|e| panic!("{e}"));
    let judge = Judge::new(&view);
    let mut known = HashMap::new();
    let (mut places, mut without) = (0, 0);
    for object in view.object_ids() {
        let is_kernel = Some(object) == functions::kernel(&view);
        for pc in addresses(&view, object) {
            let lands = pc + judge.verdicts(object, pc, false).shift;
            places += 1;
            match symbols::anchor(&view, object, lands) {
                Some(anchor) => {
                    let shown = anchor.to_string();
                    let other =
                        known.insert(anchor, (object, lands)).filter(|other| *other != (object, lands));
                    assert!(
                        other.is_none(),
                        "{}: {shown} is {other:?} and {object:?} {lands:#x}",
                        kernel.release
                    );
                }
                // The first function of a module's text bears a name that others of the module have too.
                None => without += 1,
            }
            assert!(!is_kernel || symbols::anchor(&view, object, lands).is_some(), "{pc:#x} in vmlinux");
        }
    }
    installed::say(&format!("{}: {places} addresses, {without} of them without an anchor", kernel.release));
    assert!(places > 500_000 && without * 10_000 < places, "{without} of {places}");
    assert!(repeated_names(&view) >= 250, "{}", repeated_names(&view));
}

/// Where placements and functions of the symbol table start.
fn addresses(view: &View<'_>, object: ObjectId) -> BTreeSet<u32> {
    let entries =
        view.places.part(view.places_of(object)).iter().map(|p| p.entry.get()).filter(|pc| *pc != 0);
    let own = view.symbols.part(view.symbols_of(object));
    let functions = own.iter().filter(|s| s.has(SymbolRecord::KEPT) && s.is_function()).map(|s| s.pc.get());
    entries.chain(functions).collect()
}

/// How many names several functions of vmlinux bear.
fn repeated_names(view: &View<'_>) -> usize {
    let Some(kernel) = functions::kernel(view) else { return 0 };
    let is_function = |s| functions::symbol(view, s).is_some_and(|s| s.is_function());
    let names = (0..view.names.len() as u32 - 1).map(NameId::new);
    names
        .filter(|n| functions::symbols_named(view, kernel, *n).filter(|s| is_function(*s)).count() > 1)
        .count()
}
