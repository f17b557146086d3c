//! `calls`: who reaches the functions of one name.
use super::Kernel;
use crate::cell::Cell;
use crate::sink::Tables;
use probeidx::Result;
use probeidx::cli::args::Table;
use probeidx::query::callers::Finder;
use probeidx::query::index::functions::{self, Scope};
use probeidx::query::spec::ModuleScope;
use probeidx_format::View;
use probeidx_format::id::NameId;

/// Finds the calls of a kernel.
pub struct Calls<'a> {
    finder: Finder<'a>,
    any: Scope,
}

impl<'a> Calls<'a> {
    /// Starts with what an index has.
    pub fn new(view: &'a View<'a>) -> Self {
        Self { finder: Finder::new(view, false), any: Scope::new(view, &ModuleScope::Any) }
    }
}

/// The rows of a name in one kernel.
///
/// # Errors
/// Those of writing.
pub fn rows<'a>(
    kernel: &mut Kernel<'a, '_>,
    name: (NameId, &'a [u8]),
    out: &mut Tables<'_, 'a>,
) -> Result<()> {
    let Kernel { view, calls: Calls { finder, any }, label, partition, .. } = kernel;
    for declaration in functions::declarations(view, name.0, None) {
        let Some(callee) = finder.of(declaration, any) else { continue };
        for caller in &callee.callers {
            let gone = caller.sites.iter().filter(|site| site.gone.is_some()).count() as u32;
            let module = view.objects.get(caller.object.index()).map(|object| view.string(object.name));
            let row = [
                Cell::from(*label),
                Cell::Lasting(name.1),
                Cell::lasting(view.string(declaration.file)),
                Cell::line(declaration.line),
                Cell::from(caller.kind.name()),
                Cell::lasting(caller.function),
                Cell::lasting(caller.file),
                Cell::line(caller.line),
                Cell::lasting(module.unwrap_or_default()),
                Cell::from(caller.sites.len() as u32 - gone),
                Cell::from(gone),
            ];
            out.push(Table::Calls, *partition, &row)?;
        }
    }
    Ok(())
}
