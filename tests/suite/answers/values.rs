//! What is read of values that are not simply a register or memory, and what the kernel at hand takes.
use super::verdicts::{NEWER, OLDER};
use crate::hostile::dwarf::{index as index_module, victim};
use crate::support::fixture::{Recipe, Tree, USUAL};
use crate::support::program::Indexed;
use crate::support::raw::Raw;
use crate::support::tables::index;
use gimli::constants::*;
use probeidx::query::resolve::placement::Wanted;
use probeidx::query::value::reader::ValueAt;
use probeidx::query::{resolve, spec};
use serde_json::Value;
use std::sync::LazyLock;

/// Its kprobe_events are as those of 6.1 were at first.
pub static FORMER: LazyLock<Indexed> =
    LazyLock::new(|| delta(&Recipe::new("gcc", &["-O2", "-gdwarf-5", "-fno-eliminate-unused-debug-types"])));
/// They can do what those of 6.12 can, whatever the release says.
pub static LATER: LazyLock<Indexed> =
    LazyLock::new(|| delta(&Recipe::new("gcc", &["-O2", "-gdwarf-5", "-DNEWER_EVENTS"])));

fn delta(recipe: &Recipe) -> Indexed {
    let tree = Tree::compile(&USUAL);
    tree.add_module(recipe, "delta-mod", &["delta"]);
    index(tree)
}

/// The values of the one place of a spec.
fn values(indexed: &Indexed, spec: &str, arguments: &[&str]) -> Vec<Value> {
    let mut line = vec!["resolve", spec];
    line.extend(arguments);
    let places = indexed.json(&line);
    assert_eq!(places.len(), 1, "{spec}");
    places[0]["vars"].as_array().unwrap().clone()
}

#[track_caller]
fn fetches(indexed: &Indexed, spec: &str, argument: &str, fetch: &str) {
    let value = &values(indexed, spec, &[argument])[0];
    assert_eq!(value["fetch"], fetch, "{argument}: {value}");
}

#[track_caller]
fn refuses(indexed: &Indexed, spec: &str, argument: &str, why: &str) {
    let value = &values(indexed, spec, &[argument])[0];
    assert_eq!((value["state"].as_str(), value.get("fetch")), (Some("unsupported"), None), "{argument}");
    assert!(value["location"].as_str().is_some_and(|l| l.contains(why)), "{argument}: {value}");
}

#[test]
fn parts_of_a_value_are_read_from_the_piece_that_has_them() {
    let spec = "by_value";
    for (argument, fetch) in [
        ("pair.rq", "rq=%di:x64"),
        ("pair.rq->users", "users=+56(%di):s32"),
        ("pair.rq->name:string", "name=+0(+48(%di)):string"),
        ("pair.error", "error=%si:s32"),
        ("pair.length", "length=%si:b16@32/64"),
        ("pair.low", "low=%si:b4@48/64"),
        ("pair.high", "high=%si:b12@52/64"),
        ("halves.first", "first=%dx:x32"),
        ("word", "word=%cx:x32"),
        ("word.only", "only=%cx:x32"),
        ("pair.error:u8", "error=%si:u8"),
    ] {
        fetches(&FORMER, spec, argument, fetch);
    }
    refuses(&FORMER, spec, "pair", "in pieces: 8 bytes in %di, 8 bytes in %si");
    refuses(&FORMER, spec, "halves", "a struct of 8 bytes: name a member");
    refuses(&FORMER, spec, "halves.second", "bits 32 to 63, with a sign: the kernel's bit-fields have none");
    for cast in ["u16", "b4@0/16", "symbol"] {
        let why = format!("{cast} reads more than bits 32 to 47");
        refuses(&FORMER, spec, &format!("pair.length:{cast}"), &why);
    }
    refuses(&FORMER, spec, "pair.both", "a struct of 2 bytes: name a member");
    refuses(&FORMER, spec, "pair.bytes", "an array that is not in memory");
    fetches(&FORMER, "in_memory", "three.c", "c=+24(%sp):x64");
    let value = &values(&FORMER, spec, &["pair.high"])[0];
    assert_eq!(value["c"], "regs->si >> 52 & 0xfff");
    let whole = &values(&FORMER, spec, &["pair"])[0];
    assert_eq!((whole.get("c"), whole.get("steps")), (None, None));
}

