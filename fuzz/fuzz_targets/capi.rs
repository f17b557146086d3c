//! Calls of the C library, in any order, with any arguments and buffers: see `Call`.
//!
//! A handle that is not open gives `Closed` and nothing else; no call gives `Internal`; what comes back can be read to its
//! last byte; and nothing is written behind the buffers that the caller gives (the sanitizer watches).
#![no_main]
use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use probeidx_capi::border::{ErrorOut, Status};
use probeidx_capi::contents::{Object, Summary, probeidx_objects, probeidx_stats};
use probeidx_capi::decode::{Decoded, Log};
use probeidx_capi::each::EachFn;
use probeidx_capi::frames::{Frame, probeidx_frames};
use probeidx_capi::handle::Handle;
use probeidx_capi::open::{probeidx_close, probeidx_open};
use probeidx_capi::places::{Place, probeidx_places};
use probeidx_capi::resolve::{Options, Placement, probeidx_resolve};
use probeidx_capi::text::Text;
use probeidx_capi::{addr, aliases, check, decode, find, lines, names, refused, types};
use probeidx_fuzz::file::Unnamed;
use probeidx_fuzz::index::{Parts, SMALL};
use std::ffi::{CString, c_char, c_void};
use std::mem::{MaybeUninit, offset_of};

/// A text that ends with a NUL, or none at all.
type Words = Option<CString>;

#[derive(Arbitrary, Debug)]
enum Call {
    /// Of a small index in which these bytes of these sections are others.
    Open {
        changed: Vec<(u8, u16, u8)>,
        release: Words,
    },
    OpenPath {
        path: Words,
        release: Words,
    },
    Close(Which),
    Stats(Which, u8),
    Objects(Which),
    Resolve {
        of: Which,
        spec: Words,
        arguments: Vec<CString>,
        flags: u32,
        size: u8,
    },
    Find(Which, Words, u32),
    Places {
        of: Which,
        name: Vec<u8>,
        room: u8,
    },
    Frames {
        of: Which,
        address: Number,
        with_line: bool,
        room: u8,
    },
    Addr(Which, Words, Number),
    Decode {
        of: Which,
        lines: Vec<Vec<u8>>,
        memory: [u8; 32],
        size: u16,
    },
    Lines(Which, Words),
    Type(Which, Words),
    TypeOf(Which, u16),
    Member(Which, Words),
    Users(Which, Words),
    Blacklist(Which, Words),
    Aliases(Which, Words),
    Check {
        of: Which,
        script: Vec<u8>,
        arguments: Vec<CString>,
        compatible: Words,
        flags: u32,
        runtime: u8,
    },
    Names(u32),
}

/// A handle: one that was given, open or closed; or a number that never was one.
#[derive(Arbitrary, Debug)]
enum Which {
    Given(u8),
    Forged(usize),
    Null,
}

/// Addresses of the small kernel are more likely than others.
#[derive(Arbitrary, Debug)]
enum Number {
    InText(u16),
    Any(u64),
}

impl Number {
    fn get(&self) -> u64 {
        match self {
            Self::InText(offset) => 0xffff_ffff_8100_0000 + u64::from(*offset),
            Self::Any(number) => *number,
        }
    }
}

/// What one input asks for, and what the caller remembers.
#[derive(Arbitrary, Debug)]
struct Session {
    calls: Vec<Call>,
    /// How much room there is for what went wrong; how many answers are wanted.
    error_size: u16,
    wanted: u8,
}

#[derive(Default)]
struct Known {
    given: Vec<*const Handle>,
    open: Vec<(*const Handle, Unnamed)>,
}

impl Known {
    fn handle(&self, which: &Which) -> *const Handle {
        match which {
            Which::Given(at) if !self.given.is_empty() => self.given[usize::from(*at) % self.given.len()],
            Which::Forged(number) => std::ptr::without_provenance(*number),
            _ => std::ptr::null(),
        }
    }
    fn is_open(&self, handle: *const Handle) -> bool {
        self.open.iter().any(|(open, _)| *open == handle)
    }
}

/// A struct of which the caller knows the first bytes only: no more are there.
struct Sized {
    words: Vec<u64>,
    size: usize,
}

impl Sized {
    fn new(size: usize) -> Self {
        // The field that says the size must be there.
        let size = size.max(size_of::<usize>());
        let mut words = vec![0; size / 8];
        words[0] = size as u64 / 8 * 8;
        Self { words, size: size / 8 * 8 }
    }
    fn of<T>(&mut self) -> *mut T {
        assert!(self.size >= size_of::<usize>());
        self.words.as_mut_ptr().cast()
    }
}

/// How many answers are still wanted.
type Wanted = u32;

