//! Facts of functions.
use super::fact::{About, Value, What};
use super::text;
use crate::pattern::Pattern;
use crate::query::callers::{Callee, Counts, Finder};
use crate::query::index::functions::{self, Declaration, Placed, Scope};
use crate::query::index::provenance::{self, Provenance};
use crate::query::index::symbols;
use crate::query::spec::{FunctionSpec, ModuleScope};
use crate::query::types::c_declaration::Prototype;
use crate::query::value::State;
use crate::query::value::fetch_arg::without_addresses;
use crate::query::value::place::Place;
use crate::query::value::reader::Values;
use crate::query::verdict::{Judge, Verdicts, coverage};
use probeidx_format::View;
use probeidx_format::id::{NameId, ObjectId};
use probeidx_format::record::SymbolRecord;
use std::collections::{BTreeMap, BTreeSet};

/// The most copies that are judged, and the most entries whose parameters are read. All of a function nearly always
/// agree.
const MOST_JUDGED: usize = 4096;
const MOST_READ: usize = 16;

/// The functions of a name, file by file. Cost: linear in their placements.
pub(super) fn facts(view: &View<'_>, asked: &FunctionSpec) -> Vec<About> {
    let Pattern::Literal(spelled) = &asked.declared.name else { return vec![] };
    let scope = Scope::new(view, &asked.module);
    let shown = match &asked.module {
        ModuleScope::Module(module) => format!("{module}:{spelled}"),
        _ => spelled.clone(),
    };
    let asked_as = match &asked.declared.file {
        Some(file) => format!("{shown}@{file}"),
        None => shown.clone(),
    };
    // Of what only symbols of clones describe, the file is not known.
    let of_clones = |shown: &str| {
        let clones: Vec<NameId> = functions::clones(view, spelled.as_bytes()).collect();
        let is_asked = asked.declared.file.is_none() && !clones.is_empty();
        is_asked.then(|| by_symbols(view, &Judge::new(view), shown, &clones, &scope, false)).flatten()
    };
    let Some(name) = view.name(spelled.as_bytes()) else { return of_clones(&shown).into_iter().collect() };
    let (judge, values) = (Judge::new(view), Values::new(view));
    let finder = Finder::new(view, false);
    let mut reader = Reader { view, judge, values, finder, name, spelled, shown, found: vec![] };
    let mut files: BTreeMap<&[u8], Function> = BTreeMap::new();
    for declaration in functions::declarations(view, name, asked.declared.file.as_ref()) {
        let function = reader.placed(&declaration, &scope);
        if !function.entries.is_empty() || !function.copies.is_empty() {
            files.entry(view.string(declaration.file)).or_default().extend(function);
        }
    }
    let mut abouts: Vec<About> =
        files.iter().map(|(file, function)| reader.described(&text(file), function, &scope)).collect();
    // Of assembly, there may be no debug information although a header declares the function.
    if asked.declared.file.is_none() && files.values().all(|function| function.entries.is_empty()) {
        let symbols = [reader.name];
        abouts.extend(by_symbols(view, &reader.judge, &reader.shown, &symbols, &scope, !files.is_empty()));
    }
    if abouts.is_empty() {
        abouts.extend(of_clones(&reader.shown));
    } else {
        abouts.iter_mut().for_each(|about| about.name.clone_from(&asked_as));
        abouts.insert(0, About::whole(&asked_as, vec![(What::Duplicates, reader.duplicates())]));
    }
    abouts
}

struct Reader<'a, 's> {
    view: &'a View<'a>,
    judge: Judge<'a, 'static>,
    values: Values<'a>,
    finder: Finder<'a>,
    name: NameId,
    spelled: &'s str,
    /// The name, with the module that was asked.
    shown: String,
    found: Vec<Placed>,
}

/// The functions of a name that one file declares, which is one unless the preprocessor made several.
#[derive(Default)]
struct Function {
    declarations: Vec<Declaration>,
    /// Where it has code of its own, vmlinux first.
    entries: Vec<(ObjectId, Placed)>,
    /// Where it is inlined.
    copies: Vec<(ObjectId, Placed)>,
}

impl Function {
    fn extend(&mut self, other: Self) {
        self.declarations.extend(other.declarations);
        self.entries.extend(other.entries);
        self.copies.extend(other.copies);
    }
}

impl Reader<'_, '_> {
    /// The placements of a declaration. One that lies within another of the same function is left out.
    fn placed(&mut self, declaration: &Declaration, scope: &Scope) -> Function {
        let view = self.view;
        let mut function = Function { declarations: vec![*declaration], ..Function::default() };
        functions::places(view, declaration, scope, &mut self.found, |object, places| {
            for place in places.iter().filter(|place| !coverage::is_nested(view, **place)) {
                match place.is_inline(view) {
                    true => function.copies.push((object, *place)),
                    false => function.entries.push((object, *place)),
                }
            }
        });
        function
    }

