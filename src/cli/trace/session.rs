//! Plants, prints until the end, and removes.
use super::chosen::Chosen;
use super::counting::{self, What};
use super::guard::Guard;
use super::only::{self, Members};
use super::printer::{Form, Printer};
use super::records::{Happened, Records};
use super::signals::Ending;
use super::steps::Steps;
use crate::cli::args::Trace;
use crate::cli::config::Config;
use crate::cli::exit::Outcome;
use crate::cli::note;
use crate::error::{Error, Result};
use crate::query::trace::names::Namer;
use crate::query::trace::record::Notice;
use crate::query::trace::{Event, Kind};
use crate::tracefs::mount::Tracefs;
use crate::tracefs::planted::Planted;
use crate::tracefs::reader::Reader;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::time::Instant;

/// What a session works with.
pub struct Session<'s> {
    /// The files of the kernel.
    pub tracefs: &'s Tracefs,
    /// What is traced.
    pub chosen: &'s Chosen,
    /// The arguments of the user.
    pub args: &'s Trace,
    /// Where notes go.
    pub config: &'s Config,
    /// The threads that are traced; all if it is empty.
    pub threads: &'s [u32],
}

/// What happened, in numbers.
#[derive(Default)]
struct Seen {
    printed: u64,
    lost: u64,
    /// Whether the kernel did not say how many it lost.
    is_more_lost: bool,
}

