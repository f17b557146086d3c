//! Layouts of types against the compiler that made them, and what `type` prints.
use crate::support::fixture::{Tree, USUAL};
use crate::support::program::{Run, run_in, source};
use probeidx::query::Index;
use probeidx::query::spec::member_path::parse;
use probeidx::query::trace::shown::Shown;
use probeidx::query::types::layout::layout;
use probeidx::query::types::member::walk_path;
use probeidx::query::types::{lookup, users};
use probeidx::render;
use probeidx_format::id::TypeId;
use probeidx_format::strings::Decoded;
use probeidx_format::{SectionName, View};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;
use tempfile::TempDir;

static TYPES: LazyLock<(Tree, TempDir)> = LazyLock::new(|| {
    let tree = Tree::compile(&USUAL);
    tree.add_module(&USUAL, "types", &["types"]);
    tree.add_module(&USUAL, "types_too", &["types_too"]);
    let db = tempfile::tempdir().unwrap();
    let built = run_in(db.path(), ["build", tree.path().to_str().unwrap()]);
    assert_eq!((built.code, built.err.as_str()), (0, ""), "{built:?}");
    (tree, db)
});

fn asked(arguments: &[&str]) -> Run {
    let mut line = vec!["type"];
    line.extend(arguments);
    run_in(TYPES.1.path(), line)
}

#[track_caller]
fn json(arguments: &[&str]) -> Vec<Value> {
    let mut line = vec!["--json"];
    line.extend(arguments);
    asked(&line).found().lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

fn index() -> PathBuf {
    std::fs::read_dir(TYPES.1.path()).unwrap().next().unwrap().unwrap().path()
}

/// The line of the fixture in which this stands.
#[track_caller]
fn line(file: &str, text: &str) -> usize {
    let content = std::fs::read_to_string(source(file)).unwrap();
    1 + content.lines().position(|l| l.contains(text)).unwrap_or_else(|| panic!("{text} is not in {file}"))
}

/// The fixture as a program says where each member is; bits are counted by setting them.
#[test]
fn members_are_where_the_compiler_puts_them() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("types");
    let built =
        Command::new("gcc").args(["-DPRINT", "-w", "-o"]).arg(&program).arg(source("types.c")).output();
    let built = built.unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let said = String::from_utf8(Command::new(&program).output().unwrap().stdout).unwrap();
    let index = Index::open(&index()).unwrap();
    let view = index.view().unwrap();
    let mut counted = 0;
    for line in said.lines() {
        counted += 1;
        let words: Vec<&str> = line.rsplitn(4, ' ').collect();
        let number = |at: usize| words[at].parse::<u64>().unwrap();
        let are_bits = words.get(2) == Some(&"bits");
        // Behind the path: the word, its first bit and their number; or offset and size; or the size alone.
        let behind = if are_bits { 3 } else { 1 + usize::from(line.contains('.')) };
        let path = line.rsplitn(behind + 1, ' ').last().unwrap();
        let parsed = parse(path).unwrap();
        let found = lookup::find(&view, &parsed.root);
        let walked = walk_path(&view, found[0], &parsed).unwrap_or_else(|e| panic!("{line}: {e}"));
        let place = walked.place();
        let size = walked.type_id.and_then(|t| lookup::size_of(&view, t)).unwrap();
        if are_bits {
            let (bit, width) = place.bits.unwrap_or_else(|| panic!("{line}: no bit-field"));
            assert_eq!((place.offset * 8 + u64::from(bit), width.into()), (number(1), number(0)), "{line}");
        } else if parsed.steps.is_empty() {
            assert_eq!((found.len(), size), (1, number(0)), "{line}");
        } else {
            assert_eq!((place.offset, place.bits), (number(1), None), "{line}");
            let rows = if walked.indexed > 0 { 2 } else { 1 };
            assert_eq!(size / rows, number(0), "{line}");
        }
    }
    assert!(counted > 60, "{counted}");
}

