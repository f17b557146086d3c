use super::lookup;
use super::member::{Move, Walked, walk_path};
use crate::error::{ErrorKind, Result};
use crate::query::spec::member_path::{Path, Step, parse};
use probeidx_format::id::{StrId, TypeId};
use probeidx_format::record::{MemberRecord, TypeRecord};
use probeidx_format::strings::{Blocks, Decoded, section};
use probeidx_format::table::pack;
use probeidx_format::types::TypeKind;
use probeidx_format::writer::Writer;
use probeidx_format::zerocopy::FromZeros;
use probeidx_format::zerocopy::byteorder::little_endian::{I64, U16, U32};
use probeidx_format::{SectionName, View};
use std::io::Cursor;

/// An index of types only: each with its kind, name, size, target and members.
#[derive(Default)]
struct Made {
    strings: Vec<String>,
    types: Vec<TypeRecord>,
    members: Vec<MemberRecord>,
}

impl Made {
    fn string(&mut self, text: &str) -> StrId {
        if self.strings.is_empty() {
            self.strings.push(String::new());
        }
        let known = self.strings.iter().position(|known| known == text);
        let at = known.unwrap_or_else(|| {
            self.strings.push(text.to_owned());
            self.strings.len() - 1
        });
        StrId::new(at as u32)
    }

    /// `target` is the number of a type, or negative.
    fn add(&mut self, kind: TypeKind, name: &str, size: u32, target: i32, members: &[(&str, i32, i64)]) {
        let id = |n: i32| u32::try_from(n).map_or(TypeId::NONE, TypeId::new);
        let name = self.string(name);
        self.types.push(TypeRecord {
            name,
            size: U32::new(size),
            target: id(target),
            first_member: U32::new(self.members.len() as u32),
            kind: kind as u8,
            ..TypeRecord::new_zeroed()
        });
        for &(name, target, value) in members {
            let name = self.string(name);
            self.members.push(MemberRecord { name, target: id(target), value: I64::new(value) });
        }
    }

    fn bytes(mut self) -> Vec<u8> {
        self.types.push(TypeRecord {
            first_member: U32::new(self.members.len() as u32),
            ..TypeRecord::new_zeroed()
        });
        let mut out = Cursor::new(vec![]);
        let mut writer = Writer::new(&mut out).unwrap();
        for &name in SectionName::ALL {
            match name {
                SectionName::Strings => {
                    let strings = Blocks::of(self.strings.iter().map(|s| s.as_bytes()));
                    writer.section(name, [&section(&[strings])[..]])
                }
                SectionName::Types => writer.table(name, &pack(&self.types)),
                SectionName::Members => writer.table(name, &pack(&self.members)),
                _ => writer.section(name, []),
            }
            .unwrap();
        }
        writer.finish(62, StrId::new(0)).unwrap();
        out.into_inner()
    }
}

const INT: i32 = 0;
const FILE: i32 = 3;
const PATH: i32 = 4;
const POINTER_TO_FILE: i32 = 5;
const ANONYMOUS: i32 = 6;
const ARRAY: i32 = 7;
const VOID_POINTER: i32 = 8;
const POINTER_TO_GONE: i32 = 9;

/// ```c
/// struct file { int a; union { int low; struct path path; }; int table[2][3]; void *data; struct gone *gone;
///               int x : 3; int y : 7; };
/// struct path { struct file *file; int deep; };
/// ```
fn made() -> Vec<u8> {
    let mut made = Made::default();
    made.add(TypeKind::Base, "int", 4, -1, &[]);
    made.add(TypeKind::Typedef, "alias", 0, 10, &[]);
    made.add(TypeKind::Struct, "gone", 0, -1, &[]);
    made.types[2].flags = U16::new(TypeRecord::DECLARED);
    let bits = |width: i64, at: i64| width << 48 | at;
    let members = [
        ("a", INT, 0),
        ("", ANONYMOUS, 64),
        ("table", ARRAY, 192),
        ("data", VOID_POINTER, 384),
        ("gone", POINTER_TO_GONE, 448),
        ("x", INT, bits(3, 512)),
        ("y", INT, bits(7, 538)),
    ];
    made.add(TypeKind::Struct, "thing", 72, -1, &members);
    made.add(TypeKind::Struct, "way", 16, -1, &[("file", POINTER_TO_FILE, 0), ("deep", INT, 64)]);
    made.add(TypeKind::Pointer, "", 8, FILE, &[]);
    made.add(TypeKind::Union, "", 16, -1, &[("low", INT, 0), ("path", PATH, 0)]);
    made.add(TypeKind::Array, "", 0, INT, &[("", -1, 2), ("", -1, 3)]);
    made.add(TypeKind::Pointer, "", 8, -1, &[]);
    made.add(TypeKind::Pointer, "", 8, 2, &[]);
    made.add(TypeKind::Const, "", 0, FILE, &[]);
    made.bytes()
}

