//! ELF objects of any content, for debug information that no compiler would write.

const SHT_PROGBITS: u32 = 1;
const SHT_STRTAB: u32 = 3;
const SHF_ALLOC: u64 = 2;
const SHF_EXECINSTR: u64 = 4;

/// A module with 64 KiB of code at pc 0x1000 and these debug sections, by name.
pub fn module(debug: &[(&str, &[u8])]) -> Vec<u8> {
    const MODINFO: &[u8] = b"license=GPL\0vermagic=6.1.0-test SMP \0";
    let mut sections = vec![
        (".text", SHF_ALLOC | SHF_EXECINSTR, &[0x90; 0x1_0000][..]),
        (".modinfo", SHF_ALLOC, MODINFO),
        (".gnu.linkonce.this_module", SHF_ALLOC, &[0; 64]),
    ];
    sections.extend(debug.iter().map(|(name, bytes)| (*name, 0, *bytes)));
    object(1, 0, &sections)
}

/// A kernel of release 6.1.0-test with 64 KiB of code and these debug sections.
pub fn vmlinux(debug: &[(&str, &[u8])]) -> Vec<u8> {
    const BANNER: &[u8] = b"Linux version 6.1.0-test (build@host)\n\0";
    let mut sections =
        vec![(".text", SHF_ALLOC | SHF_EXECINSTR, &[0x90; 0x1_0000][..]), (".rodata", SHF_ALLOC, BANNER)];
    sections.extend(debug.iter().map(|(name, bytes)| (*name, 0, *bytes)));
    object(2, TEXT, &sections)
}

/// Where [`vmlinux`] has its code.
pub const TEXT: u64 = 0xffff_ffff_8100_0000;

fn object(kind: u16, address: u64, sections: &[(&str, u64, &[u8])]) -> Vec<u8> {
    let mut out = vec![0; 64];
    let mut names = vec![0];
    let mut headers = vec![0; 64];
    let mut next = address;
    let mut add = |out: &mut Vec<u8>, name: &str, sh_type: u32, flags: u64, content: Option<&[u8]>| {
        let name_at = names.len() as u32;
        names.extend(name.bytes().chain([0]));
        let content = content.unwrap_or(&names);
        let at = if flags & SHF_ALLOC != 0 && address != 0 { next } else { 0 };
        next += if at == 0 { 0 } else { content.len() as u64 };
        headers.extend(name_at.to_le_bytes());
        headers.extend(sh_type.to_le_bytes());
        for value in [flags, at, out.len() as u64, content.len() as u64, 0, 1, 0] {
            headers.extend(value.to_le_bytes());
        }
        out.extend_from_slice(content);
    };
    for (name, flags, content) in sections {
        add(&mut out, name, SHT_PROGBITS, *flags, Some(content));
    }
    add(&mut out, ".shstrtab", SHT_STRTAB, 0, None);
    let shoff = out.len() as u64;
    let count = sections.len() as u64 + 2;
    // More than the header can say stands in the first section header (gABI, `e_shnum` and `e_shstrndx`).
    let (number, names) = match u16::try_from(count).ok().filter(|count| *count < 0xff00) {
        Some(count) => (count, count - 1),
        None => {
            headers[32..40].copy_from_slice(&count.to_le_bytes());
            headers[40..44].copy_from_slice(&(count as u32 - 1).to_le_bytes());
            (0, 0xffff)
        }
    };
    out.extend(headers);
    out[..16].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    out[16..18].copy_from_slice(&kind.to_le_bytes());
    out[18..20].copy_from_slice(&62_u16.to_le_bytes());
    out[20] = 1;
    out[40..48].copy_from_slice(&shoff.to_le_bytes());
    for (at, value) in [(52, 64), (58, 64), (60, number), (62, names)] {
        out[at..at + 2].copy_from_slice(&u16::to_le_bytes(value));
    }
    out
}
