//! `--count`, `--hist` and `--latency`: tables in place of lines.
//!
//! The kernel counts by itself where it can: by a hist trigger, no record is written. It cannot where it has no such triggers
//! (CONFIG_HIST_TRIGGERS), for some processes alone (a trigger is run before `set_event_pid` is asked), and for latencies: the
//! variable in which a trigger keeps the time of an entry is one for each task, so that calls within calls of the same
//! function would be wrong. Then it is counted from records.
use super::guard::Guard;
use super::only::Members;
use super::records::{Happened, Records};
use super::redraw::{self, Redraw};
use super::session::Session;
use super::signals::Ending;
use super::steps::Steps;
use crate::cli::args::Trace;
use crate::cli::exit::Outcome;
use crate::cli::note;
use crate::cli::output::failed;
use crate::error::{Error, ErrorKind, Result};
use crate::query::trace::calls::{self, Calls};
use crate::query::trace::histogram::Log2;
use crate::query::trace::names::Namer;
use crate::query::trace::record::{CopyFinder, Notice};
use crate::query::trace::tally::Tally;
use crate::query::trace::trigger::{self, Counted};
use crate::query::trace::{Column, Event, Plan};
use crate::render::trace::table;
use crate::tracefs::planted::Planted;
use crate::tracefs::reader::Reader;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// How often each copy is passed.
    Copies,
    /// How often each value of the only column occurs.
    Values,
    /// How long calls take.
    Latency,
}

impl What {
    /// What the user asks for; `None` if it is lines.
    pub fn of(args: &Trace) -> Option<Self> {
        match args {
            _ if args.count => Some(Self::Copies),
            _ if args.hist.is_some() => Some(Self::Values),
            _ if args.latency => Some(Self::Latency),
            _ => None,
        }
    }
}

/// How often a table is printed on a terminal.
const LIVE: Duration = Duration::from_secs(1);

/// How often it is looked for the end while the kernel counts.
const PAUSE: Duration = Duration::from_millis(50);

/// The counts of a plan.
struct Counts<'p> {
    plan: &'p Plan,
    what: What,
    /// For each event.
    tallies: Vec<Option<Tally>>,
    functions: Vec<Option<usize>>,
    /// For each function of which entry and return are traced: its name, how long calls took, and the sum.
    latencies: Vec<(String, Log2, u64)>,
    calls: Calls<()>,
}

