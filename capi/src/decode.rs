//! Frames in the lines of a log.
use crate::addr::{Spot, frames, spot};
use crate::border::{Answer, ErrorOut, Failure, NULL, Status, bytes};
use crate::each::{EachFn, answers};
use crate::handle::Handle;
use crate::text::{Text, Texts};
use probeidx::query::runtime::address_map::Loaded;
use probeidx::query::symbolize::frames::{Cursor, Where};
use probeidx::query::symbolize::log::{self, Header, Reader, Role};
use probeidx::query::symbolize::log_decoder::Decoder;
use probeidx::render::frame;
use std::ffi::{c_char, c_void};

/// `struct probeidx_log`: the state between lines, in the caller's memory.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Log {
    /// The size of the struct.
    pub size: usize,
    /// The distance that the kernel was moved by.
    pub slide: u64,
    /// See the constants.
    pub flags: u32,
    /// The stack that is being read.
    pub stack: u32,
    /// The used length of `stopped_at`.
    pub stopped_at_length: u32,
    /// 0.
    pub reserved32: u32,
    /// Where a processor stopped.
    pub stopped_at: [u8; 256],
    /// 0.
    pub reserved: [u64; 4],
}

impl Log {
    /// `slide` is known.
    pub const MOVED: u32 = 1;
    /// `slide` comes from the caller, and overrides the log.
    pub const GIVEN: u32 = 2;
}

/// `struct probeidx_decoded`
#[repr(C)]
pub struct Decoded {
    /// The size of the struct.
    pub size: usize,
    /// The address as written in the line.
    pub text: Text,
    /// What `probeidx decode` adds after it.
    pub behind: Text,
    /// What it adds below the line: lines, each preceded by a line break.
    pub below: Text,
    /// The places that the frame can be.
    pub places: *const Spot,
    /// The length of `places`; 0 if the place is not known, see `why`.
    pub place_count: usize,
    /// Why the place is not known.
    pub why: Text,
    /// The position in the line where the address ends.
    pub end: usize,
    /// 0 the current instruction, 1 a return address, 2 something on the stack, 3 an entire function.
    pub role: u32,
    /// Whether the places are those of the address itself rather than of the call before it.
    pub is_exact: u32,
    /// 0.
    pub reserved: [u64; 2],
}

/// Calls `each` with the frames of a line.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_decode(
    index: *const Handle,
    log: *mut Log,
    line: *const c_char,
    length: usize,
    each: EachFn<Decoded>,
    context: *mut c_void,
    error: *mut ErrorOut,
) -> i32 {
    answers(index, (each, context), error, None, |open, each| {
        let view = open.lookup().view();
        let line = bytes(line, length)?;
        let memory = memory(log)?;
        let is_given = memory.flags & Log::GIVEN != 0;
        let given = match is_given {
            true => Some(Loaded::moved_by(view, memory.slide)),
            false => open.loaded().cloned(),
        };
        let mut decoder = Decoder::new(view, given, &[]);
        if memory.flags & Log::MOVED != 0 {
            decoder.moved_by(memory.slide);
        }
        let stopped_at = memory.stopped_at.get(..memory.stopped_at_length as usize).unwrap_or_default();
        let mut reader = Reader::remembering(memory.stack, stopped_at);
        match log::header(&line[log::start(line)..]) {
            Some(Header::Booted(_)) => decoder.forget(),
            Some(Header::Slide(slide)) => decoder.moved_by(slide),
            Some(Header::Release(..)) | None => {}
        }
        let mut found = vec![];
        reader.frames(line, &mut found);
        let mut cursor = Cursor::new(view);
        let mut result = Ok(());
        for one in &found {
            let mut texts = Texts::default();
            let located = decoder.locate(one);
            let (exact, places, why) = match &located {
                Ok(located) => {
                    let at = |(object, pc): &(_, u32)| cursor.at(*object, *pc).clone();
                    let places: Vec<Where<'_>> = located.spots.iter().map(at).collect();
                    (located.exact, places, String::new())
                }
                Err(why) => (true, vec![], probeidx::render::address::reason(why)),
            };
            let (mut behind, mut below) = (vec![], vec![]);
            frame::behind(one.role, &places, &mut behind);
            if let ([place], false) = (&places[..], one.role == Role::Function) {
                frame::lines(place, &mut below);
            }
            let levels: Vec<_> = places.iter().map(|at| frames(at, &mut texts)).collect();
            let spots: Vec<Spot> =
                places.iter().zip(&levels).map(|(at, levels)| spot(view, at, levels, &mut texts)).collect();
            result = each.call(&Decoded {
                size: size_of::<Decoded>(),
                text: texts.of(one.text),
                behind: texts.of(behind),
                below: texts.of(below),
                places: spots.as_ptr(),
                place_count: spots.len(),
                why: texts.of(why),
                end: one.end,
                role: match one.role {
                    Role::Exact => 0,
                    Role::Return => 1,
                    Role::Unreliable => 2,
                    Role::Function => 3,
                },
                is_exact: exact.into(),
                reserved: [0; 2],
            });
            if result.is_err() {
                break;
            }
        }
        keep(log, memory, &decoder, &reader);
        Ok(result?)
    })
}

/// Reads the caller's state.
fn memory(log: *const Log) -> Answer<Log> {
    if log.is_null() {
        return Err(NULL);
    }
    // SAFETY: not null, and the struct starts with its size.
    #[allow(unsafe_code)]
    let size = unsafe { (*log).size };
    if size < size_of::<Log>() {
        let remedy = "set its field size to its sizeof, and the rest to 0";
        return Err(Failure::Border(Status::Argument, "the log is too short", remedy));
    }
    // SAFETY: it is as long as it says.
    #[allow(unsafe_code)]
    Ok(unsafe { *log })
}

fn keep(log: *mut Log, before: Log, decoder: &Decoder<'_>, reader: &Reader) {
    let (stack, stopped_at) = reader.memory();
    let mut now = Log { stack, stopped_at: [0; 256], ..before };
    // A value that does not fit is forgotten; the frame that repeats it is then treated as any other.
    let stopped_at = if stopped_at.len() <= now.stopped_at.len() { stopped_at } else { &[] };
    now.stopped_at[..stopped_at.len()].copy_from_slice(stopped_at);
    now.stopped_at_length = stopped_at.len() as u32;
    if before.flags & Log::GIVEN == 0 {
        now.flags = decoder.slide().map_or(0, |_| Log::MOVED);
        now.slide = decoder.slide().unwrap_or(0);
    }
    // SAFETY: checked in `memory`.
    #[allow(unsafe_code)]
    unsafe {
        *log = now
    };
}
