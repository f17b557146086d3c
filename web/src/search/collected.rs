//! What a search wants of an index, and has not in the order in which it is searched.
use probeidx::query::resolve::tracepoint;
use probeidx::query::types::lookup;
use probeidx::tapset::Definitions;
use probeidx_format::View;
use probeidx_format::id::{StrId, TypeId};
use std::collections::BTreeSet;

/// Lists of one kernel, each sorted by name.
pub struct Collected {
    /// Source files that declare functions.
    pub files: Vec<String>,
    /// `system:event`, and where it is declared.
    pub tracepoints: Vec<(String, String)>,
    /// Aliases of the tapsets.
    pub aliases: Vec<String>,
    /// Modules.
    pub modules: Vec<String>,
    /// Members of named structs and unions. Eight bytes each.
    pub members: Vec<(StrId, TypeId)>,
}

impl Collected {
    /// Cost: tens of milliseconds, linear in functions and members.
    pub fn of(view: &View<'_>) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let ids: BTreeSet<u32> = view.functions.owners().iter().map(|function| function.file.get()).collect();
        let mut files: Vec<String> = ids.into_iter().map(|id| text(view.string(StrId::new(id)))).collect();
        files.retain(|file| !file.is_empty());
        files.sort_unstable();
        files.dedup();
        let mut tracepoints: Vec<(String, String)> = tracepoint::all(view)
            .map(|found| {
                let name = format!("{}:{}", text(found.system()), text(found.name()));
                let about =
                    found.declared().map_or(String::new(), |(file, line)| format!("{}:{line}", text(file)));
                (name, about)
            })
            .collect();
        tracepoints.sort_unstable();
        tracepoints.dedup_by(|one, other| one.0 == other.0);
        let definitions = Definitions::of_index(view).ok();
        let names = definitions.as_ref().map(|definitions| definitions.alias_names()).unwrap_or_default();
        let aliases = names.into_iter().filter(|name| !name.starts_with('_')).map(str::to_owned).collect();
        let named = view.object_ids().filter_map(|id| view.objects.get(id.index()));
        let mut modules: Vec<String> = named.map(|object| text(view.string(object.name))).collect();
        modules.retain(|module| !module.is_empty());
        modules.sort_unstable();
        let mut left = view.left(probeidx_format::SectionName::Members);
        let mut members: Vec<(StrId, TypeId)> = vec![];
        for id in lookup::all_named(view).map(|at| TypeId::new(at as u32)) {
            let own = view.members(id);
            // If types have more members than the index, they share members: the index is forged.
            if !left.take(own.len()) {
                break;
            }
            members.extend(own.iter().filter(|member| member.target.some().is_some()).map(|m| (m.name, id)));
        }
        members.sort_by(|(one, _), (other, _)| view.string(*one).cmp(view.string(*other)));
        Self { files, tracepoints, aliases, modules, members }
    }
}
