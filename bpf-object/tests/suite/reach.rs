//! What of a program is reached.
use crate::support::{Decided, kernel_of};
use probeidx_bpf::object::FunctionId;
use probeidx_bpf::reach::{Environment, Reached, Unknown, reach};
use probeidx_bpf::relocate::Decision;

const KERNEL: &str = "struct task { int pad; int pid; int state; }; enum e { THERE = 2 };";

const LOCAL: &str = "struct task { int pid; int gone; int state; } PAI;
struct lost { int a; } PAI; struct task___new { int fresh; } PAI; enum e { THERE, NOT_THERE };
static long (*loop)(u32 times, void *callback, void *ctx, u64 flags) = (void *)181;
extern int LINUX_KERNEL_VERSION __kconfig;
extern void bpf_maybe(void) __ksym __weak;
const volatile int enabled = 0;
const volatile int limit = 5;
";

/// An environment as tests need it.
#[derive(Default)]
struct Given {
    option: Option<u64>,
    exists: Option<bool>,
    is_lazy: bool,
}

impl Environment for Given {
    fn option(&self, _: u32) -> Option<u64> {
        self.option
    }

    fn exists(&self, _: u32) -> Option<bool> {
        self.exists
    }

    fn checks_called_only(&self) -> bool {
        self.is_lazy
    }
}

/// The program of a source, and what is reached of it.
pub(super) fn followed<E: Environment>(source: &str, environment: &E) -> Option<(Decided, Reached)> {
    let kernel = kernel_of(KERNEL, &["struct task", "enum e"])?;
    let decided = Decided::new(&format!("{LOCAL}{source}"), &kernel)?;
    let (program, _) = decided.object.programs().next().unwrap();
    let reached = reach(&decided.object, program, &decided.decisions, environment);
    assert!(!reached.is_bounded);
    Some((decided, reached))
}

/// The program of a body of `p`, a task: how many relocations fail, and how many of these are reached.
fn failures(body: &str) -> Option<(usize, usize)> {
    let source = format!("SEC(\"kprobe/f\") int f(void **ctx) {{ struct task *p = *ctx; {body} return 0; }}");
    failures_of(&source, &Unknown)
}

fn failures_of<E: Environment>(source: &str, environment: &E) -> Option<(usize, usize)> {
    let (decided, reached) = followed(source, environment)?;
    let is_broken = |decision: &Decision| !matches!(decision, Decision::Applied { .. });
    let failed = decided.decisions.iter().filter(|decision| is_broken(decision)).count();
    let hit =
        reached.relocations.iter().filter(|r| is_broken(&decided.decisions[r.relocation as usize])).count();
    Some((failed, hit))
}

const READ: &str = "probe_read((void *)&sink, 4, &p->gone);";

#[test]
fn guards_are_understood() {
    let Some(bare) = failures(READ) else { return };
    assert_eq!(bare, (1, 1));
    for guard in [
        "EXISTS(p->gone)",
        "TYPE_EXISTS(struct lost)",
        "TYPE_SIZE(struct lost) > 0",
        "VALUE_EXISTS(enum e, NOT_THERE)",
        "EXISTS(p->pid) && EXISTS(p->gone)",
        "OFFSET(p->pid) == 0",
        "SIZE(p->pid) != 4",
        "!VALUE_EXISTS(enum e, THERE)",
        "EXISTS(((struct task___new *)p)->fresh)",
    ] {
        assert_eq!(failures(&format!("if ({guard}) {{ {READ} }}")), Some((1, 0)), "{guard}");
        assert_eq!(failures(&format!("if (!({guard})) {{ {READ} }}")), Some((1, 1)), "not {guard}");
    }
}

