//! One attach point of a program, as a front end found it, and what the kernel does with it.
use super::probe_points::{Point, State};
use super::suggestions;
use crate::error::Result;
use crate::query::answer::{self, Answer};
use crate::query::explain;
use crate::query::resolve::placement::{Placement, Wanted};
use crate::query::spec::{self, Attach, Filter, Spec, Spelled};
use crate::query::verdict::Verdict;
use crate::query::verdict::coverage::Reached;
use crate::tapset::Place;
use probeidx_format::View;
use std::path::{Path, PathBuf};

/// Where a program attaches, and with what. Front ends make requests of what they read; [`judge`](Self::judge) is the same
/// for all of them.
#[derive(Clone, Debug)]
pub struct ProbeRequest {
    /// The attach point as written.
    pub text: String,
    /// What it attaches to.
    pub targets: Vec<Spec>,
    /// What it attaches with; `None` if that is left open.
    pub attach: Option<Attach>,
    /// The file that contains it.
    pub path: PathBuf,
    /// Its position there.
    pub place: Place,
}

impl ProbeRequest {
    /// Reads one line of a list of attach points; `None` if it is spelled as SystemTap spells probe points.
    ///
    /// # Errors
    /// Those of [`answer::parse`].
    pub fn of_line(view: &View<'_>, text: &str, path: &Path, place: Place) -> Result<Option<Self>> {
        let targets = answer::parse(view, text)?;
        let is_bare = targets.iter().all(|spec| spec.spelled == Spelled::Bare);
        Ok(is_bare.then(|| Self {
            text: text.to_owned(),
            targets,
            attach: spec::attach(text),
            path: path.to_owned(),
            place,
        }))
    }

    /// What it attaches to on a kernel, and which addresses the kernel accepts. Cost: that of resolving the targets.
    ///
    /// # Errors
    /// Those of [`answers`](answer::answers).
    pub fn judge(&self, view: &View<'_>) -> Result<Point> {
        let mut point = Point::of_text(&self.text, &self.path, self.place);
        let mut reached = Reached::default();
        for spec in &self.targets {
            answer::answers(view, spec, Wanted::default(), &mut |answer| {
                point.probes += 1;
                if let Answer::Code(placement, filter) = &answer {
                    reached.add(self.verdict(placement, *filter));
                }
                Ok(())
            })?;
        }
        point.reached(reached);
        point.state = if point.probes > 0 { State::Resolves } else { State::Fails };
        if point.probes > 0 {
            return Ok(point);
        }
        match self.targets.iter().find_map(|spec| explain::only_inlined(view, spec)) {
            Some((why, places)) => {
                point.why.push(why);
                point.inlined = places;
            }
            None => {
                point.why.push(format!("nothing matches {}", self.text));
                let name = self.text.split(['@', ':', '+', '%']).next().unwrap_or(&self.text);
                point.instead = suggestions::close_to(view, name);
            }
        }
        Ok(point)
    }

    /// The verdict of the mechanism it attaches with. A probe that leaves it open may be SystemTap's, which needs no more
    /// than `register_kprobe`; a return probe is a definition in any case.
    fn verdict(&self, placement: &Placement<'_>, filter: Filter) -> Verdict {
        let verdicts = placement.verdicts;
        match (self.attach, filter == Filter::Return) {
            (Some(Attach::Ftrace), _) => verdicts.ftrace(),
            (Some(Attach::Trampoline), _) => verdicts.trampoline(),
            (_, true) => verdicts.definition(true),
            (Some(Attach::Kprobe), false) => verdicts.definition(false),
            (Some(Attach::Tracepoint) | None, false) => verdicts.any_address(),
        }
    }
}
