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

/// `struct probeidx_log`: what is remembered between lines, in memory of the caller's.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Log {
    /// Of the struct.
    pub size: usize,
    /// How far the kernel was moved.
    pub slide: u64,
    /// See the constants.
    pub flags: u32,
    /// Whose stack is read.
    pub stack: u32,
    /// How much of `stopped_at` is used.
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
    /// By the caller, whatever the log says.
    pub const GIVEN: u32 = 2;
}

/// `struct probeidx_decoded`
#[repr(C)]
pub struct Decoded {
    /// Of the struct.
    pub size: usize,
    /// The address as the line has it.
    pub text: Text,
    /// What `probeidx decode` adds behind it.
    pub behind: Text,
    /// What it adds below the line: lines with a line break before each.
    pub below: Text,
    /// The places that it can be.
    pub places: *const Spot,
    /// How many; 0 where it is not known, and `why` says it.
    pub place_count: usize,
    /// Why it is not known.
    pub why: Text,
    /// Where in the line the address ends.
    pub end: usize,
    /// 0 what runs there, 1 where a call returns to, 2 something on the stack, 3 a function as a whole.
    pub role: u32,
    /// The places are those of the address itself, and not of the call before it.
    pub is_exact: u32,
    /// 0.
    pub reserved: [u64; 2],
}

/// Calls `each` with the frames of one line.
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
        let view = *open.lookup().view();
        let line = bytes(line, length)?;
        let memory = memory(log)?;
        let is_given = memory.flags & Log::GIVEN != 0;
        let given = match is_given {
            true => Some(Loaded::moved_by(&view, memory.slide)),
            false => open.loaded().cloned(),
        };
        let mut decoder = Decoder::new(view, given, vec![]);
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
            let mut texts = Texts::new(view.strings());
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
                places.iter().zip(&levels).map(|(at, levels)| spot(&view, at, levels, &mut texts)).collect();
            result = each.call(&Decoded {
                size: size_of::<Decoded>(),
                text: texts.keep(one.text),
                behind: texts.keep(behind),
                below: texts.keep(below),
                places: spots.as_ptr(),
                place_count: spots.len(),
                why: texts.keep(why),
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

/// What the caller keeps between lines.
fn memory(log: *const Log) -> Answer<Log> {
    if log.is_null() {
        return Err(NULL);
    }
    // SAFETY: not null, and a struct that starts with its size.
    #[allow(unsafe_code)]
    let size = unsafe { (*log).size };
    if size < size_of::<Log>() {
        let remedy = "set its field size to its sizeof, and the rest to 0";
        return Err(Failure::Border(Status::Argument, "the log is too short", remedy));
    }
    // SAFETY: as long as it says.
    #[allow(unsafe_code)]
    Ok(unsafe { *log })
}

fn keep(log: *mut Log, before: Log, decoder: &Decoder<'_>, reader: &Reader) {
    let (stack, stopped_at) = reader.memory();
    let mut now = Log { stack, stopped_at: [0; 256], ..before };
    // What has no room is forgotten: then the frame that repeats it stands alone.
    let stopped_at = if stopped_at.len() <= now.stopped_at.len() { stopped_at } else { &[] };
    now.stopped_at[..stopped_at.len()].copy_from_slice(stopped_at);
    now.stopped_at_length = stopped_at.len() as u32;
    if before.flags & Log::GIVEN == 0 {
        now.flags = decoder.slide().map_or(0, |_| Log::MOVED);
        now.slide = decoder.slide().unwrap_or(0);
    }
    // SAFETY: tested in `memory`.
    #[allow(unsafe_code)]
    unsafe {
        *log = now
    };
}
