//! Finds functions by pattern, and their placements.
use crate::pattern::Pattern;
use crate::query::spec::{Filter, FunctionSpec, ModuleScope};
use probeidx_format::details::CallSite;
use probeidx_format::id::{FunctionId, NameId, ObjectId, PlaceId, StrId, SymbolId};
use probeidx_format::record::{
    FunctionRecord, NameRecord, ObjectRecord, PlaceRecord, RangeRecord, SymbolRecord,
};
use probeidx_format::table::Table;
use probeidx_format::{SectionName, View};
use std::ops::Range;

/// The kind of a placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instance {
    /// The entry of a function.
    OutOfLine,
    /// The start of an inlined copy.
    Inline,
    /// An address within a function.
    Statement,
}

impl Instance {
    /// The name in JSON and text.
    pub fn name(self) -> &'static str {
        match self {
            Self::OutOfLine => "out-of-line",
            Self::Inline => "inline",
            Self::Statement => "statement",
        }
    }
}

/// The functions of one declaration: they have the same name, file and line.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// The name, without compiler suffixes.
    pub name: StrId,
    /// The file of the declaration.
    pub file: StrId,
    /// The line of the declaration, from 1.
    pub line: u32,
    first: u32,
    end: u32,
}

impl Declaration {
    /// The functions, which differ only in their variables.
    pub fn functions(&self) -> impl Iterator<Item = FunctionId> + use<> {
        self.ids().map(FunctionId::new)
    }
    pub(crate) fn ids(&self) -> Range<u32> {
        self.first..self.end
    }
}

/// The names that a pattern matches, in order. Cost: a look-up for a literal; for a pattern with a literal prefix, a
/// comparison with each name with that prefix; otherwise a search for its longest literal through all strings.
pub fn names(view: &View<'_>, pattern: &Pattern) -> Vec<NameId> {
    let matches = |id: &NameId| pattern.matches(view.string(view.names.at(id.index()).name));
    let prefix = match pattern {
        Pattern::Literal(name) => return view.name(name.as_bytes()).into_iter().collect(),
        Pattern::Glob(_) => pattern.literal_prefix(),
    };
    let literal = pattern.longest_literal();
    let mut found: Vec<NameId> = match prefix.is_empty() && literal.len() >= WORTH_SEARCHING {
        true => containing(view, &literal),
        false => names_starting(view, prefix.as_bytes()).map(|at| NameId::new(at as u32)).collect(),
    };
    found.retain(matches);
    leave_out_shared(view, &mut found);
    found
}

/// Drops the names that would make functions, symbols or placements be visited twice. Only a forged index has such
/// names; it could have all its tables visited for each name. Cost: linear in the functions of the names.
fn leave_out_shared(view: &View<'_>, names: &mut Vec<NameId>) {
    let [mut functions, mut symbols, mut postings] =
        [SectionName::Functions, SectionName::SymbolNames, SectionName::Postings].map(|s| view.left(s));
    names.retain(|name| {
        let own = view.functions_named(*name);
        functions.take(own.len())
            && symbols.take(view.symbols_named(*name).len())
            && own
                .into_iter()
                .all(|f| postings.take(view.places_of_function(FunctionId::new(f as u32)).size()))
    });
}

/// Shorter literals occur in too many strings for a search to be faster than comparing each name.
const WORTH_SEARCHING: usize = 2;

/// The names that contain this text, in order.
fn containing(view: &View<'_>, text: &[u8]) -> Vec<NameId> {
    let mut found: Vec<NameId> = vec![];
    if view.store().is_some() {
        for (strings, first) in view.string_parts() {
            strings.containing(text, |number, string| {
                found.extend(view.name_spelled(StrId::new(first.wrapping_add(number)), string));
            });
        }
        found.sort_unstable();
        return found;
    }
    let (names, mut done) = (view.names.owners(), 0);
    view.strings().containing(text, |number, _| {
        // The strings are sorted, so that each search resumes at the last match.
        let id = StrId::new(number);
        done += names.from(done).partition_point_of_key(|n| n.name < id);
        if names.get(done).is_some_and(|n| n.name == id) {
            found.push(NameId::new(done as u32));
        }
    });
    found
}

