//! The memory of the running kernel, from `/proc/kcore`: an ELF core file whose segments are found by run-time address.
//! (fs/proc/kcore.c)
use object::Endianness;
use object::elf::{FileHeader64, PT_LOAD};
use object::read::elf::{FileHeader, ProgramHeader};
use std::fs::File;
use std::io::{Error as Failed, ErrorKind as Io};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The memory, read in blocks.
pub struct Kcore {
    file: File,
    /// Run-time address, size and offset in the file of each segment.
    segments: Vec<(u64, u64, u64)>,
    /// The block that was read last, and its address.
    block: (u64, Vec<u8>),
}

/// More than the headers of any kernel: a segment a bank of memory, and some more.
const HEADERS: usize = 64 << 10;

/// What is read at once.
const BLOCK: u64 = 64 << 10;

impl Kcore {
    /// Opens the memory. Cost: reads its headers.
    ///
    /// # Errors
    /// Those of the file, in words that say what is missing.
    pub fn open(path: &Path) -> Result<Self, Failed> {
        let mut file = File::open(path).map_err(|failed| in_words(path, failed))?;
        let mut head = vec![];
        std::io::Read::read_to_end(&mut std::io::Read::take(&mut file, HEADERS as u64), &mut head)?;
        let wrong = || Failed::new(Io::InvalidData, format!("{} is no core file of 64 bits", path.display()));
        let header = FileHeader64::<Endianness>::parse(&head[..]).map_err(|_| wrong())?;
        let order = header.endian().map_err(|_| wrong())?;
        let segments = header.program_headers(order, &head[..]).map_err(|_| wrong())?;
        let segments = segments.iter().filter(|s| s.p_type(order) == PT_LOAD);
        let segments = segments.map(|s| (s.p_vaddr(order), s.p_memsz(order), s.p_offset(order))).collect();
        Ok(Self { file, segments, block: (0, vec![]) })
    }

    /// The bytes at an address; fewer, or none, where no memory is shown. Cost: little for an address behind the last one.
    pub fn read(&mut self, address: u64, length: usize) -> Vec<u8> {
        let mut found = Vec::with_capacity(length);
        while found.len() < length {
            let at = address.wrapping_add(found.len() as u64);
            let Some(block) = self.block(at) else { break };
            let more = block.len().min(length - found.len());
            found.extend_from_slice(&block[..more]);
        }
        found
    }

    /// Bytes from an address on, one or more.
    fn block(&mut self, address: u64) -> Option<&[u8]> {
        let into = |block: &(u64, Vec<u8>)| {
            address.checked_sub(block.0).filter(|into| *into < block.1.len() as u64).map(|into| into as usize)
        };
        if into(&self.block).is_none() {
            let holds = |s: &&(u64, u64, u64)| address.checked_sub(s.0).is_some_and(|into| into < s.1);
            let (start, size, offset) = *self.segments.iter().find(holds)?;
            let into = address - start;
            let mut bytes = vec![0; (size - into).min(BLOCK) as usize];
            let got = self.file.read_at(&mut bytes, offset.checked_add(into)?).ok()?;
            bytes.truncate(got);
            self.block = (address, bytes);
        }
        let at = into(&self.block)?;
        self.block.1.get(at..)
    }
}

/// Why the file cannot be opened, and what to do. (`open_kcore`)
fn in_words(path: &Path, failed: Failed) -> Failed {
    let lockdown = || std::fs::read_to_string("/sys/kernel/security/lockdown").unwrap_or_default();
    let why = match failed.kind() {
        Io::PermissionDenied if lockdown().contains("[confidentiality]") => {
            "the kernel is locked down (confidentiality) and shows its code to nobody: build its index with its boot image on \
             another machine, or boot with lockdown=integrity"
                .to_owned()
        }
        Io::PermissionDenied => {
            format!("{} is for root with CAP_SYS_RAWIO: run as root, outside of a container", path.display())
        }
        Io::NotFound => format!("there is no {}: the kernel was built without CONFIG_PROC_KCORE", path.display()),
        _ => format!("{}: {failed}", path.display()),
    };
    Failed::new(failed.kind(), why)
}