#[test]
fn a_struct_as_c_declares_it() {
    let expected = [
        "struct outer {",
        "\tint first; /* 0 4 */",
        "\t/* XXX 4 bytes hole */",
        "\tunion {",
        "\t\tlong int number; /* 8 8 */",
        "\t\tstruct {",
        "\t\t\tshort int low; /* 8 2 */",
        "\t\t\t/* XXX 2 bytes hole */",
        "\t\t\tunion {",
        "\t\t\t\tchar deep; /* 12 1 */",
        "\t\t\t\tint other; /* 12 4 */",
        "\t\t\t}; /* 12 4 */",
        "\t\t}; /* 8 8 */",
        "\t}; /* 8 8 */",
        "\tstruct {",
        "\t\tint x; /* 16 4 */",
        "\t\tint y; /* 20 4 */",
        "\t} point; /* 16 8 */",
        "\tstruct {",
        "\t\tu8 tag; /* 24 1 */",
        "\t\t/* XXX 3 bytes hole */",
        "\t\tu32 value; /* 28 4 */",
        "\t} pairs[3]; /* 24 24 */",
        "\tstruct list_head list; /* 48 16 */",
        "\tint (*compare)(const void *, const void *); /* 64 8 */",
        "\tvoid (*handlers[4])(int, ...); /* 72 32 */",
        "\tconst char *const *names; /* 104 8 */",
        "\tchar comm[16]; /* 112 16 */",
        "\tu16 table[2][3]; /* 128 12 */",
        "\tenum sign sign; /* 140 4 */",
        "\tchar tail[]; /* 144 0 */",
        "\t/* size: 144, members: 12, holes: 1, sum of holes: 4 bytes */",
        "};",
    ];
    let out = asked(&["struct outer"]).found();
    let mut lines = out.lines().filter(|l| !l.is_empty());
    let place = format!("/* {}:{} */", source("types.c").display(), line("types.c", "struct outer {"));
    assert_eq!(lines.next(), Some(&place[..]));
    let plain = |l: &str| {
        let words: Vec<&str> = l.split_whitespace().collect();
        format!("{}{}", "\t".repeat(l.len() - l.trim_start().len()), words.join(" "))
    };
    assert_eq!(lines.map(plain).collect::<Vec<_>>(), expected);
}

#[test]
fn typedefs_enums_and_base_types() {
    let at = |text| format!("/* {}:{} */", source("types.c").display(), line("types.c", text));
    let body = "typedef struct {\n\tint counter;                                     /*     0       4 */\n\n\
                \t/* size: 4, members: 1 */\n} counter_t;\n";
    let alias = format!("{}\ntypedef counter_t alias_t;\n{}\n{body}", at(" alias_t;"), at(" counter_t;"));
    assert_eq!(asked(&["alias_t"]).found(), alias.replace(&at(" counter_t;"), &at("} counter_t;")));
    let callback =
        format!("{}\ntypedef int (*callback_t)(struct outer *, alias_t);  /* size: 8 */\n", at("callback_t"));
    assert_eq!(asked(&["callback_t"]).found(), callback);
    let sign = &json(&["enum sign"])[0];
    let values = json!([{"name": "NEGATIVE", "value": -5}, {"name": "NONE", "value": 0}, {"name": "POSITIVE", "value": 7}]);
    assert_eq!((&sign["enumerators"], &sign["size"], &sign["kind"]), (&values, &json!(4), &json!("enum")));
    assert!(asked(&["sign"]).found().contains("\tNEGATIVE = -5,\n"));
    assert_eq!(asked(&["unsigned long"]).found(), "long unsigned int;  /* size: 8 */\n");
}

