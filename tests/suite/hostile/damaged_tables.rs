//! Tables of the kernel that cannot be read: they are named, nothing that hangs on them is known to be accepted, and all
//! the rest stays.
use crate::answers::verdicts::OLDER;
use crate::support::fixture::Tree;
use crate::support::image::Image;
use crate::support::index::options;
use crate::support::program::Run;
use crate::support::tables::{OLD, text, try_index};
use probeidx::pipeline;
use probeidx::query::verdict::reason::Reason;
use probeidx::query::verdict::{Judge, Verdict};
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use probeidx_format::record::SectionRecord;
use probeidx_format::strings::Decoded;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

/// A table of vmlinux: its section in modules and messages, the symbols around it, the size of an entry. A verdict hangs
/// on all of them.
const TABLES: [(&str, &str, &str, usize); 8] = [
    ("__jump_table", "__start___jump_table", "__stop___jump_table", 16),
    (".static_call_sites", "__start_static_call_sites", "__stop_static_call_sites", 8),
    ("__bug_table", "__start___bug_table", "__stop___bug_table", 12),
    (".altinstructions", "__alt_instructions", "__alt_instructions_end", 12),
    (".parainstructions", "__parainstructions", "__parainstructions_end", 16),
    (".retpoline_sites", "__retpoline_sites", "__retpoline_sites_end", 4),
    (".kcfi_traps", "__start___kcfi_traps", "__stop___kcfi_traps", 4),
    ("_kprobe_blacklist", "__start_kprobe_blacklist", "__stop_kprobe_blacklist", 8),
];
const FTRACE: (&str, &str, &str, usize) = ("__mcount_loc", "__start_mcount_loc", "__stop_mcount_loc", 8);

/// Those of the module.
const OF_MODULE: [(&str, usize); 5] = [
    ("__jump_table", 16),
    (".static_call_sites", 8),
    ("__bug_table", 12),
    (".altinstructions", 12),
    ("_kprobe_blacklist", 8),
];

/// What was damaged, and what `find '*' --json` says after.
struct Damaged {
    built: Run,
    places: Vec<Value>,
}

fn damaged(damage: impl FnOnce(&mut Image, &mut Image)) -> Damaged {
    let tree = OLDER.tree.copy();
    let paths = [OLD.vmlinux(&tree), OLD.module(&tree)];
    let [mut vmlinux, mut module] = paths.clone().map(|path| Image::read(&path));
    damage(&mut vmlinux, &mut module);
    vmlinux.write(&paths[0]);
    module.write(&paths[1]);
    let (indexed, built) = try_index(tree);
    Damaged { built, places: indexed.json(&["find", "*"]) }
}

impl Damaged {
    /// The build goes on, and says in one line what is wrong with which table of which file.
    #[track_caller]
    fn names(&self, file: &str, section: &str) {
        let parts = self.built.err.lines().filter(|line| line.starts_with("probeidx: in part: ")).count();
        assert_eq!((self.built.code, parts), (0, 1), "{:?}", self.built);
        assert!(self.built.err.contains(&format!("{file}: section {section}")), "{:?}", self.built);
    }
    /// What may be in the table is undecided in these objects, and says why; what is refused without it is refused, and all else
    /// is as it was. If anything may be in it, nothing is accepted any more.
    #[track_caller]
    fn leaves_open(&self, is_affected: impl Fn(&Value) -> bool, mechanisms: &[&str], what: &str) {
        let before = OLDER.json(&["find", "*"]);
        assert_eq!(before.len(), self.places.len(), "{what}");
        let (mut opened, mut stayed) = (0, 0);
        for (before, after) in before.iter().zip(&self.places) {
            assert_eq!(text(before, "probe"), text(after, "probe"));
            // It depends on which modules are loaded.
            if before["because"].is_array() {
                continue;
            }
            let mut is_open = false;
            for mechanism in ["kprobe", "kprobe_events", "kretprobe", "ftrace"] {
                let [before, now] = [before, after].map(|p| text(&p["attach"], mechanism));
                is_open |= now == "undecided";
                if is_affected(after) && mechanisms.contains(&mechanism) {
                    assert!(now == before || now == "undecided", "{what}, {mechanism}: {after}");
                    opened += usize::from(before == "ok" && now != "ok");
                    stayed += usize::from(now == "ok");
                } else {
                    assert_eq!(before, now, "{what}, {mechanism}: {after}");
                }
            }
            assert_eq!(is_open, after["because"].is_array(), "{what}: {after}");
            if is_open {
                assert_eq!(after["because"], serde_json::json!([what]), "{after}");
            }
        }
        match what {
            ".altinstructions" | "_kprobe_blacklist" | "__mcount_loc" => {
                assert!(opened > 4, "{what}: {opened}")
            }
            _ => assert!(stayed > 2, "{what}: {stayed}"),
        }
    }
}

