//! Inflates whole compressed files (`.ko.gz`, `.ko.xz`, `.ko.zst`) and compressed ELF sections, without trusting the
//! sizes that they declare.
use std::fmt;
use std::io::{self, BufRead, Read};
use std::path::Path;

use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
use lzma_rust2::{LzmaReader, XzReader};
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::error::{Error, ErrorKind, Result};

/// The compression of a whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// RFC 1952; consecutive members count as one file.
    Gzip,
    /// The .xz container; consecutive streams count as one file.
    Xz,
    /// RFC 8878; consecutive frames count as one file, skippable frames are ignored.
    Zstd,
    /// The predecessor of .xz, without magic or checksum: used only where it is known to occur.
    Lzma,
}

/// The compression of a section with `SHF_COMPRESSED`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SectionCompression {
    /// `ELFCOMPRESS_ZLIB`, RFC 1950.
    Zlib,
    /// `ELFCOMPRESS_ZSTD`, RFC 8878.
    Zstd,
}

/// Inflates a whole file into memory.
///
/// If more than `limit` bytes would come out, the file is taken for a bomb and the error is [`ErrorKind::Damaged`],
/// as for a stream that ends early or fails its checksum. Memory grows with the output, never with what a header
/// promises.
pub fn decompress(kind: Compression, data: &[u8], limit: u64) -> Result<Vec<u8>> {
    let (out, end) = read_whole(&mut open_stream(kind, data), limit);
    match end {
        End::Whole => Ok(out),
        End::OverLimit => Err(Error::new(
            ErrorKind::Damaged,
            format!("{} bytes of {kind} inflate to more than the {limit} bytes allowed", data.len()),
        )
        .hint("unpack the file yourself and give the result if it is genuine")),
        End::Failed(e) => Err(stream_error(kind.name(), out.len(), &e)),
    }
}

/// Inflates the data of a section after its `Elf64_Chdr`.
///
/// `uncompressed_size` is `ch_size` of that header. A stream that yields more or less is [`ErrorKind::Damaged`]. A
/// false size costs no memory, and one above [`most`] is refused.
pub fn inflate_section(kind: SectionCompression, data: &[u8], uncompressed_size: u64) -> Result<Vec<u8>> {
    let limit = most(data.len() as u64);
    if uncompressed_size > limit {
        let what =
            format!("{} bytes inflate to {uncompressed_size}, more than the {limit} allowed", data.len());
        return Err(Error::new(ErrorKind::Damaged, what)
            .hint("objcopy --decompress-debug-sections it if it is genuine"));
    }
    let (name, mut stream): (_, Box<dyn Read + '_>) = match kind {
        SectionCompression::Zlib => ("zlib", Box::new(ZlibDecoder::new(data))),
        SectionCompression::Zstd => ("zstd", open_stream(Compression::Zstd, data)),
    };
    let (out, end) = read_whole(&mut *stream, uncompressed_size);
    let damaged = |what: String| {
        Error::new(ErrorKind::Damaged, what).hint("install the package of this file again, or build it again")
    };
    match end {
        End::Whole if out.len() as u64 == uncompressed_size => Ok(out),
        End::Whole => Err(damaged(format!(
            "the {name} stream yields {} bytes, the section header promises {uncompressed_size}",
            out.len()
        ))),
        End::OverLimit => Err(damaged(format!(
            "the {name} stream yields more than the {uncompressed_size} bytes of the section header"
        ))),
        End::Failed(e) => Err(stream_error(name, out.len(), &e)),
    }
}

/// The most bytes that this many compressed ones may inflate to; anything that compresses better is taken for a bomb.
pub fn most(compressed: u64) -> u64 {
    compressed.saturating_mul(64).saturating_add(64 << 20)
}

/// Detects the compression by the first six bytes of a file.
pub fn detect(first_bytes: &[u8]) -> Option<Compression> {
    match first_bytes {
        [0x1f, 0x8b, 8, ..] => Some(Compression::Gzip),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Compression::Xz),
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Compression::Zstd),
        _ => None,
    }
}