    fn described(&mut self, file: &str, function: &Function, scope: &Scope) -> About {
        let view = self.view;
        let first = function.entries.first().or(function.copies.first());
        let is_whole =
            first.is_none_or(|(object, _)| provenance::of_object(view, *object) == Provenance::Dwarf);
        let known = |value: Value| if is_whole { value } else { Value::Unknown };
        let prototypes = function.declarations.iter().map(|d| self.prototype(d)).collect();
        let declared =
            function.declarations.iter().map(|d| Value::Place { file: file.to_owned(), line: d.line });
        let declared = Value::of_several(declared.collect());
        let inlined = match (function.entries.is_empty(), function.copies.is_empty()) {
            (_, true) => "not",
            (true, false) => "fully",
            (false, false) => "in part",
        };
        let [called_by, calls, copies] = self.reached(function, scope);
        let facts = vec![
            (What::Prototype, Value::of_several(prototypes)),
            (What::Declared, known(declared)),
            (What::Inlined, known(Value::Word(inlined.to_owned()))),
            (What::InlinedInto, known(self.callers(&function.copies))),
            (What::CalledBy, called_by),
            (What::Calls, calls),
            (What::Copies, known(copies)),
            (What::Symbols, self.symbols(function)),
            (What::Attach, self.attach(function)),
            (What::Parameters, self.parameters(&function.entries)),
            (What::Module, modules(view, function.entries.iter().map(|(object, _)| *object))),
        ];
        About::in_file(&self.shown, file, facts)
    }

    fn prototype(&self, declaration: &Declaration) -> Value {
        let record = declaration.functions().next().and_then(|id| self.view.functions.get(id.index()));
        let prototype = record.and_then(|record| Prototype::of(self.view, record));
        prototype.map_or(Value::Unknown, |known| Value::Word(known.declaration(self.view, self.spelled)))
    }

    /// The functions that it is inlined into and that run.
    fn callers(&self, copies: &[(ObjectId, Placed)]) -> Value {
        let view = self.view;
        let running =
            copies.iter().filter(|(object, p)| self.judge.is_running(*object, p.record.entry.get()));
        let names: BTreeSet<&[u8]> = running
            .filter_map(|(_, place)| {
                Some(view.string(functions::function(view, place.outer(view)?.record)?.name))
            })
            .collect();
        list(names.into_iter().map(text))
    }

    /// Who calls it, how many calls that are, and how many copies there are beside: in code of a running kernel.
    fn reached(&mut self, function: &Function, scope: &Scope) -> [Value; 3] {
        let found: Vec<Callee<'_>> =
            function.declarations.iter().filter_map(|d| self.finder.of(*d, scope)).collect();
        let names: BTreeSet<&[u8]> = found.iter().flat_map(Callee::called_by).collect();
        let counts: Vec<Counts> = found.iter().map(Callee::counts).collect();
        let sum = |count: fn(&Counts) -> u32| Value::Number(counts.iter().map(|c| u64::from(count(c))).sum());
        let direct = match self.view.has_calls() {
            true => [list(names.into_iter().map(text)), sum(|counts| counts.calls)],
            false => [Value::Unknown, Value::Unknown],
        };
        let [called_by, calls] = direct;
        [called_by, calls, sum(|counts| counts.copies)]
    }

    /// The symbols of its code: at its entries, and of the parts that the compiler split off.
    fn symbols(&self, function: &Function) -> Value {
        let view = self.view;
        let mut names: BTreeSet<&[u8]> = BTreeSet::new();
        for (object, place) in &function.entries {
            let held = symbols::holding(view, *object, place.record.entry.get());
            names.extend(held.filter(|held| held.offset == 0).map(|held| view.string(held.record.name)));
        }
        let own: BTreeSet<u32> = function.entries.iter().map(|(_, place)| place.id.get()).collect();
        let prefix = format!("{}.", self.spelled);
        for at in functions::names_starting(view, prefix.as_bytes()) {
            let id = NameId::new(at as u32);
            let is_own = view.symbols_named(id).iter().any(|symbol| {
                let object = view.object_of_symbol(symbol);
                functions::symbol(view, symbol).is_some_and(|s| {
                    let holder =
                        s.is_function().then(|| functions::holding(view, object, s.pc.get())).flatten();
                    holder.is_some_and(|place| own.contains(&functions::root(view, place).id.get()))
                })
            });
            if is_own {
                names.insert(view.string(view.names.at(at).name));
            }
        }
        list(names.into_iter().map(text))
    }

    /// The verdict of each mechanism on its entries, or on its copies if it has no entry.
    fn attach(&self, function: &Function) -> Value {
        let judged = |(object, place): &(ObjectId, Placed)| {
            self.judge.verdicts(*object, place.record.entry.get(), place.is_inline(self.view))
        };
        let places = if function.entries.is_empty() { &function.copies } else { &function.entries };
        verdicts(places.iter().take(MOST_JUDGED).map(judged))
    }

