//! What a name means to the kernel: the symbols that have it, and why there is none.
use super::super::outcome::{Finding, Severity, State};
use super::{Attacher, errno, similar};
use crate::query::index::functions::{self, Declaration, Placed, Scope};
use crate::query::index::symbols;
use crate::query::spec::ModuleScope;
use crate::query::verdict::coverage;
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use probeidx_format::record::SymbolRecord;
use std::collections::BTreeSet;

/// The code that has a name.
pub(super) struct Named<'t, 'a, 'n> {
    attacher: &'t Attacher<'a>,
    view: &'a View<'a>,
    module: Option<&'n [u8]>,
    pub name: &'n [u8],
    /// Where a symbol of this name starts: all of vmlinux, or else of modules.
    pub symbols: Vec<(ObjectId, SymbolRecord)>,
    /// The modules that have such a symbol too, if vmlinux has one.
    collisions: Vec<ObjectId>,
}

impl<'t, 'a, 'n> Named<'t, 'a, 'n> {
    /// Looks for the symbols of a name: of one module, or of all objects. Cost: linear in the symbols of that name.
    pub fn find(attacher: &'t Attacher<'a>, module: Option<&'n [u8]>, name: &'n [u8]) -> Self {
        let view = attacher.view;
        let mut symbols: Vec<_> = symbols::code_named(view, module, name).collect();
        let kernel = functions::kernel(view);
        let of_kernel = symbols.iter().filter(|(object, _)| Some(*object) == kernel).count();
        let mut collisions = vec![];
        if of_kernel > 0 && of_kernel < symbols.len() {
            let others = symbols.iter().map(|(object, _)| *object).filter(|object| Some(*object) != kernel);
            collisions = others.collect::<BTreeSet<_>>().into_iter().collect();
            symbols.retain(|(object, _)| Some(*object) == kernel);
        }
        Self { attacher, view, module, name, symbols, collisions }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(self.name).into_owned()
    }

    /// Several functions have the name.
    pub fn ambiguous(&self) -> Finding {
        let count = self.symbols.len();
        let (end, errno) = match self.attacher.refuses_ambiguous {
            true => ("the kernel takes none", Some(errno::KPROBE_AMBIGUOUS)),
            false => ("the kernel takes one of them without a word", None),
        };
        let found =
            Finding::new(State::Ambiguous, self.text(), format!("{count} functions have the name: {end}"));
        found.instead(self.anchors()).errno(errno)
    }

    /// The kernel may put a probe by this name at the function behind it.
    pub fn taken_for_the_next(&self) -> Option<Finding> {
        let (object, symbol) = *self.symbols.first()?;
        let reason = "a probe by this name may land at the function behind it";
        symbols::is_taken_for_the_next(self.view, object, symbol)
            .then(|| Finding::new(State::Ambiguous, self.text(), reason).instead(self.anchors()))
    }

    /// Anchors that denote one of the functions each, up to four: a neighbour with a name of its own, and an offset.
    fn anchors(&self) -> Vec<String> {
        let anchors = self.symbols.iter().filter_map(|(object, symbol)| {
            let pc = symbol.pc.get();
            let shift = self.attacher.judge.verdicts(*object, pc, false).shift;
            let anchor = symbols::anchor(self.view, *object, pc.saturating_add(shift))?;
            anchor.is_definable().then(|| anchor.to_string())
        });
        anchors.take(4).collect()
    }

    /// Of which module it is, and which modules it collides with.
    pub fn module(&self) -> Option<Finding> {
        if let Some(first) = self.collisions.first() {
            let name = String::from_utf8_lossy(self.attacher.module_name(*first));
            let more = self.collisions.len() - 1;
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let reason = format!(
                "module {name}{more} has a function of this name too: it is ambiguous once that is loaded"
            );
            return Some(Finding::new(State::Ambiguous, self.text(), reason).severity(Severity::Note));
        }
        let (object, _) = self.symbols.first()?;
        let is_kernel = functions::kernel(self.view) == Some(*object);
        (!is_kernel).then(|| Finding::in_module(self.text(), self.attacher.module_name(*object)))
    }

