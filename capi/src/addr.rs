//! What is at an address.
use crate::border::{ErrorOut, Failure, Status, bytes};
use crate::each::{EachFn, answers};
use crate::frames::Frame;
use crate::handle::Handle;
use crate::names::verdict;
use crate::text::{Text, Texts};
use probeidx::query::index::symbols;
use probeidx::query::runtime::address_map::Loaded;
use probeidx::query::spec::address;
use probeidx::query::symbolize::frames::{Cursor, Ground, Where};
use probeidx::query::symbolize::locate::locate;
use probeidx::render::address::reason;
use probeidx::{Error, ErrorKind};
use probeidx_format::View;
use std::ffi::{c_char, c_void};

/// `struct probeidx_where`
#[repr(C)]
pub struct Spot {
    /// The size of the struct.
    pub size: usize,
    /// The name of the module; empty for vmlinux.
    pub module: Text,
    /// The section that holds the address.
    pub section: Text,
    /// The symbol that the kernel prints for it; empty if there is none.
    pub symbol: Text,
    /// The functions whose code it is, innermost first.
    pub frames: *const Frame,
    /// The length of `frames`.
    pub frame_count: usize,
    /// A link address; in a module, an offset within the section.
    pub address: u64,
    /// The offset from the symbol's start.
    pub symbol_offset: u32,
    /// The size up to the next symbol.
    pub symbol_size: u32,
    /// 0 code, 1 padding, 2 data, 3 nothing.
    pub ground: u32,
    /// Why the code is not present in a running kernel: see `probeidx_verdict_name`; 0 if it is.
    pub gone: u32,
    /// Whether the line's row is a recommended breakpoint location.
    pub is_stmt: u32,
    /// The number of the object.
    pub object: u32,
    /// The address less the base of the object.
    pub pc: u32,
    /// 0.
    pub reserved32: u32,
    /// 0.
    pub reserved: [u64; 2],
}

/// Calls `each` with the places that an address can mean, after subtracting `slide` from numbers.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_addr(
    index: *const Handle,
    text: *const c_char,
    slide: u64,
    each: EachFn<Spot>,
    context: *mut c_void,
    error: *mut ErrorOut,
) -> i32 {
    answers(index, (each, context), error, Some("there is nothing"), |open, each| {
        let view = open.lookup().view();
        let asked = bytes(text, usize::MAX)?;
        let remedy = "write 0xADDRESS, SYMBOL+OFFSET or MODULE:SYMBOL+OFFSET";
        let parsed =
            address::parse(asked).ok_or(Failure::Border(Status::Usage, "the text is no address", remedy))?;
        let moved = (slide != 0 || open.loaded().is_none()).then(|| Loaded::moved_by(view, slide));
        let Some(loaded) = moved.as_ref().or(open.loaded()) else { return Ok(()) };
        let spots =
            locate(view, &parsed, loaded).map_err(|why| Error::new(ErrorKind::NoMatch, reason(&why)))?;
        let mut cursor = Cursor::new(view);
        Ok(spots.into_iter().try_for_each(|(object, pc)| {
            let mut texts = Texts::default();
            let at = cursor.at(object, pc);
            let frames = frames(at, &mut texts);
            each.call(&spot(view, at, &frames, &mut texts))
        })?)
    })
}

/// The functions of a place, as C structs.
pub fn frames(at: &Where<'_>, texts: &mut Texts) -> Vec<Frame> {
    let levels = at.chain.iter().zip(1..);
    let frame = |(level, number): (&probeidx::query::symbolize::frames::Level<'_>, usize)| Frame {
        function: texts.of(level.function),
        declared_file: texts.of(level.declared.0),
        file: texts.of(level.file),
        declared_line: level.declared.1,
        line: level.line,
        column: level.column,
        is_inlined: (number < at.chain.len()).into(),
    };
    levels.map(frame).collect()
}

/// A place, as a C struct.
pub fn spot(view: &View<'_>, at: &Where<'_>, frames: &[Frame], texts: &mut Texts) -> Spot {
    let module = view.objects.get(at.object.index()).map_or(&[][..], |o| view.string(o.name));
    Spot {
        size: size_of::<Spot>(),
        module: texts.of(module),
        section: texts.of_some(at.section.map(|s| view.string(s.name))),
        symbol: texts.of_some(at.symbol.map(|(held, _)| view.string(held.record.name))),
        frames: frames.as_ptr(),
        frame_count: frames.len(),
        address: symbols::address(view, at.object, at.pc),
        symbol_offset: at.symbol.map_or(0, |s| s.0.offset),
        symbol_size: at.symbol.map_or(0, |s| s.1.size),
        ground: match at.ground {
            Ground::Code => 0,
            Ground::Padding => 1,
            Ground::Data => 2,
            Ground::Nothing => 3,
        },
        gone: verdict(at.gone),
        is_stmt: at.is_stmt.into(),
        object: at.object.get(),
        pc: at.pc,
        reserved32: 0,
        reserved: [0; 2],
    }
}
