//! File faults that the kernel reports by signals: SIGBUS for an unreadable page of a mapped file, which was
//! truncated or whose disk fails, and SIGXFSZ for a file at its size limit.
//!
//! Nothing is installed unless a program calls [`watch`], because signal handlers belong to the whole process.
#![allow(unsafe_code)]
use crate::error::Error;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// What happens if a page of a mapped file cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFault {
    /// It reads as zeros, and the mapping reports it afterwards.
    #[cfg_attr(not(feature = "build"), allow(dead_code, reason = "the builder's"))]
    Zeros,
    /// The process ends: no answer could be right any more.
    End,
}

/// Composes the final message of a process from the error that ends it.
type LastWords = fn(&Error) -> Vec<u8>;

/// The exit code of a process that lost its input.
const LOST: i32 = 3;

static LAST_WORDS: OnceLock<LastWords> = OnceLock::new();
static PAGE: AtomicUsize = AtomicUsize::new(0);
static FIRST: AtomicPtr<Slot> = AtomicPtr::new(ptr::null_mut());

/// Turns file faults into errors. From now on SIGBUS within a mapping is handled by its [`OnFault`], and elsewhere as
/// before; exceeding the file size limit is a write error instead of killing the process.
pub fn watch(last_words: LastWords) {
    if LAST_WORDS.set(last_words).is_err() {
        return;
    }
    // SAFETY: sysconf has no requirements. The action is zeroed, which is a valid value of it, and filled in. Its
    // handler has the signature that SA_SIGINFO requires, and does only what is allowed in a handler. It replaces
    // Rust's own handler for stack overflows, which arrive as SIGSEGV on Linux.
    unsafe {
        PAGE.store(libc::sysconf(libc::_SC_PAGESIZE).try_into().unwrap_or(4096), Ordering::Relaxed);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_bus_error as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGBUS, &action, ptr::null_mut());
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// A watched mapping, until dropped.
pub struct Watched {
    slot: &'static Slot,
    /// The memory that the slot points to.
    _words: Vec<u8>,
}

impl Watched {
    /// Watches a mapping of a file; `None` if the program did not call [`watch`]. `lost` creates the error that ends
    /// the process.
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
    /// Whether a part could not be read so far.
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

/// An entry in the list of watched mappings. Slots are never freed, because a signal may arrive at any time, but
/// reused: there are as many as there were mappings at once.
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
    /// Takes an unused slot, or adds one.
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
        // SAFETY: all slots in the list were leaked, and only atomics in them change afterwards.
        unsafe { slot.as_ref() }
    }

    fn all() -> impl Iterator<Item = &'static Self> {
        std::iter::successors(Self::at(FIRST.load(Ordering::Acquire)), |slot| slot.next)
    }

    /// Handles an unreadable page. Runs in a signal handler: no allocation, no locks.
    fn meet(&self, address: usize, end: usize) -> bool {
        let length = self.words_length.load(Ordering::Relaxed);
        if length > 0 {
            // SAFETY: the words are dropped only after the mapping can no longer be read, and it is being read now.
            end_with(unsafe { std::slice::from_raw_parts(self.words.load(Ordering::Relaxed), length) }, LOST);
        }
        self.is_faulty.store(true, Ordering::Relaxed);
        let page = address & !(PAGE.load(Ordering::Relaxed) - 1);
        // SAFETY: the range is from a page of the mapping to its end, occupied by nothing else: the owner of the
        // mapping unmaps this same range later. Its readers accept any bytes. A single system call, which mmap is on
        // Linux, is allowed in a handler.
        let zeros = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
            libc::mmap(ptr::without_provenance_mut(page), end - page, libc::PROT_READ, flags, -1, 0)
        };
        zeros != libc::MAP_FAILED
    }
}

extern "C" fn on_bus_error(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid record, which has an address for a fault.
    let (address, is_fault) = unsafe { ((*info).si_addr().addr(), (*info).si_code > 0) };
    let holds = |slot: &Slot| {
        let start = slot.start.load(Ordering::Acquire);
        let end = slot.end.load(Ordering::Relaxed);
        (start..end).contains(&address).then_some(end)
    };
    let met = is_fault && Slot::all().find_map(|s| Some(s.meet(address, holds(s)?))).unwrap_or(false);
    if !met {
        // SAFETY: both are allowed in a handler. The signal is blocked until the handler returns, and kills the
        // process then.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

/// Writes to stderr and ends the process at once, without allocating and without running anything at exit. If several
/// threads do so, only the first one writes.
pub fn end_with(words: &[u8], code: i32) -> ! {
    static IS_ENDING: AtomicBool = AtomicBool::new(false);
    // SAFETY: the slice is readable; exiting cannot corrupt anything, and pause only waits.
    unsafe {
        while IS_ENDING.swap(true, Ordering::AcqRel) {
            libc::pause();
        }
        libc::write(libc::STDERR_FILENO, words.as_ptr().cast(), words.len());
        libc::_exit(code)
    }
}
