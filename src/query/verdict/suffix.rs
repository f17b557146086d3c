//! Symbols with a suffix, such as `foo.cold`: the kernel judges them by the symbol `foo`.
use super::Judge;
use super::unknown::Unknown;
use crate::query::index::functions;
use probeidx_format::id::ObjectId;
use probeidx_format::record::SymbolRecord;

impl Judge<'_, '_> {
    /// A property of the symbol that the kernel finds for a name up to its first dot; `None` without a dot or symbol.
    ///
    /// It looks in vmlinux, then in the loaded modules from the last to the first (`kallsyms_lookup_name`). 7.3 takes a
    /// definition at `node_copy.isra.0`, which has no ftrace site, if dm_persistent_data is loaded, whose `node_copy`
    /// has one.
    ///
    /// # Errors
    /// What is not known, if the property depends on which modules are loaded.
    pub(super) fn of_base<T: Copy + PartialEq>(
        &self,
        object: ObjectId,
        name: &[u8],
        property: impl Fn(ObjectId, SymbolRecord) -> Option<T>,
    ) -> Result<Option<T>, Unknown> {
        let view = self.view;
        let base = memchr::memchr(b'.', name).and_then(|dot| view.name(&name[..dot]));
        let symbols = base.map(|base| view.symbols_named(base)).unwrap_or_default().iter();
        let found = symbols.filter_map(|id| {
            let symbol = functions::symbol(view, id).filter(|s| s.has(SymbolRecord::KEPT))?;
            Some((view.object_of_symbol(id), symbol))
        });
        if let Some((kernel, symbol)) = found.clone().find(|(holder, _)| Some(*holder) == self.kernel) {
            return Ok(property(kernel, symbol));
        }
        let is_loaded = |holder| holder == object || self.running.is_some_and(|r| r.runs(holder));
        let may_be_loaded = |holder| !view.is_user(holder) && (is_loaded(holder) || self.running.is_none());
        let may_be_none = !found.clone().any(|(holder, _)| is_loaded(holder));
        let found = found.filter(|(holder, _)| may_be_loaded(*holder));
        let mut properties =
            may_be_none.then_some(None).into_iter().chain(found.map(|(holder, s)| property(holder, s)));
        let first = properties.next().flatten();
        if properties.all(|other| other == first) { Ok(first) } else { Err(Unknown::MODULES) }
    }
}
