//! Indexes that someone changed who can compute checksums: every question has an answer or an error, and ends.
use super::owners::{count, packed};
use crate::support::parts::Parts;
use crate::support::program::KERNEL;
use probeidx::cli::args::{self, Command, Request};
use probeidx::cli::config::Config;
use probeidx::cli::session::{self, Session};
use probeidx_format::SectionName;
use probeidx_format::details::{Buffer, DetailWriter, Range};
use probeidx_format::expr::FrameBase;
use probeidx_format::id::Pc;
use probeidx_format::record::{ObjectRecord, PlaceRecord, SymbolRecord};
use std::path::Path;
use std::sync::{Arc, LazyLock};

/// Questions that go through most tables.
static QUESTIONS: LazyLock<Vec<Command>> = LazyLock::new(|| {
    let lines: &[&[&str]] = &[
        &["verify"],
        &["stats"],
        &["find", "*", "--each", "--args", "--locals"],
        &["resolve", "*", "$retval", "--locals"],
        &["resolve", "*", "--format", "kprobe-events"],
        &["find", "kernel.statement(\"*@*:*\")"],
        &["find", "module(\"*\").function(\"*\").callees(2)"],
        &["blacklist", "--all"],
        &["callers", "*"],
        &["addr", "submit+1", "0xffffffff81000010", "0xffffffff81000100"],
    ];
    let command = |line: &&[&str]| match args::parse(["probeidx"].iter().chain(line.iter())) {
        Ok(Request::Run(args)) => args.command,
        other => panic!("{line:?}: {other:?}"),
    };
    lines.iter().map(command).collect()
});

/// The index of the fixture.
pub fn whole() -> Parts {
    let file =
        std::fs::read(KERNEL.db.path().join(format!("{}.pidx", crate::support::fixture::RELEASE))).unwrap();
    let parts = Parts::of(&file).unwrap();
    assert!(parts.file() == file, "taken apart and put together it is the same");
    parts
}

/// Asks everything; gives the questions that had no answer.
pub fn unanswered(parts: &Parts) -> Vec<&'static Command> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("forged.pidx");
    std::fs::write(&path, parts.file()).unwrap();
    QUESTIONS.iter().filter(|question| !is_answered(&path, question)).collect()
}

fn is_answered(index: &Path, question: &Command) -> bool {
    answer(index, question).is_some()
}

/// The lines of an answer.
pub fn answer(index: &Path, question: &Command) -> Option<Vec<String>> {
    let config = Config {
        db: index.to_owned(),
        is_default_db: false,
        kernel: None,
        running: None,
        json: true,
        color: false,
        terminal: false,
        is_dumb: true,
        quiet: false,
        verbose: 0,
        session: Session::Request(Arc::new(session::Request::default())),
    };
    let mut out = vec![];
    let result = probeidx::cli::answer(question, &config, &mut out);
    let lines: Vec<String> = String::from_utf8(out).unwrap().lines().map(str::to_owned).collect();
    for line in &lines {
        serde_json::from_str::<serde_json::Value>(line).unwrap_or_else(|e| panic!("{line}: {e}"));
    }
    result.is_ok().then_some(lines)
}

pub fn section(parts: &mut Parts, name: SectionName) -> &mut Vec<u8> {
    &mut parts.sections[name as usize]
}

#[test]
fn what_is_whole_is_answered() {
    let unanswered = unanswered(&whole());
    assert!(unanswered.is_empty(), "{unanswered:?}");
}

/// Searches in a table that is in no order find anything: what is found may lie behind what is asked for.
#[test]
fn symbols_in_no_order() {
    let count = count(&mut whole(), SectionName::Symbols);
    for at in (0..count).step_by(3) {
        for pc in [0u32, u32::MAX] {
            let mut parts = whole();
            let move_one = |symbols: &mut [SymbolRecord]| symbols[at].pc = Pc::new(pc);
            packed(&mut parts, SectionName::Symbols, move_one);
            unanswered(&parts);
        }
    }
}

/// Parts of tables that are said to end far behind their tables: nobody walks there, or makes room for it.
#[test]
fn objects_that_claim_more_than_there_is() {
    const RECORD: usize = size_of::<ObjectRecord>();
    for at in (0..RECORD).step_by(4) {
        let mut parts = whole();
        // Where the parts of one object end says the record behind it.
        for record in section(&mut parts, SectionName::Objects).chunks_exact_mut(RECORD).skip(1) {
            record[at..at + 4].copy_from_slice(&0xf000_0000u32.to_le_bytes());
        }
        unanswered(&parts);
    }
}

/// A variable is counted from the one before it: minus one from the first is the last that there could be.
#[test]
fn a_variable_at_the_last_position() {
    let mut parts = whole();
    let details = section(&mut parts, SectionName::PlaceDetails);
    let at = details.len() as u32;
    // Out of line, one range of 16 bytes from the entry on; a variable that is nowhere, at 0 - 1.
    let (mut buffer, range) = (Buffer::default(), Range { start: 0, end: 16 });
    let mut writer = DetailWriter::new(&mut buffer, range.start, FrameBase::default(), &[range], None);
    writer.nowhere(u32::MAX);
    writer.end();
    details.extend(buffer.bytes());
    packed(&mut parts, SectionName::Places, |places: &mut [PlaceRecord]| {
        for place in places {
            place.details = at.into();
        }
    });
    let unanswered = unanswered(&parts);
    // Nothing is inlined any more, so that nothing has callees.
    assert!(matches!(unanswered[..], [Command::Find(_)]), "{unanswered:?}");
}

/// Bytes that are others, everywhere: what fuzzing does at length.
#[test]
fn bytes_that_are_others() {
    let mut random = 8u32;
    let mut next = |below: usize| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 8) as usize % below
    };
    let parts = whole();
    let filled: Vec<usize> = (0..parts.sections.len()).filter(|s| !parts.sections[*s].is_empty()).collect();
    for _ in 0..50 {
        let mut parts = whole();
        for _ in 0..=next(4) {
            let section = filled[next(filled.len())];
            let at = next(parts.sections[section].len());
            parts.change(section as u8, at as u16, [0, 0x7f, 0x80, 0xff, next(256) as u8][next(5)]);
        }
        unanswered(&parts);
    }
}
