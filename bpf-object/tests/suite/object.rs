//! Opening objects: programs, maps, externs, variables, lines, and objects in other files.
use crate::support::{compile, compile_for};
use probeidx_bpf::object::{ExternKind, ImageKind, KconfigType, Object, Reference};
use probeidx_bpf::{ErrorKind, embedded};

const SOURCE: &str = r#"
struct value { u64 a; u32 b; };
struct { __uint(type, 1); __uint(max_entries, 128); __type(key, u32); __type(value, struct value); } counts SEC(".maps");
struct { __uint(type, 4); __uint(key_size, 4); __uint(value_size, 4); } events SEC(".maps");
struct inner { __uint(type, 2); __uint(max_entries, 1); __type(key, u32); __type(value, u32); };
struct { __uint(type, 12); __uint(max_entries, 8); __type(key, u32); __uint(value_size, 4);
         __attribute__((__unused__)) struct inner *values[]; } outer SEC(".maps");
extern int LINUX_KERNEL_VERSION __kconfig;
extern _Bool CONFIG_BPF __kconfig __weak;
extern const void init_task __ksym;
extern const int bpf_number __ksym;
extern void bpf_kfunc___v2(int) __ksym __weak;
const volatile int flag = 3;
const volatile char comms[2][4];
static const int table[3] = {10, 20, 30};
int counter = 7;
static void *(*lookup)(void *map, const void *key) = (void *)1;
NOINLINE int shared(int x) { sink += x; return (int)sink * 3; }
__attribute__((noinline)) int global(int x) { return shared(x) + 1; }
__attribute__((noinline, visibility("hidden"))) int hidden(int x) { return shared(x) + 2; }
SEC("kprobe/first") int first(void *ctx) {
  u32 key = 0;
  struct value *v = lookup(&counts, &key);
  if (v && LINUX_KERNEL_VERSION > 5 && CONFIG_BPF) sink += v->a;
  return global(flag);
}
SEC("?fentry/second") int second(void *ctx) {
  sink += (u64)&init_task + bpf_number + table[sink & 1] + comms[1][2] + (u64)lookup(&events, 0) + (u64)lookup(&outer, 0);
  if (bpf_kfunc___v2) bpf_kfunc___v2(counter);
  return shared(hidden(2));
}
"#;

#[test]
fn programs_and_subprograms() {
    let Some(bytes) = compile(SOURCE) else { return };
    let object = Object::open(&bytes).unwrap();
    assert!(object.refused.is_empty(), "{:?}", object.refused);
    assert_eq!(object.license, b"GPL");
    let programs: Vec<_> = object.programs().map(|(_, f)| (f.name, f.section, f.autoload)).collect();
    assert_eq!(programs, [(&b"first"[..], &b"kprobe/first"[..], true), (b"second", b"fentry/second", false)]);
    let named = |name: &[u8]| object.all_functions().find(|(_, f)| f.name == name).unwrap();
    assert!(named(b"global").1.is_global && !named(b"hidden").1.is_global && !named(b"shared").1.is_global);
    let linked = |name: &[u8]| -> Vec<_> {
        object.linked(named(name).0).into_iter().map(|id| object.function(id).name).collect()
    };
    assert_eq!(linked(b"first"), [&b"first"[..], b"global", b"shared"]);
    assert_eq!(linked(b"second"), [&b"second"[..], b"hidden", b"shared"]);
    assert!(object.functions.iter().all(|function| function.type_id.is_some()));
}

#[test]
fn maps_externs_and_variables() {
    let Some(bytes) = compile(SOURCE) else { return };
    let object = Object::open(&bytes).unwrap();
    let maps: Vec<_> =
        object.maps.iter().map(|m| (m.name, m.kind, m.key_size, m.value_size, m.max_entries)).collect();
    assert_eq!(maps, [(&b"counts"[..], 1, 4, 16, 128), (b"events", 4, 4, 4, 0), (b"outer", 12, 4, 4, 8)]);
    assert_eq!(object.maps[2].inner.as_ref().unwrap().kind, 2);
    let external = |name: &[u8]| *object.externs.iter().find(|e| e.name == name).unwrap();
    let version = external(b"LINUX_KERNEL_VERSION");
    assert_eq!(version.kind, ExternKind::Kconfig(KconfigType::Integer { size: 4, is_signed: true }));
    assert_eq!(external(b"CONFIG_BPF").kind, ExternKind::Kconfig(KconfigType::Bool));
    assert!(external(b"CONFIG_BPF").is_weak && !version.is_weak);
    assert_eq!(external(b"init_task").kind, ExternKind::Symbol);
    assert!(matches!(external(b"bpf_number").kind, ExternKind::Variable(_)));
    let kfunc = external(b"bpf_kfunc___v2");
    assert!(matches!(kfunc.kind, ExternKind::Kfunc(_)));
    assert_eq!(kfunc.essential, b"bpf_kfunc");
    let image = object.images.iter().find(|image| image.name == b".rodata").unwrap();
    assert_eq!(image.kind, ImageKind::ReadOnly);
    let variables: Vec<_> = image.variables.iter().map(|v| (v.name, v.size, v.is_volatile)).collect();
    for expected in [(&b"flag"[..], 4, true), (b"comms", 8, true), (b"table", 12, false)] {
        assert!(variables.contains(&expected), "{variables:?}");
    }
    let data = object.images.iter().find(|image| image.name == b".data").unwrap();
    assert_eq!((data.kind, data.bytes), (ImageKind::Writable, &[7, 0, 0, 0][..]));
}

