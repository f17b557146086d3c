//! Judges the attach points of bcc tools: each is a program. Types are not judged: bcc compiles them on the machine, against its
//! headers.
use super::attach::{Attacher, Trampoline};
use super::outcome::{FileOutcome, Finding, ProgramOutcome, Severity, State};
use super::parameters;
use crate::bcc::{Asked, Attached, Kind, Place, Tool};
use crate::nearest;
use probeidx_format::View;

/// Judges a tool on the kernel of an index.
pub fn judge(view: &View<'_>, tool: &Tool) -> FileOutcome {
    let attacher = Attacher::new(view);
    let mut programs: Vec<ProgramOutcome> =
        tool.attached.iter().map(|attached| program(view, &attacher, attached)).collect();
    forgive(&mut programs, &tool.attached);
    let findings = tool.computed.iter().map(|Place { line, column }| {
        let reason = "what is attached here is computed, and not judged";
        Finding::new(State::Undecided, "attach point", reason).severity(Severity::Note).at(*line, *column)
    });
    FileOutcome { programs, findings: findings.collect() }
}

/// Forgives what the tool asks for before, and of several that it chooses between those that fail, if one works.
fn forgive(programs: &mut [ProgramOutcome], attached: &[Attached]) {
    let works = |chain: Asked, programs: &[ProgramOutcome]| {
        let mut all = programs.iter().zip(attached).filter(|(_, a)| a.asked == chain);
        all.find(|(program, _)| !program.state().is_failure()).map(|(program, _)| program.name.clone())
    };
    for at in 0..programs.len() {
        let why = match attached[at].asked {
            Asked::No => continue,
            Asked::Optional => "the tool goes on without it".to_owned(),
            chain => match works(chain, programs) {
                Some(name) => format!("the tool chooses, and {name} works"),
                None => continue,
            },
        };
        programs[at].forgive(&why);
    }
}

fn program(view: &View<'_>, attacher: &Attacher<'_>, attached: &Attached) -> ProgramOutcome {
    let name = attached.name.as_bytes();
    let (text, mut findings) = match &attached.kind {
        Kind::Kprobe => (format!("kprobe:{}", attached.name), attacher.kprobe(None, name, 0, false)),
        Kind::Kretprobe => (format!("kretprobe:{}", attached.name), attacher.kprobe(None, name, 0, true)),
        Kind::SystemCall => (format!("syscall:{}", attached.name), attacher.system_call(name, false)),
        Kind::Fentry | Kind::Fexit => {
            let word = if attached.kind == Kind::Fentry { "kfunc" } else { "kretfunc" };
            let findings = attacher.trampoline(None, name, Trampoline::Function);
            (format!("{word}:{}", attached.name), findings)
        }
        Kind::Lsm => (format!("lsm:{}", attached.name), attacher.trampoline(None, name, Trampoline::Hook)),
        Kind::RawTracepoint => {
            let found = attacher.raw_tracepoint(name, "ENOENT").map_or_else(|f| vec![*f], |(_, notes)| notes);
            (format!("rawtracepoint:{}", attached.name), found)
        }
        Kind::Event(category) => {
            (format!("tracepoint:{category}:{}", attached.name), event(view, attacher, category, attached))
        }
        Kind::Expression => {
            let findings = match glob(&attached.name) {
                Some(pattern) => attacher.multi(pattern.as_bytes()),
                None => {
                    let reason = "the expression is not judged";
                    vec![Finding::new(State::Undecided, "", reason).severity(Severity::Note)]
                }
            };
            (format!("kprobe:/{}/", attached.name), findings)
        }
        Kind::User => {
            ("uprobe".to_owned(), vec![Finding::new(State::Unindexed, "", "the program is not indexed")])
        }
    };
    findings.extend(too_many(view, attached));
    let Place { line, column } = attached.place;
    for finding in findings.iter_mut().filter(|finding| finding.line == 0) {
        (finding.line, finding.column) = (line, column);
        finding.source.clone_from(&text);
    }
    ProgramOutcome { name: text, line, column, findings, ..ProgramOutcome::default() }
}

/// An event, and the fields that the program reads.
fn event(view: &View<'_>, attacher: &Attacher<'_>, category: &str, attached: &Attached) -> Vec<Finding> {
    let (found, mut findings) = match attacher.event(category.as_bytes(), attached.name.as_bytes()) {
        Ok(found) => found,
        Err(finding) => return vec![*finding],
    };
    let Some(fields) = found.fields() else { return findings };
    let names: Vec<&[u8]> = fields.iter().map(|field| view.string(field.name)).collect();
    for (place, field) in &attached.fields {
        // bcc declares those that carry text under this name (`TracepointFormatParser`, tp_frontend_action.cc of bcc 0.31).
        let plain = field.strip_prefix("data_loc_").unwrap_or(field);
        let is_common = plain.starts_with("common_") || plain == "__do_not_use__";
        if is_common || names.contains(&plain.as_bytes()) {
            continue;
        }
        let near = nearest::nearest(plain, names.iter().copied(), 3);
        let reason = format!("{category}:{} has no field {plain}", attached.name);
        let finding = Finding::new(State::EventField, format!("args->{field}"), reason);
        let instead = near.into_iter().map(|near| format!("args->{near}"));
        findings.push(finding.at(place.line, place.column).instead(instead));
    }
    findings
}

/// More parameters than the function has.
fn too_many(view: &View<'_>, attached: &Attached) -> Option<Finding> {
    let count = attached.parameters?;
    let functions = parameters::functions(view, None, attached.name.as_bytes());
    let most = functions.iter().map(|function| view.variables(*function).parameters().count()).max()?;
    let reason = || format!("{} has {most} parameters, and {count} are declared", attached.name);
    (count > most).then(|| Finding::new(State::Argument, "", reason()))
}

/// A regular expression as a pattern, if it is as simple: bcc matches from the start (`re.match`).
fn glob(expression: &str) -> Option<String> {
    let text = expression.strip_prefix('^').unwrap_or(expression);
    let (text, end) = match text.strip_suffix('$') {
        Some(text) => (text, ""),
        None => (text, "*"),
    };
    let pattern = text.replace(".*", "*");
    let is_plain = pattern.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '*');
    is_plain.then(|| if pattern.ends_with('*') { pattern } else { pattern + end })
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn simple_expressions_are_patterns() {
        assert_eq!(glob("^vfs_.*"), Some("vfs_*".to_owned()));
        assert_eq!(glob("vfs_read"), Some("vfs_read*".to_owned()));
        assert_eq!(glob("^vfs_read$"), Some("vfs_read".to_owned()));
        assert_eq!(glob("^(a|b)$"), None);
    }
}