/// The ranks of the names with this prefix. Cost: a binary search, which parts and copies of a function that has a name (`name.`,
/// `name.part.`) do without, and one among twice as many names as there are.
pub fn names_starting(view: &View<'_>, prefix: &[u8]) -> Range<usize> {
    let names = view.names.owners();
    let text = |record: NameRecord| view.string(record.name);
    let is_before = |record: NameRecord| text(record) < prefix;
    let function = memchr::memchr(b'.', prefix).and_then(|dot| view.name(&prefix[..dot]));
    let start = match function {
        // What is between them has a character before the dot, or is another part.
        Some(name) => name.index() + 1 + leading(names.from(name.index() + 1), is_before),
        None => names.partition_point_of_key(is_before),
    };
    start..start + leading(names.from(start), |record| text(record).starts_with(prefix))
}

/// The clones that the compiler made of a function, by the names of their entries (`foo.isra.0` of `foo`), whatever describes them.
pub fn clones<'a>(view: &'a View<'a>, function: &[u8]) -> impl Iterator<Item = NameId> + use<'a> {
    let prefix = [function, b"."].concat();
    names_starting(view, &prefix).map(|at| NameId::new(at as u32)).filter(|name| {
        // Nobody enters a function at its unlikely part.
        let is_cold = view.names.get(name.index()).is_none_or(|n| view.string(n.name).ends_with(b".cold"));
        let symbols = view.symbols_named(*name).iter().filter_map(|id| symbol(view, id));
        !is_cold && symbols.into_iter().any(|symbol| symbol.is_function())
    })
}

/// How many of these names come before the first that is not so. Cost: a binary search among twice as many.
fn leading(names: Table<'_, NameRecord>, is_so: impl Fn(NameRecord) -> bool) -> usize {
    let mut most = 1;
    while names.get(most - 1).is_some_and(&is_so) {
        most *= 2;
    }
    names.part(0..most.min(names.len())).partition_point_of_key(is_so)
}

/// The declarations of a name, ordered by file and line.
pub fn declarations<'a>(view: &View<'a>, name: NameId, file: Option<&Pattern>) -> Vec<Declaration> {
    let matches = |d: &Declaration| file.is_none_or(|pattern| pattern.matches_path(view.string(d.file)));
    Declarations::of(view, Some(name)).filter(matches).collect()
}

/// An iterator over declarations, ordered by file and line. Allocates nothing.
#[derive(Clone)]
pub struct Declarations<'a> {
    functions: Table<'a, FunctionRecord>,
    rest: Range<usize>,
}

impl<'a> Declarations<'a> {
    /// The declarations of a name.
    pub fn of(view: &View<'a>, name: Option<NameId>) -> Self {
        Self { functions: view.functions, rest: name.map_or(0..0, |name| view.functions_named(name)) }
    }
}

impl Iterator for Declarations<'_> {
    type Item = Declaration;

    fn next(&mut self) -> Option<Declaration> {
        let functions = self.functions.part(self.rest.clone());
        let first = functions.first()?;
        let is_same = |f: &FunctionRecord| f.file == first.file && f.line == first.line;
        let start = self.rest.start;
        self.rest.start += functions.iter().take_while(is_same).count();
        Some(Declaration {
            name: first.name,
            file: first.file,
            line: first.line.get(),
            first: start as u32,
            end: self.rest.start as u32,
        })
    }
}

/// By function: the first one of its declaration. Cost: linear in all functions.
pub fn firsts(view: &View<'_>) -> Vec<u32> {
    let (mut first, mut last) = (0, None);
    let declared = view.functions.iter().map(|f| (f.name, f.file, f.line.get()));
    let of = (0..).zip(declared).map(|(at, declared)| {
        if last != Some(declared) {
            (first, last) = (at, Some(declared));
        }
        first
    });
    of.collect()
}

