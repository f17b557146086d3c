//! What a `probeidx_index *` refers to.
//!
//! The pointer is not an address but a ticket: the number of a slot and the slot's generation. A ticket that was never
//! given out, or whose index is closed, is recognized by comparing numbers; nothing is read through it.
//!
//! # Why this is sound
//! A slot's `state` has its generation, whether it is being closed, and the number of queries that use it. A query
//! enters by adding itself while the generation matches and the slot is open. The index is dropped by whoever takes the
//! last step: `close` if no query is in, else the last query that leaves. Only then is the generation increased and the
//! slot freed. So the index exists as long as a query is in, and is dropped once.
#![allow(unsafe_code)]
use probeidx::Result;
use probeidx::lookup::Lookup;
use probeidx::query::Index;
use probeidx::query::runtime::address_map::Loaded;
use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};

/// Opaque; never an address.
pub enum Handle {}

/// An open index.
pub struct Open {
    /// Borrows from `index`, so it must be dropped first.
    lookup: Lookup<'static>,
    loaded: Option<Loaded>,
    /// In a place of its own, because a kernel of a store is read through it; shared, because a box promises that nobody else
    /// reads what is in it.
    index: Arc<Index>,
}

impl Open {
    /// Prepares an index for questions.
    ///
    /// # Errors
    /// Those of [`Index::lookup`].
    pub fn new(index: Index) -> Result<Self> {
        let index = Arc::new(index);
        let lookup = index.lookup()?;
        // SAFETY: it borrows from what `index` points to and from its mapping, neither of which moves with it or is written, and
        // both of which end when `index` is dropped, together with this. `lookup()` gives it out for no longer than `self` is borrowed.
        let lookup = unsafe { std::mem::transmute::<Lookup<'_>, Lookup<'static>>(lookup) };
        Ok(Self { lookup, loaded: None, index })
    }
    /// Like [`Open::new`], with the run-time addresses of a copy of `/proc/kallsyms`.
    ///
    /// # Errors
    /// Those of [`Loaded::of_kallsyms`].
    pub fn running(self, kallsyms: &[u8]) -> Result<Self> {
        let loaded = Loaded::of_kallsyms(self.lookup.view(), kallsyms)?;
        Ok(Self { loaded: Some(loaded), ..self })
    }
    /// The run-time addresses, if given.
    pub fn loaded(&self) -> Option<&Loaded> {
        self.loaded.as_ref()
    }
    /// The programming interface to the index.
    pub fn lookup(&self) -> &Lookup<'_> {
        &self.lookup
    }
    /// The index.
    pub fn index(&self) -> &Index {
        &self.index
    }
}

/// The largest number of open indexes.
pub const SLOTS_LEN: usize = 256;

/// In `state`: the number of queries in the low bits, then whether it is closing, whether it is in use, and the
/// generation.
const CLOSING: u64 = 1 << 30;
const IN_USE: u64 = 1 << 31;
const QUERIES: u64 = CLOSING - 1;
const GENERATION: u32 = 32;

struct Slot {
    state: AtomicU64,
    open: UnsafeCell<Option<Box<Open>>>,
}

// SAFETY: see "Why this is sound".
unsafe impl Sync for Slot {}

static SLOTS: [Slot; SLOTS_LEN] =
    [const { Slot { state: AtomicU64::new(0), open: UnsafeCell::new(None) } }; SLOTS_LEN];

/// Keeps an index open while it exists.
pub struct Pinned(&'static Slot);

impl Pinned {
    /// The index of a ticket; `None` if the ticket is not valid. Cost: a compare-and-swap.
    pub fn of(ticket: *const Handle) -> Option<Self> {
        let (slot, generation) = find(ticket)?;
        let mut state = slot.state.load(Relaxed);
        loop {
            let is_open = state & (IN_USE | CLOSING) == IN_USE && state >> GENERATION == generation;
            if !is_open || state & QUERIES == QUERIES {
                return None;
            }
            match slot.state.compare_exchange_weak(state, state + 1, Acquire, Relaxed) {
                Ok(_) => return Some(Self(slot)),
                Err(now) => state = now,
            }
        }
    }
}

impl std::ops::Deref for Pinned {
    type Target = Open;
    fn deref(&self) -> &Open {
        // SAFETY: this query is in, so the index exists, and nobody can write to it.
        let open = unsafe { &*self.0.open.get() };
        open.as_deref().expect("a slot in use has an index")
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let before = self.0.state.fetch_sub(1, AcqRel);
        if before & (QUERIES | CLOSING) == CLOSING + 1 {
            self.0.clear();
        }
    }
}

impl Slot {
    /// Drops the index; called by whoever took the last step.
    fn clear(&self) {
        // SAFETY: no query is in, none can enter a slot that is closing, and only one caller sees the last query leave.
        let open = unsafe { (*self.open.get()).take() };
        let generation = (self.state.load(Relaxed) >> GENERATION).wrapping_add(1) as u32;
        let _outside = crate::pool::Query::outside();
        drop(open);
        self.state.store(u64::from(generation) << GENERATION, Release);
    }
}

/// A ticket for an index; `None` if the maximum number of indexes is open.
pub fn put(open: Open) -> Option<*const Handle> {
    let open = Box::new(open);
    for (slot, number) in SLOTS.iter().zip(1u64..) {
        let state = slot.state.load(Relaxed);
        // While the slot is being filled, queries see it as closing.
        let taken = state | IN_USE | CLOSING;
        if state & IN_USE != 0 || slot.state.compare_exchange(state, taken, Acquire, Relaxed).is_err() {
            continue;
        }
        // SAFETY: the slot was free and now belongs to this thread only.
        unsafe { *slot.open.get() = Some(open) };
        slot.state.store(state | IN_USE, Release);
        let generation = state >> GENERATION;
        return Some(std::ptr::without_provenance((generation << 16 | number << 4) as usize));
    }
    None
}

/// Closes the index of a ticket. Returns whether it was open. Running queries continue to their end.
pub fn close(ticket: *const Handle) -> bool {
    let Some((slot, generation)) = find(ticket) else { return false };
    let mut state = slot.state.load(Relaxed);
    loop {
        if state & (IN_USE | CLOSING) != IN_USE || state >> GENERATION != generation {
            return false;
        }
        match slot.state.compare_exchange_weak(state, state | CLOSING, AcqRel, Relaxed) {
            Ok(_) => break,
            Err(now) => state = now,
        }
    }
    if state & QUERIES == 0 {
        slot.clear();
    }
    true
}

/// The slot and generation of a ticket.
fn find(ticket: *const Handle) -> Option<(&'static Slot, u64)> {
    let ticket = ticket.addr() as u64;
    let number = (ticket & 0xffff) >> 4;
    let slot = SLOTS.get((number as usize).checked_sub(1)?).filter(|_| ticket & 15 == 0)?;
    Some((slot, ticket >> 16))
}