#[test]
fn guards_travel() {
    // Through memory that the compiler cannot see through, over calls, through arithmetic, returns and arguments.
    let through_stack = format!("volatile int has = EXISTS(p->gone); ktime(); if (has) {{ {READ} }}");
    let Some(stack) = failures(&through_stack) else { return };
    assert_eq!(stack, (1, 0));
    let through_arithmetic =
        format!("volatile u64 has = EXISTS(p->gone); if ((has << 3 | has) + 1 == 10) {{ {READ} }}");
    assert_eq!(failures(&through_arithmetic), Some((1, 0)));
    let called = |body: &str| {
        let source = format!(
            "NOINLINE int has(struct task *p) {{ ktime(); return EXISTS(p->gone); }}
             NOINLINE int get(struct task *p, int may) {{ if (may) {{ {READ} }} return ktime(); }}
             SEC(\"kprobe/f\") int f(void **ctx) {{ struct task *p = *ctx; {body} return 0; }}"
        );
        failures_of(&source, &Unknown)
    };
    assert_eq!(called("sink += get(p, has(p));"), Some((1, 0)));
    assert_eq!(called("sink += get(p, EXISTS(p->gone)); sink += has(p);"), Some((1, 0)));
    assert_eq!(called("sink += get(p, has(p)); sink += get(p, 1);"), Some((1, 1)));
    let by_pointer = |value: &str| {
        let source = format!(
            "NOINLINE int set(struct task *p, int *to) {{ *to = {value}; return ktime(); }}
             SEC(\"kprobe/f\") int f(void **ctx) {{ struct task *p = *ctx; int may = 1; set(p, &may);
             if (may) {{ {READ} }} return 0; }}"
        );
        failures_of(&source, &Unknown)
    };
    assert_eq!(by_pointer("EXISTS(p->gone)"), Some((1, 0)));
    assert_eq!(by_pointer("EXISTS(p->pid)"), Some((1, 1)));
}

#[test]
fn a_helper_may_write_what_it_is_given() {
    let body = format!("volatile int has = 0; probe_read((void *)&has, 4, p); if (has) {{ {READ} }}");
    let Some(found) = failures(&body) else { return };
    assert_eq!(found, (1, 1));
}

#[test]
fn loops_end() {
    // In a function of its own, or clang takes the offset out of the loop and of its guard.
    let counted = |count: &str| {
        let source = format!(
            "NOINLINE int get(struct task *p) {{ {READ} return ktime(); }}
             SEC(\"kprobe/f\") int f(void **ctx) {{ struct task *p = *ctx;
             for (volatile int i = 0; i < {count}; i++) {{ if (EXISTS(p->gone)) sink += get(p); }} return 0; }}"
        );
        failures_of(&source, &Unknown)
    };
    let Some(found) = counted("1000") else { return };
    assert_eq!(found, (1, 0));
    assert_eq!(counted("(int)sink"), Some((1, 0)));
    let unknown = format!("for (u64 i = 0; i < sink; i++) {{ if (i == 77) {{ {READ} }} }}");
    assert_eq!(failures(&unknown), Some((1, 1)));
    // A loop that takes 70 rounds before it gets there is still found to.
    let late = format!("for (volatile int i = 0; i < 70; i++) ktime(); {READ}");
    assert_eq!(failures(&late), Some((1, 1)));
}

#[test]
fn variables_of_the_loader_are_conditions() {
    let source = |guard: &str| {
        format!(
            "SEC(\"kprobe/f\") int f(void **ctx) {{ struct task *p = *ctx; if ({guard}) {{ {READ} }} return 0; }}"
        )
    };
    let conditions = |guard: &str| {
        let (decided, reached) = followed(&source(guard), &Unknown)?;
        let is_broken = |n: u32| !matches!(decided.decisions[n as usize], Decision::Applied { .. });
        let hit = reached.relocations.iter().find(|r| is_broken(r.relocation)).unwrap();
        let named = hit.conditions.iter().map(|condition| {
            let (image, variable) = condition.variable;
            let variable = &decided.object.images[image as usize].variables[variable as usize];
            (String::from_utf8(variable.name.to_vec()).unwrap(), condition.is_initial)
        });
        Some(named.collect::<Vec<_>>())
    };
    let Some(on) = conditions("enabled") else { return };
    assert_eq!(on, [("enabled".to_string(), false)]);
    assert_eq!(conditions("!enabled"), Some(vec![("enabled".to_string(), true)]));
    assert_eq!(conditions("limit == 5"), Some(vec![("limit".to_string(), true)]));
    assert_eq!(conditions("sink + enabled == 3"), Some(vec![]));
    assert_eq!(
        failures("if (enabled && EXISTS(p->gone)) { probe_read((void *)&sink, 4, &p->gone); }"),
        Some((1, 0))
    );
}

