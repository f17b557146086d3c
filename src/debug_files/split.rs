//! Split DWARF: finds the files with the entries of an object's units, and appends them to its sections.
//!
//! A `.dwo` file is one part, and all its units are relative to its start. A package (`.dwp`) is one part too, but
//! each unit is relative to its own share of every section. `dwarf/split.rs` describes which section of which file an
//! offset refers to. This module finds the files, and pairs units with skeletons by the id that the compiler computes
//! from their content.
use super::DebugSections;
use super::package::{self, Row};
use crate::discover::Input;
use crate::dwarf::{self, ObjectSource, Origin, Role, Sections, Skeleton, SourceTree, UnitHeader, Units};
use crate::error::{Error, ErrorKind, Result};
use crate::load::Image;
use crate::load::elf::Elf;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The most missing files that are searched for: a kernel with all drivers has 30,000 units.
const MOST_MISSING: usize = 1 << 16;

impl DebugSections<'_> {
    /// Appends the debug information that other files have for this object's units, and adds its unit headers to
    /// `units`. `paths` are those of the object: its debug file first, then the file that runs. Missing or unreadable
    /// files are reported in `faults`; the rest is complete. Cost: without skeletons only the search for them; else a
    /// copy of all sections.
    pub fn add_split(
        &mut self,
        units: &mut Units,
        object: &Elf<'_>,
        paths: &[&Path],
        faults: &mut Vec<Error>,
    ) {
        let skeletons = dwarf::skeletons(whole(self.sections(units), &units.headers));
        if skeletons.is_empty() {
            return;
        }
        let mut search = Search {
            sections: self,
            wanted: skeletons.iter().map(|skeleton| skeleton.id).collect(),
            found: FxHashMap::default(),
            added: vec![],
            tried: FxHashSet::default(),
            faults: vec![],
        };
        let mut missing = vec![];
        search.packages(paths);
        let own = search.own(object, paths);
        for skeleton in &skeletons {
            if !search.found.contains_key(&skeleton.id) && missing.len() < MOST_MISSING {
                search.files(skeleton, paths, &mut missing);
            }
        }
        let Search { mut found, added, faults: wrong, .. } = search;
        faults.extend(wrong);
        let pairs: Vec<(usize, usize)> =
            skeletons.iter().filter_map(|s| Some((s.start, found.remove(&s.id)?))).collect();
        let lacking = skeletons.len() - pairs.len();
        faults.extend(own.err().filter(|_| lacking > 0));
        if let Some(first) = missing.first() {
            let more = if missing.len() < MOST_MISSING { "" } else { " (no more than 65536 are looked for)" };
            let (count, first) = (missing.len(), first.display());
            let are = if count == 1 { " is" } else { "s are" };
            let of_all = format!("{lacking} of {} units", skeletons.len());
            let what = format!(
                "split DWARF: no functions and types of {of_all}: {count} .dwo file{are} not there{more}, the first is {first}"
            );
            let hint = "give the .dwo files their place again, or the package (.dwp) beside the object";
            faults.push(Error::new(ErrorKind::MissingPart, what).section(".debug_info").hint(hint));
        }
        units.extend(added);
        for (skeleton, full) in pairs {
            for (unit, other) in [(skeleton, full), (full, skeleton)] {
                if let Some(unit) = units.at(unit) {
                    unit.companion = Some(other);
                }
            }
        }
        // Units without a skeleton are never referred to; they have no addresses.
        units.headers.retain(|unit| unit.role != Role::Split || unit.companion.is_some());
    }
}

/// Sections that are only searched for units.
fn whole<'d>(sections: Sections<'d>, headers: &'d [UnitHeader]) -> ObjectSource<'d> {
    ObjectSource {
        number: 0,
        base: 0,
        first_pc: 0,
        sections,
        headers,
        bodies: None,
        untouched: None,
        tree: SourceTree::NONE,
    }
}

struct Search<'s, 'd> {
    sections: &'s mut DebugSections<'d>,
    wanted: FxHashSet<u64>,
    /// Starts of units with entries, by the id shared with skeletons.
    found: FxHashMap<u64, usize>,
    /// Units of other files, including type units.
    added: Vec<UnitHeader>,
    tried: FxHashSet<PathBuf>,
    faults: Vec<Error>,
}

