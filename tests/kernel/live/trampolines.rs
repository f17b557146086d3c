//! BPF trampolines against the kernel: of each verdict some functions, to which a program is attached.
//!
//! `PROBEIDX_SEED` repeats a sample; `PROBEIDX_LIVE` is how many functions of each verdict to try.
use super::boot::{Machine, Request};
use crate::installed::{self, Kernel, needed};
use crate::sample::{Random, seed};
use probeidx::query::Index;
use probeidx::query::index::functions::kernel as vmlinux;
use probeidx::query::verdict::mechanism::Mechanism;
use probeidx::query::verdict::reason::Reason;
use probeidx::query::verdict::{Judge, Verdict};
use probeidx_format::View;
use probeidx_format::record::{FunctionRecord, SymbolRecord};
use probeidx_format::types::TypeKind;
use std::collections::BTreeMap;
use std::fmt::Write;

const ENOENT: i32 = 2;
const ESRCH: i32 = 3;
const EINVAL: i32 = 22;
/// Not for programs (include/linux/errno.h).
const ENOTSUPP: i32 = 524;

/// Each takes some tenths of a second in an emulator.
const OF_EACH: usize = 12;

#[test]
fn trampolines_take_what_is_called_ok_and_nothing_else() {
    installed::on_each(verdicts_hold);
}

fn verdicts_hold(kernel: &Kernel) {
    let Some(machine) = needed(Machine::new(kernel)) else { return };
    let index = Index::open(&installed::index(kernel)).unwrap_or_else(|e| panic!("{e}"));
    let view = index.view().unwrap_or_else(|e| panic!("{e}"));
    let wish = std::env::var("PROBEIDX_LIVE").ok().and_then(|wish| wish.parse().ok());
    let seed = seed();
    let trials = sample(&view, wish.unwrap_or(OF_EACH), &mut Random(seed));
    let requests: Vec<Request> =
        trials.iter().map(|(function, _)| Request::Attach { function: function.clone() }).collect();
    let answers = machine.boot(&requests).unwrap_or_else(|e| panic!("{e}"));
    let mut counts = BTreeMap::<_, usize>::new();
    let mut wrong = String::new();
    for ((function, verdict), answer) in trials.iter().zip(&answers.answers) {
        *counts.entry((verdict.name(), answer.errno)).or_default() += 1;
        if !agrees(*verdict, answer.errno) {
            let _ = write!(wrong, "\n  {function}: {}, errno {}", verdict.name(), answer.errno);
        }
    }
    for ((verdict, errno), count) in &counts {
        installed::say(&format!("  {}: trampoline {verdict:20} errno {errno:3} {count}", kernel.release));
    }
    assert!(wrong.is_empty(), "{}, PROBEIDX_SEED={seed}: these disagree:{wrong}", kernel.release);
    let accepted = counts.iter().any(|((verdict, errno), _)| (*verdict, *errno) == ("ok", 0));
    let has_none = counts.keys().any(|(verdict, _)| *verdict == "no-trampoline");
    assert!(accepted != has_none, "{}: {counts:?}", kernel.release);
}

/// Functions of vmlinux by the names of their symbols: of each verdict as many, and of those called ok as many again that
/// are close to a limit.
fn sample(view: &View<'_>, of_each: usize, random: &mut Random) -> Vec<(String, Verdict)> {
    let object = vmlinux(view).expect("the index has no vmlinux");
    let judge = Judge::new(view);
    let mut kinds = BTreeMap::<(&'static str, bool), Vec<(String, Verdict)>>::new();
    let own = view.symbols.part(view.symbols_of(object));
    let kept = || own.iter().filter(|s| s.is_function() && s.has(SymbolRecord::KEPT));
    let mut named = BTreeMap::<_, usize>::new();
    for symbol in kept() {
        *named.entry(symbol.name).or_default() += 1;
    }
    for symbol in kept() {
        let verdicts = judge.verdicts(object, symbol.pc.get(), false);
        let verdict = verdicts.of(Mechanism::Trampoline).expect("vmlinux is no program");
        let Ok(name) = std::str::from_utf8(view.string(symbol.name)) else { continue };
        // 6.1 attaches to these, and stands still: trampolines call them.
        if ["__rcu_read_lock", "__rcu_read_unlock"].contains(&name) {
            continue;
        }
        // The kernel takes the no-op of a jump label for one of its own (`bpf_arch_text_poke`, `rseq_trace_ip_fixup` of 7.2 on ppc64le).
        if verdicts.any_address().reason() == Some(Reason::JumpLabel) {
            continue;
        }
        // Another name of a function that BTF has by its own (`compat_sys_shmctl` of ppc64le, for `sys_ni_syscall`).
        let declares = |name| view.functions_named(name).next().is_some();
        if verdict.is_ok() && !view.name_of(symbol.name).is_some_and(declares) {
            continue;
        }
        let is_hard = verdict.is_ok() && is_close_to_a_limit(view, name);
        // The kernel is asked by name, and answers for the first of several functions (`bpf_dispatcher_nop_func` of 6.1 is
        // twice in it, once with an ftrace site).
        if named[&symbol.name] > 1 && !verdict.is_ok() && verdict.reason() != Some(Reason::AmbiguousName) {
            continue;
        }
        kinds.entry((verdict.name(), is_hard)).or_default().push((name.to_owned(), verdict));
    }
    kinds.into_values().flat_map(|found| random.choose(found, of_each)).collect()
}

/// Whether a function has 6 parameters or more, or a struct.
fn is_close_to_a_limit(view: &View<'_>, name: &str) -> bool {
    let functions = view.name(name.as_bytes()).map(|name| view.functions_named(name)).unwrap_or_default();
    functions.filter_map(|at| view.functions.get(at)).any(|function: FunctionRecord| {
        let parameters: Vec<_> = view.variables(function).filter(|v| v.parameter).collect();
        let is_struct = |id: probeidx_format::id::TypeId| {
            view.types.get(id.index()).is_some_and(|t| TypeKind::from_u8(t.kind) == TypeKind::Struct)
        };
        parameters.len() >= 6 || parameters.iter().any(|p| p.type_id.is_some_and(is_struct))
    })
}

/// What the kernel answers to a verdict. A name that several functions have is left out of BTF, or stands for one of them.
fn agrees(verdict: Verdict, errno: i32) -> bool {
    match verdict.reason() {
        None => errno == 0,
        Some(Reason::Undecided(_) | Reason::AmbiguousName) => true,
        Some(Reason::NoBtf) => [ESRCH, ENOENT].contains(&errno),
        Some(Reason::Variadic | Reason::StructReturn | Reason::StructArgument | Reason::Blacklist) => {
            errno == EINVAL
        }
        Some(Reason::TooManyArguments) => [EINVAL, ENOTSUPP].contains(&errno),
        Some(_) => errno != 0,
    }
}
