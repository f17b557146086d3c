//! Changes of an index on disk, each of which is taken back before the next.
use crate::sample::Random;
use probeidx_format::SectionName;
use probeidx_format::header::{DirectoryEntry, Header, checksum};
use probeidx_format::zerocopy::{FromBytes, IntoBytes};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A copy of an index that is damaged and mended again and again.
pub struct Subject {
    pub path: PathBuf,
    file: File,
    whole: Vec<u8>,
    /// As it is on disk, but for its length.
    now: Vec<u8>,
    changed: Vec<Range<usize>>,
    is_cut: bool,
    changes: u64,
}

/// Where the header and the directory end.
pub const SECTIONS: usize = size_of::<Header>() + SectionName::ALL.len() * size_of::<DirectoryEntry>();

/// The sections whose checksums are compared before they are read.
const COMPARED: [SectionName; 2] = [SectionName::Meta, SectionName::TapsetSources];

impl Subject {
    /// Copies an index into a folder.
    pub fn new(index: &Path, folder: &Path) -> Self {
        let path = folder.join(index.file_name().unwrap());
        let whole = std::fs::read(index).unwrap();
        std::fs::write(&path, &whole).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        let now = whole.clone();
        Self { path, file, whole, now, changed: vec![], is_cut: false, changes: 0 }
    }
    /// The index as it was.
    pub fn whole(&self) -> &[u8] {
        &self.whole
    }
    /// Where a section lies in the file that is whole.
    pub fn section(&self, name: SectionName) -> Range<usize> {
        let at = size_of::<Header>() + name as usize * size_of::<DirectoryEntry>();
        let (entry, _) = DirectoryEntry::ref_from_prefix(&self.whole[at..]).unwrap();
        let start = entry.offset.get() as usize;
        start..start + entry.length.get() as usize
    }
    /// The index as it is now, unless it is cut.
    pub fn now(&self) -> &[u8] {
        &self.now
    }
    pub fn is_changed(&self) -> bool {
        self.is_cut || self.changed.iter().any(|at| self.now[at.clone()] != self.whole[at.clone()])
    }

    /// Writes some bytes; what reaches beyond the end is left out.
    pub fn put(&mut self, at: usize, bytes: &[u8]) {
        let end = self.now.len();
        let at = at.min(end)..(at + bytes.len()).min(end);
        self.now[at.clone()].copy_from_slice(&bytes[..at.len()]);
        self.file.write_all_at(&bytes[..at.len()], at.start as u64).unwrap();
        self.changed.push(at);
    }
    /// Makes the file shorter, or longer by zeros.
    pub fn cut(&mut self, length: usize) {
        self.file.set_len(length as u64).unwrap();
        self.is_cut = true;
    }
    /// Makes checksums fit again, so that the change reaches whoever reads the bytes.
    pub fn refit(&mut self) {
        let directory = size_of::<Header>()..SECTIONS;
        for name in COMPARED {
            let at = self.section(name);
            if self.changed.iter().any(|changed| changed.start < at.end && at.start < changed.end) {
                let entry = directory.start + name as usize * size_of::<DirectoryEntry>();
                let checksum = checksum(&self.now[at]);
                self.put(entry + 16, &checksum.to_le_bytes());
            }
        }
        let (mut header, _) = Header::read_from_prefix(&self.now).unwrap();
        header.directory_checksum.set(checksum(&self.now[directory]));
        header.seal();
        self.put(0, header.as_bytes());
    }
    /// Lets whoever keeps the file open see that it is another.
    pub fn show(&mut self) {
        self.changes += 1;
        self.file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(self.changes)).unwrap();
    }
    /// Takes all back.
    pub fn mend(&mut self) {
        for at in std::mem::take(&mut self.changed) {
            self.now[at.clone()].copy_from_slice(&self.whole[at.clone()]);
            self.file.write_all_at(&self.whole[at.clone()], at.start as u64).unwrap();
        }
        if std::mem::take(&mut self.is_cut) {
            self.file.write_all_at(&self.whole, 0).unwrap();
            self.file.set_len(self.whole.len() as u64).unwrap();
        }
    }
}

/// What happens to an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One to eight bytes are others.
    Bytes,
    /// Numbers of four bytes become such as lead astray.
    Numbers,
    /// A block is zeros.
    Zeros,
    /// A block is noise.
    Noise,
    /// Two blocks change places.
    Swap,
    /// A block stands elsewhere too.
    Copy,
    /// A part of the directory, or of the header behind the version.
    Directory,
    /// The file ends early, or late.
    Length,
}

