//! Probe points as SystemTap lists them: a line for each declaration and, with variables, those that every one of
//! its placements has.
mod aliases;
mod statements;
mod tracepoints;
mod within;

use super::blocklist;
use super::placement;
use super::readable::{self, Spellings};
use super::resolve::Listed;
use super::select::{self, Declaration, Placed, Scope};
use super::spec::{Filter, FunctionSpec, Spelled};
use super::symbols;
use super::{point, process};
use crate::error::Result;
use probeidx_format::View;
use probeidx_format::id::{FunctionId, NameId, ObjectId, Pc, StrId};
use probeidx_format::record::SymbolRecord;
use rustc_hash::FxHashSet;
use std::ops::Range;

/// Lines of text, kept in one piece of memory.
#[derive(Default)]
pub struct Lines {
    text: Vec<u8>,
    /// Start, end of the probe point, end.
    lines: Vec<(usize, usize, usize)>,
}

impl Lines {
    /// Appends a line: a probe point and what follows it.
    pub fn push(&mut self, point: impl FnOnce(&mut Vec<u8>), rest: impl FnOnce(&mut Vec<u8>)) {
        let start = self.text.len();
        point(&mut self.text);
        let middle = self.text.len();
        rest(&mut self.text);
        self.lines.push((start, middle, self.text.len()));
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
    /// Sorts them bytewise by probe point, and drops repetitions.
    pub fn sort(&mut self) {
        let Self { text, lines } = self;
        lines.sort_by(|a, b| (&text[a.0..a.1], &text[a.1..a.2]).cmp(&(&text[b.0..b.1], &text[b.1..b.2])));
        lines.dedup_by(|a, b| text[a.0..a.2] == text[b.0..b.2]);
    }
    /// The lines in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.lines.iter().map(|l| &self.text[l.0..l.2])
    }
}

/// Lists the placements of functions under one name, as SystemTap would: without those that it leaves out.
pub struct Lister<'a> {
    view: View<'a>,
    spellings: Spellings<'a>,
    with_variables: bool,
    kind: point::Kind,
    /// Ranges of vmlinux in which SystemTap probes nothing.
    closed: Vec<Range<u32>>,
    machine: u16,
    is_user: bool,
    scratch: Scratch<'a>,
}

/// Where variables are looked at.
#[derive(Clone, Copy)]
struct Seen<'a> {
    placed: Placed<'a>,
    /// An address within the placement; `None` is its entry, at which lexical blocks do not count.
    pc: Option<u32>,
    /// A lexical block to start from: see [`readable::visible_within`].
    block: u32,
}

impl<'a> Seen<'a> {
    /// At its entry.
    fn at_entry(placed: Placed<'a>) -> Self {
        Self { placed, pc: None, block: 0 }
    }
}

#[derive(Default)]
struct Scratch<'a> {
    places: Vec<Placed<'a>>,
    kept: Vec<Seen<'a>>,
    counts: Vec<(u64, u32)>,
    keys: Vec<u64>,
}

impl<'a> Lister<'a> {
    /// Prepares for listing, with variables as `stap -L` or without as `stap -l`.
    pub fn new(view: View<'a>, with_variables: bool) -> Self {
        let mut closed = vec![];
        if let Some(kernel) = select::kernel(&view) {
            for section in view.sections_of(kernel) {
                if blocklist::section(view.string(section.name)) {
                    let start = section.pc.get();
                    closed.push(start..start.saturating_add(section.size.get() as u32));
                }
            }
            let address = |name: &[u8]| {
                let id = view.name(name)?;
                let symbol = select::symbols_named(&view, kernel, id).next()?;
                Some(view.symbols[symbol.index()].pc.get())
            };
            if let (Some(start), Some(end)) =
                (address(b"__kprobes_text_start"), address(b"__kprobes_text_end"))
            {
                closed.push(start..end);
            }
        }
        Self {
            view,
            spellings: Spellings::new(view),
            with_variables,
            kind: point::Kind::Function,
            closed,
            machine: view.machine(),
            is_user: process::path(&view).is_some(),
            scratch: Scratch::default(),
        }
    }

    /// Appends the lines of what was asked for. In SystemTap's spelling those of functions are SystemTap's; in the bare
    /// one there are also the functions of the symbol table that SystemTap drops, and the padding before functions only if
    /// it is named.
    ///
    /// # Errors
    /// An address that is not the start of a statement.
    pub fn list(&mut self, listed: &Listed, spelled: Spelled, lines: &mut Lines) -> Result<()> {
        match listed {
            Listed::Functions { spec, .. } if spec.label.is_some() || spec.callee.is_some() => {
                self.list_within(spec, lines);
            }
            Listed::Functions { spec, kind } => {
                self.kind = *kind;
                self.list_functions(spec, spelled, lines);
            }
            Listed::Statements(spec) => self.list_statements(spec, lines),
            Listed::Address(spec) => self.list_address(spec, lines)?,
            Listed::Tracepoints(spec) => self.list_tracepoints(spec, lines),
        }
        Ok(())
    }

