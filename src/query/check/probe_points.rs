//! The probe points of a script: what each resolves to, and which handlers run there.
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use probeidx_format::View;
use probeidx_format::id::ObjectId;

use super::assumptions::Assumed;
use super::suggestions;
use crate::error::ErrorKind;
use crate::query::index::functions;
use crate::query::spec::{self, Point as Asked, Spec};
use crate::query::systemtap::derive::{Derived, Deriver, Place, Visited};
use crate::query::verdict::coverage::{self, Reached};
use crate::query::verdict::reason::Reason;
use crate::query::verdict::unknown::Unknown;
use crate::query::verdict::{Judge, Verdict};
use crate::tapset::ast::{self, Alias, Expression};
use crate::tapset::handler::Program;
use crate::tapset::{Definitions, Place as Written};

/// A probe point of a script on one kernel.
#[derive(Clone, Debug)]
pub struct Point {
    /// Its position in the file.
    pub place: Written,
    /// The file that contains it.
    pub path: PathBuf,
    /// The point as written: `vm.pagefault`, `kernel.function("vfs_*")?`.
    pub point: String,
    /// The result.
    pub state: State,
    /// The number of probes it makes.
    pub probes: usize,
    /// The number of kernel addresses that they are at.
    pub addresses: usize,
    /// The number of addresses that the kernel accepts.
    pub reachable: usize,
    /// The number of inlined copies, which other tools miss when probing the name. Of a point that fails: the function is
    /// only inlined.
    pub inlined: usize,
    /// The number of further inlined copies in code that is gone once the kernel runs, which SystemTap leaves out.
    /// Counted if the point names a function.
    pub left_out: usize,
    /// The reasons for refusals, the most frequent first.
    pub refused: Vec<(Reason, u32)>,
    /// The number of addresses whose verdict is undecided.
    pub undecided: usize,
    /// What is not known about these.
    pub unknown: Unknown,
    /// Why it fails: a reason for each point that matches nothing, be it written in the script or reached through an
    /// alias.
    pub why: Vec<String>,
    /// Replacements to suggest, the likeliest first.
    pub instead: Vec<String>,
}

/// The result for a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has probes.
    Resolves,
    /// It matches nothing, but is optional.
    Nothing,
    /// An earlier point of its probe was sufficient.
    Skipped,
    /// It is in a program or module that is not indexed.
    Unindexed,
    /// It matches nothing, but is required.
    Fails,
}

impl State {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Resolves => "resolves",
            Self::Nothing => "nothing",
            Self::Skipped => "skipped",
            Self::Unindexed => "unindexed",
            Self::Fails => "fails",
        }
    }
}

/// The largest number of reasons for a point that fails: one that stands for thousands could have as many.
const REASONS: usize = 8;

/// Turns points into probes and gathers their handlers.
pub(super) struct Deriving<'a> {
    view: &'a View<'a>,
    definitions: &'a Definitions<'a>,
    deriver: Deriver<'a, 'a>,
    judge: Judge<'a, 'static>,
    pub program: Program<'a>,
}

impl<'a> Deriving<'a> {
    pub fn new(view: &'a View<'a>, definitions: &'a Definitions<'a>, program: Program<'a>) -> Self {
        let deriver = Deriver::new(view, definitions).guru(program.is_guru());
        let judge = Judge::new(view);
        Self { view, definitions, deriver, judge, program }
    }

    /// The points of a probe, from left to right; after a sufficient one that matches, the rest is skipped.
    pub fn probe(&mut self, probe: &'a ast::Probe) -> Vec<Point> {
        let mut points: Vec<Point> = vec![];
        let mut enough = false;
        for point in &probe.points {
            let checked = if enough { Point::new(point, probe) } else { self.point(point, probe) };
            enough |= point.sufficient && checked.probes > 0;
            points.push(checked);
        }
        points
    }

    fn point(&mut self, point: &'a ast::Point, probe: &'a ast::Probe) -> Point {
        let mut checked = Point::new(point, probe);
        let Self { view, definitions, deriver, judge, program } = self;
        let mut gathered = Gathered::default();
        // Handlers with the same answers count as one.
        let mut handlers: HashSet<(Vec<*const Alias>, u64)> = HashSet::new();
        let found = deriver.visit(point, &mut |visited| {
            match visited {
                Visited::Derived(derived) => {
                    gathered.probe(view, judge, &derived);
                    let seen = Assumed::new(&derived);
                    let through = own(definitions, derived.through);
                    let parts = parts(&through, &probe.body);
                    let key = through.iter().map(|alias| std::ptr::from_ref(*alias)).collect();
                    if handlers.insert((key, seen.fingerprint(&parts))) {
                        let conditions = conditions(derived.conditions, point, &through);
                        program.add(&parts, &conditions, &seen);
                    }
                }
                Visited::Failed(failed) if !failed.optional => {
                    gathered.failed = true;
                    if gathered.why.len() < REASONS {
                        let (why, instead) = suggestions::of_failed(view, failed);
                        gathered.why.push(why);
                        gathered.instead.extend(instead);
                    }
                }
                Visited::Missing(missing) => {
                    gathered.failed = true;
                    gathered.missing.get_or_insert_with(|| missing.briefly());
                }
                Visited::Failed(_) => {}
            }
            Ok(())
        });
        let found = found.unwrap_or_else(|error| {
            gathered.failed |= !point.optional || error.kind() == ErrorKind::IndexDamaged;
            gathered.why.push(error.message().to_owned());
            false
        });
        checked.probes = gathered.probes;
        checked.state = match (found, point.optional) {
            _ if gathered.failed => State::Fails,
            (true, _) if gathered.unindexed > 0 => State::Unindexed,
            (true, _) => State::Resolves,
            (false, true) => State::Nothing,
            (false, false) => State::Fails,
        };
        if gathered.why.is_empty() && !found {
            gathered.why.extend(first_reason(deriver, point));
        }
        if gathered.why.is_empty() {
            gathered.why.extend(gathered.missing.take());
        }
        gathered.why.dedup();
        (checked.why, checked.instead) = (gathered.why, gathered.instead);
        checked.inlined = gathered.inlined;
        if checked.inlined > 0 {
            checked.left_out = left_out(view, &point.components);
        }
        let mut reached = Reached::default();
        gathered.places.into_values().for_each(|verdict| reached.add(verdict));
        checked.reached(reached);
        checked
    }
}

