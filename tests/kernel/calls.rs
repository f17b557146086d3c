//! The direct calls of vmlinux are those that `objdump -d` shows.
//!
//! What is left is named. In the code alone are calls that no source has (of ftrace, stack protection and speculation
//! mitigations), those of assembly and inline assembly, and some that the compiler forgot as it moved code: of GCC 12, one in
//! four hundred. In the index alone are calls in copies of weak functions that were overridden: no symbol has that code, so
//! that it was not disassembled.
use crate::installed::{self, Kernel, needed};
use probeidx::query::Index;
use probeidx::query::index::{functions, instructions, symbols};
use probeidx_format::View;
use probeidx_format::id::{FunctionId, ObjectId};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[test]
fn calls_of_the_installed_kernel_are_those_of_its_code() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    let index = Index::open(&installed::index(&kernel)).unwrap_or_else(|e| panic!("{e}"));
    let view = index.view().unwrap_or_else(|e| panic!("{e}"));
    let object = functions::kernel(&view).expect("vmlinux is indexed");
    let in_code = in_code(&kernel, &view, object);
    let in_index = in_index(&view, object);
    let mut counted = Counted::default();
    for (pc, (callee, to, is_tail)) in &in_code {
        match in_index.get(pc) {
            Some((own, kind)) if starts_at(&view, *own, *to) && kind == is_tail => counted.same += 1,
            Some((own, _)) if starts_at(&view, *own, *to) => counted.other_kind += 1,
            Some(_) => counted.other_callee += 1,
            None if is_of_no_source(&view, *callee) => counted.of_no_source += 1,
            None if !has_calls(&view, object, *pc) => counted.of_assembly += 1,
            None => counted.code_alone += 1,
        }
    }
    let alone = in_index.keys().filter(|pc| !in_code.contains_key(pc));
    for pc in alone {
        match instructions::start_of(&view, object, *pc) {
            Some(start) if start == *pc => counted.index_alone += 1,
            _ => counted.of_no_symbol += 1,
        }
    }
    installed::say(&format!("{}: {counted:?}", kernel.release));
    assert!(counted.same > 150_000, "{counted:?}");
    assert!(counted.code_alone * 200 < counted.same, "{counted:?}");
    assert!(counted.index_alone * 1000 < counted.same, "{counted:?}");
    assert!((counted.other_kind + counted.other_callee) * 1000 < counted.same, "{counted:?}");
}

/// How the two agree.
#[derive(Debug, Default)]
struct Counted {
    same: usize,
    other_kind: usize,
    other_callee: usize,
    of_no_source: usize,
    of_assembly: usize,
    of_no_symbol: usize,
    code_alone: usize,
    index_alone: usize,
}

/// Whether a function has an entry there. Some have several names, of which each is a function to the assembler.
fn starts_at(view: &View<'_>, function: FunctionId, pc: u32) -> bool {
    view.places_of_function(function).any(|place| view.places.at(place.index()).entry.get() == pc)
}

/// What is called, and whether by a jump, by the address of the instruction.
fn in_index(view: &View<'_>, object: ObjectId) -> BTreeMap<u32, (FunctionId, bool)> {
    let mut calls = BTreeMap::new();
    for function in (0..view.functions.owners().len() as u32).map(FunctionId::new) {
        for call in view.calls(function).filter(|call| call.object == object) {
            let start = instructions::start_of(view, object, call.pc.get()).unwrap_or(call.pc.get());
            calls.insert(start, (function, call.is_tail));
        }
    }
    calls
}

/// The calls of functions that the debug information describes, and jumps to them from others: with the address that is
/// called.
fn in_code(kernel: &Kernel, view: &View<'_>, object: ObjectId) -> BTreeMap<u32, (FunctionId, u32, bool)> {
    let mut objdump = Command::new("objdump");
    objdump.args(["-d", "--no-show-raw-insn"]).arg(&kernel.vmlinux).stdout(Stdio::piped());
    let mut objdump = objdump.spawn().unwrap_or_else(|e| panic!("objdump: {e}"));
    let base = view.objects[object.index()].base.get();
    let pc = |text: &str| u32::try_from(u64::from_str_radix(text, 16).ok()?.wrapping_sub(base)).ok();
    let mut calls = BTreeMap::new();
    for line in BufReader::new(objdump.stdout.take().unwrap()).lines() {
        // `ffffffff81000000:\tcall   ffffffff81000010 <name>`
        let line = line.unwrap();
        let Some((address, instruction)) = line.split_once(":\t") else { continue };
        let mut words = instruction.split_whitespace();
        let (Some(mnemonic), Some(target)) = (words.next(), words.next()) else { continue };
        let is_tail = mnemonic.starts_with('j');
        if !is_tail && mnemonic != "call" {
            continue;
        }
        let (Some(from), Some(to)) = (pc(address.trim()), pc(target)) else { continue };
        let Some(callee) = functions::entry_at(view, object, to) else { continue };
        let own = functions::holding(view, object, from).map(|place| functions::root(view, place).id);
        // A loop that goes back to its function's first instruction is no call.
        if !is_tail || own != Some(callee.id) {
            calls.insert(from, (callee.record.function, to, is_tail));
        }
    }
    assert!(objdump.wait().unwrap().success());
    calls
}

/// Whether no call in C leads to it: the compiler calls it on its own account, or it is called from inline assembly.
fn is_of_no_source(view: &View<'_>, callee: FunctionId) -> bool {
    let name = view.string(view.functions.at(callee.index()).name);
    let starts = [&b"__x86_"[..], b"__put_user_", b"__get_user_"];
    name == b"__fentry__" || name == b"__stack_chk_fail" || starts.iter().any(|s| name.starts_with(s))
}

/// Whether call sites are known of the code at an address: not of assembly.
fn has_calls(view: &View<'_>, object: ObjectId, pc: u32) -> bool {
    let Some(place) = functions::holding(view, object, pc) else { return false };
    let unit = view.unit_of_place(place.id);
    let is_c = view.units[unit.index()].language != gimli::DW_LANG_Mips_Assembler.0;
    is_c && symbols::holding(view, object, pc).is_some()
}
