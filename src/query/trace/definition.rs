//! Definitions for tracefs: `kprobe_events` (Documentation/trace/kprobetrace.rst), and `uprobe_events`
//! (Documentation/trace/uprobetracer.rst) for programs and shared libraries. Both kinds also go to `dynamic_events`.
use crate::query::resolve::placement::Placement;
use crate::query::spec::Filter;
use crate::query::value::{ValueAt, arguments};
use std::collections::HashSet;

/// The kernel's limit is 64 with the NUL (`MAX_EVENT_NAME_LEN`).
const LONGEST_NAME: usize = 63;

/// The kernel's limit for a definition (`trace_parse_run_command`, kernel/trace/trace.c).
pub(super) const LONGEST_LINE: usize = 4094;

/// The definition of a probe at one place that fetches these values: `p:probeidx/do_open _text+3543965`. By default the
/// event is named after the function.
///
/// # Errors
/// Why kprobe_events refuse it.
pub fn definition(
    p: &Placement<'_>,
    filter: Filter,
    values: &[ValueAt],
    group: &str,
    name: Option<&str>,
) -> Result<String, String> {
    let is_return = filter == Filter::Return;
    if let Some(reason) = p.verdicts.definition(is_return).reason() {
        return Err(reason.name().to_owned());
    }
    let plain = event_name(p, is_return);
    line(p, filter, values, group, name.unwrap_or(&plain))
}

/// Like [`definition`], whatever the verdict is.
///
/// # Errors
/// Why there is no such line.
pub fn line(
    p: &Placement<'_>,
    filter: Filter,
    values: &[ValueAt],
    group: &str,
    name: &str,
) -> Result<String, String> {
    let anchor = p.anchor.as_ref().ok_or("no anchor")?;
    if !anchor.is_definable() {
        return Err("the kernel ends a name at blanks and #".to_owned());
    }
    let kind = if filter == Filter::Return { 'r' } else { 'p' };
    let arguments: String = arguments(values).iter().map(|a| format!(" {a}")).collect();
    let line = format!("{kind}:{group}/{name} {anchor}{arguments}");
    match line.len() {
        0..=LONGEST_LINE => Ok(line),
        length => Err(format!("the definition has {length} characters, and the kernel takes {LONGEST_LINE}")),
    }
}

/// The names and types of the arguments, which all probes of an event must have in common, and the line.
pub type Signature = Vec<String>;

/// The names of events: one for each function and signature.
#[derive(Default)]
pub struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// The name of the event that a placement belongs to. `known` are those of its function; a new one is added. If an
    /// argument is missing, the probe belongs to another event.
    pub fn of(
        &mut self,
        p: &Placement<'_>,
        filter: Filter,
        values: &[ValueAt],
        known: &mut Vec<(Signature, String)>,
    ) -> String {
        let signature: Signature = signature(values).into_iter().chain(source_line(p)).collect();
        if let Some((_, name)) = known.iter().find(|(s, _)| *s == signature) {
            return name.clone();
        }
        let name = self.free(&event_name(p, filter == Filter::Return));
        known.push((signature, name.clone()));
        name
    }

    /// The name, with a number appended if another event has it.
    pub fn free(&mut self, name: &str) -> String {
        let numbered = (1..).map(|n| {
            let number = format!("_{n}");
            format!("{}{number}", &name[..name.len().min(LONGEST_NAME - number.len())])
        });
        let free = std::iter::once(name.to_owned()).chain(numbered).find(|n| !self.taken.contains(n));
        let free = free.unwrap_or_default();
        self.taken.insert(free.clone());
        free
    }
}

fn signature(values: &[ValueAt]) -> Signature {
    let of = |argument: String| match (argument.split_once('='), argument.rsplit_once(':')) {
        (Some((name, _)), Some((_, kind))) => format!("{name}:{kind}"),
        _ => argument,
    };
    arguments(values).into_iter().map(of).collect()
}

/// An event name that the kernel accepts: a C identifier. Return probes get a distinct name, because types must not be
/// mixed. Lines get the suffix that perf uses, the distance from the declaration: `vfs_read_L17`.
fn event_name(p: &Placement<'_>, is_return: bool) -> String {
    let legal = |b: &u8| if b.is_ascii_alphanumeric() || *b == b'_' { char::from(*b) } else { '_' };
    let mut name: String = p.function.iter().map(legal).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        name.insert(0, '_');
    }
    let suffix = match (source_line(p), is_return) {
        (Some(line), _) => format!("_{line}"),
        (None, true) => "__return".to_owned(),
        (None, false) => String::new(),
    };
    name.truncate(LONGEST_NAME - suffix.len());
    name + &suffix
}

/// The line of a placement that was found by line: `L17` if it is 17 lines after the declaration; in another file, the
/// line number.
fn source_line(p: &Placement<'_>) -> Option<String> {
    let source = p.source?;
    let relative = source.line.checked_sub(p.line).filter(|_| source.file == p.file);
    Some(format!("L{}", relative.unwrap_or(source.line)))
}
