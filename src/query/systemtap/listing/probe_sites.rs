//! The places where SystemTap puts probes: the placements of functions and source lines, without what it leaves out.
use crate::error::Result;
use crate::query::index::functions::{self, Declaration, Placed, Scope};
use crate::query::index::{symbols, user_object};
use crate::query::spec::{Filter, FunctionSpec, ModuleScope, Spelled};
use crate::query::systemtap::listing::listed::Listed;
use crate::query::systemtap::probe_point;
use crate::query::verdict::stap_blocklist;
use crate::tapset::Version;
use probeidx_format::View;
use probeidx_format::id::{FunctionId, NameId, ObjectId, Pc, SymbolId};
use probeidx_format::record::SymbolRecord;
use rustc_hash::FxHashSet;
use std::ops::Range;
use std::rc::Rc;

/// Finds the places where SystemTap puts probes. Reuse one for many questions.
pub struct Probed<'a> {
    pub(super) view: &'a View<'a>,
    /// The ranges of vmlinux that SystemTap does not probe.
    closed: Vec<Range<u32>>,
    machine: u16,
    is_user: bool,
    /// Cached, because tapsets use it often.
    kernel: Rc<Scope>,
    pub(super) places: Vec<Placed>,
    kept: Vec<Seen>,
}

/// A probe point and its placements: one line of SystemTap's listing.
pub struct Met<'s> {
    /// The object that holds the placements.
    pub object: ObjectId,
    /// The placements in SystemTap's order; empty if only the symbol table has the function.
    pub seen: &'s [Seen],
    /// The symbol, if nothing else is known.
    pub symbol: Option<SymbolId>,
    /// The part of the function that is probed: its call, inline instances, and so on.
    pub filter: Filter,
    pub(super) put: &'s dyn Fn(&mut Vec<u8>),
}

impl Met<'_> {
    /// Writes the point as SystemTap spells it: `kernel.function("vfs_read@fs/read_write.c:450")`.
    pub fn put(&self, out: &mut Vec<u8>) {
        (self.put)(out);
    }
}

/// An address at which variables are looked up.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The placement.
    pub placed: Placed,
    /// An address within the placement; `None` is its entry, where lexical blocks do not count.
    pub pc: Option<u32>,
    /// The lexical block to start from: see [`visible_within`](crate::query::value::stap_visibility::visible_within).
    pub block: u32,
}

impl Seen {
    /// The entry of a placement.
    pub(super) fn at_entry(placed: Placed) -> Self {
        Self { placed, pc: None, block: 0 }
    }
}

/// Called with each probe point.
pub(super) type Each<'e, 'a> = dyn FnMut(&Met<'_>) -> Result<()> + 'e;

/// The options common to all functions of a search.
#[derive(Clone, Copy)]
pub(super) struct Asked<'s> {
    pub spec: &'s FunctionSpec,
    pub kind: probe_point::Kind,
    pub scope: &'s Scope,
}

impl<'a> Probed<'a> {
    /// Looks up what SystemTap leaves out of vmlinux.
    pub fn new(view: &'a View<'a>) -> Self {
        let mut closed = vec![];
        if let Some(kernel) = functions::kernel(view) {
            for section in view.sections_of(kernel) {
                if stap_blocklist::section(view.string(section.name)) {
                    let start = section.pc.get();
                    closed.push(start..start.saturating_add(section.size.get() as u32));
                }
            }
            let address = |name: &[u8]| {
                let id = view.name(name)?;
                let symbol = functions::symbols_named(view, kernel, id).next()?;
                Some(view.symbols.at(symbol.index()).pc.get())
            };
            if let (Some(start), Some(end)) =
                (address(b"__kprobes_text_start"), address(b"__kprobes_text_end"))
            {
                closed.push(start..end);
            }
        }
        Self {
            view,
            closed,
            machine: view.machine(),
            is_user: user_object::path(view).is_some(),
            kernel: Rc::new(Scope::new(view, &ModuleScope::Kernel)),
            places: vec![],
            kept: vec![],
        }
    }

    /// Calls `each` with every probe point of a listing, in the order of names and of the debug information.
    ///
    /// # Errors
    /// For an address that is not the start of a statement; and any error of `each`.
    pub fn each(&mut self, listed: &Listed, spelled: Spelled, each: &mut Each<'_, 'a>) -> Result<()> {
        match listed {
            Listed::Functions { spec, .. } if spec.label.is_some() || spec.callee.is_some() => {
                self.within(spec, each)
            }
            Listed::Functions { spec, kind } => {
                let kernel = (spec.module == ModuleScope::Kernel).then(|| Rc::clone(&self.kernel));
                let scope = kernel.unwrap_or_else(|| Rc::new(Scope::new(self.view, &spec.module)));
                self.functions(Asked { spec, kind: *kind, scope: &scope }, spelled, each)
            }
            Listed::Statements(spec) => self.statements(spec, each),
            Listed::Address(spec) => self.address(spec, each),
            // Tracepoints are not code.
            Listed::Tracepoints(_) => Ok(()),
        }
    }

