//! Objects compiled from C, and BTF made by hand.
use probeidx_bpf::btf::Btf;
use probeidx_bpf::object::Object;
use probeidx_bpf::relocate::{Decision, KernelBtf, relocate};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// What the sources start with: what `bpf_helpers.h` and `bpf_core_read.h` give.
const PRELUDE: &str = r#"
#define SEC(name) __attribute__((section(name), used))
#define PAI __attribute__((preserve_access_index))
#define NOINLINE static __attribute__((noinline))
#define OFFSET(f) __builtin_preserve_field_info(f, 0)
#define SIZE(f) __builtin_preserve_field_info(f, 1)
#define EXISTS(f) __builtin_preserve_field_info(f, 2)
#define SIGNED(f) __builtin_preserve_field_info(f, 3)
#define LEFT(f) __builtin_preserve_field_info(f, 4)
#define RIGHT(f) __builtin_preserve_field_info(f, 5)
#define TYPE_EXISTS(t) __builtin_preserve_type_info(*(t *)0, 0)
#define TYPE_SIZE(t) __builtin_preserve_type_info(*(t *)0, 1)
#define VALUE_EXISTS(t, v) __builtin_preserve_enum_value(*(t *)v, 0)
#define VALUE(t, v) __builtin_preserve_enum_value(*(t *)v, 1)
#define __uint(name, val) int (*name)[val]
#define __type(name, val) typeof(val) *name
#define __kconfig __attribute__((section(".kconfig")))
#define __ksym __attribute__((section(".ksyms")))
#define __weak __attribute__((weak))
typedef unsigned long u64;
typedef unsigned int u32;
static long (*probe_read)(void *dst, u32 size, const void *from) = (void *)113;
static u64 (*ktime)(void) = (void *)5;
volatile u64 sink;
char LICENSE[] SEC("license") = "GPL";
"#;

/// Compiles C to an object of this target, `bpfel` or `bpfeb`. `None` with a message if clang is not installed.
pub fn compile_for(target: &str, source: &str) -> Option<Vec<u8>> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = |end: &str| {
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("bpf-{}-{number}.{end}", std::process::id()))
    };
    if Command::new("clang").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        eprintln!("skipped: clang is not installed");
        return None;
    }
    std::fs::write(path("c"), format!("{PRELUDE}\n{source}")).unwrap();
    let mut clang = Command::new("clang");
    clang.args(["-g", "-O2", "-Wno-unused", "-target", target, "-c", "-o"]).arg(path("o")).arg(path("c"));
    let output = clang.output().unwrap();
    assert!(output.status.success(), "{source}\n{}", String::from_utf8_lossy(&output.stderr));
    let bytes = std::fs::read(path("o")).unwrap();
    for end in ["c", "o"] {
        std::fs::remove_file(path(end)).unwrap();
    }
    Some(bytes)
}

/// Compiles C to a little-endian object.
pub fn compile(source: &str) -> Option<Vec<u8>> {
    compile_for("bpfel", source)
}

/// The types of C as those of a kernel: `uses` are the types to be there, as expressions (`struct a`, `enum b`).
pub fn kernel_of(types: &str, uses: &[&str]) -> Option<KernelBtf<'static>> {
    Some(KernelBtf::new(btf_of(types, uses)?, Vec::new()))
}

/// The BTF of types of C.
pub fn btf_of(types: &str, uses: &[&str]) -> Option<Btf<'static>> {
    let variables: String = uses.iter().enumerate().map(|(n, t)| format!("{t} variable_{n};\n")).collect();
    let object = compile(&format!("{types}\n{variables}"))?.leak();
    let object = Object::open(object).unwrap();
    object.btf
}

/// An object with its decisions on a kernel.
pub struct Decided {
    /// The object.
    pub object: Object<'static>,
    /// By relocation.
    pub decisions: Vec<Decision>,
}

impl Decided {
    pub fn new(source: &str, kernel: &KernelBtf<'_>) -> Option<Self> {
        let object = Object::open(compile(source)?.leak()).unwrap();
        assert!(object.refused.is_empty(), "{:?}", object.refused);
        let decisions = relocate(&object, kernel);
        Some(Self { object, decisions })
    }

    /// The new values of applied relocations, by instruction; `None` where it is not applied.
    pub fn values(&self) -> Vec<Option<u64>> {
        let of = |decision: &Decision| match decision {
            Decision::Applied { new, .. } => Some(*new),
            _ => None,
        };
        let mut all: Vec<_> = self.object.relocations.iter().zip(&self.decisions).collect();
        all.sort_by_key(|(relocation, _)| (relocation.function, relocation.instruction));
        all.into_iter().map(|(_, decision)| of(decision)).collect()
    }
}

/// BTF by hand: for what clang 14 does not write.
pub struct BtfBuilder {
    is_big: bool,
    types: Vec<u8>,
    strings: Vec<u8>,
    /// Where strings continue those of a base.
    first_string: u32,
}

impl BtfBuilder {
    /// Of split BTF, `base_strings` is the length of the base's strings; else 0.
    pub fn new(is_big: bool, base_strings: u32) -> Self {
        let strings = if base_strings == 0 { vec![0] } else { Vec::new() };
        Self { is_big, types: Vec::new(), strings, first_string: base_strings }
    }

    pub fn string(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let offset = self.first_string + self.strings.len() as u32;
        self.strings.extend(text.bytes().chain([0]));
        offset
    }

    /// Adds a type: name, kind, flag, number of parts, size or type, and the words that follow.
    pub fn add(
        &mut self,
        name: &str,
        kind: u32,
        flag: bool,
        count: u32,
        last: u32,
        words: &[u32],
    ) -> &mut Self {
        let name = self.string(name);
        let info = u32::from(flag) << 31 | kind << 24 | count;
        for word in [name, info, last].iter().chain(words) {
            self.types.extend(self.word(*word));
        }
        self
    }

    pub fn strings_length(&self) -> u32 {
        self.first_string + self.strings.len() as u32
    }

    fn word(&self, word: u32) -> [u8; 4] {
        if self.is_big { word.to_be_bytes() } else { word.to_le_bytes() }
    }

    pub fn build(&self) -> Vec<u8> {
        let mut bytes = if self.is_big { vec![0xeb, 0x9f, 1, 0] } else { vec![0x9f, 0xeb, 1, 0] };
        let types = self.types.len() as u32;
        for word in [24, 0, types, types, self.strings.len() as u32] {
            bytes.extend(self.word(word));
        }
        bytes.extend(&self.types);
        bytes.extend(&self.strings);
        bytes
    }
}

/// Numbers by a seed: the same on each run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end.max(1)
    }
}
