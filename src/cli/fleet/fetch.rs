//! Packages from addresses: one kernel's are fetched, added, and removed before the next.
use super::given::Group;
use crate::debuginfod::{Http, Transport, download};
use crate::discover;
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

/// A server that sends nothing for this long is given up.
const TIMEOUT: Duration = Duration::from_secs(90);

/// Groups of packages of one release. Packages of a kernel stand one after another; the first of the next kernel is fetched before
/// the group is complete.
pub fn groups(addresses: Vec<String>) -> impl Iterator<Item = Result<Group>> {
    let http = Http::new(TIMEOUT);
    let mut addresses = addresses.into_iter();
    let mut waiting: Option<Fetched> = None;
    let mut failed: Option<Error> = None;
    std::iter::from_fn(move || {
        if let Some(error) = failed.take() {
            return Some(Err(error));
        }
        let mut group: Vec<Fetched> = waiting.take().into_iter().collect();
        for address in addresses.by_ref() {
            match fetch(&http, &address) {
                Ok(next) if group.first().is_none_or(|first| first.release == next.release) => {
                    group.push(next)
                }
                Ok(next) => {
                    waiting = Some(next);
                    break;
                }
                Err(error) if group.is_empty() => return Some(Err(error)),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        let (called, folders) = group.into_iter().map(|one| ((one.path, one.called), one.folder)).unzip();
        let called: HashMap<PathBuf, PathBuf> = called;
        (!called.is_empty()).then(|| Ok(Group::fetched(called, folders)))
    })
}

/// A package that was fetched.
struct Fetched {
    path: PathBuf,
    /// Its address.
    called: PathBuf,
    release: Option<String>,
    folder: tempfile::TempDir,
}

fn fetch(http: &dyn Transport, address: &str) -> Result<Fetched> {
    let at = PathBuf::from(address);
    let temporary = std::env::temp_dir();
    let folder = tempfile::tempdir().map_err(|e| Error::io(&temporary, "make a folder in", e))?;
    let path = folder.path().canonicalize().unwrap_or_else(|_| folder.path().to_owned()).join("package");
    download(http, address, &path).map_err(|error| error.at(&at))?;
    let release = discover::release_of_package(&path).map_err(|error| error.at(&at))?;
    Ok(Fetched { path, called: at, release, folder })
}