    fn list_functions(&mut self, spec: &FunctionSpec, spelled: Spelled, lines: &mut Lines) {
        let scope = Scope::new(&self.view, &spec.module);
        // Who asks for all names gets each function under its own.
        let wants_aliases = spec.declared.name.to_string() != "*";
        for name in select::names(&self.view, &spec.declared.name) {
            for declaration in select::declarations(&self.view, name, spec.declared.file.as_ref()) {
                self.list_declaration(&declaration, name, &scope, spec, lines);
            }
            if wants_aliases {
                self.list_aliases(name, &scope, spec, lines);
            }
            let is_dropped = spelled == Spelled::Systemtap && self.is_merged(name);
            let is_padding = spelled == Spelled::Bare
                && !spec.declared.name.is_literal()
                && symbols::is_prefix_name(&self.view, name);
            if select::is_by_name_only(spec) && !is_dropped && !is_padding {
                self.list_symbols(name, &scope, spec, lines);
            }
        }
    }

    fn list_declaration(
        &mut self,
        declaration: &Declaration,
        name: NameId,
        scope: &Scope,
        spec: &FunctionSpec,
        lines: &mut Lines,
    ) {
        let view = self.view;
        let text = view.string(declaration.name);
        if self.is_blocked(text, view.string(declaration.file), spec.filter) {
            return;
        }
        let mut places = std::mem::take(&mut self.scratch.places);
        let mut kept = std::mem::take(&mut self.scratch.kept);
        select::places(&view, declaration, scope, &mut places, |object, own| {
            if spec.filter == Filter::Exported && !select::is_exported(&view, object, name) {
                return;
            }
            kept.clear();
            let mut known = Known::new(own.len());
            for placed in own {
                let is_inline = placed.is_inline(&view);
                if select::passes(spec.filter, is_inline)
                    && !self.is_closed(object, placed.record.entry.get())
                    && (is_inline || !self.is_part(object, placed))
                    && known.insert(placed.record.entry, is_inline)
                {
                    kept.push(Seen::at_entry(*placed));
                }
            }
            if !kept.is_empty() {
                let place = Some((view.string(declaration.file), declaration.line));
                let kind = self.kind;
                lines.push(
                    |out| put_point(&view, object, place, text, spec, kind, out),
                    |out| self.put_variables(&kept, spec.filter, out),
                );
            }
        });
        self.scratch.places = places;
        self.scratch.kept = kept;
    }

    /// Functions of the symbol table that the debug information does not describe, such as assembly.
    fn list_symbols(&mut self, name: NameId, scope: &Scope, spec: &FunctionSpec, lines: &mut Lines) {
        let view = self.view;
        for &id in view.symbols_named(name) {
            let Some(symbol) = view.symbols.get(id.index()) else { continue };
            if !symbol.is_function() || symbol.has(SymbolRecord::DESCRIBED) {
                continue;
            }
            let object = view.object_of_symbol(id);
            // A clone (`.isra.0`) is listed under the function's own name, if that was asked for too.
            if symbol.has(SymbolRecord::ENTRY)
                && placement::entry_at(&view, object, symbol.pc.get())
                    .and_then(|p| select::function(&view, p.record))
                    .is_some_and(|f| spec.declared.name.matches(view.string(f.name)))
            {
                continue;
            }
            let text = view.string(symbol.name);
            if !scope.contains(object)
                || self.is_closed(object, symbol.pc.get())
                || self.is_blocked(text, b"", spec.filter)
                || self.is_alias(object, id.get(), symbol)
                || self.is_listed_inline(object, symbol.pc, spec)
            {
                continue;
            }
            let kind = self.kind;
            lines.push(|out| put_point(&view, object, None, text, spec, kind, out), |_| {});
        }
    }

    /// Whether the debug information describes a function of this name without code. Compilers merge functions that do
    /// the same (GCC's `-fipa-icf`) and leave a jump under the name of the other: the kernel takes a probe there, but
    /// SystemTap finds the description, sees no address in it, and lists nothing.
    fn is_merged(&self, name: NameId) -> bool {
        let view = self.view;
        view.functions_named(name).any(|at| {
            let id = FunctionId::new(at as u32);
            !view.functions[at].is_inlined() && view.places_of_function(id).next().is_none()
        })
    }

    /// Whether SystemTap lists another symbol of the same address instead: the first of the table; or none, as for
    /// the weak stubs of system calls that are not built in.
    fn is_alias(&self, object: ObjectId, id: u32, symbol: &SymbolRecord) -> bool {
        let start = self.view.symbols_of(object).start as u32;
        let before = (start..id).rev().map_while(|at| self.view.symbols.get(at as usize));
        before.take_while(|s| s.pc == symbol.pc).any(|s| s.is_function())
    }

