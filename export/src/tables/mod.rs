//! The rows of all tables: one walk over the names of all kernels for code, one for types, one for tracepoints.
mod calls;
mod code;
mod members;
mod tracepoints;

use crate::cell::Cell;
use crate::merged::by_name;
use crate::selection::Chosen;
use crate::since::Facts;
use crate::sink::Tables;
use calls::Calls;
use code::CodeFacts;
use probeidx::Result;
use probeidx::answer::Wanted;
use probeidx::cli::args::Table;
use probeidx::query::index::kernel_description::compiler;
use probeidx::query::resolve::NameWalk;
use probeidx::query::resolve::placement::Describer;
use probeidx::query::resolve::tracepoint::{self, Tracepoint};
use probeidx::query::types::lookup;
use probeidx::query::value::parameter_list::ParameterList;
use probeidx::query::verdict::sweep::Sweep;
use probeidx_format::View;
use probeidx_format::id::{NameId, TypeId};
use std::ops::Range;

/// The tables for which placements are described.
pub const OF_CODE: [Table; 5] =
    [Table::Functions, Table::Placements, Table::Arguments, Table::FunctionsSince, Table::PlacementsSince];

/// Kernels that are swept, each of which takes 7 MB: what is known of placements is then found in the order of addresses. Of more
/// kernels, each placement is judged by itself.
const MOST_SWEPT: usize = 64;

/// A kernel of which rows are made.
struct Kernel<'a, 'w> {
    view: &'a View<'a>,
    /// Its position in the order of kernels.
    number: usize,
    /// The name by which it is asked.
    label: &'a str,
    partition: usize,
    describer: Describer<'a, 'w>,
    parameters: ParameterList<'a>,
    all: NameWalk,
    calls: Calls<'a>,
    /// The number of the next placement.
    next_placement: i32,
}

/// Writes the rows of the tables that `out` wants, of these kernels; `views` are those of the kernels.
///
/// # Errors
/// Those of the indexes and of writing.
pub fn write<'a>(chosen: &'a [Chosen], views: &'a [View<'a>], out: &mut Tables<'_, 'a>) -> Result<()> {
    if out.has(Table::Kernels) {
        for (number, chosen) in chosen.iter().enumerate() {
            out.push(Table::Kernels, 0, &chosen.row(number, &views[number]))?;
        }
    }
    let has_code = OF_CODE.iter().any(|table| out.has(*table));
    let sweep = |(number, view)| (has_code && number < MOST_SWEPT).then(|| Sweep::of(view));
    let sweeps: Vec<Option<Sweep>> = views.iter().enumerate().map(sweep).collect();
    let of_each = chosen.iter().zip(views).zip(&sweeps).enumerate();
    let mut kernels: Vec<Kernel<'_, '_>> = of_each
        .map(|(number, ((chosen, view), sweep))| Kernel::new(number, chosen, view, sweep.as_ref()))
        .collect();
    let labels: Vec<String> = chosen.iter().map(|chosen| chosen.label.clone()).collect();
    write_code(&mut kernels, views, &labels, out).map_err(|e| named(chosen, e))?;
    write_members(&kernels, views, &labels, out)?;
    write_tracepoints(&kernels, views, &labels, out)
}

/// The tables that have rows for each name of a function, and can be written in parts.
pub const BY_NAME: [Table; 4] = [Table::Functions, Table::Placements, Table::Arguments, Table::Calls];

/// Writes the rows of some names of a kernel, given by their ranks, to those of the tables [`BY_NAME`] that `out` wants; and gives
/// the number of placements. They are numbered from 0. `sweep` is what is known of all of them.
///
/// # Errors
/// Those of the index and of writing.
pub fn write_names<'a>(
    chosen: &'a Chosen,
    view: &'a View<'a>,
    sweep: Option<&Sweep>,
    names: Range<usize>,
    out: &mut Tables<'_, 'a>,
) -> Result<i32> {
    let mut kernel = Kernel::new(0, chosen, view, sweep);
    let (mut facts, has_calls) = (CodeFacts::default(), out.has(Table::Calls));
    let write = || {
        for at in names {
            let Some(record) = view.names.get(at) else { break };
            let name = (NameId::new(at as u32), view.string(record.name));
            if has_calls {
                calls::rows(&mut kernel, name, out)?;
            } else {
                code::rows(&mut kernel, name, &mut facts, out)?;
            }
        }
        Ok(kernel.next_placement)
    };
    write().map_err(|e| chosen.index.named(e))
}

