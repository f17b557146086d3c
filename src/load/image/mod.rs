//! Unpacks boot images, the installed form of a kernel, to a vmlinux without symbols and debug information.
//!
//! | image | content | source |
//! | --- | --- | --- |
//! | bzImage (x86) | a compressed ELF vmlinux with all its allocated sections | Documentation/arch/x86/boot.rst, 2.08 and later |
//! | EFI zboot (arm64, riscv, loongarch) | a compressed `Image` | drivers/firmware/efi/libstub/zboot-header.S |
//! | `Image` (arm64, riscv) | the kernel as it lies in memory | `flat` |
//! | unified kernel image | one of these | `unified` |
mod flat;
mod lz4;
mod moved;
mod unified;

use super::decompress::{self, Compression, decompress};
use crate::error::{Error, ErrorKind, Result};
use object::elf::{EM_AARCH64, EM_RISCV, EM_X86_64};

/// Bytes of a file that [`is_image`] needs.
pub const HEAD: usize = 0x260;

/// The format of a boot image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Bzimage,
    Zboot,
    Flat,
}

fn form(head: &[u8]) -> Option<Form> {
    let has = |at: usize, mark: &[u8]| head.get(at..at + mark.len()) == Some(mark);
    if has(0x202, b"HdrS") && has(0x1fe, &[0x55, 0xaa]) {
        return Some(Form::Bzimage);
    }
    if has(0, b"MZ\0\0zimg") {
        return Some(Form::Zboot);
    }
    // Documentation/arch/arm64/booting.rst, riscv/boot-image-header.rst
    (has(0x38, b"ARM\x64") || has(0x38, b"RSC\x05")).then_some(Form::Flat)
}

/// Whether a file with this head is a boot image.
pub fn is_image(head: &[u8]) -> bool {
    form(head).is_some() || unified::is_program(head)
}

/// The release in a bzImage's header (`kernel_version`), from its first 32 KiB.
pub fn release(head: &[u8]) -> Option<&str> {
    (form(head)? == Form::Bzimage).then_some(())?;
    let at = usize::from(u16::from_le_bytes(*head.get(0x20e..)?.first_chunk()?));
    let text = head.get(at.checked_add(0x200).filter(|_| at > 0)?..)?;
    let end = text.iter().position(|b| b.is_ascii_whitespace() || *b == 0)?;
    std::str::from_utf8(&text[..end]).ok().filter(|text| text.starts_with(|c: char| c.is_ascii_digit()))
}

/// The machine (`e_machine`) of the kernel in a compressed image, according to its head. A bzImage may still hold a
/// 32-bit kernel.
pub fn machine(head: &[u8]) -> Option<u16> {
    let short = |at: usize| head.get(at..)?.first_chunk().map(|b| u16::from_le_bytes(*b));
    match form(head) {
        Some(Form::Bzimage) => Some(EM_X86_64.0),
        Some(Form::Flat) => None,
        None if !unified::is_program(head) => None,
        // `Machine` of the PE header, to which the DOS header points.
        Some(Form::Zboot) | None => match short(usize::from(short(0x3c)?).checked_add(4)?)? {
            0xaa64 => Some(EM_AARCH64.0),
            0x5064 => Some(EM_RISCV.0),
            0x8664 => Some(EM_X86_64.0),
            _ => None,
        },
    }
}

