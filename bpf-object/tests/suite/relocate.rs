//! Decisions on relocations, against what is counted by hand. The oracle compares with libbpf.
use crate::support::{BtfBuilder, Decided, btf_of, compile, compile_for, kernel_of};
use probeidx_bpf::btf::Btf;
use probeidx_bpf::object::Object;
use probeidx_bpf::relocate::{Decision, Failure, KernelBtf, Mismatch, Poison, Relocator, relocate};
use probeidx_bpf::types::Kind;

/// A kernel's types.
const KERNEL: &str = r#"
struct nested { int x; struct { long deep; union { int left; int right; }; }; };
struct task { char pad[16]; int pid; unsigned short small; struct nested in; int numbers[4];
              unsigned int low:3, high:5; signed char name[8]; struct task *parent; struct task *children[]; };
enum color { RED = 1, GREEN = 7, BLUE = -1 };
typedef struct task task_t;
"#;

fn decided(body: &str) -> Option<Decided> {
    let kernel = kernel_of(KERNEL, &["struct task *", "enum color", "task_t *", "struct nested"])?;
    let main = format!("SEC(\"kprobe/f\") int f(void **ctx) {{ struct task *p = *ctx; {body} return 0; }}");
    Decided::new(&format!("{LOCAL}{main}"), &kernel)
}

/// What an object has of them: other offsets, some members missing, one renamed.
const LOCAL: &str = r#"
struct nested { union { int right; int left; }; long deep; int x; } PAI;
struct task { struct task *parent; signed char name[4]; int pid; u64 small; int numbers[4]; struct nested in;
              unsigned int high:5, low:3; int gone; short pid_x; struct task *children[]; } PAI;
enum color { BLUE___mine, GREEN___mine, PINK };
"#;

/// What is added to `sink` by each expression.
fn values(expressions: &[&str]) -> Option<Vec<Option<u64>>> {
    let body: String = expressions.iter().map(|e| format!("sink += {e};")).collect();
    Some(decided(&body)?.values())
}

#[test]
fn fields_are_found_by_name() {
    let fields = ["OFFSET(p->pid)", "SIZE(p->small)", "EXISTS(p->gone)", "EXISTS(p->pid)", "SIGNED(p->pid)"];
    let Some(found) = values(&fields) else { return };
    assert_eq!(found, [16, 2, 0, 1, 1].map(Some));
    // Anonymous structs and unions are looked through; elements are counted.
    let nested =
        ["OFFSET(p->in.deep)", "OFFSET(p->in.right)", "OFFSET(p->numbers[2])", "OFFSET(p->children[3])"];
    assert_eq!(values(&nested).unwrap(), [32, 40, 56, 112].map(Some));
    assert_eq!(values(&["OFFSET(p->name[3])", "SIZE(p->name)"]).unwrap(), [68, 8].map(Some));
}

#[test]
fn bit_fields_have_shifts() {
    // `high` is bits 3 to 8 of the word at 64 in the kernel: of its first byte.
    let Some(found) = values(&["OFFSET(p->high)", "SIZE(p->high)", "LEFT(p->high)", "RIGHT(p->high)"]) else {
        return;
    };
    assert_eq!(found, [64, 4, 56, 59].map(Some));
}

