//! bpftrace, as it is carried into a booted machine: that of this machine, or the one that is unpacked below `$PROBEIDX_BPFTRACE`
//! with the libraries that it needs.
use super::parts;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where it is in its folder, and where the folder of its libraries is.
const BPFTRACE: &str = "usr/bin/bpftrace";
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// bpftrace as it is carried into a machine.
pub struct Bpftrace {
    /// With its libraries, by the path in the machine.
    pub files: Vec<(String, Vec<u8>)>,
    /// What runs it there.
    pub command: String,
    pub version: String,
}

impl Bpftrace {
    pub fn chosen() -> Result<Self, String> {
        let root = root();
        let version = |command: &mut Command| {
            let ran = command.arg("--version").output().map_err(|e| format!("bpftrace: {e}"))?;
            Ok::<_, String>(String::from_utf8_lossy(&ran.stdout).trim().to_owned())
        };
        if root == Path::new("/") {
            return Ok(Bpftrace {
                files: parts::carried(&[&format!("/{BPFTRACE}")])?,
                command: "bpftrace".to_owned(),
                version: version(&mut Command::new("bpftrace"))?,
            });
        }
        let (program, libraries) = (root.join(BPFTRACE), root.join(LIBRARIES));
        let loader = libraries.join("ld-linux-x86-64.so.2");
        let mut list = Command::new(&loader);
        list.arg("--library-path").arg(&libraries).arg("--list").arg(&program);
        let ran = list.output().map_err(|e| format!("{}: {e}", loader.display()))?;
        let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
        let needed =
            printed.split_ascii_whitespace().map(PathBuf::from).filter(|path| path.starts_with(&libraries));
        let mut files = parts::carried(&[])?;
        for from in needed.chain([loader.clone(), program.clone()]) {
            let name = from.file_name().unwrap_or_default().to_string_lossy().into_owned();
            files.push((
                format!("b/{name}"),
                std::fs::read(&from).map_err(|e| format!("{}: {e}", from.display()))?,
            ));
        }
        let mut itself = Command::new(&loader);
        itself.arg("--library-path").arg(&libraries).arg(&program);
        Ok(Bpftrace {
            files,
            command: "/b/ld-linux-x86-64.so.2 --library-path /b /b/bpftrace".to_owned(),
            version: version(&mut itself)?,
        })
    }
}

/// The folder of the bpftrace that is to be tried: this machine's, or another one.
pub fn root() -> PathBuf {
    std::env::var_os("PROBEIDX_BPFTRACE").map_or_else(|| "/".into(), PathBuf::from)
}
