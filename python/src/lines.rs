//! The lines of functions and files that have code: a page of placements for each function, or file.
use crate::failure::{Answer, Failure};
use crate::kernel::Kernel;
use crate::pages::{Page, Pages, Source};
use crate::places::Found;
use probeidx::Spec;
use probeidx::answer::{Answer as Answered, Wanted};
use probeidx::cli::why_not::why_not_with_names;
use probeidx::query::resolve::line_listing::{self, Listing};
use probeidx::query::resolve::placement::{Describer, Placement};
use probeidx::query::spec::Filter;
use probeidx_format::View;
use std::sync::Arc;

/// What has code, in the order of the command line.
struct Listed {
    kernel: Arc<Kernel>,
    listings: Vec<Listing>,
}

/// The placements of each line of a function or file.
///
/// # Errors
/// [`Failure::NotFound`]; usage for what has no lines.
pub fn lines(kernel: &Arc<Kernel>, spec: &str) -> Answer<Pages> {
    let specs = probeidx::query::spec::parse(spec)?;
    let asked = specs.iter().map(line_listing::asked).collect::<probeidx::Result<Vec<_>>>()?;
    let listings: Vec<Listing> =
        kernel.ask(|view| Ok(asked.iter().flat_map(|spec| line_listing::lines(view, spec)).collect()))?;
    if listings.is_empty() {
        return Err(nothing(kernel, &specs, spec)?);
    }
    Ok(Pages::of(Listed { kernel: Arc::clone(kernel), listings }))
}

/// Why there is nothing.
///
/// # Errors
/// Those of the library.
pub fn nothing(kernel: &Kernel, specs: &[Spec], text: &str) -> Answer<Failure> {
    let (reasons, near) = why_not_with_names(specs, &[text.to_owned()], &kernel.index)?;
    Ok(Failure::NotFound(reasons, near))
}

/// Calls `each` with the placements of each line of a listing.
fn walk<'a>(
    view: &'a View<'a>,
    listing: &Listing,
    wanted: Wanted<'_>,
    mut each: impl FnMut(Vec<Placement<'a>>),
) -> probeidx::Result<()> {
    let mut describer = Describer::new(view, wanted, false);
    for line in &listing.lines {
        each(line_listing::placements(view, &mut describer, listing.object, line)?);
    }
    Ok(())
}

impl Source for Listed {
    fn pages(&self) -> usize {
        self.listings.len()
    }

    fn page(&self, at: usize) -> Answer<Page> {
        self.kernel.ask(|view| {
            let mut page = Page::default();
            let wanted = Wanted { locals: true, ..Wanted::default() };
            walk(view, &self.listings[at], wanted, |placements| {
                let answers = placements.into_iter().map(|placement| Answered::Code(placement, Filter::Any));
                page.found.extend(answers.map(|answer| Found::of(view, self.kernel.release(), answer)));
            })?;
            Ok(page)
        })
    }

    fn lengths(&self) -> Answer<Vec<usize>> {
        self.kernel.ask(|view| {
            let wanted = Wanted { no_values: true, no_alternatives: true, ..Wanted::default() };
            let length = |listing| {
                let mut length = 0;
                walk(view, listing, wanted, |placements| length += placements.len())?;
                Ok(length)
            };
            self.listings.iter().map(length).collect()
        })
    }
}
