//! Paths of objects without what differs from kernel to kernel: the release, and the folder or package that all are in.
//!
//! ```text
//! /d/R/k-dbg_1.2-3.deb/usr/lib/debug/boot/vmlinux-R                 /d/\x01/k-dbg_1.2-3.deb/usr/lib/debug/boot/vmlinux-\x01
//! /d/R/k-dbg_1.2-3.deb/usr/lib/debug/lib/modules/R/kernel/a.ko      \x02"/lib/modules/\x01/kernel/a.ko
//! ```
//!
//! The second is what the first has without its last two components, and then the rest: `"` is 32 + 2.
use std::borrow::Cow;

/// In place of the release.
const RELEASE: u8 = 1;
/// The start of a path that begins as that of the first object.
const BESIDE: u8 = 2;
/// The start of a path that is kept as it is.
const PLAIN: u8 = 3;
/// Added to the number of components.
const COUNT: u8 = b' ';
/// The components that are counted at most.
const MOST: usize = 64;

/// A path as a store has it, given that of the first object.
pub fn shared(path: &[u8], release: &[u8], first: &[u8]) -> Vec<u8> {
    if path.contains(&RELEASE) || path.first().is_some_and(|byte| (BESIDE..=PLAIN).contains(byte)) {
        return [&[PLAIN], path].concat();
    }
    let end = path.iter().zip(first).take_while(|(one, other)| one == other).count();
    let folder = path[..end].iter().rposition(|byte| *byte == b'/').filter(|at| *at > 0 && path != first);
    let Some(folder) = folder else { return without_release(path, release) };
    match first[folder..].iter().filter(|byte| **byte == b'/').count() {
        count @ ..MOST => {
            [&[BESIDE, COUNT + count as u8], &without_release(&path[folder..], release)[..]].concat()
        }
        _ => without_release(path, release),
    }
}

/// The path that a store has so, given that of the first object as the store has it.
pub fn whole<'p>(path: &'p [u8], release: &[u8], first: &[u8]) -> Cow<'p, [u8]> {
    match path {
        [PLAIN, path @ ..] => Cow::Borrowed(path),
        [BESIDE, count, rest @ ..] => {
            let first = whole(first, release, &[]);
            let slashes = first.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/');
            let folder =
                slashes.map(|(at, _)| at).nth(usize::from(count.wrapping_sub(COUNT + 1))).unwrap_or(0);
            Cow::Owned([&first[..folder], &with_release(rest, release)].concat())
        }
        path => with_release(path, release),
    }
}

fn without_release(path: &[u8], release: &[u8]) -> Vec<u8> {
    if release.is_empty() {
        return path.to_vec();
    }
    let mut out = vec![];
    let mut rest = path;
    while let Some(at) = rest.windows(release.len()).position(|part| part == release) {
        out.extend_from_slice(&rest[..at]);
        out.push(RELEASE);
        rest = &rest[at + release.len()..];
    }
    out.extend_from_slice(rest);
    out
}

fn with_release<'p>(path: &'p [u8], release: &[u8]) -> Cow<'p, [u8]> {
    match path.contains(&RELEASE) {
        true => Cow::Owned(path.split(|byte| *byte == RELEASE).collect::<Vec<_>>().join(release)),
        false => Cow::Borrowed(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_of_two_packages_are_the_same() {
        let of = |release: &str, version: &str, rest: &str| {
            format!("/d/{release}/k-dbg_{version}.deb/usr/{rest}").replace('R', release).into_bytes()
        };
        for (release, version) in [("6.1.0-1-a", "1.2-3"), ("6.1.0-2-a", "1.3-1")] {
            let first = of(release, version, "boot/vmlinux-R");
            let module = of(release, version, "lib/modules/R/kernel/a.ko");
            let kept = shared(&module, release.as_bytes(), &first);
            assert_eq!(kept, b"\x02\"/lib/modules/\x01/kernel/a.ko");
            let first = shared(&first, release.as_bytes(), &first);
            assert_eq!(&whole(&kept, release.as_bytes(), &first)[..], module);
        }
    }

    proptest! {
        #[test]
        fn paths_come_out_as_they_went_in(path in "[/aR\u{1}\u{2}\u{3}.]{0,20}", first in "[/aR\u{1}\u{2}.]{0,20}") {
            for (path, first) in [(&path, &first), (&first, &first), (&path, &path)] {
                let [path, first] = [path, first].map(String::as_bytes);
                let kept = shared(path, b"R", first);
                let first = shared(first, b"R", first);
                prop_assert_eq!(&whole(&kept, b"R", &first)[..], path);
            }
        }

        #[test]
        fn any_path_of_a_store_is_read(path: Vec<u8>, first: Vec<u8>, release: Vec<u8>) {
            whole(&path, &release, &first);
        }
    }
}