fn go(start: i32, path: &str) -> Result<Walked> {
    let bytes = made();
    walk_path(&View::open(&bytes, &Decoded::new()).unwrap(), TypeId::new(start as u32), &parse(path)?)
}

#[track_caller]
fn leads(start: i32, path: &str, moves: &[Move], type_id: i32) {
    let walked = go(start, path).unwrap();
    assert_eq!((&walked.moves[..], walked.type_id), (moves, Some(TypeId::new(type_id as u32))), "{path}");
}

#[test]
fn paths_are_read() {
    let Path { root, steps } = parse("struct  file .f_path->dentry [2][-0x1f].x").unwrap();
    assert_eq!(root, "struct file");
    let name = |n: &str| n.to_owned();
    let expected = [
        Step::Member(name("f_path")),
        Step::Arrow(name("dentry")),
        Step::Index(2),
        Step::Index(-31),
        Step::Member(name("x")),
    ];
    assert_eq!(steps, expected);
    assert_eq!(parse("unsigned long").unwrap(), Path { root: name("unsigned long"), steps: vec![] });
    assert_eq!(parse("a->b.c[2]").unwrap().to_string(), "a->b.c[2]");
}

#[test]
fn what_is_no_path_has_a_column() {
    for (text, said) in [
        ("", "column 1: expected a name"),
        (".a", "column 1: expected a name"),
        ("a.", "column 3: expected a member's name"),
        ("a.1", "column 3: expected a member's name"),
        ("a[x]", "column 3: expected a number"),
        ("a[99999999999999999999]", "column 3: expected a number"),
        ("a[1", "column 4: expected ']'"),
        ("a.b c", "column 5: expected '.', '->' or '['"),
        ("é.", "column 3: expected a member's name"),
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Usage, said), "{text}");
    }
}

#[test]
fn moves_are_additions_and_reads() {
    use Move::{Add, Deref};
    leads(FILE, "f", &[], FILE);
    leads(FILE, "f.a", &[], INT);
    leads(FILE, "f.path.deep", &[Add(16)], INT);
    leads(POINTER_TO_FILE, "f->path.file->low", &[Deref, Add(8), Deref, Add(8)], INT);
    leads(POINTER_TO_FILE, "f[2].a", &[Deref, Add(144)], INT);
    leads(POINTER_TO_FILE, "f[-1].a", &[Deref, Add(72u64.wrapping_neg())], INT);
    leads(FILE, "f.table[1][2]", &[Add(24 + 20)], INT);
    leads(FILE, "f.table[1]", &[Add(24 + 12)], ARRAY);
    assert_eq!(go(FILE, "f.table[1]").unwrap().indexed, 1);
    leads(1, "alias.path.file->a", &[Add(8), Deref], INT);
}

#[test]
fn a_bit_field_stands_in_a_number_of_its_type() {
    let x = go(FILE, "f.x").unwrap().place();
    assert_eq!((x.offset, x.bits), (64, Some((0, 3))));
    // Bits 538 to 544 cross the end of the storage unit at byte 64, which only happens in a packed struct.
    let y = go(FILE, "f.y").unwrap().place();
    assert_eq!((y.offset, y.bits), (67, Some((2, 7))));
}

