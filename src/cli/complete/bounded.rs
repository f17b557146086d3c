//! Limits the number of candidates.
use super::Candidate;
use std::ops::Range;

/// The largest number of candidates, not counting those that differ in their next letter.
const MOST: usize = 200;

/// A candidate that stands for one or several entries of a sorted list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen<'a> {
    /// The entry at this position.
    Whole(usize),
    /// All entries with this prefix.
    Start(&'a str),
}

/// How much of a text represents all entries that share it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Share {
    Whole,
    /// Up to the end of the next word: `tcp_v4_`.
    Word,
    Letter,
}

/// The candidates in order, without duplicates, limited in number.
pub fn bounded(mut found: Vec<Candidate>, typed: usize) -> Vec<Candidate> {
    found.sort_unstable();
    found.dedup_by(|a, b| a.text == b.text);
    let chosen = choose(0..found.len(), typed, |at| found[at].text.as_str(), |_| true).into_iter();
    chosen
        .map(|chosen| match chosen {
            Chosen::Whole(at) => found[at].clone(),
            Chosen::Start(start) => Candidate::going_on(start, "…"),
        })
        .collect()
}

/// Chooses from a sorted list of texts whose first `typed` bytes are typed. If there are too many, those with the same
/// next word (`tcp_v4_connect`, `tcp_v4_rcv`) become one, as files become the name of their folder; if these are still
/// too many, those with the same next letter. So a shell that inserts the common prefix of all candidates inserts
/// nothing wrong. Cost: a few look-ups for each result, however long the list, if most of the list matches.
pub fn choose<'a>(
    all: Range<usize>,
    typed: usize,
    text: impl Fn(usize) -> &'a str,
    is_wanted: impl Fn(usize) -> bool,
) -> Vec<Chosen<'a>> {
    for share in [Share::Whole, Share::Word] {
        let found = shared(&all, typed, share, MOST, &text, &is_wanted);
        if found.len() <= MOST {
            return found;
        }
    }
    shared(&all, typed, Share::Letter, usize::MAX, &text, &is_wanted)
}

/// The result for this kind of prefix, and at most one more than `most`.
fn shared<'a>(
    all: &Range<usize>,
    typed: usize,
    share: Share,
    most: usize,
    text: &impl Fn(usize) -> &'a str,
    is_wanted: &impl Fn(usize) -> bool,
) -> Vec<Chosen<'a>> {
    let mut found = vec![];
    let mut at = all.start;
    while at < all.end && found.len() <= most {
        let whole = text(at);
        let start = share.start(whole, typed);
        let is_share = share == Share::Letter || share == Share::Word && start.ends_with('_');
        let end = if start.len() > typed && is_share { end_of(at..all.end, start, text) } else { at + 1 };
        let mut own = (at..end).filter(|at| is_wanted(*at));
        match (own.next(), own.next()) {
            (Some(_), Some(_)) => found.push(Chosen::Start(start)),
            (Some(only), None) => found.push(Chosen::Whole(only)),
            (None, _) => {}
        }
        at = end;
    }
    found
}

/// The end of the entries with this prefix, which the first one surely has. It is usually nearby.
fn end_of<'a>(all: Range<usize>, start: &str, text: impl Fn(usize) -> &'a str) -> usize {
    let (mut within, mut step) = (all.start, 1);
    while within + step < all.end && text(within + step).starts_with(start) {
        within += step;
        step *= 2;
    }
    let mut beyond = (within + step).min(all.end);
    while within + 1 < beyond {
        let middle = within + (beyond - within) / 2;
        if text(middle).starts_with(start) { within = middle } else { beyond = middle }
    }
    beyond
}

impl Share {
    fn start(self, text: &str, typed: usize) -> &str {
        let rest = text.get(typed..).unwrap_or_default();
        let end = match self {
            Self::Whole => rest.len(),
            Self::Word => {
                let word = rest.find(|c| c != '_').unwrap_or(rest.len());
                rest[word..].find('_').map_or(rest.len(), |end| word + end + 1)
            }
            Self::Letter => rest.chars().next().map_or(0, char::len_utf8),
        };
        text.get(..typed + end).unwrap_or(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(found: impl IntoIterator<Item = String>, typed: usize) -> Vec<String> {
        let found = found.into_iter().map(|text| Candidate::new(text, "")).collect();
        bounded(found, typed).into_iter().map(|c| c.text).collect()
    }

    #[test]
    fn few_stay_as_they_are() {
        let found = ["b_2", "a", "b_1", "a"].map(str::to_owned);
        assert_eq!(texts(found, 0), ["a", "b_1", "b_2"]);
    }

    #[test]
    fn many_are_grouped_by_their_next_word() {
        let many = (0..300).map(|n| format!("tcp_v4_f{n}"));
        let found: Vec<String> = many.chain(["tcp_ack", "tcp_v6", "tcp__x_y"].map(str::to_owned)).collect();
        assert_eq!(texts(found.clone(), 4), ["tcp__x_y", "tcp_ack", "tcp_v4_", "tcp_v6"]);
        assert_eq!(texts(found, 0), ["tcp_"]);
    }

    #[test]
    fn more_than_that_by_their_next_letter() {
        let mut found: Vec<String> = (0..5000).map(|n| format!("f{n:04}")).collect();
        found.extend(["f", "f99990", "fx_y", "f\u{e4}"].map(str::to_owned));
        assert_eq!(texts(found, 1), ["f", "f0", "f1", "f2", "f3", "f4", "f99990", "fx_y", "f\u{e4}"]);
    }

    proptest! {
        /// Each name or a prefix of it is there; and no prefix represents fewer than two.
        #[test]
        fn nothing_is_lost(names in prop::collection::btree_set("[ab_]{0,9}", 0..900), nth in 1usize..4) {
            let names: Vec<String> = names.into_iter().collect();
            let wanted = |at: usize| at.is_multiple_of(nth);
            let chosen = choose(0..names.len(), 0, |at| &names[at], wanted);
            for (at, name) in names.iter().enumerate().filter(|(at, _)| wanted(*at)) {
                let stands = |c: &Chosen<'_>| match c {
                    Chosen::Whole(whole) => *whole == at,
                    Chosen::Start(start) => name.starts_with(start),
                };
                prop_assert_eq!(chosen.iter().filter(|c| stands(c)).count(), 1, "{}", name);
            }
            for c in &chosen {
                match c {
                    Chosen::Whole(at) => prop_assert!(wanted(*at)),
                    Chosen::Start(start) => {
                        let own = (0..names.len()).filter(|at| wanted(*at) && names[*at].starts_with(start));
                        prop_assert!(own.count() > 1);
                    }
                }
            }
        }
    }
}
