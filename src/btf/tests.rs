//! Hand-made BTF: the result of each record, and input that no compiler writes.
use super::record::Id;
use super::*;
use crate::dwarf::facts::{NO_TYPE, TypeFacts};
use probeidx_format::record::SymbolRecord;
use probeidx_format::types::TypeKind;

/// Writes BTF record by record.
#[derive(Default)]
struct Writer {
    types: Vec<u8>,
    strings: Vec<u8>,
    /// The end of the kernel's strings.
    first_string: u32,
}

const INT: u32 = 1;
const PTR: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const FWD: u32 = 7;
const TYPEDEF: u32 = 8;
const CONST: u32 = 10;
const FUNC: u32 = 12;
const PROTO: u32 = 13;

impl Writer {
    fn new() -> Self {
        Self { strings: vec![0], ..Self::default() }
    }
    fn string(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let at = self.first_string + self.strings.len() as u32;
        self.strings.extend(text.as_bytes());
        self.strings.push(0);
        at
    }
    fn record(&mut self, name: &str, kind: u32, parts: u32, word: u32, extra: &[u32]) {
        let name = self.string(name);
        let words = [name, kind << 24 | parts, word].into_iter().chain(extra.iter().copied());
        words.for_each(|w| self.types.extend(w.to_le_bytes()));
    }
    fn finish(&self) -> Vec<u8> {
        let mut out = vec![0x9f, 0xeb, 1, 0];
        let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
        [24, 0, types, types, strings].iter().for_each(|w: &u32| out.extend(w.to_le_bytes()));
        out.extend(&self.types);
        out.extend(&self.strings);
        out
    }
}

fn symbol(name: &[u8], pc: u32) -> Symbol<'_> {
    Symbol { name, pc, size: 32, section: 0, flags: SymbolRecord::FUNC | 1 << SymbolRecord::BIND_SHIFT }
}

fn object<'o>(symbols: &'o [Symbol<'o>]) -> Object<'o> {
    Object { number: 0, name: "", machine: 62, symbols }
}

fn named<'b>(batch: &'b Batch, name: &str) -> Vec<&'b TypeFacts> {
    batch.types.iter().filter(|t| batch.strings.get(t.name) == name.as_bytes()).collect()
}

/// `int` is 1; `struct s { int a; struct s *next; }` 2, a pointer to it 3, `f(struct s *p, int n)` 4 and 5.
fn small() -> Writer {
    let mut w = Writer::new();
    w.record("int", INT, 0, 4, &[1 << 24 | 32]);
    let (a, next) = (w.string("a"), w.string("next"));
    w.record("s", STRUCT, 2, 16, &[a, 1, 0, next, 3, 64]);
    w.record("", PTR, 0, 2, &[]);
    let (p, n) = (w.string("p"), w.string("n"));
    w.record("", PROTO, 2, 1, &[p, 3, n, 1]);
    w.record("f", FUNC, 0, 4, &[]);
    w
}

#[test]
fn a_function_has_its_parameters_in_registers() {
    let symbols = [symbol(b"f", 0x1000)];
    let (batch, _) = kernel(&small().finish(), object(&symbols)).unwrap();
    assert!(batch.faults.is_empty());
    let [function] = &batch.functions[..] else { panic!("{:?}", batch.functions) };
    assert_eq!((batch.strings.get(function.name), function.variables), (&b"f"[..], 2));
    let [place] = &batch.places[..] else { panic!("{:?}", batch.places) };
    assert_eq!(place.entry, 0x1000);
    let [s] = named(&batch, "s")[..] else { panic!() };
    let next = batch.members[s.first_member as usize + 1];
    let pointer = batch.types[next.target as usize];
    assert_eq!((pointer.kind, next.value), (TypeKind::Pointer, 64));
    assert_eq!(batch.types[pointer.target as usize].key, s.key, "it leads back");
    // `%di` and `%si` (DW_OP_reg5, DW_OP_reg4), once each.
    assert!(memchr::memmem::find(&batch.details, &[0]).is_some());
    assert_eq!(
        convention::registers(&Btf::parse(&small().finish(), None).unwrap().0, Id(4), 62),
        [0x55, 0x54]
    );
}

