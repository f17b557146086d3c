//! What will be seen and what will not.
use super::super::printable;
use crate::query::trace::{Kind, LeftOut, Plan};

/// The most places that are named for one reason.
const FEW: usize = 3;

/// A line for each thing that is traced: `blk_account_io_start: 13 of 14 copies; 1 jump-label: … in blk_mq_submit_bio`,
/// then a line for each value that some of its copies have not.
pub fn summary(plan: &Plan) -> Vec<String> {
    let mut lines = vec![];
    for subject in subjects(plan) {
        let events = || plan.events.iter().filter(|e| e.subject == subject);
        let left: Vec<&LeftOut> = plan.left_out.iter().filter(|l| l.subject == subject).collect();
        let planted: usize = events().map(|e| e.copies.len()).sum();
        let whole = planted + left.len();
        let is_event = events().all(|e| e.kind == Kind::Tracepoint);
        let mut line = match (is_event, left.is_empty()) {
            (true, true) => subject.to_owned(),
            _ => format!("{subject}: {planted} of {whole} {}", if whole == 1 { "place" } else { "places" }),
        };
        for (why, places) in by_reason(&left) {
            let named: Vec<String> = places.iter().take(FEW).map(|l| named(l, subject)).collect();
            let more = places.len().saturating_sub(FEW);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            line += &format!("; {} left out, {why}: {}{more}", places.len(), named.join(", "));
        }
        lines.push(printable(&line).into_owned());
        let mut unread: Vec<(&str, &str, usize)> = vec![];
        for (name, why) in events().flat_map(|e| &e.copies).flat_map(|c| &c.unreadable) {
            match unread.iter_mut().find(|(n, w, _)| n == name && w == why) {
                Some((.., count)) => *count += 1,
                None => unread.push((name, why, 1)),
            }
        }
        for (name, why, count) in unread {
            let where_ =
                if count == planted { String::new() } else { format!(" in {count} of {planted} places") };
            lines.push(printable(&format!("{subject}: without {name}{where_}: {why}")).into_owned());
        }
    }
    lines
}

/// The subjects of events, then those that have none; each once.
fn subjects(plan: &Plan) -> Vec<&str> {
    let mut subjects: Vec<&str> = vec![];
    let all = plan
        .events
        .iter()
        .map(|e| e.subject.as_str())
        .chain(plan.left_out.iter().map(|l| l.subject.as_str()));
    for subject in all {
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    subjects
}

fn by_reason<'l>(left: &[&'l LeftOut]) -> Vec<(&'l str, Vec<&'l LeftOut>)> {
    let mut reasons: Vec<(&str, Vec<&LeftOut>)> = vec![];
    for one in left {
        match reasons.iter_mut().find(|(why, _)| *why == one.why) {
            Some((_, same)) => same.push(one),
            None => reasons.push((&one.why, vec![one])),
        }
    }
    reasons
}

/// `in path_openat (instead: trace __schedule+0x4b8)`
fn named(left: &LeftOut, subject: &str) -> String {
    let place = left.what.strip_prefix(subject).map_or(left.what.as_str(), str::trim_start);
    let place = if place.is_empty() { "itself" } else { place };
    match &left.instead {
        Some(instead) => format!("{place} (instead: {instead})"),
        None => place.to_owned(),
    }
}

/// The line of a shell that writes a text to a file: one that takes it as it is.
pub fn as_shell(path: &str, text: &str) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    format!("printf '%s\\n' {} >> {}", quoted(text), quoted(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::trace::{Copy, Event};

    fn event(subject: &str, unreadable: &[&[(&str, &str)]]) -> Event {
        let copy = |unread: &&[(&str, &str)]| Copy {
            definition: Some("p:g/e _text+1".to_owned()),
            is_certain: true,
            place: None,
            inlined_into: vec![],
            unreadable: unread.iter().map(|(n, w)| ((*n).to_owned(), (*w).to_owned())).collect(),
        };
        Event {
            kind: Kind::Kprobe,
            group: "g".to_owned(),
            name: "e".to_owned(),
            subject: subject.to_owned(),
            copies: unreadable.iter().map(copy).collect(),
            columns: vec![],
            filter: None,
        }
    }

    #[test]
    fn what_is_left_out_stands_with_its_reason_and_what_to_trace_instead() {
        let left = |caller: &str, why: &str, instead: Option<&str>| LeftOut {
            subject: "f".to_owned(),
            what: format!("f in {caller}"),
            why: why.to_owned(),
            instead: instead.map(str::to_owned),
        };
        let plan = Plan {
            events: vec![event("f", &[&[], &[("x", "elsewhere")]]), event("g", &[&[]])],
            left_out: vec![
                left("a", "jump-label", Some("trace a+0x8")),
                left("b", "jump-label", None),
                left("c", "patched", None),
            ],
        };
        assert_eq!(
            summary(&plan),
            [
                "f: 2 of 5 places; 2 left out, jump-label: in a (instead: trace a+0x8), in b; 1 left out, patched: in c",
                "f: without x in 1 of 2 places: elsewhere",
                "g: 1 of 1 place",
            ]
        );
    }

    #[test]
    fn a_shell_takes_the_text_as_it_is() {
        assert_eq!(as_shell("/t/f", r"a=\0 'x'"), r"printf '%s\n' 'a=\0 '\''x'\''' >> '/t/f'");
    }
}
