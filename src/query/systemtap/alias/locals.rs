//! The locals that the aliases of a probe provide to its handler.
use crate::query::systemtap::derive::{Derived, HandlerContext};
use crate::tapset::ast::{ExpressionKind, Root, Statement, Step, Variable};
use crate::tapset::context::Context;
use crate::tapset::handler::{self, Finding, Sort, Words};
use std::rc::Rc;

/// The locals of a probe's handler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Locals {
    /// The locals, in the order SystemTap declares them.
    pub own: Vec<Local>,
    /// Locals that SystemTap declares before them for itself: a tracepoint's parameter, the thread of a saved value.
    pub hidden: Vec<String>,
    /// For a return probe that needs a second probe at the entry to save values: how they are saved.
    pub saves: Option<Saved>,
}

/// How values are saved at the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    /// In arrays by thread, as for `@entry`: both handlers have a local for the thread.
    ByThread,
    /// In the probe itself, as for a plain `$variable`.
    WithProbe,
}

/// A local.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// The name in handlers.
    pub name: String,
    /// `long`, `string`, `stats`, or `unknown`.
    pub kind: &'static str,
    /// Why it cannot be used, if so.
    pub broken: Option<Broken>,
    /// The kernel variable that it is a plain copy of: `$vma->vm_mm`.
    pub copy_of: Option<String>,
}

/// Why a local cannot be used; SystemTap rejects scripts that use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The missing part of the kernel variable: `$bytes_req`.
    pub variable: String,
    /// The reason, in lower case and without a full stop.
    pub why: String,
    /// Replacements to suggest, the likeliest first.
    pub instead: Vec<String>,
}

/// SystemTap's own local for the thread.
const THREAD: &str = "_entry_tvar_tid";

/// Finds the locals of a probe, without what is wrong with them. Cost: linear in the parts of its handler and the kernel
/// variables in them.
pub fn read(words: &Words<'_>, derived: &Derived<'_>) -> Locals {
    let parts = derived.handler(None);
    if parts.is_empty() {
        return Locals::default();
    }
    let here = derived.here().without_reasons();
    let (locals, saves) = handler::locals(words, &parts, &here);
    of(&locals, &[], saves, &here)
}

/// Like [`read`], but also finds which locals are broken, and which are copies of kernel variables.
pub fn read_copies(words: &Words<'_>, derived: &Derived<'_>) -> Locals {
    let parts = derived.handler(None);
    if parts.is_empty() {
        return Locals::default();
    }
    let here = Rc::new(derived.here());
    let reading = handler::read(words, &parts, here.clone());
    let mut locals = of(&reading.locals, &reading.findings, reading.saves, &here);
    locals.own.iter_mut().for_each(|local| local.copy_of = copied(&parts, &local.name, &here));
    locals
}

fn of(locals: &[handler::Local<'_>], findings: &[Finding], saves: bool, here: &HandlerContext<'_>) -> Locals {
    let local = |local: &handler::Local<'_>| {
        let broken = local.broken.map(|at| &findings[at]).map(|finding| Broken {
            variable: finding.what.clone(),
            why: finding.why.clone(),
            instead: finding.instead.clone(),
        });
        let kind = match local.sort {
            Sort::Long => "long",
            Sort::String => "string",
            Sort::Statistics => "stats",
            Sort::Unknown => "unknown",
        };
        Local { name: local.name.to_owned(), kind, broken, copy_of: None }
    };
    let own = locals.iter().map(local).collect();
    let parameters = here.parameters();
    let mut hidden: Vec<_> =
        parameters.iter().map(|p| format!("__tracepoint_arg_{}:long", String::from_utf8_lossy(p))).collect();
    let saves = match (saves, here.saves_at_entry()) {
        (true, _) => Some(Saved::ByThread),
        (false, true) => Some(Saved::WithProbe),
        (false, false) => None,
    };
    if saves == Some(Saved::ByThread) {
        hidden.push(format!("{THREAD}:long"));
    }
    Locals { own, hidden, saves }
}

/// The kernel variable that is the only value a local gets, if it can be read here.
fn copied(parts: &[&Statement], local: &str, here: &HandlerContext<'_>) -> Option<String> {
    let mut copies = vec![];
    for part in parts {
        part.each_expression(&mut |e| {
            if let ExpressionKind::Binary { operator: "=", left, right } = &e.kind
                && matches!(&left.kind, ExpressionKind::Symbol(name) if name == local)
            {
                copies.push(right);
            }
        });
    }
    let [value] = &copies[..] else { return None };
    let variable = decided(&value.kind, here)?;
    let is_plain = matches!(&variable.root, Root::Context(name) if !name.starts_with("$$"))
        && variable.path.iter().all(|s| matches!(s, Step::Member(_) | Step::Index(_)))
        && here.variable(variable, None).is_ok();
    is_plain.then(|| variable.to_string())
}

/// The variable that a value evaluates to once `@defined` is decided.
fn decided<'e>(value: &'e ExpressionKind, here: &HandlerContext<'_>) -> Option<&'e Variable> {
    match value {
        ExpressionKind::Variable(variable) => Some(variable),
        ExpressionKind::Ternary { condition, then, otherwise } => {
            let ExpressionKind::Defined(of) = &condition.kind else { return None };
            let ExpressionKind::Variable(asked) = &of.kind else { return None };
            let taken = if here.variable(asked, None).is_ok() { then } else { otherwise };
            decided(&taken.kind, here)
        }
        _ => None,
    }
}
