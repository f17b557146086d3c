//! Where tracefs is, and who may use it.
use crate::error::{Error, ErrorKind, Result};
use std::fs::OpenOptions;
use std::io::{ErrorKind as Io, Write};
use std::path::{Path, PathBuf};

/// Where tracefs is mounted: by itself, and below debugfs, as before 4.1.
const PLACES: [&str; 2] = ["sys/kernel/tracing", "sys/kernel/debug/tracing"];

/// The tracing files of the kernel.
#[derive(Clone, Debug)]
pub struct Tracefs {
    folder: PathBuf,
}

impl Tracefs {
    /// The mounted tracefs below `root`, which is `/` for the running kernel.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if it is not mounted, or not open to this process; with the command that changes it.
    pub fn find(root: &Path) -> Result<Self> {
        let mut why = None;
        for folder in PLACES.map(|place| root.join(place)) {
            match folder.join("trace").metadata() {
                Ok(_) => return Ok(Self { folder }),
                Err(e) if e.kind() == Io::NotFound => {}
                Err(e) => why = why.or_else(|| Some(refused(root, &folder, "look into tracefs", &e))),
            }
        }
        let missing = || {
            let error = Error::new(ErrorKind::Io, "tracefs is not mounted").at(&root.join(PLACES[0]));
            error.hint("as root: mount -t tracefs nodev /sys/kernel/tracing")
        };
        Err(why.unwrap_or_else(missing))
    }

    /// Where it is if nobody looks: for a text that names the files.
    pub fn usual() -> Self {
        Self { folder: Path::new("/").join(PLACES[0]) }
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a text in one piece, as the kernel wants it, behind what is there. Definitions stay: only a file that is
    /// opened to be emptied drops them.
    ///
    /// # Errors
    /// [`ErrorKind::Io`], with the remedy if a right is missing.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.path(name);
        self.try_write(name, text).map_err(|e| refused(Path::new("/"), &path, &format!("write '{text}'"), &e))
    }

    /// Like [`write`](Self::write), with the error of the system.
    ///
    /// # Errors
    /// That of the system.
    pub fn try_write(&self, name: &str, text: &str) -> std::io::Result<()> {
        // Without O_CREAT: a file that the kernel has not is to be missed.
        OpenOptions::new().append(true).open(self.path(name))?.write_all(text.as_bytes())
    }

    /// The text of a file; empty if it cannot be read.
    pub fn read(&self, name: &str) -> String {
        std::fs::read(self.path(name))
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    /// Whether there is a file of this name.
    pub fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// The names in a folder, in bytewise order.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|e| e.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}

/// A refusal, with the right that is missing and what grants it.
pub(super) fn refused(root: &Path, path: &Path, doing: &str, error: &std::io::Error) -> Error {
    let plain = Error::new(ErrorKind::Io, format!("cannot {doing}: {error}")).at(path);
    match error.kind() {
        Io::PermissionDenied if is_locked_down(root) => {
            let what = format!("cannot {doing}: the kernel is locked down to confidentiality, and closes tracefs even to root");
            let hint = "boot with lockdown=integrity, or without Secure Boot's lockdown";
            Error::new(ErrorKind::Io, what).at(path).hint(hint)
        }
        Io::PermissionDenied => {
            let hint = "definitions need root: run it with sudo, or grant it CAP_DAC_OVERRIDE and CAP_SYSLOG: \
                        sudo setcap cap_dac_override,cap_syslog+ep \"$(command -v probeidx)\"";
            plain.hint(hint)
        }
        Io::ReadOnlyFilesystem => {
            plain.hint("tracefs is mounted read-only here, as in containers: run it on the host, or mount it for writing")
        }
        _ => plain,
    }
}

/// Whether the kernel is locked down so far that tracefs is closed (`LOCKDOWN_TRACEFS`): `none integrity [confidentiality]`.
fn is_locked_down(root: &Path) -> bool {
    let file = root.join("sys/kernel/security/lockdown");
    std::fs::read_to_string(file).is_ok_and(|text| text.contains("[confidentiality]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_without_tracefs_is_an_error_with_the_command() {
        let folder = tempfile::tempdir().unwrap();
        let error = Tracefs::find(folder.path()).unwrap_err();
        assert!(error.remedy().is_some_and(|hint| hint.contains("mount -t tracefs")), "{error}");
        std::fs::create_dir_all(folder.path().join("sys/kernel/debug/tracing")).unwrap();
        std::fs::write(folder.path().join("sys/kernel/debug/tracing/trace"), "").unwrap();
        assert!(Tracefs::find(folder.path()).unwrap().path("trace").ends_with("debug/tracing/trace"));
    }

    /// What is said of a refusal, and what to do.
    fn said(root: &Path, errno: i32) -> String {
        let error = refused(
            root,
            Path::new("/t/dynamic_events"),
            "write 'y'",
            &std::io::Error::from_raw_os_error(errno),
        );
        format!("{error}\n{}", error.remedy().unwrap_or_default())
    }

    #[test]
    fn a_missing_right_is_said_with_the_command_that_grants_it() {
        let folder = tempfile::tempdir().unwrap();
        for errno in [libc::EACCES, libc::EPERM] {
            let said = said(folder.path(), errno);
            for part in [
                "/t/dynamic_events",
                "cannot write 'y'",
                "root",
                "CAP_DAC_OVERRIDE and CAP_SYSLOG",
                "sudo setcap cap_dac_override,cap_syslog+ep \"$(command -v probeidx)\"",
            ] {
                assert!(said.contains(part), "{errno}: {said}");
            }
        }
        let read_only = said(folder.path(), libc::EROFS);
        assert!(read_only.contains("run it on the host, or mount it for writing"), "{read_only}");
        let other = said(folder.path(), libc::EBUSY);
        assert!(!other.contains("setcap") && !other.contains("root"), "{other}");
    }

    #[test]
    fn lockdown_is_told_apart_from_a_missing_right() {
        let folder = tempfile::tempdir().unwrap();
        let security = folder.path().join("sys/kernel/security");
        std::fs::create_dir_all(&security).unwrap();
        // Only confidentiality closes tracefs.
        for (text, is_closed) in [
            ("none integrity [confidentiality]\n", true),
            ("none [integrity] confidentiality\n", false),
            ("[none] integrity confidentiality\n", false),
        ] {
            std::fs::write(security.join("lockdown"), text).unwrap();
            let said = said(folder.path(), libc::EPERM);
            assert_eq!(said.contains("closes tracefs even to root"), is_closed, "{said}");
            assert_eq!(said.contains("lockdown=integrity"), is_closed, "{said}");
            assert_eq!(said.contains("setcap"), !is_closed, "{said}");
        }
    }
}