/// Reads all texts that lie directly in an answer.
extern "C" fn each<T: Texts>(wanted: *mut c_void, answer: *const T) -> i32 {
    // SAFETY: what `call` gave, and what the library gives.
    let (wanted, answer) = unsafe { (&mut *wanted.cast::<Wanted>(), &*answer) };
    answer.texts().iter().for_each(read);
    *wanted = wanted.saturating_sub(1);
    i32::from(*wanted == 0)
}

fn read(text: &Text) {
    assert!(!text.text.is_null());
    // SAFETY: so the library promises, the NUL included.
    let bytes = unsafe { std::slice::from_raw_parts(text.text.cast::<u8>(), text.length + 1) };
    assert_eq!(bytes.last(), Some(&0));
    std::hint::black_box(bytes.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte)));
}

trait Texts {
    fn texts(&self) -> Vec<Text>;
}

macro_rules! texts {
    ($($type:ty: $($field:ident)*;)*) => {
        $(impl Texts for $type {
            fn texts(&self) -> Vec<Text> {
                assert_eq!(self.size, size_of::<Self>());
                vec![$(self.$field),*]
            }
        })*
    };
}

texts! {
    Object: name path build_id;
    Placement: kernel module process function file section symbol anchor anchor_module anchor_symbol definition instead
        source_file;
    addr::Spot: module section symbol;
    Decoded: text behind below why;
    lines::Line: module function file;
    types::Type: name spelled file;
    types::Member: name type_name;
    types::User: function file;
    refused::Refused: module symbol section;
    check::Finding: file what why;
}

impl Texts for Text {
    fn texts(&self) -> Vec<Text> {
        vec![*self]
    }
}

fn pointer(words: &Words) -> *const c_char {
    words.as_ref().map_or(std::ptr::null(), |w| w.as_ptr())
}

