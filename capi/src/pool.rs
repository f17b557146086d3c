//! Memory of queries.
//!
//! While a query runs, everything that its thread allocates comes from one of a fixed number of arenas in the library's
//! own data. An arena is claimed with one compare-and-swap, cut from the front or reused, and empty when the query
//! ends. The system's allocator is used only outside of queries (opening and closing), and by a query that outgrows its
//! arena or finds none free; [`overflows`] counts these.
//!
//! # Why this is sound
//! * Only one thread cuts from an arena: the one that claimed it and has it in `CURRENT`. Blocks never overlap: each
//!   has the size of its class from its start; `used` is after all of them, and shrinks by the last one when that is
//!   freed; and a block freed before that is in the list of its class until it is handed out again. A block after
//!   `used` is in no list, because blocks taken off the end are not put into one.
//! * Any thread may free a block, even after the query is over. `handed` counts blocks and is written only by the
//!   query's thread, which also subtracts what it frees; `returned` counts what is freed in any other way. If blocks
//!   are left at the end of a query, the arena is given back by whoever frees the last one: of the candidates, the one
//!   who takes `left` decides, checks again, and restores it if a block is left.
//! * The address of a block identifies its origin: between the first and the last byte of `ARENAS`, or the system.
//! * Nothing here unwinds, allocates or locks.
#![allow(unsafe_code)]
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};

/// The number of queries that can run at once without asking the system.
pub const ARENAS_LEN: usize = 16;
/// The size of an arena in bytes; a page is backed when it is first written.
pub const ARENA_SIZE: usize = 1 << 20;

/// The smallest block. Sizes double from class to class; a freed block is reused for another of its class.
const SMALLEST: usize = 16;
const CLASSES: usize = (ARENA_SIZE / SMALLEST).ilog2() as usize + 1;

/// The alignment of arenas; allocations that need more go to the system.
const ALIGNED: usize = 4096;

#[repr(C, align(4096))]
struct Arena {
    bytes: UnsafeCell<[u8; ARENA_SIZE]>,
    /// A query runs in it, or has left blocks behind.
    claimed: AtomicBool,
    /// The query is over, and freeing the last block gives the arena back.
    left: AtomicBool,
    /// Blocks handed out, less those that the query has freed. Written by its thread.
    handed: AtomicUsize,
    /// Blocks freed by other threads, or later.
    returned: AtomicUsize,
    /// Bytes from the front that are or were handed out. Written by the query's thread.
    used: AtomicUsize,
    /// For each class, the last freed block, which holds the address of the previous one; 0 for none. Written by the
    /// query's thread.
    free: [AtomicUsize; CLASSES],
}

// SAFETY: see "Why this is sound".
unsafe impl Sync for Arena {}

static ARENAS: [Arena; ARENAS_LEN] = [const {
    Arena {
        bytes: UnsafeCell::new([0; ARENA_SIZE]),
        claimed: AtomicBool::new(false),
        left: AtomicBool::new(false),
        handed: AtomicUsize::new(0),
        returned: AtomicUsize::new(0),
        used: AtomicUsize::new(0),
        free: [const { AtomicUsize::new(0) }; CLASSES],
    }
}; ARENAS_LEN];

static OVERFLOWS: AtomicU64 = AtomicU64::new(0);

/// The source of a thread's memory.
#[derive(Clone, Copy)]
enum Source {
    /// No query runs.
    System,
    Arena(&'static Arena),
    /// A query runs, and no arena was free.
    None,
}

thread_local! {
    static CURRENT: Cell<Source> = const { Cell::new(Source::System) };
}

/// How often queries asked the system for memory since the program started.
pub fn overflows() -> u64 {
    OVERFLOWS.load(Relaxed)
}

/// While it exists, the thread allocates from an arena. Queries nest: one that a callback starts has its own.
pub struct Query {
    before: Source,
    own: Option<&'static Arena>,
    of_thread: PhantomData<*mut ()>,
}

impl Query {
    /// Claims an arena. Cost: one or a few compare-and-swaps.
    pub fn begin() -> Self {
        // Threads start at different arenas, so that they rarely compete for the same one.
        let hint = CURRENT.with(|c| ptr::from_ref(c) as usize >> 12) % ARENAS_LEN;
        let all = ARENAS[hint..].iter().chain(&ARENAS[..hint]);
        let mut free = all.filter(|a| !a.claimed.load(Relaxed));
        let own = free.find(|a| a.claimed.compare_exchange(false, true, Acquire, Relaxed).is_ok());
        let before = CURRENT.replace(own.map_or(Source::None, Source::Arena));
        Self { before, own, of_thread: PhantomData }
    }
    /// From here on, allocations outlive queries.
    pub fn outside() -> Self {
        Self { before: CURRENT.replace(Source::System), own: None, of_thread: PhantomData }
    }
}

impl Drop for Query {
    fn drop(&mut self) {
        CURRENT.set(self.before);
        if let Some(arena) = self.own {
            arena.left.store(true, SeqCst);
            arena.give_back();
        }
    }
}

impl Arena {
    /// Frees the arena if the query is over and no block is left.
    fn give_back(&self) {
        let is_empty = || self.handed.load(SeqCst) == self.returned.load(SeqCst);
        while is_empty() && self.left.swap(false, SeqCst) {
            if is_empty() {
                self.handed.store(0, Relaxed);
                self.returned.store(0, Relaxed);
                self.used.store(0, Relaxed);
                self.free.iter().for_each(|first| first.store(0, Relaxed));
                return self.claimed.store(false, Release);
            }
            self.left.store(true, SeqCst);
        }
    }

