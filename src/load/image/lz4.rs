//! The legacy LZ4 frame used in kernel images: a magic number, then blocks of at most 8 MiB, each preceded by its
//! compressed length (lz4_Frame_format.md, "Legacy frame"; scripts/Makefile.lib, `cmd_lz4`: `lz4 -l`).
use crate::error::{Error, ErrorKind, Result};

/// The magic number of a frame.
pub const MAGIC: [u8; 4] = [0x02, 0x21, 0x4c, 0x18];

/// The maximum size of a block, inflated.
const BLOCK: usize = 8 << 20;

/// Inflates a frame to at most `limit` bytes.
///
/// # Errors
/// [`ErrorKind::Damaged`] with the offset of the block that is invalid or exceeds the limit.
pub fn inflate(data: &[u8], limit: u64) -> Result<Vec<u8>> {
    let damaged = |at: usize, what: &str| {
        Error::new(ErrorKind::Damaged, format!("the lz4 stream is damaged or cut off: {what}"))
            .offset(at as u64)
            .hint("install the package of this file again")
    };
    let mut rest = data.strip_prefix(&MAGIC).ok_or_else(|| damaged(0, "the magic number is missing"))?;
    let mut out = vec![];
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let at = data.len() - rest.len();
        rest = behind;
        if *length == MAGIC {
            continue;
        }
        let length = u32::from_le_bytes(*length) as usize;
        let block = rest.get(..length).ok_or_else(|| damaged(at, "a block reaches behind the end"))?;
        rest = &rest[length..];
        let most = (out.len() + BLOCK).min(usize::try_from(limit).unwrap_or(usize::MAX));
        inflate_block(block, &mut out, most).ok_or_else(|| damaged(at, "a block is invalid"))?;
    }
    match rest {
        [] => Ok(out),
        _ => Err(damaged(data.len() - rest.len(), "bytes after the last block")),
    }
}

/// Appends the content of a block (lz4_Block_format.md). `None` if it refers to bytes outside of the block, or the
/// output would exceed `most` bytes.
fn inflate_block(mut input: &[u8], out: &mut Vec<u8>, most: usize) -> Option<()> {
    let first = out.len();
    loop {
        let (&token, rest) = input.split_first()?;
        input = rest;
        let literals = length(token >> 4, &mut input)?;
        if out.len().checked_add(literals)? > most {
            return None;
        }
        out.extend_from_slice(input.get(..literals)?);
        input = &input[literals..];
        // The last sequence ends with its literals.
        if input.is_empty() {
            return Some(());
        }
        let (distance, rest) = input.split_first_chunk::<2>()?;
        input = rest;
        let distance = usize::from(u16::from_le_bytes(*distance));
        let length = length(token & 15, &mut input)?.checked_add(4)?;
        let start = out.len().checked_sub(distance).filter(|start| *start >= first && distance > 0)?;
        if out.len().checked_add(length)? > most {
            return None;
        }
        // A match may overlap its own output: then it repeats.
        let mut left = length;
        while left > 0 {
            let step = left.min(out.len() - start);
            out.extend_from_within(start..start + step);
            left -= step;
        }
    }
}

/// A length of four bits, extended by further bytes if all are set.
fn length(bits: u8, input: &mut &[u8]) -> Option<usize> {
    let mut length = usize::from(bits);
    if bits == 15 {
        loop {
            let (&more, rest) = input.split_first()?;
            *input = rest;
            length = length.checked_add(more.into())?;
            if more != 255 {
                break;
            }
        }
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf 'kernel kernel kernel kernel, and more of it' | lz4 -l`
    const PACKED: &[u8] = b"\x02\x21\x4c\x18\x1d\x00\x00\x00\x7fkernel \x07\x00\x01\xf0\x01, and more of it";

    #[test]
    fn a_frame_of_the_lz4_tool() {
        let plain = b"kernel kernel kernel kernel, and more of it";
        assert_eq!(inflate(PACKED, 1 << 20).unwrap(), plain);
        let twice = [PACKED, PACKED].concat();
        assert_eq!(inflate(&twice, 1 << 20).unwrap(), [&plain[..], plain].concat());
    }

    #[test]
    fn whatever_is_cut_off_or_changed_ends() {
        assert!(inflate(PACKED, 10).is_err(), "the limit");
        for cut in 5..PACKED.len() {
            assert!(inflate(&PACKED[..cut], 1 << 20).is_err(), "{cut}");
        }
        for at in 0..PACKED.len() {
            for value in [0, 1, 15, 0xf0, 0xff] {
                let mut changed = PACKED.to_vec();
                changed[at] = value;
                let _ = inflate(&changed, 1 << 20);
            }
        }
        let endless = [&MAGIC[..], &[7, 0, 0, 0, 0x1f, b'x', 1, 0, 255, 255, 255]].concat();
        assert!(inflate(&endless, u64::MAX).is_err());
    }
}
