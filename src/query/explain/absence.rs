//! Why an existing name is not among the answers.
use crate::pattern::Pattern;
use crate::query::index::functions::{self, Placed, Scope};
use crate::query::index::{symbols, user_object};
use crate::query::spec::{Filter, ModuleScope};
use crate::query::verdict::Judge;
use crate::query::verdict::reason::Reason;
use crate::query::verdict::stap_blocklist;
use crate::tapset::Version;
use probeidx_format::View;
use probeidx_format::id::{FunctionId, NameId, ObjectId};

/// The reason; the first one that applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absence {
    /// It names a symbol, but no function with debug information.
    SymbolOnly,
    /// The compiler merged it with an identical function, and left a jump.
    Merged,
    /// The compiler kept no code for it.
    NoCode,
    /// It runs in these objects (vmlinux is empty), not in the requested ones.
    InOthers(Vec<String>),
    /// SystemTap's blocklist has the function's name or file.
    Refused,
    /// All its code is in a section that is discarded once the kernel runs.
    Discarded(String),
    /// It is only inlined, at this many addresses, but only entries were requested.
    OnlyInline(usize),
    /// It is never inlined, but only inline instances were requested.
    NeverInline,
    /// It exists only in these files, not in the requested ones.
    InOtherFiles(Vec<String>),
}

/// Why no placement of this name was listed. Cost: linear in its placements.
pub fn absence(
    view: &View<'_>,
    name: NameId,
    scope: &ModuleScope,
    file: Option<&Pattern>,
    filter: Filter,
) -> Absence {
    let text = view.names.get(name.index()).map_or(&[][..], |n| view.string(n.name));
    let functions = view.functions_named(name);
    if functions.is_empty() {
        return Absence::SymbolOnly;
    }
    let placed: Vec<(ObjectId, Placed)> = functions
        .flat_map(|f| view.places_of_function(FunctionId::new(f as u32)))
        .filter_map(|id| {
            Some((view.object_of_place(id), Placed { id, record: view.places.get(id.index())? }))
        })
        .collect();
    if placed.is_empty() {
        let symbols = view.symbols_named(name).iter().filter_map(|s| functions::symbol(view, s));
        return if symbols.into_iter().any(|s| s.is_function()) { Absence::Merged } else { Absence::NoCode };
    }
    let asked = Scope::new(view, scope);
    let own: Vec<_> = placed.iter().filter(|(object, _)| asked.contains(*object)).collect();
    if own.is_empty() {
        let mut names: Vec<String> = placed
            .iter()
            .filter_map(|(object, _)| view.objects.get(object.index()))
            .map(|o| String::from_utf8_lossy(view.string(o.name)).into_owned())
            .collect();
        names.dedup();
        return Absence::InOthers(names);
    }
    let declarations = functions::declarations(view, name, file);
    if declarations.is_empty() {
        let all = functions::declarations(view, name, None);
        return Absence::InOtherFiles(
            all.iter().map(|d| String::from_utf8_lossy(view.string(d.file)).into_owned()).collect(),
        );
    }
    let is_meant =
        |placed: &Placed| declarations.iter().any(|d| d.functions().any(|f| f == placed.record.function));
    let own: Vec<_> = own.into_iter().filter(|(_, placed)| is_meant(placed)).collect();
    let Some((object, first)) = own.first() else { return Absence::NoCode };
    let files = || declarations.iter().map(|d| view.string(d.file));
    let is_blocked = match user_object::path(view) {
        Some(_) => filter == Filter::Return && stap_blocklist::return_in_process(text),
        None => {
            let version = || Version::of(view);
            stap_blocklist::function(text, view.machine(), version)
                || files().all(|file| stap_blocklist::file(file, version))
                || (filter == Filter::Return && stap_blocklist::return_of(text))
        }
    };
    if is_blocked {
        return Absence::Refused;
    }
    let section = |object, placed: &Placed| symbols::section(view, object, placed.record.entry.get());
    let judge = Judge::new(view);
    let is_gone = |object, placed: &Placed| {
        judge.kprobe(object, placed.record.entry.get()).reason().is_some_and(|r| r < Reason::DeadCode)
    };
    if own.iter().all(|(object, placed)| is_gone(*object, placed)) {
        let name = section(*object, first).map_or(&[][..], |s| view.string(s.name));
        return Absence::Discarded(String::from_utf8_lossy(name).into_owned());
    }
    let inline = own.iter().filter(|(_, placed)| placed.is_inline(view)).count();
    match filter {
        Filter::Call | Filter::Return | Filter::Exported if inline == own.len() => {
            Absence::OnlyInline(inline)
        }
        Filter::Inline if inline == 0 => Absence::NeverInline,
        _ => Absence::InOtherFiles(files().map(|f| String::from_utf8_lossy(f).into_owned()).collect()),
    }
}
