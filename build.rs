//! How the program is linked: at a fixed address, with a static C library if there is one, and with the functions of short
//! questions side by side.
//!
//! A question is answered in less time than it takes to load a dynamic program: 1.1 ms of 3.0 were spent on loading
//! three libraries and relocating 76 KB of pointers (Debian 12, in a virtual machine). Cargo can ask for a static
//! program only by flags that its user gives, so the linker finds static libraries under the names of dynamic ones.
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// What each library that rustc names is replaced by. They refer to each other.
const LIBRARIES: [(&str, &[&str]); 3] = [
    ("c", &["libc.a", "libgcc_eh.a", "libgcc.a"]),
    ("gcc_s", &["libgcc_eh.a", "libgcc.a", "libc.a"]),
    ("m", &["libm.a"]),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={ORDER}");
    println!("cargo::rerun-if-env-changed=PROBEIDX_DYNAMIC");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let is_gnu = variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    let is_native = variable("HOST") == variable("TARGET");
    // Names of hosts are resolved by libraries that are loaded at run time.
    let resolves_names = env::var_os("CARGO_FEATURE_DEBUGINFOD").is_some();
    if !is_gnu || !is_native || resolves_names || env::var_os("PROBEIDX_DYNAMIC").is_some() {
        return;
    }
    if let Some(folder) = static_libraries(Path::new(&variable("OUT_DIR"))) {
        for argument in ["-static", "-no-pie", &format!("-L{}", folder.display())] {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
    if is_ordered() {
        for argument in order(Path::new(&variable("OUT_DIR"))).iter().flatten() {
            println!("cargo::rustc-link-arg-bins=-Wl,{argument}");
        }
    }
}

/// The functions that short questions call, one a line below the rustc that named them: `scripts/link-order`; `17h*` at the
/// end of a name stands for any hash. Side by side they fill few of the windows of 64 KiB in which the kernel maps a file.
const ORDER: &str = "link/order";

/// Whether the names are those of this rustc, and it links by lld as it does unless told otherwise.
fn is_ordered() -> bool {
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let said =
        Command::new(variable("RUSTC")).arg("--version").output().map(|out| out.stdout).unwrap_or_default();
    let said = String::from_utf8_lossy(&said).into_owned();
    let of = fs::read_to_string(ORDER).unwrap_or_default();
    let is_of =
        of.lines().next().and_then(|line| line.strip_prefix("# ")).is_some_and(|of| said.starts_with(of));
    let is_lld = variable("TARGET") == "x86_64-unknown-linux-gnu" && env::var_os("RUSTC_LINKER").is_none();
    is_of && is_lld && !variable("CARGO_ENCODED_RUSTFLAGS").contains("link")
}

/// What tells the linker the order. A function of Rust has a section of its own, and the hash at the end of its name is another
/// one with each change of a dependency: the script has a pattern for it. What C has is known by its symbol.
fn order(out: &Path) -> Option<[String; 3]> {
    let order = fs::read_to_string(ORDER).ok()?;
    let (rust, c): (Vec<&str>, Vec<&str>) = order
        .lines()
        .filter(|line| !line.starts_with('#'))
        .partition(|name| name.starts_with("_ZN") || name.starts_with("_R"));
    // What the compiler holds to be called rarely has another section.
    let sections = rust.iter().map(|name| format!("*(.text.{name} .text.unlikely.{name})\n"));
    let sections: String = sections.collect();
    let (script, symbols) = (out.join("order.lds"), out.join("order"));
    fs::write(&script, format!("SECTIONS {{ .text.short : {{\n{sections}}} }}\nINSERT BEFORE .text;\n"))
        .ok()?;
    fs::write(&symbols, c.join("\n")).ok()?;
    Some([
        format!("-T,{}", script.display()),
        format!("--symbol-ordering-file={}", symbols.display()),
        "--no-warn-symbol-ordering".to_owned(),
    ])
}

/// Makes a folder of linker scripts that name static libraries; `None` if one of them is not there.
fn static_libraries(out: &Path) -> Option<PathBuf> {
    let folder = out.join("static");
    fs::create_dir_all(&folder).ok()?;
    for (name, parts) in LIBRARIES {
        let paths: Option<Vec<String>> = parts.iter().map(|part| library(part)).collect();
        fs::write(folder.join(format!("lib{name}.so")), format!("GROUP ( {} )\n", paths?.join(" "))).ok()?;
    }
    Some(folder)
}

/// Where the C compiler finds a library.
fn library(name: &str) -> Option<String> {
    let asked = Command::new("cc").arg(format!("-print-file-name={name}")).output().ok()?;
    let path = String::from_utf8(asked.stdout).ok()?.trim().to_owned();
    // It answers with the name alone if it finds none.
    Path::new(&path).is_absolute().then_some(path)
}
