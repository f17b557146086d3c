//! Describes coverage, refusals, return probes and days in words.
use super::{printable, printable_bytes as text};
use crate::query::index::functions::Instance;
use crate::query::index::registers::kernel_register;
use crate::query::resolve::by_name::{ByName, NameState};
use crate::query::resolve::placement::{Placement, Returns};
use crate::query::value::calling_convention::Slot;
use crate::query::value::nearest_location::Elsewhere;
use crate::query::verdict::alternative::Alternative;
use crate::query::verdict::coverage::{Coverage, Reached};
use crate::query::verdict::reason::Reason;
use probeidx_format::machine;
use probeidx_format::record::RefusedBy;

/// `vmlinux`, `module overlay`, `/usr/bin/ls`
pub fn object(p: &Placement<'_>) -> String {
    match (p.process, p.module) {
        (Some(path), _) => text(path),
        (None, Some(module)) => format!("module {}", text(module)),
        (None, None) => "vmlinux".to_owned(),
    }
}

/// `out of line: 1 of 1; inline: 4 sites in 3 callers, 3 reachable, 1 on a jump label`
pub fn coverage(c: &Coverage) -> String {
    let mut parts = vec![];
    if c.out_of_line.total > 0 {
        let Reached { total, reachable, .. } = c.out_of_line;
        let taken =
            if is_open(&c.out_of_line) { total.to_string() } else { format!("{reachable} of {total}") };
        parts.push(format!("out of line: {taken}{}", others(&c.out_of_line, total)));
    }
    if c.inline.total > 0 {
        let Reached { total, reachable, .. } = c.inline;
        let is_open = is_open(&c.inline);
        let taken = if is_open { String::new() } else { format!(", {reachable} reachable") };
        parts.push(format!(
            "inline: {} in {}{taken}{}",
            counted(total, "site"),
            counted(c.callers, "caller"),
            others(&c.inline, if is_open { total } else { u32::MAX }),
        ));
    }
    if parts.is_empty() {
        parts.push("no address once the kernel runs".to_owned());
    }
    let defined = c.by.definition(false);
    if defined < c.by.any_address() {
        parts.push(format!("kprobe_events: {defined} of {}", c.instances()));
    }
    if !c.left_out.is_empty() {
        let left_out: Vec<_> =
            c.left_out.iter().map(|(reason, n)| format!("{n} {}", reason.phrase())).collect();
        parts.push(format!("left out: {}", left_out.join(", ")));
    }
    parts.join("; ")
}

/// Whether `register_kprobe` or kprobe_events refuse any of the addresses.
pub fn is_incomplete(c: &Coverage) -> bool {
    c.by.definition(false) < c.instances()
}

/// Whether all verdicts are undecided.
fn is_open(reached: &Reached) -> bool {
    reached.undecided == reached.total
}

/// The refused addresses, then the undecided ones; without a number if it is `all` of them.
fn others(reached: &Reached, all: u32) -> String {
    let undecided = Reason::of(reached.unknown).map(|reason| (reason, reached.undecided));
    let one = |(reason, n): (Reason, u32)| match n == all {
        true => format!(", {}", reason.phrase()),
        false => format!(", {n} {}", reason.phrase()),
    };
    reached.refused.iter().copied().chain(undecided).map(one).collect()
}

