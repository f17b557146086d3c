//! Recognizes packages of distributions, which must be unpacked first.
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::{Error, ErrorKind};

/// The commands to unpack a package that was given as a kernel; `None` for anything else. Debian's and RPM packages
/// are recognized by their first bytes, others, which are compressed tar files, by their names.
pub(super) fn unpacking(path: &Path, file: &File) -> Option<Error> {
    let mut head = [0; 21];
    let got = file.read_at(&mut head, 0).unwrap_or(0);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let file = path.display();
    let (what, how) = if head[..got].starts_with(b"!<arch>\ndebian-binary") {
        // .deb and Ubuntu's .ddeb (deb(5)).
        ("a Debian package", format!("dpkg -x {file} DIR"))
    } else if head[..got].starts_with(&[0xed, 0xab, 0xee, 0xdb]) {
        ("an RPM package", format!("mkdir DIR && rpm2cpio {file} | (cd DIR && cpio -id)"))
    } else if name.contains(".pkg.tar") || name.ends_with(".apk") {
        ("a package", format!("mkdir DIR && tar -xf {file} -C DIR"))
    } else {
        return None;
    };
    let hint = format!("unpack it: {how}; then: probeidx build DIR");
    Some(Error::new(ErrorKind::Unsupported, format!("{what}, not what is in it")).hint(hint))
}
