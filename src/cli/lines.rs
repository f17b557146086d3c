//! `probeidx lines`
use super::args::Lines;
use super::config::Config;
use super::exit::Outcome;
use super::note;
use super::output::failed;
use super::processes;
use super::several::Several;
use super::source::{Places, Source};
use super::why_not::Reasons;
use crate::error::Result;
use crate::query::index::functions::Placed;
use crate::query::resolve::line_listing::{self, Line, Listing, Point};
use crate::query::resolve::placement::{Describer, Placement, Wanted};
use crate::query::spec;
use crate::query::spec::{Filter, StatementSpec};
use crate::render::{json, lines as text};
use probeidx_format::View;
use probeidx_format::id::StrId;
use rustc_hash::FxHashMap;
use std::io::Write;
use std::rc::Rc;

/// Shows which lines of functions or files can be probed.
pub fn run(args: &Lines, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let specs = spec::parse(&args.spec)?;
    let mut outcome = Outcome::Nothing;
    let mut reasons = Reasons::new(std::slice::from_ref(&args.spec));
    let files = processes::asked(config, &specs)?;
    let mut several = Several::new(config, files.len());
    for (file, specs) in files {
        let asked: Vec<StatementSpec> = specs.iter().map(line_listing::asked).collect::<Result<_>>()?;
        let index = config.open(&file)?;
        let view = &index.view()?;
        let out = &mut several.below(view, out);
        let release = String::from_utf8_lossy(view.release());
        let places = Places::new(args.source.as_deref(), &release);
        let mut shown = Shown {
            view,
            release: &release,
            describer: Describer::new(view, Wanted { locals: true, ..Wanted::default() }, false),
            places,
            sources: FxHashMap::default(),
            config,
        };
        let mut found = false;
        for listing in asked.iter().flat_map(|spec| line_listing::lines(view, spec)) {
            found = true;
            shown.listing(&listing, out)?;
        }
        if found {
            outcome = Outcome::Done;
        } else {
            several.lacks(view, None);
            reasons.missed(specs, &index);
        }
    }
    if outcome == Outcome::Nothing { reasons.nothing(config) } else { several.end(outcome, out) }
}

/// The listings of one index.
struct Shown<'a, 'c> {
    view: &'a View<'a>,
    release: &'c str,
    describer: Describer<'a, 'static>,
    places: Places,
    /// The source texts by file; `None` for one that is missing or of another kernel.
    sources: FxHashMap<StrId, Option<Rc<Source>>>,
    config: &'c Config,
}

impl<'a> Shown<'a, '_> {
    fn listing(&mut self, listing: &Listing, out: &mut dyn Write) -> Result<()> {
        if self.config.json {
            return listing.lines.iter().try_for_each(|line| self.json(listing, line, out));
        }
        let view = self.view;
        let source = self.source(listing);
        let style = crate::render::text::Style { color: self.config.color };
        text::heading(view, listing, source.as_ref().map(|s| s.path.as_path()), style, out)
            .map_err(failed)?;
        let declared = listing.function.map_or(0, |f| f.line);
        let mut due = if declared > 0 { Some(declared) } else { None };
        for line in &listing.lines {
            if let (Some(source), Some(due)) = (&source, due) {
                for number in due..line.number {
                    let plain = source.line(number).unwrap_or_default();
                    text::plain(number, declared, plain, style, out).map_err(failed)?;
                }
            }
            due = line.number.checked_add(1);
            let shown: Vec<&Point> = match self.config.verbose {
                0 => line_listing::best(view, &self.describer.judge, listing.object, &line.points)
                    .into_iter()
                    .collect(),
                _ => line.points.iter().collect(),
            };
            let mut points = vec![];
            for point in shown {
                points.extend(point.described(&mut self.describer, listing.object)?);
            }
            let inlined = self.inlined(listing, line)?;
            let plain = source.as_ref().and_then(|s| s.line(line.number));
            text::line(line, declared, &points, &inlined, plain, style, out).map_err(failed)?;
        }
        Ok(())
    }

    fn json(&mut self, listing: &Listing, line: &Line, out: &mut dyn Write) -> Result<()> {
        let view = self.view;
        for placement in line_listing::placements(view, &mut self.describer, listing.object, line)? {
            json::placement(view, self.release, &placement, Filter::Any, out).map_err(failed)?;
        }
        Ok(())
    }

    /// The placements inlined at a line, each at the start of its first copy.
    fn inlined(&mut self, listing: &Listing, line: &Line) -> Result<Vec<Placement<'a>>> {
        let mut found = vec![];
        for placed in line.inlined.iter().filter(|p: &&Placed| p.record.entry.get() != 0) {
            found.extend(self.describer.statement(listing.object, *placed, placed.record.entry.get())?);
        }
        Ok(found)
    }

    /// The text of the listing's file, read once for all objects with code of it.
    fn source(&mut self, listing: &Listing) -> Option<Rc<Source>> {
        let Self { view, places, config, .. } = &*self;
        let read = || match places.read(view, listing.file) {
            Ok(source) => source.map(Rc::new),
            Err(differs) => {
                let path = differs.path.display();
                let what = "is of another kernel: the functions stand in other lines there";
                note(config, &format!("{path} {what}"));
                None
            }
        };
        let known = self.sources.get(&listing.file).cloned();
        let source = known.unwrap_or_else(read);
        self.sources.entry(listing.file).or_insert(source).clone()
    }
}
