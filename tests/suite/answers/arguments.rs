//! What is read at a place and how: fetch arguments, plans, the calling convention, `@defined`. Offsets are those of
//! `struct request` in tests/fixtures/shared.h, counted by hand.
use crate::support::program::{json, probeidx};
use serde_json::Value;

/// The only value of a place: what `resolve SPEC ARG --json` says.
fn value(spec: &str, argument: &str) -> Value {
    let places = json(&["resolve", spec, argument]);
    assert_eq!(places.len(), 1, "{spec}");
    assert_eq!(places[0]["vars"].as_array().map(Vec::len), Some(1), "{argument}");
    places[0]["vars"][0].clone()
}

const TWIN: &str = "gamma_mod:twin@gamma_one.c";

#[test]
fn arguments_follow_types() {
    for (argument, fetch) in [
        ("rq", "rq=%di:x64"),
        ("$flags", "flags=%si:s32"),
        ("flags:u", "flags=%si:u32"),
        ("flags:x8", "flags=%si:x8"),
        ("rq->users", "users=+56(%di):s32"),
        ("count=rq->users", "count=+56(%di):s32"),
        ("rq->list.next", "next=+0(%di):x64"),
        ("rq->list.next->prev->next", "next=+0(+8(+0(%di))):x64"),
        ("rq->flags", "flags=+16(%di):b3@0/32"),
        ("rq->kind", "kind=+16(%di):b5@3/32"),
        ("rq->error", "error=+16(%di):b20@12/32"),
        ("rq->wide", "wide=+24(%di):b40@0/64"),
        ("rq->sector", "sector=+32(%di):x64"),
        ("rq->high", "high=+36(%di):x32"),
        ("rq->bytes", "bytes=+32(%di):x8[8]"),
        ("rq->bytes[3]", "bytes=+35(%di):x8"),
        ("rq->table[2][1]", "table=+98(%di):x16"),
        ("rq->state", "state=+40(%di):s32"),
        ("rq->name", "name=+48(%di):x64"),
        ("rq->name:string", "name=+0(+48(%di)):string"),
        ("rq->name@user:ustring", "name=+u0(+48(%di)):ustring"),
        ("rq->tail:string", "tail=+120(%di):string"),
        ("rq->done:symbol", "done=+64(%di):symbol"),
        ("((struct opaque *)rq)->pending", "pending=+8(%di):x64"),
        ("%di:x32", "di=%di:x32"),
        ("$stack2", "stack2=$stack2"),
        ("first=+8(%sp):u64", "first=+8(%sp):u64"),
    ] {
        assert_eq!(value(TWIN, argument)["fetch"], fetch, "{argument}");
    }
}

#[test]
fn what_cannot_be_fetched_is_refused_with_the_reason() {
    for (argument, why) in [
        ("rq->list", "a struct of 16 bytes: name a member"),
        ("flags:string", "no pointer and no array: a string is read from memory"),
        ("rq->kind:u32", "u32 reads more than bits 3 to 7"),
        ("$retval", "only a return probe has it"),
        (
            "rq->list.next->next->next->next->next->next->next->next->next->next->next->next->next->next",
            "reads one in another, and the kernel takes 13",
        ),
    ] {
        let value = value(TWIN, argument);
        assert_eq!((value["state"].as_str(), value.get("fetch")), (Some("unsupported"), None), "{argument}");
        assert!(value["location"].as_str().is_some_and(|l| l.contains(why)), "{argument}: {value}");
    }
}

#[test]
fn a_path_that_leads_nowhere_says_how_far_it_came() {
    for (argument, said) in [
        ("rq->usres", "did you mean users?"),
        ("rq.users", "pointer"),
        ("flags->x", "flags"),
        ("rq->owner->seed->x", "seed"),
    ] {
        let run = probeidx(&["resolve", TWIN, argument]);
        assert_eq!((run.code, run.out.as_str()), (1, ""), "{argument}: {run:?}");
        assert!(run.err.contains(said) && run.err.lines().count() == 1, "{argument}: {run:?}");
    }
}

#[test]
fn a_plan_is_told_in_steps_and_in_c() {
    let value = value(TWIN, "rq->list.next->prev");
    assert_eq!(value["c"], "*(u64 *)(*(u64 *)(regs->di) + 8)");
    let steps: Vec<String> = value["steps"].as_array().unwrap().iter().map(Value::to_string).collect();
    let expected = [
        r#"{"op":"register","name":"di","dwarf":5}"#,
        r#"{"op":"read","size":8}"#,
        r#"{"op":"add","value":8}"#,
        r#"{"op":"read","size":8}"#,
    ];
    assert_eq!(steps.len(), expected.len());
    for (step, expected) in value["steps"].as_array().unwrap().iter().zip(expected) {
        assert_eq!(*step, serde_json::from_str::<Value>(expected).unwrap());
    }
    let bits = self::value(TWIN, "rq->error");
    assert_eq!(bits["c"], "*(u32 *)(regs->di + 16) >> 12 & 0xfffff");
}

#[test]
fn parameters_are_where_the_convention_passes_them() {
    let places = json(&["resolve", TWIN]);
    let passed: Vec<(&str, &str)> = places[0]["vars"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| (v["passed"]["slot"].as_str().unwrap(), v["passed"]["proof"].as_str().unwrap()))
        .collect();
    assert_eq!(passed, [("%di", "proved"), ("%si", "proved")]);
    let inline = json(&["resolve", "deep"]);
    assert!(inline[0]["vars"][0].get("passed").is_none(), "an inlined copy is not called");
}

#[test]
fn return_probes_fetch_what_is_returned_and_nothing_else() {
    let places = json(&["resolve", &format!("{TWIN}%return")]);
    let vars = places[0]["vars"].as_array().unwrap();
    assert_eq!((&vars[0]["kind"], &vars[0]["fetch"]), (&"return".into(), &"retval=$retval:s32".into()));
    assert!(vars[1..].iter().all(|v| v.get("fetch").is_none()), "{vars:?}");
    let out =
        probeidx(&["resolve", &format!("{TWIN}%return"), "$retval", "--format", "kprobe-events"]).found();
    assert!(
        out.lines().any(
            |l| l.starts_with("r:probeidx/twin__return gamma_mod:") && l.ends_with(" retval=$retval:s32")
        )
    );
}

#[test]
fn definitions_carry_arguments_and_places_without_them_are_another_event() {
    let out =
        probeidx(&["resolve", "gamma_mod:twin", "flags", "rq->users", "--format", "kprobe-events"]).found();
    let lines: Vec<&str> = out.lines().filter(|l| !l.starts_with('#')).collect();
    assert_eq!(lines.len(), 2, "{out}");
    assert!(lines[0].ends_with(" flags=%si:s32 users=+56(%di):s32"), "{out}");
    assert!(lines[1].contains(":probeidx/twin_1 ") && lines[1].ends_with(" flags=%si:s32"), "{out}");
    assert!(out.contains("#   without rq->users: optimized-out, there is no such variable"), "{out}");
}

#[test]
fn defined_is_a_question() {
    let ask = |argument: &str| {
        let run = probeidx(&["resolve", TWIN, "--defined", argument]);
        (run.code, run.out)
    };
    assert_eq!(ask("$rq->users"), (0, "6.1.0-test  $rq->users is defined at 1 of 1 places\n".into()));
    assert_eq!(ask("$cachep->name").0, 1);
    let (code, out) = ask("$rq->usres");
    assert!(code == 1 && out.contains("at 0 of 1 places: ") && out.contains("users"), "{out}");
    assert_eq!(json(&["resolve", TWIN, "--defined", "$rq"])[0]["defined"], true);
}