impl Search<'_, '_> {
    /// Searches the packages beside the object.
    fn packages(&mut self, paths: &[&Path]) {
        let named = |path: &&Path| {
            let with = |path: &Path| {
                let mut name = path.as_os_str().to_owned();
                name.push(".dwp");
                PathBuf::from(name)
            };
            let plain = path.with_extension("");
            [Some(with(path)), (path.extension() == Some(OsStr::new("debug"))).then(|| with(&plain))]
        };
        for path in paths.iter().flat_map(named).flatten() {
            if path.is_file()
                && self.tried.insert(path.clone())
                && let Err(error) = self.package(&path)
            {
                self.faults.push(error.at(&path));
            }
        }
    }

    fn package(&mut self, path: &Path) -> Result<()> {
        self.sections.read.push(Input::of(path)?);
        let image = Image::open(path)?;
        let file = Elf::parse(image.bytes())?;
        if file.section(".debug_cu_index").is_none() {
            let what = "a package (.dwp) without index: none of its units can be found";
            let hint = "make it with llvm-dwp: dwp of binutils writes none for DWARF 5";
            return Err(Error::new(ErrorKind::Unsupported, what).hint(hint));
        }
        let mut units = package::rows(&file, ".debug_cu_index")?;
        units.retain(|row| self.wanted.contains(&row.signature) && !self.found.contains_key(&row.signature));
        if units.is_empty() {
            let what = "a package (.dwp) without any unit of the object: it belongs to another build";
            let hint = "replace it by the package of this build, or take it away";
            return Err(Error::new(ErrorKind::Mismatch, what).hint(hint));
        }
        let types = package::rows(&file, ".debug_tu_index")?;
        let loaded = DebugSections::load_split(&file)?;
        image.unchanged(path)?;
        let part = self.sections.append(path, &loaded)?;
        // By position, none overlapping the next: each byte belongs to one unit.
        let mut rows: Vec<Row> = units.into_iter().chain(types).collect();
        rows.sort_by_key(|row| (row.is_old_type, row.start.info));
        let mut end = 0;
        for row in rows {
            match self.packed(part, &row) {
                Ok(unit) if unit.start >= end => {
                    end = unit.end;
                    if unit.role == Role::Split {
                        self.found.insert(row.signature, unit.start);
                    }
                    self.added.push(unit);
                }
                other => {
                    let what = other.err().unwrap_or("the index of a package has units that overlap");
                    let error = Error::new(ErrorKind::Damaged, what).section(".debug_info");
                    self.faults.push(error.offset(row.start.info as u64).at(path));
                }
            }
        }
        Ok(())
    }

