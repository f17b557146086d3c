//! What types are called: a type keeps its number although its members change, so that nothing else does.
//!
//! A type with a name is the same in two kernels if kind, name and file are; one without, if all that it consists of
//! is the same.
use super::buckets::Buckets;
use probeidx_format::View;
use probeidx_format::id::TypeId;
use probeidx_format::record::{MemberRecord, TypeRecord};
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// What a type is recognized by, in shared numbers.
pub struct Keys<'v> {
    view: &'v View<'v>,
    /// The shared string of a string.
    string: &'v dyn Fn(u32) -> u32,
    keys: Vec<u64>,
}

/// Not known yet.
const NOT_YET: u64 = 0;
/// Known once what it consists of is.
const OPEN: u64 = 1;

impl<'v> Keys<'v> {
    /// The keys of all types, by id. Cost: linear in types and members.
    pub fn all(view: &'v View<'v>, string: &'v dyn Fn(u32) -> u32) -> Vec<u64> {
        let types = view.types.owners().len();
        let mut keys = Self { view, string, keys: vec![NOT_YET; types] };
        for id in 0..types as u32 {
            keys.key(TypeId::new(id), 0);
        }
        keys.keys
    }
    fn key(&mut self, id: TypeId, depth: u32) -> u64 {
        match self.keys.get(id.index()) {
            None => return 2,
            Some(&key) if key != NOT_YET => return key,
            Some(_) => self.keys[id.index()] = OPEN,
        }
        let record = self.view.types.at(id.index());
        let mut hasher = FxHasher::default();
        hasher.write_u32(u32::from(record.kind) | u32::from(record.flags.get() & TypeRecord::DECLARED) << 8);
        if self.view.string(record.name).is_empty() {
            hasher.write_u32(record.size.get() ^ u32::from(record.encoding) << 24);
            hasher.write_u64(self.below(record.target, depth));
            for MemberRecord { name, target, value } in self.view.members(id) {
                hasher.write_u32((self.string)(name.get()));
                hasher.write_u64(self.below(target, depth));
                hasher.write_u64(value.get() as u64);
            }
        } else {
            hasher.write_u32((self.string)(record.name.get()));
            hasher.write_u32((self.string)(record.file.get()));
            // The same keyword of several widths, as in `long unsigned int`, has no file.
            if record.file.get() == 0 {
                hasher.write_u32(record.size.get());
            }
        }
        let key = hasher.finish().max(3);
        self.keys[id.index()] = key;
        key
    }
    fn below(&mut self, id: TypeId, depth: u32) -> u64 {
        const DEEPEST: u32 = 200;
        match id.some() {
            Some(id) if depth < DEEPEST => self.key(id, depth + 1),
            Some(_) => OPEN,
            None => NOT_YET,
        }
    }
}

/// The shared numbers of keys: those of the kernel before, given by their keys, in its order; else new ones from `free`.
pub fn numbers(
    own: &[u64],
    before: &[u64],
    number: impl Fn(usize) -> Option<u32>,
    free: &mut u32,
) -> Vec<u32> {
    let mut known = Buckets::of(before.len(), |at| before[at]);
    let mut new = || {
        *free += 1;
        *free - 1
    };
    let mut same = |key: &u64| {
        // One without a number is passed over.
        let mut take = || known.take(*key, |at| before[at] == *key);
        std::iter::from_fn(&mut take).find_map(&number)
    };
    own.iter().map(|key| same(key).unwrap_or_else(&mut new)).collect()
}