fn counted(n: u32, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// The alternative to a refused probe.
pub fn instead(instead: &Alternative<'_>) -> String {
    match instead {
        Alternative::At(nearby) => {
            let (symbol, offset) = nearby.symbol;
            let anchor = nearby.anchor.as_ref().map_or(String::new(), |a| format!(", probe at {a}"));
            let readable: Vec<_> = nearby.readable.iter().map(|v| printable(v)).collect();
            let readable = match readable.is_empty() {
                true => String::new(),
                false => format!("; readable there: {}", readable.join(", ")),
            };
            format!("nearest is {}+{offset:#x} ({:#x}){anchor}{readable}", text(symbol), nearby.address)
        }
        Alternative::Mechanism("kprobe") => "register_kprobe takes it (SystemTap)".to_owned(),
        Alternative::Mechanism("ftrace") => "ftrace takes it (fprobe, kprobe.multi)".to_owned(),
        Alternative::Mechanism(_) => "ftrace takes it (fprobe, kprobe.multi, BPF fentry)".to_owned(),
        Alternative::BeforeLoading => "kprobe_events take it while the module is not loaded yet".to_owned(),
        Alternative::ReturnOf(function) => {
            format!("probe returns of {}, of which it is a part", text(function))
        }
    }
}

/// What a mechanism that is given a name attaches to; `None` if that is this placement, or if nothing else is to be
/// expected: of an inlined copy, or within a function.
pub fn by_name(by: ByName<'_>, p: &Placement<'_>) -> Option<String> {
    match by.state {
        NameState::Ok => None,
        NameState::Absent => (p.instance == Instance::OutOfLine).then(|| "no symbol starts there".to_owned()),
        NameState::Renamed => Some(format!("attach to {}", text(by.name))),
        NameState::Ambiguous if by.symbols > 1 => {
            Some(format!("ambiguous ({} symbols named {})", by.symbols, text(by.name)))
        }
        NameState::Ambiguous => {
            Some(format!("ambiguous ({} is a symbol of other objects too)", text(by.name)))
        }
    }
}

/// The nearest address where a variable has a location.
pub fn elsewhere(elsewhere: Option<&Elsewhere>) -> String {
    let Some(Elsewhere { symbol: Some((symbol, offset)), line, .. }) = elsewhere else {
        return "not at this address".to_owned();
    };
    let line = line.as_ref().map_or(String::new(), |(file, line)| format!(", {}:{line}", printable(file)));
    format!("not at this address; known from {}+{offset:#x}{line}", printable(symbol))
}

/// Where the calling convention passes a parameter.
pub fn slot(slot: Slot, machine: u16) -> String {
    match slot {
        Slot::Register(number) => kernel_register(number, machine).unwrap_or_default().to_owned(),
        Slot::Stack(distance) => format!("+{distance}(%sp)"),
    }
}

/// Where a probe lands that the kernel moves.
pub fn landing(machine: u16) -> &'static str {
    match machine {
        machine::PPC64 => "where all calls of the function lead",
        _ => "behind endbr64",
    }
}

/// What put a range on the kernel's blacklist.
pub fn source(source: RefusedBy) -> &'static str {
    match source {
        RefusedBy::Nokprobe => "NOKPROBE_SYMBOL",
        RefusedBy::KprobesText => ".kprobes.text",
        RefusedBy::NoinstrText => ".noinstr.text",
        RefusedBy::EntryText => ".entry.text",
        RefusedBy::Head => ".head.text",
    }
}

/// Unexpected behaviour of a return probe on a function.
pub fn returns(function: &str, returns: Returns) -> Option<String> {
    if returns.never {
        return Some(format!("{function} does not return: a return probe never fires"));
    }
    returns.tail_calls.then(|| {
        format!(
            "some exits of {function} are jumps to other functions: \
             a return probe fires when these return, with their value"
        )
    })
}

/// `2026-11-26` of seconds since 1970; `-` of none. Days are counted from 1 March of year 0, so that a leap day ends a year.
pub fn date(seconds: i64) -> String {
    if seconds == 0 {
        return "-".to_owned();
    }
    const DAYS_TO_1970: i64 = 719_468;
    const DAYS_OF_400_YEARS: i64 = 146_097;
    let days = seconds.div_euclid(86_400) + DAYS_TO_1970;
    let (era, day) = (days.div_euclid(DAYS_OF_400_YEARS), days.rem_euclid(DAYS_OF_400_YEARS));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    format!("{:04}-{month:02}-{day:02}", year + 400 * era)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `date -u -d @SECONDS +%F` says.
    #[test]
    fn days_of_leap_years_and_others() {
        for (seconds, day) in [
            (1, "1970-01-01"),
            (-1, "1969-12-31"),
            (951_782_400, "2000-02-29"),
            (1_709_251_199, "2024-02-29"),
            (1_709_251_200, "2024-03-01"),
            (1_780_000_000, "2026-05-28"),
            (4_107_542_400, "2100-03-01"),
            (0, "-"),
        ] {
            assert_eq!(date(seconds), day, "{seconds}");
        }
    }
}
