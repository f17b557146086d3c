//! Resolves a spec to its placements.
pub mod best_address;
pub mod by_name;
pub mod defined;
pub mod event;
pub mod inner_places;
mod labels_and_callees;
pub mod line_listing;
pub mod placement;
pub mod statement;
pub mod tracepoint;
pub mod tracepoint_values;

use super::index::functions::{self, Declaration, Placed, Scope};
use super::index::{line_table, symbols, user_object};
use super::spec::{
    AddressKind, AddressSpec, Filter, FunctionSpec, Lines, ModuleScope, Point, Spec, Spelled, StatementSpec,
};
use super::verdict::coverage::Coverage;
use crate::error::{Error, ErrorKind, Result};
use crate::pattern::Pattern;
use placement::{Describer, Placement, Source, Wanted};
use probeidx_format::View;
use probeidx_format::id::{NameId, ObjectId, SymbolId};
use std::rc::Rc;

/// Calls `each` with every placement of a spec, ordered by name, file and line of the declaration, then by object, then
/// as in the debug information. Includes what SystemTap leaves out of its listings.
///
/// # Errors
/// [`ErrorKind::Usage`] for kinds of specs that cannot be resolved, and any error that `each` returns.
pub fn resolve<'a>(
    view: &'a View<'a>,
    spec: &Spec,
    wanted: Wanted<'_>,
    mut each: impl FnMut(Placement<'a>, Filter) -> Result<()>,
) -> Result<()> {
    let mut describer = Describer::new(view, wanted, spec.point.filter() == Filter::Return);
    match &spec.point {
        Point::Function(function) => resolve_function(view, function, &mut describer, &mut each),
        Point::Statement(statement) => match as_function(view, statement, spec.spelled) {
            Some(function) => resolve_function(view, &function, &mut describer, &mut each),
            None => statement::resolve(view, statement, &mut describer, &mut each),
        },
        Point::Address(address) => resolve_address(view, address, &mut describer, &mut each),
        // Tracepoints are not code: see `tracepoint_values`.
        Point::Trace(_) => Err(Error::new(ErrorKind::Usage, "a tracepoint has no placement in code")
            .hint("use: probeidx resolve, or find")),
        Point::Alias(_) => Err(not_resolved("tapset aliases")),
    }
}

pub(crate) fn not_resolved(what: &str) -> Error {
    Error::new(ErrorKind::Usage, format!("{what} cannot be resolved by this version"))
        .hint("ask for functions: NAME, NAME@FILE, kernel.function(\"NAME\")")
}

/// `NAME@FILE` means the function itself. So do a bare `NAME@FILE:LINE` whose LINE is that of the declaration, and
/// `NAME:0`, which is the same line.
pub(crate) fn as_function(
    view: &View<'_>,
    statement: &StatementSpec,
    spelled: Spelled,
) -> Option<FunctionSpec> {
    let name = statement.function.clone()?;
    let mut spec = FunctionSpec::of(statement.module.clone(), name);
    spec.declared.file.clone_from(&statement.file);
    let Some(lines) = &statement.lines else { return Some(spec) };
    let is_one = match lines {
        Lines::Absolute(ranges) => matches!(&ranges[..], [only] if only.start() == only.end()),
        Lines::Relative(ranges) => ranges[..] == [0..=0],
        Lines::All => false,
    };
    if spelled == Spelled::Systemtap || !is_one {
        return None;
    }
    let names = functions::names(view, &spec.declared.name);
    let mut declared =
        names.iter().flat_map(|n| functions::declarations(view, *n, spec.declared.file.as_ref()));
    let is_declared_there = declared.any(|d| lines.contains(d.line, d.line));
    spec.declared.lines = Some(lines.clone());
    is_declared_there.then_some(spec)
}

/// The placements of a pattern, name by name: what [`resolve`] gives for it, for walks that stop between names.
pub struct NameWalk {
    spec: FunctionSpec,
    scope: Scope,
    scratch: Vec<Placed>,
}

impl NameWalk {
    /// A walk over all functions. Cost: none to speak of.
    pub fn all(view: &View<'_>) -> Self {
        Self::of_functions(
            view,
            FunctionSpec::of(ModuleScope::Any, Pattern::new("*").expect("a star is a pattern")),
        )
    }

    /// A walk over the functions that a spec means; `None` if it means something else than functions, or places within
    /// them. Cost: none to speak of.
    pub fn of(view: &View<'_>, spec: &Spec) -> Option<Self> {
        let functions = match &spec.point {
            Point::Function(function) => function.clone(),
            Point::Statement(statement) => as_function(view, statement, spec.spelled)?,
            _ => return None,
        };
        let is_whole = functions.label.is_none() && functions.callee.is_none();
        is_whole.then(|| Self::of_functions(view, functions))
    }

