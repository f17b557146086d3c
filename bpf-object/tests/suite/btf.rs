//! Raw BTF: all kinds, both byte orders, split.
use crate::support::BtfBuilder;
use probeidx_bpf::ErrorKind;
use probeidx_bpf::btf::Btf;
use probeidx_bpf::types::{Kind, TypeId, Types, essential};

/// One type of each kind.
fn every_kind(is_big: bool) -> Vec<u8> {
    let mut b = BtfBuilder::new(is_big, 0);
    b.add("int", 1, false, 0, 4, &[1 << 24 | 32]); // 1
    b.add("", 2, false, 0, 1, &[]); // 2: int *
    b.add("", 3, false, 0, 0, &[1, 1, 7]); // 3: int [7]
    let (a, f) = (b.string("a"), b.string("f"));
    b.add("s", 4, true, 2, 8, &[a, 1, 0, f, 1, 3 << 24 | 33]); // 4: int a; int f:3 at 33
    b.add("u", 5, false, 1, 4, &[a, 1, 0]); // 5
    let low = b.string("LOW");
    b.add("e", 6, true, 1, 4, &[low, u32::MAX]); // 6
    b.add("later", 7, true, 0, 0, &[]); // 7: union later
    b.add("t", 8, false, 0, 4, &[]); // 8
    b.add("", 9, false, 0, 8, &[]).add("", 10, false, 0, 9, &[]).add("", 11, false, 0, 10, &[]); // 9, 10, 11
    let p = b.string("p");
    b.add("", 13, false, 1, 0, &[p, 2]); // 12: void (int *p)
    b.add("function", 12, false, 1, 12, &[]); // 13
    b.add("variable", 14, false, 0, 1, &[1]); // 14
    b.add(".data", 15, false, 1, 4, &[14, 16, 4]); // 15
    b.add("double", 16, false, 0, 8, &[]); // 16
    b.add("tag", 17, false, 0, 4, &[0]); // 17
    b.add("user", 18, false, 0, 11, &[]); // 18
    let high = b.string("HIGH");
    b.add("e64", 19, false, 1, 8, &[high, 2, 1]); // 19
    b.add("", 2, false, 0, 18, &[]); // 20
    b.build()
}

#[test]
fn every_kind_is_read_in_both_byte_orders() {
    for is_big in [false, true] {
        let bytes = every_kind(is_big);
        let btf = Btf::parse(&bytes, None, ".BTF").unwrap();
        let get = |id| btf.get(TypeId(id)).unwrap();
        assert_eq!((btf.first(), btf.end()), (1, 21));
        let kinds: Vec<_> = btf.ids().map(|id| btf.get(id).unwrap().kind as u8).collect();
        let expected = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 12, 14, 15, 16, 17, 18, 19, 2];
        assert_eq!(kinds, expected);
        assert!(get(1).is_signed() && get(7).flag && get(6).flag);
        assert_eq!((get(3).count, get(3).target), (7, TypeId(1)));
        let field = btf.member(TypeId(4), 1).unwrap();
        assert_eq!((field.name, field.bit_offset, field.bit_size), (&b"f"[..], 33, 3));
        assert_eq!(btf.member(TypeId(4), 2), None);
        // A 32-bit value is sign-extended, a 64-bit one has two halves.
        assert_eq!(btf.enumerator(TypeId(6), 0).unwrap().value, u64::MAX);
        assert_eq!(btf.enumerator(TypeId(19), 0).unwrap().value, 0x1_0000_0002);
        assert_eq!(btf.parameter(TypeId(12), 0).unwrap().type_id, TypeId(2));
        let variable = btf.variable(TypeId(15), 0).unwrap();
        assert_eq!((variable.type_id, variable.offset, variable.size), (TypeId(14), 16, 4));
        // Modifiers, typedefs and tags are passed over.
        assert_eq!(btf.resolve(TypeId(18)).unwrap().0, TypeId(4));
        assert_eq!(btf.size_of(TypeId(3)), Some(28));
        assert_eq!(btf.size_of(TypeId(18)), Some(8));
        assert_eq!(btf.size_of(TypeId(7)), None);
        assert_eq!(btf.find(Kind::DataSection, b".data"), Some(TypeId(15)));
    }
}

#[test]
fn split_btf_continues_ids_and_strings() {
    let mut base = BtfBuilder::new(false, 0);
    base.add("long", 1, false, 0, 8, &[1 << 24 | 64]);
    let mut module = BtfBuilder::new(false, base.strings_length());
    let member = module.string("own");
    module.add("in_module", 4, false, 1, 8, &[member, 1, 0]);
    let (base, module) = (base.build(), module.build());
    let base = Btf::parse(&base, None, "vmlinux").unwrap();
    let module = Btf::parse(&module, Some(&base), "module").unwrap();
    let found = module.get(TypeId(2)).unwrap();
    assert_eq!((found.name, module.first()), (&b"in_module"[..], 2));
    let own = module.member(TypeId(2), 0).unwrap();
    assert_eq!((own.name, module.get(own.type_id).unwrap().name), (&b"own"[..], &b"long"[..]));
    assert_eq!(base.get(TypeId(2)), None);
}

#[test]
fn what_libbpf_refuses_is_refused() {
    let parse = |bytes: &[u8]| Btf::parse(bytes, None, ".BTF").map(|_| ()).map_err(|error| error.kind);
    let good = every_kind(false);
    assert_eq!(parse(&good), Ok(()));
    assert_eq!(parse(&good[..20]), Err(ErrorKind::Truncated));
    assert_eq!(parse(&good[..good.len() - 1]), Err(ErrorKind::Truncated));
    assert_eq!(parse(b"\x7fELF"), Err(ErrorKind::Damaged));
    let mut unknown = BtfBuilder::new(false, 0);
    unknown.add("future", 20, false, 0, 0, &[]);
    assert_eq!(parse(&unknown.build()), Err(ErrorKind::Unsupported));
    let mut dangling = BtfBuilder::new(false, 0);
    dangling.add("", 2, false, 0, 9, &[]);
    assert_eq!(parse(&dangling.build()), Err(ErrorKind::Damaged));
    let mut nameless = BtfBuilder::new(false, 0);
    nameless.add("s", 4, false, 1, 4, &[99, 0, 0]);
    assert_eq!(parse(&nameless.build()), Err(ErrorKind::Damaged));
}

#[test]
fn a_cycle_of_typedefs_ends() {
    let mut b = BtfBuilder::new(false, 0);
    b.add("a", 8, false, 0, 2, &[]).add("b", 8, false, 0, 1, &[]);
    let bytes = b.build();
    let btf = Btf::parse(&bytes, None, ".BTF").unwrap();
    assert_eq!(btf.resolve(TypeId(1)), None);
    assert_eq!(btf.size_of(TypeId(1)), None);
}

#[test]
fn a_flavour_starts_at_the_last_three_underscores() {
    let cases = [
        ("task_struct", "task_struct"),
        ("task_struct___old", "task_struct"),
        ("a___b___c", "a___b"),
        ("a____b", "a____b"),
        ("___b", "___b"),
        ("a___", "a___"),
        ("", ""),
        ("x___1", "x"),
    ];
    for (name, expected) in cases {
        assert_eq!(essential(name.as_bytes()), expected.as_bytes(), "{name}");
    }
}