const BY_KPROBES: [&str; 3] = ["kprobe", "kprobe_events", "kretprobe"];

/// A module has tables of its own.
fn in_vmlinux(place: &Value) -> bool {
    place["module"].is_null()
}

fn in_module(place: &Value) -> bool {
    place["module"].is_string()
}

#[test]
fn tables_of_vmlinux_with_half_an_entry() {
    for (section, _, stop, entry) in TABLES {
        let found = damaged(|vmlinux, _| vmlinux.set_value(stop, vmlinux.value(stop) - entry as u64 / 2));
        found.names("vmlinux-6.1.0-old", section);
        found.leaves_open(in_vmlinux, &BY_KPROBES, section);
        assert!(found.built.err.contains(" at 0x"), "{:?}", found.built);
    }
}

#[test]
fn tables_of_vmlinux_that_refer_to_no_code() {
    // A NOKPROBE_SYMBOL that is nowhere is passed over, as the kernel does.
    for (section, start, stop, _) in &TABLES[..7] {
        let found = damaged(|vmlinux, _| {
            let at = vmlinux.between(start, stop).start;
            vmlinux.put(at, &[0, 0, 0, 0x10]);
        });
        found.names("vmlinux-6.1.0-old", section);
        found.leaves_open(in_vmlinux, &BY_KPROBES, section);
    }
}

#[test]
fn tables_of_vmlinux_that_cannot_be_found() {
    for (section, start, stop, _) in TABLES {
        for bound in [start, stop] {
            let found = damaged(|vmlinux, _| vmlinux.lose_symbol(bound));
            found.names("vmlinux-6.1.0-old", section);
            found.leaves_open(in_vmlinux, &BY_KPROBES, section);
        }
        let found = damaged(|vmlinux, _| {
            let [first, last] = [start, stop].map(|bound| vmlinux.value(bound));
            vmlinux.set_value(start, last);
            vmlinux.set_value(stop, first);
        });
        found.names("vmlinux-6.1.0-old", section);
        found.leaves_open(in_vmlinux, &BY_KPROBES, section);
    }
    // Where nothing reads the table there is none.
    let found = damaged(|vmlinux, _| {
        vmlinux.lose_symbol("__start___jump_table");
        vmlinux.lose_symbol("jump_label_text_reserved");
    });
    assert_eq!((found.built.code, found.built.err.as_str()), (0, ""));
}

#[test]
fn tables_that_are_not_in_the_file() {
    for section in
        ["__jump_table", ".static_call_sites", "__bug_table", ".altinstructions", ".retpoline_sites"]
    {
        let found = damaged(|vmlinux, _| vmlinux.lose_bytes(section));
        found.names("vmlinux-6.1.0-old", section);
        found.leaves_open(in_vmlinux, &BY_KPROBES, section);
    }
    for (section, _) in OF_MODULE {
        let found = damaged(|_, module| module.lose_bytes(section));
        found.names("places.ko", section);
        found.leaves_open(in_module, &BY_KPROBES, section);
    }
}

/// By table: where it decides, and where it does not.
#[test]
fn only_what_may_be_in_a_table_is_open() {
    const OPEN: [(&str, &[&str], &[&str]); 6] = [
        ("__jump_table", &["jump_labels+5", "jump_labels+10"], &["bugs+7", "plain", "traps+5"]),
        (".static_call_sites", &["static_calls+5", "retpolines+5"], &["plain", "bugs+14"]),
        ("__bug_table", &["bugs+5", "bugs+10", "traps+7"], &["plain", "bugs+7", "jump_labels+12"]),
        (
            ".parainstructions",
            &["paravirt_calls+6", "paravirt_calls+12", "unsupported+14"],
            &["plain", "bugs+7"],
        ),
        (".retpoline_sites", &["retpolines+9"], &["retpolines+5", "plain", "bugs+7"]),
        (".kcfi_traps", &["cfi_checked+5", "cfi_checked+11"], &["plain", "cfi_checked+15"]),
    ];
    for (section, open, decided) in OPEN {
        let (_, _, stop, entry) = TABLES.into_iter().find(|t| t.0 == section).unwrap();
        let tree = OLDER.tree.copy();
        let path = OLD.vmlinux(&tree);
        let mut vmlinux = Image::read(&path);
        vmlinux.set_value(stop, vmlinux.value(stop) - entry as u64 / 2);
        vmlinux.write(&path);
        let (indexed, _) = try_index(tree);
        let says = |place: &&str| indexed.says(&format!("vmlinux:{place}"), "kprobe");
        let was = |place: &&str| OLDER.says(&format!("vmlinux:{place}"), "kprobe");
        for place in open {
            assert_eq!(says(place), "undecided", "{section}: {place}");
        }
        for place in decided {
            assert_eq!((says(place), was(place)), ("ok".to_owned(), "ok".to_owned()), "{section}: {place}");
        }
    }
}

