//! What is wrong with a script on the kernels, as an editor shows it.
use crate::definition::{Origin, origin};
use crate::document::{Document, Language};
use crate::kernels::Kernels;
use crate::scan::Scan;
use crate::settings::Settings;
use lsp_types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString, Range, Uri,
};
use probeidx::cli::project::{self, Project};
use probeidx::kernels::side_by_side;
use probeidx::query::Index;
use probeidx::query::check::grid::{Row, Shared};
use probeidx::query::check::needs::Need;
use probeidx::query::check::outcome::{FileOutcome, Finding, Severity, State};
use probeidx::query::check::{self, Asked, Source};
use probeidx::query::index::kernel_description::KernelDescription;
use probeidx::render::printable;
use probeidx::tapset::target::Runtime;
use probeidx::{Error, Result};
use std::ops::Range as Bytes;
use std::sync::Arc;

/// How many findings of a script are shown.
const MOST: usize = 500;
/// Of how many parts a script may have each is parsed by itself, if the whole cannot be.
const MOST_PARTS: usize = 200;
/// How many definitions of an ambiguous name are shown.
const MOST_DEFINITIONS: usize = 8;

/// A script on all kernels, and those of its parts that cannot be parsed.
struct Checked {
    row: Row,
    broken: Vec<Error>,
}

/// The findings of a script.
///
/// # Errors
/// Those of the indexes.
pub fn findings(
    document: &Document,
    uri: &Uri,
    kernels: &Kernels,
    settings: &Settings,
) -> Result<Vec<Diagnostic>> {
    let opened = kernels.all()?;
    let Checked { row, broken } = checked(document, &opened, settings);
    let mut all: Vec<Diagnostic> = broken.iter().map(|error| unread(document, error)).collect();
    for error in row.outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
        let shown = unread(document, error);
        if !all.contains(&shown) {
            all.push(shown);
        }
    }
    let shown = Shown { document, uri, opened: &opened, settings };
    for found in row.findings() {
        // Of what is left of a script, nothing is said as a whole.
        if found.program.is_none() && found.finding.source == "the script" && !broken.is_empty() {
            continue;
        }
        let diagnostic = shown.diagnostic(&row, &found);
        // Each attach point of a handler finds the same there.
        if !all.contains(&diagnostic) {
            all.push(diagnostic);
        }
    }
    all.truncate(MOST);
    Ok(all)
}

/// Checks a script on all kernels. Parts that cannot be parsed, from one probe to the next, are left out, and the rest is
/// checked: while something is typed, all else stays as it was.
fn checked(document: &Document, opened: &[(KernelDescription, Arc<Index>)], settings: &Settings) -> Checked {
    let mut outcomes = outcomes(document, &document.text, opened, settings);
    let mut broken = vec![];
    if outcomes.iter().any(|outcome| outcome.as_ref().is_err_and(|error| error.position().is_some())) {
        let mut rest = document.text.clone();
        for part in parts(document) {
            // What is before it are blanks, so that its places are those of the script.
            let mut alone = document.text[..part.end].trim_end().to_owned();
            let before = 0..part.start.min(alone.len());
            blank(&mut alone, before);
            let failed = self::outcomes(document, &alone, opened, settings).into_iter().find_map(Result::err);
            if let Some(error) = failed.filter(|error| error.position().is_some()) {
                broken.push(error);
                blank(&mut rest, part);
            }
        }
        if !broken.is_empty() {
            outcomes = self::outcomes(document, &rest, opened, settings);
        }
    }
    let mut rows = [Row { file: document.path.display().to_string(), outcomes }];
    needs(document).iter().for_each(|need| need.forgive(&mut rows));
    let [row] = rows;
    Checked { row, broken }
}