#[test]
fn a_type_as_json() {
    let all = json(&["struct fields"]);
    let fields = &all[0];
    assert_eq!(
        (&fields["kind"], &fields["name"], &fields["size"]),
        (&json!("struct"), &json!("fields"), &json!(16))
    );
    assert_eq!(fields["line"], line("types.c", "struct fields"));
    let members = fields["members"].as_array().unwrap();
    let b = json!({"name": "b", "type": "u32", "offset": 0, "size": 4, "bit_offset": 3, "bit_size": 5});
    assert_eq!((members.len(), &members[1]), (7, &b));
    assert_eq!(
        fields["holes"],
        json!([{"offset": 1, "bit_offset": 0, "bit_size": 4}, {"offset": 4, "size": 4}])
    );
    let aligned = &json(&["aligned"])[0];
    assert_eq!(aligned["holes"], json!([{"offset": 1, "size": 31}]));
    assert_eq!(aligned["padding"], json!({"offset": 36, "size": 28}));
    let outer = &json(&["struct outer"])[0];
    let union = &outer["members"][1];
    assert_eq!(
        (&union["name"], &union["type"], &union["offset"]),
        (&Value::Null, &json!("union {...}"), &json!(8))
    );
    assert_eq!(union["members"][1]["members"][0]["name"], "low");
    let chain = &json(&["alias_t"])[0]["chain"];
    assert_eq!((&chain[0]["type"], &chain[1]["kind"]), (&json!("counter_t"), &json!("struct")));
}

#[test]
fn one_member() {
    for (path, said) in [
        ("struct outer.deep", "struct outer.deep: char  /* offset: 12, size: 1 */\n"),
        ("outer->point.y", "outer.point.y: int  /* offset: 20, size: 4 */\n"),
        (
            "outer.list.next->prev",
            "outer.list.next->prev: struct list_head *  /* from the root: +48, read the pointer, +8, offset: 8, size: 8 */\n",
        ),
        ("outer.table[1]", "outer.table[1]: u16[3]  /* offset: 134, size: 6 */\n"),
        ("fields.d", "fields.d: u64  /* offset: 8, bit: 0, bits: 40, size: 8 */\n"),
        ("holder.count.counter", "holder.count.counter: int  /* offset: 0, size: 4 */\n"),
    ] {
        assert_eq!(asked(&[path]).found(), said);
    }
    let b = &json(&["fields.b"])[0];
    assert_eq!(
        (&b["type"], &b["offset"], &b["bit_offset"], &b["bit_size"]),
        (&json!("u32"), &json!(0), &json!(3), &json!(5))
    );
    let moves = &json(&["outer.list.next->prev"])[0]["moves"];
    assert_eq!(*moves, json!([{"add": 48}, "deref", {"add": 8}]));
}

#[test]
fn what_is_not_there() {
    for (path, said) in [
        ("struct outr", "no type struct outr; did you mean struct outer?"),
        ("union outer", "no type union outer; did you mean struct outer?"),
        ("outer.point.z", "outer.point.z: struct {...} has no member z; did you mean x, y?"),
        ("outer.nmber", "outer.nmber: struct outer has no member nmber; did you mean number?"),
        ("outer.list.next.prev", "outer.list.next.prev: struct list_head* is a pointer; write ->prev"),
        ("outer.first->x", "outer.first->x: int is no pointer"),
        ("struct unknown", "struct unknown is only declared: its definition is in nothing that was indexed"),
        ("empty --users", "no function takes or returns empty"),
    ] {
        let run = asked(
            &path
                .split(" --")
                .enumerate()
                .map(|(n, w)| if n == 0 { w } else { "--users" })
                .collect::<Vec<_>>(),
        );
        assert_eq!(
            (run.code, run.out.as_str(), run.err.as_str()),
            (1, "", &format!("probeidx: {said}\n")[..]),
            "{path}"
        );
    }
    let run = asked(&["holder.unknown->x"]);
    assert!(
        run.code == 1 && run.err.starts_with("probeidx: holder.unknown->x: struct unknown is only declared"),
        "{run:?}"
    );
    assert_eq!(asked(&["outer.[1]"]).code, 2);
}

