//! Which code of a running kernel was patched when it started, so that its instructions are not those of the file.
use super::overlay::Overlay;
use crate::query::index::symbols;
use probeidx_format::View;
use probeidx_format::record::SiteKind;
use std::ops::Range;

/// A part of code that was patched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchedPart {
    /// The run-time address of the symbol that holds it.
    pub function: u64,
    /// The run-time addresses. The first instruction starts with them.
    pub addresses: Range<u64>,
}

/// The parts in what runs, ordered by address; those that overlap are one. Trampolines of static calls are not among them: they are
/// patched again whenever the kernel changes the target. Cost: a look at each site of the index.
pub fn parts(view: &View<'_>, overlay: &Overlay<'_>) -> Vec<PatchedPart> {
    const TRAMPOLINE: &[u8] = b"__SCT__";
    let mut parts: Vec<PatchedPart> = vec![];
    for object in view.object_ids().filter(|object| overlay.runs(*object)) {
        let sites = view.sites_of(object);
        let is_patched = |kind: u8| {
            matches!(SiteKind::from_number(kind), Some(SiteKind::Patched | SiteKind::PatchedWhole))
        };
        for site in sites.iter().filter(|site| is_patched(site.kind)) {
            let pc = site.start.get();
            let Some(held) = symbols::holding(view, object, pc) else { continue };
            if view.string(held.record.name).starts_with(TRAMPOLINE) {
                continue;
            }
            let Some(address) = overlay.address(object, pc) else { continue };
            let addresses = address..address.saturating_add(site.length.into());
            parts.push(PatchedPart { function: address.saturating_sub(held.offset.into()), addresses });
        }
    }
    parts.sort_unstable_by_key(|part| (part.addresses.start, part.addresses.end));
    parts.dedup_by(|next, last| {
        let overlaps = next.addresses.start < last.addresses.end;
        if overlaps {
            last.addresses.end = last.addresses.end.max(next.addresses.end);
        }
        overlaps
    });
    parts
}