fn outcomes(
    document: &Document,
    text: &str,
    opened: &[(KernelDescription, Arc<Index>)],
    settings: &Settings,
) -> Vec<Result<FileOutcome>> {
    let asked = Asked {
        arguments: settings.arguments.clone(),
        guru: settings.guru || is_run_as_guru(text),
        runtime: Runtime::Kernel,
        systemtap: None,
        bpftrace: project(document).and_then(|project| project.bpftrace),
    };
    let source = match Source::of_kind(document.language.kind(), &document.path, text.as_bytes().to_vec()) {
        Ok(source) => source,
        Err(error) => return vec![Err(error)],
    };
    side_by_side(opened, |(_, index)| {
        let view = &index.view()?;
        let definitions = match document.language {
            Language::SystemTap => check::definitions(view).map_err(|error| index.named(error)),
            Language::Bpftrace => Err(Error::new(probeidx::ErrorKind::NoIndex, "no tapset is needed")),
        };
        source.judge(view, definitions.as_ref(), &asked).map_err(|error| index.named(error))
    })
}

/// Whether the first line runs the script in guru mode: `#!/usr/bin/stap -g`.
fn is_run_as_guru(text: &str) -> bool {
    let mut words = text.lines().next().unwrap_or_default().split_ascii_whitespace();
    let is_run = words.next().is_some_and(|first| first.starts_with("#!"));
    let is_guru = |word: &str| {
        word.starts_with('-') && !word.starts_with("--") && word.contains('g') || word == "--guru"
    };
    is_run && words.any(is_guru)
}

/// The alternatives that the script and its project name.
fn needs(document: &Document) -> Vec<Need> {
    let mut needs = Need::of_text(&document.text).unwrap_or_default();
    needs.extend(project(document).into_iter().flat_map(|project| project.needs));
    needs
}

/// What its project says of it.
fn project(document: &Document) -> Option<Project> {
    project::of_file(&document.path).and_then(|file| Project::read(&file).ok())
}

/// The parts of a script, each from a line that can only start a probe to the next one; none if there are too many, or if
/// conditions of the preprocessor may reach over several.
fn parts(document: &Document) -> Vec<Bytes<usize>> {
    if document.language == Language::SystemTap && document.text.contains("%(") {
        return vec![];
    }
    let scan = Scan::new(&document.text, document.language);
    let starts: Vec<usize> = scan.starts().filter(|start| *start > 0).collect();
    let ends = starts.iter().copied().chain([document.text.len()]);
    let parts = std::iter::once(0).chain(starts.iter().copied()).zip(ends);
    match starts.len() < MOST_PARTS {
        true => parts.map(|(start, end)| start..end).collect(),
        false => vec![],
    }
}

/// Makes blanks of a part, so that the places of the rest stay.
fn blank(text: &mut String, part: Bytes<usize>) {
    let blanks: String =
        text[part.clone()].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect();
    text.replace_range(part, &blanks);
}

/// What cannot be read.
fn unread(document: &Document, error: &Error) -> Diagnostic {
    let range = match error.position() {
        Some((line, column)) => document.range(word(&document.text, document.offset_of(line, column))),
        None => Range::default(),
    };
    let hint = error.remedy().map_or(String::new(), |hint| format!("; {hint}"));
    Diagnostic {
        range,
        severity: Some(DiagnosticSeverity::ERROR),
        code: Some(NumberOrString::String(error.kind().name().to_owned())),
        source: Some("probeidx".to_owned()),
        message: format!("{}{hint}", error.message()),
        ..Diagnostic::default()
    }
}

struct Shown<'a> {
    document: &'a Document,
    uri: &'a Uri,
    opened: &'a [(KernelDescription, Arc<Index>)],
    settings: &'a Settings,
}