    /// The unit of a row of the package that is this part.
    fn packed(&mut self, part: usize, row: &Row) -> Result<UnitHeader, &'static str> {
        let part = self.sections.parts[part];
        let (base, end) = match row.is_old_type {
            true => (part.types, part.end),
            false => (part.start.info, part.types),
        };
        let info = &self.sections.sections[0][..end];
        let at = base.saturating_add(row.start.info);
        if at >= end {
            return Err("the index of a package leads out of it");
        }
        let unit =
            dwarf::header_at(info, self.sections.order, at, row.is_old_type).map_err(|(what, _)| what)?;
        let (start, share) = (part.start, row.start);
        let origin = Origin {
            info: at,
            abbrev: start.abbrev.saturating_add(share.abbrev),
            line: start.line.saturating_add(share.line),
            str_offsets: start.str_offsets.saturating_add(share.str_offsets),
            rnglists: start.rnglists.saturating_add(share.rnglists),
            loclists: start.loclists.saturating_add(share.loclists),
            loc: start.loc.saturating_add(share.loc),
            ..start
        };
        self.sections.origins.push(origin);
        Ok(UnitHeader {
            abbrev: unit.abbrev.saturating_add(origin.abbrev),
            origin: self.sections.origins.len() as u32 - 1,
            role: if unit.role == Role::Type { Role::Type } else { Role::Split },
            ..unit
        })
    }

    /// Searches the object itself: clang's `-gsplit-dwarf=single`, before linking.
    fn own(&mut self, object: &Elf<'_>, paths: &[&Path]) -> Result<()> {
        match paths.first().filter(|_| object.section(".debug_info.dwo").is_some()) {
            Some(path) => DebugSections::load_split(object).and_then(|own| self.add(path, &own)),
            None => Ok(()),
        }
    }

    /// Searches for the file that a skeleton names.
    fn files(&mut self, skeleton: &Skeleton, paths: &[&Path], missing: &mut Vec<PathBuf>) {
        let before = self.faults.len();
        let mut last = None;
        for candidate in candidates(skeleton, paths) {
            if !candidate.is_file() {
                continue;
            }
            last = Some(candidate.clone());
            if self.tried.insert(candidate.clone())
                && let Err(error) = self.file(&candidate)
            {
                self.faults.push(error.at(&candidate));
            }
            if self.found.contains_key(&skeleton.id) {
                // Errors in files tried before no longer matter.
                self.faults.truncate(before);
                return;
            }
        }
        let name = Path::new(OsStr::from_bytes(&skeleton.name));
        match last {
            None => missing.push(name.to_owned()),
            // It was read before, for units that are its own.
            Some(path) if self.faults.len() == before => self.faults.push(stranger().at(&path)),
            Some(_) => {}
        }
    }

    fn file(&mut self, path: &Path) -> Result<()> {
        self.sections.read.push(Input::of(path)?);
        let image = Image::open(path)?;
        let file = Elf::parse(image.bytes())?;
        let loaded = DebugSections::load_split(&file)?;
        image.unchanged(path)?;
        self.add(path, &loaded)
    }

    /// Adds a `.dwo` file with a unit that is still wanted.
    fn add(&mut self, path: &Path, file: &DebugSections<'_>) -> Result<()> {
        let mut faults = vec![];
        let alone = Units::of(&file.sections(&Units::default()));
        let ids = dwarf::with_entries(whole(file.sections(&alone), &alone.headers));
        let is_wanted = |id: &u64| self.wanted.contains(id) && !self.found.contains_key(id);
        if !ids.iter().any(|(id, _)| is_wanted(id)) {
            return Err(match alone.faults.first() {
                Some(fault) => Error::new(fault.kind, fault.what).section(".debug_info.dwo"),
                None => stranger(),
            });
        }
        let tables = alone.headers.iter().filter(|unit| unit.role == Role::Split).count();
        if tables > 1 && !share_abbreviations(&file.sections[1], &alone) {
            let what = "split units of several objects that were linked (-gsplit-dwarf=single and ld -r): none can be told apart";
            let hint = "keep the entries in .dwo files of their own: -gsplit-dwarf";
            return Err(Error::new(ErrorKind::Unsupported, what).section(".debug_info.dwo").hint(hint));
        }
        let part = self.sections.append(path, file)?;
        let start = self.sections.parts[part].start.info;
        for (id, unit) in ids.iter().filter(|(id, _)| self.wanted.contains(id)) {
            self.found.entry(*id).or_insert(unit.start + start);
        }
        let origin = self.sections.origins.len() as u32 - 1;
        let units = dwarf::in_part(&self.sections.sections(&Units::default()), part, origin, &mut faults);
        self.added.extend(units);
        self.faults.extend(faults.iter().map(|fault| {
            Error::new(fault.kind, fault.what).section(".debug_info.dwo").offset(fault.offset as u64).at(path)
        }));
        Ok(())
    }
}

fn stranger() -> Error {
    let what = "a .dwo file of another build: its units are not those of the object";
    Error::new(ErrorKind::Mismatch, what).hint("build the object and its .dwo files together")
}

/// Whether all units of a file share one table of abbreviations, as LLVM writes it for link-time optimization.
fn share_abbreviations(abbrev: &[u8], units: &Units) -> bool {
    let mut starts = units.headers.iter().map(|unit| unit.abbrev);
    let first = starts.next().unwrap_or(0);
    // A further table exists only if a unit refers to it, or if data follows the first.
    starts.any(|start| start != first) || dwarf::is_one_table(abbrev)
}

/// Candidate paths of a file, the best first: where the compiler put it; the same path below every folder above the
/// object, as in a moved tree; beside the object.
fn candidates(skeleton: &Skeleton, paths: &[&Path]) -> Vec<PathBuf> {
    let name = Path::new(OsStr::from_bytes(&skeleton.name));
    let compiled = Path::new(OsStr::from_bytes(&skeleton.comp_dir)).join(name);
    let mut found = vec![];
    let folders = || paths.iter().flat_map(|path| path.ancestors().skip(1));
    if compiled.is_absolute() {
        found.push(compiled);
    } else {
        found.extend(folders().map(|folder| folder.join(&compiled)));
    }
    if name.is_relative() {
        found.extend(folders().map(|folder| folder.join(name)));
    }
    if let Some(last) = name.file_name() {
        found.extend(paths.iter().filter_map(|path| Some(path.parent()?.join(last))));
    }
    found
}