/// Counts until the end, and prints tables.
pub fn run(
    session: &Session<'_>,
    planted: &Planted,
    steps: &Steps,
    (what, names): (What, &mut dyn Namer),
    ending: &Ending,
    out: &mut dyn Write,
) -> Result<Outcome> {
    let plan = &session.chosen.plan;
    let mut counts = Counts::new(plan, what);
    counts.check()?;
    let kernel = match session.can_trigger(what) {
        true => counts.trigger(session, planted)?,
        false => false,
    };
    let begin = Instant::now();
    let end = session.args.duration.and_then(|time| begin.checked_add(time));
    let is_last = || ending.is_asked() || end.is_some_and(|end| Instant::now() >= end);
    let mut shown = begin;
    let is_live = std::io::stdout().is_terminal() && !session.config.json;
    let mut redraw = Redraw::default();
    // `is_alone`: whether nothing was written since the last table.
    let mut show = |counts: &Counts<'_>, is_end: bool, is_alone: bool, out: &mut dyn Write| {
        if !is_alone {
            redraw.forget();
        }
        if !is_end && (!is_live || shown.elapsed() < LIVE) {
            return Ok(());
        }
        shown = Instant::now();
        let mut text = vec![];
        if is_live {
            let _ = writeln!(text, "\nafter {} s", begin.elapsed().as_secs());
        }
        counts.print(session.config.json, names, &mut text);
        let size = if is_live && !session.config.is_dumb { redraw::size() } else { None };
        let [before, behind] = redraw.around(&String::from_utf8_lossy(&text), size, is_end);
        let written = redraw::command(&before).and_then(|()| out.write_all(&text)).and_then(|()| out.flush());
        written.and_then(|()| redraw::command(&behind)).map_err(failed)
    };
    if kernel {
        session.tell_start();
        while !is_last() {
            std::thread::sleep(PAUSE);
            if is_live {
                counts.read(planted);
                show(&counts, false, true, out)?;
            }
        }
        counts.read(planted);
        show(&counts, true, true, out)?;
        return Ok(Outcome::Done);
    }
    let mut reader = Reader::open(&planted.instance.folder())?;
    let folder = planted.instance.folder();
    let mut records = Records::new(plan, &session.tracefs.path(""), &folder, &mut reader, false)?;
    super::session::start(planted, steps)?;
    session.tell_start();
    let mut guard = Guard::new(plan.events.len(), session.args.max_rate, Instant::now());
    let mut members = Members::new(session.args, session.threads);
    loop {
        members.add_to(&planted.instance);
        let is_last = is_last() || guard.is_all_off();
        if is_last {
            planted.instance.record(false)?;
        }
        let found = reader.read(is_last, &mut |merged| {
            records.decode(&merged, 0, &mut |happened| {
                match &happened {
                    Happened::Record(event, _) => guard.count(*event),
                    Happened::Notice(Notice::Lost { count, .. }) => guard.lost(count.unwrap_or(1)),
                }
                counts.add(&happened, &records_copy(&happened, plan));
            });
        })?;
        let is_alone = !session.turn_off(planted, &mut guard)?;
        if is_last && !found.is_more {
            show(&counts, true, is_alone, out)?;
            return Ok(Outcome::Done);
        }
        show(&counts, false, is_alone, out)?;
        if !is_last {
            reader.wait(None)?;
        }
    }
}

/// The position of a record's copy among those of its event.
fn records_copy(happened: &Happened<'_>, plan: &Plan) -> Option<usize> {
    let Happened::Record(position, record) = happened else { return None };
    let copy = record.copy?;
    plan.events[*position].copies.iter().position(|other| std::ptr::eq(other, copy))
}

impl Session<'_> {
    /// Whether the kernel can count.
    fn can_trigger(&self, what: What) -> bool {
        let of_some = !self.args.pid.is_empty() || self.args.cgroup.is_some();
        what != What::Latency && !of_some && trigger::are_there(&self.tracefs.read("README"))
    }
}

impl<'p> Counts<'p> {
    fn new(plan: &'p Plan, what: What) -> Self {
        let functions = calls::functions(&plan.events);
        let mut latencies: Vec<(String, Log2, u64)> = vec![];
        for (event, function) in plan.events.iter().zip(&functions) {
            let Some(function) = *function else { continue };
            let name = event.subject.strip_suffix(".return").unwrap_or(&event.subject);
            latencies.resize(latencies.len().max(function + 1), (String::new(), Log2::default(), 0));
            latencies[function].0 = name.to_owned();
        }
        let tally = |event: &Event| Some(Tally::new(counted(what, event)?.0, event.copies.len()));
        let tallies = plan.events.iter().map(tally).collect();
        Self { plan, what, tallies, functions, latencies, calls: Calls::default() }
    }

    /// That there is anything to count.
    fn check(&self) -> Result<()> {
        let nothing = |what: &str, hint: &str| Err(Error::new(ErrorKind::NoMatch, what).hint(hint));
        match self.what {
            What::Latency if self.functions.iter().all(Option::is_none) => nothing(
                "no function of which both the entry and the return can be traced",
                "an inlined copy has no return; lines can be traced before and behind it",
            ),
            What::Values if self.tallies.iter().all(Option::is_none) => {
                nothing("the value is readable in none of the places", "probeidx resolve SPEC ARG tells why")
            }
            _ => Ok(()),
        }
    }