/// The name and line of the functions declared in a file. Cost: linear in all functions.
pub fn declared_in<'a>(view: &View<'a>, file: StrId) -> impl Iterator<Item = (StrId, u32)> + use<'a> {
    let functions = view.functions.owners();
    let found = functions.positions(FunctionRecord::FILE_COLUMN, file.get().into());
    found.map(move |at| functions.at(at)).map(|f| (f.name, f.line.get()))
}

/// A placement with its record.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// Its number in the index.
    pub id: PlaceId,
    /// The record in the index.
    pub record: PlaceRecord,
}

impl<'a> Placed {
    /// Whether it is an inline instance.
    pub fn is_inline(&self, view: &View<'a>) -> bool {
        view.outer(self.id, self.record).is_some()
    }
    /// The placement into which it is inlined.
    pub fn outer(&self, view: &View<'a>) -> Option<Self> {
        let id = view.outer(self.id, self.record)?;
        Some(Self { id, record: view.places.get(id.index())? })
    }
    /// The placement into which it is inlined, and the call.
    pub fn call(&self, view: &View<'a>) -> Option<(Self, CallSite)> {
        let (id, call) = view.call(self.id, self.record)?;
        Some((Self { id, record: view.places.get(id.index())? }, call))
    }
}

/// vmlinux, if it is indexed.
pub fn kernel(view: &View<'_>) -> Option<ObjectId> {
    view.object_ids().next().filter(|o| view.string(view.objects[o.index()].name).is_empty())
}

/// The module of a name, with dashes or underscores. Cost: a binary search.
pub fn module(view: &View<'_>, name: &[u8]) -> Option<ObjectId> {
    let objects = view.objects.part(0..view.objects.len().saturating_sub(1));
    let spelled = |b: &u8| if *b == b'-' { b'_' } else { *b };
    let at = objects.partition_point(|o| view.string(o.name).iter().copied().lt(name.iter().map(spelled)));
    let found =
        objects.get(at).filter(|o| view.string(o.name).iter().copied().eq(name.iter().map(spelled)))?;
    (!view.string(found.name).is_empty()).then(|| ObjectId::new(at as u32))
}

/// The objects that a question covers.
pub struct Scope {
    asked: Asked,
    /// The range of the objects' placements.
    places: Range<u32>,
}

/// Objects.
enum Asked {
    /// From the first up to, but not including, the second.
    Between(u32, u32),
    /// The objects that a pattern matches, by number.
    Those(Vec<bool>),
}

