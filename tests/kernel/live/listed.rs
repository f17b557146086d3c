//! What the program prints for the kernel, taken by the kernel: its own list, and definitions for tracefs.
use super::boot::{Address, Answer, Answers, Request};
use crate::installed::{self, Architecture, Kernel};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::process::Command;

/// Functions of many kinds: only inlined, duplicate static ones, everywhere inlined, without a symbol of their name, in
/// modules.
const SPECS: [&str; 9] = [
    "blk_account_io_*",
    "vmlinux:kmalloc*",
    "vmlinux:s_next",
    "vmlinux:type_show",
    "vfs_*@fs/read_write.c%return",
    "ovl_*@fs/overlayfs/inode.c",
    "overlay:ovl_*%return",
    "kvm_amd:svm_*",
    "libnvdimm:*_show",
];
/// Fewer would prove little of them.
const DEFINITIONS_AT_LEAST: usize = 50;

/// What the program writes for these, where the kernel has such functions.
pub fn definitions(kernel: &Kernel) -> Vec<Request> {
    let mut requests = vec![];
    for spec in SPECS {
        let Some(printed) = ask(kernel, &["resolve", spec, "--format", "kprobe-events"]) else { continue };
        let places = addresses(kernel, spec);
        for line in printed.lines().filter(|l| !l.starts_with('#')) {
            let anchor = line.split(' ').nth(1).unwrap_or_default();
            let expect = places.get(anchor).unwrap_or_else(|| panic!("{spec}: {line} is at no placement"));
            requests.push(Request::Define { line: line.to_owned(), expect: expect.clone() });
        }
    }
    requests
}

/// Which of them are not where they are to stand. In a module that does not load (kvm_amd, on other processors), none does.
pub fn stand(
    kernel: &Kernel,
    requests: &[Request],
    answers: &[Answer],
    is_loaded: impl Fn(&Address) -> bool,
) -> String {
    let mut text = String::new();
    let of_loaded = |(request, _): &(&Request, &Answer)| match request {
        Request::Define { expect, .. } => is_loaded(expect),
        _ => true,
    };
    for (request, answer) in requests.iter().zip(answers).filter(of_loaded) {
        let is_there = answer.errno == 0 && answer.landed.as_ref().is_some_and(|l| l.is_as_wanted());
        if !is_there {
            let _ = write!(text, "\n  {request}: {answer}");
        }
    }
    installed::say(&format!("{}: {} definitions of {} specs", kernel.release, requests.len(), SPECS.len()));
    if requests.len() < DEFINITIONS_AT_LEAST {
        let _ = write!(text, "\n  only {} definitions are written", requests.len());
    }
    if text.is_empty() { text } else { format!("\ndefinitions do not stand:{text}") }
}

/// How the kernel's own list differs: range for range, with their names, in its order; of modules the names.
pub fn blacklist_is(kernel: &Kernel, answers: &Answers) -> String {
    // Range and name, as the kernel prints them; the source is ours.
    let columns = |line: &str| line.split('\t').take(2).collect::<Vec<_>>().join("\t");
    let ours: Vec<String> = run(kernel, &["blacklist", "--quiet"]).lines().map(columns).collect();
    let is_of_module = |line: &&String| line.ends_with(']');
    let theirs: Vec<String> = answers.blacklist.iter().filter(|l| !is_of_module(l)).cloned().collect();
    let [ours, theirs] = match kernel.architecture {
        // It stands elsewhere than where it was linked, whatever its command line says.
        Architecture::S390x => [ours, theirs].map(from_first),
        _ => [ours, theirs],
    };
    let mut text = String::new();
    if ours != theirs {
        let differ =
            ours.iter().zip(&theirs).position(|(a, b)| a != b).unwrap_or(ours.len().min(theirs.len()));
        let _ = write!(
            text,
            "\nthe blacklist has {} lines here, {} in the kernel, and differs from line {differ} on: {:?}, {:?}",
            ours.len(),
            theirs.len(),
            ours.get(differ),
            theirs.get(differ)
        );
    }
    installed::say(&format!("{}: {} ranges of the blacklist", kernel.release, theirs.len()));
    let name = |line: &str| line.split('\t').nth(1).unwrap_or_default().to_owned();
    let theirs: BTreeSet<String> = answers.blacklist.iter().filter(is_of_module).map(|l| name(l)).collect();
    let modules = answers.modules.iter().filter(|(_, errno)| *errno == 0);
    let asked = ["blacklist", "--quiet"].into_iter().chain(modules.map(|(name, _)| name.as_str()));
    let is_theirs = |line: &&str| line.split('\t').nth(1).is_some_and(|name| name.ends_with(']'));
    // No module may have any.
    let printed = ask(kernel, &asked.collect::<Vec<_>>()).unwrap_or_default();
    let ours: BTreeSet<String> = printed.lines().filter(is_theirs).map(name).collect();
    for name in ours.symmetric_difference(&theirs) {
        let _ = write!(text, "\nthe blacklist has {name} here or in the kernel alone");
    }
    text
}

/// Ranges and their names, the addresses counted from that of the first.
fn from_first(lines: Vec<String>) -> Vec<String> {
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("an address");
    let mut first = None;
    let relative = |line: &String| {
        let (range, name) = line.split_once('\t').expect("a range and a name");
        let (start, end) = range.split_once('-').expect("a range");
        let first = *first.get_or_insert(number(start));
        format!("{:#x}-{:#x}\t{name}", number(start).wrapping_sub(first), number(end).wrapping_sub(first))
    };
    lines.iter().map(relative).collect()
}

/// The addresses of a spec's placements by anchor; none where the kernel has nothing of it.
pub fn addresses(kernel: &Kernel, spec: &str) -> BTreeMap<String, Address> {
    let printed = ask(kernel, &["resolve", spec, "--json"]).unwrap_or_default();
    let places =
        printed.lines().map(|l| serde_json::from_str::<Value>(l).unwrap_or_else(|e| panic!("{l}: {e}")));
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let address = |place: &Value| {
        let address = number(&place["lands"]).or_else(|| number(&place["address"]))?;
        Some(match text(&place["module"]) {
            None => Address::Kernel(address),
            Some(module) => Address::Module { module, section: text(&place["section"])?, offset: address },
        })
    };
    let anchor = |place: &Value| {
        let anchor = &place["anchor"];
        let module = text(&anchor["module"]).map_or(String::new(), |m| m + ":");
        Some(format!("{module}{}+{}", text(&anchor["symbol"])?, anchor["offset"].as_u64()?))
    };
    places.filter_map(|p| Some((anchor(&p)?, address(&p)?))).collect()
}

/// A number of the JSON that is written in hexadecimal.
pub fn number(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}

pub fn run(kernel: &Kernel, arguments: &[&str]) -> String {
    ask(kernel, arguments).unwrap_or_else(|| panic!("{}: {arguments:?}: nothing is found", kernel.release))
}

/// What is printed, or nothing where nothing is found.
pub fn ask(kernel: &Kernel, arguments: &[&str]) -> Option<String> {
    let index = installed::index(kernel);
    let ran = Command::new(installed::program()).arg("--db").arg(&index).args(arguments).output();
    let ran = ran.unwrap_or_else(|e| panic!("{e}"));
    if ran.status.code() == Some(1) {
        return None;
    }
    assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    Some(String::from_utf8(ran.stdout).unwrap_or_else(|e| panic!("{e}")))
}
