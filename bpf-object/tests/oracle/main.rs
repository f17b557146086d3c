//! Objects, section names and every CO-RE relocation as libbpf itself has them, for real and generated objects on real
//! kernels.
//!
//! ```text
//! PROBEIDX_LIBBPF   libbpf's sources, 1.7 or later (github.com/libbpf/libbpf); libelf's and zlib's headers are needed
//! PROBEIDX_BTF      a folder with the .BTF of kernels, one file each
//! PROBEIDX_OBJECTS  a folder with programs or objects; optional (Debian's package libbpf-tools has some)
//! ```
//!
//! Without the first two it says that it is skipped.
mod generate;

use probeidx_bpf::btf::Btf;
use probeidx_bpf::embedded;
use probeidx_bpf::object::{ExternKind, KconfigType, Object};
use probeidx_bpf::relocate::{Decision, KernelBtf, relocate};
use probeidx_bpf::section;
use probeidx_bpf::types::TypeId;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A relocation by function, number and instruction.
type Key = (String, u32, u32);

/// What is compared, or `None` where it is not there.
struct Compared {
    /// The program that asks libbpf.
    oracle: PathBuf,
    scratch: PathBuf,
    kernels: Vec<PathBuf>,
    /// Objects of real programs.
    objects: Vec<Vec<u8>>,
}

fn compared(name: &str) -> Option<Compared> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let (Some(libbpf), Some(kernels)) = (folder("PROBEIDX_LIBBPF"), folder("PROBEIDX_BTF")) else {
        eprintln!("skipped: PROBEIDX_LIBBPF and PROBEIDX_BTF are not set");
        return None;
    };
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&scratch).unwrap();
    static ORACLE: OnceLock<PathBuf> = OnceLock::new();
    let oracle = ORACLE.get_or_init(|| compile(&libbpf, &scratch)).clone();
    let mut objects: Vec<Vec<u8>> = Vec::new();
    for path in folder("PROBEIDX_OBJECTS").iter().flat_map(|folder| files(folder)) {
        let file = fs::read(path).unwrap();
        objects.extend(embedded(&file).into_iter().map(|range| file[range].to_vec()));
    }
    Some(Compared { oracle, scratch, kernels: files(&kernels), objects })
}

#[test]
fn parts_are_those_of_libbpf() {
    let Some(Compared { oracle, scratch, objects, .. }) = compared("parts") else { return };
    let (mut lines, mut refused) = (0, 0);
    for (number, bytes) in objects.iter().enumerate() {
        let path = scratch.join("object.o");
        fs::write(&path, bytes).unwrap();
        let output = Command::new(&oracle).arg("parts").arg(&path).output().unwrap();
        let mut theirs: Vec<_> =
            std::str::from_utf8(&output.stdout).unwrap().lines().map(str::to_string).collect();
        let object = Object::open(bytes).unwrap();
        // What libbpf does not open has a reason here, and the other way round.
        let is_opened = theirs != ["unopened"];
        assert_eq!(is_opened, object.refused.is_empty(), "object {number}: {:?}", object.refused);
        if !is_opened {
            refused += 1;
            continue;
        }
        let mut ours = parts(&object);
        theirs.sort();
        ours.sort();
        assert_eq!(ours, theirs);
        lines += ours.len();
    }
    eprintln!("{lines} functions, maps and externs of {} objects, {refused} refused", objects.len());
}

/// The parts of an object, as `decisions.c` prints them.
fn parts(object: &Object<'_>) -> Vec<String> {
    let text = |name: &[u8]| String::from_utf8(name.to_vec()).unwrap();
    let mut lines = vec![format!("license {}", text(object.license))];
    lines.extend(object.functions.iter().map(|f| {
        let (autoload, is_subprogram) = (u8::from(f.autoload), u8::from(f.is_subprogram));
        let (name, section) = (text(f.name), text(f.section));
        format!("function {name} {section} {autoload} {is_subprogram} {} {}", f.start, f.code.len())
    }));
    lines.extend(object.maps.iter().map(|map| {
        let id = |id: Option<TypeId>| id.unwrap_or_default().0;
        let (key, value) = (id(map.key_type), id(map.value_type));
        let name = text(map.name);
        format!("map {name} {} {} {} {} {key} {value}", map.kind, map.key_size, map.value_size, map.flags)
    }));
    lines.extend(object.externs.iter().map(|external| {
        let (is_option, kind) = match external.kind {
            ExternKind::Kconfig(kind) => (1, kconfig_number(kind)),
            ExternKind::Variable(id) | ExternKind::Kfunc(id) => (0, id.0),
            ExternKind::Symbol => (0, 0),
        };
        format!("extern {} {} {is_option} {kind}", text(external.name), u8::from(external.is_weak))
    }));
    lines
}

/// `enum kcfg_type` of libbpf.
fn kconfig_number(kind: KconfigType) -> u32 {
    match kind {
        KconfigType::Char => 1,
        KconfigType::Bool => 2,
        KconfigType::Integer { .. } => 3,
        KconfigType::Tristate => 4,
        KconfigType::Text(_) => 5,
    }
}

