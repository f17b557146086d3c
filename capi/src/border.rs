//! What every function does before and after its question.
//!
//! # Why this is sound
//! Pointers come from the caller, who guarantees what the header requires: texts end with a NUL or have the given
//! length; a buffer has the given capacity; a struct has the size in its first field. Null is always checked for.
#![allow(unsafe_code)]
use crate::handle::{Handle, Pinned};
use crate::pool::Query;
use probeidx::{Error, ErrorKind};
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a function returns: 0, or why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// Nothing matched.
    NoMatch = 1,
    /// A spec, a pattern or an argument is invalid.
    Usage = 2,
    /// A file cannot be read.
    Io = 3,
    /// There is no index.
    NoIndex = 4,
    /// The index was written by an older version.
    IndexTooOld = 5,
    /// The index was written by a newer version.
    IndexTooNew = 6,
    /// The index is damaged.
    IndexDamaged = 7,
    /// A script is not in SystemTap's language.
    Syntax = 8,
    /// The request is not supported.
    Unsupported = 9,
    /// Any other kind.
    Other = 10,
    /// A callback returned a value other than 0.
    Stopped = 32,
    /// The handle is null, closed or invalid.
    Closed = 33,
    /// A pointer is null but must not be, or a size is invalid.
    Argument = 34,
    /// The maximum number of indexes is already open.
    TooMany = 35,
    /// The buffer is too short: the count is the length it needs.
    Short = 36,
    /// A bug in this library.
    Internal = 37,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 17] = {
        use Status::*;
        [
            Ok,
            NoMatch,
            Usage,
            Io,
            NoIndex,
            IndexTooOld,
            IndexTooNew,
            IndexDamaged,
            Syntax,
            Unsupported,
            Other,
            Stopped,
            Closed,
            Argument,
            TooMany,
            Short,
            Internal,
        ]
    };
    /// The status for an error of the library.
    pub fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::NoMatch => Self::NoMatch,
            ErrorKind::Usage => Self::Usage,
            ErrorKind::Io => Self::Io,
            ErrorKind::NoIndex => Self::NoIndex,
            ErrorKind::IndexTooOld => Self::IndexTooOld,
            ErrorKind::IndexTooNew => Self::IndexTooNew,
            ErrorKind::IndexDamaged => Self::IndexDamaged,
            ErrorKind::Syntax => Self::Syntax,
            ErrorKind::Unsupported => Self::Unsupported,
            _ => Self::Other,
        }
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Failure {
    /// An error of the library.
    Error(Error),
    /// An error of the C interface: the message, and the remedy.
    Border(Status, &'static str, &'static str),
    /// A callback ended the question.
    Stopped,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// The result of a question.
pub type Answer<T = ()> = Result<T, Failure>;

/// The failure for a null pointer that must not be null.
pub const NULL: Failure = Failure::Border(Status::Argument, "a pointer is null that must not be", "");

/// `struct probeidx_error`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ErrorOut {
    /// The size of the struct as the caller knows it.
    pub size: usize,
    /// A [`Status`].
    pub kind: i32,
    /// 0.
    pub reserved: u32,
    /// The error message.
    pub message: [u8; 512],
    /// The file, with section and offset, or line.
    pub place: [u8; 512],
    /// The remedy.
    pub remedy: [u8; 256],
}

impl ErrorOut {
    const NONE: Self = Self {
        size: size_of::<Self>(),
        kind: 0,
        reserved: 0,
        message: [0; 512],
        place: [0; 512],
        remedy: [0; 256],
    };

    /// Writes into the caller's buffer, up to its size.
    fn write(out: *mut Self, status: Status, message: &str, place: &str, remedy: &str) {
        if out.is_null() {
            return;
        }
        let mut own = Self { kind: status as i32, ..Self::NONE };
        put(&mut own.message, message);
        put(&mut own.place, place);
        put(&mut own.remedy, remedy);
        // SAFETY: not null, and the struct has the size in its first field.
        let known = unsafe { (*out).size }.min(size_of::<Self>());
        let first = std::mem::offset_of!(Self, kind);
        if known < first + size_of::<i32>() {
            return;
        }
        let texts = std::mem::offset_of!(Self, message);
        // SAFETY: both have that many bytes, and they do not overlap.
        unsafe {
            let (from, to) = (std::ptr::from_ref(&own).cast::<u8>(), out.cast::<u8>());
            std::ptr::copy_nonoverlapping(from.add(first), to.add(first), known - first);
            // A truncated text still ends with a NUL.
            if known > texts && known < size_of::<Self>() {
                *to.add(known - 1) = 0;
            }
        }
    }
}

/// Copies as many whole characters as fit, followed by a NUL.
pub(crate) fn put(room: &mut [u8], text: &str) {
    let most = text.len().min(room.len() - 1);
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    room[..end].copy_from_slice(&text.as_bytes()[..end]);
}

/// Runs a question on an index.
pub fn ask(handle: *const Handle, error: *mut ErrorOut, question: impl FnOnce(&Pinned) -> Answer) -> i32 {
    run(error, || {
        let pinned = Pinned::of(handle);
        if cfg!(debug_assertions) && pinned.is_none() && !handle.is_null() {
            eprintln!("libprobeidx: the index of the handle {handle:p} is not open");
            std::process::abort();
        }
        let none = Failure::Border(
            Status::Closed,
            "the index is not open",
            "use the handle between probeidx_open and probeidx_close",
        );
        question(&pinned.ok_or(none)?)
    })
}

/// Runs work whose memory belongs to a query.
pub fn run(error: *mut ErrorOut, work: impl FnOnce() -> Answer) -> i32 {
    caught(error, || {
        let _query = Query::begin();
        report(error, work())
    })
}

