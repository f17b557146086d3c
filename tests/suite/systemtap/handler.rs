//! What handlers mean, without a kernel: locals and their types, dead branches, and what is refused.
use probeidx::tapset::ast::{Script, Type, Variable};
use probeidx::tapset::context::{Absent, Context, Detail, Value};
use probeidx::tapset::handler::{self, Program, Words};
use probeidx::tapset::{Definitions, Library, Target};
use std::path::Path;
use std::rc::Rc;

/// A place with a few variables: `$n` is a number, `$p` a pointer to what has a member `m`, `$s$` text.
struct Somewhere;

impl Context for Somewhere {
    fn variable(&self, variable: &Variable, of: Option<Detail>) -> Result<Value, Absent> {
        let found = |kind, detail| Ok(Value { kind, detail });
        match (&*variable.to_string(), of) {
            ("$n" | "$p->m" | "@cast(a, \"t\")->m", _) => found(Type::Long, None),
            ("$p" | "@cast(a, \"t\")", _) => found(Type::Long, Some(Detail(7))),
            ("@cast(a, \"u\")", _) => found(Type::Long, Some(Detail(8))),
            ("$s->$", _) => found(Type::String, None),
            (text, Some(Detail(7))) if text.ends_with("->m") => found(Type::Long, None),
            (text, _) => Err(Absent {
                what: text.to_owned(),
                why: "it is not here".to_owned(),
                instead: vec!["$n".to_owned()],
            }),
        }
    }
}

const LIBRARY: &str = r#"
    function text:string(x:long) { return sprint(x) }
    function number(x) { return x * 2 }
    function same(x) { return x }
    function noisy(x:long) { printf("%d", x) }
    function guru_only() %{ /* guru */ %}
    function over(x:long) { if (x) next; return 1 }
    function over(x:long) { return 2 }
    private function hidden() { return 1 }
    global counts, names
    probe begin { counts["a"] <<< 1; names = "x" }
"#;

fn target() -> Target<'static> {
    Target { guru: true, ..Target::new("x86_64", "6.1.0-9-test", &|_| None) }
}

fn library() -> Library {
    let mut library = Library::default();
    let script = library.script(Path::new("library.stp"), LIBRARY.as_bytes(), &target()).unwrap();
    library.scripts.push(script);
    library
}

/// What is wrong with a script, one line each: `line:column trouble what: why`.
#[track_caller]
fn wrong(text: &str) -> Vec<String> {
    wrong_with(text, false)
}

#[track_caller]
fn wrong_with(text: &str, guru: bool) -> Vec<String> {
    let mut library = library();
    let script =
        library.script(Path::new("a.stp"), text.as_bytes(), &target()).unwrap_or_else(|e| panic!("{e}"));
    let definitions = Definitions::new(&library);
    let mut words = Words::new(&definitions, Rc::new(Somewhere));
    words.scripts = vec![&script];
    words.guru = guru;
    let findings = program(&words, &script).check();
    let line = |f: &handler::Finding| {
        format!("{}:{} {} {}: {}", f.place.line, f.place.column, f.trouble.name(), f.what, f.why)
    };
    findings.iter().map(line).collect()
}

fn program<'a>(words: &Words<'a>, script: &'a Script) -> Program<'a> {
    let mut program = Program::new(words.clone());
    for probe in &script.probes {
        let conditions: Vec<_> = probe.points.iter().filter_map(|p| p.condition.as_deref()).collect();
        program.add(&[&probe.body], &conditions, &Somewhere);
    }
    for probe in program.probes_of_tapsets() {
        program.add(&[&probe.body], &[], &Somewhere);
    }
    program
}

/// The locals of a handler, as a listing has them.
#[track_caller]
fn locals(body: &str) -> String {
    let mut library = library();
    let text = format!("probe x {{ {body} }}");
    let script = library.script(Path::new("a.stp"), text.as_bytes(), &target()).unwrap();
    let definitions = Definitions::new(&library);
    let words = Words::new(&definitions, Rc::new(Somewhere));
    let reading = handler::read(&words, &[&script.probes[0].body], Rc::new(Somewhere));
    let of = |local: &handler::Local<'_>| {
        let broken = local.broken.map(|at| format!("!{}", reading.findings[at].what)).unwrap_or_default();
        format!("{}:{}{broken}", local.name, local.sort)
    };
    reading.locals.iter().map(of).collect::<Vec<_>>().join(" ")
}

