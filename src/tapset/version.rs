//! Versions of SystemTap, as far as its rules differ by them.
use super::sources::Sources;
use crate::version::version;
use probeidx_format::View;
use std::fmt::{self, Display, Formatter};

/// Version of SystemTap: 5.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32);

impl Version {
    /// The oldest whose rules are known; earlier ones are taken for it.
    pub const OLDEST: Self = Self(4, 8);
    /// From this one on, functions with `_pte_` in their names, `special_mapping_*` and those of fs/seq_file.c are probed
    /// (`dwflpp::build_kernel_blocklist`; PR30434).
    pub const SHORTER_BLOCKLIST: Self = Self(5, 0);
    /// From this one on, locations with branches are read (`location_context::translate`, loc2stap.cxx; NEWS of 5.1).
    pub const BRANCHES: Self = Self(5, 1);
    /// From this one on, there are watchpoints of processes, `process.data(ADDRESS).write` (PR31180; NEWS of 5.1).
    pub const DATA_OF_PROCESSES: Self = Self(5, 1);
    /// From this one on, Debian's SystemTap also looks for `System.map` where packages of debug information have it (seen with
    /// 5.1 and 5.6).
    pub const MAPS_OF_DEBUG_PACKAGES: Self = Self(5, 1);
    /// From this one on, there is `@enum` (NEWS of 5.5).
    pub const ENUM: Self = Self(5, 5);
    /// From this one on, there are no markers of the kernel, `kernel.mark` (NEWS of 5.5).
    pub const WITHOUT_MARKERS: Self = Self(5, 5);
    /// From this one on, there are no probes of single instructions, `process.insn` (PR30434).
    pub const WITHOUT_INSTRUCTIONS: Self = Self(5, 0);
    /// From this one on, `DW_OP_entry_value` of DWARF 5 is read (NEWS of 5.6).
    pub const ENTRY_VALUES: Self = Self(5, 6);
    /// From this one on, there are tracepoints by BTF and dispatched system calls: `kernel.tracepoint("…")`,
    /// `tp_syscall("…")` (NEWS of 5.6).
    pub const TRACEPOINTS_BY_BTF: Self = Self(5, 6);
    /// From this one on, there is `@enumname` (PR34499; NEWS of 5.6).
    pub const ENUM_NAME: Self = Self(5, 6);

    /// Reads `5.1` and `5.1/0.190`, as `stap --version` prints it; `None` if it is none of these.
    pub fn parse(text: &str) -> Option<Self> {
        version(text).map(|(major, minor)| Self(major, minor))
    }

    /// The version that the tapsets of an index are of; the oldest if there are none. Cost: decoding three texts.
    pub fn of(view: &View<'_>) -> Self {
        view.tapset.systemtap().and_then(|text| Self::parse(&text)).unwrap_or(Self::OLDEST)
    }

    /// The version that folders of tapsets came with, by what each added to the library: at least this one, and none of
    /// which the rules above differ.
    pub fn of_sources(sources: &Sources) -> Self {
        let has = |witness: &&Witness| sources.has(witness.file, witness.text.as_bytes());
        WITNESSES.iter().find(has).map_or(Self::OLDEST, |witness| witness.version)
    }
}

/// A file of SystemTap's library, with a text that no earlier version has.
struct Witness {
    version: Version,
    file: &'static str,
    text: &'static str,
}

/// The newest first.
const WITNESSES: [Witness; 4] = [
    Witness { version: Version(5, 6), file: "linux/syscalls.stpm", text: "kernel.tracepoint" },
    Witness { version: Version(5, 5), file: "linux/sysc_file_getattr.stp", text: "file_getattr" },
    Witness { version: Version(5, 1), file: "linux/nfs.stp", text: "nfs.aop.readahead" },
    Witness { version: Version(5, 0), file: "linux/nfs.stp", text: "nfs.aop.readfolio" },
];

impl Display for Version {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn versions_are_read_as_systemtap_prints_them() {
        for text in ["5.1", "5.1/0.190", "5.1.2", "5.1-2"] {
            assert_eq!(Version::parse(text), Some(Version(5, 1)), "{text}");
        }
        for text in ["", "5", "x.y", "5.x", ".1"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
        assert!(Version(5, 10) > Version(5, 9));
    }
}
