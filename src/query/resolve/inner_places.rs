//! Places within the code of a function: inlined callees and labels.
use crate::pattern::Pattern;
use crate::query::index::functions::{self, Placed};
use crate::query::spec::{Callee, Declared};
use probeidx_format::View;
use probeidx_format::id::{PlaceId, StrId};
use probeidx_format::labels::Label;

/// A callee that is inlined into a copy of its caller.
#[derive(Clone, Copy, Debug)]
pub struct Inlined {
    /// The copy into which it is inlined.
    pub caller: Placed,
    /// The inlined copy of the called function.
    pub callee: Placed,
}

/// Calls `each` with the inlined callees of a placement; if it returns true, with the callees of that callee too, down
/// to the requested depth. Cost: linear in everything inlined into the placement.
pub fn callees<'a>(view: &View<'a>, caller: Placed, asked: &Callee, each: &mut impl FnMut(Inlined) -> bool) {
    let (declared, depth) = match asked {
        Callee::Named(declared) => (Some(declared), 1),
        Callee::Every { depth } => (None, *depth),
    };
    let is_meant = |callee: &Placed| declared.is_none_or(|d| is_declared(view, callee, d));
    // Inlined copies follow in preorder. `open` holds the enclosing copies and their depth below the caller.
    let mut open = vec![(caller.id, 0)];
    for at in caller.id.index() + 1..view.places.len() {
        let callee = Placed { id: PlaceId::new(at as u32), record: view.places.at(at) };
        let Some(outer) = view.outer(callee.id, callee.record) else { break };
        while open.last().is_some_and(|(id, _)| *id != outer) {
            open.pop();
        }
        let Some(&(_, level)) = open.last() else { break };
        // Copies below one that was not requested are skipped.
        let caller = Placed { id: outer, record: view.places.at(outer.index()) };
        let is_asked = level < depth && is_meant(&callee) && each(Inlined { caller, callee });
        open.push((callee.id, if is_asked { level + 1 } else { u32::MAX }));
    }
}

fn is_declared(view: &View<'_>, placed: &Placed, asked: &Declared) -> bool {
    functions::function(view, placed.record).is_some_and(|f| {
        asked.name.matches(view.string(f.name))
            && asked.file.as_ref().is_none_or(|file| file.matches_path(view.string(f.file)))
            && asked.lines.as_ref().is_none_or(|lines| lines.contains(f.line.get(), f.line.get()))
    })
}

/// A label of a placement.
#[derive(Clone, Copy, Debug)]
pub struct Labelled {
    /// The placement that has the label.
    pub placed: Placed,
    /// The label's name.
    pub name: StrId,
    /// The line of the label, in the function's file.
    pub line: u32,
    /// The address of the label, as a [`Pc`](probeidx_format::id::Pc).
    pub pc: u32,
    /// The lexical block that contains it: see [`Label::block`].
    pub block: u32,
}

/// All labels of a name, by placement and address; placements without an address are left out. Cost: linear in the
/// labels of the index.
pub fn labels<'a>(view: &View<'a>, name: &Pattern) -> Vec<Labelled> {
    let is_meant = |label: &Label| name.matches(view.string(label.name));
    let labelled = |label: Label| {
        let record = view.places.get(label.place.index()).filter(|p| p.entry.get() != 0)?;
        let line = functions::function(view, record)?.line.get().wrapping_add_signed(label.line);
        let pc = record.entry.get().wrapping_add_signed(label.distance);
        Some(Labelled {
            placed: Placed { id: label.place, record },
            name: label.name,
            line,
            pc,
            block: label.block,
        })
    };
    view.labels().filter(is_meant).filter_map(labelled).collect()
}

/// The labels of one placement.
pub fn labels_of<'l>(labels: &'l [Labelled], placed: &Placed) -> &'l [Labelled] {
    let first = labels.partition_point(|l| l.placed.id < placed.id);
    let rest = &labels[first..];
    &rest[..rest.partition_point(|l| l.placed.id == placed.id)]
}