#[derive(Default)]
struct Gathered {
    probes: usize,
    unindexed: usize,
    inlined: usize,
    failed: bool,
    why: Vec<String>,
    instead: Vec<String>,
    /// The reason, if an alias requires something although each of its points is optional.
    missing: Option<String>,
    /// The addresses, each with its verdict.
    places: BTreeMap<(u32, u32), Verdict>,
}

impl Gathered {
    fn probe(&mut self, view: &View<'_>, judge: &Judge<'_, '_>, derived: &Derived<'_>) {
        self.probes += 1;
        let (object, pc, is_inline) = match derived.place {
            Place::Code { object, seen, .. } => {
                let record = seen.placed.record;
                let is_inline = seen.pc.is_none() && seen.placed.is_inline(view);
                (object, seen.pc.unwrap_or(record.entry.get()), is_inline)
            }
            Place::Symbol { object, symbol, .. } => match functions::symbol(view, symbol) {
                Some(symbol) => (object, symbol.pc.get(), false),
                None => return,
            },
            Place::Address { object, pc } => (object, pc, false),
            Place::Unindexed => return self.unindexed += 1,
            Place::Trace(_) | Place::Nowhere => return,
        };
        let key = (ObjectId::index(object) as u32, pc);
        self.inlined += usize::from(is_inline && !self.places.contains_key(&key));
        self.places.entry(key).or_insert_with(|| judge.verdicts(object, pc, is_inline).any_address());
    }
}

impl Point {
    /// A point without results yet.
    pub(super) fn of_text(text: &str, path: &Path, place: Written) -> Self {
        Self {
            place,
            path: path.to_owned(),
            point: text.to_owned(),
            state: State::Skipped,
            probes: 0,
            addresses: 0,
            reachable: 0,
            inlined: 0,
            left_out: 0,
            refused: vec![],
            undecided: 0,
            unknown: Unknown::NOTHING,
            why: vec![],
            instead: vec![],
        }
    }

    /// Adds the verdicts on its addresses.
    pub(super) fn reached(&mut self, reached: Reached) {
        let Reached { total, reachable, mut refused, undecided, unknown } = reached;
        refused.sort_by_key(|(reason, count)| (std::cmp::Reverse(*count), reason.name()));
        (self.addresses, self.reachable, self.refused) = (total as usize, reachable as usize, refused);
        (self.undecided, self.unknown) = (undecided as usize, unknown);
    }

    fn new(point: &ast::Point, probe: &ast::Probe) -> Self {
        let place = point.components.first().map_or(probe.place, |c| c.place);
        Self::of_text(&point.to_string(), Path::new(""), place)
    }
}

/// The number of copies of a function in code that is gone once the kernel runs.
fn left_out(view: &View<'_>, components: &[ast::Component]) -> usize {
    let Ok(Spec { point: Asked::Function(asked), .. }) = spec::of_components(components) else { return 0 };
    if !asked.declared.name.is_literal() {
        return 0;
    }
    let all = coverage::of_spec(view, &asked);
    all.iter().flat_map(|covered| &covered.coverage.left_out).map(|(_, count)| *count as usize).sum()
}

/// Why the first point that an unresolved point leads to matches nothing. Computed only when printed, because optional
/// points often match nothing and finding the reason is slow.
fn first_reason(deriver: &mut Deriver<'_, '_>, point: &ast::Point) -> Option<String> {
    let mut why = None;
    let walked = deriver.visit(point, &mut |visited| {
        if let Visited::Failed(failed) = visited {
            why.get_or_insert_with(|| failed.briefly());
        }
        Ok(())
    });
    walked.ok().and(why)
}

/// The same aliases, with the lifetime of the definitions.
fn own<'a>(definitions: &'a Definitions<'a>, through: &[&Alias]) -> Vec<&'a Alias> {
    let one = |alias: &&Alias| {
        let name = alias.names.first()?.name();
        definitions.alias(&name).find(|own| std::ptr::eq(*own, *alias))
    };
    through.iter().filter_map(one).collect()
}

/// The statements that run: see [`Derived::handler`].
fn parts<'a>(through: &[&'a Alias], body: &'a ast::Statement) -> Vec<&'a ast::Statement> {
    let prologues = through.iter().rev().filter_map(|alias| alias.body.prologue.as_ref());
    let epilogues = through.iter().filter_map(|alias| alias.body.epilogue.as_ref());
    prologues.chain([body]).chain(epilogues).collect()
}

/// The same conditions, with the lifetime of the script and the aliases that contain them.
fn conditions<'a>(
    met: &[Arc<Expression>],
    point: &'a ast::Point,
    through: &[&'a Alias],
) -> Vec<&'a Expression> {
    let all = || std::iter::once(point).chain(through.iter().flat_map(|alias| &alias.points));
    let own = |condition: &Arc<Expression>| {
        let mut written = all().filter_map(|point| point.condition.as_ref());
        written.find(|own| Arc::ptr_eq(own, condition)).map(|own| &**own)
    };
    met.iter().filter_map(own).collect()
}
