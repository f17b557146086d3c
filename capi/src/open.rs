//! Opening and closing; what is in an index.
use crate::border::{self, Answer, Each, EachFn, ErrorOut, Failure, NULL, Status, ask, fill, outside, text};
use crate::handle::{self, Handle, Open};
use crate::text::{Text, Texts};
use probeidx::query::derive::forms;
use probeidx::query::{Index, process};
use probeidx::tapset::Place;
use probeidx::tapset::ast::Component;
use probeidx::{Error, ErrorKind};
use std::ffi::{c_char, c_void};
use std::path::{Path, PathBuf};

/// Opens an index: a file, or of a folder the file of a release; without a release the only one there.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_open(
    path: *const c_char,
    release: *const c_char,
    index: *mut *const Handle,
    error: *mut ErrorOut,
) -> i32 {
    outside(error, || {
        if index.is_null() {
            return Err(NULL);
        }
        border::give(index, std::ptr::null())?;
        let release = if release.is_null() { None } else { Some(text(release)?) };
        let path = file(path_of(path)?, release)?;
        if !path.exists() {
            let none = Error::new(ErrorKind::NoIndex, "there is no index").at(&path);
            return Err(none.hint("make one with: probeidx build").into());
        }
        let open = Open::new(Index::open(&path)?)?;
        // The table of SystemTap's points is made by who asks for one first, and stays: its memory must not be a query's.
        let begin = Component { name: "begin".to_owned(), argument: None, place: Place::default() };
        forms::each(&[begin], &mut |_| {})?;
        let none = Failure::Border(Status::TooMany, "256 indexes are open", "close one");
        border::give(index, handle::put(open).ok_or(none)?)
    })
}

fn path_of<'c>(path: *const c_char) -> Answer<&'c Path> {
    use std::os::unix::ffi::OsStrExt;
    Ok(Path::new(std::ffi::OsStr::from_bytes(border::bytes(path, usize::MAX)?)))
}

/// The file of a release in a folder.
fn file(path: &Path, release: Option<&str>) -> Answer<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    if let Some(release) = release {
        return Ok(path.join(format!("{release}.pidx")));
    }
    let entries = std::fs::read_dir(path).map_err(|e| Error::io(path, "list the folder", e))?;
    let mut found: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    found.retain(|p| p.extension().is_some_and(|e| e == "pidx"));
    found.sort();
    match &found[..] {
        [only] => Ok(only.clone()),
        [] => {
            let none = Error::new(ErrorKind::NoIndex, "there is no index in the folder").at(path);
            Err(none.hint("make one with: probeidx build").into())
        }
        several => {
            let names = several.iter().filter_map(|p| p.file_stem());
            let names: Vec<_> = names.map(|n| n.to_string_lossy()).collect();
            let many =
                Error::new(ErrorKind::Usage, "several kernels are indexed, and no release is given").at(path);
            Err(many.hint(format!("give one of {}", names.join(", "))).into())
        }
    }
}

/// Closes an index. Questions that other threads have asked are answered to their end.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_close(index: *const Handle) -> i32 {
    outside(std::ptr::null_mut(), || match index.is_null() || handle::close(index) {
        true => Ok(()),
        false => Err(Failure::Border(Status::Closed, "the index is not open", "")),
    })
}

/// `struct probeidx_summary`
#[repr(C)]
pub struct Summary {
    /// Of the struct.
    pub size: usize,
    /// As `uname -r` prints it.
    pub release: Text,
    /// Of a program or shared library its path.
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
    /// Of symbol tables.
    pub symbols: u64,
    /// Of functions and symbols.
    pub names: u64,
    /// Distinct types.
    pub types: u64,
    /// In bytes, of all sections.
    pub bytes: u64,
    /// 0.
    pub reserved: [u64; 4],
}

/// What is in an index. The texts are valid until it is closed.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_stats(index: *const Handle, out: *mut Summary, error: *mut ErrorOut) -> i32 {
    ask(index, error, |open| {
        let lookup = open.lookup();
        let view = lookup.view();
        let mut texts = Texts::new(view.strings());
        let count = |table: usize| table.saturating_sub(1) as u64;
        let summary = Summary {
            size: size_of::<Summary>(),
            release: texts.of(view.release()),
            process: texts.of_some(process::path(view)),
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
            reserved: [0; 4],
        };
        fill(out, summary)
    })
}

/// `struct probeidx_object`
#[repr(C)]
pub struct Object {
    /// Of the struct.
    pub size: usize,
    /// Its number.
    pub object: u32,
    /// 0.
    pub reserved: u32,
    /// Empty for vmlinux.
    pub name: Text,
    /// The file that was indexed.
    pub path: Text,
    /// 20 bytes; zeros where there is none.
    pub build_id: Text,
}

/// Calls `each` with vmlinux and the modules.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_objects(
    index: *const Handle,
    each: EachFn<Object>,
    context: *mut c_void,
    error: *mut ErrorOut,
) -> i32 {
    ask(index, error, |open| {
        let lookup = open.lookup();
        let view = lookup.view();
        let mut each = Each::new(each, context)?;
        let result = lookup.objects().try_for_each(|object| {
            let mut texts = Texts::new(view.strings());
            let record = &view.objects[object.index()];
            each.call(&Object {
                size: size_of::<Object>(),
                object: object.get(),
                reserved: 0,
                name: texts.of(view.string(record.name)),
                path: texts.of(view.string(record.path)),
                build_id: texts.keep(record.build_id.to_vec()),
            })
        });
        each.end(result, "there are no objects")
    })
}
