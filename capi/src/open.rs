//! Lists, opens and closes indexes.
use crate::border::{self, Answer, ErrorOut, Failure, NULL, Status, outside, text};
use crate::each::{Each, EachFn};
use crate::handle::{self, Handle, Open};
use crate::text::{Text, Texts};
use probeidx::query::Index;
use probeidx::query::index::user_object;
use probeidx::query::systemtap::derive::forms;
use probeidx::store;
use probeidx::tapset::ast::Component;
use probeidx::tapset::{Place, Version};
use probeidx::{Error, ErrorKind};
use std::ffi::{c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Opens an index file or, in a folder, the file of a release; without a release, the only file.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_open(
    path: *const c_char,
    release: *const c_char,
    index: *mut *const Handle,
    error: *mut ErrorOut,
) -> i32 {
    outside(error, || open(path, release, index, Ok))
}

/// Like `probeidx_open`, with the run-time addresses of a copy of `/proc/kallsyms`.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_open_running(
    path: *const c_char,
    release: *const c_char,
    kallsyms: *const c_char,
    length: usize,
    index: *mut *const Handle,
    error: *mut ErrorOut,
) -> i32 {
    outside(error, || {
        let kallsyms = border::bytes(kallsyms, length)?;
        open(path, release, index, |open| Ok(open.running(kallsyms)?))
    })
}

fn open(
    path: *const c_char,
    release: *const c_char,
    index: *mut *const Handle,
    prepared: impl FnOnce(Open) -> Answer<Open>,
) -> Answer {
    if index.is_null() {
        return Err(NULL);
    }
    border::give(index, std::ptr::null())?;
    let release = if release.is_null() { None } else { Some(text(release)?) };
    let path = file(path_of(path)?, release)?;
    if !path.exists() && !path.parent().is_some_and(store::is_store) {
        let none = Error::new(ErrorKind::NoIndex, "there is no index").at(&path);
        return Err(none.hint("make one with: probeidx build").into());
    }
    let found = Index::open(&path)?;
    // The table of SystemTap's built-in points is created on first use and kept, so its memory must not belong to a
    // query.
    let begin = Component { name: "begin".to_owned(), argument: None, place: Place::default() };
    forms::each(Version::of(&found.view()?), &[begin], &mut |_| {})?;
    let open = prepared(Open::new(found)?)?;
    let none = Failure::Border(Status::TooMany, "256 indexes are open", "close one");
    border::give(index, handle::put(open).ok_or(none)?)
}

fn path_of<'c>(path: *const c_char) -> Answer<&'c Path> {
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
    let found = files(path)?;
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

/// The index files in a folder, by name; of a store, what names its kernels.
fn files(folder: &Path) -> Answer<Vec<PathBuf>> {
    if store::is_store(folder) {
        let names = store::names(folder)?;
        return Ok(names.iter().map(|name| store::path_of(folder, name.as_bytes())).collect());
    }
    let failed = |e| Error::io(folder, "list the folder", e);
    let mut found = vec![];
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        // A name that starts with a dot is that of a file being written.
        let is_hidden = path.file_name().is_some_and(|n| n.as_bytes().starts_with(b"."));
        if !is_hidden && path.extension().is_some_and(|e| e == "pidx") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// `struct probeidx_file`
#[repr(C)]
pub struct File {
    /// The size of the struct.
    pub size: usize,
    /// The path of the file.
    pub path: Text,
    /// The kernel's release; empty for a program.
    pub release: Text,
    /// The path of a program or shared library.
    pub process: Text,
    /// Why it cannot be opened; empty if it can.
    pub why: Text,
    /// A [`Status`]: 0 if it can be opened.
    pub status: i32,
    /// 0.
    pub reserved32: u32,
    /// 0.
    pub reserved: [u64; 2],
}

/// Calls `each` with the indexes of a folder: those of kernels, then those of programs and libraries.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_kernels(
    path: *const c_char,
    each: EachFn<File>,
    context: *mut c_void,
    error: *mut ErrorOut,
) -> i32 {
    outside(error, || {
        let mut each = Each::new(each, context)?;
        let path = path_of(path)?;
        let answer = list(path, &mut each);
        each.end(answer, Some("there is no index in the folder"))
    })
}

fn list(path: &Path, each: &mut Each<File>) -> Answer {
    let mut found = vec![];
    match path.is_dir() {
        true => {
            found.extend(files(path)?);
            let programs = path.join(user_object::FOLDER);
            if programs.is_dir() {
                found.extend(files(&programs)?);
            }
        }
        false => found.push(path.to_owned()),
    }
    for path in found {
        let mut texts = Texts::default();
        let opened = Index::open(&path);
        let view = opened.as_ref().ok().and_then(|index| index.view().ok());
        let wrong = opened.as_ref().err();
        each.call(&File {
            size: size_of::<File>(),
            path: texts.of(path.as_os_str().as_bytes()),
            release: texts.of_some(view.map(|v| v.release())),
            process: texts.of_some(view.and_then(|v| user_object::path(&v))),
            why: texts.of(wrong.map_or(String::new(), ToString::to_string)),
            status: wrong.map_or(Status::Ok, |e| Status::of(e.kind())) as i32,
            reserved32: 0,
            reserved: [0; 2],
        })?;
    }
    Ok(())
}

/// Closes an index. Questions running in other threads continue to their end.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_close(index: *const Handle) -> i32 {
    outside(std::ptr::null_mut(), || match index.is_null() || handle::close(index) {
        true => Ok(()),
        false => Err(Failure::Border(Status::Closed, "the index is not open", "")),
    })
}
