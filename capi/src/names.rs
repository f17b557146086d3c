//! Words for enumerators; versions and features.
use crate::border::Status;
use crate::text::Text;
use probeidx::query::resolve::by_name::NameState;
use probeidx::query::value::State;
use probeidx::query::verdict::reason::Reason;
use probeidx::query::verdict::unknown::Unknown;
use std::ffi::{CStr, c_char};

/// The version of this library: major, minor and patch in a byte each, from bit 16 down.
pub const VERSION: u32 = 0x00_01_00;

/// The features that `probeidx_has` knows.
const FEATURES: [&CStr; 25] = [
    c"find",
    c"resolve",
    c"places",
    c"frames",
    c"lines",
    c"addr",
    c"decode",
    c"type",
    c"users",
    c"blacklist",
    c"objects",
    c"tracepoints",
    c"tapset",
    c"check",
    c"explain",
    c"functions",
    c"macros",
    c"check-tapset",
    c"why-not",
    c"defined",
    c"verify",
    c"skipped",
    c"sections",
    c"kernels",
    c"running",
];

/// The version of the running library; that of the header is `PROBEIDX_VERSION`.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_version() -> u32 {
    VERSION
}

/// The version of index files that it can read.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_format_version() -> u32 {
    probeidx_format::VERSION
}

/// Whether the library has a feature.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_has(feature: *const c_char) -> i32 {
    let asked = crate::border::bytes(feature, usize::MAX);
    i32::from(asked.is_ok_and(|asked| FEATURES.iter().any(|f| f.to_bytes() == asked)))
}

/// How often queries had to ask the system for memory.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_overflows() -> u64 {
    crate::pool::overflows()
}

/// The name of a status.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_status_name(status: i32) -> Text {
    const NAMES: [&CStr; 17] = [
        c"ok",
        c"no-match",
        c"usage",
        c"io",
        c"no-index",
        c"index-too-old",
        c"index-too-new",
        c"index-damaged",
        c"syntax",
        c"unsupported",
        c"other",
        c"stopped",
        c"closed",
        c"argument",
        c"too-many",
        c"short",
        c"internal",
    ];
    let at = Status::ALL.iter().position(|s| *s as i32 == status);
    at.map_or(Text::EMPTY, |at| NAMES[at].into())
}

/// The reasons. The number of each is its position, from 1, and never changes; new ones are appended.
const REASONS: [(Reason, &CStr, &CStr); 32] = [
    (Reason::InitText, c"init-text", c"in init code"),
    (Reason::ExitText, c"exit-text", c"in exit code"),
    (Reason::Discarded, c"discarded", c"in discarded code"),
    (Reason::DeadCode, c"dead-code", c"in code that nothing leads to"),
    (Reason::Blacklist, c"blacklist", c"in a NOKPROBE function"),
    (Reason::Noinstr, c"noinstr", c"in a noinstr function"),
    (Reason::EntryText, c"entry-text", c"in entry code"),
    (Reason::KprobesText, c"kprobes-text", c"in a __kprobes function"),
    (Reason::JumpLabel, c"jump-label", c"on a jump label"),
    (Reason::StaticCall, c"static-call", c"on a static call"),
    (Reason::BugSite, c"bug-site", c"on a BUG or WARN"),
    (Reason::Patched, c"patched", c"within patched instructions"),
    (Reason::NotBoundary, c"not-boundary", c"within an instruction"),
    (Reason::UnsupportedInstruction, c"unsupported-instruction", c"on an instruction that cannot be probed"),
    (Reason::NoFtraceSite, c"no-ftrace-site", c"without an ftrace site"),
    (Reason::NotEntry, c"not-entry", c"not at an entry"),
    (Reason::Inline, c"inline", c"inlined"),
    (Reason::PrefixSymbol, c"prefix-symbol", c"in a prefix symbol"),
    (Reason::KretprobeBlacklist, c"kretprobe-blacklist", c"in a function that returns elsewhere"),
    (Reason::NoSymbol, c"no-symbol", c"outside of all symbols"),
    (Reason::Undecided(Unknown::NOTHING), c"undecided", c"undecided"),
    (Reason::FtraceSite, c"ftrace-site", c"on the instruction that ftrace patches"),
    (Reason::Undecided(Unknown::ARCHITECTURE), c"undecided", c"not supported on this architecture yet"),
    (Reason::NoTrampoline, c"no-trampoline", c"in a kernel without BPF trampolines"),
    (Reason::NoBtf, c"no-btf", c"not in BTF"),
    (Reason::AmbiguousName, c"ambiguous-name", c"with a name that is not unique"),
    (Reason::Variadic, c"variadic", c"variadic"),
    (Reason::StructReturn, c"struct-return", c"returning a struct"),
    (Reason::StructArgument, c"struct-argument", c"with a struct as parameter"),
    (Reason::TooManyArguments, c"too-many-arguments", c"with too many arguments"),
    (
        Reason::RuntimeStack,
        c"runtime-stack",
        c"in a function whose runtime does not let its return be probed",
    ),
    (Reason::Conditional, c"conditional", c"on an instruction under a condition, where probes miss calls"),
];

