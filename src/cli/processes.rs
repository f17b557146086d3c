//! Chooses the index files that answer: those of kernels, or those of programs and shared libraries.
use super::config::Config;
use super::note;
use crate::error::{Error, ErrorKind, Result};
use crate::pattern::Pattern;
use crate::query::Index;
use crate::query::index::user_object;
use crate::query::spec::{ModuleScope, Spec};
use crate::query::symbolize::user_objects::Further;
use probeidx_format::View;
use probeidx_format::meta::UserMeta;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The index files that a list of specs needs, each with those specs that it can answer.
///
/// # Errors
/// Those of [`Config::indexes`]; [`ErrorKind::NoIndex`] if a program or library is not indexed.
pub fn asked(config: &Config, specs: &[Spec]) -> Result<Vec<(PathBuf, Vec<Spec>)>> {
    let is_of_process = |spec: &&Spec| matches!(spec.point.scope(), Some(ModuleScope::Process(_)));
    let (processes, kernels): (Vec<&Spec>, Vec<&Spec>) = specs.iter().partition(is_of_process);
    let mut found: Vec<(PathBuf, Vec<Spec>)> = vec![];
    if !kernels.is_empty() {
        let kernels: Vec<Spec> = kernels.into_iter().cloned().collect();
        found.extend(config.indexes()?.into_iter().map(|path| (path, kernels.clone())));
    }
    let of_kernels = found.len();
    for spec in processes {
        let Some(ModuleScope::Process(pattern)) = spec.point.scope() else { continue };
        let indexes = of_process(config, pattern)?;
        if indexes.is_empty() {
            return Err(not_indexed(config, pattern));
        }
        for path in indexes {
            match found[of_kernels..].iter_mut().find(|(known, _)| *known == path) {
                Some((_, specs)) => specs.push(spec.clone()),
                None => found.push((path, vec![spec.clone()])),
            }
        }
    }
    Ok(found)
}

/// The name of what is indexed: `kernel 6.1.0`, or the path of a program or library.
pub fn name(view: &View<'_>) -> String {
    match user_object::path(view) {
        Some(path) => String::from_utf8_lossy(path).into_owned(),
        None => format!("kernel {}", String::from_utf8_lossy(view.release())),
    }
}

/// Names the kernel that answers, if several are indexed and none was chosen.
pub fn name_kernel(config: &Config) {
    if config.quiet || config.json {
        return;
    }
    if let Some((release, indexed)) = config.unchosen() {
        let others = format!("{indexed} are indexed, see: probeidx kernels; choose with --kernel");
        note(config, &format!("kernel {release} (running; {others})"));
    }
}

/// The indexes of the programs and libraries that match a pattern, ordered by the path of the object; empty if none
/// matches. A path may reach the object through symbolic links. Cost: opens each of these indexes.
///
/// # Errors
/// Those of an index that cannot be opened, if no other one matches.
pub fn of_process(config: &Config, pattern: &Pattern) -> Result<Vec<PathBuf>> {
    let (found, unread) = matching(config, &|user| user_object::is_named(user, pattern))?;
    if !found.is_empty() {
        return Ok(found);
    }
    if let Pattern::Literal(path) = pattern
        && let Ok(real) = Path::new(path).canonicalize()
        && path.contains('/')
    {
        let real = Pattern::literal(&real.to_string_lossy());
        let (found, _) = matching(config, &|user| user_object::is_named(user, &real))?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    unread.map_or(Ok(vec![]), Err)
}

/// All indexes: that of the chosen or only kernel, and those of all programs and libraries.
///
/// # Errors
/// Those of [`Config::indexes`], unless there are other indexes.
pub fn every(config: &Config) -> Result<Vec<PathBuf>> {
    if config.kernel.is_some() || !config.db.is_dir() {
        return config.indexes();
    }
    let of_processes = files(config)?;
    match config.indexes() {
        Err(error) if error.kind() == ErrorKind::NoIndex && !of_processes.is_empty() => Ok(of_processes),
        kernels => Ok([kernels?, of_processes].concat()),
    }
}

/// All indexes of programs and libraries that can be opened, with the names of their objects.
///
/// # Errors
/// [`ErrorKind::Io`] if the folder cannot be read.
pub fn all(config: &Config) -> Result<Vec<(UserMeta, Arc<Index>)>> {
    let open = |path: &PathBuf| {
        let index = config.open(path).ok()?;
        let user = index.view().ok()?.meta().ok()?.user?;
        Some((user, index))
    };
    Ok(files(config)?.iter().filter_map(open).collect())
}

/// Prepares these indexes for resolving addresses.
pub fn further(users: &[(UserMeta, Arc<Index>)]) -> Vec<Further<'_>> {
    users.iter().filter_map(|(user, index)| Some(Further::new(user, index.view().ok()?))).collect()
}

/// Whether any program or library is indexed.
pub fn is_any(config: &Config) -> bool {
    files(config).is_ok_and(|files| !files.is_empty())
}

type Named<'a> = dyn Fn(&UserMeta) -> bool + 'a;

/// The indexes with matching names, ordered by the path of their objects; and the error of one that cannot be opened.
fn matching(config: &Config, is_right: &Named<'_>) -> Result<(Vec<PathBuf>, Option<Error>)> {
    let mut found = vec![];
    let mut unread = None;
    for path in files(config)? {
        let meta = config.open(&path).and_then(|index| index.view()?.meta().map_err(|e| index.error(e)));
        match meta.map(|meta| meta.user) {
            Ok(Some(user)) if is_right(&user) => found.push((user.paths, path)),
            Ok(_) => {}
            Err(error) => unread = unread.or(Some(error)),
        }
    }
    found.sort();
    Ok((found.into_iter().map(|(_, path)| path).collect(), unread))
}

/// The index files of programs and libraries, by name; a given file is used, whatever it contains.
fn files(config: &Config) -> Result<Vec<PathBuf>> {
    if config.db.is_file() {
        return Ok(vec![config.db.clone()]);
    }
    let folder = config.db.join(user_object::FOLDER);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(vec![]),
        Err(e) => return Err(Error::io(&folder, "list the folder", e)),
    };
    let mut files = vec![];
    for entry in entries {
        let path = entry.map_err(|e| Error::io(&folder, "list the folder", e))?.path();
        let is_hidden = path.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b"."));
        if !is_hidden && path.extension().is_some_and(|e| e == "pidx") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn not_indexed(config: &Config, pattern: &Pattern) -> Error {
    let mut known = vec![];
    for path in files(config).unwrap_or_default() {
        let index = config.open(&path);
        let object = index.as_ref().ok().and_then(|index| user_object::path(&index.view().ok()?));
        known.extend(object.map(|path| String::from_utf8_lossy(path).into_owned()));
    }
    known.sort();
    const MOST: usize = 5;
    let more = if known.len() > MOST { ", and others" } else { "" };
    known.truncate(MOST);
    let listed =
        if known.is_empty() { String::new() } else { format!("; indexed are: {}{more}", known.join(", ")) };
    let path = if pattern.to_string().contains('/') { pattern.to_string() } else { "PATH".to_owned() };
    Error::new(ErrorKind::NoIndex, format!("no index of a program or library {pattern}{listed}"))
        .at(&config.db)
        .hint(format!("run: probeidx build --user {path}"))
}
