//! The index's record of its input files and of what could not be read.
use super::Skipped;
use crate::build_id::hex;
use crate::debug_files::Files;
use crate::discover::Input;
use crate::dwarf::Fault;
use crate::error::{Error, ErrorKind};
use crate::link::ObjectFacts;
use probeidx_format::meta::{InputMeta, SkippedMeta};
use std::path::Path;

/// The index's record of an input file, whether or not it could be read.
pub fn input_meta(input: &Input, object: Option<&ObjectFacts>) -> InputMeta {
    let build_id = object.map_or(&[][..], |o| if o.build_id == [0; 20] { &[] } else { &o.build_id });
    InputMeta {
        path: input.path.display().to_string(),
        size: input.size,
        modified: input.mtime_ns,
        build_id: hex(build_id),
    }
}

/// The index's records of the other files that hold debug information for an object.
pub fn part_metas(files: &Files) -> Vec<InputMeta> {
    let part = |input| InputMeta { build_id: InputMeta::PART.to_owned(), ..input_meta(input, None) };
    files.read.iter().map(part).collect()
}

/// The index's record of a package, whose members are its inputs.
pub fn package_meta(package: &Path) -> Option<InputMeta> {
    let input = Input::of(package).ok()?;
    Some(InputMeta { build_id: InputMeta::PART.to_owned(), ..input_meta(&input, None) })
}

pub fn from_fault(path: &Path, fault: &Fault) -> Error {
    Error::new(fault.kind, fault.what).at(path).section(fault.section).offset(fault.offset as u64)
}

/// Counts the faults of each file by kind, keeping the place of the first. `files` returns the files of an object.
pub fn count_faults<'p>(faults: &[(u32, Fault)], files: impl Fn(u32) -> &'p Files) -> Vec<Skipped> {
    let mut counted: Vec<(u32, &Fault, u64)> = vec![];
    for (object, fault) in faults {
        let same = |(o, f, _): &&mut (u32, &Fault, u64)| {
            o == object && f.what == fault.what && f.section == fault.section && f.part == fault.part
        };
        match counted.iter_mut().find(same) {
            Some((_, _, count)) => *count += 1,
            None => counted.push((*object, fault, 1)),
        }
    }
    let part = |(object, fault, count): (u32, &Fault, u64)| {
        Skipped::part(from_fault(&files(object).parts[fault.part], fault), count)
    };
    counted.into_iter().map(part).collect()
}

/// The index's record of a skipped object or part.
pub fn skipped_meta(skipped: &Skipped) -> SkippedMeta {
    let path = skipped.error.path().map(|p| p.display().to_string()).unwrap_or_default();
    let whole = skipped.error.to_string();
    SkippedMeta {
        message: whole.strip_prefix(&path).unwrap_or(&whole).trim_start_matches([':', ' ']).to_owned(),
        path,
        kind: skipped.error.kind().name().to_owned(),
        count: skipped.count,
        whole_object: skipped.whole_object,
    }
}

/// Restores a [`Skipped`] from an unchanged index: its inputs are the same, so the errors are too.
pub fn from_skipped_meta(meta: &SkippedMeta) -> Skipped {
    let kind = ErrorKind::from_name(&meta.kind).unwrap_or(ErrorKind::Damaged);
    let error = Error::new(kind, meta.message.clone()).at(meta.path.as_ref());
    Skipped { error, count: meta.count, whole_object: meta.whole_object }
}
