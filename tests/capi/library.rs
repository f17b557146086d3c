//! The library, installed in a folder.
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use tempfile::TempDir;

/// Where it is installed; none where it cannot be built here.
pub static INSTALLED: LazyLock<Option<Installed>> = LazyLock::new(|| {
    if !is_there("make") {
        eprintln!("skipped: the C library: there is no make");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let target = Path::new(env!("CARGO_BIN_EXE_probeidx")).ancestors().nth(2).unwrap();
    let mut make = Command::new("make");
    make.arg("-C").arg(capi()).arg("install").arg(format!("PREFIX={}", folder.path().display()));
    make.arg(format!("CARGO_TARGET_DIR={}", target.display())).env_remove("MAKEFLAGS");
    // What cargo tells of this test is not meant for the library.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CARGO_PKG")) {
        make.env_remove(name);
    }
    let output = make.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(Installed(folder))
});

/// A folder with `lib`, `include` and `share/man`.
pub struct Installed(TempDir);

impl Installed {
    /// A file of it.
    pub fn file(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }
    /// Compiles and links a program with pkg-config's flags, or those that it would give.
    #[track_caller]
    pub fn compile(&self, compiler: &str, flags: &[&str], source: &Path, program: &Path) {
        let mut c = Command::new(compiler);
        c.args(["-g", "-Wall", "-Wextra", "-Werror"]).args(flags).arg(source).arg("-o").arg(program);
        c.args(self.flags()).arg(format!("-Wl,-rpath,{}", self.file("lib").display())).arg("-pthread");
        let output = c.output().unwrap();
        assert!(output.status.success(), "{c:?}\n{}", String::from_utf8_lossy(&output.stderr));
    }
    fn flags(&self) -> Vec<String> {
        if !is_there("pkg-config") {
            let lib = self.file("lib").display().to_string();
            return vec![
                format!("-I{}", self.file("include").display()),
                format!("-L{lib}"),
                "-lprobeidx".to_owned(),
            ];
        }
        let mut c = Command::new("pkg-config");
        c.env("PKG_CONFIG_PATH", self.file("lib/pkgconfig")).args(["--cflags", "--libs", "probeidx"]);
        let output = c.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().split_whitespace().map(str::to_owned).collect()
    }
}

/// The folder of the C library's sources.
pub fn capi() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("capi")
}

/// Whether a program can be started.
pub fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success())
}

/// What a program prints, which must succeed.
#[track_caller]
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{command:?}: {}\n{said}\n{printed}", output.status);
    printed.into_owned()
}
