//! Events of fprobes, in place of kprobes where they cost less (Documentation/trace/fprobetrace.rst).
//!
//! An fprobe event is given the name of a function, not an address, and runs at its ftrace site. It reads what the calling
//! convention passes (`$argN`) and no registers.
//!
//! Instructions that one event adds to a call of `vfs_read` (booted in an emulator that counts them):
//!
//! | kernel | entry: kprobe, fprobe | return: kprobe, fprobe | definition: kprobe, fprobe |
//! | --- | --- | --- | --- |
//! | 6.12.117 x86-64 | 946, 850 | 1390, 1140 | 1.4 million, 190 to 290 million |
//! | 7.3.4 x86-64 | 972, 983 | 1324, 1456 | 1 to 7 million, 110 to 450 million |
//! | 7.3.4 arm64 | 1407, 1043 | 1942, 1654 | 0.4 million, 74 million |
//!
//! On x86-64 a kprobe at an entry runs by ftrace itself (CONFIG_KPROBES_ON_FTRACE), so there is nothing to gain. Up to 6.13 the
//! return of an fprobe also misses calls, and no file tells that: it has room for two calls at a time for each processor
//! (`fprobe_init_rethook`), where a kretprobe has room for ten, and counts what it misses. On arm64 a kprobe is a trap; there
//! fprobes came with 6.14, and their returns have room on the stack of each task.
use crate::query::index::registers;
use crate::query::resolve::by_name::NameState;
use crate::query::resolve::placement::Placement;
use crate::query::trace::Kind;
use crate::query::value::tracefs_features::Ability;
use crate::query::value::{ValueAt, arguments};
use crate::query::verdict::mechanism::Mechanism;
use probeidx_format::{View, machine};

/// The most events that are defined by name: for each the kernel goes through all its symbols, twice.
pub(super) const MOST: usize = 16;

/// Whether a kernel has fprobe events, and they cost less. `has` is what is known of it; if `None`, the index decides.
pub(super) fn are_cheaper(view: &View<'_>, has: Option<bool>) -> bool {
    let has = || has.unwrap_or_else(|| Ability::TracepointProbes.check(view).is_ok());
    view.machine() == machine::AARCH64 && has()
}

/// The kind, and the line that plants it: `f:probeidx_4711/vfs_read vfs_read count=$arg3:u64`. `None` if no fprobe is at
/// this place and nowhere else, or some value is not in the place of a parameter.
pub(super) fn line(
    view: &View<'_>,
    p: &Placement<'_>,
    is_return: bool,
    values: &[ValueAt],
    group: &str,
    name: &str,
) -> Option<(Kind, String)> {
    let is_ok = p.verdicts.of(Mechanism::Ftrace)?.is_ok() && p.verdicts.definition(is_return).is_ok();
    // Before 6.15 an fprobe is in no module.
    if !is_ok || p.module.is_some() {
        return None;
    }
    let by_name = p.by_name.filter(|by| matches!(by.state, NameState::Ok | NameState::Renamed))?;
    let function = std::str::from_utf8(by_name.name).ok()?;
    // What follows `%` says that it is the return; blanks end a name.
    if !function.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.')) {
        return None;
    }
    let mut line = format!("f:{group}/{name} {function}{}", if is_return { "%return" } else { "" });
    for fetch in arguments(values) {
        line.push(' ');
        line.push_str(&by_convention(&fetch, view.machine(), is_return)?);
    }
    let kind = if is_return { Kind::FprobeReturn } else { Kind::Fprobe };
    (line.len() <= super::definition::LONGEST_LINE).then_some((kind, line))
}

/// A fetch argument with the register that it starts from as the number of a parameter: `n=+8(%x0):u32` as
/// `n=+8($arg1):u32`. `None` if there is no such parameter.
fn by_convention(fetch: &str, machine: u16, is_return: bool) -> Option<String> {
    let body = fetch.find('=').map_or(0, |at| at + 1);
    let start = fetch.rfind('(').map_or(body, |at| at + 1).max(body);
    let end = fetch[start..].find([')', ':']).map_or(fetch.len(), |at| start + at);
    let first = &fetch[start..end];
    let is_known = first.starts_with(['@', '\\'])
        || matches!(first, "$comm" | "$retval")
        || first.strip_prefix("$arg").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    if is_known {
        return Some(fetch.to_owned());
    }
    let passed = machine::argument_registers(machine).iter();
    let mut passed = passed.filter(|_| !is_return).zip(1..);
    let (_, number) = passed.find(|(r, _)| registers::kernel_register(**r, machine) == Some(first))?;
    Some(format!("{}$arg{number}{}", &fetch[..start], &fetch[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_of_parameters_become_their_numbers() {
        let of = |fetch, is_return| by_convention(fetch, machine::AARCH64, is_return);
        for (fetch, expected) in [
            ("count=%x2:u64", Some("count=$arg3:u64")),
            ("name=+0(+96(%x0)):string", Some("name=+0(+96($arg1)):string")),
            ("path=+u0(%x1):ustring", Some("path=+u0($arg2):ustring")),
            ("bits=+4(%x7):b3@2/32", Some("bits=+4($arg8):b3@2/32")),
            ("n=$arg2:x64", Some("n=$arg2:x64")),
            ("zero=\\0:u8", Some("zero=\\0:u8")),
            ("jiffies=@jiffies:u64", Some("jiffies=@jiffies:u64")),
            ("$comm", Some("$comm")),
            ("n=%x8:u64", None),
            ("n=+16(%sp):u64", None),
            ("n=$stack1:u64", None),
        ] {
            assert_eq!(of(fetch, false).as_deref(), expected, "{fetch}");
        }
        assert_eq!(of("r=$retval:s32", true).as_deref(), Some("r=$retval:s32"));
        assert_eq!(of("r=%x0:s32", true), None);
    }
}
