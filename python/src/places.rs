//! Finds placements: all at once, or a page at a time.
//!
//! ```text
//! question ─▶ pages: of a wildcard one for each name, made when it is read; else one
//!                 page ─▶ found: what `--json` has of each placement, owned
//! ```
use crate::failure::{Answer, Failure};
use crate::kernel::Kernel;
use crate::pages::{Page, Pages, Source};
use probeidx::answer::{Answer as Answered, Wanted, answers};
use probeidx::cli::resolve::{is_known, no_variable};
use probeidx::cli::why_not::why_not_with_names;
use probeidx::query::resolve::NameWalk;
use probeidx::query::resolve::placement::Describer;
use probeidx::query::runtime::overlay::Overlay;
use probeidx::query::spec::{Filter, Point};
use probeidx::query::systemtap::alias::At;
use probeidx::render::{aliases, json, tracepoint};
use probeidx::{Argument, Spec};
use probeidx_format::View;
use probeidx_format::id::NameId;
use rustc_hash::FxHashSet;
use serde::Serialize;
use std::sync::Arc;

/// What is asked.
pub struct Question {
    /// Of whom.
    pub kernel: Arc<Kernel>,
    /// As it was written.
    pub texts: Vec<String>,
    /// What that means in this index.
    pub specs: Vec<Spec>,
    /// The values that are wanted; none for all variables.
    pub arguments: Vec<Argument>,
    /// Whether locals are.
    pub locals: bool,
    /// Whether it is told where a variable can be read that cannot be here. `find` does not.
    pub lines: bool,
    /// What a capture of the running kernel changes.
    pub live: Option<Arc<Overlay<'static>>>,
}

/// A placement.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Where it is.
    pub place: Place,
    /// The alias that led there.
    pub alias: Option<aliases::Object<'static>>,
}

/// Where a placement is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Place {
    /// In code.
    Code(Box<json::Object<'static>>),
    /// At a tracepoint.
    Event(Box<tracepoint::Object<'static>>),
    /// Nowhere: the point of an alias that means nothing in this kernel, or is not in the index.
    None(Nowhere),
}

/// A point of an alias that leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Nowhere {
    /// The release.
    pub kernel: String,
    /// `None`.
    pub module: Option<String>,
    /// The point.
    pub probe: String,
    /// `none`, or `unindexed`.
    pub instance: &'static str,
}

/// Placements by name: a page for each name that a pattern matches.
struct ByName {
    question: Question,
    names: Vec<NameId>,
}

impl Question {
    /// The placements.
    ///
    /// # Errors
    /// [`Failure::NotFound`], and those of the library.
    pub fn ask(self) -> Answer<Pages> {
        let kernel = Arc::clone(&self.kernel);
        kernel.ask(|view| {
            let is_pattern = |spec: &Spec| match &spec.point {
                Point::Function(function) => !function.declared.name.is_literal(),
                Point::Statement(statement) => statement.function.as_ref().is_none_or(|f| !f.is_literal()),
                _ => false,
            };
            if let [spec] = &self.specs[..]
                && self.arguments.is_empty()
                && is_pattern(spec)
                && let Some(walk) = NameWalk::of(view, spec)
            {
                return ByName { names: walk.names(view), question: self }.unless_empty(view);
            }
            self.whole(view).map(|page| Pages::One(Arc::new(page)))
        })
    }

    fn wanted(&self) -> Wanted<'_> {
        Wanted {
            locals: self.locals,
            lines: self.lines,
            arguments: &self.arguments,
            running: self.live.as_deref(),
            ..Wanted::default()
        }
    }

    fn whole(&self, view: &View<'_>) -> Answer<Page> {
        let mut page = Page::default();
        let mut seen = vec![false; self.arguments.len()];
        // A single spec gives no placement twice.
        let mut known = FxHashSet::default();
        for spec in &self.specs {
            let is_event = matches!(spec.point, Point::Trace(_));
            answers(view, spec, self.wanted(), &mut |answer| {
                for (seen, argument) in seen.iter_mut().zip(&self.arguments) {
                    let mut values = answer.values().iter();
                    *seen |= is_event || values.any(|v| v.name == argument.text && is_known(v));
                }
                let is_code = matches!(answer, Answered::Code(..));
                let found = Found::of(view, self.kernel.release(), answer);
                let is_new = self.texts.len() == 1
                    || !is_code
                    || known.insert(serde_json::to_vec(&found.place).unwrap_or_default());
                match found.place {
                    _ if !is_new => {}
                    Place::None(_) => page.nowhere.push(found),
                    _ => page.found.push(found),
                }
                Ok(())
            })?;
        }
        if page.found.is_empty() && page.nowhere.is_empty() {
            return Err(self.nothing()?);
        }
        match seen.iter().position(|seen| !seen) {
            Some(at) => Err(no_variable(view, &self.specs, &self.arguments[at]).into()),
            None => Ok(page),
        }
    }

    /// Why there is nothing.
    ///
    /// # Errors
    /// Those of the library.
    pub fn nothing(&self) -> Answer<Failure> {
        let (reasons, near) = why_not_with_names(&self.specs, &self.texts, &self.kernel.index)?;
        Ok(Failure::NotFound(reasons, near))
    }
}