#[test]
fn who_takes_and_returns_it() {
    let row = |name: &str, uses: &str, object: &str, file: &str| {
        let text = format!(" {}{name}(", if name == "give_holder" { "*" } else { "" });
        format!("{name}@{}:{}  {uses}  {object}\n", source(file).display(), line(file, &text))
    };
    let types = |name, uses| row(name, uses, "types", "types.c");
    for (name, said) in [
        ("struct outer", types("take_outer", "1 *, 2 **")),
        ("holder", types("give_holder", "returns *")),
        ("alias_t", types("give_holder", "1")),
        ("enum sign", types("give_holder", "2")),
        ("union both", types("only_inlined", "1 *") + &types("take_both", "1 *")),
        ("struct unknown", types("take_callback", "2 *")),
        ("callback_t", types("take_callback", "1")),
        ("unsigned long", types("take_both", "2")),
    ] {
        let out = asked(&[name, "--users"]).found();
        let own: String = out.split_inclusive('\n').filter(|l| l.contains("/types.c:")).collect();
        assert_eq!(own, said, "{name}");
    }
    let users = json(&["outer", "--users"]);
    let user = users.iter().find(|user| user["function"] == "take_outer").unwrap();
    assert_eq!(user["uses"], json!([{"position": 1, "depth": 1}, {"position": 2, "depth": 2}]));
    assert_eq!((&user["function"], &user["objects"]), (&json!("take_outer"), &json!(["types"])));
    assert_eq!(json(&["both", "--users"])[0]["inlined"], true);
}

#[test]
fn several_definitions_of_a_name() {
    let all = json(&["struct twice"]);
    let told: Vec<_> = all.iter().map(|t| (&t["size"], &t["used_in"])).collect();
    assert_eq!(told, [(&json!(4), &json!(["types"])), (&json!(16), &json!(["types_too"]))]);
    let out = asked(&["twice"]).found();
    for (file, module) in [("types.c", "types"), ("types_too.c", "types_too")] {
        let place =
            format!("/* {}:{}  used in {module} */", source(file).display(), line(file, "struct twice {"));
        assert!(out.contains(&place), "{out}");
    }
    assert_eq!(asked(&["twice.two"]).found(), "twice.two: long int  /* offset: 8, size: 8 */\n");
    assert_eq!(asked(&["twice.three"]).err.lines().count(), 2);
    assert_eq!(asked(&["twice", "--users"]).found().lines().count(), 2);
}

/// Two files have pointers to a struct, and pointers to these; one of them only declares it.
#[test]
fn what_is_only_declared_is_the_same_as_what_is_defined() {
    let index = Index::open(&index()).unwrap();
    let view = index.view().unwrap();
    let parameters = |function: &str| -> Vec<TypeId> {
        let name = view.name(function.as_bytes()).unwrap();
        let function = view.functions.at(view.functions_named(name).start);
        view.variables(function).filter(|v| v.parameter).map(|v| v.type_id.unwrap()).collect()
    };
    let [defined, declared] = ["take_outer", "take_far"].map(parameters);
    assert_eq!([defined[0], defined[1]], [declared[1], declared[0]]);
    // No two types without a name consist of the same, and none stands for a definition.
    let types = view.types.owners();
    let all: Vec<_> = (0..types.len() as u32)
        .map(|id| {
            (
                types.at(id as usize),
                view.members(TypeId::new(id)).iter().map(|m| (m.name, m.target, m.value)).collect::<Vec<_>>(),
            )
        })
        .map(|(t, members)| (t.name, t.kind, t.flags, t.size, t.encoding, t.file, t.line, t.target, members))
        .collect();
    let equal = (0..all.len()).find(|at| all[..*at].contains(&all[*at]));
    assert_eq!(equal.map(|at| &all[at]), None);
    let outer = types.iter().filter(|t| view.string(t.name) == b"outer").count();
    assert_eq!(outer, 1);
    let used = json(&["outer", "--users"]);
    let used: Vec<_> = used.iter().map(|user| user["function"].as_str().unwrap()).collect();
    assert_eq!(used, ["take_far", "take_outer"]);
}

