//! The index of a real kernel, damaged in every way, against questions of every kind: an answer or an error, never a crash or
//! a hang. `PROBEIDX_DAMAGE=100000` says how many damages, `PROBEIDX_SEED` repeats a run.
#[path = "../compat/damage/asked.rs"]
mod asked;
#[path = "../compat/damage/change.rs"]
mod change;
#[path = "../compat/damage/questions.rs"]
mod questions;

use crate::installed::{self, index, kernel, needed, say};
use crate::sample::{self, Random};
use asked::{Asked, Fate};
use change::{Kind, Subject};
use probeidx_format::View;
use probeidx_format::strings::Decoded;
use serde_json::Value;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How many of those that something is wrong with are kept, below target/tmp.
const KEPT: usize = 20;
/// How many damages without `PROBEIDX_DAMAGE`.
const DAMAGES: usize = 300;
/// How many questions each is asked; of a million damages all that are quick are asked about as many times.
const QUESTIONS: usize = 6;
/// No question of an index that is whole takes longer, with the few that are asked of each name.
const QUICK: Duration = Duration::from_millis(5);
/// No question takes longer of a damaged one.
const BOUND: Duration = Duration::from_secs(20);

#[test]
fn a_damaged_index_is_answered_from_or_refused() {
    let Some(kernel) = needed(kernel()) else { return };
    let index = match std::env::var_os("PROBEIDX_DAMAGE_INDEX") {
        Some(path) => PathBuf::from(path),
        None => index(&kernel),
    };
    let damages = std::env::var("PROBEIDX_DAMAGE").ok().and_then(|n| n.parse().ok()).unwrap_or(DAMAGES);
    let seed = sample::seed();
    // In memory where there is such a place: each damage is written to a file.
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory.to_owned() } else { installed::scratch("damage") };
    let folder = tempfile::tempdir_in(folder).unwrap();
    let mut subject = Subject::new(&index, folder.path());
    let mut random = Random(seed);
    let script = folder.path().join("points.txt");
    let view_bytes = subject.whole().to_vec();
    let decoded = Decoded::new();
    let view = View::open(&view_bytes, &decoded).unwrap();
    let questions = questions::questions(&view, &mut random, 4, &script);

    let mut asked = Asked::new(&installed::program(), &subject.path);
    let mut quick = vec![];
    let mut slow = vec![];
    for question in questions {
        let (fate, took) = asked.ask(&question);
        assert!(fate.is_usage() || fate.is_fair(&question) && !fate.is_refusal(), "{question}: {fate}");
        match fate.is_usage() {
            true => {}
            false if took < QUICK => quick.push(question),
            false => slow.push(question),
        }
    }
    // Once more by a process that was asked nothing slow, which would have read most of the file.
    let mut fresh = Asked::new(&installed::program(), &subject.path);
    for question in &quick {
        fresh.ask(question);
    }
    let read = pages_read(fresh.id().unwrap(), &subject.path);
    drop(fresh);
    let pages: usize = read.iter().map(Range::len).sum();
    say(&format!(
        "seed {seed}: {} quick questions and {} slow ones, which read {} of {} kB",
        quick.len(),
        slow.len(),
        pages >> 10,
        view_bytes.len() >> 10
    ));

    let mut tally = Tally::default();
    let start = Instant::now();
    for number in 0..damages {
        let mut own = Random(seed ^ (number as u64) << 20);
        let what = Kind::random(&mut subject, &mut own, &read);
        subject.show();
        let mut now = own.choose(quick.iter().collect(), QUESTIONS);
        if own.below(100) == 0 {
            now.extend(own.choose(slow.iter().collect(), 1));
        }
        for question in now {
            let (fate, took) = asked.ask(question);
            tally.add(question, &fate, took);
            let place =
                || format!("damage {number} of seed {seed} ({what}), asked {question}, in {took:?}: {fate}");
            if !fate.is_fair(question) || took > BOUND {
                say(&place());
                if tally.wrong.len() < KEPT {
                    std::fs::write(
                        installed::scratch(&format!("damaged-{seed}-{number}.pidx")),
                        subject.now(),
                    )
                    .unwrap();
                }
                tally.wrong.push(place());
            }
        }
        if number % 100 == 0 && !what.contains("fit") && subject.is_changed() {
            let (fate, _) = asked.ask(&serde_json::json!({"method": "verify"}));
            tally.verified += 1;
            if !fate.is_refusal() {
                tally.wrong.push(format!("damage {number} of seed {seed} ({what}): verify: {fate}"));
            }
        }
        if number % 10_000 == 9_999 {
            say(&format!("{} damages, {:?}", number + 1, start.elapsed()));
        }
        subject.mend();
    }
    say(&format!("{damages} damages in {:.0?}: {tally}", start.elapsed()));
    assert!(tally.wrong.is_empty(), "{} of them:\n{}", tally.wrong.len(), tally.wrong.join("\n"));
}

/// What became of all questions.
#[derive(Default)]
struct Tally {
    answered: u64,
    no_match: u64,
    refused: u64,
    verified: u64,
    slowest: Vec<(Duration, String)>,
    wrong: Vec<String>,
}

impl Tally {
    fn add(&mut self, question: &Value, fate: &Fate, took: Duration) {
        match fate {
            Fate::Answered(_) => self.answered += 1,
            _ if fate.is_refusal() => self.refused += 1,
            _ => self.no_match += 1,
        }
        if self.slowest.len() < 5 || self.slowest.iter().any(|(least, _)| took > *least) {
            self.slowest.push((took, question.to_string()));
            self.slowest.sort_by_key(|(took, _)| std::cmp::Reverse(*took));
            self.slowest.truncate(5);
        }
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let questions = self.answered + self.no_match + self.refused;
        write!(f, "{questions} questions, {} answered, ", self.answered)?;
        write!(f, "{} without a match, {} refused as damaged; ", self.no_match, self.refused)?;
        write!(f, "{} asked of verify; the slowest", self.verified)?;
        for (took, question) in &self.slowest {
            write!(f, "\n  {took:.1?} {question}")?;
        }
        Ok(())
    }
}

/// Which parts of a file a process has in its memory; with those that the kernel maps around them.
fn pages_read(process: u32, path: &Path) -> Vec<Range<usize>> {
    const PAGE: u64 = 4096;
    let name = path.display().to_string();
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let line = maps.lines().find(|line| line.ends_with(&name)).expect("the index is mapped");
    let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
    let [start, end] = [start, end].map(|at| u64::from_str_radix(at, 16).unwrap());
    let mut pages = std::fs::File::open(format!("/proc/{process}/pagemap")).unwrap();
    pages.seek(SeekFrom::Start(start / PAGE * 8)).unwrap();
    let mut entries = vec![0; ((end - start) / PAGE * 8) as usize];
    pages.read_exact(&mut entries).unwrap();
    let mut read: Vec<Range<usize>> = vec![];
    for (number, entry) in entries.chunks_exact(8).enumerate() {
        let at = number * PAGE as usize..(number + 1) * PAGE as usize;
        if entry[7] & 0x80 == 0 {
            continue;
        }
        match read.last_mut() {
            Some(last) if last.end == at.start => last.end = at.end,
            _ => read.push(at),
        }
    }
    read
}