#[test]
fn big_endian_bit_fields_shift_from_the_other_end() {
    let source = "struct task { unsigned int low:3, high:5; } PAI;
        SEC(\"kprobe/f\") int f(void **ctx) { struct task *p = *ctx; sink += LEFT(p->high); return 0; }";
    let types = "struct task { unsigned int low:3, high:5; }; struct task t;";
    let (Some(object), Some(kernel)) = (compile_for("bpfeb", source), compile_for("bpfeb", types)) else {
        return;
    };
    let kernel = Object::open(&kernel).unwrap().btf.unwrap();
    let object = Object::open(&object).unwrap();
    // (8 - 4) * 8 + 3
    let decisions = relocate(&object, &KernelBtf::new(kernel, Vec::new()));
    assert!(matches!(decisions[..], [Decision::Applied { new: 35, .. }]), "{decisions:?}");
}

#[test]
fn types_and_enumerators() {
    let Some(found) =
        values(&["TYPE_EXISTS(struct task)", "TYPE_SIZE(struct task)", "TYPE_SIZE(struct nested)"])
    else {
        return;
    };
    assert_eq!(found, [1, 88, 24].map(Some));
    let enumerators = [
        "VALUE(enum color, GREEN___mine)",
        "VALUE(enum color, BLUE___mine)",
        "VALUE_EXISTS(enum color, PINK)",
        "VALUE_EXISTS(enum color, GREEN___mine)",
    ];
    assert_eq!(values(&enumerators).unwrap(), [7, u64::MAX, 0, 1].map(Some));
    assert_eq!(values(&["VALUE(enum color, PINK)"]).unwrap(), [None]);
}

#[test]
fn what_is_missing_is_explained() {
    let Some(kernel) = kernel_of(KERNEL, &["struct task *", "enum color"]) else { return };
    let explain = |declaration: &str, expression: &str| {
        let source = format!(
            "{declaration} SEC(\"kprobe/f\") int f(void **ctx) {{ sink += {expression}; return 0; }}"
        );
        let object = Object::open(compile(&source).unwrap().leak()).unwrap();
        let relocator = Relocator::new(object.btf.as_ref().unwrap(), object.byte_order(), &kernel);
        relocator.explain(&object.relocations[0]).map(|reason| (reason.reached, reason.mismatch))
    };
    let of = |member: &str| {
        format!("struct nested {{ int {member}; }} PAI; struct task {{ struct nested in; }} PAI;")
    };
    let access = |member: &str| format!("OFFSET(((struct task *)*ctx)->in.{member})");
    let missing = Mismatch::NoMember { member: b"lost".to_vec() };
    assert_eq!(explain(&of("lost"), &access("lost")), Some(("in".into(), missing)));
    assert_eq!(explain(&of("x"), &access("x")), None);
    let other = "struct task { char *pid; } PAI;";
    let kind = Mismatch::Kind { member: b"pid".to_vec(), wanted: Kind::Pointer, found: Kind::Int };
    assert_eq!(explain(other, "OFFSET(((struct task *)*ctx)->pid)"), Some((String::new(), kind)));
    let far = "struct task { int numbers[9]; } PAI;";
    let bounds = Mismatch::OutOfBounds { index: 8, found: 4 };
    assert_eq!(explain(far, "OFFSET(((struct task *)*ctx)->numbers[8])"), Some(("numbers".into(), bounds)));
    let none = Mismatch::NoType { wanted: Kind::Union, others: vec![Kind::Struct] };
    assert_eq!(explain("union task { int a; } PAI;", "TYPE_EXISTS(union task)"), Some((String::new(), none)));
}

#[test]
fn loads_follow_the_width_of_unsigned_fields_only() {
    let kernel = "struct s { char pad[4]; unsigned int wide; unsigned int narrow; int number; };";
    let Some(kernel) = kernel_of(kernel, &["struct s"]) else { return };
    let source = "struct s { u64 wide; unsigned short narrow; long number; } PAI;
        SEC(\"kprobe/f\") int f(struct s **ctx) { struct s *p = *ctx; sink += p->wide; sink += p->narrow;
        sink += p->number; return 0; }";
    let decided = Decided::new(source, &kernel).unwrap();
    let mut all: Vec<_> = decided.object.relocations.iter().zip(&decided.decisions).collect();
    all.sort_by_key(|(relocation, _)| relocation.instruction);
    let [(_, wide), (_, narrow), (_, number)] = all[..] else { panic!("{all:?}") };
    for (decision, offset) in [(wide, 4), (narrow, 8)] {
        let Decision::Applied { patch, .. } = decision else { panic!("{decision:?}") };
        assert_eq!((patch.first.width(), patch.first.off), (4, offset));
    }
    assert_eq!(*number, Decision::Poisoned(Poison::Width { original: 8, new: 4 }));
}

#[test]
fn several_types_of_a_name_must_agree() {
    let two = "struct s { int a; int b; }; struct s___2 { int x; int a; int b; }; struct s___3 { int a; };";
    let uses = ["struct s", "struct s___2", "struct s___3"];
    let Some(kernel) = kernel_of(two, &uses) else { return };
    let decide = |body: &str| {
        let source = format!(
            "struct s {{ int a; int b; int x; }} PAI;
             SEC(\"kprobe/f\") int f(void **ctx) {{ struct s *p = *ctx; {body} return 0; }}"
        );
        Decided::new(&source, &kernel).unwrap().decisions
    };
    assert_eq!(decide("sink += OFFSET(p->a);")[..], [Decision::Failed(Failure::AmbiguousOffset(0, 32))]);
    // What has no `x` is not asked for `a` any more, as in libbpf.
    let order = decide("sink += OFFSET(p->x); sink += OFFSET(p->a);");
    assert!(matches!(order[1], Decision::Applied { new: 4, .. }), "{order:?}");
    assert_eq!(
        decide("sink += TYPE_SIZE(struct s);")[..],
        [Decision::Failed(Failure::AmbiguousValue(8, 12))]
    );
}

#[test]
fn modules_are_asked_only_for_what_the_kernel_lacks() {
    let source = "struct only_module { int a; int b; } PAI; struct both { int a; int b; } PAI;
        SEC(\"kprobe/f\") int f(void **ctx) { struct only_module *m = *ctx; struct both *p = *ctx;
        sink += OFFSET(m->b); sink += OFFSET(p->b); return 0; }";
    let Some(vmlinux) = btf_of("struct both { int pad; int a; int b; };", &["struct both"]) else { return };
    let types = "struct both { int b; }; struct only_module { int pad[3]; int b; };";
    let module = btf_of(types, &["struct both", "struct only_module"]).unwrap();
    let decided = Decided::new(source, &KernelBtf::new(vmlinux, vec![module])).unwrap();
    assert_eq!(decided.values(), [Some(12), Some(8)]);
}

#[test]
fn deep_types_end() {
    // Each struct has two anonymous members of the next: 2^40 ways to a member that is not there.
    let mut b = BtfBuilder::new(false, 0);
    for n in 1..=40u32 {
        let next = if n == 40 { 41 } else { n + 1 };
        let words = [0, next, 0, 0, next, 0];
        let name = if n == 1 { "s" } else { "" };
        b.add(name, 4, false, 2, 8, &words);
    }
    let only = b.string("only");
    b.add("", 4, false, 1, 4, &[only, 42, 0]).add("int", 1, false, 0, 4, &[32]);
    let bytes = b.build();
    let kernel = KernelBtf::new(Btf::parse(&bytes, None, "kernel").unwrap(), Vec::new());
    let source = "struct s { int absent; } PAI;
        SEC(\"kprobe/f\") int f(void **ctx) { sink += OFFSET(((struct s *)*ctx)->absent); return 0; }";
    let Some(decided) = Decided::new(source, &kernel) else { return };
    assert_eq!(decided.decisions[..], [Decision::Failed(Failure::TooComplex)]);
}
