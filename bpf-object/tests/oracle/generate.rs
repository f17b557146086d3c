//! Objects with thousands of relocations about the types of a kernel: some right, some with another kind, size or name.
use probeidx_bpf::btf::Btf;
use probeidx_bpf::types::{Kind, Type, TypeId, Types};
use std::collections::HashSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

/// How many structs of a kernel are asked about.
const STRUCTS: usize = 200;
/// How many enums.
const ENUMS: usize = 80;

/// Objects about a kernel: as compiled, and with each `type_exists` made a `type_matches`, which clang 14 cannot say.
pub fn objects(kernel: &Btf<'_>, seed: u64, scratch: &Path) -> Vec<Vec<u8>> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let source = scratch.join("generated.c");
    let object = scratch.join("generated.o");
    fs::write(&source, text(kernel, &mut random)).unwrap();
    let status = Command::new("clang")
        .args(["-target", "bpf", "-g", "-O2", "-w", "-c"])
        .arg(&source)
        .arg("-o")
        .arg(&object)
        .status()
        .expect("clang");
    assert!(status.success(), "the generated source does not compile: {}", source.display());
    let bytes = fs::read(&object).unwrap();
    let mut matching = bytes.clone();
    make_matches(&mut matching);
    vec![bytes, matching]
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end.max(1)
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

fn text(kernel: &Btf<'_>, random: &mut Random) -> String {
    let mut c = String::from(
        "#define PAI __attribute__((preserve_access_index))\n\
         #define INFO(f, k) sink += __builtin_preserve_field_info(f, k);\n\
         #define TYPE(t, k) sink += __builtin_preserve_type_info(*(t *)0, k);\n\
         typedef int fn_t(void *, int);\nvolatile unsigned long sink;\n",
    );
    let mut body = String::new();
    let named = |kinds: &[Kind]| -> Vec<TypeId> {
        let is = |t: &Type<'_>| kinds.contains(&t.kind) && is_plain(t.name) && t.count > 0;
        kernel.ids().filter(|&id| kernel.get(id).as_ref().is_some_and(is)).collect()
    };
    let composites = named(&[Kind::Struct, Kind::Union]);
    for number in 0..STRUCTS {
        let id = composites[random.below(composites.len())];
        composite(kernel, id, number, random, &mut c, &mut body);
    }
    let enums = named(&[Kind::Enum, Kind::Enum64]);
    let mut seen = HashSet::new();
    for number in 0..ENUMS {
        let id = enums[random.below(enums.len())];
        enumeration(kernel, id, number, random, &mut seen, &mut c, &mut body);
    }
    c + &body + "char LICENSE[] __attribute__((section(\"license\"))) = \"GPL\";\n"
}

fn composite(
    kernel: &Btf<'_>,
    id: TypeId,
    number: usize,
    random: &mut Random,
    c: &mut String,
    body: &mut String,
) {
    let found = kernel.get(id).unwrap();
    let is_union = (found.kind == Kind::Union) != random.one_in(20);
    let word = if is_union { "union" } else { "struct" };
    let name = spoiled(found.name, random, 20) + &format!("___f{number}");
    let mut members = Vec::new();
    collect(kernel, id, 0, &mut members);
    let (mut declarations, mut accesses) = (String::new(), Vec::new());
    let mut seen = HashSet::new();
    for _ in 0..6 {
        let (member, type_id, bits) = members[random.below(members.len())];
        if !is_plain(member) || !seen.insert(member) {
            continue;
        }
        let member = spoiled(member, random, 12);
        let is_wrong = random.one_in(8);
        let (declaration, access) = declared(kernel, type_id, bits, &member, is_wrong, random, c, number);
        // Here and there a member stands in an anonymous struct, as it does in the kernel or not.
        let _ = match random.one_in(5) {
            true => writeln!(declarations, "  struct {{ {declaration}; }};"),
            false => writeln!(declarations, "  {declaration};"),
        };
        accesses.push((access, bits > 0, declaration.contains('*')));
    }
    let end = if random.one_in(2) { "  char the_end;\n" } else { "" };
    let _ = writeln!(c, "{word} {name} {{\n{declarations}{end}}} PAI;");
    let _ = writeln!(c, "typedef {word} {name} {name}_t;");
    let _ = writeln!(
        body,
        "__attribute__((section(\"kprobe/f{number}\"))) int f{number}({word} {name} **ctx) {{"
    );
    let _ = writeln!(body, "  {word} {name} *p = *ctx;\n  if (!p) return 0;");
    for (access, is_bits, is_pointer) in &accesses {
        for kind in 0..6 {
            // clang 14 does not say whether pointers are signed.
            if kind != 3 || !is_pointer {
                let _ = writeln!(body, "  INFO(p->{access}, {kind})");
            }
        }
        if !is_bits && !access.ends_with("[2]") {
            let _ = writeln!(body, "  sink += (unsigned long)p->{access};");
        }
    }
    for kind in 0..2 {
        let _ = writeln!(body, "  TYPE({word} {name}, {kind})");
    }
    let _ = writeln!(body, "  sink += __builtin_btf_type_id(*({word} {name} *)0, 0);");
    let _ = writeln!(body, "  sink += __builtin_btf_type_id(*({word} {name} *)0, 1);\n  return 0;\n}}");
}

/// All members, those of anonymous members among them.
fn collect<'k>(kernel: &'k Btf<'_>, id: TypeId, depth: u32, found: &mut Vec<(&'k [u8], TypeId, u32)>) {
    let Some((id, container)) = kernel.resolve(id) else { return };
    for index in 0..container.count {
        match kernel.member(id, index) {
            Some(member) if member.name.is_empty() && depth < 4 => {
                collect(kernel, member.type_id, depth + 1, found)
            }
            Some(member) => found.push((member.name, member.type_id, member.bit_size)),
            None => {}
        }
    }
}