impl Scope {
    /// The objects that a spec covers. Cost: for a pattern with wildcards, linear in the module names.
    pub fn new(view: &View<'_>, scope: &ModuleScope) -> Self {
        let count = view.objects.len().saturating_sub(1) as u32;
        let one = |object: Option<ObjectId>| object.map_or(0..0, |o| o.get()..o.get() + 1);
        let is_user = view.objects.first().is_some_and(|o| o.has(ObjectRecord::USER));
        match scope {
            ModuleScope::Any => Self::between(view, 0..count),
            ModuleScope::Kernel => Self::between(view, one(kernel(view))),
            // Such an index has one object, whose names were compared when it was opened.
            ModuleScope::Process(_) => Self::between(view, if is_user { 0..count } else { 0..0 }),
            ModuleScope::Module(_) if is_user => Self::between(view, 0..0),
            ModuleScope::Module(Pattern::Literal(name)) => {
                let is_spelled_so =
                    |o: &ObjectId| view.string(view.objects[o.index()].name) == name.as_bytes();
                Self::between(view, one(module(view, name.as_bytes()).filter(is_spelled_so)))
            }
            ModuleScope::Module(pattern) => {
                let name = |object: ObjectId| view.string(view.objects[object.index()].name);
                let asks = |object: ObjectId| !name(object).is_empty() && pattern.matches(name(object));
                Self::those(view, view.object_ids().map(asks).collect())
            }
        }
    }
    /// One object.
    pub fn of(view: &View<'_>, object: ObjectId) -> Self {
        Self::between(view, object.get()..object.get().saturating_add(1))
    }
    fn between(view: &View<'_>, objects: Range<u32>) -> Self {
        let places = first_place(view, objects.start)..first_place(view, objects.end);
        Self { asked: Asked::Between(objects.start, objects.end), places }
    }
    fn those(view: &View<'_>, asked: Vec<bool>) -> Self {
        let first = asked.iter().position(|a| *a).unwrap_or(0);
        let end = asked.iter().rposition(|a| *a).map_or(0, |last| last + 1);
        let places = first_place(view, first as u32)..first_place(view, end as u32);
        Self { asked: Asked::Those(asked), places }
    }
    /// The placements of the objects from the first to the last one that it covers.
    pub fn places(&self) -> Range<u32> {
        self.places.clone()
    }
    /// Whether it covers this object.
    pub fn contains(&self, object: ObjectId) -> bool {
        match &self.asked {
            Asked::Between(first, end) => (*first..*end).contains(&object.get()),
            Asked::Those(asked) => asked.get(object.index()).copied().unwrap_or(false),
        }
    }
    /// The covered objects, in order.
    pub fn objects(&self) -> impl Iterator<Item = ObjectId> + '_ {
        let all = match &self.asked {
            Asked::Between(first, end) => *first..*end,
            Asked::Those(asked) => 0..asked.len() as u32,
        };
        all.map(ObjectId::new).filter(|o| self.contains(*o))
    }
}

fn first_place(view: &View<'_>, object: u32) -> u32 {
    view.objects.get(object as usize).map_or(0, |o| o.first_place.get())
}

/// The placements of a declaration between the first and the last object that a scope covers, in the order of the debug
/// information. Those without an address are left out. `scratch` is reused memory.
pub fn placed<'s>(
    view: &View<'_>,
    declaration: &Declaration,
    scope: &Scope,
    scratch: &'s mut Vec<Placed>,
) -> &'s [Placed] {
    scratch.clear();
    for function in declaration.functions() {
        let postings = view.places_of_function(function).skip_while(|p| p.get() < scope.places.start);
        for id in postings.take_while(|p| p.get() < scope.places.end) {
            if let Some(record) = view.places.get(id.index()).filter(|r| r.entry.get() != 0) {
                scratch.push(Placed { id, record });
            }
        }
    }
    if declaration.end - declaration.first > 1 {
        scratch.sort_unstable_by_key(|p| p.id);
    }
    scratch
}

/// Calls `each` with every covered object that has [placements](placed) of a declaration, and with these. `scratch` is reused
/// memory.
pub fn places<'a>(
    view: &View<'a>,
    declaration: &Declaration,
    scope: &Scope,
    scratch: &mut Vec<Placed>,
    mut each: impl FnMut(ObjectId, &[Placed]),
) {
    let mut rest = placed(view, declaration, scope, scratch);
    while let Some(first) = rest.first() {
        let object = view.object_of_place(first.id);
        let end = view.places_of(object).end as u32;
        let (own, after) = rest.split_at(rest.partition_point(|p| p.id.get() < end).max(1));
        if scope.contains(object) {
            each(object, own);
        }
        rest = after;
    }
}

/// Whether the filter of a spec accepts a placement of this kind.
pub fn passes(filter: Filter, is_inline: bool) -> bool {
    match filter {
        Filter::Any => true,
        Filter::Inline => is_inline,
        Filter::Call | Filter::Exported | Filter::Return => !is_inline,
    }
}