    /// Whether an inlined copy that starts at the address of a program or library is listed: SystemTap puts no second probe
    /// there (`query_symtab_func_info`; in the kernel it compares what is never equal). The part that was split off a
    /// function (`.cold`) may start with one.
    fn is_listed_inline(&self, object: ObjectId, pc: Pc, spec: &FunctionSpec) -> bool {
        let view = self.view;
        let innermost = placement::holding(&view, object, pc.get());
        let mut around = std::iter::successors(innermost, |placed| placed.outer(&view));
        self.is_user
            && select::passes(spec.filter, true)
            && around.any(|placed| {
                placed.record.entry == pc
                    && placed.is_inline(&view)
                    && select::function(&view, placed.record).is_some_and(|f| {
                        let name = view.string(f.name);
                        spec.declared.name.matches(name)
                            && !self.is_blocked(name, view.string(f.file), spec.filter)
                    })
            })
    }

    fn is_blocked(&self, function: &[u8], file: &[u8], filter: Filter) -> bool {
        let returns = filter == Filter::Return;
        match self.is_user {
            true => returns && blocklist::return_in_process(function),
            false => {
                blocklist::function(function, self.machine)
                    || blocklist::file(file)
                    || (returns && blocklist::return_of(function))
            }
        }
    }

    fn is_closed(&self, object: ObjectId, pc: u32) -> bool {
        Some(object) == select::kernel(&self.view) && self.closed.iter().any(|r| r.contains(&pc))
    }

    /// Whether it is the tail of a function that was inlined in part, which is no entry of the function.
    fn is_part(&self, object: ObjectId, placed: &Placed<'_>) -> bool {
        let range = self.view.symbols_of(object);
        let symbols = self.view.symbols.get(range).unwrap_or_default();
        let first = symbols.partition_point(|s| s.pc < placed.record.entry);
        symbols[first..]
            .iter()
            .take_while(|s| s.pc == placed.record.entry)
            .any(|s| self.view.string(s.name).windows(6).any(|w| w == b".part."))
    }

    /// Appends ` $name:type` for each variable that is there in all of the placements, if variables are wanted.
    ///
    /// SystemTap counts how often each text appears among all of them, and prints those that appear as often as there
    /// are placements (`printscript`, main.cxx), in the order in which they are met first.
    fn put_variables(&mut self, places: &[Seen<'a>], filter: Filter, out: &mut Vec<u8>) {
        if !self.with_variables {
            return;
        }
        let with_return = filter == Filter::Return;
        let Scratch { counts, keys, .. } = &mut self.scratch;
        counts.clear();
        for Seen { placed, pc, block } in places {
            keys.clear();
            self.spellings.enter(placed.record.function);
            if with_return && let Some(spelled) = self.spellings.return_type() {
                keys.push(u64::from(StrId::NONE.get()) << 32 | u64::from(spelled));
            }
            let key = |index| keys.extend(self.spellings.key(index));
            match pc {
                None => readable::visible(&self.view, *placed, key),
                Some(pc) => readable::visible_within(&self.view, *placed, *pc, *block, key),
            }
            for key in keys.iter() {
                match counts.iter_mut().find(|(k, _)| k == key) {
                    Some((_, count)) => *count += 1,
                    None => counts.push((*key, 1)),
                }
            }
        }
        for &(key, _) in counts.iter().filter(|(_, count)| *count as usize == places.len()) {
            out.extend_from_slice(b" $");
            let name = StrId::new((key >> 32) as u32);
            out.extend_from_slice(if name == StrId::NONE { b"return" } else { self.view.string(name) });
            out.push(b':');
            out.extend_from_slice(self.spellings.text(key as u32).as_bytes());
        }
    }
}

/// The addresses of a declaration that were listed, entries and inline instances apart.
enum Known {
    Few(Vec<(Pc, bool)>),
    /// `kmalloc` and its like have thousands.
    Many(FxHashSet<(Pc, bool)>),
}

impl Known {
    fn new(most: usize) -> Self {
        if most <= 32 { Self::Few(vec![]) } else { Self::Many(FxHashSet::default()) }
    }
    /// Whether it is new.
    fn insert(&mut self, pc: Pc, is_inline: bool) -> bool {
        match self {
            Self::Few(list) if list.contains(&(pc, is_inline)) => false,
            Self::Few(list) => {
                list.push((pc, is_inline));
                true
            }
            Self::Many(set) => set.insert((pc, is_inline)),
        }
    }
}

/// Writes a function's probe point as SystemTap spells it.
fn put_point(
    view: &View<'_>,
    object: ObjectId,
    place: Option<(&[u8], u32)>,
    name: &[u8],
    spec: &FunctionSpec,
    kind: point::Kind,
    out: &mut Vec<u8>,
) {
    let (file, line) = place.unwrap_or_default();
    if let point::Kind::Statement { nearest } = kind {
        return point::put_statement(view, object, name, file, line, nearest, out);
    }
    point::put(view, object, name, file, line, spec.filter, out);
    if let Some(most) = spec.maxactive {
        out.extend_from_slice(format!(".maxactive({most})").as_bytes());
    }
}
