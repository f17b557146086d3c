//! An index that is built in a booted machine without its boot image, from memory: its verdicts are those of the image, and the
//! kernel takes and refuses what they say.
use super::boot::{Address, Landed, Machine, Request};
use super::inside;
use crate::installed::{self, Architecture, Kernel, needed, say};
use probeidx::query::Index;
use probeidx::query::index::{functions, provenance, symbols};
use probeidx::query::verdict::Judge;
use probeidx_format::View;
use probeidx_format::record::SymbolRecord;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// So many entries of each verdict.
const SAMPLE: usize = 400;

#[test]
fn memory_says_what_the_boot_image_says() {
    installed::on_each(|kernel| {
        if kernel.architecture == Architecture::X86_64 && kernel.is_of_cases() {
            agree(kernel);
        }
    });
}

fn agree(kernel: &Kernel) {
    let Some(machine) = needed(Machine::new(kernel)) else { return };
    let script = "/bin/probeidx -q --db /tmp/db build --no-modules --progress never 2>&1 >/dev/null\n\
        echo '== index'\nbase64 /tmp/db/*.pidx\n";
    let Some(printed) = needed(inside::printed(kernel, machine.clone(), script)) else { return };
    let (said, coded) = printed.split_once("== index\n").expect("an index");
    let folder = installed::scratch(&format!("from-memory-{}", kernel.release));
    std::fs::create_dir_all(&folder).unwrap();
    let (text, of_memory) = (folder.join("index.base64"), folder.join("memory.pidx"));
    std::fs::write(&text, coded).unwrap();
    let decoded = Command::new("base64").arg("-d").arg(&text).output().unwrap();
    assert!(decoded.status.success(), "{said}");
    std::fs::write(&of_memory, decoded.stdout).unwrap();
    let mut build = Command::new(installed::program());
    build.args(["build", "--force", "--no-modules", "--db"]).arg(&folder).arg(&kernel.image);
    let built = build.output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let of_image = folder.join(format!("{}.pidx", kernel.release));
    let [image, memory] = [&of_image, &of_memory].map(|path| opened(path));
    let [image, memory] = [image.view().unwrap(), memory.view().unwrap()];
    assert!(provenance::is_of_memory(&memory) && !provenance::is_of_memory(&image), "{said}");

    let [of_image, of_memory] = [verdicts(&image), verdicts(&memory)];
    let mut differences: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut by_verdict: BTreeMap<&str, Vec<(u64, bool)>> = BTreeMap::new();
    for (address, verdict) in &of_memory {
        let other = of_image.get(address).copied().unwrap_or("absent");
        if other != *verdict {
            *differences.entry((other, verdict)).or_default() += 1;
        }
        // What is not decided is not foretold.
        if *verdict == "undecided" {
            continue;
        }
        by_verdict.entry(verdict).or_default().push((*address, *verdict == "ok"));
    }
    let absent = of_image.keys().filter(|address| !of_memory.contains_key(address)).count();
    say(&format!(
        "{}: {} entries from memory, {} from the image, {absent} of them not in memory; image and memory differ: {differences:?}; {}",
        kernel.release,
        of_memory.len(),
        of_image.len(),
        said.trim()
    ));
    // Whatever the image leaves to the processor, memory decides; it never takes what the image refuses.
    let is_wrong = |(image, memory): &(&str, &str)| {
        *memory == "ok" && !["patched", "absent", "undecided"].contains(image)
    };
    assert!(!differences.keys().any(is_wrong), "{differences:?}");
    assert!(!of_memory.values().any(|v| *v == "patched"), "{differences:?}");

    let text = text_of(&memory);
    let mut requests = vec![];
    let mut expected = vec![];
    for all in by_verdict.into_values() {
        let step = all.len().div_ceil(SAMPLE).max(1);
        for (address, is_ok) in all.into_iter().step_by(step) {
            let line = format!("p:t/p _text+{}", address - text);
            requests.push(Request::Define { line, expect: Address::Kernel(address) });
            expected.push(is_ok);
        }
    }
    let answers = machine.boot(&requests).unwrap_or_else(|e| panic!("{e}")).answers;
    let mut wrong = vec![];
    for ((request, is_ok), answer) in requests.iter().zip(&expected).zip(&answers) {
        let landed = answer.landed.as_ref().is_some_and(Landed::is_as_wanted);
        if *is_ok != landed {
            wrong.push(format!("{request}: ok {is_ok}, {answer}"));
        }
    }
    say(&format!("{}: {} entries tried, {} otherwise", kernel.release, requests.len(), wrong.len()));
    assert!(wrong.is_empty(), "{}: {wrong:#?}", kernel.release);
}

fn opened(path: &Path) -> Index {
    Index::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The verdicts of kprobe_events on the entries of the code that stays, by link address.
fn verdicts(view: &View<'_>) -> BTreeMap<u64, &'static str> {
    let object = functions::kernel(view).expect("vmlinux");
    let judge = Judge::new(view);
    let is_entry = |s: &SymbolRecord| s.is_function() && judge.is_running(object, s.pc.get());
    let entries = view.symbols.part(view.symbols_of(object)).iter().filter(is_entry);
    let one = |s: SymbolRecord| {
        let verdict = judge.verdicts(object, s.pc.get(), false).definition(false);
        (symbols::address(view, object, s.pc.get()), verdict.name())
    };
    entries.map(one).collect()
}

fn text_of(view: &View<'_>) -> u64 {
    let object = functions::kernel(view).expect("vmlinux");
    let text =
        functions::symbols_named(view, object, view.name(b"_text").expect("_text")).next().expect("_text");
    let record = functions::symbol(view, text).expect("_text");
    symbols::address(view, object, record.pc.get())
}
