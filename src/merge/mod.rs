//! The facts of all batches to the tables of the index.
//!
//! Ids are handed out here, after sorting by content, so that neither the number of threads nor their speed shows in
//! the bytes. What several batches describe (types, functions) is taken from the first of them.
mod functions;
pub mod intern;
mod places;
mod types;
mod users;

use crate::dwarf::facts::Batch;
use crate::dwarf::strings::Key;
use intern::{GlobalStr, Interner, StringIds};
use probeidx_format::id::StrId;
use std::sync::Mutex;

pub use functions::Functions;
pub use places::Places;
pub use types::Types;
pub use users::Users;

/// A batch whose strings are known to the whole build.
pub struct Extracted {
    pub batch: Batch,
    /// The strings of the batch.
    pub strings: Vec<GlobalStr>,
    /// The number that the batch's first object has in the index.
    pub first_object: u32,
}

/// Where a type or function is described first, by key.
pub struct FirstSeen {
    shards: Vec<Mutex<FirstsShard>>,
}

type FirstsShard = rustc_hash::FxHashMap<Key, (u32, u32)>;

const SHARDS: usize = 64;

impl Default for FirstSeen {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }
}

impl FirstSeen {
    /// Tells that the batch describes these, by position.
    pub fn add(&self, batch: u32, keys: impl Iterator<Item = (u32, Key)>) {
        for (position, key) in keys {
            let mut shard = self.shard(key).lock().unwrap_or_else(|e| e.into_inner());
            let first = shard.entry(key).or_insert((batch, position));
            *first = (*first).min((batch, position));
        }
    }
    /// Whether some batch describes it.
    pub fn contains(&self, key: Key) -> bool {
        self.shard(key).lock().unwrap_or_else(|e| e.into_inner()).contains_key(&key)
    }
    /// All of them, in no order.
    pub fn into_all(self) -> Vec<(Key, u32, u32)> {
        let shards = self.shards.into_iter().map(|s| s.into_inner().unwrap_or_else(|e| e.into_inner()));
        shards.flatten().map(|(key, (batch, position))| (key, batch, position)).collect()
    }
    fn shard(&self, key: Key) -> &Mutex<FirstsShard> {
        &self.shards[(key.1 >> 32) as usize % SHARDS]
    }
}

impl crate::dwarf::KnownTypes for FirstSeen {
    fn contains(&self, key: Key) -> bool {
        FirstSeen::contains(self, key)
    }
}

/// The tables that come from debug information.
pub struct Model {
    /// The bytes of the section.
    pub strings: Vec<u8>,
    /// The kernel's release.
    pub release: StrId,
    pub types: Types,
    pub functions: Functions,
    pub users: Users,
    pub places: Places,
}

/// Merges all batches, which are in order.
pub fn merge(
    batches: &[Extracted],
    release: &str,
    interner: Interner,
    first_types: FirstSeen,
    first_functions: FirstSeen,
) -> (Model, StringIds) {
    let release = interner.intern(release.as_bytes());
    let (strings, ids) = interner.finish();
    let release = ids.get(release);
    let types = types::merge(batches, &ids, first_types);
    let mut functions = functions::merge(batches, &ids, &types, first_functions);
    let users = users::merge(&types, &functions);
    let places = places::merge(batches, &ids, &mut functions);
    (Model { strings, release, types, functions, users, places }, ids)
}

impl Extracted {
    /// Tells what the batch of this number describes.
    pub fn tell(&self, number: u32, types: &FirstSeen, functions: &FirstSeen) {
        let described = (0..).zip(&self.batch.types).filter(|(_, t)| !t.known);
        types.add(number, described.map(|(position, t)| (position, t.key)));
        functions.add(number, (0..).zip(self.batch.functions.iter().map(|f| f.key)));
    }
    /// The final id of a string of the batch.
    #[inline]
    fn string(&self, ids: &StringIds, string: crate::dwarf::strings::LocalStr) -> StrId {
        ids.get(self.strings[string.0 as usize])
    }
}

/// An empty record to end a table with.
pub(crate) fn blank<T: probeidx_format::zerocopy::FromZeros>() -> T {
    T::new_zeroed()
}

/// The lengths that the parts before each batch have together.
fn bases(lengths: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut sum = 0;
    let mut bases = vec![];
    for length in lengths {
        bases.push(sum);
        sum += length as u32;
    }
    bases
}