/// Unpacks the kernel in a boot image; `None` if the bytes are not one. Cost: decompression, some hundred
/// milliseconds. The output is at most 64 times the length of the image.
///
/// # Errors
/// [`ErrorKind::Damaged`] for an image that contradicts its header, [`ErrorKind::Unsupported`] for an unsupported
/// compression or image.
pub fn unpack(data: &[u8]) -> Result<Option<Vec<u8>>> {
    let Some(form) = form(data) else {
        return if unified::is_program(data) { unpack_program(data) } else { Ok(None) };
    };
    let number = |at: usize| data.get(at..)?.first_chunk().map(|b| u32::from_le_bytes(*b) as usize);
    let payload = || {
        let (start, length) = match form {
            Form::Bzimage => {
                let version = u16::from_le_bytes(*data.get(0x206..)?.first_chunk()?);
                // `payload_offset` counts from the protected-mode code, which follows the setup sectors.
                let setup = (usize::from(data[0x1f1].max(1)) + 1) * 512;
                ((version >= 0x208).then_some(setup)?.checked_add(number(0x248)?)?, number(0x24c)?)
            }
            Form::Zboot => (number(8)?, number(12)?),
            Form::Flat => return Some(data),
        };
        data.get(start..start.checked_add(length)?)
    };
    let cut_off = || {
        Error::new(ErrorKind::Damaged, "the boot image is cut off: its payload is not where its header says")
            .hint("install the package of the kernel again")
    };
    let payload = payload().ok_or_else(cut_off)?;
    let inflated = if form == Form::Flat { None } else { Some(inflate(payload, form == Form::Bzimage)?) };
    let plain = inflated.as_deref().unwrap_or(payload);
    if self::form(plain) == Some(Form::Flat) {
        return flat::object(plain).map(Some);
    }
    match inflated {
        Some(kernel) if kernel.starts_with(b"\x7fELF") => Ok(Some(kernel)),
        _ => {
            let what = "what the boot image holds is neither an ELF object nor an Image of arm64 or riscv";
            Err(Error::new(ErrorKind::Unsupported, what).hint("give the vmlinux of its debug package"))
        }
    }
}

/// Unpacks the kernel in the boot image that an EFI program has.
fn unpack_program(data: &[u8]) -> Result<Option<Vec<u8>>> {
    match unified::kernel(data).filter(|image| form(image).is_some()) {
        Some(image) => unpack(image),
        None => {
            let what = "an EFI program without a boot image of Linux (section .linux)";
            let error = Error::new(ErrorKind::Unsupported, what);
            Err(error.hint("give the vmlinuz of the kernel, or its vmlinux"))
        }
    }
}

