//! What is planted to trace a spec on a running kernel, and what the records mean that come back.
//!
//! # The data
//!
//! One question makes one [`Plan`]. A plan has one [`Event`] of tracefs for each set of copies whose values have the same
//! names and types: the kernel keeps one record format for each event, and takes several probes for it. An event says of
//! each of its probes where it is ([`Copy`]), and of each field of the record what the user asked for and how it is
//! shown ([`Column`]).
//!
//! # One case by hand
//!
//! `probeidx trace blk_account_io_start req->__data_len` on 6.1.0-56-cloud-amd64. The function has four inlined copies,
//! all of which kprobe_events take; three have `req` in `%bx`, one in `%bp`. Names and types of the values are the same in all
//! four, so there is one event with four probes:
//!
//! ```text
//! p:probeidx_4711/blk_account_io_start _text+5573906 req___data_len=+40(%bx):u32
//! p:probeidx_4711/blk_account_io_start _text+5580687 req___data_len=+40(%bp):u32
//! …
//! ```
//!
//! A record has `__probe_ip`. Less the run-time address of `_text`, it is the address of one [`Copy`]: the line that is
//! printed says `blk_account_io_start in blk_mq_submit_bio`, and `req->__data_len=4096`.
pub mod calls;
pub mod definition;
pub mod errno;
pub mod filter;
pub mod histogram;
pub mod names;
pub mod plan;
pub mod record;
pub mod shown;
pub mod tally;
pub mod trigger;
pub mod well_known;

use shown::Shown;

/// All that a trace plants and reads.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The events, in the order of the specs.
    pub events: Vec<Event>,
    /// Where nothing is planted, and why.
    pub left_out: Vec<LeftOut>,
}

impl Plan {
    /// The lines that plant it, each with whether the kernel surely takes it.
    pub fn definitions(&self) -> impl Iterator<Item = (&str, bool)> {
        let copies = self.events.iter().flat_map(|event| &event.copies);
        copies.filter_map(|copy| Some((copy.definition.as_deref()?, copy.is_certain)))
    }

    /// Leaves out what the kernel refused: the line, and its reason. Cost: linear in the copies, for each.
    pub fn leave_out(&mut self, refused: &[(String, String)]) {
        for event in &mut self.events {
            let subject = &event.subject;
            event.copies.retain(|copy| {
                let is_it = |(line, _): &&(String, String)| copy.definition.as_ref() == Some(line);
                let Some((_, why)) = refused.iter().find(is_it) else { return true };
                let what = match copy.inlined_into.first() {
                    Some(caller) => format!("{subject} in {caller}"),
                    None => subject.clone(),
                };
                let why = format!("the kernel refuses it: {why}");
                self.left_out.push(LeftOut { subject: subject.clone(), what, why, instead: None });
                false
            });
        }
        self.events.retain(|event| !event.copies.is_empty());
    }
}

/// What makes the kernel write a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A kprobe at the entry of a function, at a copy of it or at a line.
    Kprobe,
    /// A return probe: kretprobe.
    Kretprobe,
    /// An fprobe at the entry (`f:` in `dynamic_events`, since 6.5).
    Fprobe,
    /// An fprobe at the return.
    FprobeReturn,
    /// A probe in a program or shared library.
    Uprobe,
    /// The return of a function of a program.
    Uretprobe,
    /// An event that the kernel has by itself.
    Tracepoint,
}

impl Kind {
    /// Whether the record is of a return.
    pub fn is_return(self) -> bool {
        matches!(self, Self::Kretprobe | Self::FprobeReturn | Self::Uretprobe)
    }
}

/// One event of tracefs, whose records all have the same fields.
#[derive(Clone, Debug)]
pub struct Event {
    /// What makes the records.
    pub kind: Kind,
    /// The group: `probeidx_4711` for events that are planted, `sched` for `sched:sched_switch`.
    pub group: String,
    /// The name within the group.
    pub name: String,
    /// What is traced, as people call it: `blk_account_io_start`, `vfs_read.return`, `sched:sched_switch`.
    pub subject: String,
    /// The probes; one without definition for an event that the kernel has by itself.
    pub copies: Vec<Copy>,
    /// The values of a record, in the order that they are printed.
    pub columns: Vec<Column>,
    /// The kernel's filter: `req___data_len > 4096`.
    pub filter: Option<String>,
}

/// One probe of an event: one address.
#[derive(Clone, Debug)]
pub struct Copy {
    /// The line that plants it: `p:probeidx_4711/do_open _text+3543965`. `None` for an event that is there.
    pub definition: Option<String>,
    /// Whether the index knows that the kernel takes it. If not, the kernel decides when it is planted: of instructions
    /// that are patched at boot, and where the index has no code to judge by.
    pub is_certain: bool,
    /// Where it is; `None` for an event that the kernel has by itself.
    pub place: Option<Place>,
    /// The functions around an inlined copy, innermost first; empty for one out of line.
    pub inlined_into: Vec<String>,
    /// The values that are unreadable here, and why. They have no column.
    pub unreadable: Vec<(String, String)>,
}

/// Where a probe is, so that `__probe_ip` leads to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The symbol from which run-time addresses are told (`_text`, a symbol of a module), and the distance from it.
    pub anchor: (String, u64),
    /// The module; `None` for vmlinux.
    pub module: Option<String>,
    /// The address as it is linked, as `resolve` prints it.
    pub address: u64,
    /// Where it is in the kernel that runs, which is what `__probe_ip` has; `None` in a program, and in a plan for a
    /// kernel that does not run here.
    pub run_time: Option<u64>,
}

/// A value of a record.
#[derive(Clone, Debug)]
pub struct Column {
    /// As the user asked for it: `req->__data_len`, `$return`.
    pub name: String,
    /// The field of the record that has it.
    pub field: String,
    /// How it is shown.
    pub shown: Shown,
}

/// A place where nothing is planted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// What is traced, as [`Event::subject`] has it.
    pub subject: String,
    /// The function, and the copy: `do_open in path_openat`.
    pub what: String,
    /// The reason: `jump-label`.
    pub why: String,
    /// What can be traced instead.
    pub instead: Option<String>,
}
