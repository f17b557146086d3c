//! The blocks of an xz stream, which can be unpacked independently of each other: dpkg and rpm compress with several threads,
//! and so there is one for each 24 MiB (the format: tukaani.org/xz/xz-file-format.txt).
use crc::{CRC_64_XZ, Crc as Sum, Table};
use flate2::Crc;
use lzma_rust2::Lzma2Reader;
use std::io::{self, Read};

/// A block: header, compressed data, padding to a multiple of 4, check.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block<'d> {
    pub(super) bytes: &'d [u8],
    /// The bytes without the padding and the check.
    unchecked: usize,
    /// Its length when unpacked, as the index has it.
    pub(super) size: usize,
    check: Check,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    None,
    Crc32,
    Crc64,
}

impl Check {
    fn length(self) -> usize {
        match self {
            Self::None => 0,
            Self::Crc32 => 4,
            Self::Crc64 => 8,
        }
    }
}

const HEADER: usize = 12;
const FOOTER: usize = 12;

/// The blocks of a single stream with several blocks of a common form; `None` for anything else, also damaged, which
/// [`lzma_rust2::XzReader`] can read or name.
pub(super) fn blocks(data: &[u8]) -> Option<Vec<Block<'_>>> {
    let flags = data.get(6..8)?;
    let check = match flags {
        [0, 0] => Check::None,
        [0, 1] => Check::Crc32,
        [0, 4] => Check::Crc64,
        _ => return None,
    };
    let footer = &data[data.len().checked_sub(FOOTER).filter(|at| *at >= HEADER)?..];
    if !footer.ends_with(b"YZ") || &footer[8..10] != flags {
        return None;
    }
    let index_length =
        (u32::from_le_bytes(*footer[4..].first_chunk()?) as usize).checked_add(1)?.checked_mul(4)?;
    let index_start = data.len().checked_sub(FOOTER + index_length).filter(|at| *at >= HEADER)?;
    let mut index = &data[index_start..data.len() - FOOTER - 4];
    if sum32(index) != u32::from_le_bytes(*data[data.len() - FOOTER - 4..].first_chunk()?) {
        return None;
    }
    if number(&mut index)? != 0 {
        return None;
    }
    let count = number(&mut index)?;
    let (mut blocks, mut at) = (vec![], HEADER);
    for _ in 0..count {
        let (unpadded, size) = (number(&mut index)?, number(&mut index)?);
        let length = usize::try_from(unpadded).ok()?;
        let unchecked = length.checked_sub(check.length())?;
        let end = at.checked_add(length.checked_next_multiple_of(4)?).filter(|end| *end <= index_start)?;
        let bytes = data.get(at..end)?;
        // A block of another form is left to the general decoder, as is one that claims to be a bomb.
        let fits = size <= super::most(unpadded);
        let size = usize::try_from(size).ok().filter(|_| fits)?;
        blocks.push(Block { bytes, unchecked, size, check });
        at = end;
    }
    (at == index_start && blocks.len() > 1 && blocks.iter().all(|block| block.lzma2().is_some()))
        .then_some(blocks)
}

impl<'d> Block<'d> {
    /// The LZMA2 data with the size of its dictionary; `None` if there are other filters.
    fn lzma2(&self) -> Option<(&'d [u8], u32)> {
        let length = (usize::from(*self.bytes.first()?) + 1) * 4;
        let (header, sum) = self.bytes.get(..length)?.split_last_chunk::<4>()?;
        if sum32(header) != u32::from_le_bytes(*sum) {
            return None;
        }
        let flags = *header.get(1)?;
        let mut rest = header.get(2..)?;
        // Both sizes are in the index too. Bits 0 and 1 are the number of filters less one.
        for bit in [0x40, 0x80] {
            if flags & bit != 0 {
                number(&mut rest)?;
            }
        }
        let [0x21, 1, dictionary, padding @ ..] = rest else { return None };
        if flags & 0x3f != 0 || padding.iter().any(|byte| *byte != 0) || *dictionary > MOST_DICTIONARY {
            return None;
        }
        let bits = u32::from(*dictionary);
        let dictionary = (2 | (bits & 1)) << (bits / 2 + 11);
        Some((self.bytes.get(length..self.unchecked)?, dictionary))
    }

    /// Unpacks it into `out`, whose content is replaced.
    pub(super) fn unpack(&self, out: &mut Vec<u8>) -> io::Result<()> {
        let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
        let (data, dictionary) = self.lzma2().ok_or_else(|| damaged("an unknown filter of xz"))?;
        if out.try_reserve_exact(self.size.saturating_sub(out.len())).is_err() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        out.resize(self.size, 0);
        let mut reader = Lzma2Reader::new(data, dictionary, None);
        reader.read_exact(out)?;
        if reader.read(&mut [0])? != 0 {
            return Err(damaged("a block of xz is longer than its index says"));
        }
        let stored = &self.bytes[self.bytes.len() - self.check.length()..];
        let fits = match self.check {
            Check::None => true,
            Check::Crc32 => sum32(out).to_le_bytes() == stored,
            Check::Crc64 => sum64(out).to_le_bytes() == stored,
        };
        if fits { Ok(()) } else { Err(damaged("the checksum of a block of xz does not fit")) }
    }
}

/// The code of a dictionary of 64 MiB, which `xz -9` uses.
const MOST_DICTIONARY: u8 = 28;

fn sum32(bytes: &[u8]) -> u32 {
    let mut sum = Crc::new();
    sum.update(bytes);
    sum.sum()
}

fn sum64(bytes: &[u8]) -> u64 {
    /// 16 bytes at a time: one at a time takes a fifth of the time of unpacking.
    static SUM: Sum<u64, Table<16>> = Sum::<u64, Table<16>>::new(&CRC_64_XZ);
    SUM.checksum(bytes)
}

/// A number of 7 bits a byte, the lowest first.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for at in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
