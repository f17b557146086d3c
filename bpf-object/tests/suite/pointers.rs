//! What of a program goes through pointers that the verifier does not take for such.
use crate::reach::followed;
use probeidx_bpf::TypeId;
use probeidx_bpf::reach::{AfterRead, Environment, Pointer, Unknown};

/// A context of numbers, or of pointers to a type whose first 8 bytes are a pointer to itself, and then numbers.
struct Verifier {
    context: Pointer,
    after_read: AfterRead,
}

impl Environment for Verifier {
    fn option(&self, _: u32) -> Option<u64> {
        None
    }

    fn exists(&self, _: u32) -> Option<bool> {
        None
    }

    fn read_of_context(&self, _: i32, _: u32) -> Pointer {
        self.context
    }

    fn read_of_type(&self, id: TypeId, offset: i32) -> Pointer {
        if offset < 8 { Pointer::To(id, 0) } else { Pointer::Number }
    }

    fn after_read(&self) -> AfterRead {
        self.after_read
    }
}

#[test]
fn what_a_helper_gives_is_compared_with_null_first() {
    let unchecked = |body: &str| {
        let source = format!(
            "struct {{ __uint(type, 1); __type(key, u64); __type(value, u64); __uint(max_entries, 4); }} map SEC(\".maps\");
             static u64 *(*lookup)(void *map, const void *key) = (void *)1;
             SEC(\"kprobe/f\") int f(u64 *ctx) {{ u64 key = 1, *v = lookup(&map, &key), *w; {body} return 0; }}"
        );
        let (_, reached) = followed(&source, &Unknown)?;
        Some(reached.through_unchecked.len())
    };
    let Some(bare) = unchecked("sink = *v;") else { return };
    assert_eq!(bare, 1);
    assert_eq!(unchecked("*v = 1;"), Some(1));
    assert_eq!(unchecked("if (v) sink = *v;"), Some(0));
    assert_eq!(unchecked("if (!v) return 1; sink = *v;"), Some(0));
    // All copies are checked at once; what another call gives is not.
    assert_eq!(unchecked("w = v; asm volatile(\"\" : \"+r\"(w)); if (v) sink = *w;"), Some(0));
    assert_eq!(unchecked("key = 2; w = lookup(&map, &key); if (v) sink = *w;"), Some(1));
}

/// How many loads and stores go through numbers, and through what may be one.
fn through(context: Pointer, after_read: AfterRead, body: &str) -> Option<(usize, usize)> {
    let source = format!(
        "struct plain {{ struct plain *next; u64 number; }};
         struct {{ __uint(type, 1); __type(key, u64); __type(value, u64); __uint(max_entries, 4); }} map SEC(\".maps\");
         static void *(*lookup)(void *map, const void *key) = (void *)1;
         static void *(*current)(void) = (void *)35;
         SEC(\"kprobe/f\") int f(u64 *ctx) {{ struct plain *p = (void *)ctx[0], *q = 0; {body} return 0; }}"
    );
    let (_, reached) = followed(&source, &Verifier { context, after_read })?;
    Some((reached.through_numbers.len(), reached.through_doubtful.len()))
}

#[test]
fn numbers_are_not_followed() {
    let numbers = |body| through(Pointer::Number, AfterRead::Kept, body);
    let Some(first) = numbers("sink = p->number;") else { return };
    assert_eq!(first, (1, 0));
    for (body, count) in [
        ("if (p) sink = p->number;", 1),
        ("probe_read(&q, 8, p); sink = q->number;", 1),
        ("sink = *(u64 *)current();", 1),
        ("u64 key = 1, *v = lookup(&map, &key); if (v) sink = *(u64 *)*v;", 1),
        ("u64 key = 1, *v = lookup(&map, &key); if (v) sink = *v;", 0),
        ("u64 key = 1, *v = lookup(&map, &key); if (v) *v = 3;", 0),
        ("probe_read((void *)&sink, 8, &p->number);", 0),
        ("sink = ctx[3];", 0),
    ] {
        assert_eq!(numbers(body), Some((count, 0)), "{body}");
    }
}

#[test]
fn typed_pointers_are_followed_as_far_as_their_types_go() {
    let typed = |body| through(Pointer::To(TypeId(1), 0), AfterRead::Kept, body);
    let Some(first) = typed("sink = p->number;") else { return };
    assert_eq!(first, (0, 0));
    assert_eq!(typed("sink = p->next->next->number;"), Some((0, 0)));
    assert_eq!(typed("sink = *(u64 *)p->number;"), Some((1, 0)));
    // Whether the verifier knows what is added is not known here.
    assert_eq!(typed("sink = *(u64 *)((char *)p + sink);"), Some((0, 2)));
    assert_eq!(through(Pointer::Unknown, AfterRead::Lost, "sink = p->next->number;"), Some((0, 0)));
}

#[test]
fn a_pointer_that_a_helper_has_read_on_the_stack_may_be_a_number() {
    let body = "lookup(&map, &p); asm volatile(\"\" ::: \"memory\"); sink = p->number;";
    let read = |after_read| through(Pointer::To(TypeId(1), 0), after_read, body);
    let Some(kept) = read(AfterRead::Kept) else { return };
    assert_eq!(kept, (0, 0));
    assert_eq!(read(AfterRead::PointersKept), Some((0, 0)));
    assert_eq!(read(AfterRead::Lost), Some((1, 0)));
    assert_eq!(read(AfterRead::Doubtful), Some((0, 1)));
    // It is no part of the key.
    let beside = "u64 key = 1; lookup(&map, &key); q = p; lookup(&map, &key); sink = p->number;";
    assert_eq!(through(Pointer::To(TypeId(1), 0), AfterRead::Lost, beside), Some((0, 0)));
}
