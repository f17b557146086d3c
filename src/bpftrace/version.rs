//! Versions of bpftrace, as far as its rules differ by them.
use crate::error::{Error, ErrorKind, Result};
use std::fmt::{self, Display, Formatter};

/// Version and patch level of bpftrace: 0.24.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32);

impl Version {
    /// The newest whose language is known.
    pub const NEWEST: Self = Self(0, 27);
    /// From this one on, patterns leave out functions that are known to hang a kernel (`is_bad_func`, 0.21).
    pub const WITHOUT_BAD: Self = Self(0, 21);
    /// From this one on, 1,024 functions of a pattern are taken by default in place of 512 (0.23).
    pub const MORE_PROBES: Self = Self(0, 23);
    /// From this one on, an attach point that is not there, or that the kernel refuses, ends the script (`missing_probes`
    /// became `error`; CHANGELOG.md of bpftrace, 0.24.0).
    pub const ALL_ATTACH: Self = Self(0, 24);
    /// From this one on, raw tracepoints need the kernel's BTF (0.24.0).
    pub const RAW_TRACEPOINTS_BY_BTF: Self = Self(0, 24);
    /// From this one on, kprobes at functions that ftrace does not list need `--unsafe` (0.25.0).
    pub const LISTED_ALONE: Self = Self(0, 25);
    /// From this one on, `args` of tracepoints need the kernel's BTF (0.25.0).
    pub const FIELDS_BY_BTF: Self = Self(0, 25);

    /// Reads `0.24`, `0.24.1` and `v0.24.1`, as `bpftrace --version` prints it.
    ///
    /// # Errors
    /// [`ErrorKind::Syntax`], if it is none of these.
    pub fn parse(text: &str) -> Result<Self> {
        let plain = text.strip_prefix("bpftrace ").unwrap_or(text);
        let mut numbers = plain.strip_prefix('v').unwrap_or(plain).split(['.', '-']).map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Ok(Self(major, minor)),
            _ => Err(Error::new(ErrorKind::Syntax, format!("{text} is no version of bpftrace"))
                .hint("as bpftrace --version prints it: 0.24")),
        }
    }
}

impl Display for Version {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn versions_are_read_as_bpftrace_prints_them() {
        for text in ["0.24", "0.24.1", "v0.24.1", "bpftrace v0.24.2", "0.24.0-rc1"] {
            assert_eq!(Version::parse(text).ok(), Some(Version(0, 24)), "{text}");
        }
        for text in ["", "0", "24", "x.y", "0.x", "v"] {
            assert!(Version::parse(text).is_err(), "{text}");
        }
    }
}
