//! Merges the facts of all batches into the tables of the index.
//!
//! Ids are assigned here, after sorting by content, so that the bytes do not depend on the number or speed of
//! threads. What several batches describe (types, functions) is taken from the first of them.
pub mod calls;
mod functions;
pub mod intern;
mod order;
mod places;
mod types;
mod users;

use crate::dwarf::facts::Batch;
use crate::dwarf::strings::{Key, LocalStr, Strings};
use intern::{GlobalStr, Interner, SortedStrings, StringIds};
use order::Order;
use probeidx_format::id::StrId;
use rayon::prelude::*;
use std::sync::Mutex;

pub use functions::Functions;
pub use places::Places;
pub use types::Types;
pub use users::Users;

/// A batch with its strings interned for the whole build.
pub struct Extracted {
    pub batch: Batch,
    /// The strings of the batch, until it is merged. Their texts are in the batch until [`Self::forget_texts`].
    pub strings: Vec<GlobalStr>,
    /// What the batch had in the form of the index, and no longer has.
    pub encoded: Encoded,
    /// The index's numbers for the objects of the batch.
    pub objects: Vec<u32>,
}

/// What of a batch is in the form of the index.
#[derive(Clone, Copy, Default)]
pub struct Encoded {
    pub details: Piece,
    pub lines: Piece,
    pub frame_rows: Piece,
}

/// A piece of a file.
#[derive(Clone, Copy, Default)]
pub struct Piece {
    pub at: u64,
    pub length: u64,
}

/// The first description of each type or function, by key.
pub struct FirstSeen {
    shards: Vec<Mutex<FirstSeenShard>>,
}

type FirstSeenShard = rustc_hash::FxHashMap<Key, (u32, u32)>;

const SHARDS: usize = 64;

impl Default for FirstSeen {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }
}

impl FirstSeen {
    /// Adds the descriptions in a batch, with their positions.
    pub fn add(&self, batch: u32, keys: impl Iterator<Item = (u32, Key)>) {
        for (position, key) in keys {
            let mut shard = self.shard(key).lock().unwrap_or_else(|e| e.into_inner());
            let first = shard.entry(key).or_insert((batch, position));
            *first = (*first).min((batch, position));
        }
    }
    /// Whether any batch describes it.
    pub fn contains(&self, key: Key) -> bool {
        self.shard(key).lock().unwrap_or_else(|e| e.into_inner()).contains_key(&key)
    }
    /// All entries, unordered.
    pub fn into_all(self) -> Vec<(Key, u32, u32)> {
        let shards = self.shards.into_iter().map(|s| s.into_inner().unwrap_or_else(|e| e.into_inner()));
        shards.flatten().map(|(key, (batch, position))| (key, batch, position)).collect()
    }
    fn shard(&self, key: Key) -> &Mutex<FirstSeenShard> {
        &self.shards[(key.1 >> 32) as usize % SHARDS]
    }
}

impl crate::dwarf::KnownTypes for FirstSeen {
    fn contains(&self, key: Key) -> bool {
        FirstSeen::contains(self, key)
    }
}

/// The tables made from debug information.
pub struct Model {
    /// All strings; ids are their ranks.
    pub strings: SortedStrings,
    /// The kernel's release.
    pub release: StrId,
    pub types: Types,
    pub functions: Functions,
    pub users: Users,
    pub places: Places,
    /// Until they are linked.
    pub calls: Vec<calls::Call>,
}

/// Merges all batches, given in order. What is merged leaves them at once, and `freed` is called: the tables take its
/// memory.
pub fn merge(
    extracted: &mut [Extracted],
    release: &str,
    interner: Interner,
    first_types: FirstSeen,
    first_functions: FirstSeen,
    freed: &dyn Fn(),
) -> (Model, StringIds) {
    let release = interner.intern(release.as_bytes());
    let interner = interner.seal();
    freed();
    let (strings, ids) = interner.finish();
    let release = ids.get(release);
    let local: Vec<Vec<StrId>> = extracted
        .par_iter_mut()
        .map(|e| std::mem::take(&mut e.strings).into_iter().map(|string| ids.get(string)).collect())
        .collect();
    freed();
    let batches = resolved(extracted, &local);
    let (types, sorted) =
        rayon::join(|| types::merge(&batches, first_types), || functions::sort(&batches, first_functions));
    extracted.iter_mut().for_each(|extracted| extracted.batch.forget_types());
    freed();
    let mut functions = functions::merge(&resolved(extracted, &local), &types, sorted);
    extracted.iter_mut().for_each(|extracted| extracted.batch.forget_functions());
    freed();
    let batches = resolved(extracted, &local);
    let order = Order::of(&batches);
    let (users, (places, starts)) =
        rayon::join(|| users::merge(&types, &functions), || places::merge(&batches, &order, &functions));
    let calls = calls::merge(&batches, &order, &functions);
    functions.set_postings(&starts);
    extracted.iter_mut().for_each(|extracted| extracted.batch.forget_places());
    (Model { strings, release, types, functions, users, places, calls }, ids)
}

impl Extracted {
    /// Drops the texts of the batch's strings, which the interner has too.
    pub fn forget_texts(&mut self) {
        self.batch.strings = Strings::default();
    }
    /// Registers the types and functions described in this batch.
    pub fn register(&self, number: u32, types: &FirstSeen, functions: &FirstSeen) {
        let described = (0..).zip(&self.batch.types).filter(|(_, t)| !t.known);
        types.add(number, described.map(|(position, t)| (position, t.key)));
        functions.add(number, (0..).zip(self.batch.functions.iter().map(|f| f.key)));
    }
}

/// A batch with the final ids of its strings.
struct Resolved<'b> {
    batch: &'b Batch,
    encoded: Encoded,
    strings: &'b [StrId],
    objects: &'b [u32],
}

fn resolved<'b>(extracted: &'b [Extracted], strings: &'b [Vec<StrId>]) -> Vec<Resolved<'b>> {
    let resolve = |(e, strings): (&'b Extracted, &'b Vec<StrId>)| Resolved {
        batch: &e.batch,
        encoded: e.encoded,
        strings,
        objects: &e.objects,
    };
    extracted.iter().zip(strings).map(resolve).collect()
}

impl Resolved<'_> {
    /// The final id of a string of the batch.
    #[inline]
    fn string(&self, string: LocalStr) -> StrId {
        self.strings[string.0 as usize]
    }
}

/// An empty record, to terminate a table.
pub(crate) fn blank<T: probeidx_format::zerocopy::FromZeros>() -> T {
    T::new_zeroed()
}

/// Running totals: the sum of all lengths before each batch.
fn bases(lengths: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut sum = 0;
    let mut bases = vec![];
    for length in lengths {
        bases.push(sum);
        sum += length as u32;
    }
    bases
}
