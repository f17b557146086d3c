//! Handles memory exhaustion: a message and an exit code instead of an abort.
#![allow(unsafe_code)]
use crate::faults::end_with;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};

/// The system allocator, for `#[global_allocator]` of the program. If memory is exhausted, the process ends with exit
/// code 3; an index being written has no name yet, and the next build removes what was written.
pub struct Memory;

static AS_JSON: AtomicBool = AtomicBool::new(false);

/// Whether to report the error as JSON.
pub fn tell_as_json(json: bool) {
    AS_JSON.store(json, Ordering::Relaxed);
}

/// Returns free memory to the system. Cost: some milliseconds.
pub fn give_back() {
    // SAFETY: it has no requirements; memory in use stays as it is.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Takes memory in large steps from now on, for a question that needs much: each of its threads asks the system for 4 KB
/// at a time otherwise (glibc 2.36, `sysmalloc`), and the other one waits. The first step of this thread is to have large
/// pages: a fault each instead of 512.
pub fn take_in_large_steps() {
    #[cfg(target_env = "gnu")]
    {
        const STEP: usize = 8 << 20;
        const LARGE_PAGE: usize = 2 << 20;
        // SAFETY: the first three only set a number, the block is not used, and advice changes no content, whatever is
        // there.
        unsafe {
            libc::mallopt(libc::M_TOP_PAD, STEP as libc::c_int);
            libc::mallopt(libc::M_TRIM_THRESHOLD, 2 * STEP as libc::c_int);
            libc::mallopt(libc::M_MMAP_THRESHOLD, STEP as libc::c_int);
            // Takes the step.
            let block = libc::malloc(LARGE_PAGE);
            let first = block.map_addr(|at| at.next_multiple_of(LARGE_PAGE));
            libc::madvise(first, STEP, libc::MADV_HUGEPAGE);
            libc::free(block);
        }
    }
}

// SAFETY: memory comes from and returns to the system allocator, and a failed allocation does not return.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's guarantees are passed on.
        there(unsafe { System.alloc(layout) })
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        there(unsafe { System.alloc_zeroed(layout) })
    }
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        there(unsafe { System.realloc(memory, layout, size) })
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[inline]
fn there(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        none_left();
    }
    memory
}

#[cold]
fn none_left() -> ! {
    // Constant, because there is no memory to compose it in.
    const TEXT: &str = "probeidx: error: out of memory; end other programs, raise the limit (ulimit -v), or build with -j 1\n";
    const JSON: &str = concat!(
        "{\"error\":{\"kind\":\"exhausted\",\"message\":\"out of memory\",\"path\":null,",
        "\"hint\":\"end other programs, raise the limit (ulimit -v), or build with -j 1\"}}\n"
    );
    end_with(if AS_JSON.load(Ordering::Relaxed) { JSON } else { TEXT }.as_bytes(), 3)
}