impl Compression {
    /// The compression according to the last extension of a file name.
    pub fn from_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "gz" => Some(Self::Gzip),
            "xz" => Some(Self::Xz),
            "zst" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The usual name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
            Self::Lzma => "lzma",
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl SectionCompression {
    /// From `ch_type` of the `Elf64_Chdr` (gABI, "Section compression").
    pub fn from_ch_type(ch_type: u32) -> Option<Self> {
        match ch_type {
            1 => Some(Self::Zlib),
            2 => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// The inflated bytes as a stream without a limit, for callers that need only the first of them.
pub fn open_stream<'a>(kind: Compression, source: impl BufRead + 'a) -> Box<dyn Read + 'a> {
    match kind {
        Compression::Gzip => Box::new(MultiGzDecoder::new(source)),
        Compression::Xz => Box::new(XzReader::new(source, true)),
        Compression::Zstd => {
            Box::new(ZstdFrames { source, decoder: FrameDecoder::new(), in_frame: false, frames: 0 })
        }
        Compression::Lzma => match LzmaReader::new_mem_limit(source, LZMA_MEMORY, None) {
            Ok(reader) => Box::new(reader),
            Err(error) => Box::new(Refused(Some(error))),
        },
    }
}

/// Memory limit of an lzma stream, whose header declares what it needs, in KiB.
const LZMA_MEMORY: u32 = 256 << 10;

/// A stream whose header cannot be read.
struct Refused(Option<io::Error>);

impl Read for Refused {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(self.0.take().unwrap_or_else(|| io::ErrorKind::InvalidData.into()))
    }
}

/// How reading a stream ended.
enum End {
    Whole,
    OverLimit,
    Failed(io::Error),
}

const FIRST_STEP: u64 = 64 << 10;
const LARGEST_STEP: u64 = 16 << 20;

/// Reads to the end or to `limit`. The buffer doubles, in steps between the two sizes above.
fn read_whole(stream: &mut dyn Read, limit: u64) -> (Vec<u8>, End) {
    let mut out = Vec::new();
    loop {
        let held = out.len() as u64;
        let step = held.clamp(FIRST_STEP, LARGEST_STEP).min(limit - held);
        if step == 0 {
            let end = match stream.read(&mut [0]) {
                Ok(0) => End::Whole,
                Ok(_) => End::OverLimit,
                Err(e) => End::Failed(e),
            };
            return (out, end);
        }
        if out.try_reserve_exact(step as usize).is_err() {
            return (out, End::Failed(io::ErrorKind::OutOfMemory.into()));
        }
        match (&mut *stream).take(step).read_to_end(&mut out) {
            Ok(got) if got as u64 == step => {}
            Ok(_) => return (out, End::Whole),
            Err(e) => return (out, End::Failed(e)),
        }
    }
}

fn stream_error(format: &str, inflated: usize, source: &io::Error) -> Error {
    if source.kind() == io::ErrorKind::OutOfMemory {
        return Error::new(
            ErrorKind::Exhausted,
            format!("no memory for more than {inflated} bytes of the {format} stream"),
        );
    }
    if source.kind() == io::ErrorKind::Unsupported {
        return Error::new(ErrorKind::Unsupported, format!("the {format} stream cannot be read: {source}"))
            .hint("unpack the file yourself and give the result");
    }
    Error::new(
        ErrorKind::Damaged,
        format!("the {format} stream is damaged or cut off; {inflated} bytes came out before: {source}"),
    )
    .hint("install the package of this file again, or build it again")
}

/// Consecutive Zstandard frames. `ruzstd` itself stops after one frame and leaves the content checksum to its caller.
struct ZstdFrames<R> {
    source: R,
    decoder: FrameDecoder,
    in_frame: bool,
    frames: u64,
}

impl<R: BufRead> ZstdFrames<R> {
    fn next_frame(&mut self) -> io::Result<bool> {
        loop {
            if self.source.fill_buf()?.is_empty() {
                return if self.frames > 0 { Ok(false) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
            }
            self.frames += 1;
            match self.decoder.init(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    if io::copy(&mut (&mut self.source).take(length), &mut io::sink())? < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(e @ FrameDecoderError::WindowSizeTooBig { .. }) => {
                    return Err(io::Error::new(io::ErrorKind::Unsupported, e.to_string()));
                }
                Err(e) => return Err(io::Error::other(e.to_string())),
            }
        }
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if into.is_empty() || (!self.in_frame && !self.next_frame()?) {
                return Ok(0);
            }
            self.in_frame = true;
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.decoder
                    .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(|e| io::Error::other(e.to_string()))?;
            }
            let got = self.decoder.read(into)?;
            if got > 0 {
                return Ok(got);
            }
            self.in_frame = false;
            let stored = self.decoder.get_checksum_from_data();
            if stored.is_some() && stored != self.decoder.get_calculated_checksum() {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the content checksum does not match",
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const ALL: [Compression; 3] = [Compression::Gzip, Compression::Xz, Compression::Zstd];
    const LEN: u64 = 10_000;

    /// `printf 0123456789abcdef%.0s {1..625} | xz --check=crc32`
    const XZ: &[u8] =
        b"\xfd\x37\x7a\x58\x5a\x00\x00\x01\x69\x22\xde\x36\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\
          \xe5\xa3\xe0\x27\x0f\x00\x3d\x5d\x00\x18\x0c\x42\x92\x6a\x67\xbc\x0e\xd1\x33\x2c\xe4\xcc\
          \x42\x29\xc0\x9c\x4a\x8f\x7e\xff\xb6\xfe\xcf\x0b\x2d\xca\x22\xc9\x2c\xc4\xcc\xd1\x90\xe8\
          \xfa\xdd\x3c\x88\x9b\xfc\xda\x59\x6e\x23\xdc\x47\x7f\x0c\xd9\x0f\x63\x3f\xa6\x9d\x9c\x96\
          \x9f\xa1\xb0\x00\x00\x00\x00\x00\x78\x76\x63\x47\x00\x01\x55\x90\x4e\x00\x00\x00\x87\x45\
          \xdb\x35\x3e\x30\x0d\x8b\x02\x00\x00\x00\x00\x01\x59\x5a";

    /// The content of [`XZ`]; the crate is built without an xz encoder.
    fn plain() -> Vec<u8> {
        b"0123456789abcdef".repeat(625)
    }

    fn packed(kind: Compression) -> Vec<u8> {
        if kind == Compression::Xz { XZ.to_vec() } else { compress(kind, &plain()) }
    }

    /// Half of it repeats, so every format produces both literals and matches.
    fn sample(len: usize) -> Vec<u8> {
        let mut state = 0x2545_f491_u32;
        let noise = std::iter::repeat_with(move || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as u8
        });
        noise.enumerate().map(|(i, b)| if i / 64 % 2 == 0 { b } else { b'.' }).take(len).collect()
    }

    fn compress(kind: Compression, data: &[u8]) -> Vec<u8> {
        match kind {
            Compression::Gzip => {
                let mut w = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                w.write_all(data).unwrap();
                w.finish().unwrap()
            }
            Compression::Xz | Compression::Lzma => unreachable!("no encoder"),
            Compression::Zstd => {
                ruzstd::encoding::compress_to_vec(data, ruzstd::encoding::CompressionLevel::Fastest)
            }
        }
    }

    fn zlib(data: &[u8]) -> Vec<u8> {
        let mut w = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        w.write_all(data).unwrap();
        w.finish().unwrap()
    }

    #[test]
    fn every_format_comes_back_as_it_was() {
        for kind in ALL {
            assert_eq!(detect(&packed(kind)), Some(kind));
            assert_eq!(decompress(kind, &packed(kind), LEN).unwrap(), plain(), "{kind}");
        }
        for kind in [Compression::Gzip, Compression::Zstd] {
            for len in [0, 1, 4095, 300_000] {
                let data = sample(len);
                assert_eq!(
                    decompress(kind, &compress(kind, &data), len as u64).unwrap(),
                    data,
                    "{kind} {len}"
                );
            }
        }
    }

    #[test]
    fn parts_one_after_the_other_are_one_file() {
        for kind in ALL {
            let twice = packed(kind).repeat(2);
            assert_eq!(decompress(kind, &twice, 2 * LEN).unwrap(), plain().repeat(2), "{kind}");
        }
        let mut skippable = b"\x53\x2a\x4d\x18\x03\0\0\0abc".to_vec();
        skippable.extend(compress(Compression::Zstd, b"data"));
        assert_eq!(detect(&skippable), Some(Compression::Zstd));
        assert_eq!(decompress(Compression::Zstd, &skippable, 100).unwrap(), b"data");
    }

    #[test]
    fn one_byte_over_the_limit_is_an_error() {
        for kind in ALL {
            let e = decompress(kind, &packed(kind), LEN - 1).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Damaged);
            assert!(e.message().contains("more than the 9999 bytes"), "{e}");
        }
    }

