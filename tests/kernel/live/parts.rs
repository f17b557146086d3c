//! What is put into the machine: our init, our module, and the kernel's modules in the order in which to load them.
use crate::installed::{Architecture, Kernel, scratch};
use probeidx::load::{Image, decompress, elf::Elf};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// `init.c`, `act.c` and `bpf.c`, linked statically: the machine has no libraries.
pub fn init(architecture: Architecture) -> Result<Vec<u8>, String> {
    let folder = folder("init")?;
    let program = folder.join("init");
    let mut gcc = Command::new(architecture.compiler());
    gcc.args(["-static", "-Os", "-D_FILE_OFFSET_BITS=64", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program);
    gcc.args(["init.c", "act.c", "bpf.c", "symbols.c"].map(source));
    take(&mut gcc, &program, &folder)
}

/// `trace/guest.c`, linked statically and with its debug information; it stays where it is made.
pub fn guest(program: &Path, architecture: Architecture) -> Result<Vec<u8>, String> {
    let mut gcc = Command::new(architecture.compiler());
    gcc.args(["-static", "-g", "-Os", "-D_FILE_OFFSET_BITS=64", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(program);
    gcc.arg(source("trace/guest.c"));
    run(&mut gcc).and_then(|()| read(program))
}

/// The program that is tested, without its debug information: the machine has it in memory. For another architecture than
/// this one `$PROBEIDX_PROGRAMS` names a folder with `aarch64/probeidx` and so on, linked statically.
pub fn probeidx(architecture: Architecture) -> Result<Vec<u8>, String> {
    let program = match architecture {
        Architecture::X86_64 => crate::installed::program(),
        other => {
            let folder = std::env::var_os("PROBEIDX_PROGRAMS")
                .ok_or_else(|| format!("no probeidx for {other:?}: PROBEIDX_PROGRAMS names none"))?;
            let name = other.compiler().split('-').next().unwrap_or_default();
            Path::new(&folder).join(name).join("probeidx")
        }
    };
    let folder = folder("program")?;
    let stripped = folder.join("probeidx");
    let strip = architecture.compiler().strip_suffix("gcc").unwrap_or_default();
    let mut strip = Command::new(format!("{strip}strip"));
    strip.arg("-o").arg(&stripped).arg(&program);
    take(&mut strip, &stripped, &folder)
}

/// `uprobed.c`, linked statically and with its debug information; it stays where it is made.
pub fn uprobed(program: &Path, architecture: Architecture) -> Result<Vec<u8>, String> {
    let mut gcc = Command::new(architecture.compiler());
    gcc.args(["-static-pie", "-g", "-O2", "-Wall", "-Wextra", "-Werror", "-o"]).arg(program);
    gcc.arg(source("uprobed.c"));
    run(&mut gcc).and_then(|()| read(program))
}

/// `tools.c`, linked statically.
pub fn tools(architecture: Architecture) -> Result<Vec<u8>, String> {
    let folder = folder("tools")?;
    let program = folder.join("tools");
    let mut gcc = Command::new(architecture.compiler());
    gcc.args(["-static", "-Os", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).arg(source("tools.c"));
    take(&mut gcc, &program, &folder)
}

/// A program without what only debuggers read.
pub fn stripped(program: &Path) -> Result<Vec<u8>, String> {
    let folder = folder("stripped")?;
    let copy = folder.join("program");
    take(Command::new("strip").arg("-o").arg(&copy).arg(program), &copy, &folder)
}

/// The files that the loader needs for a program, by the path in the machine: none for one that is linked statically.
pub fn libraries(program: &Path) -> Result<Vec<(String, Vec<u8>)>, String> {
    needed_by(program)?.into_iter().map(carry).collect()
}

fn needed_by(program: &Path) -> Result<Vec<String>, String> {
    let ran = Command::new("ldd").arg(program).output().map_err(|e| format!("ldd: {e}"))?;
    let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
    let words = printed.split_ascii_whitespace().filter(|word| word.starts_with('/'));
    Ok(words
        .map(|word| word.trim_end_matches(':').to_owned())
        .filter(|word| Path::new(word) != program)
        .collect())
}

/// Programs of this machine, the libraries that they need, and the busybox that runs their scripts: by the path in the machine.
pub fn carried(programs: &[&str]) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut files = BTreeSet::from(["/bin/busybox".to_owned()]);
    for program in programs {
        files.insert((*program).to_owned());
        files.extend(needed_by(program.as_ref())?);
    }
    files.into_iter().map(carry).collect()
}

/// A file of this machine, by the path in the other one.
fn carry(file: String) -> Result<(String, Vec<u8>), String> {
    let from = if Path::new(&file).exists() { file.clone() } else { format!("/usr{file}") };
    Ok((file[1..].to_owned(), read(from.as_ref())?))
}

/// `objects.c`, linked statically with libbpf: the one whose sources are in `$PROBEIDX_LIBBPF`, else the one that is installed.
/// `$CFLAGS` and `$LDFLAGS` may say where libelf is.
pub fn objects(architecture: Architecture) -> Result<Vec<u8>, String> {
    let folder = folder("objects")?;
    let program = folder.join("objects");
    let flags = |name: &str| -> Vec<String> {
        std::env::var(name).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    };
    let mut gcc = Command::new(architecture.compiler());
    gcc.args(["-static", "-O1", "-w", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64", "-o"]).arg(&program);
    gcc.args(flags("CFLAGS")).arg(source("objects.c"));
    if let Some(sources) = std::env::var_os("PROBEIDX_LIBBPF").map(PathBuf::from) {
        // Its headers are included as `bpf/libbpf.h`, as which they are installed.
        let headers = folder.join("include");
        std::fs::create_dir_all(&headers).map_err(|e| format!("{}: {e}", headers.display()))?;
        let linked = std::os::unix::fs::symlink(sources.join("src"), headers.join("bpf"));
        linked.map_err(|e| format!("{}: {e}", headers.display()))?;
        for include in [&headers, &sources.join("include"), &sources.join("include/uapi")] {
            gcc.arg("-I").arg(include);
        }
        let all =
            std::fs::read_dir(sources.join("src")).map_err(|e| format!("{}: {e}", sources.display()))?;
        let all = all.flatten().map(|entry| entry.path());
        gcc.args(all.filter(|path| path.extension() == Some(OsStr::new("c"))));
    } else {
        is_recent_libbpf()?;
        gcc.arg("-lbpf");
    }
    gcc.args(flags("LDFLAGS")).args(["-lelf", "-lz"]);
    // elfutils 0.189 and later may need it.
    let has_zstd = Command::new(architecture.compiler()).arg("-print-file-name=libzstd.a").output();
    if has_zstd.is_ok_and(|found| found.stdout.starts_with(b"/")) {
        gcc.arg("-lzstd");
    }
    take(&mut gcc, &program, &folder)
}

/// Whether the installed libbpf knows the sections that `check` knows: those of 1.7 are in 1.5, and older ones load less.
fn is_recent_libbpf() -> Result<(), String> {
    let header = Path::new("/usr/include/bpf/libbpf_version.h");
    let text = std::fs::read_to_string(header).map_err(|_| "libbpf-dev is not installed".to_owned())?;
    let number = |name: &str| {
        let line = text.lines().find(|line| line.contains(name))?;
        line.split_whitespace().last()?.parse::<u32>().ok()
    };
    let version = (number("LIBBPF_MAJOR_VERSION"), number("LIBBPF_MINOR_VERSION"));
    match version >= (Some(1), Some(5)) {
        true => Ok(()),
        false => Err("libbpf is older than 1.5: PROBEIDX_LIBBPF names the sources of a newer one".to_owned()),
    }
}

/// `register.c`, compiled against the headers of the kernel. With any `gcc`: headers name the one that the
/// distribution took.
pub fn register(kernel: &Kernel) -> Result<Vec<u8>, String> {
    if !kernel.headers.join("Makefile").exists() {
        return Err(format!("no headers in {}", kernel.headers.display()));
    }
    let folder = folder(&format!("register-{}", kernel.release))?;
    for name in ["register.c", "register.h"] {
        write(&folder.join(name), &read(&source(name))?)?;
    }
    write(&folder.join("Makefile"), b"obj-m := register.o\n")?;
    let mut make = Command::new("make");
    make.arg("-C").arg(&kernel.headers).arg(format!("M={}", folder.display()));
    // A kernel of clang takes modules of the same clang alone: kCFI's hashes and LTO's objects are its own.
    match clang(&kernel.headers) {
        Some(version) => make.arg(format!("LLVM={version}")),
        None => make.arg(format!("CC={}", kernel.architecture.compiler())),
    };
    make.arg("modules");
    // What an older compiler or pahole than that of the kernel has not; the module needs neither.
    make.args(["CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT=", "CONFIG_DEBUG_INFO_BTF_MODULES="]);
    let architecture = match kernel.architecture {
        Architecture::X86_64 => None,
        Architecture::I386 => Some("i386"),
        Architecture::Arm => Some("arm"),
        Architecture::Arm64 => Some("arm64"),
        Architecture::Riscv64 => Some("riscv"),
        Architecture::S390x => Some("s390"),
        Architecture::Powerpc64 => Some("powerpc"),
    };
    if let Some(architecture) = architecture {
        let tools = kernel.architecture.compiler().trim_end_matches("gcc");
        make.args([format!("ARCH={architecture}"), format!("CROSS_COMPILE={tools}")]);
    }
    take(&mut make, &folder.join("register.ko"), &folder)
}

/// What `make` is told of the clang that built a kernel: `-16`, or `1` where that is the version without a number.
fn clang(headers: &Path) -> Option<String> {
    let config = std::fs::read_to_string(headers.join(".config")).ok()?;
    let version: u32 = config.lines().find_map(|l| l.strip_prefix("CONFIG_CLANG_VERSION="))?.parse().ok()?;
    let suffix = format!("-{}", version / 10000);
    let has_suffix = Command::new(format!("clang{suffix}")).arg("--version").output().is_ok();
    (version > 0).then(|| if has_suffix { suffix } else { "1".to_owned() })
}

/// The modules and those that they need, each behind those that it needs: name and bytes. One that the kernel does not
/// have as a module is left out: it may be built in.
pub fn modules(kernel: &Kernel, wanted: &[&str]) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut files = BTreeMap::new();
    find(&kernel.modules.join("kernel"), &mut files);
    let mut found = vec![];
    for name in wanted.iter().filter(|name| files.contains_key(**name)) {
        add(&files, name, &mut found)?;
    }
    Ok(found)
}

fn add(
    files: &BTreeMap<String, PathBuf>,
    name: &str,
    found: &mut Vec<(String, Vec<u8>)>,
) -> Result<(), String> {
    if found.iter().any(|(n, _)| n == name) {
        return Ok(());
    }
    let path = files.get(name).ok_or_else(|| format!("the kernel has no module {name}"))?;
    let image = Image::open(path).map_err(|e| e.to_string())?;
    let object = Elf::parse(image.bytes()).map_err(|e| format!("{}: {e}", path.display()))?;
    let told = object.section(".modinfo").map(|s| s.raw()).unwrap_or_default();
    let needs = told.split(|b| *b == 0).find_map(|line| line.strip_prefix(b"depends="));
    let needs = String::from_utf8_lossy(needs.unwrap_or_default()).replace('-', "_");
    for need in needs.split(',').filter(|n| !n.is_empty()) {
        add(files, need, found)?;
    }
    // What was opened may be widened: the machine loads what is in the file, which its kernel need not be able to inflate.
    let bytes = match object.address_size {
        4 => inflated(read(path)?)?,
        _ => image.bytes().to_vec(),
    };
    found.push((name.to_owned(), bytes));
    Ok(())
}

fn inflated(bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    const MOST: u64 = 1 << 30;
    match decompress::detect(&bytes) {
        Some(kind) => decompress::decompress(kind, &bytes, MOST).map_err(|e| e.to_string()),
        None => Ok(bytes),
    }
}

/// All modules below a folder, under the names that the kernel gives them.
fn find(folder: &Path, files: &mut BTreeMap<String, PathBuf>) {
    for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()) {
        if path.is_dir() {
            find(&path, files);
        } else if let Some((name, "ko" | "ko.xz" | "ko.zst" | "ko.gz")) =
            path.file_name().and_then(OsStr::to_str).and_then(|n| n.split_once('.'))
        {
            files.insert(name.replace('-', "_"), path);
        }
    }
}

/// A new folder, to be removed when it has served.
pub fn folder(name: &str) -> Result<PathBuf, String> {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let folder = scratch("live").join(format!("{name}-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(folder)
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel/live").join(name)
}

/// What the command makes in the folder, which is removed.
fn take(command: &mut Command, made: &Path, folder: &Path) -> Result<Vec<u8>, String> {
    let bytes = run(command).and_then(|()| read(made));
    let _ = std::fs::remove_dir_all(folder);
    bytes
}

fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let ran = command.stdin(Stdio::null()).output().map_err(|e| format!("cannot run {program}: {e}"))?;
    if ran.status.success() {
        return Ok(());
    }
    Err(format!("{program} failed: {}", String::from_utf8_lossy(&ran.stderr).trim()))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|e| format!("{}: {e}", path.display()))
}
