//! What can stand at the cursor.
use crate::document::{Document, Language};
use crate::expression::{self, Root};
use crate::kernels::Kernels;
use crate::points::{self, KINDS};
use crate::scan::{Place, Scan};
use lsp_types::{CompletionItem, CompletionItemKind, CompletionList, CompletionTextEdit, TextEdit};
use probeidx::Pattern;
use probeidx::bpftrace::ast::Kind;
use probeidx::cli::complete::{Candidate, alias, argument, bounded, member, point};
use probeidx::query::resolve::tracepoint::{self, Tracepoint};
use probeidx::query::spec::{self, TraceSpec};
use probeidx::query::types::stap_spelling::spell;
use probeidx::tapset::Definitions;
use probeidx_format::View;
use std::ops::Range;

/// How many items are sent: of more, those that share their beginning are one.
const MOST: usize = 300;

/// How far aliases are followed, and how many points of each.
const DEEPEST: usize = 4;
const MOST_POINTS: usize = 8;

/// The points of SystemTap scripts that no kernel decides (stapprobes(3stap) of SystemTap 4.8).
const BUILT_IN: [(&str, &str); 8] = [
    ("begin", "when the script starts"),
    ("end", "when the script ends"),
    ("error", "when the script ends by an error"),
    ("never", "not at all"),
    ("timer.s(", "every so many seconds"),
    ("timer.ms(", "every so many milliseconds"),
    ("timer.profile", "a timer on all processors"),
    ("process(\"", "a program"),
];

/// What bpftrace has in handlers, whatever the probe is (bpftrace 0.24, man/adoc/bpftrace.adoc).
const WORDS: [(&str, &str); 18] = [
    ("args", "the arguments by name"),
    ("comm", "the name of the thread"),
    ("count()", "a map that counts"),
    ("cpu", "the processor"),
    ("curtask", "struct task_struct *"),
    ("func", "the name of the function"),
    ("hist(", "a histogram of powers of two"),
    ("kstack", "the stack in the kernel"),
    ("ksym(", "the symbol of an address"),
    ("lhist(", "a linear histogram"),
    ("nsecs", "the time in nanoseconds"),
    ("pid", "the process"),
    ("printf(", "prints"),
    ("probe", "the name of the probe"),
    ("retval", "what the function returns"),
    ("str(", "the text at a pointer"),
    ("sum(", "a map that adds up"),
    ("tid", "the thread"),
];

/// Candidates for what is typed, each with what is typed at its start.
struct Found {
    typed: Range<usize>,
    kind: CompletionItemKind,
    candidates: Vec<Candidate>,
}

/// The completions at a byte of a script.
pub fn completions(document: &Document, at: usize, kernels: &Kernels) -> CompletionList {
    let scan = Scan::new(&document.text, document.language);
    let empty = CompletionList { is_incomplete: false, items: vec![] };
    let Ok((_, index)) = kernels.newest() else { return empty };
    let Ok(view) = index.view() else { return empty };
    let found = match scan.place(at) {
        Place::Elsewhere => return empty,
        Place::Point(point) => of_point(&view, &scan, document.language, point.start..at),
        Place::Handler { in_text: true, .. } => return empty,
        Place::Handler { points, body, .. } => {
            let points = points.into_iter().map(|range| &scan.text[range]).collect();
            let handler = Handler { view: &view, language: document.language, points };
            handler.found(&scan.text[body.clone()], body.start)
        }
    };
    let mut items = vec![];
    let mut is_incomplete = false;
    for Found { typed, kind, candidates } in found {
        let candidates = bounded::bounded(candidates, typed.len());
        is_incomplete |= candidates.iter().any(|candidate| candidate.about == "…") || candidates.len() > MOST;
        let shown = candidates.iter().take(MOST);
        items.extend(shown.filter_map(|candidate| item(document, typed.clone(), kind, candidate)));
    }
    CompletionList { is_incomplete, items }
}

