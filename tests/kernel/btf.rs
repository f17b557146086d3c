//! A kernel's boot image and modules, without its debug information, against its debug information.
use crate::installed::{self, Kernel, needed, say, scratch, wanted};
use crate::sample::{Random, seed, some};
use probeidx::query::Index;
use probeidx::query::index::functions::{self, Placed};
use probeidx::query::index::provenance::{self, Provenance};
use probeidx::query::index::symbols;
use probeidx::query::types::stap_spelling;
use probeidx::query::verdict::mechanism::Mechanism;
use probeidx::query::verdict::{Judge, Verdicts};
use probeidx_format::View;
use probeidx_format::id::{ObjectId, PlaceId};
use probeidx_format::record::SectionRecord;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

/// One in so many modules, and addresses of the kernel and of all modules beside the starts of all functions of the kernel.
const MODULES: usize = 4;
const ADDRESSES: u64 = 20_000;

#[test]
fn the_installed_kernel_without_debug_information_is_the_same() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    compare(&kernel);
}

#[test]
fn a_newer_kernel_without_debug_information_is_the_same() {
    let Some(kernel) = wanted(installed::newer()) else { return };
    compare(&kernel);
}

#[test]
fn arm64_kernels_without_debug_information_are_the_same() {
    let Some(kernels) = wanted(installed::arm64()) else { return };
    // Another one in each run: the two indexes of one take half a minute.
    some(kernels, 1, seed()).iter().for_each(compare);
}

/// The index of what is installed to run.
fn without_debug_information(kernel: &Kernel) -> PathBuf {
    let folder = scratch("index-btf");
    let ran = Command::new(installed::program())
        .args(["build", "--force", "--progress", "never", "--db"])
        .args([&folder, &kernel.image, &kernel.modules])
        .output()
        .expect("probeidx can be run");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    folder.join(format!("{}.pidx", kernel.release))
}