    fn functions(&mut self, asked: Asked<'_>, spelled: Spelled, each: &mut Each<'_, 'a>) -> Result<()> {
        let spec = asked.spec;
        // A request for all names lists each function under its own.
        let wants_aliases = spec.declared.name.to_string() != "*";
        for name in functions::names(self.view, &spec.declared.name) {
            for declaration in functions::declarations(self.view, name, spec.declared.file.as_ref()) {
                self.declaration(&declaration, name, asked, each)?;
            }
            if wants_aliases {
                self.aliases(name, asked, each)?;
            }
            let is_dropped = spelled == Spelled::Systemtap && self.is_merged(name);
            let is_padding = spelled == Spelled::Bare
                && !spec.declared.name.is_literal()
                && symbols::is_prefix_name(self.view, name);
            if functions::is_by_name_only(spec) && !is_dropped && !is_padding {
                self.symbols(name, asked, each)?;
            }
        }
        Ok(())
    }

    fn declaration(
        &mut self,
        declaration: &Declaration,
        name: NameId,
        asked: Asked<'_>,
        each: &mut Each<'_, 'a>,
    ) -> Result<()> {
        let Asked { spec, kind, scope } = asked;
        let view = self.view;
        let text = view.string(declaration.name);
        let file = view.string(declaration.file);
        if self.is_blocked(text, file, spec.filter) {
            return Ok(());
        }
        let mut places = std::mem::take(&mut self.places);
        let mut kept = std::mem::take(&mut self.kept);
        let mut result = Ok(());
        functions::places(view, declaration, scope, &mut places, |object, own| {
            if result.is_err()
                || (spec.filter == Filter::Exported && !functions::is_exported(view, object, name))
            {
                return;
            }
            kept.clear();
            let mut known = Known::new(own.len());
            for placed in own {
                let is_inline = placed.is_inline(view);
                if functions::passes(spec.filter, is_inline)
                    && !self.is_closed(object, placed.record.entry.get())
                    && (is_inline || !self.is_part(object, placed))
                    && known.insert(placed.record.entry, is_inline)
                {
                    kept.push(Seen::at_entry(*placed));
                }
            }
            if !kept.is_empty() {
                let place = Some((file, declaration.line));
                let put = |out: &mut Vec<u8>| put_point(view, object, place, text, spec, kind, out);
                result = each(&Met { object, seen: &kept, symbol: None, filter: spec.filter, put: &put });
            }
        });
        self.places = places;
        self.kept = kept;
        result
    }

    /// Functions of the symbol table without debug information, such as assembly.
    fn symbols(&mut self, name: NameId, asked: Asked<'_>, each: &mut Each<'_, 'a>) -> Result<()> {
        let Asked { spec, kind, scope } = asked;
        let view = self.view;
        for id in view.symbols_named(name) {
            let Some(symbol) = view.symbols.get(id.index()) else { continue };
            if !symbol.is_function() || symbol.has(SymbolRecord::DESCRIBED) {
                continue;
            }
            let object = view.object_of_symbol(id);
            // A clone (`.isra.0`) is listed under the function's own name, if the request includes that.
            if symbol.has(SymbolRecord::ENTRY)
                && functions::entry_at(view, object, symbol.pc.get())
                    .and_then(|p| functions::function(view, p.record))
                    .is_some_and(|f| spec.declared.name.matches(view.string(f.name)))
            {
                continue;
            }
            let text = view.string(symbol.name);
            if !scope.contains(object)
                || self.is_closed(object, symbol.pc.get())
                || self.is_blocked(text, b"", spec.filter)
                || self.is_alias(object, id.get(), symbol, spec)
                || self.is_listed_inline(object, symbol.pc, spec)
            {
                continue;
            }
            let put = |out: &mut Vec<u8>| put_point(view, object, None, text, spec, kind, out);
            each(&Met { object, seen: &[], symbol: Some(id), filter: spec.filter, put: &put })?;
        }
        Ok(())
    }

    /// Whether the debug information has a function of this name without code. Compilers merge identical functions
    /// (GCC's `-fipa-icf`) and leave a jump under the name of the other: the kernel accepts a probe there, but
    /// SystemTap finds the description without an address, and lists nothing.
    fn is_merged(&self, name: NameId) -> bool {
        let view = self.view;
        view.functions_named(name).any(|at| {
            let id = FunctionId::new(at as u32);
            !view.functions.at(at).is_inlined() && view.places_of_function(id).next().is_none()
        })
    }

