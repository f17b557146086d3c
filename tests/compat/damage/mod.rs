//! The golden files, damaged: every byte, every length. By itself a share of them, another one in each run (`PROBEIDX_SEED`
//! repeats one); `PROBEIDX_DAMAGE=all` takes all of them, which is hours, and a number as many as it says.
#[allow(dead_code, reason = "what the test of a real kernel needs too")]
mod asked;
mod change;
mod questions;

use super::{PROGRAM, folder};
use crate::sample::{self, Random};
use asked::Asked;
use change::{Kind, Subject};
use probeidx_format::strings::Decoded;
use probeidx_format::{Error, VERSION, View};
use serde_json::{Value, json};
use std::path::PathBuf;
use tempfile::TempDir;

/// What a byte becomes, where not all others are tried.
const VALUES: [fn(u8) -> u8; 5] =
    [|was| was ^ 1, |was| was ^ 0x80, |_| 0, |_| 0xff, |was| was.wrapping_mul(167) ^ 90];

fn golden() -> [PathBuf; 2] {
    ["kernel.pidx", "library.pidx"].map(|file| folder(&format!("v{VERSION}")).join(file))
}

/// How many of so many, without the environment's word this share; `None` for all.
fn share(usual: usize) -> Option<usize> {
    match std::env::var("PROBEIDX_DAMAGE").ok().as_deref() {
        Some("all") => None,
        asked => Some(asked.and_then(|number| number.parse().ok()).unwrap_or(usual)),
    }
}

/// Opens and reads all, as `verify` does.
fn verified(bytes: &[u8]) -> Result<(), Error> {
    View::open(bytes, &Decoded::new())?.whole()
}

#[test]
fn verify_finds_every_byte_that_is_another() {
    let mut random = Random(sample::seed());
    for file in golden() {
        let mut bytes = std::fs::read(&file).unwrap();
        assert_eq!(verified(&bytes), Ok(()));
        let places = (0..bytes.len()).collect();
        for at in random.choose(places, share(600).unwrap_or(bytes.len())) {
            let was = bytes[at];
            let all = share(0).is_none();
            let values: Vec<u8> =
                if all { (0..=255).collect() } else { VALUES.map(|value| value(was)).to_vec() };
            for value in values.into_iter().filter(|value| *value != was) {
                bytes[at] = value;
                assert!(verified(&bytes).is_err(), "{}: {value:#x} at {at:#x}", file.display());
            }
            bytes[at] = was;
        }
    }
}

#[test]
fn verify_finds_every_other_length() {
    for file in golden() {
        let bytes = std::fs::read(&file).unwrap();
        for length in 0..bytes.len() {
            assert!(verified(&bytes[..length]).is_err(), "{}: cut to {length}", file.display());
        }
        for more in [1, 2, 4095, 4096] {
            assert!(
                verified(&[&bytes[..], &vec![0; more]].concat()).is_err(),
                "{}: {more} more",
                file.display()
            );
        }
    }
}

/// A golden file in a folder of its own, a process that is asked about it, and the questions.
struct Case {
    subject: Subject,
    asked: Asked,
    questions: Vec<Value>,
    _folder: TempDir,
}

impl Case {
    fn new(file: &std::path::Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let subject = Subject::new(file, folder.path());
        let mut asked = Asked::new(PROGRAM.as_ref(), &subject.path);
        let decoded = Decoded::new();
        let view = View::open(subject.whole(), &decoded).unwrap();
        let script = folder.path().join("points.txt");
        // The same in each run: they are so many that each name is asked for.
        let mut questions = questions::questions(&view, &mut Random(1), 100, &script);
        questions.retain(|question| {
            let (fate, _) = asked.ask(question);
            assert!(fate.is_usage() || fate.is_fair(question) && !fate.is_refusal(), "{question}: {fate}");
            !fate.is_usage()
        });
        Self { subject, asked, questions, _folder: folder }
    }
    /// Asks so many questions, or all.
    #[track_caller]
    fn ask(&mut self, random: &mut Random, count: Option<usize>, what: &str) {
        self.subject.show();
        let all: Vec<&Value> = self.questions.iter().collect();
        let chosen = random.choose(all, count.unwrap_or(usize::MAX));
        for question in chosen {
            let (fate, took) = self.asked.ask(question);
            assert!(fate.is_fair(question), "{what}: {question} in {took:?}: {fate}");
        }
    }
}

#[test]
fn every_question_is_answered_or_refused_whatever_byte_is_another() {
    let seed = sample::seed();
    let mut random = Random(seed);
    for file in golden() {
        let mut case = Case::new(&file);
        let places = (0..case.subject.whole().len()).collect();
        for at in random.choose(places, share(150).unwrap_or(usize::MAX)) {
            let was = case.subject.whole()[at];
            for value in VALUES.map(|value| value(was)) {
                case.subject.put(at, &[value]);
                case.subject.refit();
                let count = share(4).map(|_| 4);
                case.ask(
                    &mut random,
                    count,
                    &format!("seed {seed}: {value:#x} at {at:#x} of {}", file.display()),
                );
                case.subject.mend();
            }
        }
    }
}

#[test]
fn every_question_is_refused_of_another_length() {
    let seed = sample::seed();
    let mut random = Random(seed);
    for file in golden() {
        let mut case = Case::new(&file);
        let length = case.subject.whole().len();
        for cut in random
            .choose((0..length + 2).filter(|cut| *cut != length).collect(), share(100).unwrap_or(usize::MAX))
        {
            case.subject.cut(cut);
            case.subject.show();
            // `complete` says nothing where it cannot.
            let question = loop {
                let question = &case.questions[random.below(case.questions.len() as u64) as usize];
                if question["method"] != "complete" && question["method"] != "decode" {
                    break question;
                }
            };
            let (fate, _) = case.asked.ask(question);
            assert!(
                fate.is_fair(question) && fate.is_refusal(),
                "seed {seed}: cut to {cut}: {question}: {fate}"
            );
            case.subject.mend();
        }
    }
}

#[test]
fn every_question_is_answered_or_refused_whatever_block_is_elsewhere() {
    let seed = sample::seed();
    for file in golden() {
        let mut case = Case::new(&file);
        let whole = 0..case.subject.whole().len();
        for number in 0..share(100).unwrap_or(1_000_000) {
            let mut random = Random(seed ^ (number as u64) << 20);
            let what = Kind::random(&mut case.subject, &mut random, std::slice::from_ref(&whole));
            let what = format!("damage {number} of seed {seed} of {}: {what}", file.display());
            let is_found = what.contains("fit") || !case.subject.is_changed();
            case.ask(&mut random, Some(4), &what);
            let (fate, _) = case.asked.ask(&json!({"method": "verify"}));
            assert!(is_found || fate.is_refusal(), "{what}: verify: {fate}");
            case.subject.mend();
        }
    }
}