/// Runs work whose memory outlives it.
pub fn outside(error: *mut ErrorOut, work: impl FnOnce() -> Answer) -> i32 {
    caught(error, || {
        let _outside = Query::outside();
        report(error, work())
    })
}

fn caught(error: *mut ErrorOut, work: impl FnOnce() -> Status) -> i32 {
    // A panic only leaves state of this question behind: answers are made anew each time.
    let status = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let what = "internal error: the library abandoned this question";
        ErrorOut::write(error, Status::Internal, what, "", "report it with the question and the index");
        Status::Internal
    });
    status as i32
}

fn report(error: *mut ErrorOut, answer: Answer) -> Status {
    let (status, message, place, remedy) = match &answer {
        Ok(()) => return Status::Ok,
        Err(Failure::Stopped) => (Status::Stopped, "the callback wanted no more", String::new(), ""),
        Err(Failure::Border(status, message, remedy)) => (*status, *message, String::new(), *remedy),
        Err(Failure::Error(e)) => {
            (Status::of(e.kind()), e.message(), e.place().unwrap_or_default(), e.remedy().unwrap_or_default())
        }
    };
    ErrorOut::write(error, status, message, &place, remedy);
    status
}

/// The caller's bytes: `length` of them, or up to a NUL if it is `usize::MAX`.
pub(crate) fn bytes<'c>(text: *const c_char, length: usize) -> Answer<&'c [u8]> {
    if text.is_null() {
        return Err(NULL);
    }
    // SAFETY: not null, and either of that length or ended by a NUL.
    Ok(unsafe {
        match length {
            usize::MAX => CStr::from_ptr(text).to_bytes(),
            _ => std::slice::from_raw_parts(text.cast(), length),
        }
    })
}

/// The caller's text, ended by a NUL.
pub(crate) fn text<'c>(text: *const c_char) -> Answer<&'c str> {
    std::str::from_utf8(bytes(text, usize::MAX)?).map_err(|_| {
        let remedy = "ask for a name that is not UTF-8 with probeidx_places";
        Failure::Border(Status::Usage, "the text is not UTF-8", remedy)
    })
}

/// The caller's texts.
pub(crate) fn texts<'c>(texts: *const *const c_char, count: usize) -> Answer<Vec<&'c str>> {
    if count > 0 && texts.is_null() {
        return Err(NULL);
    }
    // SAFETY: not null, and of that length.
    (0..count).map(|at| text(unsafe { *texts.add(at) })).collect()
}

/// The caller's struct, which starts with its size: missing fields are taken from `whole`, as are all if it is null.
pub(crate) fn sized<T: Sized>(given: *const T, mut whole: T) -> Answer<T> {
    if given.is_null() {
        return Ok(whole);
    }
    // SAFETY: these structs consist of numbers and pointers, and the first field is the size.
    let size = unsafe { given.cast::<usize>().read() };
    if size < size_of::<usize>() {
        return Err(Failure::Border(
            Status::Argument,
            "a struct does not say its size",
            "set its field size",
        ));
    }
    // SAFETY: both have that many bytes.
    unsafe {
        let to = std::ptr::from_mut(&mut whole).cast::<u8>();
        std::ptr::copy_nonoverlapping(given.cast::<u8>(), to, size.min(size_of::<T>()));
    }
    Ok(whole)
}

/// Writes a struct into one of the caller's, up to the size in its first field.
pub(crate) fn fill<T: Sized>(out: *mut T, value: T) -> Answer {
    if out.is_null() {
        return Err(NULL);
    }
    const FIRST: usize = size_of::<usize>();
    // SAFETY: as in `sized`.
    let size = unsafe { out.cast::<usize>().read() };
    if size < FIRST {
        return Err(Failure::Border(
            Status::Argument,
            "a struct does not say its size",
            "set its field size",
        ));
    }
    // SAFETY: both have that many bytes; the first field is kept.
    unsafe {
        let from = std::ptr::from_ref(&value).cast::<u8>();
        let length = size.min(size_of::<T>()) - FIRST;
        std::ptr::copy_nonoverlapping(from.add(FIRST), out.cast::<u8>().add(FIRST), length);
    }
    Ok(())
}

/// Whether the caller's struct, by the size in its first field, extends beyond this offset.
pub(crate) fn reaches<T: Sized>(out: *const T, offset: usize) -> bool {
    // SAFETY: as in `sized`.
    !out.is_null() && unsafe { out.cast::<usize>().read() } > offset
}

/// Writes a number for the caller.
pub(crate) fn give<T>(out: *mut T, value: T) -> Answer {
    if out.is_null() {
        return Err(NULL);
    }
    // SAFETY: not null, and of this type.
    unsafe { out.write(value) };
    Ok(())
}

/// The caller's array.
pub struct Room<T> {
    first: *mut T,
    capacity: usize,
    /// The number of elements, whether they fit or not.
    pub count: usize,
}

impl<T> Room<T> {
    /// An array with this capacity; null has none.
    pub fn new(first: *mut T, capacity: usize) -> Self {
        Self { first, capacity: if first.is_null() { 0 } else { capacity }, count: 0 }
    }
    /// Adds an element, if there is room.
    pub fn push(&mut self, value: T) {
        if self.count < self.capacity {
            // SAFETY: within the array.
            unsafe { self.first.add(self.count).write(value) };
        }
        self.count += 1;
    }
    /// Writes the count, and checks whether all elements fit.
    pub fn end(self, count: *mut usize) -> Answer {
        give(count, self.count)?;
        match self.count > self.capacity {
            true => Err(Failure::Border(
                Status::Short,
                "the buffer is too short",
                "make it at least as long as the count",
            )),
            false => Ok(()),
        }
    }
}