#[test]
fn types_that_came_later_are_taken_where_the_kernel_has_them() {
    for (argument, fetch) in [
        ("node->data:symstr", "data=+0(%dx):symstr"),
        ("node->data:char", "data=+0(%dx):char"),
        ("dentry->words:char[4]", "words=+32(%di):char[4]"),
        ("dentry:%pd", "dentry=%di:%pd"),
        ("up=dentry->d_parent:%pd", "up=+8(%di):%pd"),
        ("file:%pD", "file=%si:%pD"),
        ("%di:%pd", "di=%di:%pd"),
    ] {
        fetches(&LATER, "names", argument, fetch);
        refuses(&FORMER, "names", argument, "and the code of this one shows that it has not");
    }
    refuses(&FORMER, "names", "dentry:%pd", "%pd: kernels have that since 6.10");
    refuses(&FORMER, "names", "file:%pD", "; write ->f_path.dentry->d_name.name:string");
    refuses(&LATER, "names", "file:%pd", "no struct dentry*, which %pd is for");
    refuses(&LATER, "names", "dentry->d_flags:%pD", "no struct file*, which %pD is for");
}

/// Without the code of kprobe_events in the debug information, the version is what is left.
#[test]
fn else_the_release_tells_which_types_there_are() {
    for (argument, since) in [("%di:symstr", "6.3"), ("%di:char", "6.3"), ("%di:%pd", "6.10")] {
        fetches(&NEWER, "first_caller", argument, &format!("di={argument}"));
        let why = format!("kernels have that since {since}, and this one is called 6.1.0-old");
        refuses(&OLDER, "first_caller", argument, &why);
    }
}

#[test]
fn a_record_has_no_more_bytes_than_the_kernel_takes() {
    let spec = "names";
    let mut arguments: Vec<String> = (0..5).map(|n| format!("a{n}=dentry->words")).collect();
    // 5 x 512, 504, 4 and 4 bytes: a string counts as a reference to it.
    arguments.extend([
        "b=dentry->words:x64[63]".into(),
        "c=node->name:string".into(),
        "d=dentry->d_flags".into(),
    ]);
    let mut all: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let taken = values(&FORMER, spec, &all);
    assert!(taken.iter().all(|v| v["state"] == "readable"), "{taken:?}");
    all.insert(0, "e=dentry->d_flags:b1@7/8");
    let found = values(&FORMER, spec, &all);
    assert_eq!(found.iter().filter(|v| v["state"] == "readable").count(), 8, "{found:?}");
    assert_eq!(found[8]["location"], "with it the record has 3073 bytes, and the kernel takes 3072");
    all.push("--format");
    all.push("kprobe-events");
    all.splice(0..0, ["resolve", spec]);
    let out = FORMER.run(&all).found();
    assert!(
        out.contains("#   without d=dentry->d_flags: unsupported, with it the record has 3073 bytes"),
        "{out}"
    );
    let line = out.lines().find(|l| l.starts_with("p:")).unwrap();
    assert!(line.contains(" e=+0(%di):b1@7/8 ") && line.ends_with(" c=+0(+16(%dx)):string"), "{line}");
}

#[test]
fn a_definition_is_no_longer_than_the_kernel_takes() {
    let long: Vec<String> = (0..100).map(|n| format!("{}_{n:02}=dentry->d_parent", "a".repeat(29))).collect();
    let mut line = vec!["resolve", "names"];
    line.extend(long.iter().map(String::as_str));
    line.extend(["--format", "kprobe-events"]);
    let run = FORMER.run(&line);
    assert_eq!(run.code, 1, "{run:?}");
    let why = " characters, and the kernel takes 4094\n";
    assert!(run.out.contains(": the definition has 4") && run.out.contains(why), "{run:?}");
    line.drain(80..102);
    assert!(FORMER.run(&line).found().lines().all(|l| l.len() <= 4094));
}

