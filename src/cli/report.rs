//! `probeidx fleet report`: what compilers made of the functions of many kernels, and what changed between them.
use super::config::Config;
use super::exit::Outcome;
use super::output::failed;
use crate::error::Result;
use crate::kernels::side_by_side;
use crate::query::Index;
use crate::query::history::Families;
use crate::query::report::{self, Changes, Kind, Spellings, Step, Surface};
use crate::query::spec::ModuleScope;
use crate::render::report as render;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::Write;
use std::sync::Arc;

/// Counts the shares of the chosen kernels, and the changes between them.
pub fn run(modules: bool, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let objects = if modules { ModuleScope::Any } else { ModuleScope::Kernel };
    let (kernels, indexes): (Vec<_>, Vec<_>) = config.described()?.into_iter().unzip();
    let families = Families::new(&kernels);
    let shares = side_by_side(&indexes, |index| Ok(report::shares(&index.view()?, &objects)));
    let shares = shares.into_iter().collect::<Result<Vec<_>>>()?;
    let changes = changes(&report::steps(&families), &indexes, &objects)?;
    let report = render::Report { families: &families, modules, shares: &shares, changes: &changes };
    let written = match config.json {
        true => render::json(&report, out),
        false => render::text(&report, config.verbose > 0, out),
    };
    written.map_err(failed)?;
    Ok(Outcome::Done)
}

/// The changes of each kind at each step, updates first. Of the kernels, those are in memory that later steps need.
fn changes(
    steps: &[Step],
    indexes: &[Arc<Index>],
    objects: &ModuleScope,
) -> Result<Vec<(Step, Kind, Changes)>> {
    let mut spellings = Spellings::default();
    let mut surfaces: BTreeMap<u32, Surface> = BTreeMap::new();
    let mut found = vec![];
    for (at, step) in steps.iter().enumerate() {
        for kernel in [step.before, step.after] {
            if let Entry::Vacant(surface) = surfaces.entry(kernel) {
                let view = indexes[kernel as usize].view()?;
                surface.insert(Surface::of_kernel(&view, objects, &mut spellings));
            }
        }
        let [before, after] = [step.before, step.after].map(|kernel| &surfaces[&kernel]);
        found.extend(Kind::ALL.map(|kind| (*step, kind, report::changes(before, after, kind))));
        let later = &steps[at + 1..];
        surfaces.retain(|kernel, _| later.iter().any(|step| [step.before, step.after].contains(kernel)));
    }
    found.sort_by_key(|(step, ..)| step.between);
    Ok(found)
}