    /// Lets the kernel count. Returns false if it refuses for an event: then none has a trigger.
    fn trigger(&self, session: &Session<'_>, planted: &Planted) -> Result<bool> {
        let mut written: Vec<(String, String)> = vec![];
        for event in &self.plan.events {
            let Some((counted, _)) = counted(self.what, event) else { continue };
            let file = format!("{}/trigger", super::session::folder(event));
            let text = trigger::count(event, counted);
            if let Err(error) = planted.instance.try_write(&file, &text) {
                note(
                    session.config,
                    &format!("the kernel refuses '{text}': {error}; counting records instead"),
                );
                for (file, text) in &written {
                    planted.instance.write(file, &format!("!{text}"))?;
                }
                return Ok(false);
            }
            written.push((file, text));
        }
        Ok(true)
    }

    /// Reads what the kernel has counted so far.
    fn read(&mut self, planted: &Planted) {
        for (event, tally) in self.plan.events.iter().zip(&mut self.tallies) {
            let Some((counted, _)) = counted(self.what, event) else { continue };
            let path = planted.instance.folder().join(super::session::folder(event)).join("hist");
            let text = std::fs::read(&path).unwrap_or_default();
            if let Some(counts) = trigger::parse(&String::from_utf8_lossy(&text)).first() {
                let finder = CopyFinder::new(event, |place| place.run_time);
                *tally = Some(Tally::of_kernel(counted, event.copies.len(), &finder, counts));
            }
        }
    }

    /// Counts a record.
    fn add(&mut self, happened: &Happened<'_>, copy: &Option<usize>) {
        let (position, record) = match happened {
            Happened::Record(position, record) => (*position, record),
            Happened::Notice(Notice::Lost { count, .. }) => {
                self.calls.forget();
                if let Some(tally) = self.tallies.iter_mut().flatten().next() {
                    tally.dropped += count.unwrap_or(1);
                }
                return;
            }
        };
        if let (What::Latency, Some(function)) = (self.what, self.functions[position]) {
            if !record.event.kind.is_return() {
                self.calls.enter(record.pid, record.cpu, function, record.time, ());
            } else if let Some((start, ())) = self.calls.leave(record.pid, record.cpu, function) {
                let (_, log2, sum) = &mut self.latencies[function];
                let time = record.time.saturating_sub(start);
                log2.add(time);
                *sum = sum.saturating_add(time);
            }
        }
        if let (Some(tally), Some((_, column))) =
            (&mut self.tallies[position], counted(self.what, record.event))
        {
            let value = column.and_then(|column| record.values.get(column)).copied();
            tally.add(*copy, &value.unwrap_or(crate::query::trace::record::Value::Unreadable));
        }
    }

    fn print(&self, is_json: bool, names: &mut dyn Namer, out: &mut Vec<u8>) {
        for (event, tally) in self.plan.events.iter().zip(&self.tallies) {
            let (Some((counted, _)), Some(tally)) = (counted(self.what, event), tally) else { continue };
            match (counted, is_json) {
                (Counted::Copies, false) => table::copies(event, tally, out),
                (Counted::Copies, true) => table::copies_json(event, tally, out),
                (Counted::Values(column), false) => table::values(event, column, tally, names, out),
                (Counted::Values(column), true) => table::values_json(event, column, tally, names, out),
            }
        }
        for (name, log2, sum) in &self.latencies {
            // Which function a call belongs to that is not matched is not known.
            let unmatched = if self.latencies.len() == 1 { self.calls.unmatched() } else { 0 };
            match (self.what, is_json) {
                (What::Latency, false) => table::latency(name, log2, *sum, unmatched, out),
                (What::Latency, true) => table::latency_json(name, log2, *sum, unmatched, out),
                _ => {}
            }
        }
    }
}

/// What is counted of an event, and in which column; `None` for an event that lacks it.
fn counted(what: What, event: &Event) -> Option<(Counted<'_>, Option<usize>)> {
    match what {
        What::Copies => Some((Counted::Copies, None)),
        What::Values => {
            let column: &Column = event.columns.first()?;
            Some((Counted::Values(column), Some(0)))
        }
        What::Latency => None,
    }
}
