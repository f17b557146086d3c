//! As many candidates as one can look at.
use super::Candidate;

/// How many there are at most.
pub const MOST: usize = 200;

/// The candidates in order, each once. Where there are too many, those with the same next word of their name
/// (`tcp_v4_connect`, `tcp_v4_rcv`) become one, as files do in the name of their folder; where these are too many still, some
/// are left out. The first and the last stay, so that a shell that types what all have in common types nothing wrong.
/// `typed` is the length of what all start with.
pub fn bounded(mut found: Vec<Candidate>, typed: usize) -> Vec<Candidate> {
    found.sort_unstable();
    found.dedup_by(|a, b| a.text == b.text);
    if found.len() > MOST {
        found = grouped(found, typed);
    }
    if found.len() > MOST {
        let last = found.len() - 1;
        found = (0..MOST).map(|at| found[at * last / (MOST - 1)].clone()).collect();
    }
    found
}

fn grouped(found: Vec<Candidate>, typed: usize) -> Vec<Candidate> {
    let mut groups: Vec<Candidate> = Vec::new();
    let mut rest = found.into_iter().peekable();
    while let Some(first) = rest.next() {
        let start = first_word(&first.text, typed).to_owned();
        let mut is_alone = true;
        while rest.next_if(|next| next.text.starts_with(&start) && start.len() < first.text.len()).is_some() {
            is_alone = false;
        }
        groups.push(if is_alone { first } else { Candidate::going_on(start, "…") });
    }
    groups
}

/// Up to the end of the first word of what is not typed yet, with the underscore behind it.
pub fn first_word(text: &str, typed: usize) -> &str {
    let rest = text.get(typed..).unwrap_or_default();
    let word = rest.find(|c| c != '_').unwrap_or(rest.len());
    rest[word..].find('_').map_or(text, |end| &text[..typed + word + end + 1])
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn more_than_that_are_left_out_but_for_the_first_and_the_last() {
        let found: Vec<String> = (0..5000).map(|n| format!("f{n:04}")).collect();
        let bounded = texts(found, 1);
        assert_eq!(
            (bounded.len(), bounded[0].as_str(), bounded[MOST - 1].as_str()),
            (MOST, "f0000", "f4999")
        );
    }
}