#[test]
fn tables_of_a_module() {
    for (section, entry) in OF_MODULE {
        let found =
            damaged(|_, module| module.set_size(section, module.section(section).bytes.len() - entry / 2));
        found.names("places.ko", section);
        found.leaves_open(in_module, &BY_KPROBES, section);
    }
    // Relocations that lead nowhere.
    for (section, _) in &OF_MODULE[..4] {
        let found = damaged(|_, module| {
            let relocations = module.section(&format!(".rela{section}")).bytes;
            module.put(relocations.start + 8 + 4, &[0xff; 4]);
        });
        found.names("places.ko", section);
        found.leaves_open(in_module, &BY_KPROBES, section);
    }
}

/// Without the table of ftrace sites it is not known what is traced; the rest is.
#[test]
fn the_table_of_ftrace_sites() {
    let (section, start, stop, _) = FTRACE;
    for damage in 0..3 {
        let found = damaged(|vmlinux, _| match damage {
            0 => vmlinux.set_value(stop, vmlinux.value(stop) - 4),
            1 => vmlinux.lose_symbol(start),
            _ => {
                let bytes = vmlinux.between(start, stop);
                vmlinux.put(bytes.start, &vec![0xee; bytes.len()]);
            }
        });
        found.names("vmlinux-6.1.0-old", section);
        let is_affected = |place: &Value| !in_module(place);
        found.leaves_open(is_affected, &["kprobe_events", "kretprobe", "ftrace"], section);
        let endbr = found.places.iter().find(|p| p["function"] == "with_endbr").unwrap();
        assert!(endbr["lands"].is_string(), "the code is there: {endbr}");
    }
    let found = damaged(|_, module| module.set_size(section, module.section(section).bytes.len() - 4));
    found.names("places.ko", section);
    found.leaves_open(in_module, &["kprobe_events", "kretprobe", "ftrace"], section);
}

#[test]
fn code_that_is_not_in_the_file() {
    let found = damaged(|vmlinux, _| vmlinux.lose_bytes(".text"));
    assert!(
        found.built.code == 0 && found.built.err.contains("the file has no machine code"),
        "{:?}",
        found.built
    );
    assert!(found.built.err.contains("vmlinux-6.1.0-old: section .text: "), "{:?}", found.built);
    for (before, after) in OLDER.json(&["find", "*"]).iter().zip(&found.places).filter(|(_, p)| in_vmlinux(p))
    {
        for mechanism in BY_KPROBES {
            let [before, now] = [before, after].map(|p| text(&p["attach"], mechanism));
            assert!(now != "ok" && (now == before || now == "undecided"), "{after}");
        }
        // Whether endbr64 stands before a site is not known without code.
        let [before, now] = [before, after].map(|p| text(&p["attach"], "ftrace"));
        assert!(now == before || (before == "ok" && now == "undecided"), "{after}");
    }
    let found = damaged(|_, module| module.lose_bytes(".text"));
    assert!(
        found.built.code == 0 && found.built.err.contains("places.ko: section .text: "),
        "{:?}",
        found.built
    );
    for place in &found.places {
        if in_module(place) {
            assert_ne!(text(&place["attach"], "kprobe"), "ok", "{place}");
        }
    }
    assert!(found.places.iter().any(|p| !in_module(p) && p["attach"]["kprobe"] == "ok"));
}

