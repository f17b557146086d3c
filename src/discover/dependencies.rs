//! `modules.dep`: the modules of a kernel as listed by depmod (modules.dep(5)).
use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::name;
use crate::error::{Error, ErrorKind, Result};

/// The modules of one kernel.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// Their paths in the module tree, without extensions.
    places: HashSet<Vec<u8>>,
    /// The names by which the kernel knows them.
    names: BTreeSet<String>,
}

/// Larger than any real one: 4,000 modules take 600 KB.
const LARGEST: u64 = 64 << 20;

impl Listed {
    /// Reads a `modules.dep`.
    ///
    /// # Errors
    /// [`ErrorKind::Io`]; [`ErrorKind::Unsupported`] for a file of more than 64 MiB.
    pub fn read(path: &Path) -> Result<Self> {
        let mut text = String::new();
        let failed = |e| Error::io(path, "read the list of modules", e);
        let file = File::open(path).map_err(failed)?;
        file.take(LARGEST + 1).read_to_string(&mut text).map_err(failed)?;
        if text.len() as u64 > LARGEST {
            let what = format!("a list of modules of more than {LARGEST} bytes");
            return Err(Error::new(ErrorKind::Unsupported, what).at(path).hint("make it again: depmod"));
        }
        let mut listed = Self::default();
        for line in text.lines() {
            let Some((module, _)) = line.split_once(':') else { continue };
            let module = Path::new(module);
            // Some versions of depmod write the whole path.
            let place = name::place_in_tree(module).or_else(|| name::place(module));
            listed.places.extend(place);
            listed.names.insert(name::module_name(module));
        }
        Ok(listed)
    }

    /// Whether a file is the one that the kernel loads.
    pub fn has(&self, path: &Path) -> bool {
        name::place_in_tree(path).is_some_and(|place| self.places.contains(&place))
    }

    /// One notice for all modules that are listed but not among those found.
    pub fn missing(&self, path: &Path, found: &HashSet<&str>) -> Option<Error> {
        const NAMED: usize = 20;
        let missing: Vec<&str> =
            self.names.iter().map(String::as_str).filter(|n| !found.contains(n)).collect();
        if missing.is_empty() {
            return None;
        }
        let named = missing[..missing.len().min(NAMED)].join(", ");
        let more = match missing.len().checked_sub(NAMED) {
            None | Some(0) => String::new(),
            Some(more) => format!(" and {more} more"),
        };
        let (count, all) = (missing.len(), self.names.len());
        let what = format!("{count} of the {all} modules that are listed are not there: {named}{more}");
        Some(Error::new(ErrorKind::MissingPart, what).at(path).hint("install their package, or run depmod"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Tree;
    use super::*;

    #[test]
    fn modules_are_known_by_place_and_name() {
        let tree = Tree::new();
        let list = tree.file(
            "lib/modules/6.1/modules.dep",
            b"kernel/net/nf-nat.ko.xz: kernel/net/nf.ko.xz\n/lib/modules/6.1/updates/wg.ko:\nno line\n",
        );
        let listed = Listed::read(&list).unwrap();
        assert!(listed.has(Path::new("/usr/lib/debug/lib/modules/6.1/kernel/net/nf-nat.ko.debug")));
        assert!(listed.has(Path::new("/lib/modules/6.1/updates/wg.ko")));
        assert!(!listed.has(Path::new("/lib/modules/6.1/kernel/wg.ko")));
        assert!(listed.missing(&list, &HashSet::from(["nf_nat", "wg", "other"])).is_none());
        let error = listed.missing(&list, &HashSet::from(["wg"])).unwrap();
        assert_eq!(error.message(), "1 of the 2 modules that are listed are not there: nf_nat");
    }
}
