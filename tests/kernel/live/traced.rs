//! The functions of which ftrace says that it can turn them on, by their names.
use super::boot::Answers;
use crate::installed::{self, Architecture, Kernel};
use probeidx::query::index::symbols;
use probeidx::query::verdict::Judge;
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use probeidx_format::record::SymbolRecord;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

pub const LIST: &str = "/sys/kernel/tracing/available_filter_functions";

/// What is in one list alone. A line is a name, and the module in brackets; a site that kallsyms puts behind a function which
/// lost at link time is none of the function before it, and has a number for a name. (`ftrace_is_valid`, `test_for_valid_rec`,
/// v6.0)
pub fn is_listed(kernel: &Kernel, view: &View<'_>, objects: &[ObjectId], answers: &Answers) -> String {
    let mut theirs = BTreeMap::<String, usize>::new();
    // Our own module is in no index.
    let is_ours =
        |line: &&str| !line.starts_with("__ftrace_invalid_address") && !line.contains(" [register]");
    for line in answers.printed[LIST].lines().filter(is_ours) {
        // What traces it follows, if something does.
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let module = words.get(1).filter(|word| word.starts_with('['));
        *theirs.entry(words[..1].iter().chain(module).copied().collect::<Vec<_>>().join(" ")).or_default() +=
            1;
    }
    let judge = Judge::new(view);
    let (mut ours, mut foreign) = (BTreeMap::<String, usize>::new(), BTreeSet::new());
    for object in objects {
        let module = view.objects.get(object.index()).map_or(&[][..], |o| view.string(o.name));
        let mut last = None;
        for symbol in view.symbols.part(view.symbols_of(*object)) {
            let pc = symbol.pc.get();
            if !symbol.has(SymbolRecord::TRACED) || last == Some(pc) || !judge.is_running(*object, pc) {
                continue;
            }
            last = Some(pc);
            let Some(held) = symbols::holding(view, *object, pc) else { continue };
            let mut name = String::from_utf8_lossy(view.string(held.record.name)).into_owned();
            if !module.is_empty() {
                let _ = write!(name, " [{}]", String::from_utf8_lossy(module));
            }
            if symbol.has(SymbolRecord::FTRACE_ENTRY) {
                *ours.entry(name).or_default() += 1;
            } else {
                foreign.insert(name);
            }
        }
    }
    let mut text = String::new();
    // Since 6.0 x86 and arm64 name none so far behind a function (FTRACE_MCOUNT_MAX_OFFSET); others have no such bound.
    let has_no_bound =
        [Architecture::Arm, Architecture::Riscv64, Architecture::Powerpc64].contains(&kernel.architecture);
    let names_lost_sites = has_no_bound || kernel.release.starts_with(['4', '5']);
    // There the init code of modules stays (`module_init_section`, arch/powerpc/kernel/module_64.c).
    let stays = |name: &str| kernel.architecture == Architecture::Powerpc64 && name.ends_with(']');
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let count = |of: &BTreeMap<String, usize>, name| of.get(name).copied().unwrap_or_default();
    for name in names.into_iter().filter(|name| !foreign.contains(*name)) {
        let (ours, theirs) = (count(&ours, name), count(&theirs, name));
        // The site of a function that lost has the name of the function before it.
        let is_lost = ours > 0 && theirs > ours && names_lost_sites;
        if ours != theirs && !is_lost && !(ours == 0 && stays(name)) {
            let _ = write!(text, "\n  {name}: {ours} times here, {theirs} times in the kernel's list");
        }
    }
    installed::say(&format!("{}: {} functions that ftrace lists", kernel.release, theirs.len()));
    if !text.is_empty() {
        text.insert_str(0, "\nftrace lists other functions:");
    }
    text
}