/// Whether SystemTap considers a function of this name exported: the first symbol of the name is a function and not
/// local (`dwflpp::func_is_exported`). Local symbols come first in a symbol table.
pub fn is_exported(view: &View<'_>, object: ObjectId, name: NameId) -> bool {
    let mut own = symbols_named(view, object, name).map(|s| view.symbols.at(s.index())).peekable();
    own.peek().is_some() && own.all(|s| s.is_function() && s.binding() != 0)
}

/// The symbols of a name in one object.
pub fn symbols_named<'a>(
    view: &View<'a>,
    object: ObjectId,
    name: NameId,
) -> impl Iterator<Item = SymbolId> + use<'a> {
    let within = view.symbols_of(object);
    let (start, end) = (within.start as u32, within.end as u32);
    let all = view.symbols_named(name);
    let first = all.partition_point(|s| s.get() < start);
    all.from(first).iter().take_while(move |s| s.get() < end)
}

/// The function of a placement.
pub fn function<'a>(view: &View<'a>, place: PlaceRecord) -> Option<FunctionRecord> {
    view.functions.get(place.function.index())
}

/// The out-of-line placement that contains this one.
pub fn root<'a>(view: &View<'a>, mut place: Placed) -> Placed {
    // Terminates because a placement follows the one into which it is inlined.
    while let Some(outer) = place.outer(view) {
        place = outer;
    }
    place
}

/// The functions of a name. Cost: a look-up.
pub fn of_name<'a>(view: &View<'a>, name: &[u8]) -> impl Iterator<Item = FunctionRecord> + use<'a> {
    let functions = view.functions;
    let found = view.name(name).map(|name| view.functions_named(name)).unwrap_or_default();
    found.filter_map(move |at| functions.get(at))
}

/// Whether the spec selects functions by name only, not by their declaration.
pub fn is_by_name_only(spec: &FunctionSpec) -> bool {
    spec.declared.file.is_none() && spec.declared.lines.is_none()
}

/// A symbol with its record.
pub fn symbol<'a>(view: &View<'a>, id: SymbolId) -> Option<SymbolRecord> {
    view.symbols.get(id.index())
}

/// Whether the kernel keeps a symbol.
pub fn is_kept(view: &View<'_>, id: SymbolId) -> bool {
    view.symbols.facts(id.index()).is_some_and(|symbol| symbol.has(SymbolRecord::KEPT))
}

/// The out-of-line function that starts at an address. Cost: a binary search.
pub fn entry_at<'a>(view: &View<'a>, object: ObjectId, pc: u32) -> Option<Placed> {
    let ranges = view.ranges_of(object);
    let first = ranges.partition_point_of_key(|r| r.start.get() < pc);
    let at_entry = |r: RangeRecord| {
        let record = view.places.get(r.place.index()).filter(|p| p.entry.get() == pc)?;
        Some(Placed { id: r.place, record })
    };
    ranges.from(first).iter().take_while(|r| r.start.get() == pc).find_map(at_entry)
}

/// The out-of-line function that holds an address. Cost: a binary search.
pub fn outermost(view: &View<'_>, object: ObjectId, pc: u32) -> Option<Placed> {
    let ranges = view.ranges_of(object);
    let after = ranges.partition_point_of_key(|r| r.start.get() <= pc);
    let range = ranges.up_to(after).last().filter(|r| pc < r.end.get())?;
    Some(Placed { id: range.place, record: view.places.get(range.place.index())? })
}

/// The innermost placement that holds an address. Cost: a binary search, then linear in the inline instances of the
/// function.
pub fn holding<'a>(view: &View<'a>, object: ObjectId, pc: u32) -> Option<Placed> {
    let mut innermost = outermost(view, object, pc)?;
    for at in innermost.id.index() + 1..view.places_of(object).end {
        let inner = Placed { id: PlaceId::new(at as u32), record: view.places.at(at) };
        let Some(outer) = view.outer(inner.id, inner.record) else { break };
        if outer == innermost.id && view.details(inner.id, inner.record).ranges.any(|r| r.contains(pc)) {
            innermost = inner;
        }
    }
    Some(innermost)
}
