//! Lists labels and callees of functions like SystemTap (`iterate_over_labels` and `iterate_over_callees`, dwflpp.cxx
//! of 4.8).
use super::probe_sites::{Each, Met, Probed, Seen};
use crate::error::Result;
use crate::query::index::functions::{self, Placed, Scope};
use crate::query::resolve::inner_places::{self, Inlined, Labelled};
use crate::query::spec::{Callee, Filter, FunctionSpec};
use crate::query::systemtap::probe_point;
use crate::query::value::stap_visibility;
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use std::collections::BTreeMap;

/// The places of each line of the listing, by its text.
type Grouped<'a> = BTreeMap<Vec<u8>, (ObjectId, Vec<Seen>)>;

impl<'a> Probed<'a> {
    /// A point for each label, or for each pair of a caller and an inlined callee.
    pub(super) fn within(&mut self, spec: &FunctionSpec, each: &mut Each<'_, 'a>) -> Result<()> {
        let view = self.view;
        let scope = Scope::new(view, &spec.module);
        let labels = spec.label.as_ref().map(|name| inner_places::labels(view, name)).unwrap_or_default();
        let mut places = std::mem::take(&mut self.places);
        let mut grouped = Grouped::new();
        for name in functions::names(view, &spec.declared.name) {
            for declaration in functions::declarations(view, name, spec.declared.file.as_ref()) {
                functions::places(view, &declaration, &scope, &mut places, |object, own| {
                    // With a suffix, SystemTap only searches out-of-line callers (`query_dwarf_func`).
                    let is_asked = |p: &&Placed| match p.is_inline(view) {
                        true => spec.filter == Filter::Any,
                        false => !self.is_part(object, p),
                    };
                    for placed in own.iter().filter(is_asked) {
                        if spec.label.is_some() {
                            for label in inner_places::labels_of(&labels, placed) {
                                self.add_label(object, label, spec, &mut grouped);
                            }
                        } else if let Some(asked) = &spec.callee {
                            inner_places::callees(view, *placed, asked, &mut |found| {
                                self.add_callee(object, found, asked, spec.filter, &mut grouped)
                            });
                        }
                    }
                });
            }
        }
        self.places = places;
        for (text, (object, seen)) in grouped {
            // The return type of a callee is that of its own function.
            let put = |out: &mut Vec<u8>| out.extend_from_slice(&text);
            each(&Met { object, seen: &seen, symbol: None, filter: spec.filter, put: &put })?;
        }
        Ok(())
    }

    fn add_label(&self, object: ObjectId, label: &Labelled, spec: &FunctionSpec, grouped: &mut Grouped<'a>) {
        let view = self.view;
        let Some(function) = functions::function(view, label.placed.record) else { return };
        let (name, file) = (view.string(function.name), view.string(function.file));
        let is_on_line =
            spec.declared.lines.as_ref().is_none_or(|lines| lines.contains(label.line, function.line.get()));
        if is_on_line && !self.is_blocked(name, file, Filter::Any) && !self.is_closed(object, label.pc) {
            let mut text = vec![];
            probe_point::put_label(view, object, name, file, label.line, view.string(label.name), &mut text);
            let own = grouped.entry(text).or_insert_with(|| (object, vec![]));
            own.1.push(Seen { placed: label.placed, pc: Some(label.pc), block: label.block });
        }
    }

    /// SystemTap probes at `DW_AT_low_pc`, which copies in several pieces lack. Returns whether to search the callees
    /// of the callee.
    fn add_callee(
        &self,
        object: ObjectId,
        found: Inlined,
        asked: &Callee,
        filter: Filter,
        grouped: &mut Grouped<'a>,
    ) -> bool {
        let view = self.view;
        let Some(start) = only_start(view, &found.callee) else { return false };
        let functions = [found.caller, found.callee].map(|p| functions::function(view, p.record));
        let [Some(caller), Some(callee)] = functions else { return false };
        let (name, file) = (view.string(callee.name), view.string(callee.file));
        let is_named = matches!(asked, Callee::Named(_));
        if self.is_blocked(name, file, filter) || self.is_closed(object, start) {
            return true;
        }
        let mut text = vec![];
        let filter = if is_named { filter } else { Filter::Any };
        let place = (name, file, callee.line.get());
        probe_point::put_callee(view, object, caller, place, filter, &mut text);
        let pc = (start != found.callee.record.entry.get()).then_some(start);
        let own = grouped.entry(text).or_insert_with(|| (object, vec![]));
        own.1.push(Seen { placed: found.callee, pc, block: stap_visibility::OUTERMOST });
        true
    }
}

/// The start of a copy, if it is in one piece.
fn only_start(view: &View<'_>, placed: &Placed) -> Option<u32> {
    let mut ranges = view.details(placed.id, placed.record).ranges;
    let first = ranges.next()?;
    ranges.next().is_none().then_some(first.start)
}
