//! Truncated and damaged objects: an error or an answer, never a panic, and soon.
use crate::support::{BtfBuilder, Random, compile, kernel_of};
use probeidx_bpf::btf::Btf;
use probeidx_bpf::object::Object;
use probeidx_bpf::reach::{Unknown, reach};
use probeidx_bpf::relocate::{KernelBtf, Relocator, relocate};
use probeidx_bpf::{embedded, section};

const SOURCE: &str = r#"
struct { __uint(type, 1); __uint(max_entries, 8); __type(key, u32); __type(value, u64); } counts SEC(".maps");
struct task { int pid; unsigned int bits:3; struct task *parent; struct { int a[4]; }; } PAI;
enum e { A, B };
extern int LINUX_KERNEL_VERSION __kconfig;
const volatile int flag = 1;
NOINLINE int sub(struct task *p) { sink += ktime(); return EXISTS(p->bits) ? LEFT(p->bits) : 0; }
SEC("kprobe/f") int f(void **ctx) {
  struct task *p = *ctx;
  if (flag && LINUX_KERNEL_VERSION > 5) sink += p->pid + p->a[2];
  sink += VALUE(enum e, B) + TYPE_SIZE(struct task) + (u64)&counts;
  return sub(p->parent);
}
"#;

/// Asks all there is to ask.
fn ask(bytes: &[u8], kernel: &KernelBtf<'_>) {
    for range in embedded(bytes) {
        assert!(range.end <= bytes.len());
    }
    let Ok(object) = Object::open(bytes) else { return };
    let decisions = relocate(&object, kernel);
    assert_eq!(decisions.len(), object.relocations.len());
    if let Some(btf) = &object.btf {
        let relocator = Relocator::new(btf, object.byte_order(), kernel);
        object.relocations.iter().for_each(|relocation| drop(relocator.explain(relocation)));
    }
    for (id, function) in object.programs() {
        section::read(function.section);
        object.line(id, 0);
        reach(&object, id, &decisions, &Unknown);
    }
}

#[test]
fn damaged_objects_end_in_an_error_or_an_answer() {
    let Some(good) = compile(SOURCE) else { return };
    let types = "struct task { int pad; int pid; struct task *parent; int a[4]; unsigned int bits:3; }; enum e { A, B };";
    let kernel = kernel_of(types, &["struct task", "enum e"]).unwrap();
    ask(&good, &kernel);
    for length in 0..good.len() {
        // Each length near the headers, and every 13th.
        if length < 100 || length % 13 == 0 {
            ask(&good[..length], &kernel);
        }
    }
    let seed = std::env::var("PROBEIDX_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    eprintln!("PROBEIDX_SEED={seed}");
    let mut random = Random(seed);
    for _ in 0..6000 {
        let mut bytes = good.clone();
        for _ in 0..=random.below(6) {
            let at = random.below(bytes.len());
            bytes[at] = match random.below(4) {
                0 => 0,
                1 => 0xff,
                2 => bytes[at] ^ 1 << random.below(8),
                _ => random.below(256) as u8,
            };
        }
        ask(&bytes, &kernel);
    }
}

#[test]
fn damaged_types_of_a_kernel_do_no_harm() {
    let Some(object) = compile(SOURCE) else { return };
    let object = Object::open(&object).unwrap();
    let mut b = BtfBuilder::new(false, 0);
    let names = ["pid", "a", "bits", "parent"].map(|name| b.string(name));
    let members: Vec<u32> = names.iter().zip([2, 3, 2, 4]).flat_map(|(name, id)| [*name, id, 8]).collect();
    b.add("task", 4, true, 4, 32, &members).add("int", 1, false, 0, 4, &[1 << 24 | 32]);
    b.add("", 3, false, 0, 0, &[2, 2, 4]).add("", 2, false, 0, 1, &[]);
    let value = b.string("B");
    b.add("e", 6, false, 1, 4, &[value, 3]);
    let good = b.build();
    let mut random = Random(7);
    let mut parsed = 0;
    for _ in 0..6000 {
        let mut bytes = good.clone();
        for _ in 0..=random.below(3) {
            let at = 24 + random.below(bytes.len() - 24);
            let end = [8, 256][random.below(2)];
            bytes[at] = random.below(end) as u8;
        }
        if let Ok(btf) = Btf::parse(&bytes, None, "kernel") {
            parsed += 1;
            relocate(&object, &KernelBtf::new(btf, Vec::new()));
        }
    }
    assert!(parsed > 1000, "only {parsed} of the damaged ones were read");
}

#[test]
fn files_of_headers_cost_one_pass() {
    let header = [&b"\x7fELF\x02\x01\x01"[..], &[0; 9], &[1, 0, 247, 0], &[0; 44]].concat();
    let file = header.repeat(50_000);
    assert!(embedded(&file).is_empty());
}
