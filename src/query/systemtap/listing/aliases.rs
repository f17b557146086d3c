//! Functions under the names that only their symbols have.
use super::probe_sites::{Asked, Each, Met, Probed, Seen, put_point};
use crate::error::Result;
use crate::query::index::functions;
use crate::query::spec::Filter;
use probeidx_format::id::NameId;
use probeidx_format::record::{FunctionRecord, SymbolRecord};

impl<'a> Probed<'a> {
    /// Functions that have a symbol of this name, and another one in the debug information: `malloc`, which is
    /// `__libc_malloc` there. SystemTap lists them under that (`update_symtab`, tapsets.cxx).
    pub(super) fn aliases(&self, name: NameId, asked: Asked<'_>, each: &mut Each<'_, 'a>) -> Result<()> {
        let Asked { spec, kind, scope } = asked;
        let view = self.view;
        for &id in view.symbols_named(name) {
            let Some(symbol) = functions::symbol(&view, id) else { continue };
            let object = view.object_of_symbol(id);
            if !symbol.is_function() || !symbol.has(SymbolRecord::DESCRIBED) || !scope.contains(object) {
                continue;
            }
            let Some(placed) = functions::entry_at(&view, object, symbol.pc.get()) else { continue };
            let Some(function) = functions::function(&view, placed.record) else { continue };
            let (own, file) = (view.string(function.name), view.string(function.file));
            let is_exported = || {
                let own = view.name(self.symbol_name(function));
                own.is_some_and(|own| functions::is_exported(&view, object, own))
            };
            if spec.declared.name.matches(own)
                || spec.declared.file.as_ref().is_some_and(|asked| !asked.matches_path(file))
                || !functions::passes(spec.filter, false)
                || (spec.filter == Filter::Exported && !is_exported())
                || self.is_blocked(own, file, spec.filter)
                || self.is_closed(object, symbol.pc.get())
                || self.is_part(object, &placed)
            {
                continue;
            }
            // Who asks by a mangled name is answered with one (`dwarf_query::add_probe_point`).
            let is_mangled = spec.declared.name.literal_prefix().starts_with("_Z");
            let text = if is_mangled { self.symbol_name(function) } else { own };
            let place = Some((file, function.line.get()));
            let put = |out: &mut Vec<u8>| put_point(&view, object, place, text, spec, kind, out);
            let seen = [Seen::at_entry(placed)];
            each(&Met { object, seen: &seen, symbol: None, filter: spec.filter, put: &put })?;
        }
        Ok(())
    }

    /// What the function's symbol is called: its linkage name, if it has one.
    fn symbol_name(&self, function: &FunctionRecord) -> &'a [u8] {
        match self.view.string(self.view.variables(function).linkage_name) {
            [] => self.view.string(function.name),
            linkage => linkage,
        }
    }
}
