//! Writes the functions that contain an address into the caller's array.
use crate::border::{self, Answer, ErrorOut, Room, ask};
use crate::handle::Handle;
use crate::text::Text;
use probeidx::{Error, ErrorKind};

/// `struct probeidx_frame`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Frame {
    /// The function.
    pub function: Text,
    /// The file of its declaration.
    pub declared_file: Text,
    /// The file of the code: of the previous frame's call or, for the innermost frame, of its line table row. Empty if
    /// unknown.
    pub file: Text,
    /// The line of the declaration.
    pub declared_line: u32,
    /// The line of the code.
    pub line: u32,
    /// From 1; 0 if unknown.
    pub column: u32,
    /// Whether it is inlined into the next frame.
    pub is_inlined: u32,
}

/// The functions that contain a link address of vmlinux (or of a program), innermost first.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_frames(
    index: *const Handle,
    address: u64,
    with_line: i32,
    frames: *mut Frame,
    capacity: usize,
    count: *mut usize,
    error: *mut ErrorOut,
) -> i32 {
    ask(index, error, |open| -> Answer {
        border::give(count, 0)?;
        let lookup = open.lookup();
        let none = || Error::new(ErrorKind::NoMatch, format!("{address:#x} is in no section"));
        let at = lookup.linked(address).ok_or_else(none)?;
        let mut room = Room::new(frames, capacity);
        let mut line = if with_line != 0 { lookup.line_at(at) } else { None };
        for frame in lookup.frames(at) {
            let own = line.take();
            room.push(Frame {
                function: Text::of_index(frame.function()),
                declared_file: Text::of_index(frame.file()),
                file: own.map_or(Text::EMPTY, |l| Text::of_index(l.file)),
                declared_line: frame.line(),
                line: own.map_or(0, |l| l.line),
                column: own.map_or(0, |l| l.column),
                is_inlined: frame.is_inlined().into(),
            });
            line = frame.call();
        }
        room.end(count)
    })
}