    #[test]
    fn every_truncation_is_damaged_and_none_panics() {
        for kind in ALL {
            let whole = packed(kind);
            for len in 0..whole.len() {
                let e = decompress(kind, &whole[..len], 1 << 20).expect_err(&format!("{kind} cut at {len}"));
                assert_eq!(e.kind(), ErrorKind::Damaged, "{kind} cut at {len}: {e}");
            }
        }
    }

    #[test]
    fn a_flipped_bit_never_yields_other_bytes() {
        for kind in ALL {
            let whole = packed(kind);
            for at in 0..whole.len() {
                let mut bad = whole.clone();
                bad[at] ^= 1;
                if let Ok(out) = decompress(kind, &bad, 1 << 20) {
                    assert!(out == plain(), "{kind} flipped at {at}");
                }
            }
        }
    }

    #[test]
    fn a_section_must_yield_exactly_what_its_header_says() {
        let data = sample(100_000);
        for (kind, packed) in [
            (SectionCompression::Zlib, zlib(&data)),
            (SectionCompression::Zstd, compress(Compression::Zstd, &data)),
        ] {
            assert_eq!(inflate_section(kind, &packed, 100_000).unwrap(), data);
            for wrong in [0, 99_999, 100_001, u64::MAX] {
                let e = inflate_section(kind, &packed, wrong).expect_err("a wrong size");
                assert_eq!(e.kind(), ErrorKind::Damaged, "{kind:?} {wrong}: {e}");
            }
            let cut = &packed[..packed.len() / 2];
            assert_eq!(inflate_section(kind, cut, 100_000).unwrap_err().kind(), ErrorKind::Damaged);
        }
    }

