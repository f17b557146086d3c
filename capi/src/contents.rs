//! The contents of an index, and whether it is intact.
use crate::border::{ErrorOut, ask, fill, put, reaches};
use crate::each::{EachFn, answers};
use crate::handle::Handle;
use crate::text::{Text, Texts};
use probeidx::query::callers;
use probeidx::query::index::user_object;
use probeidx_format::id::PlaceId;
use std::ffi::c_void;
use std::mem::offset_of;

/// `struct probeidx_summary`
#[repr(C)]
pub struct Summary {
    /// The size of the struct.
    pub size: usize,
    /// As `uname -r` prints it.
    pub release: Text,
    /// The path of a program or shared library.
    pub process: Text,
    /// `e_machine`.
    pub machine: u32,
    /// The version of the file's format.
    pub format: u32,
    /// vmlinux and modules.
    pub objects: u64,
    /// Compilation units.
    pub units: u64,
    /// Distinct functions.
    pub functions: u64,
    /// Entries and inline instances.
    pub placements: u64,
    /// Symbols in symbol tables.
    pub symbols: u64,
    /// Names of functions and symbols.
    pub names: u64,
    /// Distinct types.
    pub types: u64,
    /// The size in bytes, over all sections.
    pub bytes: u64,
    /// Placements that are inlined.
    pub inline_instances: u64,
    /// Tracepoints.
    pub tracepoints: u64,
    /// Labels in functions.
    pub labels: u64,
    /// Sequences of line table rows.
    pub line_sequences: u64,
    /// Aliases, functions, macros and the like of tapsets.
    pub definitions: u64,
    /// Parts of the input that could not be read: see `probeidx_skipped`.
    pub skipped: u64,
    /// The version of the program that wrote it.
    pub written_by: [u8; 32],
    /// Calls of functions by name.
    pub direct_calls: u64,
}

/// The contents of an index. The texts are valid until it is closed.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_stats(index: *const Handle, out: *mut Summary, error: *mut ErrorOut) -> i32 {
    ask(index, error, |open| {
        let lookup = open.lookup();
        let view = lookup.view();
        let (mut inline, mut labels, mut skipped, mut written_by) = (0, 0, 0, [0; 32]);
        // These are counted or read from a list of all inputs: a caller that only wants the release need not wait.
        if reaches(out, offset_of!(Summary, inline_instances)) {
            let meta = view.meta().map_err(|e| open.index().error(e))?;
            let ids = (0u32..).map(PlaceId::new).zip(view.places);
            inline = ids.filter(|(id, place)| view.outer(*id, *place).is_some()).count() as u64;
            labels = view.labels().count() as u64;
            skipped = meta.skipped.len() as u64;
            put(&mut written_by, &meta.written_by);
        }
        let direct_calls = match reaches(out, offset_of!(Summary, direct_calls)) {
            true => callers::count(view) as u64,
            false => 0,
        };
        let count = |table: usize| table.saturating_sub(1) as u64;
        let summary = Summary {
            size: size_of::<Summary>(),
            release: Text::of_index(view.release()),
            process: user_object::path(view).map_or(Text::EMPTY, Text::of_index),
            machine: view.machine().into(),
            format: probeidx_format::VERSION,
            objects: count(view.objects.len()),
            units: count(view.units.len()),
            functions: count(view.functions.len()),
            placements: view.places.len() as u64,
            symbols: view.symbols.len() as u64,
            names: count(view.names.len()),
            types: count(view.types.len()),
            bytes: view.section_sizes().map(|s| s.1).sum(),
            inline_instances: inline,
            tracepoints: view.tracepoints().len() as u64,
            labels,
            line_sequences: view.sequences.len() as u64,
            definitions: view.tapset.definitions() as u64,
            skipped,
            written_by,
            direct_calls,
        };
        fill(out, summary)
    })
}

/// `struct probeidx_object`
#[repr(C)]
pub struct Object {
    /// The size of the struct.
    pub size: usize,
    /// Its number.
    pub object: u32,
    /// See the constants.
    pub flags: u32,
    /// The name of the module; empty for vmlinux.
    pub name: Text,
    /// The file that was indexed.
    pub path: Text,
    /// 20 bytes; zeros if there is none.
    pub build_id: Text,
}

impl Object {
    /// A table of what the kernel refuses could not be read completely.
    pub const UNSURE: u32 = 1;
}

/// Calls `each` with vmlinux and the modules.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_objects(
    index: *const Handle,
    each: EachFn<Object>,
    context: *mut c_void,
    error: *mut ErrorOut,
) -> i32 {
    answers(index, (each, context), error, Some("there are no objects"), |open, each| {
        let lookup = open.lookup();
        let view = lookup.view();
        Ok(lookup.objects().try_for_each(|object| {
            let mut texts = Texts::default();
            let record = &view.objects[object.index()];
            each.call(&Object {
                size: size_of::<Object>(),
                object: object.get(),
                flags: if record.unread().is_empty() { 0 } else { Object::UNSURE },
                name: texts.of(view.string(record.name)),
                path: texts.of(view.object_path(object)),
                build_id: texts.of(record.build_id),
            })
        })?)
    })
}

/// `struct probeidx_section`
#[repr(C)]
pub struct Section {
    /// The size of the struct.
    pub size: usize,
    /// Its name.
    pub name: Text,
    /// The size in bytes.
    pub bytes: u64,
}

/// Calls `each` with the sections of the index file, in the order of the file.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_sections(
    index: *const Handle,
    each: EachFn<Section>,
    context: *mut c_void,
    error: *mut ErrorOut,
) -> i32 {
    answers(index, (each, context), error, Some("there are no sections"), |open, each| {
        let view = open.lookup().view();
        Ok(view.section_sizes().try_for_each(|(name, bytes)| {
            let mut texts = Texts::default();
            each.call(&Section { size: size_of::<Section>(), name: texts.of(name.text()), bytes })
        })?)
    })
}

/// `struct probeidx_skipped`
#[repr(C)]
pub struct Skipped {
    /// The size of the struct.
    pub size: usize,
    /// The file.
    pub path: Text,
    /// The class of the failure.
    pub kind: Text,
    /// The position in the file, the reason, and the remedy.
    pub why: Text,
    /// The number of occurrences in this file.
    pub count: u64,
    /// Whether the whole object is missing rather than a part of it.
    pub is_whole_object: u32,
    /// 0.
    pub reserved32: u32,
}

/// Calls `each` with what could not be read when the index was built.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_skipped(
    index: *const Handle,
    each: EachFn<Skipped>,
    context: *mut c_void,
    error: *mut ErrorOut,
) -> i32 {
    answers(index, (each, context), error, None, |open, each| {
        let view = open.lookup().view();
        let meta = view.meta().map_err(|e| open.index().error(e))?;
        Ok(meta.skipped.iter().try_for_each(|skipped| {
            let mut texts = Texts::default();
            each.call(&Skipped {
                size: size_of::<Skipped>(),
                path: texts.of(&*skipped.path),
                kind: texts.of(&*skipped.kind),
                why: texts.of(&*skipped.message),
                count: skipped.count,
                is_whole_object: skipped.whole_object.into(),
                reserved32: 0,
            })
        })?)
    })
}

/// Checks that the index is intact, by the checksum of every section.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_verify(index: *const Handle, error: *mut ErrorOut) -> i32 {
    ask(index, error, |open| Ok(open.index().verify()?))
}
