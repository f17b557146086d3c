//! Code that the kernel patches when it starts: what a capture of a running one says of its instructions, the kernel itself says of
//! probes there.
use super::boot::{Address, Machine, Request};
use super::inside;
use crate::installed::{self, Architecture, Kernel, needed, say};
use probeidx::live::Live;
use probeidx::query::Index;
use probeidx::query::index::{functions, symbols};
use probeidx::query::runtime::overlay::Overlay;
use probeidx::query::verdict::Judge;
use probeidx::query::verdict::reason::Reason;
use probeidx_format::record::SiteKind;
use std::collections::BTreeMap;

/// So many addresses of each verdict, of vmlinux and of modules.
const SAMPLE: usize = 1000;

const MODULES: [&str; 2] = ["overlay", "libnvdimm"];

#[test]
fn patched_code_is_what_the_kernel_takes() {
    installed::on_each(|kernel| {
        // The program that captures is one of this machine.
        if kernel.architecture == Architecture::X86_64 && kernel.is_of_cases() {
            holds(kernel);
        }
    });
}

fn holds(kernel: &Kernel) {
    let Some(machine) = needed(Machine::new(kernel).and_then(|m| m.modules(kernel, &MODULES))) else {
        return;
    };
    let Some(text) = needed(captured(kernel, machine.clone())) else { return };
    let live = Live::parse(text.as_bytes()).unwrap_or_else(|e| panic!("{e}: {text:.2000}"));
    assert_eq!(live.missing, [], "{}", kernel.release);
    let code = live.code.as_ref().expect("code");
    let index = Index::open(&installed::index(kernel)).unwrap_or_else(|e| panic!("{e}"));
    let view = index.view().unwrap_or_else(|e| panic!("{e}"));
    let overlay = Overlay::new(&view, &live).unwrap_or_else(|e| panic!("{e}"));
    let (before, after) = (Judge::new(&view), Judge::new(&view).over(Some(&overlay)));
    let mut by_verdict: BTreeMap<&str, Vec<(Request, bool)>> = BTreeMap::new();
    let mut open = 0;
    for object in view.object_ids().filter(|object| overlay.runs(*object)) {
        let name = String::from_utf8_lossy(view.string(view.objects[object.index()].name)).into_owned();
        let is_kernel = Some(object) == functions::kernel(&view);
        let is_patched = |kind: u8| {
            matches!(SiteKind::from_number(kind), Some(SiteKind::Patched | SiteKind::PatchedWhole))
        };
        let sites = view.sites_of(object);
        let mut pcs: Vec<u32> = sites
            .iter()
            .filter(|s| is_patched(s.kind))
            .flat_map(|s| s.start.get()..s.start.get() + u32::from(s.length))
            .collect();
        pcs.sort_unstable();
        pcs.dedup();
        for pc in pcs {
            if before.kprobe(object, pc).reason() != Some(Reason::Patched) {
                continue;
            }
            let now = after.verdicts(object, pc, false).definition(false);
            if now.reason() == Some(Reason::Patched) {
                open += 1;
                continue;
            }
            let Some(anchor) = symbols::anchor(&view, object, pc) else { continue };
            let expect = match is_kernel {
                true => Address::Kernel(symbols::address(&view, object, pc)),
                false => {
                    let Some(section) = symbols::section(&view, object, pc) else { continue };
                    let offset = u64::from(pc - section.pc.get());
                    let section = String::from_utf8_lossy(view.string(section.name)).into_owned();
                    Address::Module { module: name.clone(), section, offset }
                }
            };
            let request = Request::Define { line: format!("p:t/p {anchor}"), expect };
            by_verdict.entry(now.name()).or_default().push((request, now.is_ok()));
        }
    }
    let counts: Vec<String> = by_verdict.iter().map(|(name, all)| format!("{name} {}", all.len())).collect();
    let mut requests = vec![];
    let mut expected = vec![];
    for all in by_verdict.into_values() {
        for (request, is_ok) in spread(all) {
            requests.push(request);
            expected.push(is_ok);
        }
    }
    let answers = machine.boot(&requests).unwrap_or_else(|e| panic!("{e}")).answers;
    let mut wrong = vec![];
    for ((request, is_ok), answer) in requests.iter().zip(&expected).zip(&answers) {
        let landed = answer.landed.as_ref().is_some_and(super::boot::Landed::is_as_wanted);
        if (*is_ok, answer.errno == 0) != (landed, landed) {
            wrong.push(format!("{request}: ok {is_ok}, {answer}"));
        }
    }
    say(&format!(
        "{}: {} parts of patched code; of the addresses within: {}; {open} still open; {} tried, {} otherwise",
        kernel.release,
        code.len(),
        counts.join(", "),
        requests.len(),
        wrong.len()
    ));
    assert!(wrong.is_empty(), "{}: {} of {}: {wrong:#?}", kernel.release, wrong.len(), requests.len());
    assert!(expected.iter().filter(|ok| **ok).count() > 100, "{counts:?}");
}

/// Some of all, from the first to the last.
fn spread<T>(all: Vec<T>) -> impl Iterator<Item = T> {
    let step = all.len().div_ceil(SAMPLE).max(1);
    all.into_iter().step_by(step)
}

/// The text of a capture, made in the machine with the index of its kernel.
fn captured(kernel: &Kernel, machine: Machine) -> Result<String, String> {
    let index = installed::index(kernel);
    let bytes = std::fs::read(&index).map_err(|e| format!("{}: {e}", index.display()))?;
    let script = "/bin/probeidx --db /i/k.pidx capture /tmp/c >/dev/null && zcat /tmp/c\n";
    inside::printed(kernel, machine.file("i/k.pidx", bytes), script)
}