/// The number of a verdict: 0 is ok.
pub fn verdict(reason: Option<Reason>) -> u32 {
    let numbered = |reason| match reason {
        Reason::Undecided(unknown) if unknown != Unknown::ARCHITECTURE => Reason::Undecided(Unknown::NOTHING),
        other => other,
    };
    let at = |reason| REASONS.iter().position(|(r, ..)| *r == numbered(reason));
    reason.map_or(0, |reason| at(reason).map_or(REASONS.len() as u32, |at| at as u32 + 1))
}

/// `ok`, or the name of the reason.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_verdict_name(verdict: u32) -> Text {
    match verdict.checked_sub(1) {
        None => c"ok".into(),
        Some(at) => REASONS.get(at as usize).map_or(Text::EMPTY, |r| r.1.into()),
    }
}

/// The reason as a phrase.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_verdict_phrase(verdict: u32) -> Text {
    match verdict.checked_sub(1) {
        None => c"ok".into(),
        Some(at) => REASONS.get(at as usize).map_or(Text::EMPTY, |r| r.2.into()),
    }
}

/// The number of what a name attaches to.
pub fn by_name(state: NameState) -> u32 {
    match state {
        NameState::Ok => 0,
        NameState::Ambiguous => 1,
        NameState::Renamed => 2,
        NameState::Absent => 3,
    }
}

/// The number of a state.
pub fn state(state: State) -> u32 {
    match state {
        State::Readable => 0,
        State::Constant => 1,
        State::Elsewhere => 2,
        State::OptimizedOut => 3,
        State::Unsupported => 4,
    }
}

/// The name of a state.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_state_name(state: u32) -> Text {
    const NAMES: [&CStr; 5] = [c"readable", c"constant", c"elsewhere", c"optimized-out", c"unsupported"];
    NAMES.get(state as usize).map_or(Text::EMPTY, |name| (*name).into())
}

/// The name of a kind of placement.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_instance_name(instance: u32) -> Text {
    const NAMES: [&CStr; 6] = [c"out-of-line", c"inline", c"statement", c"tracepoint", c"none", c"unindexed"];
    NAMES.get(instance as usize).map_or(Text::EMPTY, |name| (*name).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_library() {
        for (at, (reason, name, phrase)) in REASONS.iter().enumerate() {
            assert_eq!((name.to_str(), phrase.to_str()), (Ok(reason.name()), Ok(reason.phrase())));
            assert_eq!(verdict(Some(*reason)), at as u32 + 1);
        }
        // Complete, and without duplicates.
        let distinct: std::collections::BTreeSet<_> = REASONS.iter().map(|r| r.0).collect();
        assert_eq!(distinct.len(), REASONS.len());
        let because = Reason::Undecided(Unknown::CODE);
        assert_eq!(verdict(Some(because)), verdict(Some(Reason::Undecided(Unknown::NOTHING))));
    }
}
