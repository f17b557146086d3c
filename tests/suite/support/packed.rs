//! Packages as dpkg and rpm make them, written here so that each byte can be wrong.
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// A tool that compresses, with the suffix of its files.
pub type Packer = (&'static str, &'static [&'static str]);

/// Blocks this small make several of a small archive.
pub const XZ_IN_BLOCKS: Packer = (".xz", &["xz", "--block-size=65536"]);
pub const XZ: Packer = (".xz", &["xz"]);
pub const ZSTD: Packer = (".zst", &["zstd", "-q"]);
pub const GZIP: Packer = (".gz", &["gzip"]);
pub const NONE: Packer = ("", &["cat"]);

pub fn packed(packer: Packer, bytes: &[u8]) -> Vec<u8> {
    let (tool, arguments) = packer.1.split_first().unwrap();
    let mut c = Command::new(tool);
    c.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    if *tool != "cat" {
        c.arg("-c");
    }
    let mut child = c.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let bytes = bytes.to_owned();
    let writer = std::thread::spawn(move || input.write_all(&bytes).unwrap());
    let out = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(out.status.success(), "{tool}");
    out.stdout
}

/// A header of tar.
pub fn tar_header(name: &str, size: &str, kind: u8) -> Vec<u8> {
    let mut header = vec![0; 512];
    let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, &name[..name.len().min(100)]);
    put(100, "0000644\0");
    put(124, size);
    put(136, "14000000000\0");
    put(148, "        ");
    put(257, "ustar  \0");
    header[156] = kind;
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    header
}

fn padded(bytes: &[u8], to: usize) -> Vec<u8> {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(to), 0);
    padded
}

/// A member of tar, with a long name as GNU tar writes it.
pub fn tar_member(name: &str, content: &[u8]) -> Vec<u8> {
    let size = |length: usize| format!("{length:011o}\0");
    let mut member = vec![];
    if name.len() > 100 {
        member.extend(tar_header("././@LongLink", &size(name.len() + 1), b'L'));
        member.extend(padded(format!("{name}\0").as_bytes(), 512));
    }
    member.extend(tar_header(name, &size(content.len()), b'0'));
    member.extend(padded(content, 512));
    member
}

pub fn tar(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut tar = tar_header("./", "00000000000\0", b'5');
    files.iter().for_each(|(name, content)| tar.extend(tar_member(&format!("./{name}"), content)));
    tar.extend([0; 1024]);
    tar
}

fn ar_member(name: &str, content: &[u8]) -> Vec<u8> {
    let mut member =
        format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 100_644, content.len()).into_bytes();
    member.extend(padded(content, 2));
    member
}

/// A Debian package around a `data.tar` of this suffix, without a list of its files.
pub fn deb(suffix: &str, data: &[u8]) -> Vec<u8> {
    deb_around(b"odd", suffix, data)
}

/// The same with a list of these files.
pub fn deb_with_list<'n>(names: impl Iterator<Item = &'n str>, suffix: &str, data: &[u8]) -> Vec<u8> {
    let sums: String = names.map(|name| format!("d24c848c60731cdd3703d8a8ce4bf939  {name}\n")).collect();
    let control =
        [("control".to_owned(), b"Package: k\n".to_vec()), ("md5sums".to_owned(), sums.into_bytes())];
    deb_around(&packed(GZIP, &tar(&control)), suffix, data)
}

fn deb_around(control: &[u8], suffix: &str, data: &[u8]) -> Vec<u8> {
    let mut deb = b"!<arch>\n".to_vec();
    deb.extend(ar_member("debian-binary", b"2.0\n"));
    deb.extend(ar_member("control.tar.gz", control));
    deb.extend(ar_member(&format!("data.tar{suffix}"), data));
    deb
}

fn rpm_header(tags: &[(u32, u32, u32, Vec<u8>)]) -> Vec<u8> {
    let (mut entries, mut data) = (vec![], vec![]);
    for (tag, kind, count, bytes) in tags {
        data.resize(data.len().next_multiple_of(8), 0);
        [*tag, *kind, data.len() as u32, *count].iter().for_each(|n| entries.extend(n.to_be_bytes()));
        data.extend(bytes);
    }
    let mut header = vec![0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0];
    header.extend((tags.len() as u32).to_be_bytes());
    header.extend((data.len() as u32).to_be_bytes());
    header.extend(entries);
    header.extend(data);
    header
}

/// An RPM package; in the form for large files the archive has no names.
pub fn rpm(files: &[(String, Vec<u8>)], packer: Packer, large: bool) -> Vec<u8> {
    let mut cpio = vec![];
    let mut put = |name: &str, number: usize, content: &[u8]| {
        if large && name != "TRAILER!!!" {
            cpio.extend(format!("07070X{number:08x}").bytes());
        } else {
            let mode = if content.is_empty() { 0 } else { 0o100_644 };
            let fields = [1, mode, 0, 0, 1, 0o14_000_000, content.len(), 0, 0, 0, 0, name.len() + 1, 0];
            cpio.extend(b"070701");
            fields.iter().for_each(|field| cpio.extend(format!("{field:08x}").bytes()));
            cpio.extend(name.bytes().chain([0]));
        }
        cpio.resize(cpio.len().next_multiple_of(4), 0);
        cpio.extend(content);
        cpio.resize(cpio.len().next_multiple_of(4), 0);
    };
    files.iter().enumerate().for_each(|(at, (name, content))| put(&format!("./{name}"), at, content));
    put("TRAILER!!!", 0, b"");
    let text = |text: &str| format!("{text}\0").into_bytes();
    let texts = |of: &dyn Fn(&Path) -> String| {
        files.iter().flat_map(|(name, _)| text(&of(Path::new(name)))).collect()
    };
    let numbers =
        |of: &dyn Fn(usize) -> u32| (0..files.len()).flat_map(|at| of(at).to_be_bytes()).collect::<Vec<u8>>();
    let count = files.len() as u32;
    let compressor = packer.0.trim_start_matches('.').replace("zst", "zstd");
    let header = rpm_header(&[
        (1028, 4, count, numbers(&|at| files[at].1.len() as u32)),
        (1030, 3, count, files.iter().flat_map(|_| 0o100_644_u16.to_be_bytes()).collect()),
        (1034, 4, count, numbers(&|_| 0o14_000_000)),
        (1116, 4, count, numbers(&|at| at as u32)),
        (1117, 8, count, texts(&|path| path.file_name().unwrap().to_str().unwrap().to_owned())),
        (1118, 8, count, texts(&|path| format!("/{}/", path.parent().unwrap().display()))),
        (1124, 6, 1, text("cpio")),
        (1125, 6, 1, text(&compressor)),
    ]);
    let mut rpm = vec![0xed, 0xab, 0xee, 0xdb, 3, 0];
    rpm.resize(96, 0);
    rpm.extend(rpm_header(&[(1000, 4, 1, vec![0, 0, 0, 1])]));
    rpm.resize(rpm.len().next_multiple_of(8), 0);
    rpm.extend(header);
    rpm.extend(packed(packer, &cpio));
    rpm
}