    #[test]
    fn memory_follows_what_came_out() {
        let packed = zlib(&[7; 1000]);
        let (out, _) = read_whole(&mut ZlibDecoder::new(&packed[..]), u64::MAX);
        assert_eq!(out.len(), 1000);
        assert!(out.capacity() as u64 <= FIRST_STEP, "{}", out.capacity());
        let (out, _) = read_whole(&mut io::repeat(1).take(5 << 20), u64::MAX);
        assert!(out.capacity() <= 2 * out.len(), "{} for {}", out.capacity(), out.len());
    }

    #[test]
    fn a_zstd_window_beyond_reason_is_unsupported() {
        // Frame header without single-segment flag, window descriptor 0xa0: 2^30 bytes.
        let e = decompress(Compression::Zstd, b"\x28\xb5\x2f\xfd\x00\xa0\x01\0\0", 1 << 20).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Unsupported, "{e}");
    }

    #[test]
    fn names_and_first_bytes() {
        assert_eq!(Compression::from_path(Path::new("/a/x.ko.zst")), Some(Compression::Zstd));
        assert_eq!(Compression::from_path(Path::new("/a/x.ko.gz")), Some(Compression::Gzip));
        assert_eq!(Compression::from_path(Path::new("/a.xz/x.ko")), None);
        assert_eq!(detect(b"\x7fELF\x02\x01"), None);
        assert_eq!(detect(b"\xfd7zX"), None);
        assert_eq!(detect(b""), None);
        assert_eq!(SectionCompression::from_ch_type(2), Some(SectionCompression::Zstd));
        assert_eq!(SectionCompression::from_ch_type(0), None);
    }
}
