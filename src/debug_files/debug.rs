//! The debug sections of an object, relocated if it is a module, together with those of its other debug files.
use crate::discover::Input;
use crate::dwarf::{Origin, Part, PartKind, Sections, Units};
use crate::error::{Error, ErrorKind, Result};
use crate::load::Image;
use crate::load::elf::Elf;
use crate::load::relocate::{address, relocate};
use object::Endianness;
use object::elf::Rela64;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// The bytes of the debug sections, borrowed from the file or owned.
pub struct DebugSections<'d> {
    pub(super) sections: [Cow<'d, [u8]>; NAMES.len()],
    eh_frame: Cow<'d, [u8]>,
    eh_frame_address: u64,
    pub(super) order: Endianness,
    address_size: u8,
    pub(super) parts: Vec<Part>,
    pub(super) origins: Vec<Origin>,
    /// Paths of the parts after the object.
    pub(super) paths: Vec<PathBuf>,
    pub(super) read: Vec<Input>,
}

/// Memory for relocated sections, reused from module to module: fresh pages cost as much as the copies themselves.
#[derive(Default)]
pub struct Buffers {
    /// By section, so that one soon is as large as the section of most modules; the last is for `.eh_frame`.
    spare: [Vec<u8>; NAMES.len() + 1],
}

/// The files that debug information came from.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// By the number of the part, the object first.
    pub parts: Vec<PathBuf>,
    /// All files opened besides the object, in this order, whether of use or not.
    pub read: Vec<Input>,
}

const NAMES: [&str; 12] = [
    "info",
    "abbrev",
    "line",
    "str",
    "line_str",
    "str_offsets",
    "addr",
    "rnglists",
    "ranges",
    "loclists",
    "loc",
    "frame",
];
const INFO: usize = 0;
const ADDR: usize = 6;
const RANGES: usize = 8;
const FRAME: usize = NAMES.len() - 1;
const EH_FRAME: usize = NAMES.len();

/// The longest section whose memory is all kept for a shorter one: a few modules, which come first, have far longer
/// ones than all others.
const SPARE: usize = 8 << 20;

/// Bytes of a file after which what was copied or applied is removed from memory.
const PIECE: usize = 3 << 19;

/// Offsets into sections are kept in this size.
const MOST_BYTES: usize = u32::MAX as usize;

impl<'d> DebugSections<'d> {
    /// For an object without debug sections.
    pub fn none(order: Endianness, address_size: u8) -> Self {
        Self {
            sections: Default::default(),
            eh_frame: Cow::default(),
            eh_frame_address: 0,
            order,
            address_size,
            parts: vec![],
            origins: vec![],
            paths: vec![],
            read: vec![],
        }
    }

    /// Finds, inflates and relocates the debug sections of an object. Relocations that cannot be applied are reported
    /// in `faults`. Copies of sections are in the memory of `buffers`; [`Self::release`] returns it. What was copied of
    /// `image`, which has the object, is removed from memory.
    pub fn load(
        object: &Elf<'d>,
        image: &Image,
        buffers: &mut Buffers,
        faults: &mut Vec<Error>,
    ) -> Result<Self> {
        Self::load_named(object, "", PartKind::Object, Some(image), buffers, faults)
    }

    /// Returns the memory of sections to `buffers`.
    pub fn release(self, buffers: &mut Buffers) {
        let sections = self.sections.into_iter().chain([self.eh_frame]);
        for (spare, section) in buffers.spare.iter_mut().zip(sections) {
            if let Cow::Owned(section) = section {
                *spare = section;
            }
        }
    }

    /// Finds and inflates the sections of split DWARF, whose names end with `.dwo`.
    pub(super) fn load_split(file: &Elf<'d>) -> Result<Self> {
        Self::load_named(file, ".dwo", PartKind::Split, None, &mut Buffers::default(), &mut vec![])
    }