impl Found {
    /// What an answer says.
    pub fn of(view: &View<'_>, release: &str, answer: Answered<'_, '_>) -> Self {
        let code = |placement: &_, filter| {
            Place::Code(Box::new(json::object(view, release.to_owned(), placement, filter)))
        };
        let event = |traced: &_| Place::Event(Box::new(tracepoint::object(view, release.to_owned(), traced)));
        match answer {
            Answered::Code(placement, filter) => Self { place: code(&placement, filter), alias: None },
            Answered::Tracepoint(traced) => Self { place: event(&traced), alias: None },
            Answered::Alias(probe) => {
                let nowhere = |instance| {
                    let (kernel, probe) = (release.to_owned(), probe.named.point.to_owned());
                    Place::None(Nowhere { kernel, module: None, probe, instance })
                };
                let place = match &probe.place {
                    At::Code(placement) => code(placement, probe.filter),
                    At::Trace(traced) => event(traced),
                    At::Nowhere => nowhere("none"),
                    At::Unindexed => nowhere("unindexed"),
                };
                Self { place, alias: Some(aliases::object(&probe.named).into_owned()) }
            }
            // The library may learn of further kinds: they are none of this version.
            _ => {
                let kernel = release.to_owned();
                let probe = String::new();
                Self {
                    place: Place::None(Nowhere { kernel, module: None, probe, instance: "none" }),
                    alias: None,
                }
            }
        }
    }
}

impl ByName {
    fn unless_empty(self, view: &View<'_>) -> Answer<Pages> {
        let is_any = self.walk(view, true, |walk, describer| {
            for name in &self.names {
                let mut any = false;
                walk.of_name(view, *name, describer, |_, _| {
                    any = true;
                    Ok(())
                })?;
                if any {
                    return Ok(true);
                }
            }
            Ok(false)
        })?;
        if is_any { Ok(Pages::of(self)) } else { Err(self.question.nothing()?) }
    }

    fn walk<'a, T>(
        &self,
        view: &'a View<'a>,
        only_where: bool,
        with: impl FnOnce(&mut NameWalk, &mut Describer<'a, '_>) -> probeidx::Result<T>,
    ) -> Answer<T> {
        let spec = &self.question.specs[0];
        let mut walk = NameWalk::of(view, spec).expect("it was one when it was asked");
        let wanted = self.question.wanted();
        let wanted = Wanted { no_values: only_where, no_alternatives: only_where, ..wanted };
        let mut describer = Describer::new(view, wanted, spec.point.filter() == Filter::Return);
        Ok(with(&mut walk, &mut describer)?)
    }
}

impl Source for ByName {
    fn pages(&self) -> usize {
        self.names.len()
    }

    fn page(&self, at: usize) -> Answer<Page> {
        self.question.kernel.ask(|view| {
            self.walk(view, false, |walk, describer| {
                let mut page = Page::default();
                walk.of_name(view, self.names[at], describer, |placement, filter| {
                    let release = self.question.kernel.release();
                    page.found.push(Found::of(view, release, Answered::Code(placement, filter)));
                    Ok(())
                })?;
                Ok(page)
            })
        })
    }

    fn lengths(&self) -> Answer<Vec<usize>> {
        self.question.kernel.ask(|view| {
            self.walk(view, true, |walk, describer| {
                let mut lengths = vec![];
                for name in &self.names {
                    let mut length = 0;
                    walk.of_name(view, *name, describer, |_, _| {
                        length += 1;
                        Ok(())
                    })?;
                    lengths.push(length);
                }
                Ok(lengths)
            })
        })
    }
}