#[test]
fn what_c_writes_is_read() {
    for (argument, fetch) in [
        ("(*node).next", "next=+8(%dx):x64"),
        ("*node->next->name", "name=+0(+16(+8(%dx))):s8"),
        ("((struct dentry *)node->data)->d_flags", "d_flags=+0(+0(%dx)):x32"),
        ("((struct dentry *)((struct node *)dentry)->next)->words[2]", "words=+48(+8(%di)):x64"),
        ("(struct dentry *)node->data", "data=+0(%dx):x64"),
        ("*(u16 *)node->data", "data=+0(+0(%dx)):x16"),
        ("((u16 *)node->data)[3]", "data=+6(+0(%dx)):x16"),
        ("((char *)node->data):string", "data=+0(+0(%dx)):string"),
        ("((struct node *)dentry->words)->next", "next=+40(%di):x64"),
        ("&*node", "node=%dx:x64"),
        ("&node->data", "data=%dx:x64"),
        ("(&node->next)[1]", "next=+16(%dx):x64"),
    ] {
        fetches(&FORMER, "names", argument, fetch);
    }
    for (argument, why) in [
        ("*node", "a struct of 24 bytes: name a member"),
        ("&node", "it is not in memory, and has no address"),
        ("&node->next", "%dx plus 8 is a number and not a place in memory: the kernel cannot add"),
        ("((struct node *)dentry->d_flags)->next", "a value of 4 bytes is no pointer"),
    ] {
        refuses(&FORMER, "names", argument, why);
    }
    refuses(&FORMER, "by_value", "&pair.low", "a bit-field has no address");
    for (argument, code, said) in [
        ("((struct nothing *)node->data)->x", 1, "((struct nothing *)node->data): no type struct nothing"),
        (
            "((struct dentry *)node->data)->nothing",
            1,
            "((struct dentry *)node->data)->nothing: struct dentry has no member nothing",
        ),
        (
            "((struct dentry *)node->data).d_flags",
            1,
            "((struct dentry *)node->data).d_flags: it is a pointer; write ->d_flags",
        ),
        ("node->nothing->x", 1, "node->nothing: struct node has no member nothing"),
        ("(node->data", 2, "argument '(node->data': column 12: expected ')'"),
    ] {
        FORMER.run(&["resolve", "names", argument]).refused(code, &format!("probeidx: error: {said}"));
    }
}

#[test]
fn from_a_pointer_of_the_user_on_all_is_read_as_the_users() {
    for (argument, fetch) in [
        ("node@user->next->data", "data=+u0(+u8(%dx)):x64"),
        ("node->next@user->next->name:ustring", "name=+u0(+u16(+u8(+8(%dx)))):ustring"),
        ("node->next->name@user:ustring", "name=+u0(+16(+8(%dx))):ustring"),
        ("node->next->data@user", "data=+u0(+8(%dx)):x64"),
        ("*node->next->name@user", "name=+u0(+16(+8(%dx))):s8"),
        ("((struct dentry *)node->data@user)->d_flags", "d_flags=+u0(+0(%dx)):x32"),
    ] {
        fetches(&FORMER, "names", argument, fetch);
    }
    let steps = values(&FORMER, "names", &["node->next@user->data"])[0]["steps"].clone();
    let reads: Vec<bool> =
        steps.as_array().unwrap().iter().filter(|s| s["op"] == "read").map(|s| s["user"] == true).collect();
    assert_eq!(reads, [false, true]);
}

/// A cast is held against the type that it names, also where the variable is not known; its own type says nothing.
#[test]
fn a_cast_holds_where_the_variable_is_not_known() {
    let places = FORMER.json(&["resolve", "peek", "((struct dentry *)data)->d_flags"]);
    let found: Vec<(bool, &Value)> =
        places.iter().map(|p| (p["vars"][0].get("fetch").is_some(), &p["vars"][0]["type"])).collect();
    let [(true, first), (false, second)] = &found[..] else { panic!("{places:#?}") };
    assert_eq!((*first, *second), (&"u32".into(), &"u32".into()));
    let run = FORMER.run(&["resolve", "peek", "((struct dentry *)data)->nothing"]);
    assert!(run.code == 1 && run.err.contains("struct dentry has no member nothing"), "{run:?}");
    let run = FORMER.run(&["resolve", "peek", "data->d_flags"]);
    assert!(run.code == 1 && run.err.contains("void* is a void pointer"), "{run:?}");
}