/// How often, and where for example.
#[derive(Default)]
struct Classes(BTreeMap<&'static str, (u64, Vec<String>)>);

impl Classes {
    fn met(&mut self, class: &'static str, example: impl FnOnce() -> String) {
        let (count, examples) = self.0.entry(class).or_default();
        *count += 1;
        if examples.len() < 3 {
            examples.push(example());
        }
    }
    fn count(&self, class: &str) -> u64 {
        self.0.get(class).map_or(0, |c| c.0)
    }
    fn say(&self, title: &str) {
        say(title);
        for (class, (count, examples)) in &self.0 {
            say(&format!("  {count:>8}  {class}: {}", examples.join("; ")));
        }
    }
}

fn compare(kernel: &Kernel) {
    let open = |path: PathBuf| Index::open(&path).unwrap_or_else(|e| panic!("{e}"));
    let (with, without) = (open(installed::index(kernel)), open(without_debug_information(kernel)));
    let (with, without) = (with.view().unwrap(), without.view().unwrap());
    functions(kernel, &with, &without);
    verdicts(kernel, &with, &without);
}

/// The same object in the other index.
fn other(view: &View<'_>, other: &View<'_>, object: ObjectId) -> Option<ObjectId> {
    let name = view.string(view.objects[object.index()].name);
    other.object_ids().find(|o| other.string(other.objects[o.index()].name) == name)
}

/// The same address in the other index: that of a linked object, else sections are laid out one by one.
fn moved(view: &View<'_>, object: ObjectId, other: &View<'_>, in_other: ObjectId, pc: u32) -> Option<u32> {
    let base = |view: &View<'_>, object: ObjectId| view.objects[object.index()].base.get();
    if view.string(view.objects[object.index()].name).is_empty() {
        let address = base(view, object) + u64::from(pc);
        return u32::try_from(address.checked_sub(base(other, in_other))?).ok();
    }
    let section = symbols::section(view, object, pc)?;
    let name = view.string(section.name);
    let same = |s: &SectionRecord| other.string(s.name) == name && s.size == section.size;
    let there = other.sections_of(in_other).iter().find(same)?;
    Some(there.pc.get() + (pc - section.pc.get()))
}

type Parameter = (String, Option<String>);

fn parameters(view: &View<'_>, placed: Placed) -> Vec<Parameter> {
    let Some(function) = functions::function(view, placed.record) else { return vec![] };
    let all = view.variables(function).filter(|v| v.parameter);
    all.map(|v| {
        let name = String::from_utf8_lossy(view.string(v.name)).into_owned();
        (name, v.type_id.and_then(|t| stap_spelling::spell(view, t)))
    })
    .collect()
}

fn functions(kernel: &Kernel, with: &View<'_>, without: &View<'_>) {
    let mut classes = Classes::default();
    let modules = without.object_ids().skip(1).step_by(MODULES);
    for object in without.object_ids().take(1).chain(modules) {
        let Some(twin) = other(without, with, object) else { continue };
        for at in without.places_of(object) {
            let placed = Placed { id: PlaceId::new(at as u32), record: without.places.at(at) };
            if provenance::of_place(without, placed) != Provenance::Btf {
                continue;
            }
            let name = functions::function(without, placed.record)
                .map(|f| without.string(f.name))
                .unwrap_or_default();
            let shown = || String::from_utf8_lossy(name).into_owned();
            let pc = moved(without, object, with, twin, placed.record.entry.get());
            let Some(described) = pc.and_then(|pc| functions::entry_at(with, twin, pc)) else {
                classes.met("without debug information", shown);
                continue;
            };
            let other_name = functions::function(with, described.record).map(|f| with.string(f.name));
            if other_name != Some(name) {
                classes.met("another name of the address", shown);
                continue;
            }
            let (own, others) = (parameters(without, placed), parameters(with, described));
            let names = |all: &[Parameter]| all.iter().map(|p| p.0.clone()).collect::<Vec<_>>();
            let is_ambiguous = {
                let entry = placed.record.entry;
                let ranges = without.ranges_of(object).iter();
                let symbols =
                    without.name(name).into_iter().flat_map(|n| functions::symbols_named(without, object, n));
                let functions =
                    symbols.filter(|s| without.symbols.get(s.index()).unwrap().is_function()).count();
                ranges.filter(|r| r.start == entry).count() > 1 || functions > 1
            };
            let class = match own == others {
                true => "the same",
                false if is_ambiguous => "ambiguous, and another prototype",
                false if own.len() != others.len() => "another number of parameters",
                false if names(&own) != names(&others) => "other names of parameters",
                false => "other types of parameters",
            };
            classes.met(class, || format!("{} {own:?} {others:?}", shown()));
        }
    }
    classes.say(&format!("{}: functions of BTF", kernel.release));
    let different: u64 = classes
        .0
        .iter()
        .filter(|(c, _)| c.starts_with("other") || c.starts_with("another number"))
        .map(|c| c.1.0)
        .sum();
    assert!(classes.count("the same") > 15_000, "functions that agree");
    // Most of them are system calls, whose wrappers have the parameters of their declaration in BTF.
    assert!(different * 100 < classes.count("the same"), "{different} functions differ");
}

/// Where functions of the kernel start, and anywhere, half of it in the kernel.
fn addresses(view: &View<'_>, random: &mut Random) -> Vec<(ObjectId, u32)> {
    let objects: Vec<ObjectId> = view.object_ids().collect();
    let functions = view.symbols.part(view.symbols_of(objects[0])).iter().filter(|s| s.is_function());
    let mut all: Vec<_> = functions.map(|s| (objects[0], s.pc.get())).collect();
    for number in 0..ADDRESSES {
        let object = match number % 2 {
            0 => objects[0],
            _ => objects[random.below(objects.len() as u64) as usize],
        };
        let code: Vec<_> = view.sections_of(object).iter().filter(|s| symbols::is_executable(*s)).collect();
        if code.is_empty() {
            continue;
        }
        let section = code[random.below(code.len() as u64) as usize];
        all.push((object, section.pc.get() + random.below(section.size.get()) as u32));
    }
    all
}

fn verdicts(kernel: &Kernel, with: &View<'_>, without: &View<'_>) {
    let seed = seed();
    let (of_with, of_without) = (Judge::new(with), Judge::new(without));
    let mut classes = Classes::default();
    let addresses = addresses(without, &mut Random(seed));
    let count = addresses.len() as u64;
    for (object, pc) in addresses {
        let Some(twin) = other(without, with, object) else { continue };
        let Some(there) = moved(without, object, with, twin, pc) else {
            classes.met("no such section", String::new);
            continue;
        };
        let (own, others) = (of_without.verdicts(object, pc, false), of_with.verdicts(twin, there, false));
        let trampolines = [own, others].map(|v| v.of(Mechanism::Trampoline));
        let shown = || {
            let symbol = symbols::holding(with, twin, there);
            let symbol =
                symbol.map(|h| (String::from_utf8_lossy(with.string(h.record.name)).into_owned(), h.offset));
            format!("{symbol:?} {} {} {trampolines:?}", told(&own), told(&others))
        };
        // A label of assembly has no size, and reaches to the next one; without sizes it reaches to the padding. The first
        // instruction of an exception vector, which stands before its symbol, is a no-op: like padding.
        let is_vector = |name: &[u8]| {
            [&b"hyp_stub_el"[..], b"hyp_stub_32b_el"].iter().any(|start| name.starts_with(start))
        };
        let is_behind_label = || {
            let symbol = symbols::holding(with, twin, there);
            symbol.is_some_and(|held| held.record.size.get() == 0 || is_vector(with.string(held.record.name)))
        };
        let anchors = [symbols::anchor(without, object, pc), symbols::anchor(with, twin, there)]
            .map(|a| a.map(|a| a.to_string()));
        match (told(&own) == told(&others), anchors[0] == anchors[1]) {
            // Of several names of an address, BTF has one, and the debug information another.
            (true, true) if trampolines[0] != trampolines[1] => {
                classes.met("another verdict of trampolines", shown)
            }
            (true, true) => classes.met("the same", String::new),
            // Where nothing bounds the kernel's tables.
            (false, _) if own.any_address().name() == "undecided" => classes.met("undecided", shown),
            (true, false) => classes.met("another anchor", || format!("{anchors:?}")),
            // Code that lost at link time has no symbol: it looks like more of the function before it, and so the kernel,
            // which knows of no sizes either, takes it.
            (false, _) if matches!(others.any_address().name(), "dead-code" | "discarded") => {
                classes.met("dead code, of which nothing tells", shown)
            }
            // Where a function ends is not told: padding behind it is refused for another reason.
            (false, _) if !own.any_address().is_ok() && !others.any_address().is_ok() => {
                classes.met("refused for another reason", shown)
            }
            (false, _) if !own.any_address().is_ok() && is_behind_label() => {
                classes.met("behind a label of assembly", shown)
            }
            (false, _) => classes.met("another verdict", shown),
        }
    }
    classes.say(&format!("{}: verdicts, seed {seed}", kernel.release));
    let undecided = classes.count("undecided");
    assert!(classes.count("the same") + undecided > count * 9 / 10);
    assert!(undecided == 0 || !kernel.carries_data(), "seed {seed}");
    assert!(classes.count("dead code, of which nothing tells") < count / 100);
    assert!(classes.count("another verdict of trampolines") < count / 1000);
    assert_eq!((classes.count("another verdict"), classes.count("another anchor")), (0, 0), "seed {seed}");
}

fn told(verdicts: &Verdicts) -> String {
    let all = verdicts.iter().filter(|(mechanism, _)| *mechanism != Mechanism::Trampoline);
    all.map(|(_, v)| v.name()).collect::<Vec<_>>().join(" ")
}