impl Shown<'_> {
    fn diagnostic(&self, row: &Row, found: &Shared<'_>) -> Diagnostic {
        let finding = found.finding;
        let range = self.range(row, found);
        let mut message = finding.reason.clone();
        if let Some(path) = &finding.path {
            message = format!("{}:{}:{}: {message}", path.display(), finding.line, finding.column);
        }
        if let Some(errno) = finding.errno {
            message.push_str(&format!(" ({errno})"));
        }
        if !finding.instead.is_empty() {
            message.push_str(&format!("; instead: {}", finding.instead.join(", ")));
        }
        if found.kernels.len() != self.opened.len() {
            let named = found
                .kernels
                .iter()
                .filter_map(|at| Some(self.opened.get(at as usize)?.0.id.release.clone()));
            message.push_str(&format!("; on {}", named.collect::<Vec<_>>().join(", ")));
        }
        let related = self.related(range, finding, found);
        Diagnostic {
            range,
            severity: Some(match finding.severity {
                Severity::Error => DiagnosticSeverity::ERROR,
                Severity::Warning => DiagnosticSeverity::WARNING,
                Severity::Note if finding.guarded => DiagnosticSeverity::HINT,
                Severity::Note => DiagnosticSeverity::INFORMATION,
            }),
            code: Some(NumberOrString::String(finding.state.name().to_owned())),
            source: Some("probeidx".to_owned()),
            message: printable(&message).into_owned(),
            related_information: (!related.is_empty()).then_some(related),
            ..Diagnostic::default()
        }
    }

    /// What a finding is about. What is in another file is shown at the probe that leads there.
    fn range(&self, row: &Row, found: &Shared<'_>) -> Range {
        let (document, finding) = (self.document, found.finding);
        let outcomes = row.outcomes.iter().filter_map(|outcome| outcome.as_ref().ok());
        let mut programs = outcomes.flat_map(|outcome| &outcome.programs);
        let program = programs.find(|program| Some(&*program.name) == found.program);
        let is_elsewhere = finding.path.is_some() || finding.line == 0;
        let (line, column, source) = match program.filter(|_| is_elsewhere) {
            Some(program) => (program.line, program.column, program.name.as_str()),
            None if is_elsewhere => return Range::default(),
            None => (finding.line, finding.column, finding.source.as_str()),
        };
        let start = document.offset_of(line, column);
        let rest = document.text.get(start..).unwrap_or_default();
        // The source of a finding in a handler is its line.
        match !source.is_empty() && rest.starts_with(source) {
            true => document.range(start..start + source.len()),
            false => document.range(word(&document.text, start)),
        }
    }

    /// Where the definitions of an ambiguous name are.
    fn related(
        &self,
        range: Range,
        finding: &Finding,
        found: &Shared<'_>,
    ) -> Vec<DiagnosticRelatedInformation> {
        let name = match finding.state {
            State::Ambiguous => finding
                .source
                .rsplit(['"', ':'])
                .find(|part| part.starts_with(|c: char| c.is_alphabetic() || c == '_')),
            _ => None,
        };
        let index = found.kernels.iter().next().and_then(|at| self.opened.get(at as usize));
        let (Some(name), Some((_, index))) = (name, index) else { return vec![] };
        let Ok(kernel) = index.lookup() else { return vec![] };
        let functions = kernel.functions(name.as_bytes()).take(MOST_DEFINITIONS);
        let related = functions.map(|function| {
            let Origin { text, location } = origin(kernel.view(), &function, self.settings.source.as_deref());
            let location = location.unwrap_or_else(|| Location { uri: self.uri.clone(), range });
            DiagnosticRelatedInformation { location, message: format!("defined at {text}") }
        });
        related.collect()
    }
}

/// The word at a byte; one character if there is none.
fn word(text: &str, start: usize) -> Bytes<usize> {
    let rest = text.get(start..).unwrap_or_default();
    let marks = rest.len() - rest.trim_start_matches(['$', '@']).len();
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let end = rest[marks..].find(|c| !is_of_word(c)).map_or(rest.len(), |end| marks + end);
    match end {
        0 => start..start + rest.chars().next().filter(|c| *c != '\n').map_or(0, char::len_utf8),
        end => start..start + end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_may_say_guru() {
        for (text, is_guru) in [
            ("#!/usr/bin/stap -g\nprobe x", true),
            ("#! /usr/bin/env stap -vg", true),
            ("#!/usr/bin/stap --all-modules", false),
            ("#!/usr/bin/stap", false),
            ("// stap -g", false),
            ("", false),
        ] {
            assert_eq!(is_run_as_guru(text), is_guru, "{text}");
        }
    }

    #[test]
    fn words() {
        for (text, start, expected) in [
            ("$flags)", 0, "$flags"),
            ("args.prev_pid;", 5, "prev_pid"),
            ("é(", 0, "é"),
            ("+ x", 0, "+"),
            ("\n", 0, ""),
            ("x", 1, ""),
        ] {
            assert_eq!(&text[word(text, start)], expected, "{text}");
        }
    }
}
