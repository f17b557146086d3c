//! Collects the candidates under the given paths: one per file, however many names it has.
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use super::head::Head;
use super::name::{self, Role};
use super::{Options, Unpacked, at_once, content, package};
use crate::error::{Error, ErrorKind, Result};
use crate::load::decompress::Compression;
use crate::load::members::{Members, Opened};
use crate::package::is_package;

/// A file that passed the check of its first bytes.
#[derive(Debug)]
pub(super) struct Candidate {
    /// Absolute, without symbolic links.
    pub(super) path: PathBuf,
    /// The symbolic links and other names by which it was reached. They may contain a release if `path` does not.
    pub(super) aliases: Vec<PathBuf>,
    pub(super) role: Role,
    pub(super) compression: Option<Compression>,
    pub(super) size: u64,
    pub(super) mtime_ns: i64,
    /// Known by the list of its package: its content comes when it is asked for, and with it the time, and the size if that is 0.
    pub(super) is_listed: bool,
    pub(super) unpacked: Unpacked,
}

/// The files found under some paths.
#[derive(Default)]
pub(super) struct Walked {
    /// In no particular order.
    pub(super) candidates: Vec<Candidate>,
    /// Every `modules.dep` whose tree was walked.
    pub(super) lists: BTreeSet<PathBuf>,
    /// The directories among the paths.
    pub(super) directories: Vec<PathBuf>,
    /// The content of packages among the paths.
    pub(super) members: Members,
}

/// All candidates under `roots`.
pub(super) fn candidates(roots: &[PathBuf], options: &Options, skipped: &mut Vec<Error>) -> Result<Walked> {
    let mut given = Vec::new();
    let mut names = Names::default();
    let mut directories = Vec::new();
    for root in roots {
        let path = options.sysroot.resolve(root).map_err(|e| Error::io(root, "find it", e))?;
        let metadata = fs::metadata(&path).map_err(|e| Error::io(root, "read its attributes", e))?;
        if metadata.is_dir() {
            // Distributions have links between the usual places.
            if !directories.contains(&path) {
                walk(&path, options, skipped, &mut names)?;
                directories.push(path);
            }
        } else {
            given.push((root, path));
        }
    }

    let mut found = Found { skipped, candidates: vec![], seen: HashMap::new(), members: Members::default() };
    for (root, path) in given {
        found.given(root, &path, options)?;
    }
    let files: Vec<&PathBuf> = names.files.iter().collect();
    for (path, head) in files.iter().zip(at_once::each(&files, |path| Head::of(path))) {
        found.file(path, None, head);
    }
    let mut broken = BTreeSet::new();
    for link in &names.links {
        match options.sysroot.resolve(link) {
            Ok(target) => found.link(&target, link),
            Err(e) => found.broken_link(link, &e, &mut broken),
        }
    }
    let Found { candidates, members, .. } = found;
    Ok(Walked { candidates, lists: names.lists, directories, members })
}

/// Paths with the name of a wanted file.
#[derive(Default)]
struct Names {
    files: BTreeSet<PathBuf>,
    links: BTreeSet<PathBuf>,
    lists: BTreeSet<PathBuf>,
}

/// Sorts the files under `root` into `names`.
fn walk(root: &Path, options: &Options, skipped: &mut Vec<Error>, names: &mut Names) -> Result<()> {
    let wanted = |entry: &DirEntry| entry.depth() == 0 || entry.file_name() != ".build-id";
    for entry in WalkDir::new(root).into_iter().filter_entry(wanted) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(e) => {
                let at = e.path().unwrap_or(root).to_owned();
                let depth = e.depth();
                let source = e.into_io_error().unwrap_or_else(|| io::ErrorKind::Other.into());
                let error =
                    Error::io(&at, "read the directory", source).hint("make it readable, or run as root");
                if depth == 0 {
                    return Err(error);
                }
                skipped.push(error);
                continue;
            }
        };
        let kind = entry.file_type();
        if kind.is_dir() {
            continue;
        }
        if options.modules && kind.is_file() && entry.file_name() == "modules.dep" {
            names.lists.insert(entry.into_path());
            continue;
        }
        let role = name::role(entry.path());
        if role.is_none() || (role == Some(Role::Module) && !options.modules) {
            continue;
        }
        if kind.is_file() {
            names.files.insert(entry.into_path());
        } else if kind.is_symlink() {
            names.links.insert(entry.into_path());
        }
    }
    Ok(())
}

