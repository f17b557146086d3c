//! What the thing at the cursor is: the command line's own words about it.
use crate::document::{Document, Language};
use crate::expression::{self, Root};
use crate::kernels::{Kernels, Said};
use crate::points;
use crate::scan::{Place, Scan};
use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind};
use probeidx::query::index::kernel_description::KernelDescription;
use probeidx::render::printable;
use serde_json::json;
use std::ops::Range;

/// How many lines are shown.
const MOST: usize = 30;

/// Explains what is at a byte of a script: a probe point with its placements, verdicts and parameters; a value with where it
/// is; a member with its type.
pub fn hover(document: &Document, at: usize, kernels: &Kernels) -> Option<Hover> {
    let scan = Scan::new(&document.text, document.language);
    let (kernel, _) = kernels.newest().ok()?;
    let explain = Explain { kernels, kernel: &kernel };
    let (range, parts) = match scan.place(at) {
        Place::Elsewhere => return None,
        Place::Point(_) => {
            let range = scan.point_at(at)?;
            let spec = points::spec(&scan.text[range.clone()], document.language)?;
            (range, explain.point(&spec, document.language))
        }
        Place::Handler { in_text: true, .. } => return None,
        Place::Handler { points, .. } => {
            let rest = &scan.text[at..];
            let end = at + rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let Place::Handler { body, .. } = scan.place(end) else { return None };
            let text = &scan.text[body.clone()];
            let last = expression::last(text);
            let range = body.start + last.start..body.start + last.end;
            let specs =
                points.into_iter().filter_map(|range| points::spec(&scan.text[range], document.language));
            let said = explain.value(&text[last], text, specs.collect(), document.language)?;
            (range, vec![said])
        }
    };
    shown(document, range, &kernel, &parts)
}

struct Explain<'a> {
    kernels: &'a Kernels,
    kernel: &'a KernelDescription,
}

impl Explain<'_> {
    /// A probe point: each place with its verdicts and parameters; of one with wildcards, what it stands for.
    fn point(&self, spec: &str, language: Language) -> Vec<Said> {
        let ask = |method, params| self.kernels.said(self.kernel, method, params, MOST);
        let mut parts = vec![];
        if language == Language::SystemTap && !spec.contains('(') {
            parts.push(ask("tapset", json!({ "patterns": [spec] })));
        }
        parts.push(match spec.contains(['*', '?']) {
            true => ask("find", json!({ "patterns": [spec] })),
            false => ask("resolve", json!({ "spec": spec })),
        });
        parts
    }

    /// What a handler reads.
    fn value(&self, expression: &str, body: &str, specs: Vec<String>, language: Language) -> Option<Said> {
        let ask = |method, params| Some(self.kernels.said(self.kernel, method, params, MOST));
        match expression::root(expression, body) {
            Some(Root::Type(path)) => ask("type", json!({ "name": path })),
            Some(Root::Argument(path)) if !path.is_empty() => {
                ask("resolve", json!({"spec": specs.first()?, "args": [path]}))
            }
            _ if language == Language::SystemTap && !expression.is_empty() => {
                let name = expression.trim_start_matches('@');
                let of = if expression.starts_with('@') { "macros" } else { "functions" };
                ask("tapset", json!({"patterns": [name], of: true}))
            }
            _ => None,
        }
    }
}

fn shown(
    document: &Document,
    range: Range<usize>,
    kernel: &KernelDescription,
    parts: &[Said],
) -> Option<Hover> {
    let mut text = String::new();
    for Said { lines, is_cut } in parts.iter().filter(|part| !part.lines.is_empty()) {
        let more = if *is_cut { "\n…" } else { "" };
        text.push_str(&format!(
            "```text\n{}{more}\n```\n",
            lines.iter().map(|line| printable(line)).collect::<Vec<_>>().join("\n").replace("```", "` ` `")
        ));
    }
    if text.is_empty() {
        return None;
    }
    text.push_str(&format!("on {}", kernel.id.release));
    let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value: text });
    Some(Hover { contents, range: Some(document.range(range)) })
}