#[test]
fn versions_and_kfuncs_are_asked_for() {
    let source = format!(
        "SEC(\"kprobe/f\") int f(void **ctx) {{ struct task *p = *ctx;
         if (LINUX_KERNEL_VERSION < 0x60000) {{ {READ} }} if (bpf_maybe) bpf_maybe(); return 0; }}"
    );
    let with = |option, exists| {
        let given = Given { option, exists, is_lazy: false };
        Some((failures_of(&source, &given)?.1, followed(&source, &given)?.1.kfuncs.len()))
    };
    let Some(unknown) = with(None, None) else { return };
    assert_eq!(unknown, (1, 1));
    assert_eq!(with(Some(0x61000), Some(true)), Some((0, 1)));
    assert_eq!(with(Some(0x51000), Some(false)), Some((1, 0)));
}

#[test]
fn global_subprograms_are_checked_by_themselves() {
    let source = format!(
        "__attribute__((noinline)) int global(struct task *p) {{ {READ} return ktime(); }}
         SEC(\"kprobe/f\") int f(void **ctx) {{ if (EXISTS(((struct task *)*ctx)->gone)) return global(*ctx); return 0; }}"
    );
    let Some(eager) = failures_of(&source, &Unknown) else { return };
    assert_eq!(eager, (1, 1));
    assert_eq!(failures_of(&source, &Given { is_lazy: true, ..Given::default() }), Some((1, 0)));
}

#[test]
fn callbacks_are_followed() {
    let source = |guard: &str| {
        format!(
            "static long each(u32 n, struct task **to) {{ struct task *p = *to; {READ} return 0; }}
             SEC(\"kprobe/f\") int f(void **ctx) {{ struct task *p = *ctx; {guard} loop(9, each, &p, 0); return 0; }}"
        )
    };
    let Some(plain) = failures_of(&source(""), &Unknown) else { return };
    assert_eq!(plain, (1, 1));
    assert_eq!(failures_of(&source("if (EXISTS(p->gone))"), &Unknown), Some((1, 0)));
}

#[test]
fn what_reached_code_does_is_listed() {
    let source = "struct { __uint(type, 1); __uint(max_entries, 1); __type(key, u32); __type(value, u32); } used SEC(\".maps\");
        struct { __uint(type, 1); __uint(max_entries, 1); __type(key, u32); __type(value, u32); } unused SEC(\".maps\");
        static void *(*lookup)(void *map, const void *key) = (void *)1;
        static u64 (*pid)(void) = (void *)14;
        NOINLINE int argument(u64 *regs) { return ktime() + regs[13]; }
        SEC(\"kprobe/f\") int f(u64 *ctx) { u32 key = 0; sink += argument(ctx) + ctx[14] + *(u32 *)((char *)ctx + 8);
        if (TYPE_EXISTS(struct lost)) { lookup(&unused, &key); pid(); sink += ctx[2]; }
        return (u64)lookup(&used, &key); }";
    let Some((decided, reached)) = followed(source, &Unknown) else { return };
    let mut helpers: Vec<_> = reached.helpers.iter().map(|(_, helper)| *helper).collect();
    helpers.sort_unstable();
    assert_eq!(helpers, [1, 5]);
    let maps: Vec<_> = reached.maps.iter().map(|(_, map)| decided.object.maps[*map as usize].name).collect();
    assert_eq!(maps, [b"used"]);
    let mut context: Vec<_> = reached.context.iter().map(|read| (read.offset, read.size)).collect();
    context.sort_unstable();
    assert_eq!(context, [(8, 4), (104, 8), (112, 8)]);
    assert!(reached.context.iter().any(|read| read.place.function != FunctionId(0)));
}

#[test]
fn global_subprograms_read_the_context_too() {
    let source = "struct pt_regs { u64 r[21]; };
        __attribute__((noinline)) int global(struct pt_regs *regs) { sink += ktime(); return regs->r[3]; }
        SEC(\"kprobe/f\") int f(struct pt_regs *ctx) { return global(ctx); }";
    let Some((_, reached)) = followed(source, &Unknown) else { return };
    assert_eq!(reached.context.iter().map(|read| read.offset).collect::<Vec<_>>(), [24]);
}

#[test]
fn extensions_of_the_instruction_set_are_listed() {
    use probeidx_bpf::feature::Feature;
    use probeidx_bpf::instruction::Instruction;
    let features = |body: &str| {
        let source = format!(
            "static long each(u32 n, void *to) {{ return 0; }} static u64 counter;
             SEC(\"kprobe/f\") int f(void **ctx) {{ struct task *p = *ctx; {body} return sink; }}"
        );
        let (_, reached) = followed(&source, &Unknown)?;
        Some(reached.features.iter().map(|(_, feature)| *feature).collect::<Vec<_>>())
    };
    let Some(none) = features("__sync_fetch_and_add(&counter, 1);") else { return };
    assert_eq!(none, []);
    assert_eq!(features("if (EXISTS(p->gone)) loop(9, each, 0, 0);"), Some(vec![]));
    assert_eq!(features("loop(9, each, 0, 0);"), Some(vec![Feature::Callback]));
    assert_eq!(features("bpf_maybe();"), Some(vec![Feature::KfuncCall]));
    let of = |code, src, off, imm| Feature::of(Instruction { code, dst: 1, src, off, imm });
    assert_eq!(of(0xdb, 2, 0, 0x01), Some(Feature::Atomic));
    assert_eq!(of(0xc3, 2, 0, 0xf1), Some(Feature::Atomic));
    assert_eq!(of(0xdb, 2, 0, 0x00), None);
    assert_eq!(of(0xdb, 2, 0, 0x100), Some(Feature::AcquireRelease));
    for (code, off) in [(0x91, 4), (0xbf, 8), (0xbc, 16), (0x3f, 1), (0x97, 1), (0xd7, 0), (0x06, 0)] {
        assert_eq!(of(code, 0, off, 0), Some(Feature::Version4), "{code:#x}");
    }
    assert_eq!(of(0xe5, 0, 3, 0), Some(Feature::MayGoto));
    assert_eq!(of(0x0d, 0, 0, 0), Some(Feature::IndirectJump));
    assert_eq!(of(0xbf, 2, 1, 0x1_0000), Some(Feature::AddressSpaceCast));
    for (code, off) in
        [(0x79, 8), (0xbf, 0), (0x3f, 0), (0xd4, 0), (0xdc, 0), (0x05, 4), (0x55, 2), (0x1e, 2)]
    {
        assert_eq!(of(code, 2, off, 64), None, "{code:#x}");
    }
    assert_eq!(Feature::Atomic.since(), (5, 12));
}

#[test]
fn offsets_without_a_relocation_are_listed() {
    let offsets = |body: &str| {
        let source = format!(
            "struct plain {{ u64 a; u64 b; struct plain *next; }};
             static long (*read_user)(void *dst, u32 size, const void *from) = (void *)112;
             static void *(*current)(void) = (void *)35;
             SEC(\"kprobe/f\") int f(void **ctx) {{ struct task *p = ctx[0]; struct plain *q = ctx[1], *r;
             {body} return 0; }}"
        );
        let (_, reached) = followed(&source, &Unknown)?;
        Some(reached.plain_offsets.iter().map(|plain| (plain.offset, plain.in_field)).collect::<Vec<_>>())
    };
    let Some(plain) = offsets("probe_read((void *)&sink, 8, &q->b);") else { return };
    assert_eq!(plain, [(8, false)]);
    // Through what is read, through a direct load, and of the current task.
    assert_eq!(
        offsets("probe_read(&r, 8, &q->next); probe_read((void *)&sink, 8, &r->b);"),
        Some(vec![(16, false), (8, false)])
    );
    assert_eq!(offsets("sink = q->next->b;"), Some(vec![(16, false), (8, false)]));
    assert_eq!(offsets("probe_read((void *)&sink, 8, current() + 40);"), Some(vec![(40, false)]));
    let element = "probe_read((void *)&sink, 4, (char *)&p->state + 2);";
    assert_eq!(offsets(element), Some(vec![(2, true)]));
    for none in [
        "probe_read((void *)&sink, 4, &p->pid);",
        "probe_read((void *)&sink, 4, &p->state);",
        "sink = p->state;",
        "probe_read((void *)&sink, 8, q);",
        "read_user((void *)&sink, 8, &q->b);",
        "if (EXISTS(p->gone)) probe_read((void *)&sink, 8, &q->b);",
        "for (volatile int i = 0; i < 3; i++) probe_read((void *)&sink, 4, &p->state);",
    ] {
        assert_eq!(offsets(none), Some(vec![]), "{none}");
    }
}