/// The declaration of a member, and how it is accessed.
#[allow(clippy::too_many_arguments)]
fn declared(
    kernel: &Btf<'_>,
    id: TypeId,
    bits: u32,
    name: &str,
    is_wrong: bool,
    random: &mut Random,
    c: &mut String,
    number: usize,
) -> (String, String) {
    let plain =
        ["int", "unsigned char", "unsigned long", "void *", "short", "char", "fn_t *", "unsigned int"];
    let (_, found) = kernel.resolve(id).unwrap();
    let simple = |type_name: &str| (format!("{type_name} {name}"), name.to_string());
    if is_wrong {
        return simple(plain[random.below(plain.len())]);
    }
    match found.kind {
        Kind::Int | Kind::Enum if bits > 0 => {
            (format!("unsigned int {name}:{}", bits.min(8)), name.to_string())
        }
        Kind::Int => simple(match (found.size, found.is_signed()) {
            (1, _) => "unsigned char",
            (2, true) => "short",
            (2, false) => "unsigned short",
            (4, true) => "int",
            (4, false) => "unsigned int",
            (8, true) => "long",
            _ => "unsigned long",
        }),
        Kind::Array => {
            let (element, access) = declared(kernel, found.target, 0, "x", false, random, c, number);
            let element = if access == "x" && !element.contains(':') {
                element.replace(" x", "")
            } else {
                "int".into()
            };
            let count = if random.one_in(6) { found.count * 2 + 1 } else { found.count };
            let index = [0, 2, count.saturating_sub(1)][random.below(3)].min(count.saturating_sub(1));
            (format!("{element} {name}[{count}]"), format!("{name}[{index}]"))
        }
        Kind::Struct | Kind::Union => {
            let mut inner = Vec::new();
            collect(kernel, id, 0, &mut inner);
            inner.retain(|(inner, _, bits)| is_plain(inner) && *bits == 0);
            if inner.is_empty() {
                return simple("int");
            }
            let (member, type_id, _) = inner[random.below(inner.len())];
            let member = String::from_utf8(member.to_vec()).unwrap();
            let scalar = matches!(kernel.resolve(type_id).unwrap().1.kind, Kind::Int | Kind::Pointer);
            let inner_type = if scalar { "unsigned int" } else { "void *" };
            (format!("struct {{ {inner_type} {member}; }} {name}"), format!("{name}.{member}"))
        }
        Kind::Pointer => simple("void *"),
        Kind::Enum | Kind::Enum64 => {
            let enumeration = format!("e{}_{number}", c.len());
            let _ = writeln!(c, "enum {enumeration} {{ {enumeration}_0, {enumeration}_1 }};");
            simple(&format!("enum {enumeration}"))
        }
        _ => simple("int"),
    }
}