/// An item that replaces the last word of what is typed: what is before it stays, as each editor has its own idea of a word.
fn item(
    document: &Document,
    typed: Range<usize>,
    kind: CompletionItemKind,
    candidate: &Candidate,
) -> Option<CompletionItem> {
    let before = document.text.get(typed.clone())?;
    let word = before
        .rfind(|c: char| !c.is_alphanumeric() && c != '_')
        .map_or(0, |end| end + before[end..].chars().next().map_or(1, char::len_utf8));
    let new = candidate.text.get(word..)?;
    // An editor may have closed what the candidate closes.
    let after = document.text.get(typed.end..)?;
    let closed =
        ["\")", "\"", ")"].into_iter().find(|close| new.ends_with(close) && after.starts_with(close));
    let end = typed.end + closed.map_or(0, str::len);
    let label = new.split('"').next().unwrap_or(new).to_owned();
    let is_group = candidate.about == "…";
    Some(CompletionItem {
        label: if is_group { format!("{label}…") } else { label.clone() },
        kind: Some(if is_group { CompletionItemKind::FOLDER } else { kind }),
        detail: (!candidate.about.is_empty() && !is_group).then(|| candidate.about.clone()),
        filter_text: Some(label),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit {
            range: document.range(typed.start + word..end),
            new_text: new.to_owned(),
        })),
        ..CompletionItem::default()
    })
}

fn of_point(view: &View<'_>, scan: &Scan, language: Language, typed: Range<usize>) -> Vec<Found> {
    let Some(text) = scan.text.get(typed.clone()) else { return vec![] };
    let found = |kind, candidates| vec![Found { typed: typed.clone(), kind, candidates }];
    match language {
        Language::SystemTap => {
            let mut candidates = point::in_scripts(view, text);
            candidates.extend(known(&BUILT_IN, text));
            found(CompletionItemKind::FUNCTION, candidates)
        }
        Language::Bpftrace => {
            let Some((kind, rest)) = points::split(text) else {
                let kinds = KINDS.iter().filter(|(name, _)| name.starts_with(text));
                let mut candidates: Vec<Candidate> =
                    kinds.map(|(name, about)| candidate(format!("{name}:"), about)).collect();
                candidates.extend(known(
                    &[("BEGIN", "when the script starts"), ("END", "when the script ends")],
                    text,
                ));
                return found(CompletionItemKind::KEYWORD, candidates);
            };
            let head = &text[..text.len() - rest.len()];
            let (of, candidates) = match kind {
                Kind::Kprobe | Kind::Kretprobe | Kind::Fentry | Kind::Fexit => {
                    (CompletionItemKind::FUNCTION, point::lines(view, rest))
                }
                Kind::Tracepoint => {
                    let mut candidates = alias::tracepoints(view, rest, true);
                    candidates.retain(|candidate| candidate.text.contains(':'));
                    (CompletionItemKind::EVENT, candidates)
                }
                Kind::RawTracepoint => (CompletionItemKind::EVENT, raw_tracepoints(view, rest)),
                Kind::Iterator => (CompletionItemKind::STRUCT, iterators(view, rest)),
                Kind::User | Kind::Watchpoint | Kind::Always | Kind::Unknown => return vec![],
            };
            let whole = candidates.into_iter().map(|c| Candidate { text: format!("{head}{}", c.text), ..c });
            found(of, whole.collect())
        }
    }
}

fn raw_tracepoints(view: &View<'_>, typed: &str) -> Vec<Candidate> {
    let names = tracepoint::all(view).filter(|event| !event.is_system_call());
    let names = names.filter_map(|event| std::str::from_utf8(event.name()).ok());
    names
        .filter(|name| name.starts_with(typed))
        .map(|name| candidate(name.to_owned(), "tracepoint"))
        .collect()
}

