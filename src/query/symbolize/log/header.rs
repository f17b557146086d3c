//! Lines of a log that identify the kernel that wrote it.
use crate::query::spec::address::hex;

/// What a line reveals about the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header<'l> {
    /// The kernel boots; its release.
    Booted(&'l [u8]),
    /// The release, and the build id of vmlinux in hexadecimal digits if the line ends with it.
    Release(&'l [u8], Option<&'l [u8]>),
    /// The distance that KASLR moved it by.
    Slide(u64),
}

/// Parses the text of a line, without the prefix of log daemons and the kernel.
pub fn header(text: &[u8]) -> Option<Header<'_>> {
    let text = text.trim_ascii();
    match text.first()? {
        b'L' => Some(Header::Booted(word(text.strip_prefix(b"Linux version ")?)?)),
        // lib/dump_stack.c, panic and hung tasks: `CPU: 0 PID: 1 Comm: bash Not tainted 6.1.0-56-cloud-amd64 #1 Debian …`
        b'C' | b'N' | b'T' | b'P' => {
            let tainted = memchr::memmem::find(text, b"ainted")?;
            let number = memchr::memmem::find(&text[tainted..], b" #")? + tainted;
            if !text.get(number + 2)?.is_ascii_digit() {
                return None;
            }
            let release = text[..number].rsplit(|b| *b == b' ').next()?;
            let last = text.rsplit(|b| *b == b' ').next()?;
            let is_build_id = last.len() == 40 && last.iter().all(u8::is_ascii_hexdigit);
            Some(Header::Release(release, is_build_id.then_some(last)))
        }
        // arch/x86/kernel/setup.c, arch/arm64/kernel/setup.c: `Kernel Offset: 0x1e000000 from 0xffffffff81000000 (…)`
        b'K' => {
            let rest = text.strip_prefix(b"Kernel Offset: ")?;
            match rest.strip_prefix(b"0x") {
                Some(digits) => Some(Header::Slide(hex(word(digits)?)?)),
                None => rest.starts_with(b"disabled").then_some(Header::Slide(0)),
            }
        }
        // crash: `RELEASE: 6.1.0-56-cloud-amd64`, `WARNING: kernel relocated [308MB]: patching …`
        b'R' => Some(Header::Release(word(text.strip_prefix(b"RELEASE: ")?)?, None)),
        b'W' => {
            let rest = text.strip_prefix(b"WARNING: kernel relocated [")?;
            let end = memchr::memmem::find(rest, b"MB]")?;
            let megabytes: u64 = std::str::from_utf8(&rest[..end]).ok()?.parse().ok()?;
            Some(Header::Slide(megabytes.checked_mul(1 << 20)?))
        }
        // perf: `# os release : 6.1.0-56-cloud-amd64`
        b'#' => Some(Header::Release(word(text.strip_prefix(b"# os release : ")?)?, None)),
        _ => None,
    }
}

fn word(text: &[u8]) -> Option<&[u8]> {
    text.split(|b| *b == b' ').next().filter(|w| !w.is_empty())
}