impl Session<'_> {
    /// Prints what happens to what is planted, and removes all of it, whatever happens.
    ///
    /// # Errors
    /// Those of enabling, reading and printing; that of removing if there is no other.
    pub fn run(
        &self,
        planted: Planted,
        steps: &Steps,
        names: &mut dyn Namer,
        ending: &Ending,
        out: &mut dyn Write,
    ) -> Result<Outcome> {
        let result = match What::of(self.args) {
            Some(what) => counting::run(self, &planted, steps, (what, names), ending, out),
            None => self.trace(&planted, steps, names, ending, out),
        };
        if result.is_ok() {
            self.missed();
        }
        let removed = planted.remove();
        let outcome = result?;
        removed.map(|()| outcome)
    }

    /// From the first filter to the last record. What it opens is closed at its end: the kernel removes no instance of
    /// which a file is open.
    fn trace(
        &self,
        planted: &Planted,
        steps: &Steps,
        names: &mut dyn Namer,
        ending: &Ending,
        out: &mut dyn Write,
    ) -> Result<Outcome> {
        let (plan, instance) = (&self.chosen.plan, &planted.instance);
        let mut reader = Reader::open(&instance.folder())?;
        let mut records =
            Records::new(plan, &self.tracefs.path(""), &instance.folder(), &mut reader, self.args.stack)?;
        let mut file = self.args.output.as_ref().map(|path| create(path)).transpose()?;
        let form = match (&file, self.config.json) {
            (Some(_), _) => Form::viewer(plan),
            (None, true) => Form::Json,
            (None, false) => Form::Text,
        };
        let out = match &mut file {
            Some(file) => file as &mut dyn Write,
            None => out,
        };
        let mut printer = Printer::new(form, names, out);
        start(planted, steps)?;
        self.tell_start();
        let count = plan.events.len();
        let begin = Instant::now();
        let end = self.args.duration.and_then(|time| begin.checked_add(time));
        let mut guard = Guard::new(count, self.args.max_rate, begin);
        let mut seen = Seen::default();
        let mut members = Members::new(self.args, self.threads);
        let output = std::io::stdout();
        let pipe = is_pipe().then(|| output.as_fd());
        loop {
            let is_asked = ending.is_asked() || end.is_some_and(|end| Instant::now() >= end);
            let is_last = is_asked || guard.is_all_off();
            if is_last {
                instance.record(false)?;
            }
            members.add_to(instance);
            records.refresh();
            let found = self.read(&mut reader, &mut records, &mut printer, &mut guard, &mut seen, is_last)?;
            printer.flush()?;
            self.turn_off(planted, &mut guard)?;
            if (is_last && !found) || self.is_enough(&seen) {
                break;
            }
            // The other end is closed: nobody reads what is printed.
            if !is_last && reader.wait(pipe)? {
                break;
            }
        }
        instance.record(false)?;
        self.tell_lost(&seen);
        printer.finish().map(|()| Outcome::Done)
    }

    /// Reads and prints what there is; returns whether there may be more.
    fn read(
        &self,
        reader: &mut Reader,
        records: &mut Records<'_>,
        printer: &mut Printer<'_, '_>,
        guard: &mut Guard,
        seen: &mut Seen,
        is_last: bool,
    ) -> Result<bool> {
        let mut failed = Ok(());
        let found = reader.read(is_last, &mut |merged| {
            if failed.is_err() || self.is_enough(seen) {
                return;
            }
            records.decode(&merged, 0, &mut |happened| {
                match &happened {
                    Happened::Record(event, _) => {
                        guard.count(*event);
                        seen.printed += 1;
                    }
                    Happened::Notice(Notice::Lost { count, .. }) => {
                        guard.lost(count.unwrap_or(1));
                        seen.lost += count.unwrap_or_default();
                        seen.is_more_lost |= count.is_none();
                    }
                }
                failed = printer.print(&happened);
            });
        })?;
        failed.map(|()| found.is_more)
    }

    /// Says that all is planted.
    pub fn tell_start(&self) {
        let count = self.chosen.plan.events.len();
        let plural = if count == 1 { "" } else { "s" };
        note(self.config, &format!("tracing {count} event{plural}; Ctrl-C ends it"));
    }

    /// Turns off what happens too often, and says so; returns whether it said anything. After each reading.
    ///
    /// # Errors
    /// That of turning an event off.
    pub fn turn_off(&self, planted: &Planted, guard: &mut Guard) -> Result<bool> {
        let exceeded = guard.exceeded(Instant::now());
        for event in &exceeded {
            let event = &self.chosen.plan.events[*event];
            planted.instance.disable(&folder(event))?;
            let most = self.args.max_rate;
            let what = format!("{} happens more than {most} times a second and is turned off", event.subject);
            note(self.config, &format!("{what}; ask for less with --if, or for more with --max-rate"));
        }
        Ok(!exceeded.is_empty())
    }

    fn is_enough(&self, seen: &Seen) -> bool {
        self.args.limit.is_some_and(|limit| seen.printed >= limit)
    }

    fn tell_lost(&self, seen: &Seen) {
        if seen.lost > 0 || seen.is_more_lost {
            let more = if seen.is_more_lost { " or more" } else { "" };
            let what = format!("{}{more} events were lost: the ring buffer was full", seen.lost);
            note(self.config, &format!("{what}; ask for less with --if"));
        }
    }

    /// Tells of probes that the kernel passed over: returns of which too many were awaited at a time, and probes within
    /// probes. (`kprobe_profile`: name, hits, misses; a name may be that of an event of somebody else, too.)
    fn missed(&self) {
        let profile = self.tracefs.read("kprobe_profile");
        for event in
            self.chosen.plan.events.iter().filter(|e| matches!(e.kind, Kind::Kprobe | Kind::Kretprobe))
        {
            let rows = profile.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
            let rows: Vec<_> = rows.filter(|words| words.first() == Some(&event.name.as_str())).collect();
            if rows.len() > event.copies.len() {
                continue;
            }
            let missed: u64 = rows.iter().filter_map(|words| words.get(2)?.parse::<u64>().ok()).sum();
            if missed > 0 {
                let remedy = match event.kind {
                    Kind::Kretprobe => {
                        "; more calls at a time: kernel.function(\"NAME\").return.maxactive(N)"
                    }
                    _ => "",
                };
                note(self.config, &format!("{}: the kernel missed {missed} events{remedy}", event.subject));
            }
        }
    }
}

/// Whether stdout is a pipe, whose other end may be closed while nothing is printed.
fn is_pipe() -> bool {
    std::fs::metadata("/proc/self/fd/1").is_ok_and(|file| file.file_type().is_fifo())
}

/// The file of `-o`.
fn create(path: &Path) -> Result<std::fs::File> {
    std::fs::File::create(path).map_err(|e| Error::io(path, "write the trace", e))
}

/// The folder of an event in an instance.
pub fn folder(event: &Event) -> String {
    format!("events/{}/{}", event.group, event.name)
}

/// Sets filters and turns all events on.
pub fn start(planted: &Planted, steps: &Steps) -> Result<()> {
    // What the trace itself does to read and print is not what is asked for, and would never end (5.7).
    for thread in only::own_threads() {
        let _ = planted.instance.try_write("set_event_notrace_pid", &thread.to_string());
    }
    for (name, text) in &steps.writes {
        match name.strip_suffix("/filter") {
            Some(event) => planted.instance.set_filter(event, text)?,
            // Kernels without it (before 4.16) follow no children.
            None if name == "options/event-fork" => {
                let _ = planted.instance.try_write(name, text);
            }
            None => planted.instance.write(name, text)?,
        }
    }
    Ok(())
}
