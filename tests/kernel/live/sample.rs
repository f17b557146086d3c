//! Which addresses to try: the same ones for the same seed.
use super::boot::Address;
use crate::sample::Random;
use probeidx::query::index::symbols;
use probeidx_format::View;
use probeidx_format::id::{ObjectId, PlaceId};
use probeidx_format::record::{SiteKind, SymbolRecord};
use std::collections::BTreeSet;

/// An address of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub object: ObjectId,
    pub pc: u32,
    /// An inlined copy starts there, and that is what is meant.
    pub is_inline: bool,
}

/// Of each kind of address as many, two thirds of them in the first object; or, without a number, all that there are
/// and one address within each function. Sorted, and no address twice.
pub fn places(view: &View<'_>, objects: &[ObjectId], count: Option<usize>, seed: u64) -> Vec<Place> {
    let mut random = Random(seed);
    let mut chosen = BTreeSet::new();
    for (objects, thirds) in [(&objects[..1], 2), (&objects[1..], 1)] {
        for kind in [symbol_entries, function_entries, inline_entries, addresses_within] {
            let all: Vec<Place> = objects.iter().flat_map(|o| kind(view, *o, &mut random)).collect();
            let share = count.map_or(all.len(), |count| count / 4 * thirds / 3);
            chosen.extend(random.choose(all, share));
        }
    }
    // Sorted, an inlined copy stands behind what else starts at its address.
    let mut chosen: Vec<Place> = chosen.into_iter().collect();
    chosen.dedup_by_key(|p| (p.object, p.pc));
    chosen
}

fn code<'a>(view: &'a View<'a>, object: ObjectId) -> impl Iterator<Item = SymbolRecord> + use<'a> {
    let symbols = view.symbols.part(view.symbols_of(object));
    symbols.iter().filter(move |s| s.has(SymbolRecord::KEPT) && symbols::is_code(view, object, *s))
}

fn symbol_entries(view: &View<'_>, object: ObjectId, _: &mut Random) -> Vec<Place> {
    code(view, object).map(|s| Place { object, pc: s.pc.get(), is_inline: false }).collect()
}

fn function_entries(view: &View<'_>, object: ObjectId, _: &mut Random) -> Vec<Place> {
    entries(view, object, false)
}

fn inline_entries(view: &View<'_>, object: ObjectId, _: &mut Random) -> Vec<Place> {
    entries(view, object, true)
}

fn entries(view: &View<'_>, object: ObjectId, is_inline: bool) -> Vec<Place> {
    let placed = view.places_of(object).filter_map(|i| {
        let record = view.places.get(i)?;
        let is_wanted = view.outer(PlaceId::new(i as u32), record).is_some() == is_inline;
        (is_wanted && record.entry.get() != 0).then(|| record.entry.get())
    });
    placed.map(|pc| Place { object, pc, is_inline }).collect()
}

/// One in each function, at any byte of it. The padding before functions has symbols too, as many as there are
/// functions: their entries are enough of it.
fn addresses_within(view: &View<'_>, object: ObjectId, random: &mut Random) -> Vec<Place> {
    let is_prefix = |s: &SymbolRecord| view.string(s.name).starts_with(b"__pfx_");
    let functions = code(view, object).filter(|s| s.size.get() > 0 && !is_prefix(s));
    functions
        .map(|s| {
            let pc = s.pc.get() + random.below(s.size.get().into()) as u32;
            Place { object, pc, is_inline: false }
        })
        .collect()
}

/// Where a machine finds it.
pub fn address(view: &View<'_>, place: Place) -> Option<Address> {
    let Place { object, pc, .. } = place;
    let module = view.string(view.objects.get(object.index())?.name);
    if module.is_empty() {
        return Some(Address::Kernel(symbols::address(view, object, pc)));
    }
    let section = symbols::section(view, object, pc)?;
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    Some(Address::Module {
        module: text(module),
        section: text(view.string(section.name)),
        offset: (pc - section.pc.get()).into(),
    })
}

/// Whether it was freed once its module was loaded: other code may stand there by now, although
/// `/sys/module/M/sections` still has it.
pub fn is_freed(address: &Address) -> bool {
    matches!(address, Address::Module { section, .. } if section.starts_with(".init"))
}

/// Where in a page the init code of these objects has BUG or WARN. Such an entry stays in the kernel's list when that code is
/// freed, and refuses a probe in what is loaded there later (`find_bug` in `check_kprobe_address_safe`; 5.10.0-32 on arm64: text of
/// sunrpc where libnvdimm's init code was). No index can tell.
pub fn freed_bugs(view: &View<'_>, modules: &[ObjectId]) -> BTreeSet<u64> {
    let of_module = |object: &ObjectId| {
        let object = *object;
        let bugs = view.sites_of(object).iter().filter(|site| site.kind == SiteKind::Bug as u8);
        bugs.filter_map(move |site| {
            let section = symbols::section(view, object, site.start.get())?;
            let is_init = view.string(section.name) == b".init.text";
            is_init.then(|| u64::from(site.start.get() - section.pc.get()) % 4096)
        })
    };
    modules.iter().flat_map(of_module).collect()
}

/// Whether an address lies in the last symbol of a module's text. To register a probe there is to have the padding behind
/// it decoded, and 6.12 reads on into the next page, which may not be there: it crashes. (`can_optimize`,
/// arch/x86/kernel/kprobes/opt.c)
pub fn ends_the_text(view: &View<'_>, place: Place) -> bool {
    let is_module = !view.objects.get(place.object.index()).is_none_or(|o| view.string(o.name).is_empty());
    let is_text = |pc: u32| {
        symbols::section(view, place.object, pc)
            .is_some_and(|s| symbols::is_executable(s) && !view.string(s.name).starts_with(b".init"))
    };
    let own = view.symbols.part(view.symbols_of(place.object));
    let last = own.iter().rev().find(|s| s.has(SymbolRecord::KEPT) && is_text(s.pc.get()));
    is_module && last.is_some_and(|last| last.pc.get() <= place.pc)
}
