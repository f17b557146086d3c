//! Who reaches a function: through a direct call of its entry, which a probe there sees, or through an inlined copy, which
//! it does not. Calls through pointers name no function, so that nothing here is about them.
use crate::query::index::functions::{self, Declaration, Placed, Scope};
use crate::query::index::{instructions, symbols};
use crate::query::spec::{FunctionSpec, ModuleScope};
use crate::query::symbolize::frames::Cursor;
use crate::query::verdict::reason::Reason;
use crate::query::verdict::{Judge, coverage};
use probeidx_format::calls::Call;
use probeidx_format::id::ObjectId;
use probeidx_format::{Left, SectionName, View};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The number of direct calls. Cost: a walk over all. Only a forged index has more than bytes of them.
pub fn count(view: &View<'_>) -> usize {
    let mut left = view.left(SectionName::Calls);
    let called = view.all_called().owners().iter();
    called.flat_map(|called| view.calls(called.function)).take_while(|_| left.take(1)).count()
}

/// How a function is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A call of its entry.
    Call,
    /// A jump to its entry: it returns to where the caller was called.
    TailCall,
    /// A copy in the code of the caller.
    Inlined,
}

impl Kind {
    /// The name in JSON and text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::TailCall => "tail-call",
            Self::Inlined => "inlined",
        }
    }
}

/// A function, and who reaches it.
#[derive(Clone, Debug)]
pub struct Callee<'a> {
    /// Its declaration.
    pub declaration: Declaration,
    /// The objects in which it has an entry, ascending; empty if all of it is inlined.
    pub entries: Vec<ObjectId>,
    /// Who reaches it: by kind, those with the most sites first.
    pub callers: Vec<Caller<'a>>,
    /// Whether its calls are known: an index has none if it was made without debug information, or of some that has no
    /// call sites. Inlined copies are known all the same.
    pub has_calls: bool,
}

/// The sites of one kind in one function of one object.
#[derive(Clone, Debug)]
pub struct Caller<'a> {
    /// How they reach the callee.
    pub kind: Kind,
    /// The object that contains them.
    pub object: ObjectId,
    /// The innermost function that contains them; empty if unknown.
    pub function: &'a [u8],
    /// The file of its declaration; empty if unknown.
    pub file: &'a [u8],
    /// The line of its declaration; 0 if unknown.
    pub line: u32,
    /// Where the function is reached, by address.
    pub sites: Vec<Site<'a>>,
}

/// Where a function is reached.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// The start of the copy, or a byte of the instruction that calls: see [`Site::start`].
    pub pc: u32,
    /// The file of the call in the source; empty if unknown or not asked for.
    pub file: &'a [u8],
    /// Its line; 0 if unknown or not asked for.
    pub line: u32,
    /// Why the code is not present in a running kernel, or never runs.
    pub gone: Option<Reason>,
}

impl Site<'_> {
    /// Where the copy or the instruction starts; some byte of it if the code was not read.
    pub fn start(&self, view: &View<'_>, caller: &Caller<'_>) -> u32 {
        match caller.kind {
            Kind::Inlined => self.pc,
            Kind::Call | Kind::TailCall => {
                instructions::start_of(view, caller.object, self.pc).unwrap_or(self.pc)
            }
        }
    }
}

/// How often a function is reached, by code of a running kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Direct calls of its entry, tail calls among them.
    pub calls: u32,
    /// The functions that contain them.
    pub calling: u32,
    /// Inlined copies.
    pub copies: u32,
    /// The functions that contain them.
    pub containing: u32,
    /// Calls and copies in code that is gone once the kernel runs, or never runs. They are counted nowhere else.
    pub gone: u32,
}