/// Bytes of what is read for types are changed: every answer ends, and is no panic.
#[test]
fn damaged_types_are_survived() {
    let whole = std::fs::read(index()).unwrap();
    let sizes: Vec<(SectionName, u64)> =
        View::open(&whole, &Decoded::new()).unwrap().section_sizes().collect();
    let wanted = [SectionName::Types, SectionName::Members, SectionName::TypeUsers, SectionName::TypeUses];
    let mut end = whole.len() as u64;
    let mut at = vec![];
    for (name, size) in sizes.into_iter().rev() {
        end -= size;
        if wanted.contains(&name) {
            at.extend(end..end + size);
        }
    }
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (random >> 33) as usize
    };
    for _ in 0..60 {
        let mut bytes = whole.clone();
        for _ in 0..at.len() / 20 {
            bytes[at[next() % at.len()] as usize] = [0, 1, 0x7f, 0xff, next() as u8][next() % 5];
        }
        let decoded = Decoded::new();
        let view = View::open(&bytes, &decoded).unwrap();
        for type_id in (0..view.types.len() as u32 + 1).map(TypeId::new) {
            if let Some(laid_out) = layout(&view, type_id) {
                render::types::layout(&view, &laid_out, &[], &mut std::io::sink()).unwrap();
                render::types_json::layout("", &laid_out, &[], &mut std::io::sink()).unwrap();
            }
            users::objects(&view, type_id);
            for path in ["x.list.next->prev", "x[1][2]", "x->a.b"] {
                let _ = walk_path(&view, type_id, &parse(path).unwrap());
            }
        }
        let all: Vec<TypeId> = lookup::find(&view, "struct outer");
        let counted: Result<(), ()> = users::users(&view, &all, |_| Ok(()));
        assert!(counted.is_ok());
    }
}

/// How a trace shows values of each kind of type.
#[test]
fn values_are_shown_as_their_types() {
    let index = Index::open(&index()).unwrap();
    let view = index.view().unwrap();
    let of = |name: &str, path: &str, is_returned: bool| {
        let start = lookup::find(&view, name)[0];
        let walked = walk_path(&view, start, &parse(path).unwrap()).unwrap();
        Shown::of_type(&view, walked.type_id, is_returned)
    };
    let named = [(-5, "NEGATIVE"), (0, "NONE"), (7, "POSITIVE")].map(|(v, n)| (v, n.to_owned())).to_vec();
    for (name, path, shown) in [
        ("struct plain", "x.c", Shown::Character),
        ("struct plain", "x.l", Shown::Signed),
        ("struct fields", "x.a", Shown::Unsigned),
        ("struct fields", "x.f", Shown::Signed),
        ("struct fields", "x.g", Shown::Boolean),
        ("struct outer", "x.comm", Shown::Text),
        ("struct outer", "x.comm[3]", Shown::Character),
        ("struct outer", "x.table", Shown::Unsigned),
        ("struct outer", "x.compare", Shown::Address),
        ("struct outer", "x.names", Shown::Address),
        ("struct outer", "x.handlers", Shown::Address),
        ("struct outer", "x.sign", Shown::Enumerators { named, are_bits: false }),
        // A number within a struct, and a struct.
        ("struct holder", "x.count", Shown::Signed),
        ("struct outer", "x.point", Shown::Unsigned),
    ] {
        assert_eq!(of(name, path, false), shown, "{name} {path}");
    }
    // Of what a function returns, an int or long may be an error; nothing smaller, and no array of them.
    for (path, shown) in [("x.l", Shown::Result), ("x.s", Shown::Signed), ("x.c", Shown::Character)] {
        assert_eq!(of("struct plain", path, true), shown, "{path}");
    }
    assert_eq!(of("struct outer", "x.sign", true), of("struct outer", "x.sign", false));
    assert_eq!(Shown::of_type(&view, None, true), Shown::Unsigned);
}
