//! Finds names similar to one that does not exist.
//!
//! Names of kernel functions go wrong in two ways: they are mistyped (`vfs_raed`), or remembered without their prefix
//! or suffix (`sys_open` for `__x64_sys_open`). Both are ranked on one scale.

/// Up to `n` names closest to `wanted`, best first, ties in byte order; without duplicates, and without `wanted`
/// itself.
///
/// A name is close if at most a third of `wanted` (at least one letter, at most four) was mistyped, counting a swap
/// of neighbours once, or if it contains `wanted`. One pass, no allocation per name.
pub fn nearest<'a, N>(wanted: &str, names: impl Iterator<Item = &'a N>, n: usize) -> Vec<String>
where
    N: AsRef<[u8]> + ?Sized + 'a,
{
    nearest_of(wanted, names.map(|name| (name.as_ref(), ())), n, |()| true)
}

/// The same among names that have something beside them, by which they count or not: it is asked of those that are close.
pub fn nearest_of<'a, T: Copy>(
    wanted: &str,
    names: impl Iterator<Item = (&'a [u8], T)>,
    n: usize,
    counts: impl Fn(T) -> bool,
) -> Vec<String> {
    let mut best: Vec<(u32, &[u8])> = Vec::with_capacity(n + 1);
    if n == 0 || wanted.is_empty() {
        return Vec::new();
    }
    let mut search = Search::new(wanted.as_bytes());
    for (name, beside) in names {
        let limit = if best.len() == n { best[n - 1].0 } else { u32::MAX };
        let Some(far) = search.distance(name, limit) else { continue };
        let place = best.partition_point(|&known| known < (far, name));
        if best.get(place) != Some(&(far, name)) && counts(beside) {
            best.insert(place, (far, name));
            best.truncate(n);
        }
    }
    best.into_iter().map(|(_, name)| String::from_utf8_lossy(name).into_owned()).collect()
}

/// The cost of one mistake, in units of a quarter of a letter; an omitted letter of context costs one.
const MISTAKE: u32 = 6;
/// The minimum distance of a name that only continues `wanted`.
const CONTINUED: u32 = 5;

struct Search<'w> {
    wanted: &'w [u8],
    letters: u64,
    mistakes: usize,
    /// Three rows of the edit distance table: the last but one, the last, the current one.
    rows: [Vec<u32>; 3],
}

impl<'w> Search<'w> {
    fn new(wanted: &'w [u8]) -> Self {
        let rows = [0; 3].map(|_: u8| vec![0; wanted.len() + 1]);
        Self { wanted, letters: letters(wanted), mistakes: (wanted.len() / 3).clamp(1, 4), rows }
    }

    /// The distance of a name; `None` if it is not close or beyond `limit`.
    fn distance(&mut self, name: &[u8], limit: u32) -> Option<u32> {
        // Too short to be a mistyped `wanted`, or to contain it.
        if name.len() + self.mistakes < self.wanted.len() {
            return None;
        }
        let letters = letters(name);
        let missing = (self.letters & !letters).count_ones() as usize;
        let held = if missing == 0 && self.wanted.len() >= 3 { held(self.wanted, name) } else { None };
        let mistakes = self.mistakes.min(limit as usize / MISTAKE as usize);
        let hopeless = missing.max((letters & !self.letters).count_ones() as usize) > mistakes;
        let typed = if hopeless { None } else { self.edits(name, mistakes).map(|edits| edits * MISTAKE) };
        let far = match (held, typed) {
            (Some(held), Some(typed)) => held.min(typed),
            (far, None) | (None, far) => far?,
        };
        (far > 0 && far <= limit).then_some(far)
    }

    /// The optimal string alignment distance, computed within `most` of the diagonal; `None` if larger.
    fn edits(&mut self, name: &[u8], most: usize) -> Option<u32> {
        let wanted = self.wanted;
        if wanted.len().abs_diff(name.len()) > most {
            return None;
        }
        let beyond = most as u32 + 1;
        for (column, cell) in self.rows[1].iter_mut().enumerate() {
            *cell = if column <= most { column as u32 } else { beyond };
        }
        for (row, &letter) in name.iter().enumerate() {
            let [before, last, now] = &mut self.rows;
            let from = (row + 1).saturating_sub(most);
            let to = (row + 1 + most).min(wanted.len());
            let mut least = beyond;
            if from > 0 {
                now[from - 1] = beyond;
            }
            for column in from..=to {
                if column == 0 {
                    now[0] = row as u32 + 1;
                    least = least.min(now[0]);
                    continue;
                }
                let own = wanted[column - 1];
                let mut cell = last[column - 1] + u32::from(own != letter);
                cell = cell.min(last[column] + 1).min(now[column - 1] + 1);
                if row > 0 && column > 1 && own == name[row - 1] && wanted[column - 2] == letter {
                    cell = cell.min(before[column - 2] + 1);
                }
                now[column] = cell.min(beyond);
                least = least.min(cell);
            }
            if to < wanted.len() {
                now[to + 1] = beyond;
            }
            if least >= beyond {
                return None;
            }
            self.rows.rotate_left(1);
        }
        let edits = self.rows[1][wanted.len()];
        (edits < beyond).then_some(edits)
    }
}

