//! The frame rules of a whole kernel and of some of its modules are those that readelf prints.
use crate::installed::{self, Kernel, needed, wanted};
use probeidx::query::Index;
use probeidx::query::index::{cfa, functions};
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Of so many modules one is compared.
const MODULES: usize = 40;

#[test]
fn frame_rules_of_the_installed_kernel_are_those_of_readelf() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    agree(&kernel);
}

#[test]
fn frame_rules_of_a_newer_kernel_are_those_of_readelf() {
    let Some(kernel) = wanted(installed::newer()) else { return };
    agree(&kernel);
}

fn agree(kernel: &Kernel) {
    let index = Index::open(&installed::index(kernel)).unwrap_or_else(|e| panic!("{e}"));
    let view = index.view().unwrap_or_else(|e| panic!("{e}"));
    let vmlinux = functions::kernel(&view).expect("vmlinux is indexed");
    let base = view.objects[vmlinux.index()].base.get();
    let (functions, pairs) = compare(&view, vmlinux, &kernel.vmlinux, |_, address| address.checked_sub(base));
    assert!(functions > 40_000 && pairs > 300_000, "{functions} functions, {pairs} addresses of vmlinux");
    let modules: Vec<ObjectId> = view.object_ids().filter(|o| *o != vmlinux).collect();
    let (mut in_modules, mut pairs_in_modules) = (0, 0);
    for &module in modules.iter().step_by(MODULES) {
        let path = PathBuf::from(text(&view, view.objects[module.index()].path));
        let sections: BTreeMap<String, u32> =
            view.sections_of(module).iter().map(|s| (text(&view, s.name), s.pc.get())).collect();
        let targets = targets(&path);
        let place = |entry: u64, address: u64| {
            // Behind length and id; an address is that within the section to which the relocation leads.
            let section = sections.get(targets.get(&(entry + 8))?)?;
            Some(u64::from(*section) + address)
        };
        let (functions, pairs) = compare(&view, module, &path, place);
        in_modules += functions;
        pairs_in_modules += pairs;
    }
    installed::say(&format!(
        "{}: {pairs} addresses in {functions} functions of vmlinux and {pairs_in_modules} in {in_modules} of modules",
        kernel.release
    ));
    assert!(modules.len() < MODULES || in_modules > 100, "{in_modules} functions of modules");
}

fn text(view: &View<'_>, id: probeidx_format::id::StrId) -> String {
    String::from_utf8_lossy(view.string(id)).into_owned()
}

/// Compares the rule at the first and the last address of every row that readelf prints. Gives the numbers of functions
/// and of addresses.
fn compare(
    view: &View<'_>,
    object: ObjectId,
    file: &Path,
    place: impl Fn(u64, u64) -> Option<u64>,
) -> (usize, usize) {
    let text = readelf(file, &["--debug-dump=frames-interp"]);
    let (mut functions, mut pairs) = (0, 0);
    let mut initial = BTreeMap::new();
    for block in text.split("\n\n") {
        let mut lines = block.trim_start().lines();
        let Some(head) = lines.next() else { continue };
        let rows: Vec<(u64, &str)> = lines.skip(1).filter_map(row).collect();
        let hex = |text: &str| u64::from_str_radix(text, 16).expect("a hexadecimal number");
        if head.contains(" CIE ") {
            initial.insert(hex(&head[..8]), rows.first().expect("a rule").1);
            continue;
        }
        let Some((range, cie)) = head.split_once(" pc=").zip(head.split_once(" cie=")) else { continue };
        let (start, end) = range.1.split_once("..").expect("a range");
        let (start, end) = (hex(start), hex(end));
        let first = (start, initial[&hex(&cie.1[..8])]);
        let rows = if rows.is_empty() { vec![first] } else { rows };
        let ends = rows[1..].iter().map(|r| r.0).chain([end]);
        functions += 1;
        for ((from, rule), to) in rows.iter().zip(ends) {
            for address in [*from, to.wrapping_sub(1)].into_iter().filter(|a| (*from..end).contains(a)) {
                let Some(pc) = place(hex(&head[..8]), address) else { continue };
                let found = cfa::cfa(view, object, pc as u32);
                let expected = parsed(rule);
                assert_eq!(found, expected, "{} at {address:#x}: {head}", file.display());
                pairs += 1;
            }
        }
    }
    (functions, pairs)
}

/// `ffffffff81001b61 rsp+16   c-16  c-8`
fn row(line: &str) -> Option<(u64, &str)> {
    let (address, rest) = line.split_once(' ')?;
    Some((u64::from_str_radix(address, 16).ok()?, rest.split(' ').next()?))
}

/// `rsp+16`, or `exp` where it is computed.
fn parsed(rule: &str) -> Option<(u8, i64)> {
    const NAMES: [&str; 8] = ["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"];
    let at = rule.find(['+', '-'])?;
    let (name, offset) = rule.split_at(at);
    let number = NAMES.iter().position(|n| *n == name).map(|n| n as u8);
    let register = number.or_else(|| name.strip_prefix('r')?.parse().ok());
    Some((register.unwrap_or_else(|| panic!("{rule}")), offset.parse().expect("an offset")))
}

/// The sections to which the relocations of `.debug_frame` lead, by their offsets.
fn targets(module: &Path) -> BTreeMap<u64, String> {
    let text = readelf(module, &["--relocs", "--wide"]);
    let own = text.split("\nRelocation section ").find(|part| part.starts_with("'.rela.debug_frame'"));
    let relocation = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[offset, _, "R_X86_64_64", _, section, ..] = &words[..] else { return None };
        Some((u64::from_str_radix(offset, 16).ok()?, section.to_owned()))
    };
    own.unwrap_or_default().lines().filter_map(relocation).collect()
}

fn readelf(file: &Path, arguments: &[&str]) -> String {
    let out = Command::new("readelf").args(arguments).arg(file).output().expect("readelf can be run");
    String::from_utf8_lossy(&out.stdout).into_owned()
}
