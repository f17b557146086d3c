//! Finds the source tree of the kernel's build, from its debug information.
//!
//! Compilers write paths as the makefiles give them: absolute, relative to their working directory, or shortened by
//! `-ffile-prefix-map`. They seldom agree: Rust and the assembler have options of their own. The tree is found by a
//! file that every kernel has, `init/main.c`: the name of its unit shows where the tree begins, in the spelling of
//! the build, and its compilation directory (`DW_AT_comp_dir`) where the build ran. Paths are then made relative to
//! the tree.
use super::attrs::StrRef;
use super::extractor::{Extractor, Gathered, ObjectSource};
use super::header::Role;
use super::read_budget::MOST_READINGS;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The source tree and build directories; empty if unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceTree {
    /// Without `.` and inner `..`; the longest first.
    roots: Vec<Vec<u8>>,
    /// Whether a kernel's unit was found, so that paths are made relative to its tree.
    is_known: bool,
}

/// The file that locates the tree: the kernel has started there since 0.01.
const MAIN: &[u8] = b"init/main.c";

/// The longest path in Linux.
const LONGEST_PATH: usize = 4096;

impl SourceTree {
    /// An unknown tree.
    pub const NONE: &Self = &Self { roots: vec![], is_known: false };

    /// Searches the units of a kernel. Cost: one look at the first entry of each; below 1 % of a build.
    pub fn of(source: ObjectSource<'_>) -> Self {
        let s = source.sections;
        let mut extractor = Extractor::new(Gathered::default(), source, s.order, &());
        let mut left = MOST_READINGS
            .saturating_mul(s.info.len() + s.str.len() + s.line_str.len())
            .saturating_add(1 << 20);
        let mut main = None;
        let mut builds = BTreeSet::new();
        for header in source.headers.iter().filter(|unit| unit.role == Role::Own) {
            // Errors are reported later, when the unit itself is read.
            let Ok(unit) = extractor.heading(source.with_entries(*header)) else { continue };
            let mut text = |at: Option<StrRef>| {
                let text = at
                    .and_then(|at| at.bytes_within(&unit.sections, LONGEST_PATH.min(left)))
                    .unwrap_or_default();
                left -= text.len();
                text
            };
            let (name, build) = (text(unit.name), text(unit.comp_dir));
            if main.is_none() && folder_of_main(name).is_some() {
                main = Some((name, build));
            }
            if !builds.contains(build) {
                builds.insert(build.to_vec());
            }
        }
        main.map_or(Self::default(), |(name, build)| Self::found(name, build, &builds))
    }

    /// The tree for the unit of [`MAIN`], its compilation directory, and those of all units.
    fn found(main: &[u8], build: &[u8], builds: &BTreeSet<Vec<u8>>) -> Self {
        let tree = folder_of_main(main).unwrap_or_default();
        let build = folded(build);
        let mut roots = BTreeSet::from([tree.clone(), build.to_vec()]);
        if !build.is_empty() {
            roots.insert(joined(&build, &tree));
        }
        if !is_absolute(&build) && !build.is_empty() {
            // The prefix was shortened for one compiler but not for another.
            for other in builds.iter().map(|other| folded(other)).filter(|other| is_absolute(other)) {
                if let Some(above) = other.strip_suffix(&*build).and_then(|above| above.strip_suffix(b"/")) {
                    roots.extend([other.to_vec(), above.to_vec(), joined(above, &tree)]);
                }
            }
        }
        let mut roots: Vec<Vec<u8>> = roots.into_iter().filter(|r| !matches!(&r[..], b"" | b"/")).collect();
        roots.sort_by_key(|root| std::cmp::Reverse(root.len()));
        Self { roots, is_known: true }
    }

    /// A path relative to the tree; unchanged if it lies elsewhere or the tree is unknown. A path that is already
    /// relative keeps its inner `..` (`lib/zstd/decompress/../common/bitstream.h`), as SystemTap prints it.
    pub fn within<'p>(&self, path: &'p [u8]) -> Cow<'p, [u8]> {
        if !self.is_known {
            return path.into();
        }
        let is_plain = !path.starts_with(b"/") && !path.starts_with(b".");
        let path = if is_plain { path.into() } else { folded(path) };
        let below = |root: &Vec<u8>| {
            let below = path.strip_prefix(&root[..])?.strip_prefix(b"/")?;
            (!below.is_empty() && !leads_out(below)).then(|| path.len() - below.len())
        };
        match (self.roots.iter().find_map(below), path) {
            (None, path) => path,
            (Some(at), Cow::Borrowed(path)) => Cow::Borrowed(&path[at..]),
            (Some(at), Cow::Owned(path)) => Cow::Owned(path[at..].to_vec()),
        }
    }
}

/// The folder of [`MAIN`], if the path ends in it.
fn folder_of_main(path: &[u8]) -> Option<Vec<u8>> {
    let folder = path.strip_suffix(MAIN)?;
    match folder {
        [] => Some(vec![]),
        [folder @ .., b'/'] => Some(folded(folder).into_owned()),
        _ => None,
    }
}

fn is_absolute(path: &[u8]) -> bool {
    path.starts_with(b"/")
}

fn leads_out(path: &[u8]) -> bool {
    path == b".." || path.starts_with(b"../")
}

/// `path` relative to `folder`, joined.
fn joined(folder: &[u8], path: &[u8]) -> Vec<u8> {
    match path {
        [] => folder.to_vec(),
        path if is_absolute(path) => path.to_vec(),
        path => folded(&[folder, b"/", path].concat()).into_owned(),
    }
}

