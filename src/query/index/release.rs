//! Reads releases: version, build of the distribution, flavour; and their order.
use std::cmp::Ordering;

/// A release as `uname -r` prints it, in parts.
///
/// | release | version | build | flavour |
/// | --- | --- | --- | --- |
/// | `6.1.0-56-cloud-amd64` | `6.1.0` | `56` | `cloud-amd64` |
/// | `7.3.4+deb13-rt-arm64` | `7.3.4` | `+deb13` | `rt-arm64` |
/// | `5.14.0-362.el9.x86_64+debug` | `5.14.0` | `362.el9` | `x86_64+debug` |
/// | `6.9.0-rc3` | `6.9.0-rc3` | | |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release<'t> {
    /// The upstream version, with `-rcN` if it has that.
    pub version: &'t str,
    /// The distribution's number of the build.
    pub build: &'t str,
    /// What is left: the flavour, with the architecture where the distribution names it.
    pub flavour: &'t str,
}

impl<'t> Release<'t> {
    /// The parts of a release. What has another shape is all flavour.
    pub fn parse(text: &'t str) -> Self {
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let mut end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        if end == 0 {
            return Self { version: "", build: "", flavour: text };
        }
        let word = |from: usize| {
            let rest = text.get(from..).and_then(|rest| rest.strip_prefix('-')).unwrap_or_default();
            &rest[..rest.find('-').unwrap_or(rest.len())]
        };
        if word(end).strip_prefix("rc").is_some_and(is_number) {
            end += 1 + word(end).len();
        }
        let start = end;
        if text[end..].starts_with('+') {
            end += text[end..].find('-').unwrap_or(text.len() - end);
        }
        let next = word(end);
        if next.starts_with(|c: char| c.is_ascii_digit()) {
            end += 1 + machine_of(next).unwrap_or(next.len());
        } else if next.ends_with(|c: char| c.is_ascii_digit()) && is_number(word(end + 1 + next.len())) {
            // arch1-1, zen1-1, android13-8
            end += 1 + next.len();
            end += 1 + word(end).len();
        }
        let separators = ['-', '.'];
        Self {
            version: text[..start].trim_end_matches('.'),
            build: text[start..end].trim_start_matches('-'),
            flavour: text[end..].trim_start_matches(separators),
        }
    }

    /// The upstream line: `6.1`.
    pub fn line(&self) -> &'t str {
        let mut dots = self.version.match_indices(['.', '-']);
        let end = dots.nth(1).map_or(self.version.len(), |(at, _)| at);
        &self.version[..end]
    }

    /// The order of the version and the build, by their components.
    pub fn cmp_version(&self, other: &Self) -> Ordering {
        self.components().cmp(other.components())
    }

    /// What [`cmp_version`](Self::cmp_version) compares, read once.
    pub fn version_key(&self) -> impl Ord + use<'t> {
        self.components().collect::<Vec<_>>()
    }

    /// Compares as many components as the bound has, so that `6.1.0-56` is neither before nor after `6.1`.
    pub fn cmp_bound(&self, bound: &Self) -> Ordering {
        // A bound that ends with the version holds for what follows that version, too.
        let is_open = bound.build.is_empty() && !bound.version.contains("-rc");
        let count = bound.components().count() - usize::from(is_open);
        self.components().take(count).cmp(bound.components().take(count))
    }

    fn components(&self) -> impl Iterator<Item = Component<'t>> + use<'t> {
        let (plain, candidate) = match self.version.split_once("-rc") {
            Some((plain, number)) => (plain, Component::Candidate(number.parse().unwrap_or(0))),
            None => (self.version, Component::Final),
        };
        components(plain).chain([candidate]).chain(components(self.build))
    }
}

/// The start of the machine at the end of a build: 362.el9.x86_64.
fn machine_of(build: &str) -> Option<usize> {
    const MACHINES: [&str; 8] =
        ["x86_64", "aarch64", "ppc64le", "s390x", "i686", "riscv64", "loongarch64", "noarch"];
    build.match_indices('.').map(|(at, _)| at).find(|at| {
        let word = build[at + 1..].split(['+', '.']).next();
        word.is_some_and(|word| MACHINES.contains(&word))
    })
}