#[test]
fn return_probes_read_what_was_passed_where_the_kernel_keeps_it() {
    for (argument, fetch) in [
        ("node", "node=$arg3:x64"),
        ("node->next->data", "data=+0(+8($arg3)):x64"),
        ("node->name:string", "name=+0(+16($arg3)):string"),
        ("dentry:%pd", "dentry=$arg1:%pd"),
        ("$retval", "retval=$retval:s32"),
    ] {
        fetches(&LATER, "names%return", argument, fetch);
    }
    assert_eq!(
        values(&LATER, "names%return", &["node"])[0]["steps"][0],
        serde_json::json!({"op": "argument", "number": 3})
    );
    let others = "registers and stack are others when the function returns";
    refuses(&FORMER, "names%return", "node", &format!("{others}; $arg3: kernels have that since 6.9"));
    // The seventh is on the stack; what is in two registers is no argument of its own.
    fetches(&LATER, "seven%return", "f", "f=$arg6:s32");
    refuses(&LATER, "seven%return", "g", &format!("{others}, and no register"));
    refuses(&LATER, "by_value%return", "halves.first", others);
    // As it is written, too.
    fetches(&LATER, "names%return", "+8($arg3)", "arg=+8($arg3)");
    refuses(&FORMER, "names%return", "$arg3", "kernels have that since 6.9");
    fetches(&FORMER, "names", "$arg3", "arg3=$arg3");
    refuses(&FORMER, "names+1", "$arg3", "$argN is for the entry of a function");
    refuses(&OLDER, "vmlinux:plain+4", "$arg3", "$argN is for the entry of a function");
    let all = values(&LATER, "names%return", &[]);
    let fetched: Vec<&str> = all.iter().filter_map(|v| v["fetch"].as_str()).collect();
    assert_eq!(fetched, ["retval=$retval:s32", "dentry=$arg1:x64", "file=$arg2:x64", "node=$arg3:x64"]);
    let out = LATER.run(&["resolve", "names%return", "node", "--format", "kprobe-events"]).found();
    assert!(
        out.lines().any(|l| l.starts_with("r:probeidx/names__return ") && l.ends_with(" node=$arg3:x64")),
        "{out}"
    );
}

#[test]
fn that_nothing_can_be_read_is_an_answer_and_no_success() {
    let why = "nothing of what was asked for can be read: \
               &node: unsupported, it is not in memory, and has no address";
    for format in ["text", "kprobe-events"] {
        let run = FORMER.run(&["resolve", "names", "&node", "--format", format]);
        assert_eq!((run.code, run.err.as_str()), (1, format!("probeidx: {why}\n").as_str()), "{run:?}");
        assert!(run.out.contains("names"), "{run:?}");
        let run = FORMER.run(&["resolve", "names", "&node", "dentry", "--format", format]);
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    }
    let out = FORMER.run(&["resolve", "names", "&node", "--format", "kprobe-events"]).out;
    assert!(out.lines().any(|l| l.starts_with("p:probeidx/names delta_mod:names+0")), "{out}");
    // One place of two is enough; in JSON the state says it.
    FORMER.run(&["resolve", "peek", "data", "--format", "kprobe-events"]).found();
    assert_eq!(values(&FORMER, "names", &["&node"])[0]["state"], "unsupported");
}

/// What the kernel reads by itself needs no debug information.
#[test]
fn registers_are_read_where_nothing_is_described() {
    fetches(&OLDER, "vmlinux:plain", "low=%di:x32", "low=%di:x32");
    let run = OLDER.run(&["resolve", "vmlinux:plain", "%di", "--format", "kprobe-events"]);
    assert!(run.found().ends_with("_text+16 di=%di\n"));
    let run = OLDER.run(&["resolve", "vmlinux:plain", "file"]);
    assert!(run.code == 1 && run.err.contains("no variable 'file' in any of the placements"), "{run:?}");
}

#[test]
fn types_within_functions_are_known_though_nothing_leads_to_them() {
    for (name, size) in [("struct unused_within", 16), ("union unused_when_inlined", 8)] {
        assert_eq!(FORMER.json(&["type", name])[0]["size"], size, "{name}");
    }
}

#[test]
fn vmlinux_is_null_in_json() {
    let users = FORMER.json(&["type", "struct request", "--users"]);
    let of = |function: &str| users.iter().find(|u| u["function"] == function).map(|u| u["objects"].clone());
    assert_eq!(of("submit"), Some(serde_json::json!([null])));
}