/// Files that are cut off within a table are left out as a whole.
#[test]
fn files_that_end_within_a_table() {
    let tree = OLDER.tree.copy();
    let path = OLD.module(&tree);
    let module = Image::read(&path);
    let end = module.section("__jump_table").bytes.start + 3;
    std::fs::write(&path, &module.0[..end]).unwrap();
    let (indexed, built) = try_index(tree);
    assert_eq!(built.code, 4, "{built:?}");
    assert!(built.err.contains("places.ko") && built.err.contains("the file is cut off"), "{built:?}");
    assert_eq!(indexed.says("vmlinux:plain", "kprobe"), "ok");
}

/// What kprobes refuse in each byte of the code, by object and address.
type Refusals = BTreeMap<(String, u32), Verdict>;

fn refusals(view: &View<'_>) -> Refusals {
    const SHF_EXECINSTR: u32 = 4;
    let judge = Judge::new(view);
    let is_code = |s: &SectionRecord| s.flags.get() & SHF_EXECINSTR != 0;
    let pcs = |s: SectionRecord| s.pc.get()..s.pc.get() + s.size.get() as u32;
    let of = |object: ObjectId| {
        let name = String::from_utf8_lossy(view.string(view.objects[object.index()].name)).into_owned();
        let all = view.sections_of(object).iter().filter(is_code).flat_map(pcs);
        all.map(|pc| ((name.clone(), pc), judge.kprobe(object, pc))).collect::<Vec<_>>()
    };
    view.object_ids().flat_map(of).collect()
}

/// A byte of a table with a bit that is flipped, and the bytes of its entry.
struct Flip {
    table: &'static str,
    at: usize,
    bit: u8,
    entry: Range<usize>,
}

