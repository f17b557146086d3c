//! The search of all kernels, while one types.
mod collected;
mod kernel;

use collected::Collected;
use probeidx::cli::config::Config;
use probeidx::cli::exit;
use probeidx::kernels::side_by_side;
use probeidx::query::Index;
use probeidx::query::index::kernel_description::KernelDescription;
use probeidx::{Error, Result};
use rustc_hash::FxHashMap;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The largest number of results.
const MOST: usize = 60;
/// The largest number of results of a kind, while there are others.
const MOST_OF_A_KIND: usize = 16;
/// What is typed is at most so long; no name is longer.
const LONGEST: usize = 256;

/// What a result is. The order is that of results that fit equally well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A release.
    Kernel,
    /// An address, or a symbol with an offset.
    Address,
    /// A function with code or a prototype.
    Function,
    /// A struct, union, enum or typedef, with that word.
    Type,
    /// A tracepoint or an event of a system call.
    Tracepoint,
    /// An alias of the tapsets.
    Alias,
    /// `struct x.member`.
    Member,
    /// A source file with functions.
    File,
    /// A module.
    Module,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Address => "address",
            Self::Function => "function",
            Self::Type => "type",
            Self::Tracepoint => "tracepoint",
            Self::Alias => "alias",
            Self::Member => "member",
            Self::File => "file",
            Self::Module => "module",
        }
    }
}

/// How well a name fits what is typed, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// It is the same.
    Whole,
    /// It begins with it.
    Start,
    /// A word of it does.
    Word,
    /// It stands somewhere inside.
    Inside,
}

impl Fit {
    /// How a name fits; `None` if it does not.
    pub fn of(name: &[u8], typed: &[u8]) -> Option<Self> {
        let at = memchr::memmem::find(name, typed)?;
        Some(match at {
            0 if name.len() == typed.len() => Self::Whole,
            0 => Self::Start,
            at if !name[at - 1].is_ascii_alphanumeric() => Self::Word,
            _ => Self::Inside,
        })
    }
}

/// A result of one kernel.
pub struct Hit {
    /// What it is.
    pub kind: Kind,
    /// The name that finds it again.
    pub name: String,
    /// Where it is declared, or what it is; may be empty.
    pub about: String,
    /// How well it fits.
    pub fit: Fit,
}

/// What was collected, and of which index.
type OfIndex = (Weak<Index>, Arc<Collected>);

/// Searches; what is collected of an index stays while the index is open.
#[derive(Default)]
pub struct Search {
    collected: Mutex<FxHashMap<PathBuf, OfIndex>>,
}

impl Search {
    /// Collects what a search of each kernel wants. What cannot be opened is left to the search to say.
    pub fn warm(&self, config: &Config) {
        let paths = probeidx::kernels::choose(&config.db, Some("*"), None).unwrap_or_default();
        side_by_side(&paths, |path| self.opened(path, config).map(|(index, _)| index.view().map(drop)));
    }

    /// The results as lines of the protocol. Cost: binary searches where names begin with what is typed; else a walk over
    /// all names, some milliseconds a kernel.
    pub fn lines(&self, typed: &str, config: &Config) -> Vec<u8> {
        let mut out = vec![];
        let mut put = |field: &str, value: &dyn std::fmt::Display| {
            out.extend_from_slice(format!("{{\"id\":null,\"{field}\":{value}}}\n").as_bytes());
        };
        let paths = match probeidx::kernels::choose(&config.db, Some("*"), None) {
            Ok(paths) => paths,
            Err(error) => {
                put("error", &exit::object(&error));
                return out;
            }
        };
        let typed = typed.trim();
        if typed.len() > LONGEST || typed.is_empty() {
            put("done", &json!({ "code": 1, "items": 0, "end": "complete" }));
            return out;
        }
        let of_kernels = side_by_side(&paths, |path| {
            let (index, collected) = self.opened(path, config)?;
            let view = index.view()?;
            let hits = kernel::hits(&view, &collected, typed);
            Ok((KernelDescription::of(&view), hits))
        });
        let mut found = vec![];
        for of_kernel in of_kernels {
            match of_kernel {
                Ok(of_kernel) => found.push(of_kernel),
                // Others are searched all the same.
                Err::<_, Error>(error) => put("note", &json!(error.to_string())),
            }
        }
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        let joined = joined(found);
        for (hit, kernels) in &joined {
            put(
                "item",
                &json!({ "kind": hit.kind.name(), "name": hit.name, "about": hit.about, "kernels": kernels }),
            );
        }
        let code = u8::from(joined.is_empty());
        put("done", &json!({ "code": code, "items": joined.len(), "end": "complete" }));
        out
    }

    fn opened(&self, path: &Path, config: &Config) -> Result<(Arc<Index>, Arc<Collected>)> {
        let index = config.open(path)?;
        let all = || self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all()
            .get(path)
            .filter(|(of, _)| of.upgrade().is_some_and(|of| Arc::ptr_eq(&of, &index)))
            .map(|(_, collected)| Arc::clone(collected));
        let collected = match known {
            Some(collected) => collected,
            None => {
                let collected = Arc::new(Collected::of(&index.view()?));
                let mut all = all();
                all.retain(|_, (index, _)| index.strong_count() > 0);
                all.insert(path.to_owned(), (Arc::downgrade(&index), Arc::clone(&collected)));
                collected
            }
        };
        Ok((index, collected))
    }
}

/// The results of all kernels, the best first, and the kernels that have each. The newest says what it is.
fn joined(found: Vec<(KernelDescription, Vec<Hit>)>) -> Vec<(Hit, Vec<String>)> {
    let mut at: FxHashMap<(Kind, String), usize> = FxHashMap::default();
    let mut joined: Vec<(Hit, Vec<String>)> = vec![];
    for (kernel, hits) in found {
        for hit in hits {
            let place = *at.entry((hit.kind, hit.name.clone())).or_insert(joined.len());
            match joined.get_mut(place) {
                None => joined.push((hit, vec![kernel.id.release.clone()])),
                Some((known, kernels)) => {
                    *known = hit;
                    kernels.push(kernel.id.release.clone());
                }
            }
        }
    }
    joined.sort_by(|(one, _), (other, _)| order(one).cmp(&order(other)));
    let mut counts: FxHashMap<Kind, usize> = FxHashMap::default();
    let (mut first, rest): (Vec<_>, Vec<_>) = joined.into_iter().partition(|(hit, _)| {
        let count = counts.entry(hit.kind).or_default();
        *count += 1;
        *count <= MOST_OF_A_KIND
    });
    first.truncate(MOST);
    let room = MOST - first.len();
    first.extend(rest.into_iter().take(room));
    first.sort_by(|(one, _), (other, _)| order(one).cmp(&order(other)));
    first
}

fn order(hit: &Hit) -> (Fit, Kind, usize, &str) {
    (hit.fit, hit.kind, hit.name.len(), &hit.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_name_fits() {
        assert_eq!(Fit::of(b"vfs_read", b"vfs_read"), Some(Fit::Whole));
        assert_eq!(Fit::of(b"vfs_read", b"vfs_"), Some(Fit::Start));
        assert_eq!(Fit::of(b"vfs_read", b"read"), Some(Fit::Word));
        assert_eq!(Fit::of(b"vfs_read", b"ead"), Some(Fit::Inside));
        assert_eq!(Fit::of(b"vfs_read", b"write"), None);
    }
}
