//! Matches things of the same name between two kernels.

/// A thing in both kernels, or in only one of them.
#[derive(Debug, PartialEq, Eq)]
pub struct Pair<T> {
    pub before: Option<T>,
    pub after: Option<T>,
}

/// Pairs by file: first equal paths, then by the number of common trailing components, and finally single leftovers on
/// both sides. In the order of `before`, followed by additions.
pub fn pairs<T>(before: Vec<T>, after: Vec<T>, file: impl Fn(&T) -> &[u8]) -> Vec<Pair<T>> {
    // Nearly all names denote one thing.
    if before.len() <= 1 && after.len() <= 1 {
        let (before, after) = (before.into_iter().next(), after.into_iter().next());
        return vec![Pair { before, after }];
    }
    let mut left: Vec<Option<T>> = after.into_iter().map(Some).collect();
    let mut found: Vec<Pair<T>> =
        before.into_iter().map(|before| Pair { before: Some(before), after: None }).collect();
    // Best agreement first; on a tie, the first candidate.
    for least in [usize::MAX, 2, 1] {
        for pair in found.iter_mut().filter(|pair| pair.after.is_none()) {
            let Some(own) = pair.before.as_ref().map(&file) else { continue };
            let nearest = (0..left.len())
                .filter_map(|at| Some((agreement(own, file(left[at].as_ref()?)), std::cmp::Reverse(at))))
                .filter(|(agreement, _)| *agreement >= least)
                .max();
            if let Some((_, std::cmp::Reverse(at))) = nearest {
                pair.after = left[at].take();
            }
        }
    }
    let mut alone = found.iter_mut().filter(|pair| pair.after.is_none());
    if let (Some(pair), None) = (alone.next(), alone.next())
        && left.iter().flatten().count() == 1
    {
        pair.after = left.iter_mut().find_map(Option::take);
    }
    found.extend(left.into_iter().flatten().map(|after| Pair { before: None, after: Some(after) }));
    found
}

/// The number of common trailing components of two paths; the maximum if they are equal.
fn agreement(one: &[u8], other: &[u8]) -> usize {
    if one == other {
        return usize::MAX;
    }
    let components = |path| <[u8]>::rsplit(path, |b| *b == b'/');
    components(one).zip(components(other)).take_while(|(a, b)| a == b && !a.is_empty()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paired(before: &[&'static str], after: &[&'static str]) -> Vec<String> {
        let pairs = pairs(before.to_vec(), after.to_vec(), |file| file.as_bytes());
        pairs.iter().map(|p| format!("{} {}", p.before.unwrap_or("-"), p.after.unwrap_or("-"))).collect()
    }

    #[test]
    fn what_stands_in_the_same_file_is_the_same() {
        let found = paired(&["fs/namei.c", "drivers/char/mem.c"], &["drivers/char/mem.c", "fs/namei.c"]);
        assert_eq!(found, ["fs/namei.c fs/namei.c", "drivers/char/mem.c drivers/char/mem.c"]);
    }

    #[test]
    fn a_file_that_moved_is_found_by_its_end() {
        let found = paired(&["fs/a.c", "fs/ext/b.c"], &["lib/ext/b.c", "new/a.c", "c.c"]);
        assert_eq!(found, ["fs/a.c new/a.c", "fs/ext/b.c lib/ext/b.c", "- c.c"]);
    }

    #[test]
    fn the_last_ones_are_a_pair_only_if_there_is_one_each() {
        assert_eq!(paired(&["a.c", "b.c"], &["b.c", "d.c"]), ["a.c d.c", "b.c b.c"]);
        assert_eq!(paired(&["a.c", "b.c"], &["c.c", "d.c"]), ["a.c -", "b.c -", "- c.c", "- d.c"]);
    }

    #[test]
    fn one_each_is_the_same_wherever_it_stands() {
        assert_eq!(paired(&["fs/aio.c"], &["io_uring/rw.c"]), ["fs/aio.c io_uring/rw.c"]);
        assert_eq!(paired(&["fs/aio.c"], &[]), ["fs/aio.c -"]);
    }
}