impl Callee<'_> {
    /// How often it is reached.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        let mut calling: BTreeSet<(ObjectId, &[u8], &[u8], u32)> = BTreeSet::new();
        for caller in &self.callers {
            let running = caller.sites.iter().filter(|site| site.gone.is_none()).count() as u32;
            counts.gone += caller.sites.len() as u32 - running;
            match caller.kind {
                _ if running == 0 => {}
                Kind::Inlined => {
                    counts.copies += running;
                    counts.containing += 1;
                }
                Kind::Call | Kind::TailCall => {
                    counts.calls += running;
                    calling.insert((caller.object, caller.function, caller.file, caller.line));
                }
            }
        }
        counts.calling = calling.len() as u32;
        counts
    }
    /// The names of the functions that call it directly, in code of a running kernel.
    pub fn called_by(&self) -> BTreeSet<&[u8]> {
        let direct = self.callers.iter().filter(|caller| caller.kind != Kind::Inlined);
        let runs = |caller: &&Caller<'_>| caller.sites.iter().any(|site| site.gone.is_none());
        direct.filter(runs).map(|caller| caller.function).filter(|name| !name.is_empty()).collect()
    }
}

/// Who reaches the functions that a spec names; functions without code are left out. Cost: linear in the calls and
/// copies, and in the code of the functions that contain them.
pub fn of_spec<'a>(view: &'a View<'a>, spec: &FunctionSpec) -> Vec<Callee<'a>> {
    let scope = Scope::new(view, &spec.module);
    let mut finder = Finder::new(view, true);
    let mut found = vec![];
    for name in functions::names(view, &spec.declared.name) {
        for declaration in functions::declarations(view, name, spec.declared.file.as_ref()) {
            let lines = spec.declared.lines.as_ref();
            if lines.is_none_or(|lines| lines.contains(declaration.line, declaration.line)) {
                found.extend(finder.of(declaration, &scope));
            }
        }
    }
    found
}

/// Finds who reaches one function after another.
pub struct Finder<'a> {
    view: &'a View<'a>,
    judge: Judge<'a, 'static>,
    cursor: Cursor<'a>,
    with_lines: bool,
    /// Everything. A function of a module is called from others too.
    any: Scope,
    scratch: Vec<Placed>,
    /// Only a forged index has more calls than bytes of them.
    left: Left,
}

impl<'a> Finder<'a> {
    /// Starts with what an index has. The lines of sites cost as much as the rest.
    pub fn new(view: &'a View<'a>, with_lines: bool) -> Self {
        let any = Scope::new(view, &ModuleScope::Any);
        Self {
            view,
            judge: Judge::new(view),
            cursor: Cursor::new(view),
            with_lines,
            any,
            scratch: vec![],
            left: view.left(SectionName::Calls),
        }
    }