    /// Whether SystemTap lists another symbol at the same address instead, the first of the table; or none, as for the
    /// weak stubs of system calls that are not built in. The part of a function that is also that of another one (GCC merges
    /// equal ones) is listed if the request does not include the other: `tl_to_darg.part.0` of 6.1.0-56, beside
    /// `ext4_fc_get_tl.part.0`.
    fn is_alias(&self, object: ObjectId, id: u32, symbol: SymbolRecord, spec: &FunctionSpec) -> bool {
        let is_part = is_name_of_part(self.view.string(symbol.name));
        let start = self.view.symbols_of(object).start as u32;
        let before = (start..id).rev().map_while(|at| self.view.symbols.get(at as usize));
        let is_asked = |s: &SymbolRecord| spec.declared.name.matches(self.view.string(s.name));
        before.take_while(|s| s.pc == symbol.pc).any(|s| s.is_function() && (!is_part || is_asked(&s)))
    }

    /// Whether SystemTap already lists an inlined copy that starts at this address of a program or library; it does not
    /// put a second probe there (`query_symtab_func_info`; for the kernel, its comparison is never true). The split-off
    /// part of a function (`.cold`) may start with an inlined copy.
    fn is_listed_inline(&self, object: ObjectId, pc: Pc, spec: &FunctionSpec) -> bool {
        let view = self.view;
        let innermost = functions::holding(view, object, pc.get());
        let mut around = std::iter::successors(innermost, |placed| placed.outer(view));
        self.is_user
            && functions::passes(spec.filter, true)
            && around.any(|placed| {
                placed.record.entry == pc
                    && placed.is_inline(view)
                    && functions::function(view, placed.record).is_some_and(|f| {
                        let name = view.string(f.name);
                        spec.declared.name.matches(name)
                            && !self.is_blocked(name, view.string(f.file), spec.filter)
                    })
            })
    }

    pub(super) fn is_blocked(&self, function: &[u8], file: &[u8], filter: Filter) -> bool {
        let returns = filter == Filter::Return;
        match self.is_user {
            true => returns && stap_blocklist::return_in_process(function),
            false => {
                let version = || Version::of(self.view);
                stap_blocklist::function(function, self.machine, version)
                    || stap_blocklist::file(file, version)
                    || (returns && stap_blocklist::return_of(function))
            }
        }
    }

    pub(super) fn is_closed(&self, object: ObjectId, pc: u32) -> bool {
        Some(object) == functions::kernel(self.view) && self.closed.iter().any(|r| r.contains(&pc))
    }

    /// Whether it is the tail of a partially inlined function, which is not an entry of the function.
    pub(super) fn is_part(&self, object: ObjectId, placed: &Placed) -> bool {
        let range = self.view.symbols_of(object);
        let symbols = self.view.symbols.part(range);
        let first = symbols.partition_point(|s| s.pc < placed.record.entry);
        symbols
            .from(first)
            .iter()
            .take_while(|s| s.pc == placed.record.entry)
            .any(|s| is_name_of_part(self.view.string(s.name)))
    }
}

/// Whether a symbol is that of the tail of a partially inlined function.
fn is_name_of_part(name: &[u8]) -> bool {
    name.windows(6).any(|w| w == b".part.")
}

/// The listed addresses of a declaration, entries and inline instances separately.
enum Known {
    Few(Vec<(Pc, bool)>),
    /// `kmalloc` and the like have thousands.
    Many(FxHashSet<(Pc, bool)>),
}

impl Known {
    fn new(most: usize) -> Self {
        if most <= 32 { Self::Few(vec![]) } else { Self::Many(FxHashSet::default()) }
    }
    /// Adds an address. Returns whether it is new.
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

/// Writes a function's probe point in SystemTap's spelling.
pub(super) fn put_point(
    view: &View<'_>,
    object: ObjectId,
    place: Option<(&[u8], u32)>,
    name: &[u8],
    spec: &FunctionSpec,
    kind: probe_point::Kind,
    out: &mut Vec<u8>,
) {
    let (file, line) = place.unwrap_or_default();
    if let probe_point::Kind::Statement { nearest } = kind {
        return probe_point::put_statement(view, object, name, file, line, nearest, out);
    }
    probe_point::put(view, object, name, file, line, spec.filter, out);
    if let Some(most) = spec.maxactive {
        out.extend_from_slice(format!(".maxactive({most})").as_bytes());
    }
}