/// The distance of a name that contains `wanted`: larger in the middle than at an end, and largest within a word.
fn held(wanted: &[u8], name: &[u8]) -> Option<u32> {
    let context = name.len().checked_sub(wanted.len())?;
    let boundary = |at: usize| {
        at == 0
            || at == name.len()
            || !name[at - 1].is_ascii_alphanumeric()
            || !name[at].is_ascii_alphanumeric()
    };
    let place = |at: usize| {
        let middle = u32::from(at > 0 && at < context) * 4;
        let within = u32::from(!boundary(at)) + u32::from(!boundary(at + wanted.len()));
        CONTINUED + middle + within * MISTAKE + context.min(64) as u32
    };
    (context > 0).then_some(())?;
    if name.ends_with(wanted) {
        return Some(place(context));
    }
    let at = name.windows(wanted.len()).position(|part| part == wanted)?;
    Some(place(at))
}

/// The set of letters, hashed into 64 bits.
fn letters(text: &[u8]) -> u64 {
    text.iter().fold(0, |set, &b| set | 1 << (b & 63))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KERNEL: [&str; 12] = [
        "vfs_read",
        "vfs_readv",
        "vfs_write",
        "kernel_read",
        "do_sys_open",
        "__x64_sys_open",
        "sys_copyarea",
        "tcp_sendmsg",
        "tcp_sendmsg_locked",
        "udp_sendmsg",
        "schedule",
        "vfs_read",
    ];

    fn near(wanted: &str) -> Vec<String> {
        nearest(wanted, KERNEL.into_iter(), 3)
    }

    #[test]
    fn mistyped() {
        assert_eq!(near("vfs_raed")[0], "vfs_read");
        assert_eq!(near("vfsread")[0], "vfs_read");
        assert_eq!(near("tcp_sendmesg")[0], "tcp_sendmsg");
        assert_eq!(near("shcedule"), ["schedule"]);
    }

    #[test]
    fn remembered_in_part() {
        assert_eq!(near("sys_open"), ["do_sys_open", "__x64_sys_open"]);
        assert_eq!(near("_read"), ["vfs_read", "kernel_read", "vfs_readv"]);
        assert_eq!(near("tcp_send")[0], "tcp_sendmsg");
    }

    #[test]
    fn strangers_and_itself_are_left_out() {
        assert_eq!(near("completely_else"), [""; 0]);
        assert_eq!(near("schedule"), [""; 0]);
        assert_eq!(near(""), [""; 0]);
        assert_eq!(nearest("vfs_raed", KERNEL.into_iter(), 0), [""; 0]);
    }

    #[test]
    fn equals_stand_in_the_order_of_their_names() {
        assert_eq!(nearest("abcx", ["abcz", "abca", "abcm"].into_iter(), 2), ["abca", "abcm"]);
    }

    #[test]
    fn ninety_thousand_names_take_less_than_twenty_milliseconds() {
        if cfg!(debug_assertions) {
            return;
        }
        let parts =
            ["vfs", "ext4", "security", "inode", "tcp", "send", "permission", "read", "alloc", "page"];
        let name = |i: usize| {
            format!("{}_{}_{}_{}", parts[i % 10], parts[i / 10 % 10], parts[i / 100 % 10], i / 1000)
        };
        let names: Vec<String> = (0..90_000).map(name).collect();
        for wanted in ["security_inode_permision", "ext4_raed_page", "_read", "a"] {
            let start = std::time::Instant::now();
            std::hint::black_box(nearest(wanted, names.iter().map(String::as_str), 5));
            assert!(start.elapsed().as_millis() < 20, "{wanted}: {:?}", start.elapsed());
        }
    }

    /// The complete textbook table.
    fn alignment(a: &[u8], b: &[u8]) -> u32 {
        let mut table = vec![vec![0u32; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                table[i][j] = if i == 0 || j == 0 {
                    (i + j) as u32
                } else {
                    let mut cell = table[i - 1][j - 1] + u32::from(a[i - 1] != b[j - 1]);
                    cell = cell.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
                    if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                        cell = cell.min(table[i - 2][j - 2] + 1);
                    }
                    cell
                };
            }
        }
        table[a.len()][b.len()]
    }

    proptest! {
        #[test]
        fn the_band_loses_nothing(a in "[a-c]{1,9}", b in "[a-c]{0,9}", most in 1usize..5) {
            let whole = alignment(a.as_bytes(), b.as_bytes());
            let mut search = Search::new(a.as_bytes());
            prop_assert_eq!(search.edits(b.as_bytes(), most), (whole as usize <= most).then_some(whole));
        }

        #[test]
        fn the_order_of_the_names_does_not_matter(mut names in proptest::collection::vec("[ab_]{1,6}", 0..30)) {
            let one = nearest("ab_a", names.iter().map(String::as_str), 4);
            names.reverse();
            prop_assert_eq!(one, nearest("ab_a", names.iter().map(String::as_str), 4));
        }
    }
}