#[test]
fn locals_stand_in_the_order_of_their_names_with_their_types() {
    let cases = [
        ("name = \"x\"; a = $n", "name:string a:long"),
        ("b = a = $s$", "b:string a:string"),
        ("a = text(c = 2)", "a:string c:long"),
        ("a = number(1); b = same(\"x\")", "a:long b:unknown"),
        ("a = $none; b = a", "a:unknown!$none b:unknown"),
        ("a = $none + 1", "a:long!$none"),
        ("a = @defined($none) ? $none : $n", "a:long"),
        ("if (@defined($none)) a = $none; else b = $n", "b:long"),
        ("@defined($none) && (a = 1); b = 2", "b:long"),
        ("a = $p; b = a->m", "a:long b:long"),
        ("a = $p; if (@defined(a->none)) b = a->none; else c = a->m", "a:long b:unknown c:long"),
        ("try { a = 1 } catch (e) { b = e }", "a:long e:string b:string"),
        ("foreach (k in counts) a = @count(counts[k])", "k:string a:long"),
        ("next; a = 1", ""),
        ("a = names", "a:string"),
    ];
    for (body, expected) in cases {
        assert_eq!(locals(body), expected, "{body}");
    }
}

/// Nobody reads what is assigned, so that it does not matter that it is broken: SystemTap 4.8 compiles these.
#[test]
fn what_nobody_needs_breaks_nothing() {
    for body in [
        "a = $none; println(1)",
        "a = $none; b = a; c = b; println(1)",
        "if ($none) {} println(1)",
        "number($none); println(1)",
        "if (@defined($none)) println($none); println(1)",
        "if (0) println($none); println(1)",
        "println(0 && $none)",
        "next; println($none)",
        "try { } catch { println($none) } println(1)",
        "for (; $none; ) {} println(1)",
        "$none ? 1 : 2; println(1)",
    ] {
        assert_eq!(wrong(&format!("probe x {{ {body} }}")), Vec::<String>::new(), "{body}");
    }
}

#[test]
fn what_is_needed_is_refused_with_its_place_and_reason() {
    let cases = [
        ("println($none)", "1:19 variable $none: it is not here"),
        ("a = $none; println(a + 1)", "1:15 variable $none: it is not here"),
        ("noisy($none)", "1:17 variable $none: it is not here"),
        ("println(nosuch(1))", "1:19 function nosuch: no tapset has a function of this name"),
        ("println(hidden())", "1:19 function hidden: no tapset has a function of this name"),
        ("println(text(1, 2))", "1:19 arity text: it takes 1 arguments, here 2"),
        ("println(text(\"x\"))", "1:24 type \"x\": this is a string, a long is wanted"),
        ("guru_only()", "1:11 privilege guru_only: it needs guru mode (stap -g)"),
        ("$n = 1", "1:11 variable $n: writing to the kernel needs guru mode (stap -g)"),
        ("a[1] = 2", "1:11 name a: nothing declares a global array of this name with 1 indexes"),
        ("names = \"x\"; println(names[1])", "1:32 arity names: it has 0 indexes elsewhere, here 1"),
        ("a = 1; a = \"x\"; println(a)", "1:18 type a: this is a long elsewhere, here a string is wanted"),
        ("printf(\"%s\", 1)", "1:24 type 1: this is a long, a string is wanted"),
        ("printf(\"%d %d\", 1)", "1:11 arity printf: the format takes 2 values, here 1"),
        ("break", "1:11 control break: it stands in no loop"),
        (
            "println(@entry($n))",
            "1:19 variable @entry($n): the value at the entry is known in probes of returns alone",
        ),
    ];
    for (body, expected) in cases {
        let found = wrong(&format!("probe x {{ {body} }}"));
        assert!(found.iter().any(|line| line == expected), "{body}\n{found:#?}\n{expected}");
    }
    assert_eq!(wrong_with("probe x { $n = 1; guru_only() }", true), Vec::<String>::new());
}

/// SystemTap 4.8 never ends here: each of the functions teaches it anew what the call gives.
#[test]
fn functions_of_one_name_that_return_different_things_return_nothing_that_is_known() {
    let first = "function both(a) { if (a) next; return @cast(a, \"t\") }\n";
    let second = |cast: &str| format!("function both(a) {{ return @cast(a, \"{cast}\") }}\n");
    let probe = "probe x { println(both(1)->m) }";
    assert_eq!(wrong(&format!("{first}{}{probe}", second("t"))), Vec::<String>::new());
    let found = wrong(&format!("{first}{}{probe}", second("u")));
    assert!(found.iter().any(|line| line.contains("->m")), "{found:#?}");
}

#[test]
fn loops_do_not_change_what_they_go_over() {
    let declared = "global a function f() { a[1] = 2 } ";
    for (body, fine) in [
        ("foreach (k in a) delete a[k]", false),
        ("foreach (k in a) f()", false),
        ("foreach (k in a) println(a[k])", true),
        ("foreach (k in a) println(k) delete a", true),
    ] {
        let found = wrong(&format!("{declared} probe x {{ {body}; a[2] = 1 }}"));
        assert_eq!(found.is_empty(), fine, "{body} {found:?}");
    }
}

#[test]
fn misspelled_names_are_noticed_although_the_script_runs() {
    assert_eq!(
        wrong("probe x { counter = 1; println(couner) println(counter) }"),
        [
            "1:32 unassigned couner: nothing gives it a value",
            "1:32 untyped couner: nothing says whether it is a number or text"
        ]
    );
}