#[test]
fn what_fails_is_said_with_the_path_up_to_there() {
    for (start, path, said) in [
        (FILE, "f.pth.deep", "f.pth: struct thing has no member pth; did you mean path?"),
        (FILE, "f.path.file.a", "f.path.file.a: struct thing* is a pointer; write ->a"),
        (FILE, "f.path->deep", "f.path->deep: struct way is no pointer; write .deep"),
        (FILE, "f.a->x.y", "f.a->x: int is no pointer"),
        (FILE, "f.a.x", "f.a.x: int has no members"),
        (FILE, "f.data->x", "f.data->x: void* is a void pointer; a cast says to what it points"),
        (FILE, "f.data[1]", "f.data[1]: void* is a void pointer; a cast says to what it points"),
        (FILE, "f.table[2]", "f.table[2]: int[] has 2 elements"),
        (FILE, "f.table[-1]", "f.table[-1]: int[] has 2 elements"),
        (FILE, "f.a[0]", "f.a[0]: int is no array and no pointer"),
        (FILE, "f.gone[1]", "f.gone[1]: the size of struct gone is not known; a cast says to what it points"),
        (FILE, "f.x.y", "f.x.y: a bit-field has no members and no address"),
        (
            FILE,
            "f.gone->x",
            "f.gone->x: struct gone is only declared here, so that its members are not known; it is incomplete, or \
             defined in several ways; a cast says which is meant",
        ),
    ] {
        let error = go(start, path).unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::NoMatch, said));
    }
}

#[test]
fn a_struct_that_holds_itself_ends() {
    let mut made = Made::default();
    made.add(TypeKind::Struct, "loop", 8, -1, &[("", 0, 0), ("", 0, 0), ("a", 1, 0)]);
    made.add(TypeKind::Typedef, "turn", 0, 1, &[]);
    let bytes = made.bytes();
    let decoded = Decoded::new();
    let view = View::open(&bytes, &decoded).unwrap();
    assert!(walk_path(&view, TypeId::new(0), &parse("l.absent").unwrap()).is_err());
    assert!(walk_path(&view, TypeId::new(0), &parse("l.a.b").unwrap()).is_err());
    assert_eq!(lookup::strip(&view, TypeId::new(1)), None);
    assert_eq!(lookup::size_of(&view, TypeId::new(7)), None);
}

#[test]
fn types_are_found_by_name_and_kind() {
    let mut made = Made::default();
    let kinds = [TypeKind::Struct, TypeKind::Struct, TypeKind::Union, TypeKind::Typedef];
    for (at, kind) in kinds.into_iter().enumerate() {
        made.add(kind, "bio", 8 * at as u32, -1, &[]);
    }
    made.types[0].flags = U16::new(TypeRecord::DECLARED);
    made.add(TypeKind::Base, "long unsigned int", 8, -1, &[]);
    made.add(TypeKind::Struct, "open", 0, -1, &[]);
    made.types[5].flags = U16::new(TypeRecord::DECLARED);
    made.add(TypeKind::Pointer, "", 0, 0, &[]);
    made.add(TypeKind::Array, "", 0, 4, &[("", -1, 5), ("", -1, -1)]);
    let bytes = made.bytes();
    let decoded = Decoded::new();
    let view = View::open(&bytes, &decoded).unwrap();
    let found = |name| lookup::find(&view, name).iter().map(|t| t.get()).collect::<Vec<_>>();
    assert_eq!(found("bio"), [1, 2, 3]);
    assert_eq!(found("struct bio"), [1]);
    assert_eq!(found("union bio"), [2]);
    assert_eq!(found("enum bio"), [] as [u32; 0]);
    assert_eq!(found("struct open"), [5]);
    assert_eq!(found("unsigned long"), [4]);
    assert_eq!(found(""), [] as [u32; 0]);
    assert_eq!(found("absent"), [] as [u32; 0]);
    let size = |at| lookup::size_of(&view, TypeId::new(at));
    assert_eq!([size(1), size(5), size(6), size(7)], [Some(8), None, Some(8), Some(0)]);
}