    /// Where the parameters are at its entries.
    fn parameters(&mut self, entries: &[(ObjectId, Placed)]) -> Value {
        let read = entries.iter().take(MOST_READ).map(|(object, placed)| {
            let pc = placed.record.entry.get();
            let place = Place { object: *object, placed: *placed, pc, at_return: false, with_lines: false };
            let values = self.values.variables(place, false).into_iter();
            let located = values.map(|v| {
                let state = v.state.name().to_owned();
                let location = match (v.state, v.location) {
                    (State::Readable | State::Constant, Some(location)) => location,
                    (State::Unsupported, Some(why)) => format!("{state}: {}", without_addresses(&why)),
                    _ => state,
                };
                (v.name, location)
            });
            let located: Vec<_> = located.collect();
            if located.is_empty() { Value::None } else { Value::Named(located) }
        });
        match entries.is_empty() {
            true => Value::Word("no entry".to_owned()),
            false => Value::of_several(read.collect()),
        }
    }

    /// The out-of-line functions of the name in all objects, if there are several.
    fn duplicates(&mut self) -> Value {
        let view = self.view;
        let scope = Scope::new(view, &ModuleScope::Any);
        let mut homes: BTreeMap<&[u8], Vec<String>> = BTreeMap::new();
        for declaration in functions::declarations(view, self.name, None) {
            for (object, _) in self.placed(&declaration, &scope).entries {
                homes.entry(view.string(declaration.file)).or_default().push(object_name(view, object));
            }
        }
        match homes.values().map(Vec::len).sum() {
            0 | 1 => Value::None,
            _ => Value::Homes(homes.into_iter().map(|(file, objects)| (text(file), objects)).collect()),
        }
    }
}

/// A function that only symbols of these names describe: assembly or, unless these do not count, a clone that was named as such.
fn by_symbols(
    view: &View<'_>,
    judge: &Judge<'_, '_>,
    shown: &str,
    names: &[NameId],
    scope: &Scope,
    without_clones: bool,
) -> Option<About> {
    let symbols = names.iter().flat_map(|name| view.symbols_named(*name).iter().map(move |id| (*name, id)));
    let entries: Vec<(NameId, ObjectId, SymbolRecord)> = symbols
        .filter_map(|(name, id)| {
            let (object, symbol) = (view.object_of_symbol(id), functions::symbol(view, id)?);
            let is_one = scope.contains(object) && symbol.is_function() && symbol.has(SymbolRecord::KEPT);
            let is_clone = symbol.has(SymbolRecord::DESCRIBED);
            (is_one && !(without_clones && is_clone)).then_some((name, object, symbol))
        })
        .collect();
    entries.first()?;
    let spelled: BTreeSet<&[u8]> =
        entries.iter().map(|(name, ..)| view.string(view.names.at(name.index()).name)).collect();
    let judged = entries.iter().map(|(_, object, s)| judge.verdicts(*object, s.pc.get(), false));
    let facts = vec![
        (What::Prototype, Value::Unknown),
        (What::Declared, Value::Unknown),
        (What::Inlined, Value::Unknown),
        (What::InlinedInto, Value::Unknown),
        (What::CalledBy, Value::Unknown),
        (What::Calls, Value::Unknown),
        (What::Copies, Value::Unknown),
        (What::Symbols, list(spelled.into_iter().map(text))),
        (What::Attach, verdicts(judged)),
        (What::Parameters, Value::Unknown),
        (What::Module, modules(view, entries.iter().map(|(_, object, _)| *object))),
    ];
    Some(About::in_file(shown, "", facts))
}

/// The verdicts by mechanism: several where the places differ.
fn verdicts(judged: impl Iterator<Item = Verdicts>) -> Value {
    let mut by: Vec<(String, BTreeSet<&str>)> = vec![];
    for (mechanism, verdict) in judged.flat_map(|verdicts| verdicts.all().collect::<Vec<_>>()) {
        match by.iter_mut().find(|(name, _)| name == mechanism) {
            Some((_, words)) => _ = words.insert(verdict.name()),
            None => by.push((mechanism.to_owned(), [verdict.name()].into())),
        }
    }
    let said = |words: BTreeSet<&str>| words.into_iter().collect::<Vec<_>>().join("/");
    Value::Named(by.into_iter().map(|(name, words)| (name, said(words))).collect())
}

/// The objects, unless that is vmlinux alone.
fn modules(view: &View<'_>, objects: impl Iterator<Item = ObjectId>) -> Value {
    let names: BTreeSet<String> = objects.map(|object| object_name(view, object)).collect();
    let named = |name: String| if name.is_empty() { "vmlinux".to_owned() } else { name };
    match names.iter().all(String::is_empty) {
        true => Value::None,
        false => Value::List(names.into_iter().map(named).collect()),
    }
}

/// The name of a module, or nothing for vmlinux.
pub(super) fn object_name(view: &View<'_>, object: ObjectId) -> String {
    view.objects.get(object.index()).map_or_else(String::new, |record| text(view.string(record.name)))
}

pub(super) fn list(words: impl Iterator<Item = String>) -> Value {
    let words: Vec<String> = words.collect();
    if words.is_empty() { Value::None } else { Value::List(words) }
}
