//! Summarizes what was left out of a build: similar problems share a line, with the first file concerned.
use crate::cli::config::Config;
use crate::cli::note;
use crate::pipeline::{Report, Skipped};
use std::collections::BTreeMap;
use std::path::Path;

/// Up to this many problems of a kind are listed individually.
const FEW: usize = 3;
/// The largest number of lines, unless `-v` asks for each problem.
const MOST: usize = 16;

/// What makes problems similar: whether a whole object is concerned, the message without its numbers, the section, the
/// remedy.
type Cause = (bool, String, Option<String>, Option<String>);

/// Reports what was left out; with `-v`, each problem separately.
pub fn tell(report: &Report, config: &Config) {
    if config.verbose > 0 {
        report.skipped.iter().for_each(|skipped| note(config, &line(skipped)));
        return;
    }
    let mut alike: BTreeMap<Cause, Vec<&Skipped>> = BTreeMap::new();
    let mut causes: Vec<Cause> = vec![];
    for skipped in &report.skipped {
        let cause = cause(skipped);
        let own = alike.entry(cause.clone()).or_default();
        if own.is_empty() {
            causes.push(cause);
        }
        own.push(skipped);
    }
    let lines: Vec<String> = causes.iter().flat_map(|cause| lines(&alike[cause])).collect();
    let shown = if lines.len() > MOST { MOST - 1 } else { lines.len() };
    lines[..shown].iter().for_each(|line| note(config, line));
    if shown < lines.len() {
        note(config, &format!("{} more lines: see them all with -v", lines.len() - shown));
    }
}

/// The lines for similar problems: one each if they are few.
fn lines(alike: &[&Skipped]) -> Vec<String> {
    if alike.len() <= FEW {
        return alike.iter().map(|skipped| line(skipped)).collect();
    }
    let first = alike[0];
    let files: std::collections::BTreeSet<&Path> = alike.iter().filter_map(|s| s.error.path()).collect();
    let count = if files.is_empty() { alike.len() } else { files.len() };
    vec![format!("{}: {count} objects (all of them with -v), the first: {}", what(first), first.error)]
}

fn line(skipped: &Skipped) -> String {
    let times = if skipped.count > 1 { format!(" ({} times)", skipped.count) } else { String::new() };
    format!("{}: {}{times}", what(skipped), skipped.error)
}

fn what(skipped: &Skipped) -> &'static str {
    if skipped.whole_object { "left out" } else { "in part" }
}

fn cause(skipped: &Skipped) -> Cause {
    let error = &skipped.error;
    let message = error.message().replace(|c: char| c.is_ascii_digit(), "");
    let place = error.place().unwrap_or_default();
    let section = place.split_once("section ").map(|(_, rest)| rest);
    let section = section.map(|s| s.split(" at 0x").next().unwrap_or(s).to_owned());
    (skipped.whole_object, message, section, error.remedy().map(str::to_owned))
}