    fn load_named(
        object: &Elf<'d>,
        suffix: &str,
        kind: PartKind,
        image: Option<&Image>,
        buffers: &mut Buffers,
        faults: &mut Vec<Error>,
    ) -> Result<Self> {
        let mut read = |index: usize, buffer: usize| {
            Self::read(object, index, image, &mut buffers.spare[buffer], faults)
        };
        let mut loaded = Self::none(object.order, object.address_size);
        // Sections with units, with type units of DWARF 5, and with type units of DWARF 4.
        let (mut units, mut types, mut old_types) = (vec![], vec![], vec![]);
        let has_frame = [".debug_frame", ".zdebug_frame"].iter().any(|n| object.section(n).is_some());
        let (mut found, mut has_eh_frame) = ([false; NAMES.len()], false);
        // The first non-empty section of a name counts: a file may have any number of them.
        for (index, section) in object.sections.iter().enumerate().filter(|(_, s)| !s.raw().is_empty()) {
            if section.name == ".eh_frame" && !has_frame && !has_eh_frame && kind == PartKind::Object {
                has_eh_frame = true;
                loaded.eh_frame = read(index, EH_FRAME)?;
                loaded.eh_frame_address = address(object, section);
                continue;
            }
            let Some(name) =
                section.name.strip_prefix(".debug_").or_else(|| section.name.strip_prefix(".zdebug_"))
            else {
                continue;
            };
            match name.strip_suffix(suffix) {
                // Until they are linked, type units are in section groups: many sections of one name.
                Some("types") => old_types.push(index),
                Some("info") if section.is_in_group() || kind == PartKind::Split => types.push(index),
                Some("info") if units.is_empty() => units.push(index),
                Some(name) if !section.is_in_group() => {
                    let at = NAMES.iter().position(|n| *n == name).filter(|at| *at != INFO);
                    if let Some(at) = at.filter(|at| !std::mem::replace(&mut found[*at], true)) {
                        loaded.sections[at] = read(index, at)?;
                    }
                }
                _ => {}
            }
        }
        units.extend(types);
        let all = units.iter().chain(&old_types);
        if all.map(|index| object.sections[*index].raw().len()).sum::<usize>() > object.length {
            return Err(Error::new(ErrorKind::Damaged, "sections overlap").section(".debug_info"));
        }
        let info = &mut loaded.sections[INFO];
        for index in units {
            Self::put_behind(info, read(index, INFO)?)?;
        }
        let types = info.len();
        for index in old_types {
            Self::put_behind(info, read(index, INFO)?)?;
        }
        loaded.parts = vec![Part { kind, start: Origin::default(), types, end: info.len() }];
        loaded.origins = vec![Origin::default()];
        Ok(loaded)
    }

    fn put_behind(section: &mut Cow<'d, [u8]>, more: Cow<'d, [u8]>) -> Result<()> {
        if section.is_empty() {
            *section = more;
        } else if section.len() + more.len() > MOST_BYTES {
            return Err(too_much());
        } else {
            section.to_mut().extend_from_slice(&more);
        }
        Ok(())
    }

    /// Adds the frame rules of the object that runs. A debug file lacks the bytes of `.eh_frame`, where user objects
    /// have most of their rules.
    pub fn with_frames_of(mut self, object: &Elf<'d>, faults: &mut Vec<Error>) -> Result<Self> {
        if let Some(index) = object.sections.iter().position(|s| s.name == ".eh_frame" && !s.raw().is_empty())
        {
            self.eh_frame = Self::read(object, index, None, &mut vec![], faults)?;
            self.eh_frame_address = address(object, &object.sections[index]);
            self.sections[FRAME] = Cow::Borrowed(&[]);
        }
        Ok(self)
    }