    /// Why no symbol has the name: another one has the code, all of it is inlined, or there is no such function.
    pub fn missing(&self, errno: Option<&'static str>) -> Vec<Finding> {
        let view = self.view;
        let with = |finding: Finding| finding.errno(errno);
        if let Some(module) = self.module.filter(|m| *m != b"vmlinux" && functions::module(view, m).is_none())
        {
            let reason = format!("no module {} is indexed", String::from_utf8_lossy(module));
            return vec![with(Finding::new(State::Module, self.text(), reason))];
        }
        let (mut renamed, mut copies, mut callers) = (BTreeSet::new(), 0, BTreeSet::new());
        for declaration in self.declarations() {
            self.each_place(&declaration, |object, place| match place.outer(view) {
                Some(_) => {
                    copies += 1;
                    let root = functions::root(view, place);
                    callers.extend(functions::function(view, root.record).map(|f| view.string(f.name)));
                }
                None => {
                    let held = symbols::holding(view, object, place.record.entry.get());
                    renamed.extend(
                        held.filter(|held| held.offset == 0).map(|held| view.string(held.record.name)),
                    );
                }
            });
        }
        let lossy = |text: &&[u8]| String::from_utf8_lossy(text).into_owned();
        if !renamed.is_empty() {
            let names: Vec<String> = renamed.iter().map(lossy).collect();
            let reason =
                format!("the compiler named its code {}; its parameters may have moved", names.join(", "));
            return vec![with(Finding::new(State::Renamed, self.text(), reason).instead(names))];
        }
        if copies > 0 {
            let callers: Vec<String> = callers.iter().take(3).map(lossy).collect();
            let reason = format!("it is inlined everywhere: {copies} copies, as in {}", callers.join(", "));
            let instead = [format!("see probeidx resolve {}", self.text())];
            return vec![with(Finding::new(State::Inlined, self.text(), reason).instead(instead))];
        }
        let near = similar(view, self.name);
        vec![with(Finding::new(State::Absent, self.text(), "the kernel has no such function").instead(near))]
    }

    /// The inlined copies that a probe at the entry does not see.
    pub fn partial(&self) -> Option<Finding> {
        let view = self.view;
        let (object, symbol) = *self.symbols.first()?;
        let (mut copies, mut callers, mut calls) = (BTreeSet::new(), BTreeSet::new(), 0);
        let own = functions::entry_at(view, object, symbol.pc.get())?.record.function;
        for declaration in self.declarations().into_iter().filter(|d| d.functions().any(|f| f == own)) {
            self.each_place(&declaration, |object, place| {
                if let Some(outer) = place.outer(view)
                    && !coverage::is_nested(view, place)
                {
                    copies.insert((object, place.record.entry.get()));
                    callers.insert(outer.record.function);
                }
            });
            calls += declaration.functions().map(|function| view.calls(function).count()).sum::<usize>();
        }
        if copies.is_empty() {
            return None;
        }
        let seen = match view.has_calls() {
            true => format!("; it sees {calls} direct calls"),
            false => String::new(),
        };
        let (copies, callers) = (copies.len(), callers.len());
        let reason = format!("it misses {copies} inlined copies in {callers} functions{seen}");
        Some(
            Finding::new(State::Partial, self.text(), reason)
                .instead([format!("see probeidx callers {}", self.text())]),
        )
    }

    fn declarations(&self) -> Vec<Declaration> {
        self.view.name(self.name).map_or(vec![], |name| functions::declarations(self.view, name, None))
    }

    /// Calls `each` with every placement of a declaration whose code runs.
    fn each_place(&self, declaration: &Declaration, mut each: impl FnMut(ObjectId, Placed)) {
        let view = self.view;
        let scope = Scope::new(view, &ModuleScope::Any);
        functions::places(view, declaration, &scope, &mut vec![], |object, places| {
            for place in places {
                if self.attacher.judge.is_running(object, place.record.entry.get()) {
                    each(object, *place);
                }
            }
        });
    }
}
