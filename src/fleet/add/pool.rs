//! Bytes that records refer to: found in the segments before, made of those by a patch, or appended.
use super::buckets::Buckets;
use probeidx_format::store::Kernel;

use probeidx_format::store::patch;
use probeidx_format::store::record::PatchedRecord;
use probeidx_format::store::segment::Part;
use probeidx_format::zerocopy::byteorder::little_endian::U32;
use rustc_hash::{FxHashMap, FxHasher};
use std::cell::OnceCell;
use std::hash::Hasher;

/// What bytes belong to, by which those of the kernel before are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Mostly the same in both kernels.
    pub key: u64,
    /// What those have in common that may stand for each other if the key is not known.
    pub group: u32,
}

/// The bytes of a part.
pub struct Pool<'p> {
    part: Part,
    before: Option<&'p Kernel<'p>>,
    known: Candidates,
    first: u32,
    new: Vec<u8>,
    patched: Vec<PatchedRecord>,
    /// What was appended, by hash: its start and length.
    own: FxHashMap<u64, (u32, u32)>,
}

/// How many candidates a patch is tried with.
const TRIED: usize = 3;

impl<'p> Pool<'p> {
    /// Nothing yet, given the owners of bytes in the kernel before, in its order.
    pub fn new(
        part: Part,
        before: Option<&'p Kernel<'p>>,
        known: impl IntoIterator<Item = (Owner, u32)>,
    ) -> Self {
        debug_assert!(part.is_bytes());
        let first = before.map_or(0, |kernel| kernel.end(part));
        let known = Candidates::read(known);
        Self { part, before, known, first, new: vec![], patched: vec![], own: FxHashMap::default() }
    }
    /// Of which part they are.
    pub fn part(&self) -> Part {
        self.part
    }
    /// The keys of the owners in the kernel before.
    pub fn keys(&self) -> impl Iterator<Item = u64> {
        self.known.all.iter().map(|candidate| candidate.key)
    }
    /// The number of these bytes.
    pub fn put(&mut self, bytes: &[u8], owner: Owner) -> u32 {
        let (found, near) = self.find(bytes, owner, |_| true);
        if let Some(found) = found {
            return found;
        }
        let mut hasher = FxHasher::default();
        hasher.write(bytes);
        let hash = hasher.finish();
        if let Some((start, length)) = self.own.get(&hash)
            && self.new[*start as usize..][..*length as usize] == *bytes
        {
            return self.first + start;
        }
        let (at, is_patch) = self.append(bytes, &near);
        if !is_patch {
            self.own.insert(hash, (at - self.first, bytes.len() as u32));
        }
        at
    }
    /// As [`put`](Self::put), but never those that were put before, nor those of a number that is not free.
    pub fn put_own(&mut self, bytes: &[u8], owner: Owner, is_free: impl Fn(u32) -> bool) -> u32 {
        let (found, near) = self.find(bytes, owner, is_free);
        found.unwrap_or_else(|| self.append(bytes, &near).0)
    }
    /// The bytes where they are already, or what is near to them.
    fn find(&mut self, bytes: &[u8], owner: Owner, is_free: impl Fn(u32) -> bool) -> (Option<u32>, Vec<u32>) {
        let Some(kernel) = self.before else { return (None, vec![]) };
        // What follows the last one mostly follows it here too.
        if let Some(expected) = self.known.all.get(self.known.next)
            && expected.key == owner.key
            && is_free(expected.number)
            && kernel.bytes(self.part, expected.number).starts_with(bytes)
        {
            self.known.next += 1;
            return (Some(expected.number), vec![]);
        }
        let (mut near, mut next) = (vec![], self.known.next);
        let found = self.known.of(owner).find_map(|place| {
            let at = self.known.all[place].number;
            let is_it = is_free(at) && kernel.bytes(self.part, at).starts_with(bytes);
            if is_it || near.len() < TRIED {
                next = place + 1;
            }
            if !is_it && near.len() < TRIED {
                near.push(at);
            }
            is_it.then_some(at)
        });
        self.known.next = next;
        (found, near)
    }
    /// Appends bytes, as a patch if that is shorter. Returns their number, and whether it is a patch.
    fn append(&mut self, bytes: &[u8], near: &[u32]) -> (u32, bool) {
        let at = self.first + self.new.len() as u32;
        let mut shortest: Option<Vec<u8>> = None;
        // Blobs are read as they are.
        let kernel = self.before.filter(|_| self.part != Part::Blobs);
        for (kernel, base) in
            kernel.into_iter().flat_map(|kernel| near.iter().map(move |base| (kernel, *base)))
        {
            let (old, patches) = (kernel.bytes(self.part, base), kernel.patches(self.part, base));
            if patches >= patch::DEEPEST {
                continue;
            }
            // What a patch makes has an end of its own.
            let old = if patches == 0 { self.known.whole(old, base) } else { old };
            let patch = patch::make(base, old, bytes);
            shortest = [shortest, patch].into_iter().flatten().min_by_key(Vec::len);
        }
        match shortest {
            Some(patch) => {
                self.new.extend_from_slice(&patch);
                self.patched.push(PatchedRecord { part: U32::new(self.part as u32), number: U32::new(at) });
                (at, true)
            }
            None => {
                self.new.extend_from_slice(bytes);
                (at, false)
            }
        }
    }
    /// The bytes to be appended, the number of the first, and which of them are patches.
    pub fn finish(self) -> (Vec<u8>, u32, Vec<PatchedRecord>) {
        (self.new, self.first, self.patched)
    }
}

/// Where the kernel before has bytes, and whose they are.
struct Candidates {
    all: Vec<Candidate>,
    by_key: Buckets,
    /// All numbers, ascending: bytes end where others start. Once it is asked where.
    starts: OnceCell<Vec<u32>>,
    /// The one behind the last that was taken: what follows mostly follows there too.
    next: usize,
}

struct Candidate {
    key: u64,
    group: u32,
    number: u32,
}

/// How far from where it is expected one is looked for whose key is not known.
const WINDOW: usize = 48;

impl Candidates {
    fn read(known: impl IntoIterator<Item = (Owner, u32)>) -> Self {
        let known = known.into_iter();
        let candidate = |(Owner { key, group }, number)| Candidate { key, group, number };
        let all: Vec<Candidate> = known.map(candidate).collect();
        let by_key = Buckets::of(all.len(), |at| all[at].key);
        Self { all, by_key, starts: OnceCell::new(), next: 0 }
    }
    /// The positions of those of a key, else of those of the group that are near to the last one.
    fn of(&self, owner: Owner) -> impl Iterator<Item = usize> {
        let known = self.by_key.get(owner.key).filter(move |at| self.all[*at].key == owner.key);
        let window = if known.clone().next().is_some() { 0 } else { WINDOW };
        let behind = self.next..(self.next + window).min(self.all.len());
        let ahead = self.next.saturating_sub(window)..self.next.min(self.all.len());
        let near = behind.chain(ahead.rev()).filter(move |at| self.all[*at].group == owner.group);
        known.chain(near)
    }
    /// The bytes of a number up to those of the next one.
    fn whole<'b>(&self, bytes: &'b [u8], number: u32) -> &'b [u8] {
        let starts = self.starts.get_or_init(|| {
            let mut starts: Vec<u32> = self.all.iter().map(|candidate| candidate.number).collect();
            starts.sort_unstable();
            starts
        });
        let next = starts.partition_point(|start| *start <= number);
        let length = starts.get(next).map_or(bytes.len(), |next| (next - number) as usize);
        &bytes[..length.min(bytes.len())]
    }
}
