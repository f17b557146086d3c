//! Chooses the index files that answer a question.
use super::open::OpenStores;
use super::selection::Selection;
use super::source::Source;
use crate::error::{Error, ErrorKind, Result};
use crate::query::index::kernel_description::KernelDescription;
use crate::store;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The index files that a query uses.
///
/// If `db` is a file, that is the answer, whatever its release: opening it has the final word. In a folder, it is the
/// file of `kernel`, else that of `running` if it exists, else the only one. A [`Selection`] of several gives all that it
/// selects: in the order of their names if the names of the files decide it, else in the order of the kernels. If a name
/// gives a file directly, the folder is not listed.
/// # Errors
/// [`ErrorKind::NoIndex`] if there is none, or none of this release; [`ErrorKind::Usage`] if there are several and no
/// choice, or several of a build id; [`ErrorKind::Io`] if the folder cannot be read; those of [`Index::open`](crate::query::Index::open) where what
/// is in the indexes decides.
pub fn choose(db: &Path, kernel: Option<&str>, running: Option<&str>) -> Result<Vec<PathBuf>> {
    let by_name =
        kernel.filter(|name| !name.contains(['*', '?', '['])).or(running.filter(|_| kernel.is_none()));
    if let Some(release) = by_name.filter(|name| !name.contains('/')) {
        let file = db.join(format!("{release}.pidx"));
        if file.is_file() || store::has(db, release)? {
            return Ok(vec![file]);
        }
    }
    match std::fs::metadata(db) {
        Ok(about) if about.is_dir() => {}
        Ok(_) => return Ok(vec![db.to_owned()]),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(no_index(db, "there is no index")),
        Err(e) => return Err(Error::io(db, "open the index", e)),
    }
    let there = releases(db)?;
    let file = |release: &String| db.join(format!("{release}.pidx"));
    if there.is_empty() {
        return Err(no_index(db, "there is no index in this folder"));
    }
    let Some(kernel) = kernel else {
        if there.len() > 1 {
            let message = format!("several kernels are indexed: {}", listed(&there));
            let hint = "choose with --kernel RELEASE, or '*' for all";
            return Err(Error::new(ErrorKind::Usage, message).hint(hint));
        }
        return Ok(there.iter().map(file).collect());
    };
    let selection = Selection::parse(kernel)?;
    if let Selection::Release(pattern) = &selection {
        let named: Vec<PathBuf> =
            there.iter().filter(|release| pattern.matches(release.as_bytes())).map(file).collect();
        if !named.is_empty() {
            return Ok(named);
        }
    }
    selected(db, &selection, &there)
}