fn enumeration<'k>(
    kernel: &'k Btf<'_>,
    id: TypeId,
    number: usize,
    random: &mut Random,
    seen: &mut HashSet<&'k [u8]>,
    c: &mut String,
    body: &mut String,
) {
    let found = kernel.get(id).unwrap();
    let name = spoiled(found.name, random, 15) + &format!("___e{number}");
    let mut names = Vec::new();
    for _ in 0..4 {
        let enumerator = kernel.enumerator(id, random.below(found.count as usize) as u32).unwrap();
        if is_plain(enumerator.name) && seen.insert(enumerator.name) {
            // A value of more than 32 bits makes clang write a plain enum of 8 bytes: rare, as in the kernel.
            names.push(spoiled(enumerator.name, random, 8) + &format!("___v{number}"));
        }
    }
    if names.is_empty() {
        return;
    }
    let list: Vec<_> = names.iter().map(|name| format!("{name} = {}", random.below(1000))).collect();
    let _ = writeln!(c, "enum {name} {{ {} }};", list.join(", "));
    let _ = writeln!(body, "__attribute__((section(\"kprobe/e{number}\"))) int e{number}(void *ctx) {{");
    for enumerator in &names {
        for kind in 0..2 {
            let _ = writeln!(
                body,
                "  sink += __builtin_preserve_enum_value(*(enum {name} *){enumerator}, {kind});"
            );
        }
    }
    let _ = writeln!(body, "  TYPE(enum {name}, 0)\n  TYPE(enum {name}, 1)\n  return 0;\n}}");
}

/// A name of the kernel, at times another.
fn spoiled(name: &[u8], random: &mut Random, one_in: usize) -> String {
    let name = String::from_utf8(name.to_vec()).unwrap();
    if random.one_in(one_in) { name + "_x" } else { name }
}

/// Whether C takes it for a name.
fn is_plain(name: &[u8]) -> bool {
    const WORDS: [&[u8]; 24] = [
        b"int",
        b"long",
        b"short",
        b"char",
        b"auto",
        b"register",
        b"static",
        b"const",
        b"default",
        b"switch",
        b"case",
        b"if",
        b"do",
        b"for",
        b"enum",
        b"struct",
        b"union",
        b"signed",
        b"unsigned",
        b"inline",
        b"typeof",
        b"sink",
        b"void",
        b"linux",
    ];
    !name.is_empty() && !WORDS.contains(&name) && name.iter().all(|c| c.is_ascii_alphanumeric() || *c == b'_')
}

/// Makes each `type_exists` (8) a `type_matches` (12) in `.BTF.ext`, which is found by its header.
fn make_matches(object: &mut [u8]) {
    let header = [0x9f, 0xeb, 1, 0, 32, 0, 0, 0];
    let start = object.windows(8).position(|window| window == header).expect(".BTF.ext");
    let word = |object: &[u8], at: usize| u32::from_le_bytes(object[at..at + 4].try_into().unwrap()) as usize;
    let (offset, length) = (word(object, start + 24), word(object, start + 28));
    let (mut at, end) = (start + 32 + offset + 4, start + 32 + offset + length);
    while at < end {
        let count = word(object, at + 4);
        for record in 0..count {
            let kind = at + 8 + record * 16 + 12;
            if object[kind] == 8 {
                object[kind] = 12;
            }
        }
        at += 8 + count * 16;
    }
}