    fn of_functions(view: &View<'_>, spec: FunctionSpec) -> Self {
        Self { scope: Scope::new(view, &spec.module), spec, scratch: vec![] }
    }

    /// The names that the pattern matches, in the order of [`resolve`]. Cost: that of [`functions::names`].
    pub fn names(&self, view: &View<'_>) -> Vec<NameId> {
        functions::names(view, &self.spec.declared.name)
    }

    /// Calls `each` with every placement of a name, in the order of [`resolve`].
    ///
    /// # Errors
    /// Any that `each` returns.
    pub fn of_name<'a>(
        &mut self,
        view: &'a View<'a>,
        name: NameId,
        describer: &mut Describer<'a, '_>,
        mut each: impl FnMut(Placement<'a>, Filter) -> Result<()>,
    ) -> Result<()> {
        let Self { spec, scope, scratch } = self;
        resolve_name(view, name, spec, scope, scratch, describer, &mut each)
    }
}

fn resolve_function<'a>(
    view: &'a View<'a>,
    spec: &FunctionSpec,
    describer: &mut Describer<'a, '_>,
    each: &mut impl FnMut(Placement<'a>, Filter) -> Result<()>,
) -> Result<()> {
    if spec.label.is_some() || spec.callee.is_some() {
        return labels_and_callees::resolve(view, spec, describer, each);
    }
    let scope = Scope::new(view, &spec.module);
    let mut scratch = vec![];
    for name in functions::names(view, &spec.declared.name) {
        resolve_name(view, name, spec, &scope, &mut scratch, describer, each)?;
    }
    Ok(())
}

fn resolve_name<'a>(
    view: &'a View<'a>,
    name: NameId,
    spec: &FunctionSpec,
    scope: &Scope,
    scratch: &mut Vec<Placed>,
    describer: &mut Describer<'a, '_>,
    each: &mut impl FnMut(Placement<'a>, Filter) -> Result<()>,
) -> Result<()> {
    let mut found = false;
    for declaration in functions::declarations(view, name, spec.declared.file.as_ref()) {
        if !is_meant(&declaration, spec) {
            continue;
        }
        let mut result = Ok(());
        functions::places(view, &declaration, scope, scratch, |object, own| {
            found = true;
            if result.is_ok()
                && (spec.filter != Filter::Exported || functions::is_exported(view, object, name))
            {
                result = resolve_in(view, object, own, spec, describer, each);
            }
        });
        result?;
    }
    // A wildcard matches functions, not the padding before them.
    let is_padding = !spec.declared.name.is_literal() && symbols::is_prefix_name(view, name);
    if !found && !is_padding && functions::is_by_name_only(spec) && spec.filter != Filter::Inline {
        resolve_symbols(view, name, scope, spec, describer, each)?;
    }
    Ok(())
}

/// Resolves names for which the debug information has no code: assembly, clones such as `do_open.isra.0`, functions
/// that were merged with others.
fn resolve_symbols<'a>(
    view: &'a View<'a>,
    name: NameId,
    scope: &Scope,
    spec: &FunctionSpec,
    describer: &mut Describer<'a, '_>,
    each: &mut impl FnMut(Placement<'a>, Filter) -> Result<()>,
) -> Result<()> {
    for id in view.symbols_named(name) {
        let object = view.object_of_symbol(id);
        // An untyped label is matched only by its exact name: a wildcard asks for functions.
        let is_code = functions::symbol(view, id).is_some_and(|s| {
            s.is_function() || (spec.declared.name.is_literal() && symbols::is_code(view, object, s))
        });
        if !is_code || !scope.contains(object) || is_described_as(view, object, id, &spec.declared.name) {
            continue;
        }
        let described = match spec.offset {
            None => describer.symbol(object, id)?,
            Some(offset) => {
                let symbol = view.symbols.at(id.index());
                let length = u64::from(symbol.size.get());
                if length > 0 && offset >= length {
                    return Err(beyond(view, object, symbol.pc.get(), offset, length));
                }
                let pc = u64::from(symbol.pc.get()) + offset;
                match u32::try_from(pc).ok().map(|pc| (pc, functions::holding(view, object, pc))) {
                    Some((pc, Some(placed))) => describer.statement(object, placed, pc)?,
                    Some((pc, None)) => describer.within_symbol(object, pc),
                    None => None,
                }
            }
        };
        if let Some(described) = described {
            each(described, spec.filter)?;
        }
    }
    Ok(())
}