#[test]
fn sections_are_those_of_libbpf() {
    let Some(Compared { oracle, .. }) = compared("sections") else { return };
    let mut names = Vec::new();
    for definition in section::definitions() {
        let stem = definition.name.trim_end_matches('+');
        names.extend(["", "/", "/x", "x", ".s", ".s/x", ".multi/x"].map(|end| format!("{stem}{end}")));
        names.push(stem[..stem.len() - 1].to_string());
    }
    let output = Command::new(oracle).arg("sections").args(&names).output().unwrap();
    let theirs = std::str::from_utf8(&output.stdout).unwrap().lines();
    let ours =
        names.iter().map(|name| match section::read(name.as_bytes()).map(|section| section.definition) {
            Some(d) => {
                let attach = d.attach.map_or(0, |attach| attach as u32);
                format!("{} {attach} {}", d.program as u32, u8::from(d.is_sleepable))
            }
            None => "unknown".to_string(),
        });
    let both: Vec<_> = names.iter().zip(ours).zip(theirs).collect();
    assert_eq!(both.len(), names.len());
    for ((name, ours), theirs) in both {
        assert_eq!(ours, theirs, "{name}");
    }
}

#[test]
fn decisions_are_those_of_libbpf() {
    let Some(Compared { oracle, scratch, kernels, mut objects }) = compared("decisions") else { return };
    for (number, kernel) in kernels.iter().enumerate() {
        let btf = fs::read(kernel).unwrap();
        let btf = Btf::parse(&btf, None, "kernel").unwrap();
        objects.extend(generate::objects(&btf, number as u64 + 1, &scratch));
    }
    let (mut compared, mut different) = (0, Vec::new());
    let mut counts = BTreeMap::new();
    for kernel in &kernels {
        let bytes = fs::read(kernel).unwrap();
        let types = KernelBtf::new(Btf::parse(&bytes, None, "kernel").unwrap(), Vec::new());
        for (number, bytes) in objects.iter().enumerate() {
            let path = scratch.join("object.o");
            fs::write(&path, bytes).unwrap();
            let Some(theirs) = asked(&oracle, &path, kernel) else { continue };
            let ours = decided(bytes, &types);
            assert_eq!(ours.len(), theirs.len(), "object {number}: other relocations");
            for (key, answer) in &ours {
                compared += 1;
                *counts.entry(answer.split(' ').next().unwrap().to_string()).or_insert(0) += 1;
                if theirs.get(key) != Some(answer) {
                    let kernel = kernel.file_name().unwrap();
                    different.push(format!(
                        "{kernel:?} object {number} {key:?}: {answer}, libbpf {:?}",
                        theirs.get(key)
                    ));
                }
            }
        }
    }
    eprintln!("{compared} relocations on {} kernels, {counts:?}, {} differ", kernels.len(), different.len());
    assert!(different.is_empty(), "{}", different[..different.len().min(20)].join("\n"));
    assert!(compared > 50_000, "only {compared} compared");
}

/// Our decisions, as `decisions.c` prints libbpf's.
fn decided(bytes: &[u8], kernel: &KernelBtf<'_>) -> BTreeMap<Key, String> {
    let object = Object::open(bytes).unwrap();
    let decisions = relocate(&object, kernel);
    let answers = object.relocations.iter().zip(decisions).map(|(relocation, decision)| {
        let name = String::from_utf8(object.function(relocation.function).name.to_vec()).unwrap();
        let answer = match decision {
            Decision::Applied { new, patch, .. } => {
                let first = patch.first;
                let second = patch.second.map_or(0, |second| second.imm);
                format!("applied {new} {} {} {} {second}", first.code, first.off, first.imm)
            }
            Decision::Poisoned(_) => "poisoned".to_string(),
            Decision::Failed(_) => "failed".to_string(),
        };
        ((name, relocation.number, relocation.instruction), answer)
    });
    answers.collect()
}

/// libbpf's decisions. `None` if it does not open the object.
fn asked(oracle: &Path, object: &Path, kernel: &Path) -> Option<BTreeMap<Key, String>> {
    let output = Command::new(oracle).arg(object).arg(kernel).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let says = |word| text.lines().any(|line| line == word);
    assert!(output.status.success() && !says("no btf"), "{object:?} and {kernel:?}: {text}");
    if says("unopened") {
        return None;
    }
    let lines = text.lines().filter(|line| !line.starts_with("object "));
    let answers = lines.map(|line| {
        let mut words = line.splitn(4, ' ');
        let mut word = || words.next().unwrap();
        ((word().to_string(), word().parse().unwrap(), word().parse().unwrap()), word().to_string())
    });
    Some(answers.collect())
}

fn compile(libbpf: &Path, scratch: &Path) -> PathBuf {
    let oracle = scratch.join("libbpf");
    let source = libbpf.join("src");
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/decisions.c");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-w", "-D_GNU_SOURCE", "-D_LARGEFILE64_SOURCE", "-D_FILE_OFFSET_BITS=64"]);
    cc.args(std::env::var("CFLAGS").unwrap_or_default().split_whitespace());
    for include in [source.clone(), libbpf.join("include"), libbpf.join("include/uapi")] {
        cc.arg("-I").arg(include);
    }
    cc.arg("-o").arg(&oracle).arg(here);
    // The first file includes libbpf.c itself.
    cc.args(files(&source).iter().filter(|file| {
        file.extension().is_some_and(|extension| extension == "c") && file.file_name().unwrap() != "libbpf.c"
    }));
    cc.args(std::env::var("LDFLAGS").unwrap_or_default().split_whitespace()).args(["-lelf", "-lz"]);
    assert!(cc.status().unwrap().success(), "libbpf's sources do not compile");
    oracle
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file() && !path.is_symlink());
    files.sort();
    files
}