    fn start(&self) -> *mut u8 {
        self.bytes.get().cast()
    }

    /// Null if the arena is full.
    fn cut(&self, layout: Layout) -> *mut u8 {
        let Some(class) = class(layout.size()) else { return ptr::null_mut() };
        let free = self.free[class].load(Relaxed);
        let block = if free != 0 && layout.align() <= SMALLEST {
            let block = self.start().wrapping_add(free - self.start() as usize);
            // SAFETY: a free block of this arena has the address of the next one in its first bytes.
            self.free[class].store(unsafe { block.cast::<usize>().read() }, Relaxed);
            block
        } else {
            let align = layout.align().max(SMALLEST);
            // Aligning the offset suffices: the arena itself is aligned to `ALIGNED`.
            let at = (self.used.load(Relaxed) + align - 1) & !(align - 1);
            if align > ALIGNED || at + size_of_class(class) > ARENA_SIZE {
                return ptr::null_mut();
            }
            self.used.store(at + size_of_class(class), Relaxed);
            self.start().wrapping_add(at)
        };
        self.handed.store(self.handed.load(Relaxed) + 1, Relaxed);
        block
    }

    /// Takes back a block that the query frees.
    fn take_back(&self, block: *mut u8, size: usize) {
        self.handed.store(self.handed.load(Relaxed) - 1, Relaxed);
        let Some(class) = class(size) else { return };
        let at = block as usize - self.start() as usize;
        if at + size_of_class(class) == self.used.load(Relaxed) {
            return self.used.store(at, Relaxed);
        }
        // SAFETY: nobody uses the block any more, and the smallest one has room for an address.
        unsafe { block.cast::<usize>().write(self.free[class].load(Relaxed)) };
        self.free[class].store(block as usize, Relaxed);
    }

    /// Whether a block can be resized in place: it has the room, or is the last one and can grow.
    fn resize(&self, block: *mut u8, from: usize, to: usize) -> bool {
        let (Some(old), Some(new)) = (class(from), class(to)) else { return false };
        let at = block as usize - self.start() as usize;
        let end = at + size_of_class(new);
        let is_last = at + size_of_class(old) == self.used.load(Relaxed);
        if old != new && is_last && end <= ARENA_SIZE {
            self.used.store(end, Relaxed);
            return true;
        }
        old == new
    }

    /// Whether this thread cuts from it.
    fn is_own(&self) -> bool {
        matches!(CURRENT.get(), Source::Arena(own) if ptr::eq(own, self))
    }
}

/// The class of blocks with room for this many bytes; `None` if that exceeds an arena.
fn class(size: usize) -> Option<usize> {
    (size <= ARENA_SIZE).then(|| (size.max(SMALLEST).next_power_of_two() / SMALLEST).ilog2() as usize)
}

/// The size of blocks of this class.
fn size_of_class(class: usize) -> usize {
    SMALLEST << class
}

/// The arena that contains a block.
fn arena_of(block: *mut u8) -> Option<&'static Arena> {
    let at = (block as usize).checked_sub(ARENAS.as_ptr() as usize)? / size_of::<Arena>();
    ARENAS.get(at)
}

/// Allocates from arenas while a query runs, else from the system.
pub struct Pool;

// SAFETY: see "Why this is sound".
unsafe impl GlobalAlloc for Pool {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let source = CURRENT.get();
        if let Source::Arena(arena) = source {
            let block = arena.cut(layout);
            if !block.is_null() {
                return block;
            }
        }
        if !matches!(source, Source::System) {
            OVERFLOWS.fetch_add(1, Relaxed);
        }
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some(arena) = arena_of(block) else {
            // SAFETY: the block is not in an arena, so it belongs to the system.
            return unsafe { System.dealloc(block, layout) };
        };
        if arena.is_own() {
            return arena.take_back(block, layout.size());
        }
        arena.returned.fetch_add(1, SeqCst);
        if arena.left.load(SeqCst) {
            arena.give_back();
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match arena_of(block) {
            // SAFETY: the block is not in an arena, so it belongs to the system.
            None => unsafe { System.realloc(block, layout, size) },
            Some(arena) => {
                if arena.is_own() && arena.resize(block, layout.size(), size) {
                    return block;
                }
                // SAFETY: the size is not 0 and the alignment is that of the block, as the caller guarantees; both
                // blocks have at least as many bytes as are copied, and do not overlap.
                unsafe {
                    let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
                    if !new.is_null() {
                        ptr::copy_nonoverlapping(block, new, size.min(layout.size()));
                        self.dealloc(block, layout);
                    }
                    new
                }
            }
        }
    }
}

#[global_allocator]
static POOL: Pool = Pool;

#[cfg(test)]
mod tests;
