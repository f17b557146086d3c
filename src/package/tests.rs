//! Any bytes are read or refused.
use super::*;
use proptest::prelude::*;

#[derive(Default)]
struct All(Vec<(PathBuf, Vec<u8>)>);

impl Sink for All {
    fn wants(&mut self, _: &Path) -> bool {
        true
    }
    fn take(&mut self, name: &Path, member: Member) {
        self.0.push((name.to_owned(), member.bytes.to_vec()));
    }
    fn skip(&mut self, _: Error) {}
}

fn read(bytes: &[u8]) -> (Result<()>, All) {
    let mut all = All::default();
    (read_bytes(bytes, Path::new("k"), Wanted::All, &|_| (), &mut all), all)
}

fn tar_member(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
    let mut member = vec![0; 512];
    let mut put = |at: usize, text: &str| member[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(124, &format!("{:011o}", content.len()));
    put(148, "        ");
    put(257, "ustar\x0000");
    member[156] = kind;
    let sum: u32 = member.iter().map(|byte| u32::from(*byte)).sum();
    member[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    member.extend(content);
    member.resize(member.len().next_multiple_of(512), 0);
    member
}

/// A Debian package of these files, its data in blocks of xz; `None` without the tool that makes them.
fn deb_in_blocks(files: &[(&str, Vec<u8>)]) -> Option<Vec<u8>> {
    let mut tar: Vec<u8> = files.iter().flat_map(|(name, content)| tar_member(name, b'0', content)).collect();
    tar.extend([0; 1024]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.tar");
    std::fs::write(&path, &tar).unwrap();
    let packed =
        std::process::Command::new("xz").args(["-c", "--block-size=4096"]).arg(&path).output().ok()?;
    let header =
        format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "data.tar.xz", 0, 0, 0, 100_644, packed.stdout.len());
    Some(
        [deb::MAGIC, b"   0           0     0     100644  0         `\n", header.as_bytes(), &packed.stdout]
            .concat(),
    )
}

#[test]
fn a_package_is_read_from_its_end_if_that_is_wanted() {
    let noise = |seed: u32, length: usize| {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..length).map(|_| next()).collect::<Vec<u8>>()
    };
    let names = ["./a.ko", "./b.ko", "./c.ko", "./vmlinux", "./z"];
    let files: Vec<(&str, Vec<u8>)> = names
        .iter()
        .zip([9_000, 100, 20_000, 30_000, 5_000])
        .map(|(name, size)| (*name, noise(size, size as usize)))
        .collect();
    let Some(package) = deb_in_blocks(&files) else { return eprintln!("skipped: xz is not installed") };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k.deb");
    std::fs::write(&path, &package).unwrap();
    let read = |first: &str| {
        let mut all = All::default();
        read_beginning_with(Path::new(first), Path::new("k"), &path, &mut all).unwrap();
        all
    };
    let whole: Vec<(PathBuf, Vec<u8>)> =
        files.iter().map(|(name, content)| (name.trim_start_matches("./").into(), content.clone())).collect();
    for (first, number) in [("vmlinux", 3), ("a.ko", 0), ("b.ko", 1), ("z", 4), ("nowhere", 0)] {
        let mut expected = whole.clone();
        expected.rotate_left(number);
        assert!(read(first).0 == expected, "{first}");
    }
}

/// A Debian package with a member of each kind.
fn deb() -> Vec<u8> {
    let long = format!("long/{}", "x".repeat(120));
    let pax = "17 path=by-pax/a\n10 size=5\n";
    let members = [
        tar_member("./", b'5', b""),
        tar_member("./short", b'0', b"12345"),
        tar_member("././@LongLink", b'L', format!("{long}\0").as_bytes()),
        tar_member("cut", b'0', b"1234567"),
        tar_member("PaxHeaders", b'x', pax.as_bytes()),
        tar_member("other", b'0', b"12345"),
        tar_member("link", b'2', b""),
        vec![0; 1024],
    ];
    let data = members.concat();
    let ar =
        |name: &str, size: usize| format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 100_644);
    let mut deb =
        format!("!<arch>\n{}2.0\n{}", ar("debian-binary", 4), ar("data.tar", data.len())).into_bytes();
    deb.extend(data);
    deb
}

/// The parts of an RPM package up to its payload.
fn rpm() -> Vec<u8> {
    let mut rpm = rpm::MAGIC.to_vec();
    rpm.resize(96, 0);
    let header = |entries: &[[u32; 4]], data: &[u8]| {
        let mut header = vec![0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0];
        let numbers =
            [entries.len() as u32, data.len() as u32].into_iter().chain(entries.iter().flatten().copied());
        numbers.for_each(|number| header.extend(number.to_be_bytes()));
        header.extend(data);
        header
    };
    rpm.extend(header(&[], &[]));
    rpm.extend(header(
        &[[1028, 4, 8, 1], [1117, 8, 0, 1], [1118, 8, 2, 1], [1116, 4, 12, 1], [1030, 3, 16, 1]],
        b"a\0/b/\0\0\0\0\0\0\x03\0\0\0\0\x81\xa4",
    ));
    rpm.extend(b"07070X00000000\0\0abc\0");
    rpm.extend(b"070701");
    rpm.extend(format!("{:08x}", 0).repeat(11).bytes());
    rpm.extend(b"0000000b00000000TRAILER!!!\0");
    rpm
}

#[test]
fn names_of_each_form_are_read() {
    let (read, all) = read(&deb());
    read.unwrap();
    let found: Vec<(String, usize)> =
        all.0.iter().map(|(name, content)| (name.display().to_string(), content.len())).collect();
    let long = format!("long/{}", "x".repeat(120));
    assert_eq!(found, [("short".to_owned(), 5), (long, 7), ("by-pax/a".to_owned(), 5)]);
}

proptest! {
    #[test]
    fn no_byte_does_harm(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), end in any::<prop::sample::Index>(), cut in any::<bool>()) {
        for mut bytes in [deb(), rpm()] {
            for (at, byte) in &changes {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            if cut {
                bytes.truncate(end.index(bytes.len()));
            }
            let _ = read(&bytes);
        }
    }

    #[test]
    fn no_header_does_harm(tail in prop::collection::vec(any::<u8>(), 0..400)) {
        for magic in [&deb()[..72], rpm::MAGIC, &rpm()[..112]] {
            let _ = read(&[magic, &tail[..]].concat());
        }
        let _ = xz::blocks(&tail);
    }
}