impl Kind {
    /// As often as they are to occur.
    const OFTEN: [Self; 16] = {
        use Kind::*;
        [
            Bytes, Bytes, Bytes, Bytes, Numbers, Numbers, Numbers, Numbers, Zeros, Zeros, Noise, Swap, Swap,
            Copy, Copy, Directory,
        ]
    };

    /// Changes the subject somewhere in a section, near one of the places that are known to be read; says what was done.
    pub fn random(subject: &mut Subject, random: &mut Random, read: &[Range<usize>]) -> String {
        let kind = match random.below(2000) {
            0 => Self::Length,
            _ => Self::OFTEN[random.below(16) as usize],
        };
        let at = place(subject, random, read);
        kind.apply(subject, random, at, read);
        let refitted = kind != Self::Length && (kind == Self::Directory || random.below(4) != 0);
        if refitted {
            subject.refit();
        }
        format!("{kind:?} at {at:#x}{}", if refitted { ", checksums fit" } else { "" })
    }

    fn apply(self, subject: &mut Subject, random: &mut Random, at: usize, read: &[Range<usize>]) {
        let block = |subject: &Subject, random: &mut Random, at: usize| {
            let length = 1usize << random.below(16);
            at..at.saturating_add(length).min(subject.now().len())
        };
        match self {
            Self::Bytes => {
                for at in at..at + 1 + random.below(8) as usize {
                    let was = subject.now().get(at).copied().unwrap_or_default();
                    let choice = [was ^ 1, was ^ 0x80, 0, 0xff, random.below(256) as u8, was];
                    subject.put(at, &[choice[random.below(6) as usize]]);
                }
            }
            Self::Numbers => {
                for _ in 0..1 + random.below(64) {
                    let at = (at + random.below(4096) as usize).min(subject.now().len() - 4);
                    let was = u32::from_le_bytes(subject.now()[at..at + 4].try_into().unwrap());
                    let choice = [
                        0,
                        1,
                        u32::MAX,
                        u32::MAX - 1,
                        i32::MAX as u32,
                        was.wrapping_add(1),
                        was.wrapping_sub(1),
                        random.below(1 << 17) as u32,
                        random.below(1 << 32) as u32,
                    ];
                    subject.put(at, &choice[random.below(9) as usize].to_le_bytes());
                }
            }
            Self::Zeros => {
                let block = block(subject, random, at);
                subject.put(block.start, &vec![0; block.len()]);
            }
            Self::Noise => {
                let block = block(subject, random, at);
                let noise: Vec<u8> = block.clone().map(|_| random.below(256) as u8).collect();
                subject.put(block.start, &noise);
            }
            Self::Swap | Self::Copy => {
                let one = block(subject, random, at);
                // As often as not within a section, where it passes for one of its records.
                let other = match random.below(2) {
                    0 => (at + random.below(1 << 12) as usize).min(subject.now().len() - one.len()),
                    _ => place(subject, random, read).min(subject.now().len() - one.len()),
                };
                let [from, to] = [one.start, other].map(|at| subject.now()[at..at + one.len()].to_vec());
                subject.put(other, &from);
                if self == Self::Swap {
                    subject.put(one.start, &to);
                }
            }
            Self::Directory => {
                // Behind the magic and the version.
                let at = 12 + random.below(SECTIONS as u64 - 12) as usize;
                let bits = 1 << random.below(8);
                let was = subject.now()[at];
                let choice = [was ^ bits, random.below(256) as u8, 0, 0xff];
                subject.put(at, &[choice[random.below(4) as usize]]);
            }
            Self::Length => {
                let length = subject.whole().len() as u64;
                let length =
                    if random.below(4) == 0 { length + random.below(5000) } else { random.below(length) };
                subject.cut(length as usize);
            }
        }
    }
}

/// A place in a section, each section as often as any other; three times of four one that is read.
fn place(subject: &Subject, random: &mut Random, read: &[Range<usize>]) -> usize {
    loop {
        let name = SectionName::ALL[random.below(SectionName::ALL.len() as u64) as usize];
        let section = subject.section(name);
        if section.is_empty() {
            continue;
        }
        let within: Vec<Range<usize>> = read
            .iter()
            .map(|part| part.start.max(section.start)..part.end.min(section.end))
            .filter(|part| part.start < part.end)
            .collect();
        let part = match within.len() {
            0 => section,
            _ if random.below(4) == 0 => section,
            count => within[random.below(count as u64) as usize].clone(),
        };
        return part.start + random.below(part.len() as u64) as usize;
    }
}