fn write_code<'a>(
    kernels: &mut [Kernel<'a, '_>],
    views: &'a [View<'a>],
    labels: &[String],
    out: &mut Tables<'_, 'a>,
) -> Result<()> {
    let (has_code, has_calls) = (OF_CODE.iter().any(|table| out.has(*table)), out.has(Table::Calls));
    if !has_code && !has_calls {
        return Ok(());
    }
    let mut facts = CodeFacts::default();
    let name_at = |kernel: usize, at: usize| {
        let view = &views[kernel];
        view.names.get(at).map(|record| view.string(record.name))
    };
    by_name(kernels.len(), name_at, |name, having| {
        for (number, at) in having {
            let id = NameId::new(at.start as u32);
            if has_code {
                code::rows(&mut kernels[*number], (id, name), &mut facts, out)?;
            }
            if has_calls {
                calls::rows(&mut kernels[*number], (id, name), out)?;
            }
        }
        facts.write(labels, out)
    })
}

fn write_members<'a>(
    kernels: &[Kernel<'a, '_>],
    views: &'a [View<'a>],
    labels: &[String],
    out: &mut Tables<'_, 'a>,
) -> Result<()> {
    if ![Table::Members, Table::MembersSince].iter().any(|table| out.has(*table)) {
        return Ok(());
    }
    let ends: Vec<usize> = views.iter().map(|view| lookup::all_named(view).end).collect();
    let name_at = |kernel: usize, at: usize| {
        let view = &views[kernel];
        (at < ends[kernel]).then(|| view.types.get(at).map(|record| view.string(record.name)))?
    };
    let mut facts = Facts::default();
    by_name(kernels.len(), name_at, |_, having| {
        for (number, types) in having {
            for at in types.clone() {
                members::rows(&kernels[*number], TypeId::new(at as u32), &mut facts, out)?;
            }
        }
        facts.write(Table::MembersSince, labels, out)
    })
}

fn write_tracepoints<'a>(
    kernels: &[Kernel<'a, '_>],
    views: &'a [View<'a>],
    labels: &[String],
    out: &mut Tables<'_, 'a>,
) -> Result<()> {
    if ![Table::Tracepoints, Table::TracepointsSince].iter().any(|table| out.has(*table)) {
        return Ok(());
    }
    let all: Vec<Vec<Tracepoint<'_>>> = views.iter().map(|view| tracepoint::all(view).collect()).collect();
    let name_at = |kernel: usize, at: usize| all[kernel].get(at).map(Tracepoint::name);
    let mut facts = Facts::default();
    by_name(kernels.len(), name_at, |_, having| {
        for (number, found) in having {
            for tracepoint in &all[*number][found.clone()] {
                tracepoints::rows(&kernels[*number], tracepoint, &mut facts, out)?;
            }
        }
        facts.write(Table::TracepointsSince, labels, out)
    })
}

/// Adds the index to an error about its content, if there is only one.
fn named(chosen: &[Chosen], error: probeidx::Error) -> probeidx::Error {
    match chosen {
        [only] => only.index.named(error),
        _ => error,
    }
}

impl<'a, 'w> Kernel<'a, 'w> {
    /// A kernel before its first row, with what is known of all its placements.
    fn new(number: usize, chosen: &'a Chosen, view: &'a View<'a>, sweep: Option<&'w Sweep>) -> Self {
        let wanted = Wanted { no_values: true, no_alternatives: true, ..Wanted::default() };
        Self {
            view,
            number,
            label: &chosen.label,
            partition: chosen.partition,
            describer: Describer::new(view, wanted, false).with(sweep),
            parameters: ParameterList::new(view),
            all: NameWalk::all(view),
            calls: Calls::new(view),
            next_placement: 0,
        }
    }
}

impl Chosen {
    /// Its row in `kernels`.
    fn row<'a>(&'a self, number: usize, view: &View<'a>) -> [Cell<'a, 'a>; 10] {
        let id = &self.description.id;
        let release = self.description.release();
        [
            Cell::from(number as u32),
            Cell::from(&*self.label),
            Cell::from(&*id.release),
            Cell::from(self.description.distribution),
            Cell::maybe(self.line.as_deref()),
            Cell::text(release.flavour.as_bytes()),
            Cell::from(id.architecture),
            Cell::maybe(id.build_id.as_deref()),
            Cell::text(compiler(view)),
            Cell::from(view.object_ids().count() as u32),
        ]
    }
}