/// Base types by size and sign, and what is fetched of a register of which the operations keep some bits.
#[test]
fn bits_of_a_register_are_read_by_a_type_that_reads_no_others() {
    let low_32: &[u8] = &[DW_OP_const4u.0, 0xff, 0xff, 0xff, 0xff, DW_OP_and.0];
    let sign_32: &[u8] = &[DW_OP_const1u.0, 32, DW_OP_shl.0, DW_OP_const1u.0, 32, DW_OP_shra.0];
    let shifted: &[u8] = &[DW_OP_lit2.0, DW_OP_shr.0];
    let byte_1: &[u8] = &[DW_OP_lit8.0, DW_OP_shr.0, DW_OP_const1u.0, 0xff, DW_OP_and.0];
    let with_sign = |bits: &str| Err(format!("bits {bits}, with a sign: the kernel's bit-fields have none"));
    type Case<'a> = (&'a [u8], u8, DwAte, Result<&'a str, String>);
    let cases: [Case<'_>; 12] = [
        (low_32, 4, DW_ATE_signed, Ok("s32")),
        (low_32, 4, DW_ATE_unsigned, Ok("x32")),
        (low_32, 1, DW_ATE_unsigned, Ok("x8")),
        (low_32, 8, DW_ATE_unsigned, Ok("b32@0/32")),
        (low_32, 8, DW_ATE_signed, Ok("b32@0/32")),
        (sign_32, 4, DW_ATE_signed, Ok("s32")),
        (sign_32, 8, DW_ATE_signed, Ok("s32")),
        (sign_32, 8, DW_ATE_unsigned, with_sign("0 to 31")),
        (shifted, 8, DW_ATE_unsigned, Ok("b62@2/64")),
        (shifted, 4, DW_ATE_unsigned, Ok("b32@2/64")),
        (shifted, 4, DW_ATE_signed, with_sign("2 to 33")),
        (byte_1, 4, DW_ATE_signed, Ok("b8@8/16")),
    ];
    let mut raw = Raw::unit(4);
    let base = [(DW_AT_byte_size, DW_FORM_data1), (DW_AT_encoding, DW_FORM_data1)];
    let base = raw.code(DW_TAG_base_type, false, &base);
    let named = [(DW_AT_name, DW_FORM_string), (DW_AT_low_pc, DW_FORM_addr), (DW_AT_high_pc, DW_FORM_data4)];
    let function = raw.code(DW_TAG_subprogram, true, &named);
    let variable =
        [(DW_AT_name, DW_FORM_string), (DW_AT_type, DW_FORM_ref4), (DW_AT_location, DW_FORM_exprloc)];
    let variable = raw.code(DW_TAG_variable, false, &variable);
    let mut types = vec![];
    for (_, size, encoding, _) in &cases {
        types.push(raw.here());
        raw.entry(base).u8(*size).u8(encoding.0);
    }
    raw.entry(function).string("masked").u64(0x1000).u32(0x100);
    for (number, (operations, ..)) in cases.iter().enumerate() {
        let operations = [&[DW_OP_breg0.0, 0], *operations, &[DW_OP_stack_value.0]].concat();
        raw.entry(variable).string(&format!("v{number}")).u32(types[number]);
        raw.uleb(operations.len() as u64).bytes(&operations);
    }
    raw.end();
    victim(&mut raw);
    let (index, skipped) = index_module(&raw.module(&[]));
    assert_eq!(skipped, [] as [&str; 0]);
    let arguments: Vec<_> =
        (0..cases.len()).map(|n| probeidx::query::spec::argument::parse(&format!("v{n}")).unwrap()).collect();
    let wanted = Wanted { locals: true, arguments: &arguments, ..Wanted::default() };
    let mut found: Vec<ValueAt> = vec![];
    for spec in spec::parse("masked").unwrap() {
        resolve::resolve(&index.view(), &spec, wanted, |place, _| {
            found.extend(place.values);
            Ok(())
        })
        .unwrap();
    }
    assert_eq!(found.len(), cases.len());
    for (number, (value, (_, _, _, expected))) in found.iter().zip(cases).enumerate() {
        let fetch = value.fetch.clone().ok_or(value.location.clone().unwrap_or_default());
        assert_eq!(fetch, expected.map(|kind| format!("v{number}=%ax:{kind}")), "v{number}");
    }
}
