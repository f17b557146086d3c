//! A booted kernel's own files as a capture, laid over the index: where functions lie, and which names are theirs alone.
use super::boot::{Machine, Request};
use super::listed::{addresses, ask, number, run};
use crate::installed::{self, Kernel, needed};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

const SYMBOLS: &str = "/proc/kallsyms";
const PRINTED: [&str; 4] = [
    SYMBOLS,
    "/proc/modules",
    "/sys/kernel/debug/kprobes/blacklist",
    "/sys/kernel/tracing/available_filter_functions",
];
/// Of vmlinux, of modules that are loaded, and of one that is not.
const SPECS: [&str; 6] = ["vfs_*", "s_next", "ovl_*", "type_show", "libnvdimm:*_show", "ext4_*"];

#[test]
fn a_capture_of_the_kernels_says_where_functions_lie() {
    installed::on_each(captured);
}

fn captured(kernel: &Kernel) {
    if !kernel.has_debug_information() {
        return;
    }
    let modules = ["overlay", "libnvdimm"];
    let machine = Machine::new(kernel).and_then(|m| m.modules(kernel, &modules)).map(Machine::moved);
    let Some(machine) = needed(machine) else { return };
    let machine = PRINTED.iter().fold(machine, |machine, path| machine.print(path));
    let mut requests = vec![];
    let mut anchors = vec![];
    for spec in ["vfs_*@fs/read_write.c", "ovl_*@fs/overlayfs/inode.c"] {
        for (anchor, expect) in addresses(kernel, spec) {
            requests.push(Request::Define { line: format!("p:t/g {anchor}"), expect });
            anchors.push(anchor);
        }
    }
    let answers = machine.boot(&requests).unwrap_or_else(|e| panic!("{e}"));

    let folder = installed::scratch(&format!("captured-{}", kernel.release));
    for (path, text) in &answers.printed {
        write(&folder.join(&path[1..]), text);
    }
    write(&folder.join("proc/sys/kernel/osrelease"), &kernel.release);
    let (root, file) = (folder.to_str().unwrap(), folder.join("kernel.live"));
    let file = file.to_str().unwrap();
    run(kernel, &["capture", file, "--root", root, "--quiet"]);

    let mut listed: HashMap<&str, usize> = HashMap::new();
    for line in answers.printed[SYMBOLS].lines() {
        *listed.entry(line.split_ascii_whitespace().nth(2).unwrap_or_default()).or_default() += 1;
    }
    let mut lies = HashMap::new();
    let (mut compared, mut doubled) = (0, 0);
    for spec in SPECS {
        // Not every kernel has all of them; what is compared in the end is enough.
        let printed = ask(kernel, &["resolve", spec, "--live", file, "--json"]).unwrap_or_default();
        for line in printed.lines() {
            let place: Value = serde_json::from_str(line).unwrap();
            let module = place["module"].as_str();
            let is_there = module.is_none_or(|m| modules.contains(&m));
            assert_eq!(place["loaded"], is_there, "{line}");
            let Some(symbol) = place["symbol"].as_str().filter(|_| is_there) else { continue };
            // Init code and its symbols are gone once it ran.
            let Some(times) = listed.get(symbol) else { continue };
            assert_eq!(place["symbol_unique"], *times == 1, "{symbol} stands {times} times: {line}");
            compared += 1;
            doubled += usize::from(*times > 1);
            let anchor = &place["anchor"];
            let module = module.map_or(String::new(), |m| format!("{m}:"));
            let anchor = format!("{module}{}+{}", anchor["symbol"].as_str().unwrap(), anchor["offset"]);
            let further =
                number(&place["lands"]).map_or(0, |lands| lands - number(&place["address"]).unwrap());
            lies.insert(anchor, number(&place["runtime_address"]).map(|address| address + further));
        }
    }
    let mut stood = 0;
    for (anchor, answer) in anchors.iter().zip(&answers.answers) {
        if let (Some(Some(address)), Some(landed)) = (lies.get(anchor), &answer.landed) {
            assert_eq!(*address, landed.address - landed.behind as u64, "{anchor}");
            stood += 1;
        }
    }
    let release = &kernel.release;
    installed::say(&format!("{release}: {compared} names, {doubled} not alone; {stood} addresses"));
    let least = if kernel.is_own_build() { 10 } else { 20 };
    assert!(compared > 100 && doubled > 0 && stood > least, "{compared} {doubled} {stood}");
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