#[test]
fn a_struct_by_value_ends_what_the_prototype_tells() {
    let mut w = small();
    let (a, b, c) = (w.string("a"), w.string("b"), w.string("c"));
    w.record("", PROTO, 3, 0, &[a, 1, b, 2, c, 1]);
    let bytes = w.finish();
    let (btf, _) = Btf::parse(&bytes, None).unwrap();
    assert_eq!(convention::registers(&btf, Id(6), 62), [0x55]);
    assert_eq!(convention::registers(&btf, Id(6), 183), [0x50]);
    assert!(convention::registers(&btf, Id(6), 2).is_empty(), "a machine that is not known");
}

#[test]
fn the_address_of_a_result_in_memory_is_passed_first() {
    let mut w = small();
    let a = w.string("a");
    // `struct big` of 24 bytes, and a function that returns it.
    w.record("big", STRUCT, 0, 24, &[]);
    w.record("", PROTO, 1, 6, &[a, 1]);
    let bytes = w.finish();
    let (btf, _) = Btf::parse(&bytes, None).unwrap();
    let registers = |machine| convention::registers(&btf, Id(7), machine);
    // `%si` of x86-64; AArch64 has a register for it that passes nothing else; s390x, and what is not known.
    assert_eq!((registers(62), registers(183), registers(22)), (vec![0x54], vec![0x50], vec![0x53]));
}

#[test]
fn where_names_or_prototypes_are_several_nothing_is_known_of_parameters() {
    let mut w = small();
    let n = w.string("n");
    w.record("", PROTO, 1, 0, &[n, 1]);
    w.record("f", FUNC, 0, 6, &[]);
    let symbols = [symbol(b"f", 0x1000), symbol(b"f", 0x2000)];
    let (batch, _) = kernel(&w.finish(), object(&symbols)).unwrap();
    assert_eq!((batch.functions.len(), batch.places.len()), (2, 4), "each prototype at each address");
    let (one, _) = kernel(&small().finish(), object(&symbols)).unwrap();
    let (sure, _) = kernel(&small().finish(), object(&symbols[..1])).unwrap();
    assert_eq!(one.places.len(), 2);
    assert!(one.details.len() < 2 * sure.details.len(), "no locations");
}

#[test]
fn a_function_without_a_symbol_of_its_name_is_where_its_clones_are() {
    let bytes = small().finish();
    let entries = |names: &[&[u8]]| {
        let symbols: Vec<_> = names.iter().zip(1..).map(|(name, n)| symbol(name, n * 0x1000)).collect();
        let (batch, _) = kernel(&bytes, object(&symbols)).unwrap();
        (batch.places.iter().map(|place| place.entry).collect::<Vec<_>>(), batch.details.len())
    };
    let (own, located) = entries(&[b"f", b"f.isra.0"]);
    assert_eq!(own, [0x1000], "the clone beside the function is known by its symbol");
    let (clones, unlocated) =
        entries(&[b"f.cold", b"f.isra.0", b"f.isra.0.cold", b"f.constprop.0.isra.1", b"fg.isra.0"]);
    assert_eq!(clones, [0x2000, 0x4000]);
    assert!(unlocated < 2 * located, "what a clone passes where is unknown");
    assert!(entries(&[b"f.cold", b"g"]).0.is_empty());
}

#[test]
fn a_module_goes_on_where_the_kernel_ends() {
    let base = small();
    let (_, base_btf) = kernel(&base.finish(), object(&[])).unwrap();
    let mut w = Writer { first_string: base.strings.len() as u32, ..Writer::default() };
    // Records 6 to 8: a struct with a member of a kernel type, and a function that takes a kernel type.
    let own = w.string("own");
    w.record("t", STRUCT, 1, 16, &[own, 2, 0]);
    w.record("", PROTO, 1, 6, &[own, 3]);
    w.record("g", FUNC, 0, 7, &[]);
    let mut batch = Batch::default();
    let symbols = [symbol(b"g", 0x1000)];
    base_btf.module(&mut batch, &w.finish(), None, Object { name: "m", ..object(&symbols) }).unwrap();
    assert!(batch.faults.is_empty(), "{:?}", batch.faults);
    let [t] = named(&batch, "t")[..] else { panic!() };
    let member = batch.types[batch.members[t.first_member as usize].target as usize];
    assert!(member.known && member.kind == TypeKind::Struct && batch.places.len() == 1);
}