#[test]
fn instructions_refer_to_what_they_use() {
    let Some(bytes) = compile(SOURCE) else { return };
    let object = Object::open(&bytes).unwrap();
    let (first, program) = object.programs().next().unwrap();
    let is = |wanted: fn(&Reference) -> bool| program.references.iter().filter(|(_, r)| wanted(r)).count();
    assert_eq!(is(|r| matches!(r, Reference::Map(0))), 1);
    assert_eq!(is(|r| matches!(r, Reference::Extern(_))), 2);
    assert_eq!(is(|r| matches!(r, Reference::Call(_))), 1);
    assert!(is(|r| matches!(r, Reference::Data(..))) >= 2);
    let (call, _) = *program.references.iter().find(|(_, r)| matches!(r, Reference::Call(_))).unwrap();
    let line = object.line(first, call).unwrap();
    assert!(line.text.ends_with(b"return global(flag);"), "{line:?}");
    assert!(line.file.ends_with(b".c") && line.line > 1 && line.column > 0);
}

#[test]
fn both_byte_orders_are_read_alike() {
    let (Some(little), Some(big)) = (compile_for("bpfel", SOURCE), compile_for("bpfeb", SOURCE)) else {
        return;
    };
    let (little, big) = (Object::open(&little).unwrap(), Object::open(&big).unwrap());
    assert_ne!(little.byte_order(), big.byte_order());
    let parts = |object: &Object<'_>| -> Vec<_> {
        object.functions.iter().map(|f| (f.name.to_vec(), f.references.clone(), f.type_id)).collect()
    };
    assert_eq!(parts(&little), parts(&big));
    assert_eq!(little.maps, big.maps);
    assert_eq!(little.functions[0].code[0], big.functions[0].code[0]);
}

#[test]
fn struct_ops_name_their_functions() {
    let source = r#"
        struct ops { void *owner; int (*init)(void *); int (*other)(void *); };
        SEC("struct_ops/init") int my_init(void *ctx) { return 0; }
        SEC(".struct_ops.link") struct ops table = { .init = (void *)my_init };
    "#;
    let Some(bytes) = compile(source) else { return };
    let object = Object::open(&bytes).unwrap();
    let [table] = &object.struct_ops[..] else { panic!("{:?}", object.struct_ops) };
    assert!(table.is_link && table.autocreate && table.name == b"table");
    assert_eq!(table.functions.iter().map(|(member, _)| *member).collect::<Vec<_>>(), [b"init"]);
}

#[test]
fn what_libbpf_refuses_is_said() {
    let legacy = r#"
        struct bpf_map_def { u32 type, key_size, value_size, max_entries, map_flags; };
        struct bpf_map_def SEC("maps") old = { 2, 4, 8, 16, 0 };
        SEC("kprobe/f") int f(void *ctx) { return 0; }
    "#;
    let Some(bytes) = compile(legacy) else { return };
    let object = Object::open(&bytes).unwrap();
    let [map] = &object.maps[..] else { panic!("{:?}", object.maps) };
    assert_eq!((map.name, map.kind, map.value_size, map.max_entries), (&b"old"[..], 2, 8, 16));
    assert_eq!(object.refused[0].kind, ErrorKind::Refused);
    let unplaced = "extern int nowhere; SEC(\"kprobe/f\") int f(void *ctx) { return nowhere; }";
    let bytes = compile(unplaced).unwrap();
    let refused = Object::open(&bytes).unwrap().refused;
    assert!(refused[0].to_string().starts_with("extern nowhere: "), "{refused:?}");
}

#[test]
fn objects_are_found_in_other_files() {
    let Some(object) = compile(SOURCE) else { return };
    let big = compile_for("bpfeb", SOURCE).unwrap();
    assert_eq!(embedded(&object), vec![0..object.len()]);
    let mut file = b"\x7fELF\x02\x01\x01 a program of another machine, and some text ".to_vec();
    let mut expected = Vec::new();
    // At any offset, one directly behind the other.
    for (gap, part) in [(13, &object), (0, &big), (64, &object)] {
        file.resize(file.len() + gap, b'.');
        expected.push(file.len()..file.len() + part.len());
        file.extend(part);
    }
    file.extend(&object[..object.len() / 2]);
    assert_eq!(embedded(&file), expected);
    for range in expected {
        assert_eq!(Object::open(&file[range]).unwrap().programs().count(), 2);
    }
}

#[test]
fn other_files_are_no_objects() {
    let kind = |bytes: &[u8]| Object::open(bytes).unwrap_err().kind;
    assert_eq!(kind(b""), ErrorKind::NotBpf);
    assert_eq!(kind(&[0; 100]), ErrorKind::NotBpf);
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    assert_eq!(kind(&program), ErrorKind::NotBpf);
    let Some(object) = compile(SOURCE) else { return };
    assert_eq!(kind(&object[..object.len() - 1]), ErrorKind::Truncated);
}
