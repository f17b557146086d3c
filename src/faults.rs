//! Faults of files of which the kernel tells by signals: a page of a mapped file that cannot be read (SIGBUS), because
//! the file was cut off or its disk fails, and a file that may not grow (SIGXFSZ).
//!
//! Nothing is watched unless a program asks for it with [`watch`], as handlers of signals belong to the whole process.
#![allow(unsafe_code)]
use crate::error::Error;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// What is to happen where a page of a mapped file cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFault {
    /// It reads as zeros, and whoever mapped the file can ask whether that happened.
    #[cfg_attr(not(feature = "build"), allow(dead_code, reason = "the builder's"))]
    Zeros,
    /// The process ends: nothing that it could still say would be right.
    End,
}

/// Composes the last words of a process from the error that ends it.
type LastWords = fn(&Error) -> Vec<u8>;

/// The exit code of a process that lost its input.
const LOST: i32 = 3;

static LAST_WORDS: OnceLock<LastWords> = OnceLock::new();
static PAGE: AtomicUsize = AtomicUsize::new(0);
static FIRST: AtomicPtr<Slot> = AtomicPtr::new(ptr::null_mut());

/// Makes faults of files errors: from now on SIGBUS within a mapping does what [`OnFault`] says of it and elsewhere what
/// it always did, and writing too large a file fails instead of killing the process.
pub fn watch(last_words: LastWords) {
    if LAST_WORDS.set(last_words).is_err() {
        return;
    }
    // SAFETY: sysconf has no requirements. The action is zeroed, which is a valid value of it, and filled in; its handler
    // has the signature that SA_SIGINFO asks for and does nothing that is not allowed in a handler. Rust's own handler for
    // overflows of stacks, which this one takes the place of, gets those as SIGSEGV on Linux.
    unsafe {
        PAGE.store(libc::sysconf(libc::_SC_PAGESIZE).try_into().unwrap_or(4096), Ordering::Relaxed);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_bus_error as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGBUS, &action, ptr::null_mut());
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// A mapping that is watched, until this is dropped.
pub struct Watched {
    slot: &'static Slot,
    /// What the slot points to.
    _words: Vec<u8>,
}

impl Watched {
    /// Watches a mapping of a file; `None` if nobody asked for it. `lost` is the error that ends the process.
    pub fn new(bytes: &[u8], on_fault: OnFault, path: &Path, lost: fn(&Path) -> Error) -> Option<Self> {
        let compose = LAST_WORDS.get()?;
        let words = if on_fault == OnFault::End { compose(&lost(path)) } else { vec![] };
        let slot = Slot::free();
        slot.words.store(words.as_ptr().cast_mut(), Ordering::Relaxed);
        slot.words_length.store(words.len(), Ordering::Relaxed);
        slot.is_faulty.store(false, Ordering::Relaxed);
        let start = bytes.as_ptr().addr();
        slot.end.store(start + bytes.len(), Ordering::Relaxed);
        slot.start.store(start, Ordering::Release);
        Some(Self { slot, _words: words })
    }
    /// Whether something of it could not be read so far.
    #[cfg(feature = "build")]
    pub fn is_faulty(&self) -> bool {
        self.slot.is_faulty.load(Ordering::Relaxed)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.slot.start.store(usize::MAX, Ordering::Relaxed);
        self.slot.is_taken.store(false, Ordering::Release);
    }
}

/// A place in the list of what is watched. Slots are never freed, as a signal may come at any time, but taken again: there
/// are as many as there were mappings at once.
struct Slot {
    next: Option<&'static Slot>,
    is_taken: AtomicBool,
    start: AtomicUsize,
    end: AtomicUsize,
    is_faulty: AtomicBool,
    words: AtomicPtr<u8>,
    words_length: AtomicUsize,
}

impl Slot {
    /// One that nobody has, now taken.
    fn free() -> &'static Self {
        let mut slots = Self::all();
        let take = |s: &&Self| !s.is_taken.swap(true, Ordering::Acquire);
        slots.find(take).unwrap_or_else(Self::add)
    }

    fn add() -> &'static Self {
        let slot = Box::leak(Box::new(Self {
            next: None,
            is_taken: AtomicBool::new(true),
            start: AtomicUsize::new(usize::MAX),
            end: AtomicUsize::new(0),
            is_faulty: AtomicBool::new(false),
            words: AtomicPtr::new(ptr::null_mut()),
            words_length: AtomicUsize::new(0),
        }));
        let mut first = FIRST.load(Ordering::Acquire);
        loop {
            slot.next = Self::at(first);
            match FIRST.compare_exchange(first, slot, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return slot,
                Err(other) => first = other,
            }
        }
    }

    fn at(slot: *const Self) -> Option<&'static Self> {
        // SAFETY: what the list points to was leaked, and nothing of it but atomics changes once it is in the list.
        unsafe { slot.as_ref() }
    }

    fn all() -> impl Iterator<Item = &'static Self> {
        std::iter::successors(Self::at(FIRST.load(Ordering::Acquire)), |slot| slot.next)
    }

    /// Does what is to be done of a page that cannot be read. In a handler: no memory, no locks.
    fn meet(&self, address: usize, end: usize) -> bool {
        let length = self.words_length.load(Ordering::Relaxed);
        if length > 0 {
            // SAFETY: the words are dropped only after the mapping can be read by nobody, and somebody reads it.
            end_with(unsafe { std::slice::from_raw_parts(self.words.load(Ordering::Relaxed), length) }, LOST);
        }
        self.is_faulty.store(true, Ordering::Relaxed);
        let page = address & !(PAGE.load(Ordering::Relaxed) - 1);
        // SAFETY: from a page of the mapping to its end, which nothing else occupies: whoever holds the mapping unmaps
        // that same range later. Those who read it bear any bytes. One call to the kernel, which mmap is on Linux, is
        // allowed in a handler.
        let zeros = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
            libc::mmap(ptr::without_provenance_mut(page), end - page, libc::PROT_READ, flags, -1, 0)
        };
        zeros != libc::MAP_FAILED
    }
}

extern "C" fn on_bus_error(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid record, and of a fault it has the address.
    let (address, is_fault) = unsafe { ((*info).si_addr().addr(), (*info).si_code > 0) };
    let holds = |slot: &Slot| {
        let start = slot.start.load(Ordering::Acquire);
        let end = slot.end.load(Ordering::Relaxed);
        (start..end).contains(&address).then_some(end)
    };
    let met = is_fault && Slot::all().find_map(|s| Some(s.meet(address, holds(s)?))).unwrap_or(false);
    if !met {
        // SAFETY: both are allowed in a handler. The signal is blocked until it returns, and kills then.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

/// Writes to stderr and ends the process at once, without asking for memory and without running anything of it. Of several
/// threads that end it the first has the word.
pub fn end_with(words: &[u8], code: i32) -> ! {
    static IS_ENDING: AtomicBool = AtomicBool::new(false);
    // SAFETY: the slice is readable; nothing is left to be corrupted by leaving, and pause only waits.
    unsafe {
        while IS_ENDING.swap(true, Ordering::AcqRel) {
            libc::pause();
        }
        libc::write(libc::STDERR_FILENO, words.as_ptr().cast(), words.len());
        libc::_exit(code)
    }
}
