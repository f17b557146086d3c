//! The grammar of `--kernel`: which kernels are asked.
use crate::error::{Error, ErrorKind, Result};
use crate::pattern::Pattern;
use crate::query::index::kernel_description::KernelDescription;
use crate::query::index::release::Release;
use std::fmt;

/// The kernels that a text selects.
///
/// | text | kernels |
/// | --- | --- |
/// | `6.1.0-56-amd64`, `6.12*`, `*` | of this release, which may have wildcards |
/// | `59ad4f7af0` | whose vmlinux has this build id: 8 digits or more |
/// | `6.1..7.3`, `6.1..`, `..6.1.0-56` | from one version to another, both included with all that follows them: `7.3` has 7.3.4 |
/// | `6.1.0-50-amd64..6.1.0-56-amd64` | the same, of the flavours that the bounds name |
/// | `debian/6.1/cloud-*`, `debian/*` | by distribution, line and flavour, with wildcards |
#[derive(Clone, Debug, PartialEq)]
pub enum Selection {
    /// Releases.
    Release(Pattern),
    /// The start of a build id, in lower case. A release of this name comes first.
    BuildId(String),
    /// From one release to another; an empty one is no bound.
    Range {
        /// The first.
        from: String,
        /// The last.
        to: String,
    },
    /// Builds of a kind.
    Kind {
        /// Who built it.
        distribution: Pattern,
        /// The upstream line.
        line: Pattern,
        /// The flavour.
        flavour: Pattern,
    },
}

/// The fewest digits of a build id.
const SHORTEST: usize = 8;

impl Selection {
    /// Parses a text.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for a bound that is no version, and for more parts than there are.
    pub fn parse(text: &str) -> Result<Self> {
        // A path is no kind of kernels.
        let kind = text.split_once('/').filter(|(distribution, _)| !matches!(*distribution, "" | "." | ".."));
        if let Some((distribution, rest)) = kind {
            let (line, flavour) = rest.split_once('/').unwrap_or((rest, "*"));
            if flavour.contains('/') {
                return Err(wrong(text, "too many slashes"));
            }
            return Ok(Self::Kind {
                distribution: Pattern::new(distribution)?,
                line: Pattern::new(line)?,
                flavour: Pattern::new(flavour)?,
            });
        }
        if let Some((from, to)) = text.split_once("..").filter(|_| !text.contains('/')) {
            let is_bound = |bound: &str| bound.is_empty() || !Release::parse(bound).version.is_empty();
            if ![from, to].into_iter().all(is_bound) {
                return Err(wrong(text, "a bound starts with a version"));
            }
            return Ok(Self::Range { from: from.to_owned(), to: to.to_owned() });
        }
        if text.len() >= SHORTEST && text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Ok(Self::BuildId(text.to_ascii_lowercase()));
        }
        Ok(Self::Release(Pattern::new(text)?))
    }

    /// Whether it selects a kernel.
    pub fn selects(&self, kernel: &KernelDescription) -> bool {
        let release = kernel.release();
        match self {
            Self::Release(pattern) => pattern.matches(kernel.id.release.as_bytes()),
            Self::BuildId(digits) => kernel.id.build_id.as_ref().is_some_and(|id| id.starts_with(digits)),
            Self::Range { from, to } => {
                let bounds = [from, to].map(|bound| Release::parse(bound));
                let mut named = bounds.iter().map(|b| b.flavour).filter(|f| !f.is_empty()).peekable();
                let is_of_flavour = named.peek().is_none() || named.any(|f| f == release.flavour);
                is_of_flavour
                    && (from.is_empty() || release.cmp_bound(&bounds[0]).is_ge())
                    && (to.is_empty() || release.cmp_bound(&bounds[1]).is_le())
            }
            Self::Kind { distribution, line, flavour } => {
                distribution.matches(kernel.distribution.as_bytes())
                    && line.matches(release.line().as_bytes())
                    && flavour.matches(release.flavour.as_bytes())
            }
        }
    }
}

fn wrong(text: &str, why: &str) -> Error {
    let what = format!("--kernel {text}: {why}");
    let hint = "a release, a build id, '*', A..B, or DISTRIBUTION/LINE/FLAVOUR";
    Error::new(ErrorKind::Usage, what).hint(hint)
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Release(pattern) => write!(f, "{pattern}"),
            Self::BuildId(digits) => f.write_str(digits),
            Self::Range { from, to } => write!(f, "{from}..{to}"),
            Self::Kind { distribution, line, flavour } => write!(f, "{distribution}/{line}/{flavour}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::index::kernel_id::KernelId;

    const KERNELS: [(&str, &str, &str); 7] = [
        ("5.10.0-43-cloud-amd64", "debian", "0a10fd5d00aa"),
        ("6.1.0-56-amd64", "debian", "59ad4f7af0c1"),
        ("6.1.0-56-cloud-amd64", "debian", "59ad4f7bbbbb"),
        ("6.1.0-56-rt-amd64", "debian", "61"),
        ("6.12.0-1-generic", "ubuntu", "62"),
        ("7.3.4+deb13-cloud-amd64", "debian", "73"),
        ("6.1.0-test", "unknown", "99"),
    ];

    fn selected(text: &str) -> Vec<&'static str> {
        let selection = Selection::parse(text).unwrap();
        let kernel = |&(release, distribution, build_id): &(&str, _, &str)| KernelDescription {
            id: KernelId {
                release: release.to_owned(),
                architecture: "x86_64",
                build_id: Some(build_id.to_owned()),
            },
            distribution,
        };
        KERNELS.iter().filter(|k| selection.selects(&kernel(k))).map(|k| k.0).collect()
    }

    #[test]
    fn what_texts_select() {
        let [old, plain, cloud, rt, ubuntu, new, test] = KERNELS.map(|k| k.0);
        for (text, wanted) in [
            ("6.1.0-56-amd64", &[plain][..]),
            ("*", &[old, plain, cloud, rt, ubuntu, new, test]),
            ("6.1*-amd64", &[plain, cloud, rt]),
            ("59ad4f7a", &[plain]),
            ("59AD4F7AF0", &[plain]),
            ("59ad4f7c", &[]),
            ("59ad4f7", &[]),
            ("6.1..7.3", &[plain, cloud, rt, ubuntu, new, test]),
            ("6.1..6.1", &[plain, cloud, rt, test]),
            ("..6.1.0-55", &[old, test]),
            ("6.12..", &[ubuntu, new]),
            ("..", &[old, plain, cloud, rt, ubuntu, new, test]),
            ("5.10.0-43-cloud-amd64..7.3", &[old, cloud, new]),
            ("6.1.0-56-rt-amd64..6.1.0-56-amd64", &[plain, rt]),
            ("debian/*/cloud-amd64", &[old, cloud, new]),
            ("debian/6.1/*", &[plain, cloud, rt]),
            ("debian/6.1", &[plain, cloud, rt]),
            ("*/6.1*/*", &[plain, cloud, rt, ubuntu, test]),
            ("unknown/*/*", &[test]),
            ("debian/*/amd64", &[plain]),
            ("../6.1.0-test", &[]),
            ("/6.1", &[]),
        ] {
            assert_eq!(selected(text), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_no_selection() {
        for text in ["a..b", "6.1..newest", "debian/6.1/amd64/more", "[[:no:]]"] {
            let error = Selection::parse(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{text}: {error}");
        }
    }
}