/// A part of a version. A candidate stands before its version, that before its builds and longer versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Component<'t> {
    Candidate(u64),
    Final,
    Word(&'t str),
    Number(u64),
}

/// The numbers and words of a text.
fn components(text: &str) -> impl Iterator<Item = Component<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        let first = rest.chars().next()?;
        let is_same = |c: char| c.is_ascii_alphanumeric() && c.is_ascii_digit() == first.is_ascii_digit();
        let (part, after) = rest.split_at(rest.find(|c| !is_same(c)).unwrap_or(rest.len()));
        rest = after;
        Some(match first.is_ascii_digit() {
            true => Component::Number(part.parse().unwrap_or(u64::MAX)),
            false => Component::Word(part),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_releases() {
        for (release, line, version, build, flavour) in [
            ("6.1.0-56-cloud-amd64", "6.1", "6.1.0", "56", "cloud-amd64"),
            ("5.10.0-0.deb10.16-rt-arm64", "5.10", "5.10.0", "0.deb10.16", "rt-arm64"),
            ("7.3.4+deb13-cloud-amd64", "7.3", "7.3.4", "+deb13", "cloud-amd64"),
            ("6.12.9+1-1-amd64", "6.12", "6.12.9", "+1-1", "amd64"),
            ("5.15.0-91-generic", "5.15", "5.15.0", "91", "generic"),
            ("5.14.0-362.8.1.el9_3.x86_64", "5.14", "5.14.0", "362.8.1.el9_3", "x86_64"),
            ("5.14.0-362.el9.aarch64+64k", "5.14", "5.14.0", "362.el9", "aarch64+64k"),
            ("6.4.0-150600.23.14-default", "6.4", "6.4.0", "150600.23.14", "default"),
            ("6.6.1-arch1-1", "6.6", "6.6.1", "arch1-1", ""),
            ("6.6.1-zen1-1-zen", "6.6", "6.6.1", "zen1-1", "zen"),
            ("6.9.0-rc3", "6.9", "6.9.0-rc3", "", ""),
            ("6.9-rc3-custom", "6.9", "6.9-rc3", "", "custom"),
            ("6.9.0", "6.9", "6.9.0", "", ""),
            ("6.9.0+", "6.9", "6.9.0", "+", ""),
            ("6.1.0-test", "6.1", "6.1.0", "", "test"),
            ("7", "7", "7", "", ""),
            ("next", "", "", "", "next"),
            ("", "", "", "", ""),
        ] {
            let read = Release::parse(release);
            assert_eq!(
                (read.line(), read.version, read.build, read.flavour),
                (line, version, build, flavour),
                "{release}"
            );
        }
    }

    #[test]
    fn the_order_is_that_of_numbers() {
        let ordered = [
            "5.4.0-1-amd64",
            "5.10.0-9-amd64",
            "5.10.0-43-amd64",
            "6.1-rc2",
            "6.1",
            "6.1.0",
            "6.1.0-56",
            "6.1.1",
            "7.3.4+deb13",
            "7.3.4+deb14",
            "7.3.5",
        ];
        for (at, one) in ordered.iter().enumerate() {
            for (other_at, other) in ordered.iter().enumerate() {
                let order = Release::parse(one).cmp_version(&Release::parse(other));
                assert_eq!(order, at.cmp(&other_at), "{one} {other}");
            }
        }
    }

    #[test]
    fn a_bound_holds_for_what_follows_it() {
        for (release, bound, order) in [
            ("6.1.0-56-cloud-amd64", "6.1", Ordering::Equal),
            ("6.1-rc3", "6.1", Ordering::Equal),
            ("6.1.0-56", "6.1-rc3", Ordering::Greater),
            ("6.1.0-56", "6.1.0-56", Ordering::Equal),
            ("6.1.0-56", "6.1.0-6", Ordering::Greater),
            ("6.12.0", "6.1", Ordering::Greater),
            ("6.1.0", "6.12", Ordering::Less),
            ("7.3.4+deb13", "7.3.4+deb14", Ordering::Less),
            ("6", "6.1", Ordering::Less),
        ] {
            let found = Release::parse(release).cmp_bound(&Release::parse(bound));
            assert_eq!(found, order, "{release} {bound}");
        }
    }
}