    /// Appends the sections of another file; returns its part number. Only the object has addresses, range lists of
    /// DWARF 4 and frame rules.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if the total would exceed 4 GiB, because offsets are kept in 32 bits;
    /// [`ErrorKind::Mismatch`] if the file has another byte order. Nothing is added then.
    pub(super) fn append(&mut self, path: &Path, other: &DebugSections<'_>) -> Result<usize> {
        if self.order != other.order {
            return Err(Error::new(ErrorKind::Mismatch, "its byte order is not that of the object"));
        }
        let len = |at: usize| self.sections[at].len();
        let start = Origin {
            info: len(INFO),
            abbrev: len(1),
            line: len(2),
            str: len(3),
            line_str: len(4),
            str_offsets: len(5),
            rnglists: len(7),
            loclists: len(9),
            loc: len(10),
        };
        let is_too_much =
            |(own, other): (&Cow<'_, [u8]>, &Cow<'_, [u8]>)| own.len() + other.len() > MOST_BYTES;
        if self.sections.iter().zip(&other.sections).any(is_too_much) {
            return Err(too_much());
        }
        for (at, (own, other)) in self.sections.iter_mut().zip(&other.sections).enumerate() {
            if !matches!(at, ADDR | RANGES | FRAME) && !other.is_empty() {
                own.to_mut().extend_from_slice(other);
            }
        }
        if self.parts.is_empty() {
            self.parts.push(Part { kind: PartKind::Object, start: Origin::default(), types: 0, end: 0 });
            self.origins.push(Origin::default());
        }
        let added = other.parts.first().map_or((PartKind::Split, 0), |part| (part.kind, part.types));
        self.parts.push(Part {
            kind: added.0,
            start,
            types: start.info + added.1,
            end: self.sections[INFO].len(),
        });
        self.origins.push(start);
        self.paths.push(path.to_owned());
        Ok(self.parts.len() - 1)
    }

    /// The section at this index; a copy is in the memory of `spare`. Cost: for a module, a copy and its relocations;
    /// all modules have 3 MB of `.debug_frame`.
    fn read(
        object: &Elf<'d>,
        index: usize,
        image: Option<&Image>,
        spare: &mut Vec<u8>,
        faults: &mut Vec<Error>,
    ) -> Result<Cow<'d, [u8]>> {
        let section = &object.sections[index];
        let mut data = section.data()?;
        if object.is_relocatable
            && let Some(relocations) = object.relocations(index)?
        {
            let forget = |bytes: &[u8]| {
                if let Some(image) = image.filter(|_| bytes.len() == PIECE) {
                    image.forget(bytes);
                }
            };
            if let Cow::Borrowed(bytes) = data {
                let mut copy = std::mem::take(spare);
                copy.clear();
                copy.shrink_to(bytes.len().max(SPARE));
                copy.reserve_exact(bytes.len());
                for piece in bytes.chunks(PIECE) {
                    copy.extend_from_slice(piece);
                    forget(piece);
                }
                data = Cow::Owned(copy);
            }
            // A section has one fault at most, however many pieces its relocations are applied in.
            let most = faults.len() + 1;
            for piece in relocations.chunks(PIECE / size_of::<Rela64<Endianness>>()) {
                relocate(object, section, data.to_mut(), piece, faults)?;
                faults.truncate(most);
                forget(object::pod::bytes_of_slice(piece));
            }
        }
        Ok(data)
    }

    /// The sections as input of the extractor, with what is known of their units.
    pub fn sections<'s>(&'s self, units: &'s Units) -> Sections<'s> {
        let [info, abbrev, line, str, line_str, str_offsets, addr, rnglists, ranges, loclists, loc, frame] =
            &self.sections;
        let supplement = self.parts.iter().find(|part| part.kind == PartKind::Supplementary);
        Sections {
            order: self.order,
            address_size: self.address_size,
            info,
            abbrev,
            line,
            str,
            line_str,
            str_offsets,
            addr,
            rnglists,
            ranges,
            loclists,
            loc,
            frame,
            eh_frame: &self.eh_frame,
            eh_frame_address: self.eh_frame_address,
            parts: &self.parts,
            origins: &self.origins,
            supplement: supplement.map(|part| part.start),
            signatures: &units.signatures,
        }
    }

    /// The files of an object at `path`.
    pub fn files(&self, path: &Path) -> Files {
        let parts = std::iter::once(path).chain(self.paths.iter().map(PathBuf::as_path));
        Files { parts: parts.map(Path::to_owned).collect(), read: self.read.clone() }
    }
}

fn too_much() -> Error {
    let what = "more than 4 GiB of debug information with that of the files that belong to the object";
    Error::new(ErrorKind::Unsupported, what)
}
