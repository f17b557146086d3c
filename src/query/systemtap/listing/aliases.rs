//! Functions listed under symbol names that the debug information does not have.
use super::probe_sites::{Asked, Each, Met, Probed, Seen, put_point};
use crate::error::Result;
use crate::query::index::functions;
use crate::query::spec::Filter;
use probeidx_format::id::NameId;
use probeidx_format::record::{FunctionRecord, SymbolRecord};

impl<'a> Probed<'a> {
    /// Lists functions whose symbol has this name while the debug information has another: `malloc`, which is
    /// `__libc_malloc` there. SystemTap lists them under the latter (`update_symtab`, tapsets.cxx).
    pub(super) fn aliases(&self, name: NameId, asked: Asked<'_>, each: &mut Each<'_, 'a>) -> Result<()> {
        let Asked { spec, kind, scope } = asked;
        let view = self.view;
        for id in view.symbols_named(name) {
            let Some(symbol) = functions::symbol(view, id) else { continue };
            let object = view.object_of_symbol(id);
            if !symbol.is_function() || !symbol.has(SymbolRecord::DESCRIBED) || !scope.contains(object) {
                continue;
            }
            let Some(placed) = functions::entry_at(view, object, symbol.pc.get()) else { continue };
            let Some(function) = functions::function(view, placed.record) else { continue };
            let (own, file) = (view.string(function.name), view.string(function.file));
            let is_exported = || {
                let own = view.name(self.symbol_name(function));
                own.is_some_and(|own| functions::is_exported(view, object, own))
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
            // A mangled name in the request gives mangled names in the answer (`dwarf_query::add_probe_point`).
            let is_mangled = spec.declared.name.literal_prefix().starts_with("_Z");
            let text = if is_mangled { self.symbol_name(function) } else { own };
            let place = Some((file, function.line.get()));
            let put = |out: &mut Vec<u8>| put_point(view, object, place, text, spec, kind, out);
            let seen = [Seen::at_entry(placed)];
            each(&Met { object, seen: &seen, symbol: None, filter: spec.filter, put: &put })?;
        }
        Ok(())
    }

    /// The name of the function's symbol: its linkage name, if it has one.
    fn symbol_name(&self, function: FunctionRecord) -> &'a [u8] {
        match self.view.string(self.view.variables(function).linkage_name) {
            [] => self.view.string(function.name),
            linkage => linkage,
        }
    }
}