    /// Who reaches a function, as far as its own code lies in `scope`; `None` if none does.
    pub fn of(&mut self, declaration: Declaration, scope: &Scope) -> Option<Callee<'a>> {
        let view = self.view;
        let (mut entries, mut copies) = (vec![], vec![]);
        functions::places(view, &declaration, &self.any, &mut self.scratch, |object, places| {
            for place in places {
                match place.is_inline(view) {
                    false => entries.push(object),
                    true if !scope.contains(object) || coverage::is_nested(view, *place) => {}
                    true => copies.push((object, *place)),
                }
            }
        });
        entries.dedup();
        if copies.is_empty() && !entries.iter().any(|object| scope.contains(*object)) {
            return None;
        }
        let mut sites: Vec<(Kind, ObjectId, Site<'a>, Level<'a>)> = vec![];
        let is_split = is_split(view, &declaration);
        for call in self.calls(&declaration) {
            let callee = callee_of(call.object, &entries);
            if callee.is_none_or(|object| scope.contains(object)) {
                sites.extend(self.call(call, is_split.then_some(&declaration)));
            }
        }
        copies.sort_unstable_by_key(|(object, place)| (*object, place.record.entry.get(), place.id));
        copies.dedup_by_key(|(object, place)| (*object, place.record.entry));
        sites.extend(copies.into_iter().filter_map(|(object, place)| self.copy(object, place)));
        entries.retain(|object| scope.contains(*object));
        let has_calls = view.has_calls();
        Some(Callee { declaration, entries, callers: grouped(sites), has_calls })
    }

    /// The direct calls of a function, by object and address.
    fn calls(&mut self, declaration: &Declaration) -> Vec<Call> {
        let (view, left) = (self.view, &mut self.left);
        let all = declaration.functions().flat_map(|id| view.calls(id));
        let mut calls: Vec<Call> = all.take_while(|_| left.take(1)).collect();
        if declaration.functions().nth(1).is_some() {
            calls.sort_unstable();
        }
        calls
    }

    /// A call, unless it is in code of the function `within`.
    fn call(
        &mut self,
        call: Call,
        within: Option<&Declaration>,
    ) -> Option<(Kind, ObjectId, Site<'a>, Level<'a>)> {
        let view = self.view;
        let kind = if call.is_tail { Kind::TailCall } else { Kind::Call };
        let (object, pc) = (call.object, call.pc.get());
        let found = match self.with_lines {
            true => self.cursor.at(object, pc),
            false => self.cursor.functions_at(object, pc),
        };
        if let Some(own) = within {
            let (name, declared) = (view.string(own.name), (view.string(own.file), own.line));
            if found.chain.iter().any(|level| level.function == name && level.declared == declared) {
                return None;
            }
        }
        let innermost = found.chain.first();
        let (file, line) = innermost.map_or((&[][..], 0), |level| (level.file, level.line));
        let site =
            Site { pc: call.pc.get(), file, line, gone: found.gone.filter(|_| !view.is_user(call.object)) };
        let level = innermost
            .map_or((&[][..], &[][..], 0), |level| (level.function, level.declared.0, level.declared.1));
        Some((kind, call.object, site, level))
    }

    fn copy(&self, object: ObjectId, place: Placed) -> Option<(Kind, ObjectId, Site<'a>, Level<'a>)> {
        let view = self.view;
        let caller = functions::function(view, place.outer(view)?.record)?;
        let call = view.details(place.id, place.record).call;
        let (file, line) = call.map_or((&[][..], 0), |call| {
            let file = view.unit_file(view.unit_of_place(place.id), call.file);
            (view.string(file), view.line(file, call.line))
        });
        let pc = place.record.entry.get();
        let site = Site { pc, file, line, gone: self.judge.why_gone(object, pc) };
        let level = (view.string(caller.name), view.string(caller.file), caller.line.get());
        Some((Kind::Inlined, object, site, level))
    }
}

/// The name of a function, and the file and line of its declaration.
type Level<'a> = (&'a [u8], &'a [u8], u32);

/// Whether GCC split a part off the function (`-fpartial-inlining`). Copies of the rest call it as if it were the whole
/// function: such a call goes on in the same one. GCC 12 does so for 319 functions of Linux 6.1.
fn is_split(view: &View<'_>, declaration: &Declaration) -> bool {
    let prefix = [view.string(declaration.name), b".part."].concat();
    !functions::names_starting(view, &prefix).is_empty()
}

/// The object whose entry is called: the caller's own, else the kernel's or that of the module that exports it.
fn callee_of(caller: ObjectId, entries: &[ObjectId]) -> Option<ObjectId> {
    if entries.contains(&caller) { Some(caller) } else { entries.first().copied() }
}

/// The sites by function.
fn grouped<'a>(mut sites: Vec<(Kind, ObjectId, Site<'a>, Level<'a>)>) -> Vec<Caller<'a>> {
    sites.sort_by_key(|(kind, object, site, level)| (*kind, *object, *level, site.pc));
    let mut callers: Vec<Caller<'a>> = vec![];
    for (kind, object, site, (function, file, line)) in sites {
        match callers.last_mut() {
            Some(last)
                if (last.kind, last.object, last.function, last.file, last.line)
                    == (kind, object, function, file, line) =>
            {
                last.sites.push(site);
            }
            _ => callers.push(Caller { kind, object, function, file, line, sites: vec![site] }),
        }
    }
    callers.sort_by_key(|caller| (caller.kind, Reverse(caller.sites.len())));
    callers
}

impl Caller<'_> {
    /// The address of a site, and the symbol that holds it with the distance from it.
    pub fn place<'v>(&self, view: &View<'v>, site: &Site<'_>) -> (u64, Option<(&'v [u8], u32)>) {
        let pc = site.start(view, self);
        let held = symbols::holding(view, self.object, pc);
        let symbol = held.map(|held| (view.string(held.record.name), held.offset));
        (symbols::address(view, self.object, pc), symbol)
    }
}