fn answer(call: &Call, session: &Session, known: &mut Known) {
    let mut wanted = Wanted::from(session.wanted);
    let context: *mut c_void = (&raw mut wanted).cast();
    let mut said = Sized::new(usize::from(session.error_size) % (size_of::<ErrorOut>() + 64));
    let error: *mut ErrorOut = said.of();
    macro_rules! ask {
        ($of:expr, |$handle:ident| $call:expr) => {{
            let $handle = known.handle($of);
            let is_open = known.is_open($handle);
            let status = $call;
            assert_ne!(status, Status::Internal as i32);
            assert_eq!(status == Status::Closed as i32, !is_open, "{call:?}: {status}");
        }};
    }
    fn callback<T: Texts>() -> EachFn<T> {
        Some(each::<T>)
    }
    match call {
        Call::Open { changed, release } => {
            let mut parts =
                Parts::of(SMALL).expect("run scripts/fuzz-seeds: the seeds are of another version");
            changed.iter().for_each(|(section, at, byte)| parts.change(*section, *at, *byte));
            let file = Unnamed::new(&parts.file());
            let path = CString::new(file.path().to_str().expect("ASCII")).expect("no NUL");
            let mut handle = std::ptr::null();
            let status = probeidx_open(path.as_ptr(), pointer(release), &raw mut handle, error);
            assert_eq!(status == 0, !handle.is_null());
            if status == 0 {
                known.given.push(handle);
                known.open.push((handle, file));
            }
        }
        Call::OpenPath { path, release } => {
            let mut handle = std::ptr::null();
            let status = probeidx_open(pointer(path), pointer(release), &raw mut handle, error);
            assert!(status != 0 && handle.is_null(), "there are no indexes in this folder");
        }
        Call::Close(which) => {
            let handle = known.handle(which);
            let is_right = handle.is_null() || known.is_open(handle);
            assert_eq!(probeidx_close(handle) == 0, is_right);
            known.open.retain(|(open, _)| *open != handle);
        }
        Call::Stats(of, size) => {
            let mut summary = Sized::new(usize::from(*size) % (size_of::<Summary>() + 16));
            ask!(of, |handle| probeidx_stats(handle, summary.of(), error));
        }
        Call::Objects(of) => ask!(of, |handle| probeidx_objects(handle, callback(), context, error)),
        Call::Resolve { of, spec, arguments, flags, size } => {
            let mut options = Sized::new(usize::from(*size) % 32);
            if options.words.len() > 1 {
                options.words[1] = u64::from(*flags);
            }
            let arguments: Vec<_> = arguments.iter().take(8).map(|a| a.as_ptr()).collect();
            ask!(of, |handle| probeidx_resolve(
                handle,
                pointer(spec),
                arguments.as_ptr(),
                arguments.len(),
                options.of::<Options>(),
                callback(),
                context,
                error
            ));
        }
        Call::Find(of, pattern, flags) => {
            ask!(of, |handle| find::probeidx_find(
                handle,
                pointer(pattern),
                *flags,
                callback(),
                context,
                error
            ));
        }
        Call::Places { of, name, room } => {
            let mut places: Vec<MaybeUninit<Place>> = vec![MaybeUninit::uninit(); usize::from(*room)];
            let (first, mut count) = (places.as_mut_ptr().cast(), 0);
            ask!(of, |handle| probeidx_places(
                handle,
                name.as_ptr().cast(),
                name.len(),
                first,
                places.len(),
                &raw mut count,
                error
            ));
        }
        Call::Frames { of, address, with_line, room } => {
            let mut frames: Vec<MaybeUninit<Frame>> = vec![MaybeUninit::uninit(); usize::from(*room)];
            let (first, mut count) = (frames.as_mut_ptr().cast(), 0);
            ask!(of, |handle| {
                let wants = i32::from(*with_line);
                let status =
                    probeidx_frames(handle, address.get(), wants, first, frames.len(), &raw mut count, error);
                for frame in frames.iter().take(count) {
                    // SAFETY: so many are written.
                    let frame = unsafe { frame.assume_init_ref() };
                    [frame.function, frame.declared_file, frame.file].iter().for_each(read);
                }
                status
            });
        }
        Call::Addr(of, text, slide) => {
            let text = pointer(text);
            ask!(of, |handle| addr::probeidx_addr(handle, text, slide.get(), callback(), context, error));
        }
        Call::Decode { of, lines, memory, size } => {
            let mut log = Sized::new(usize::from(*size) % (size_of::<Log>() + 16));
            // SAFETY: numbers, of which the first stays.
            let bytes = unsafe { log.words.align_to_mut::<u8>().1 };
            for (byte, given) in bytes.iter_mut().skip(offset_of!(Log, slide)).zip(memory) {
                *byte = *given;
            }
            for line in lines.iter().take(8) {
                let line = (line.as_ptr().cast(), line.len());
                ask!(of, |handle| decode::probeidx_decode(
                    handle,
                    log.of(),
                    line.0,
                    line.1,
                    callback(),
                    context,
                    error
                ));
            }
        }
        Call::Lines(of, spec) => {
            ask!(of, |handle| lines::probeidx_lines(handle, pointer(spec), callback(), context, error));
        }
        Call::Type(of, name) => {
            ask!(of, |handle| types::probeidx_type(handle, pointer(name), callback(), context, error));
        }
        Call::TypeOf(of, id) => {
            ask!(of, |handle| types::probeidx_type_of(handle, u32::from(*id), callback(), context, error));
        }
        Call::Member(of, path) => {
            ask!(of, |handle| types::probeidx_member(handle, pointer(path), callback(), context, error));
        }
        Call::Users(of, name) => {
            ask!(of, |handle| types::probeidx_users(handle, pointer(name), callback(), context, error));
        }
        Call::Blacklist(of, module) => {
            ask!(of, |handle| refused::probeidx_blacklist(
                handle,
                pointer(module),
                callback(),
                context,
                error
            ));
        }
        Call::Aliases(of, pattern) => {
            ask!(of, |handle| aliases::probeidx_aliases(
                handle,
                pointer(pattern),
                callback(),
                context,
                error
            ));
        }
        Call::Check { of, script, arguments, compatible, flags, runtime } => {
            let arguments: Vec<_> = arguments.iter().take(8).map(|a| a.as_ptr()).collect();
            let asked = check::Stap {
                size: size_of::<check::Stap>(),
                arguments: arguments.as_ptr(),
                argument_count: arguments.len(),
                compatible: pointer(compatible),
                flags: *flags,
                runtime: u32::from(*runtime % 4),
            };
            let (name, mut verdict) = (c"strange.stp".as_ptr(), 0);
            let script = (script.as_ptr().cast(), script.len());
            ask!(of, |handle| check::probeidx_check(
                handle,
                name,
                script.0,
                script.1,
                &raw const asked,
                callback(),
                context,
                &raw mut verdict,
                error
            ));
        }
        Call::Names(number) => {
            let named =
                [names::probeidx_state_name, names::probeidx_instance_name, names::probeidx_verdict_name];
            named.iter().for_each(|name| read(&name(*number)));
            read(&names::probeidx_verdict_phrase(*number));
            read(&names::probeidx_status_name(*number as i32));
        }
    }
}

fuzz_target!(|session: Session| {
    let mut known = Known::default();
    for call in session.calls.iter().take(64) {
        answer(call, &session, &mut known);
    }
    for (handle, _) in std::mem::take(&mut known.open) {
        assert_eq!(probeidx_close(handle), 0);
    }
});