fn flips(tables: impl IntoIterator<Item = (&'static str, Range<usize>, usize)>) -> Vec<Flip> {
    let of = |(table, bytes, size): (&'static str, Range<usize>, usize)| {
        let start = bytes.start;
        bytes.map(move |at| {
            let entry = at - (at - start) % size;
            Flip { table, at, bit: (at * 5 % 8) as u8, entry: entry..entry + size }
        })
    };
    tables.into_iter().flat_map(of).collect()
}

/// Every byte of the tables of vmlinux is changed once. What the whole table refuses is accepted only where the entry is
/// that was changed, or nothing is accepted at all.
#[test]
fn every_byte_of_the_tables_of_vmlinux() {
    let whole = &OLDER.tree;
    let image = Image::read(&OLD.vmlinux(whole));
    let tables = TABLES.into_iter().chain([FTRACE]);
    let flips = flips(tables.map(|(section, start, stop, size)| (section, image.between(start, stop), size)));
    assert!(flips.len() > 500, "{}", flips.len());
    let tree = Tree::empty();
    let flipped = |flip: &Flip| {
        let mut image = image.clone();
        image.0[flip.at] ^= 1 << flip.bit;
        image
    };
    for (number, flip) in flips.iter().enumerate() {
        flipped(flip).write(&tree.path().join(format!("vmlinux-6.1.{number}")));
    }
    let base = image.value("_text") - 0x1000;
    let target = |image: &Image, flip: &Flip| match flip.table {
        ".parainstructions" | "_kprobe_blacklist" => image.number::<8>(flip.entry.start).wrapping_sub(base),
        table => {
            let (_, start, stop, _) = TABLES.into_iter().find(|t| t.0 == table).unwrap();
            let place = image.value(start) + (flip.entry.start - image.between(start, stop).start) as u64;
            let distance = image.number::<4>(flip.entry.start) as u32 as i32;
            place.wrapping_add_signed(distance.into()).wrapping_sub(base)
        }
    };
    let db = tempfile::tempdir().unwrap();
    let report = pipeline::build(&[tree.path()], &options(db.path(), 2), &()).unwrap();
    assert_eq!(report.built.len(), flips.len());
    assert!(report.skipped.iter().all(|s| !s.whole_object), "{:?}", report.skipped);
    let before = refusals_of_older();
    let mut unsure = BTreeSet::new();
    for (number, flip) in flips.iter().enumerate() {
        let after = std::fs::read(db.path().join(format!("6.1.{number}.pidx"))).unwrap();
        let after = refusals(&View::open(&after, &Decoded::new()).unwrap());
        assert_eq!(after.len(), before.keys().filter(|k| k.0.is_empty()).count());
        // Without modules, what depended on them is decided.
        let is_refused = |place| before[place].reason().is_some_and(|reason| !reason.is_open());
        let mut accepted = after.iter().filter(|(place, verdict)| verdict.is_ok() && is_refused(place));
        if flip.table == FTRACE.0 {
            assert_eq!(accepted.next(), None, "{} at {:#x}", flip.table, flip.at);
            continue;
        }
        // Where it was, and where the change moves it to: what stands in the file there does not count.
        let own = [&image, &flipped(flip)].map(|image| target(image, flip));
        for (place, _) in accepted {
            let pc = u64::from(place.1);
            let is_own = match flip.table {
                "_kprobe_blacklist" => before[place] == Verdict::No(Reason::Blacklist),
                // The two instructions before the trap.
                ".kcfi_traps" => own.iter().any(|own| own.wrapping_sub(pc) <= 12),
                _ => own.iter().any(|own| pc.wrapping_sub(*own) < 8),
            };
            assert!(is_own, "{} at {:#x}: {place:?} was {:?}", flip.table, flip.at, before[place]);
        }
        if after.values().any(|v| v.reason().is_some_and(Reason::is_open)) {
            unsure.insert(flip.table);
        }
    }
    let told: BTreeSet<_> = report.skipped.iter().filter_map(|s| s.error.place()).collect();
    assert!(unsure.len() >= 6 && told.len() >= 100, "{unsure:?}, {}", told.len());
}

fn refusals_of_older() -> Refusals {
    refusals(&View::open(&read(&OLDER.db.path().join("6.1.0-old.pidx")), &Decoded::new()).unwrap())
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

/// The same of the module, whose tables are what their relocations say: each byte of both is changed.
#[test]
fn every_byte_of_the_tables_of_a_module() {
    let whole = &OLDER.tree;
    let image = Image::read(&OLD.module(whole));
    let tables: Vec<_> = OF_MODULE.into_iter().chain([(FTRACE.0, 8)]).collect();
    let names: Vec<(&'static str, String, usize)> = tables
        .into_iter()
        .flat_map(|(section, size)| {
            [(section, section.to_owned(), size), (section, format!(".rela{section}"), 24)]
        })
        .collect();
    let flips = flips(names.iter().map(|(table, name, size)| (*table, image.section(name).bytes, *size)));
    assert!(flips.len() > 1000, "{}", flips.len());
    let tree = Tree::empty();
    std::fs::copy(OLD.vmlinux(whole), OLD.vmlinux(&tree)).unwrap();
    for (number, flip) in flips.iter().enumerate() {
        let mut image = image.clone();
        image.0[flip.at] ^= 1 << flip.bit;
        tree.file(&format!("lib/modules/6.1.0-old/kernel/m{number:04}.ko"), &image.0);
    }
    let before = refusals_of_older();
    let of_module = before.iter().filter(|((name, _), _)| name == "places");
    let before: BTreeMap<u32, Verdict> = of_module.map(|((_, pc), verdict)| (*pc, *verdict)).collect();
    let db = tempfile::tempdir().unwrap();
    let report = pipeline::build(&[tree.path()], &options(db.path(), 2), &()).unwrap();
    assert!(report.skipped.iter().all(|s| !s.whole_object), "{:?}", report.skipped);
    let index = read(&db.path().join("6.1.0-old.pidx"));
    let after = refusals(&View::open(&index, &Decoded::new()).unwrap());
    // Where an entry leads is known by the reason that it gives there.
    let reason = |table: &str| match table {
        "__jump_table" => Reason::JumpLabel,
        ".static_call_sites" => Reason::StaticCall,
        "__bug_table" => Reason::BugSite,
        ".altinstructions" => Reason::Patched,
        _ => Reason::Blacklist,
    };
    let mut unsure = 0;
    for (number, flip) in flips.iter().enumerate() {
        let name = format!("m{number:04}");
        let own: BTreeMap<u32, Verdict> =
            before.keys().map(|pc| (*pc, after[&(name.clone(), *pc)])).collect();
        for (pc, _) in own.iter().filter(|(pc, verdict)| verdict.is_ok() && !before[pc].is_ok()) {
            assert_ne!(flip.table, FTRACE.0, "{name} at {:#x}: {pc:#x}", flip.at);
            assert_eq!(before[pc], Verdict::No(reason(flip.table)), "{name} at {:#x}: {pc:#x}", flip.at);
        }
        unsure += usize::from(own.values().any(|v| v.reason().is_some_and(Reason::is_open)));
    }
    assert!(unsure > 50, "{unsure}");
}