#[test]
fn a_module_of_another_build_goes_on_where_its_excerpt_ends() {
    let (_, base_btf) = kernel(&small().finish(), object(&[])).unwrap();
    // In another order than in the kernel: 1 is missing there, 3 has another size.
    let mut excerpt = Writer::new();
    excerpt.record("gone", STRUCT, 0, 8, &[]);
    excerpt.record("s", FWD, 0, 0, &[]);
    excerpt.record("s", STRUCT, 0, 99, &[]);
    excerpt.record("int", INT, 0, 4, &[1 << 24 | 32]);
    let mut w = Writer { first_string: excerpt.strings.len() as u32, ..Writer::default() };
    let names = ["a", "b", "c", "d"].map(|name| w.string(name));
    let rows: Vec<u32> = (1..).zip(names).flat_map(|(id, name)| [name, id, 0]).collect();
    w.record("t", STRUCT, 4, 16, &rows);
    let module = Object { name: "m", ..object(&[]) };
    let mut batch = Batch::default();
    base_btf.module(&mut batch, &w.finish(), Some(&excerpt.finish()), module).unwrap();
    assert!(batch.faults.is_empty(), "{:?}", batch.faults);
    let [t] = named(&batch, "t")[..] else { panic!() };
    let members = &batch.members[t.first_member as usize..][..4];
    let listed: Vec<_> = members
        .iter()
        .map(|m| batch.types[m.target as usize])
        .map(|t| (t.kind, t.known, t.declared, batch.strings.get(t.name)))
        .collect();
    assert_eq!(
        listed,
        [
            (TypeKind::Struct, false, true, &b"gone"[..]),
            (TypeKind::Struct, true, false, b""),
            (TypeKind::Struct, false, true, b"s"),
            (TypeKind::Base, true, false, b""),
        ]
    );
    let mut batch = Batch::default();
    let wrong = base_btf.module(&mut batch, &w.finish(), Some(b"no BTF"), module).unwrap_err();
    assert_eq!((wrong.section, batch.types.len()), (".BTF.base", 0));
}

#[test]
fn what_leads_back_to_itself_or_nowhere_ends() {
    let mut w = Writer::new();
    w.record("", PTR, 0, 1, &[]);
    w.record("", CONST, 0, 3, &[]);
    w.record("", PTR, 0, 2, &[]);
    w.record("loop", TYPEDEF, 0, 4, &[]);
    w.record("", ARRAY, 0, 0, &[5, 1, 7]);
    w.record("lost", TYPEDEF, 0, 0xffff_fff0, &[]);
    w.record("later", FWD, 0, 0, &[]);
    w.record("h", FUNC, 0, 0x7fff_ffff, &[]);
    w.record("i", FUNC, 0, 1, &[]);
    w.types.extend([0xff; 4]);
    let (batch, _) = kernel(&w.finish(), object(&[])).unwrap();
    let said: Vec<_> = batch.faults.iter().map(|(_, fault)| fault.what).collect();
    assert!(said.iter().any(|s| s.contains("makes no sense")), "{said:?}");
    assert!(said.iter().any(|s| s.contains("not there")), "{said:?}");
    assert!(said.iter().any(|s| s.contains("no prototype")), "{said:?}");
    assert!(named(&batch, "lost").iter().all(|t| t.target == NO_TYPE) && named(&batch, "later")[0].declared);
}

#[test]
fn a_chain_of_a_hundred_thousand_pointers_is_cut() {
    let mut w = Writer::new();
    for n in 1..=100_000 {
        w.record("", PTR, 0, n + 1, &[]);
    }
    w.record("int", INT, 0, 4, &[32]);
    let (batch, _) = kernel(&w.finish(), object(&[])).unwrap();
    assert!(batch.faults.iter().any(|(_, fault)| fault.what.contains("too deep")));
    assert!(batch.types.len() < 200_000);
}

#[test]
fn a_header_that_promises_what_is_not_there_is_an_error() {
    let good = small().finish();
    for (at, value) in [(0, 0), (2, 9), (4, 0xff), (8, 0xff), (12, 0xff), (16, 0xff), (20, 0xff)] {
        let mut bad = good.clone();
        bad[at..(at + 3).min(good.len())].fill(value);
        assert!(kernel(&bad, object(&[])).is_err(), "{at}");
    }
    for cut in 0..good.len() {
        assert!(kernel(&good[..cut], object(&[])).is_err(), "{cut}");
    }
    for at in 24..good.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut bad = good.clone();
            bad[at] = value;
            let _ = kernel(&bad, object(&[symbol(b"f", 0x1000)]));
        }
    }
}