/// Iterators have their contexts in structs of such names (`DEFINE_BPF_ITER_FUNC`, include/linux/bpf.h).
fn iterators(view: &View<'_>, typed: &str) -> Vec<Candidate> {
    const HEAD: &str = "struct bpf_iter__";
    let types = member::types(view, &format!("{HEAD}{typed}")).into_iter();
    types
        .filter_map(|found| {
            Some(candidate(found.text.strip_prefix(HEAD)?.trim_end_matches('.').to_owned(), "iterator"))
        })
        .collect()
}

/// A handler of some probe points.
struct Handler<'a> {
    view: &'a View<'a>,
    language: Language,
    points: Vec<&'a str>,
}

impl Handler<'_> {
    /// The completions behind `body`, which starts at a byte of the script.
    fn found(&self, body: &str, start: usize) -> Vec<Found> {
        let last = expression::last(body);
        let typed = &body[last.clone()];
        let range = start + last.start..start + last.end;
        let found = |kind, candidates| Found { typed: range.clone(), kind, candidates };
        if let Some((before, _)) = member::split(typed) {
            return vec![found(CompletionItemKind::FIELD, self.members(body, before, typed))];
        }
        match self.language {
            Language::SystemTap if typed.starts_with('$') => {
                vec![found(CompletionItemKind::VARIABLE, self.variables(typed))]
            }
            Language::SystemTap if typed.starts_with('@') => {
                let macros = alias::definitions(self.view, &typed[1..], true).into_iter();
                let macros = macros.map(|c| Candidate { text: format!("@{}", c.text), ..c });
                vec![found(CompletionItemKind::FUNCTION, macros.collect())]
            }
            Language::SystemTap if !typed.is_empty() => {
                vec![found(CompletionItemKind::FUNCTION, alias::definitions(self.view, typed, false))]
            }
            Language::Bpftrace if !typed.starts_with(['$', '@']) => {
                vec![found(CompletionItemKind::KEYWORD, known(&WORDS, typed))]
            }
            _ => vec![],
        }
    }

    /// The members at the last step of `typed`, which has `before` ahead of it.
    fn members(&self, body: &str, before: &str, typed: &str) -> Vec<Candidate> {
        let step = &typed[before.len()..];
        match (self.language, expression::root(before, body)) {
            (Language::Bpftrace, Some(Root::Argument(path))) if path.is_empty() => {
                let name = bare(step);
                let mark = &step[..step.len() - name.len()];
                self.arguments(name, &format!("{before}{mark}"))
            }
            (_, Some(root)) => replaced(self.of_root(&root, step), step, before),
            (_, None) => vec![],
        }
    }

    /// The members behind a path, at a step like `->na`. A path of the library has to tell `.` and `->` apart: bpftrace and
    /// SystemTap do not.
    fn of_root(&self, root: &Root, step: &str) -> Vec<Candidate> {
        let asked = |path: &str| match root {
            Root::Type(_) => member::types(self.view, path),
            Root::Argument(_) => self.variables(path),
        };
        let (Root::Type(written) | Root::Argument(written)) = root;
        let mut names = written.split(['.', '>']).map(|name| name.trim_end_matches('-'));
        let mut path = names.next().unwrap_or_default().to_owned();
        for name in names.chain([bare(step)]) {
            let marks = [".", "->"];
            let Some(mark) = marks.into_iter().find(|mark| !asked(&format!("{path}{mark}")).is_empty())
            else {
                return vec![];
            };
            path.push_str(mark);
            path.push_str(name);
        }
        asked(&path)
    }

    /// What SystemTap and the command line read at the points: `$file->f_path`.
    fn variables(&self, typed: &str) -> Vec<Candidate> {
        let written = self.points.iter().filter_map(|point| points::spec(point, self.language));
        let written = written.flat_map(|point| self.without_aliases(point, DEEPEST));
        let specs: Vec<_> = written.filter_map(|written| spec::parse(&written).ok()).flatten().collect();
        argument::arguments(self.view, &specs, typed)
    }

    /// The points that an alias of a tapset stands for, through others.
    fn without_aliases(&self, point: String, deepest: usize) -> Vec<String> {
        let is_alias = self.language == Language::SystemTap && !point.contains('(');
        let Some(deepest) = deepest.checked_sub(1).filter(|_| is_alias) else { return vec![point] };
        let Ok(definitions) = Definitions::of_index(self.view) else { return vec![] };
        let points = definitions.alias(&point).flat_map(|alias| &alias.points).take(MOST_POINTS);
        let points = points.filter_map(|point| points::spec(&point.to_string(), self.language));
        points.flat_map(|point| self.without_aliases(point, deepest)).collect()
    }

    /// `args.x` of bpftrace: the parameters of the functions, the fields of the events.
    fn arguments(&self, typed: &str, head: &str) -> Vec<Candidate> {
        let mut found: Vec<Candidate> = vec![];
        let mut add = |name: &[u8], about: String| {
            if let Ok(name) = std::str::from_utf8(name)
                && name.starts_with(typed)
                && !name.is_empty()
            {
                found.push(candidate(format!("{head}{name}"), &about));
            }
        };
        for (kind, rest) in self.points.iter().filter_map(|point| points::split(point)) {
            match kind {
                Kind::Fentry | Kind::Fexit => {
                    let name = rest.rsplit(':').next().unwrap_or_default();
                    let kernel = probeidx::Lookup::new(*self.view);
                    for place in
                        kernel.functions(name.as_bytes()).filter_map(|function| function.placements().next())
                    {
                        for variable in place.variables().filter(|variable| variable.is_parameter()) {
                            add(variable.name(), variable.type_of().map_or(String::new(), |of| of.spelled()));
                        }
                    }
                }
                Kind::Tracepoint => {
                    for event in self.events(rest) {
                        for field in event.fields().into_iter().flat_map(|fields| fields.iter()) {
                            let about =
                                String::from_utf8_lossy(self.view.string(field.type_name)).into_owned();
                            add(self.view.string(field.name), about);
                        }
                    }
                }
                Kind::RawTracepoint => {
                    let name = rest.rsplit(':').next().unwrap_or_default();
                    for event in tracepoint::named(self.view, name.as_bytes()) {
                        for parameter in event.parameters() {
                            let about = parameter.type_id.and_then(|id| spell(self.view, id));
                            add(self.view.string(parameter.name), about.unwrap_or_default());
                        }
                    }
                }
                _ => {}
            }
        }
        found
    }

    fn events(&self, written: &str) -> Vec<Tracepoint<'_>> {
        let Some((system, event)) = written.split_once(':') else { return vec![] };
        let (Ok(system), Ok(event)) = (Pattern::new(system), Pattern::new(event)) else { return vec![] };
        tracepoint::matching(
            self.view,
            &TraceSpec { system: Some(system), event, with_system_calls: true, by_number: None },
        )
        .collect()
    }
}

/// Candidates of another path with the last step as it is typed.
fn replaced(found: Vec<Candidate>, step: &str, before: &str) -> Vec<Candidate> {
    let mark = &step[..step.len() - bare(step).len()];
    let members = found.into_iter().filter_map(|c| {
        let (_, member) = member::split(c.text.trim_end_matches(['.', '-', '>']))?;
        Some(Candidate { text: format!("{before}{mark}{member}"), ..c })
    });
    members.collect()
}

/// The name at a step.
fn bare(step: &str) -> &str {
    step.trim_start_matches(['.', '-', '>'])
}

fn known(words: &[(&str, &str)], typed: &str) -> Vec<Candidate> {
    words
        .iter()
        .filter(|(word, _)| word.starts_with(typed))
        .map(|(word, about)| candidate((*word).to_owned(), about))
        .collect()
}

fn candidate(text: String, about: &str) -> Candidate {
    Candidate { text, about: about.to_owned(), goes_on: false }
}