/// The files whose indexes a selection selects, in the order of the kernels. Cost: opens each, but for those of a store.
fn selected(db: &Path, selection: &Selection, there: &[String]) -> Result<Vec<PathBuf>> {
    let (mut kernels, stores) = (vec![], OpenStores::default());
    let paths: Vec<PathBuf> = there.iter().map(|release| db.join(format!("{release}.pidx"))).collect();
    let described = Source::describe(&paths, &stores, &|path| stores.index(path).map(Arc::new))?;
    for (path, described) in paths.into_iter().zip(described) {
        match described {
            Ok((kernel, _)) => kernels.push((kernel, path)),
            // The name of the file said already that it is another release.
            Err(_) if matches!(selection, Selection::Release(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let (found, others): (Vec<_>, Vec<_>) =
        kernels.into_iter().partition(|(kernel, _)| selection.selects(kernel));
    let found = KernelDescription::sorted(found);
    if found.is_empty() {
        let said = match selection {
            Selection::Kind { .. } => {
                let mut kinds: Vec<String> = others.iter().map(|(kernel, _)| kind(kernel)).collect();
                kinds.sort();
                kinds.dedup();
                listed(&kinds)
            }
            _ => listed(there),
        };
        return Err(no_index(db, &format!("no index of kernel {selection}; indexed are: {said}")));
    }
    if matches!(selection, Selection::BuildId(_)) && found.len() > 1 {
        let ids: Vec<String> = found.iter().map(|(kernel, _)| kernel.id.to_string()).collect();
        let message = format!("{selection} is the start of several build ids: {}", listed(&ids));
        return Err(Error::new(ErrorKind::Usage, message).hint("write more digits"));
    }
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

fn kind(kernel: &KernelDescription) -> String {
    let release = kernel.release();
    format!("{}/{}/{}", kernel.distribution, release.line(), release.flavour)
}

/// Some of the names, and how many more there are.
fn listed(names: &[String]) -> String {
    const MOST: usize = 20;
    match names.len().checked_sub(MOST) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..MOST].join(", ")),
    }
}

/// The releases with an index in a folder, sorted bytewise.
///
/// # Errors
/// [`ErrorKind::Io`] if the folder cannot be read.
pub fn releases(db: &Path) -> Result<Vec<String>> {
    let failed = |e| Error::io(db, "list the folder", e);
    let mut releases = if store::is_store(db) { store::names(db)? } else { vec![] };
    for entry in std::fs::read_dir(db).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let release = name.to_str().and_then(|name| name.strip_suffix(".pidx"));
        releases.extend(release.filter(|r| !r.is_empty() && !r.starts_with('.')).map(str::to_owned));
    }
    releases.sort_unstable();
    releases.dedup();
    Ok(releases)
}

fn no_index(db: &Path, message: &str) -> Error {
    Error::new(ErrorKind::NoIndex, message).at(db).hint("run: probeidx build")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(releases: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for release in releases {
            std::fs::write(folder.path().join(format!("{release}.pidx")), "").unwrap();
        }
        std::fs::write(folder.path().join(".tmp.pidx"), "").unwrap();
        std::fs::write(folder.path().join("notes.txt"), "").unwrap();
        folder
    }

    /// The chosen releases, or the kind of error with its message.
    fn chosen(
        db: &Path,
        kernel: Option<&str>,
        running: Option<&str>,
    ) -> Result<Vec<String>, (ErrorKind, String)> {
        let stem = |path: &PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
        let files = choose(db, kernel, running).map_err(|e| (e.kind(), e.to_string()))?;
        assert!(files.iter().all(|file| file.is_file()), "{files:?}");
        Ok(files.iter().map(stem).collect())
    }

    fn names(names: &[&str]) -> Result<Vec<String>, (ErrorKind, String)> {
        Ok(names.iter().map(|&name| name.to_owned()).collect())
    }

    #[test]
    fn the_kernel_asked_then_the_running_one_then_the_only_one() {
        let two = folder(&["6.1.0", "6.12.0+deb"]);
        let db = two.path();
        assert_eq!(chosen(db, Some("6.1.0"), Some("6.12.0+deb")), names(&["6.1.0"]));
        assert_eq!(chosen(db, None, Some("6.12.0+deb")), names(&["6.12.0+deb"]));
        assert_eq!(chosen(db, Some("*"), Some("6.1.0")), names(&["6.1.0", "6.12.0+deb"]));
        assert_eq!(chosen(db, Some("6.12*"), None), names(&["6.12.0+deb"]));
        let one = folder(&["6.1.0"]);
        assert_eq!(chosen(one.path(), None, Some("5.10")), names(&["6.1.0"]));
        assert_eq!(chosen(&one.path().join("6.1.0.pidx"), None, None), names(&["6.1.0"]));
    }

    #[test]
    fn no_choice_among_several_lists_them() {
        let two = folder(&["6.12.0", "6.1.0"]);
        let (kind, message) = chosen(two.path(), None, Some("5.10")).unwrap_err();
        assert_eq!(kind, ErrorKind::Usage);
        assert!(message.contains("6.1.0, 6.12.0") && message.contains("--kernel"), "{message}");
    }

    #[test]
    fn no_index_says_how_to_make_one() {
        let none = folder(&[]);
        let one = folder(&["6.1.0"]);
        for (db, kernel) in [
            (none.path().to_owned(), None),
            (none.path().to_owned(), Some("*")),
            (none.path().join("absent"), None),
            (none.path().join("absent"), Some("6.1.0")),
            (one.path().to_owned(), Some("6.2.0")),
            (one.path().to_owned(), Some("../6.1.0")),
            (one.path().to_owned(), Some("5.*")),
        ] {
            let (kind, message) = chosen(&db, kernel, None).unwrap_err();
            assert_eq!(kind, ErrorKind::NoIndex, "{db:?} {kernel:?}");
            assert!(message.contains("run: probeidx build"), "{message}");
        }
    }

    /// A hidden file is not listed, so that only its name can select it.
    #[test]
    fn a_kernel_that_is_named_is_not_looked_for_in_a_list() {
        let two = folder(&["6.1.0", "6.12.0"]);
        assert_eq!(chosen(two.path(), Some(".tmp"), None), names(&[".tmp"]));
        assert_eq!(chosen(two.path(), None, Some(".tmp")), names(&[".tmp"]));
    }
}