/// Inflates the payload of an image. The build appends the inflated length in 4 bytes, except to gzip
/// (scripts/Makefile.lib, `size_append`); zboot's header does not count them (zboot-header.S, 6.1; seen in Ubuntu's 7.0).
fn inflate(payload: &[u8], counts_length: bool) -> Result<Vec<u8>> {
    let body = &payload[..payload.len() - if counts_length { payload.len().min(4) } else { 0 }];
    let limit = decompress::most(payload.len() as u64);
    let unsupported = |name: &str| {
        let what = format!("a kernel compressed by {name}, which is not supported");
        Err(Error::new(ErrorKind::Unsupported, what).hint("unpack it by extract-vmlinux and give the result"))
    };
    match payload {
        // No length is appended to these.
        [0x1f, 0x8b, ..] => decompress(Compression::Gzip, payload, limit),
        [0x7f, b'E', b'L', b'F', ..] => Ok(payload.to_owned()),
        [0xfd, b'7', b'z', b'X', ..] => decompress(Compression::Xz, body, limit),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => decompress(Compression::Zstd, body, limit),
        [0x5d, 0, 0, ..] => decompress(Compression::Lzma, body, limit),
        [a, b, c, d, ..] if [*a, *b, *c, *d] == lz4::MAGIC => lz4::inflate(body, limit),
        [b'B', b'Z', b'h', ..] => unsupported("bzip2"),
        [0x89, b'L', b'Z', b'O', ..] => unsupported("lzo"),
        _ => unsupported("an unknown program"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::write::GzEncoder;
    use std::io::Write;

    /// A bzImage around a payload.
    fn bzimage(payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 3 * 512];
        image[0x1f1] = 1;
        image[0x1fe..0x200].copy_from_slice(&[0x55, 0xaa]);
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x206..0x208].copy_from_slice(&0x20f_u16.to_le_bytes());
        image[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
        image[0x300..0x314].copy_from_slice(b"6.1.0-56-test (x) #1");
        image[0x248..0x24c].copy_from_slice(&512_u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        image.extend(payload);
        image
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(vec![], flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_bzimage_unpacks_and_names_its_release() {
        let kernel = [b"\x7fELF".as_slice(), &[7; 5000]].concat();
        let image = bzimage(&gzip(&kernel));
        assert!(is_image(&image[..HEAD]));
        assert_eq!(release(&image), Some("6.1.0-56-test"));
        assert_eq!(machine(&image), Some(62));
        assert_eq!(unpack(&image).unwrap().unwrap(), kernel);
        assert_eq!(unpack(&kernel).unwrap(), None, "no image");
        let zboot =
            [b"MZ\0\0zimg\x40\0\0\0".as_slice(), &(gzip(&kernel).len() as u32).to_le_bytes(), &[0; 48]]
                .concat();
        assert_eq!(unpack(&[zboot, gzip(&kernel)].concat()).unwrap().unwrap(), kernel);
        // Of anything else than gzip the length follows, which is no part of the payload.
        let packed =
            ruzstd::encoding::compress_to_vec(&kernel[..], ruzstd::encoding::CompressionLevel::Fastest);
        let zboot = [
            b"MZ\0\0zimg\x40\0\0\0".as_slice(),
            &(packed.len() as u32).to_le_bytes(),
            &[0; 48],
            &packed,
            &[0; 4],
        ];
        assert_eq!(unpack(&zboot.concat()).unwrap().unwrap(), kernel);
    }

    #[test]
    fn a_unified_image_has_another_one() {
        let kernel = [b"\x7fELF".as_slice(), &[7; 5000]].concat();
        let image = unified::program(&bzimage(&gzip(&kernel)));
        assert!(is_image(&image[..HEAD]));
        assert_eq!(machine(&image), Some(62));
        assert_eq!(unpack(&image).unwrap().unwrap(), kernel);
        for other in [&b"no kernel"[..], &unified::program(&bzimage(&gzip(&kernel))), b""] {
            let error = unpack(&unified::program(other)).unwrap_err();
            assert!(error.message().contains("without a boot image") && error.remedy().is_some(), "{error}");
        }
        for cut in HEAD..image.len() - 512 {
            assert!(unpack(&image[..cut]).is_err(), "{cut}");
        }
    }

    #[test]
    fn a_zboot_image_names_its_machine() {
        let mut head = [b"MZ\0\0zimg".as_slice(), &[0; 0x80]].concat();
        assert_eq!(machine(&head), None);
        head[0x3c] = 0x40;
        head[0x40..0x46].copy_from_slice(b"PE\0\0\x64\xaa");
        assert_eq!(machine(&head), Some(183));
        head[0x3c..0x3e].copy_from_slice(&[0xff, 0xff]);
        assert_eq!(machine(&head), None);
    }

    #[test]
    fn what_is_not_read_is_named() {
        for (payload, said) in [
            (&b"BZh91AY"[..], "bzip2"),
            (b"\x89LZO\0\x0d", "lzo"),
            (b"????????", "unknown"),
            (b"\x02\x21\x4c\x18\x40\0\0\0????", "behind the end"),
            (&gzip(b"MZ, no kernel"), "neither an ELF object nor"),
        ] {
            let error = unpack(&bzimage(payload)).unwrap_err();
            assert!(error.message().contains(said) && error.remedy().is_some(), "{said}: {error}");
        }
    }

    #[test]
    fn an_image_that_is_cut_off_or_changed_is_an_error_or_another_image() {
        let image = bzimage(&gzip(&[b"\x7fELF".as_slice(), &[7; 500]].concat()));
        for cut in HEAD..image.len() {
            assert!(unpack(&image[..cut]).is_err(), "{cut}");
        }
        for at in (0x1f0..0x260).chain(1536..image.len()) {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = image.clone();
                changed[at] = value;
                let _ = (unpack(&changed), release(&changed));
            }
        }
    }
}