/// A path without `.`, empty components, and `..` after a folder.
fn folded(path: &[u8]) -> Cow<'_, [u8]> {
    let is_plain = |component: &[u8]| !matches!(component, b"" | b"." | b"..");
    let relative = path.strip_prefix(b"/").unwrap_or(path);
    if path.is_empty() || relative.split(|b| *b == b'/').all(is_plain) {
        return path.into();
    }
    let mut components: Vec<&[u8]> = vec![];
    for component in relative.split(|b| *b == b'/') {
        match component {
            b"" | b"." => {}
            b".." if components.last().is_some_and(|last| *last != b"..") => {
                components.pop();
            }
            // The parent of the root is the root.
            b".." if is_absolute(path) => {}
            component => components.push(component),
        }
    }
    let root: &[u8] = if is_absolute(path) { b"/" } else { b"" };
    [root, &components.join(&b'/')].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(main: &str, build: &str, others: &[&str]) -> SourceTree {
        let builds = others.iter().chain([&build]).map(|b| b.as_bytes().to_vec()).collect();
        SourceTree::found(main.as_bytes(), build.as_bytes(), &builds)
    }

    fn within(tree: &SourceTree, path: &str) -> String {
        String::from_utf8_lossy(&tree.within(path.as_bytes())).into_owned()
    }

    #[test]
    fn a_build_in_the_tree() {
        for main in ["init/main.c", "./init/main.c", "/home/me/linux/init/main.c"] {
            let tree = tree(main, "/home/me/linux", &[]);
            assert_eq!(within(&tree, "/home/me/linux/fs/open.c"), "fs/open.c", "{main}");
            assert_eq!(within(&tree, "./include/linux/fs.h"), "include/linux/fs.h", "{main}");
            assert_eq!(
                within(&tree, "/home/me/linux-old/fs/open.c"),
                "/home/me/linux-old/fs/open.c",
                "{main}"
            );
            assert_eq!(within(&tree, "/home/me/linux"), "/home/me/linux", "{main}");
        }
    }

    #[test]
    fn a_build_in_another_folder() {
        for main in ["../init/main.c", "/b/init/main.c"] {
            let tree = tree(main, "/b/build", &[]);
            assert_eq!(within(&tree, "/b/build/../fs/open.c"), "fs/open.c", "{main}");
            assert_eq!(within(&tree, "/b/fs/open.c"), "fs/open.c", "{main}");
            let generated = "/b/build/include/generated/autoconf.h";
            assert_eq!(within(&tree, generated), "include/generated/autoconf.h", "{main}");
        }
        let tree = tree("../init/main.c", "/b/build", &[]);
        assert_eq!(within(&tree, "../fs/open.c"), "fs/open.c");
        assert_eq!(within(&tree, "../../elsewhere.c"), "../../elsewhere.c");
    }

    #[test]
    fn a_tree_beside_the_build() {
        let tree = tree("/src/linux/init/main.c", "/out", &[]);
        assert_eq!(within(&tree, "/src/linux/fs/open.c"), "fs/open.c");
        assert_eq!(within(&tree, "/out/include/generated/utsrelease.h"), "include/generated/utsrelease.h");
        assert_eq!(within(&tree, "/usr/lib/rustlib/src/core.rs"), "/usr/lib/rustlib/src/core.rs");
    }

    #[test]
    fn a_build_of_which_some_compilers_shortened_the_paths() {
        let (short, long) = ("debian/build/build_a", "/build/path/linux-7.2/debian/build/build_a");
        let plain = tree("init/main.c", short, &[long, "/elsewhere"]);
        assert_eq!(within(&plain, "/build/path/linux-7.2/rust/kernel/fmt.rs"), "rust/kernel/fmt.rs");
        assert_eq!(within(&plain, "fs/open.c"), "fs/open.c");
        assert_eq!(within(&plain, "/elsewhere/fs/open.c"), "/elsewhere/fs/open.c");
        let patched = tree("debian/build/source_rt/init/main.c", short, &[long]);
        assert_eq!(within(&patched, "debian/build/source_rt/fs/open.c"), "fs/open.c");
        let assembled = "/build/path/linux-7.2/debian/build/source_rt/arch/x86/entry/entry.S";
        assert_eq!(within(&patched, assembled), "arch/x86/entry/entry.S");
        // As in clang's tables for files without a directory.
        let doubled = "debian/build/build_a/debian/build/source_rt/init/main.c";
        assert_eq!(within(&patched, doubled), "init/main.c");
        assert_eq!(within(&patched, "debian/build/build_a/include/generated/a.h"), "include/generated/a.h");
    }

    #[test]
    fn what_is_no_kernel_keeps_its_paths() {
        assert_eq!(within(SourceTree::NONE, "./a/../b.c"), "./a/../b.c");
        assert_eq!(folder_of_main(b"src/reinit/main.c"), None);
        assert_eq!(folder_of_main(b"init/main.cc"), None);
    }

    #[test]
    fn paths_are_folded() {
        for (path, want) in [
            ("", ""),
            ("/", "/"),
            ("a/b", "a/b"),
            ("/a//b/./c/", "/a/b/c"),
            ("a/../../b", "../b"),
            ("/../a", "/a"),
            ("..", ".."),
        ] {
            assert_eq!(String::from_utf8_lossy(&folded(path.as_bytes())), want, "{path}");
        }
    }
}
