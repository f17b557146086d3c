//! What the program prints for the kernel, taken by the kernel: its own list, and definitions for tracefs.
use super::boot::{Address, Machine, Request};
use crate::installed::{self, Architecture, Kernel, needed, wanted};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

#[test]
fn the_blacklist_and_definitions_are_right_for_the_installed_kernel() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    lists_hold(&kernel);
}

#[test]
fn the_blacklist_and_definitions_are_right_for_a_newer_kernel() {
    let Some(kernel) = wanted(installed::newer()) else { return };
    lists_hold(&kernel);
}

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

#[test]
fn the_blacklist_and_definitions_are_right_for_arm64_kernels() {
    let Some(kernels) = wanted(installed::arm64()) else { return };
    kernels.iter().for_each(lists_hold);
}

#[test]
fn the_blacklist_and_definitions_are_right_for_riscv64_kernels() {
    let Some(kernels) = wanted(installed::riscv64()) else { return };
    kernels.iter().for_each(lists_hold);
}

fn lists_hold(kernel: &Kernel) {
    let modules = ["overlay", "kvm", "kvm_amd", "libnvdimm"];
    let machine = Machine::new(kernel).and_then(|m| m.modules(kernel, &modules));
    let Some(machine) = needed(machine) else { return };
    let mut requests = vec![];
    // The hypervisor of arm64 is no module.
    let with_kvm = kernel.architecture == Architecture::X86_64;
    for spec in SPECS.into_iter().filter(|spec| with_kvm || !spec.starts_with("kvm")) {
        let places = addresses(kernel, spec);
        let printed = run(kernel, &["resolve", spec, "--format", "kprobe-events"]);
        let lines: Vec<&str> = printed.lines().filter(|l| !l.starts_with('#')).collect();
        assert!(!lines.is_empty(), "{spec}: {printed}");
        for line in lines {
            let anchor = line.split(' ').nth(1).unwrap_or_default();
            let expect = places.get(anchor).unwrap_or_else(|| panic!("{spec}: {line} is at no placement"));
            requests.push(Request::Define { line: line.to_owned(), expect: expect.clone() });
        }
    }
    let answers = machine.boot(&requests).unwrap_or_else(|e| panic!("{e}"));
    for (request, answer) in requests.iter().zip(&answers.answers) {
        let is_there = answer.errno == 0 && answer.landed.as_ref().is_some_and(|l| l.is_as_wanted());
        assert!(is_there, "{}: {request}: {answer}", kernel.release);
    }
    installed::say(&format!("{}: {} definitions stand where they are to", kernel.release, requests.len()));

    // Range and name, as the kernel prints them; the source is ours.
    let columns = |line: &str| line.split('\t').take(2).collect::<Vec<_>>().join("\t");
    let ours: Vec<String> = run(kernel, &["blacklist", "--quiet"]).lines().map(columns).collect();
    let is_of_module = |line: &&String| line.ends_with(']');
    let theirs: Vec<String> = answers.blacklist.iter().filter(|l| !is_of_module(l)).cloned().collect();
    assert_eq!(ours, theirs, "{}", kernel.release);
    if !with_kvm {
        return;
    }
    let name = |line: &str| line.split('\t').nth(1).unwrap_or_default().to_owned();
    let ours: BTreeSet<String> =
        run(kernel, &["blacklist", "--quiet", "kvm", "kvm_amd"]).lines().map(name).collect();
    let theirs: BTreeSet<String> = answers.blacklist.iter().filter(is_of_module).map(|l| name(l)).collect();
    assert_eq!(ours, theirs, "{}", kernel.release);
}

/// The addresses of a spec's placements by anchor.
pub fn addresses(kernel: &Kernel, spec: &str) -> BTreeMap<String, Address> {
    let printed = run(kernel, &["resolve", spec, "--json"]);
    let places =
        printed.lines().map(|l| serde_json::from_str::<Value>(l).unwrap_or_else(|e| panic!("{l}: {e}")));
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let number = |value: &Value| u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok();
    let address = |place: &Value| {
        let address = number(&place["address"])?;
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

pub fn run(kernel: &Kernel, arguments: &[&str]) -> String {
    let index = installed::index(kernel);
    let ran = Command::new(installed::program()).arg("--db").arg(&index).args(arguments).output();
    let ran = ran.unwrap_or_else(|e| panic!("{e}"));
    assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap_or_else(|e| panic!("{e}"))
}