/// The candidates so far, by inode.
struct Found<'a> {
    skipped: &'a mut Vec<Error>,
    candidates: Vec<Candidate>,
    /// The device and inode of every file examined, with the candidate it became.
    seen: HashMap<(u64, u64), Option<usize>>,
    members: Members,
}

impl Found<'_> {
    /// Examines what a symbolic link below a root leads to.
    fn link(&mut self, path: &Path, link: &Path) {
        match fs::metadata(path) {
            Ok(m) if m.is_file() && !self.known(&m, link) => self.file(path, Some(link), Head::of(path)),
            Ok(_) => {}
            Err(e) => self.skipped.push(Error::io(link, "read its attributes", e)),
        }
    }

    /// Examines a file below a root. `link` is the symbolic link by which it was reached.
    fn file(&mut self, path: &Path, link: Option<&Path>, head: io::Result<Head>) {
        let alias = link.unwrap_or(path);
        let head = match head {
            Ok(head) => head,
            Err(e) => {
                let error = Error::io(path, "open it", e).hint("make it readable, or run as root");
                return self.skipped.push(error);
            }
        };
        if self.known(&head.metadata, alias) {
            return;
        }
        let role = name::role(alias).unwrap_or(Role::Vmlinux);
        let aliases = link.map(Path::to_owned).into_iter().collect();
        let candidate = self.checked(path, aliases, &head.metadata, head.checked, |_| role);
        self.remember(&head.metadata, candidate);
    }

    /// Examines a file given as a root.
    fn given(&mut self, root: &Path, path: &Path, options: &Options) -> Result<()> {
        let unreadable = |e| Error::io(root, "open it", e).hint("make it readable, or run as root");
        let metadata = fs::metadata(path).map_err(unreadable)?;
        let alias = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        if self.known(&metadata, &alias) {
            return Ok(());
        }
        let mut candidate = None;
        if metadata.is_file() {
            let file = File::open(path).map_err(unreadable)?;
            if is_package(path) {
                let called = options.called.get(path).map_or(path, PathBuf::as_path);
                package::open(
                    path,
                    called,
                    options.modules,
                    &mut self.members,
                    &mut self.candidates,
                    self.skipped,
                )?;
                self.seen.insert((metadata.dev(), metadata.ino()), None);
                return Ok(());
            }
            if let Some(packed) = package::unpacking(path) {
                return Err(packed.at(root));
            }
            let Head { metadata, checked } = Head::read(&file, metadata.clone(), path);
            let file = Opened::File(file);
            let role = |compression| content::role(&file, compression);
            candidate = self.checked(path, vec![alias], &metadata, checked, role);
            let is_kernel = |c: &Candidate| c.role == Role::Vmlinux && c.compression.is_none();
            if candidate.as_ref().is_some_and(is_kernel) && content::is_program(&file) {
                candidate = None;
                let what = "a program or a shared library, no kernel";
                self.skipped.push(Error::new(ErrorKind::Unsupported, what).at(path).hint("add --user"));
            }
        } else {
            let what = "neither a regular file nor a directory";
            self.skipped
                .push(Error::new(ErrorKind::Unsupported, what).at(path).hint("give a vmlinux or .ko file"));
        }
        if !options.modules && candidate.as_ref().is_some_and(|c| c.role == Role::Module) {
            candidate = None;
            let what = "a module was given, but modules are not wanted";
            self.skipped.push(Error::new(ErrorKind::Usage, what).at(path).hint("leave out --no-modules"));
        }
        self.remember(&metadata, candidate);
        Ok(())
    }

    /// Whether this inode was examined before; a candidate then gets one more name.
    fn known(&mut self, metadata: &Metadata, alias: &Path) -> bool {
        let Some(seen) = self.seen.get(&(metadata.dev(), metadata.ino())) else { return false };
        if let Some(index) = *seen {
            self.candidates[index].aliases.push(alias.to_owned());
        }
        true
    }

    fn remember(&mut self, metadata: &Metadata, candidate: Option<Candidate>) {
        let index = candidate.is_some().then_some(self.candidates.len());
        self.candidates.extend(candidate);
        self.seen.insert((metadata.dev(), metadata.ino()), index);
    }

    /// The candidate, if its first bytes are valid.
    fn checked(
        &mut self,
        path: &Path,
        aliases: Vec<PathBuf>,
        metadata: &Metadata,
        compression: Result<Option<Compression>>,
        role: impl FnOnce(Option<Compression>) -> Role,
    ) -> Option<Candidate> {
        match compression {
            Ok(compression) => Some(Candidate {
                path: path.to_owned(),
                aliases,
                role: role(compression),
                compression,
                size: metadata.len(),
                mtime_ns: metadata
                    .mtime()
                    .saturating_mul(1_000_000_000)
                    .saturating_add(metadata.mtime_nsec()),
                is_listed: false,
                unpacked: Unpacked::default(),
            }),
            Err(e) => {
                self.skipped.push(e.at(path));
                None
            }
        }
    }

    /// Reports a symbolic link to a missing file; further links of the same chain are not reported.
    fn broken_link(&mut self, link: &Path, source: &io::Error, reported: &mut BTreeSet<PathBuf>) {
        let mut chain = Vec::new();
        let mut next = Some(link.to_owned());
        while let Some(here) = next.take() {
            let Ok(target) = fs::read_link(&here) else { break };
            let target = here.parent().unwrap_or(Path::new("/")).join(target);
            let parent = target.parent().and_then(|parent| fs::canonicalize(parent).ok());
            let again = chain.contains(&here);
            chain.push(here);
            if !again {
                next = parent.zip(target.file_name()).map(|(parent, name)| parent.join(name));
            }
        }
        if chain.iter().any(|member| reported.contains(member)) {
            return;
        }
        reported.extend(chain);
        let target = fs::read_link(link).unwrap_or_default();
        let what = match source.kind() {
            io::ErrorKind::NotFound => {
                format!("a symbolic link to {}, which does not exist", target.display())
            }
            _ => format!("a symbolic link to {} that cannot be followed: {source}", target.display()),
        };
        let remedy = "remove the link, or install what it points to";
        self.skipped.push(Error::new(ErrorKind::Io, what).at(link).hint(remedy));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    use super::super::fixture::{Tree, module, vmlinux};
    use super::*;

    fn find(tree: &Tree, roots: &[&str]) -> (Vec<Candidate>, Vec<Error>) {
        let roots: Vec<_> = roots.iter().map(|r| tree.path().join(r)).collect();
        let mut skipped = Vec::new();
        let mut found = candidates(&roots, &Options::default(), &mut skipped).unwrap().candidates;
        found.sort_by(|a, b| a.path.cmp(&b.path));
        (found, skipped)
    }

    #[test]
    fn a_file_counts_once_under_its_real_path() {
        let tree = Tree::new();
        let real = tree.file("z/real.ko", &module("", ""));
        tree.link("a/linked.ko", "../z/real.ko");
        tree.link("b/twice.ko", "../a/linked.ko");
        fs::hard_link(&real, tree.path().join("z/zz.ko")).unwrap();
        let (found, skipped) = find(&tree, &["a/linked.ko", "", "z", "z/real.ko"]);
        assert!(skipped.is_empty(), "{skipped:?}");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, real);
        for alias in ["a/linked.ko", "b/twice.ko", "z/zz.ko"] {
            assert!(found[0].aliases.contains(&tree.path().join(alias)), "{alias}: {:?}", found[0].aliases);
        }
        let (found, _) = find(&tree, &["b"]);
        assert_eq!(found[0].path, real, "reached by the link alone");
    }

    #[test]
    fn links_to_directories_are_followed_only_where_given() {
        let tree = Tree::new();
        tree.file("elsewhere/a.ko", &module("", ""));
        tree.file("root/b.ko", &module("", ""));
        tree.link("root/build", "../elsewhere");
        tree.link("root/vmlinux", "../elsewhere");
        tree.link("root/up", "..");
        tree.link("given", "root");
        let (found, skipped) = find(&tree, &["given"]);
        assert_eq!(
            found.iter().map(|c| c.path.as_path()).collect::<Vec<_>>(),
            [tree.path().join("root/b.ko")]
        );
        assert!(skipped.is_empty(), "{skipped:?}");
        assert_eq!(find(&tree, &["root/build"]).0.len(), 1);
    }

    #[test]
    fn a_dangling_link_and_a_loop_are_one_line_each() {
        let tree = Tree::new();
        let dangling = tree.link("vmlinux-6.1.0", "boot/gone");
        tree.link("vmlinux", "vmlinux-6.1.0");
        let first = tree.link("a.ko", "sub/b.ko");
        tree.link("sub/b.ko", "../a.ko");
        tree.link("self.ko", "self.ko");
        tree.link("not-a-candidate", "nowhere");
        let (found, mut skipped) = find(&tree, &[""]);
        assert!(found.is_empty());
        skipped.sort_by(|a, b| a.path().cmp(&b.path()));
        let lines: Vec<_> = skipped.iter().map(|e| (e.kind(), e.path().unwrap().to_owned())).collect();
        let expected = [first, tree.path().join("self.ko"), tree.path().join("vmlinux")];
        assert_eq!(lines, expected.map(|p| (ErrorKind::Io, p)));
        assert!(skipped[2].message().contains("vmlinux-6.1.0, which does not exist"), "{}", skipped[2]);
        assert!(skipped[0].message().contains("cannot be followed"), "{}", skipped[0]);
        assert!(fs::symlink_metadata(dangling).unwrap().is_symlink());
    }

    #[test]
    fn a_root_that_is_not_there_is_an_error() {
        let tree = Tree::new();
        tree.link("dangling", "gone");
        tree.link("round", "round");
        for root in ["missing", "dangling", "round"] {
            let root = tree.path().join(root);
            let e =
                candidates(std::slice::from_ref(&root), &Options::default(), &mut Vec::new()).err().unwrap();
            assert_eq!((e.kind(), e.path()), (ErrorKind::Io, Some(root.as_path())));
        }
    }

    #[test]
    fn bad_files_are_named_with_place_and_remedy() {
        let tree = Tree::new();
        tree.file("empty.ko", b"");
        tree.file("text.ko", b"hello");
        tree.file("packed.ko.xz", b"hello");
        tree.file("short-elf.ko", &module("", "")[..40]);
        tree.file("cut.ko", &module("", "")[..100]);
        tree.file("good.ko", &module("", ""));
        tree.file("really-gzip.ko.xz", b"\x1f\x8b\x08 whatever");
        UnixListener::bind(tree.path().join("socket.ko")).unwrap();
        let (found, mut skipped) = find(&tree, &[""]);
        let names: Vec<_> = found.iter().map(|c| (c.path.file_name().unwrap(), c.compression)).collect();
        assert_eq!(
            names,
            [("good.ko".as_ref(), None), ("really-gzip.ko.xz".as_ref(), Some(Compression::Gzip))]
        );
        skipped.sort_by(|a, b| a.path().cmp(&b.path()));
        let lines: Vec<_> = skipped
            .iter()
            .map(|e| (e.path().unwrap().file_name().unwrap().to_str().unwrap(), e.kind()))
            .collect();
        assert_eq!(
            lines,
            [
                ("cut.ko", ErrorKind::Damaged),
                ("empty.ko", ErrorKind::Damaged),
                ("packed.ko.xz", ErrorKind::NotElf),
                ("short-elf.ko", ErrorKind::Damaged),
                ("text.ko", ErrorKind::NotElf)
            ]
        );
        assert!(
            skipped.iter().all(|e| e.remedy().is_some() && e.to_string().contains(" at 0x")),
            "{skipped:?}"
        );
        let (found, skipped) = find(&tree, &["socket.ko", "text.ko", ""]);
        assert_eq!((found.len(), skipped.len()), (2, 6), "given and walked is reported once");
    }

    #[test]
    fn an_unreadable_file_is_skipped_and_an_unreadable_root_is_an_error() {
        let tree = Tree::new();
        let path = tree.file("d/vmlinux", &vmlinux(""));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        if File::open(&path).is_ok() {
            return; // root can read everything
        }
        let (found, skipped) = find(&tree, &[""]);
        assert!(found.is_empty());
        assert_eq!((skipped[0].kind(), skipped[0].path()), (ErrorKind::Io, Some(path.as_path())));
        let e = candidates(&[path], &Options::default(), &mut Vec::new()).err().unwrap();
        assert_eq!(e.kind(), ErrorKind::Io);
    }
}
