//! The kernel's own kprobe blacklist.
use crate::query::index::functions::Scope;
use crate::query::index::symbols;
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use probeidx_format::record::{CodeTable, RefusedBy, RefusedRecord};

/// A range of the blacklist.
#[derive(Clone, Copy, Debug)]
pub struct Refused<'a> {
    /// The module's name; `None` for vmlinux.
    pub module: Option<&'a [u8]>,
    /// A link address in vmlinux, an offset within the section in a module.
    pub start: u64,
    /// The end, in the same terms as `start`.
    pub end: u64,
    /// The symbol at the start.
    pub name: &'a [u8],
    /// The section's name; empty if no section holds it.
    pub section: &'a [u8],
    /// Which of the kernel's rules refuses the range.
    pub source: RefusedBy,
}

/// The blacklists of all objects in scope, in the order of `/sys/kernel/debug/kprobes/blacklist`.
pub fn refused<'a>(view: &View<'a>, scope: &Scope) -> Vec<Refused<'a>> {
    scope.objects().flat_map(|object| of_object(view, object)).collect()
}

fn of_object<'a>(view: &View<'a>, object: ObjectId) -> impl Iterator<Item = Refused<'a>> {
    let module = view.objects.get(object.index()).map_or(&[][..], |o| view.string(o.name));
    let is_listed = |range: &&RefusedRecord| range.source.get() != RefusedBy::Head as u32;
    view.refused_of(object).iter().filter(is_listed).map(move |range| {
        let start = range.start.get();
        let section = symbols::section(view, object, start);
        let address = symbols::address_in(view, object, section, start);
        let held = section.and_then(|section| symbols::holding_in(view, object, section, start));
        Refused {
            module: (!module.is_empty()).then_some(module),
            start: address,
            end: address.wrapping_add(range.end.get().saturating_sub(start).into()),
            name: held.map_or(&[], |h| view.string(h.record.name)),
            section: section.map_or(&[], |s| view.string(s.name)),
            source: RefusedBy::from_number(range.source.get()).unwrap_or(RefusedBy::Nokprobe),
        }
    })
}

/// The modules outside this scope that have blacklist ranges of their own.
pub fn other_modules<'a>(view: &View<'a>, asked: &Scope) -> impl Iterator<Item = &'a [u8]> {
    let has_some = |o: &ObjectId| !asked.contains(*o) && !view.refused_of(*o).is_empty();
    view.object_ids().filter(has_some).map(|o| view.string(view.objects[o.index()].name))
}

/// Whether the blacklist of an object may be incomplete because a table could not be read.
pub fn is_unsure(view: &View<'_>, object: ObjectId) -> bool {
    view.objects.get(object.index()).is_some_and(|o| o.unread().has(CodeTable::Blacklist))
}