/// Whether a function that the pattern also matches starts at the symbol, so that the placement is already listed.
fn is_described_as(view: &View<'_>, object: ObjectId, id: SymbolId, asked: &Pattern) -> bool {
    let at = functions::symbol(view, id).and_then(|s| functions::entry_at(view, object, s.pc.get()));
    at.and_then(|p| functions::function(view, p.record)).is_some_and(|f| asked.matches(view.string(f.name)))
}

/// SystemTap ignores the line in `function("NAME@FILE:LINE")` if it declares no function, and so does this; but if the
/// file has several functions of that name, the line selects one.
fn is_meant(declaration: &Declaration, spec: &FunctionSpec) -> bool {
    spec.declared.lines.as_ref().is_none_or(|lines| lines.contains(declaration.line, declaration.line))
}

fn resolve_in<'a>(
    view: &'a View<'a>,
    object: ObjectId,
    own: &[Placed],
    spec: &FunctionSpec,
    describer: &mut Describer<'a, '_>,
    each: &mut impl FnMut(Placement<'a>, Filter) -> Result<()>,
) -> Result<()> {
    let coverage = Rc::new(Coverage::of(view, &describer.judge, object, own));
    let passes = |placed: &&Placed| functions::passes(spec.filter, placed.is_inline(view));
    for placed in own.iter().filter(|p| spec.filter == Filter::Any || passes(p)) {
        let described = match spec.offset {
            None => describer.placement(object, *placed, Rc::clone(&coverage))?,
            // An offset counts from the entry of a function, and an inlined copy has none.
            Some(_) if placed.is_inline(view) => continue,
            Some(offset) => {
                let pc = u32::try_from(offset).ok().and_then(|o| placed.record.entry.get().checked_add(o));
                let whole = view.details(placed.id, placed.record).ranges;
                let Some(pc) = pc.filter(|pc| whole.clone().any(|r| r.contains(*pc))) else {
                    let length: u64 = whole.map(|r| u64::from(r.end.wrapping_sub(r.start))).sum();
                    return Err(beyond(view, object, placed.record.entry.get(), offset, length));
                };
                let inner = functions::holding(view, object, pc).unwrap_or(*placed);
                {
                    let statement = describer.statement(object, inner, pc)?;
                    statement.map(|s| Placement { coverage: Rc::clone(&coverage), ..s })
                }
            }
        };
        if let Some(described) = described {
            each(described, spec.filter)?;
        }
    }
    Ok(())
}

/// The error for an offset beyond the end of the function at `entry`.
fn beyond(view: &View<'_>, object: ObjectId, entry: u32, offset: u64, length: u64) -> Error {
    let what = format!("offset {offset:#x} lies beyond the function, which has {length:#x} bytes");
    let error = Error::new(ErrorKind::NoMatch, what);
    let pc = u32::try_from(offset).ok().and_then(|o| entry.checked_add(o));
    match pc.and_then(|pc| symbols::holding(view, object, pc)) {
        Some(held) => {
            let name = String::from_utf8_lossy(view.string(held.record.name));
            error.hint(format!("the address is {name}+{:#x}", held.offset))
        }
        None => error,
    }
}

fn resolve_address<'a>(
    view: &'a View<'a>,
    spec: &AddressSpec,
    describer: &mut Describer<'a, '_>,
    each: &mut impl FnMut(Placement<'a>, Filter) -> Result<()>,
) -> Result<()> {
    // A bare address belongs to vmlinux: module addresses are section offsets.
    let scope = match &spec.module {
        ModuleScope::Any if user_object::path(view).is_none() => Scope::new(view, &ModuleScope::Kernel),
        asked => Scope::new(view, asked),
    };
    for object in scope.objects() {
        let base = view.objects[object.index()].base.get();
        let Ok(mut pc) = u32::try_from(spec.address.wrapping_sub(base)) else { continue };
        let mut source = None;
        if let AddressKind::Statement { nearest } = spec.kind {
            let Some(row) = line_table::at(view, object, pc) else { continue };
            if row.pc != pc && !nearest {
                return Err(within_statement(spec.address, row.pc.wrapping_sub(pc)));
            }
            pc = row.pc;
            source = Some(Source { is_best: true, is_systemtap: true, ..Source::of(view, row) });
        }
        let described = match functions::holding(view, object, pc) {
            Some(placed) => describer.statement(object, placed, pc)?,
            None => describer.within_symbol(object, pc),
        };
        if let Some(described) = described {
            each(Placement { source, ..described }, spec.filter)?;
        }
    }
    Ok(())
}

/// The error for an address within a statement; `shift` is the distance to the statement's start.
pub(super) fn within_statement(address: u64, shift: u32) -> Error {
    let start = address.wrapping_add_signed(i64::from(shift as i32));
    let what = format!("{address:#x} does not match the beginning of a statement");
    Error::new(ErrorKind::NoMatch, what).hint(format!("try {start:#x}"))
}
