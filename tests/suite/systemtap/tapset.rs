//! SystemTap's language: what is read, where it is searched, and what is refused with its place.
use crate::support::fixture::Tree;
use probeidx::render;
use probeidx::tapset::ast::{Point, Root, Script, Step};
use probeidx::tapset::expand::{Met, Part};
use probeidx::tapset::target::{Privilege, Runtime};
use probeidx::tapset::{Definitions, Library, Target};
use probeidx::{Error, ErrorKind, Result};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn config(option: &str) -> Option<String> {
    let value = match option {
        "CONFIG_64BIT" | "CONFIG_COMPAT" => "y",
        "CONFIG_HZ" => "250",
        "CONFIG_NAME" => "\"name\"",
        _ => return None,
    };
    Some(value.to_owned())
}

fn target() -> Target<'static> {
    Target { guru: true, ..Target::new("x86_64", "6.1.0-9-test", &config) }
}

/// Reads a script that has no library.
fn read(text: impl AsRef<[u8]>) -> Result<Script> {
    Library::default().script(Path::new("a.stp"), text.as_ref(), &target())
}

/// The same for what is known to be whole.
#[track_caller]
fn whole(text: &str) -> Script {
    read(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// What an expression is printed as.
#[track_caller]
fn printed(expression: &str) -> String {
    let script = whole(&format!("probe begin {{ {expression} }}"));
    let tree = render::tapset::script(&script);
    tree.strip_prefix("probe begin{\n").and_then(|t| t.strip_suffix(";\n}\n")).unwrap_or(&tree).to_owned()
}

#[track_caller]
fn refused(text: impl AsRef<[u8]>) -> Error {
    let error = read(text.as_ref()).err();
    let error = error.unwrap_or_else(|| panic!("accepted: {}", String::from_utf8_lossy(text.as_ref())));
    assert_eq!(error.kind(), ErrorKind::Syntax, "{error}");
    error
}

/// The file was printed by SystemTap 4.8 (`stap -g -p1`), so that its reading is compared and not ours with itself.
#[test]
fn every_construct_is_read_as_systemtap_reads_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tapset");
    let script = whole(&std::fs::read_to_string(folder.join("language.stp")).unwrap());
    let expected = std::fs::read_to_string(folder.join("language.tree")).unwrap();
    let ours = render::tapset::script(&script);
    for (i, (ours, expected)) in ours.lines().zip(expected.lines()).enumerate() {
        assert_eq!(ours, expected, "line {}", i + 1);
    }
    assert_eq!(ours.trim_end(), expected.trim_end());
    // Points are printed in a form that reads as the same.
    for alias in &script.aliases {
        assert_eq!(whole(&format!("probe {alias} {{}}")).aliases[0].to_string(), alias.to_string());
    }
}

#[test]
fn signatures_have_types_and_marks() {
    let script = whole(
        "function b:long(x:string, y) %{ /* pure */ /* guru */ /* unprivileged */ %} function _c() {}
         function b() { return %{ /* unprivileged */ 1 %} } private function a() {} function B() { x = @const(\"X\") }",
    );
    assert_eq!(
        render::tapset::functions(&script.functions),
        [
            "B:unknown () /* unprivileged */",
            "b:long (x:string, y:unknown) /* guru */ /* unprivileged */",
            "b:unknown () /* unprivileged */"
        ]
    );
    assert_eq!(script.functions[0].marks(), ["guru", "pure", "unprivileged"]);
}

#[test]
fn comments_go_to_what_they_name() {
    let script = whole(
        "/** not this */ /**\n * probe vm.fault - A fault\n *\n * @x: one\n */ %( 1 == 1 %? probe vm.fault = begin {} %)
         /** sfunction f - First */ function f() {} /** sfunction f - Second */ function f(x) {} function g() {}",
    );
    assert_eq!(script.aliases[0].body.comment.as_deref(), Some("probe vm.fault - A fault\n\n@x: one"));
    let comments: Vec<_> = script.functions.iter().map(|f| f.comment.as_deref()).collect();
    assert_eq!(comments, [Some("sfunction f - Second"), Some("sfunction f - Second"), None]);
}

#[test]
fn variables_of_the_kernel_are_found_where_they_stand() {
    let script = whole(
        "@define m(x) %( @defined($inner->a) ? $inner : @x %)
probe a.b = begin {
  x = $file->f_path[$i]
  if (@defined($gone)) y = @m(@cast($p, \"q\")->r)
}",
    );
    let body = script.aliases[0].body.prologue.as_ref().unwrap();
    let found: Vec<String> = body
        .variables()
        .iter()
        .map(|v| {
            let called = v.called.map(|c| format!(" from {}:{}", c.line, c.column)).unwrap_or_default();
            format!("{v} {}:{}{called}", v.place.line, v.place.column)
        })
        .collect();
    assert_eq!(
        found,
        [
            "$file->f_path[$i] 3:7",
            "$i 3:21",
            "$gone 4:16",
            "$inner->a 1:26 from 4:28",
            "$inner 1:39 from 4:28",
            "@cast($p, \"q\")->r 4:31 from 4:28",
            "$p 4:37 from 4:28",
        ]
    );
    let locals = body.assignments();
    let locals: Vec<(&str, String)> =
        locals.into_iter().map(|(name, value)| (name, value.to_string())).collect();
    let y = "(@defined($inner->a))?($inner):(@cast($p, \"q\")->r)";
    assert_eq!(locals, [("x", "$file->f_path[$i]".to_owned()), ("y", y.to_owned())]);
    let variable = body.variables()[0];
    assert!(matches!(&variable.root, Root::Context(name) if name == "$file"));
    assert!(matches!(&variable.path[..], [Step::Member(m), Step::At(_)] if m == "f_path"));
}

#[test]
fn conditionals_ask_the_target() {
    let holds = |condition: &str, target: &Target<'_>| {
        let text = format!("%( {condition} %? global yes %: global no %)");
        let script = Library::default().script(Path::new("a.stp"), text.as_bytes(), target);
        script.unwrap_or_else(|e| panic!("{condition}: {e}")).globals[0].name == "yes"
    };
    let usual = target();
    let true_ones = [
        r#"kernel_v == "6.1.0""#,
        r#"kernel_v >= "6.1""#,
        r#"kernel_v < "6.10""#,
        r#"kernel_v > "2.6.32""#,
        r#"kernel_vr == "6.1.0-*-test""#,
        r#"kernel_v != "5.*""#,
        r#"systemtap_v >= "4.8" && systemtap_v <= "4.8""#,
        r#"arch == "x86_*" || arch == "none""#,
        r#"arch == "none" && arch == "none" || arch == "x86_64""#,
        r#"arch == "x86_64" || arch == "none" && arch == "none""#,
        r#"runtime != "bpf""#,
        r#"systemtap_privilege == "stapdev""#,
        "guru_mode == 1",
        r#"CONFIG_64BIT == "y""#,
        r#"CONFIG_GONE == """#,
        r#"CONFIG_GONE != "y""#,
        r#"CONFIG_NAME == "\"n*""#,
        "CONFIG_HZ >= 100",
        "CONFIG_GONE == 0",
        "CONFIG_64BIT == CONFIG_COMPAT",
        "CONFIG_HZ > CONFIG_GONE",
        r#""abc" < "abd""#,
        "10 > 9",
        "1 == 1 && 2 != 3 || 1 == 2",
        "$# == 0",
    ];
    for condition in true_ones {
        assert!(holds(condition, &usual), "{condition}");
    }
    for condition in [r#"kernel_v > "6.1.0""#, "1 == 2", r#"arch == "arm64""#, r#""a" == "b""#, "10 < 9"] {
        assert!(!holds(condition, &usual), "{condition}");
    }
    let other = Target {
        runtime: Runtime::Bpf,
        privilege: Privilege::Stapusr,
        systemtap: "1.0",
        guru: false,
        ..usual
    };
    let all =
        r#"runtime == "bpf" && systemtap_privilege == "stapusr" && systemtap_v < "1.1" && guru_mode == 0"#;
    assert!(holds(all, &other));
    assert!(!holds(all, &usual));
}

#[test]
fn conditionals_nest_and_what_does_not_count_may_be_anything() {
    let text = r#"%( arch == "none" %? "never closed %( also bad %? ' %: %) @define x %( %) $1 %:
        %( 1 == 1 %? global a %( 1 == 2 %? , b %: , c %) %) %)
        @define x %( global d %( 1 == 2 %? = 1 %: = 2 %) %) @x"#;
    // A string ends with its line at the latest.
    let text = text.replace("\"never closed", "never closed");
    let script = whole(&text);
    let globals: Vec<String> = script.globals.iter().map(ToString::to_string).collect();
    assert_eq!(globals, ["a", "c", "d = 2"]);
    assert_eq!(script.macros, ["x"]);
}

#[test]
fn macros_take_arguments() {
    let cases = [
        ("@define one %( 1 %)", "@one + @one", "1 + 1"),
        // Without parameters a bracket behind it is not its own.
        ("@define f_of %( f %)", "@f_of(2)", "f(2)"),
        ("@define two(a, b) %( @a - @b %)", "@two(f(1, 2), x[3, 4])", "f(1, 2) - x[3, 4]"),
        ("@define twice(a) %( (@a + @a) %)", "@twice(@twice(1))", "((1 + 1) + (1 + 1))"),
        // `a` in the argument is the outer one.
        ("@define inner(a) %( f(@a) %) @define outer(a) %( @inner(@a + 1) %)", "@outer(2)", "f(2 + 1)"),
        ("@define with(b) %( @b . @a %) @define a %( x %)", "@with(@a)", "x . x"),
        ("@define later %( @defined_later %) @define defined_later %( 5 %)", "@later", "5"),
        ("@define maybe(a) %( %( kernel_v > \"6\" %? @a %: 0 %) %)", "@maybe(7)", "7"),
        ("@define middle %( \"b\" %)", "\"a\" @middle \"c\"", "\"abc\""),
        ("@define empty(a) %( 1 @a %)", "@empty()", "1"),
    ];
    for (definitions, called, plain) in cases {
        let script = whole(&format!("{definitions} probe begin {{ x = {called} }}"));
        let expected = whole(&format!("probe begin {{ x = {plain} }}"));
        assert_eq!(
            render::tapset::script(&script),
            render::tapset::script(&expected),
            "{definitions} {called}"
        );
    }
    assert_eq!(printed("x = @count(y)"), "(x) = (@count(y))");
}

/// What is wrong, where, and a part of what is said.
#[test]
fn faults_have_their_place() {
    let cases: &[(&str, u32, u32, &str)] = &[
        ("probe begin {\n  x = \"abc\n}", 2, 7, "not closed on its line"),
        ("probe begin { x = \"abc\\", 1, 19, "not closed"),
        ("probe begin {} /* never", 1, 16, "never closed by `*/`"),
        ("function f() %{ never", 1, 14, "never closed by `%}`"),
        ("\n%( 1 == 1 %? global x", 2, 1, "never closed by `%)`"),
        ("%( 1 == 2 %? global x", 1, 1, "never closed by `%)`"),
        ("%( 1 == 1 global x %)", 1, 11, "expected `%?`"),
        ("%( 1 ==", 1, 1, "to follow `%(`"),
        ("%( x == 1 %? %)", 1, 4, "kernel_v"),
        ("%( kernel_v == 6 %? %)", 1, 16, "expected a string"),
        ("%( kernel_v < \"6.*\" %? %)", 1, 13, "wildcards"),
        ("%( arch > \"x\" %? %)", 1, 9, "`==` or `!=`"),
        ("%( guru_mode == 2 %? %)", 1, 17, "0 or 1"),
        ("%( CONFIG_64BIT == 1 %? %)", 1, 4, "\"y\" in this kernel"),
        ("%( CONFIG_HZ == ) %? %)", 1, 17, "expected a string, a number or an option"),
        ("%( 1 == 1 %? %: %: %)", 1, 17, "second `%:`"),
        ("global a %)", 1, 10, "without a `%(`"),
        ("global a %?", 1, 10, "without a `%(`"),
        ("@define m %( 1", 1, 9, "never closed by `%)`"),
        ("@define m(a b) %( 1 %)", 1, 13, "`,` or `)`"),
        ("@define m m", 1, 11, "`%(` or `(`"),
        ("@define 5 %( 1 %)", 1, 9, "name of a macro"),
        ("@define m %( %) @define m %( %)", 1, 25, "already defined in line 1"),
        ("@define m %( @m %) probe begin { @m }", 1, 14, "calls itself (in a macro called at a.stp:1:34)"),
        ("@define a %( @b %) @define b %( @a %) probe begin { @a }", 1, 33, "calls itself"),
        ("@define m(a) %( @a %) probe begin { @m }", 1, 37, "takes 1 argument: expected `(`"),
        ("@define m(a) %( @a %) probe begin { @m(1, 2) }", 1, 41, "not more"),
        ("@define m(a, b) %( @a %) probe begin { @m(1) }", 1, 44, "not fewer"),
        ("@define m(a) %( @a %) probe begin { @m(1", 1, 37, "never closed by `)`"),
        ("probe begin { @unknown }", 1, 15, "neither a macro nor an operator"),
        ("probe begin { $1 }", 1, 15, "argument of the command line"),
        ("probe begin { x = 0x }", 1, 19, "not a number of 64 bits"),
        ("probe begin { x = 08 }", 1, 19, "not a number of 64 bits"),
        ("probe begin { x = 99999999999999999999 }", 1, 19, "not a number of 64 bits"),
        ("probe begin { return 1 }", 1, 15, "in functions alone"),
        ("probe begin { x = }", 1, 19, "expected a value, found `}`"),
        ("probe begin { [a, b] }", 1, 22, "`in` behind a list"),
        ("probe begin { a == b =~ \"x\" }", 1, 22, "expected a value"),
        ("probe begin { &&$x }", 1, 15, "expected a value"),
        ("probe begin { &(&$x) }", 1, 15, "address of an address"),
        ("probe begin { $x$->y }", 1, 18, "prints all of it"),
        ("probe begin { printf(\"%q\") }", 1, 22, "conversion"),
        ("probe begin { printf(\"100%\") }", 1, 22, "conversion"),
        ("probe begin { printf(\"%llx\", 1) }", 1, 22, "conversion"),
        ("probe begin { print() }", 1, 21, "expected a value"),
        ("probe begin { printd(\",\", 1) }", 1, 30, "two values"),
        ("probe begin { @hist_log(x) }", 1, 15, "no value of its own"),
        ("probe begin { @cast(x, \"\") }", 1, 24, "must not be empty"),
        ("probe begin { foreach (a+ in b-) ; }", 1, 32, "one direction"),
        ("probe begin { if 1 x }", 1, 18, "expected `(`"),
        ("probe begin { else }", 1, 15, "expected a statement"),
        ("probe begin { x", 1, 16, "end of the file"),
        ("probe begin", 1, 12, "end of the file"),
        ("probe a?.b {}", 1, 9, "expected `,`"),
        ("probe {a?}.b {}", 1, 12, "behind the last component"),
        ("probe {a?}? {}", 1, 11, "a second `?`"),
        ("probe {a if (1)} if (2) {}", 1, 22, "a second condition"),
        ("probe a? = b {}", 1, 10, "cannot be optional"),
        ("probe a(b) {}", 1, 9, "expected a string or a number"),
        ("probe a += b {}, {}", 1, 16, "no second body"),
        ("function f(a, a) {}", 1, 15, "second parameter `a`"),
        ("function f(a:int) {}", 1, 14, "`string` or `long`"),
        ("function f() : 0 {}", 1, 16, "at least 1"),
        ("global a, a", 1, 11, "second global `a`"),
        ("global a[0]", 1, 10, "size of an array"),
        ("global a[5] = 1", 1, 8, "cannot have a value"),
        ("x", 1, 1, "expected `probe`"),
        ("\u{1}", 1, 1, "0x01"),
    ];
    for (text, line, column, message) in cases {
        let error = refused(text);
        assert_eq!(error.place().as_deref(), Some(&*format!("a.stp:{line}:{column}")), "{error}\n{text}");
        assert!(error.message().contains(message), "{error}\n{text}");
    }
    let error = refused(b"global a\n# \xff\xfe is fine\nglobal \0b");
    assert_eq!(error.to_string(), "a.stp:3:8: this is not text: it has a zero byte");
    assert_eq!(
        refused(b"global a\nglobal \xff").to_string(),
        "a.stp:2:8: the byte 0xff is not part of the language"
    );
}

#[test]
fn c_and_its_constants_are_for_guru_mode() {
    let plain = Target { guru: false, ..target() };
    for text in [
        "%{ %}",
        "function f() %{ %}",
        "probe begin { %{ 1 %} }",
        "probe begin { @const(\"X\") }",
        "probe begin { @kderef(1, 2) }",
    ] {
        let error = Library::default().script(Path::new("a.stp"), text.as_bytes(), &plain).unwrap_err();
        assert!(error.message().contains("stap -g"), "{error}");
    }
    assert!(Library::default().script(Path::new("a.stp"), b"probe begin { @uderef(1, 2) }", &plain).is_ok());
}

/// Each is far deeper or longer than anything real, and says which bound it is beyond.
#[test]
fn bounds_are_named_and_nothing_overflows() {
    let many = |text: &str, n: usize| text.repeat(n);
    let in_probe = |text: String| format!("probe begin {{ {text} }}");
    let chain = (0..1000).fold(String::from("@define a0 %( 1 %) "), |text, i| {
        format!("{text}@define a{} %( @a{i} %) ", i + 1)
    });
    let doubling = (0..60).fold(String::from("@define a0 %( %) "), |text, i| {
        format!("{text}@define a{} %( @a{i} @a{i} %) ", i + 1)
    });
    let cases = [
        (in_probe(format!("x = {}1{}", many("(", 10_000), many(")", 10_000))), "128 deep"),
        (in_probe(many("{", 10_000)), "128 deep"),
        (in_probe(format!("x = {}1", many("- ", 10_000))), "128 deep"),
        (in_probe(format!("x = {}1", many("a ? b : ", 10_000))), "128 deep"),
        (in_probe(many("if (a) b else ", 10_000)), "128 deep"),
        (in_probe(many("try { } catch { ", 10_000)), "128 deep"),
        (in_probe(format!("x = {}1", many("a = ", 10_000))), "128 deep"),
        (
            in_probe(format!("x = {}", many("(a || b && c | d ^ e & f == g << h . i + j * ", 1000))),
            "128 deep",
        ),
        (in_probe(format!("x = {}", many("f(", 10_000))), "128 deep"),
        (in_probe(format!("x = {}", many("$a[", 10_000))), "128 deep"),
        (in_probe(format!("x = {}1", many("@cast(", 10_000))), "128 deep"),
        (in_probe(format!("x = {}1", many("@defined(", 10_000))), "128 deep"),
        (in_probe(format!("x = {}1", many("sprint(", 10_000))), "128 deep"),
        (in_probe(format!("x = {}1", many("@hist_log(", 10_000))), "128 deep"),
        (in_probe(many("foreach (a in b) ", 10_000)), "128 deep"),
        (in_probe(format!("x = {}1", many("[", 10_000))), "expected"),
        (in_probe(format!("x = 1{}", many(" + 1", 100_000))), "400 operators"),
        (in_probe(format!("x = s{}", many(" . s", 100_000))), "400 operators"),
        (format!("probe {}", many("{", 10_000)), "128 deep"),
        (format!("probe {} {{}}", many("{a,b}.", 30)), "10000 points"),
        (
            format!("probe {{{}}}.{{{}}} {{}}", vec!["a"; 200].join(","), vec!["b"; 200].join(",")),
            "10000 points",
        ),
        (format!("probe {} {{}}", vec!["a"; 20_000].join(",")), "10000 points"),
        (format!("probe {} {{}}", ["a"; 10_000].join(".")), "32 components"),
        (format!("{chain}probe begin {{ @a1000 }}"), "256 deep"),
        (format!("{doubling}probe begin {{ @a60 }}"), "500000 tokens"),
        (many("%( 1 == 1 %? ", 10_000), "never closed"),
    ];
    for (text, bound) in cases {
        let error = refused(&text);
        assert!(error.message().contains(bound), "{error}: {}", &text[..60]);
    }
    // What is within them is read, walked and printed.
    for text in [
        in_probe(format!("x = {}1{}", many("($y + ", 60), many(")", 60))),
        in_probe(format!("x = {}1{}", many("@cast(&$y->z[", 40), many("], \"t\")", 40))),
        in_probe(format!("x = $y{}", many(" + 1", 390))),
        in_probe(many("if ($y) b else ", 100) + "c"),
        in_probe(many("x[1] = $y; ", 20_000)),
    ] {
        let script = whole(&text);
        assert!(!script.probes[0].body.variables().is_empty());
        assert!(render::tapset::script(&script).len() > 400);
    }
    whole(&format!("{}global x{}", many("%( 1 == 1 %? ", 10_000), many("%)", 10_000)));
}

#[test]
fn folders_are_searched_from_the_special_to_the_general() {
    let tree = Tree::empty();
    for path in [
        "a/all.stp",
        "a/x86_64/arch.stp",
        "a/arm64/no.stp",
        "a/linux/runtime.stp",
        "a/linux/x86_64/runtime_arch.stp",
        "a/linux/sub/no.stp",
        "a/linux/6/no.stp",
        "a/linux/6.1/series.stp",
        "a/linux/6.1/x86_64/series_arch.stp",
        "a/linux/6.1.0/version.stp",
        "a/linux/6.1.0-9-test/release.stp",
        "a/6.1/plain_series.stp",
        "a/bpf/no.stp",
        "a/text.txt",
        // Hidden by that of the same name before it.
        "b/linux/runtime.stp",
        "b/own.stp",
    ] {
        tree.file(path, b"probe an.alias = begin {}");
    }
    // The same file by another name.
    std::fs::hard_link(tree.path().join("a/all.stp"), tree.path().join("b/again.stp")).unwrap();
    let library = load(&tree);
    assert!(library.errors.is_empty(), "{:?}", library.errors);
    let folder = tree.path();
    let files: Vec<&str> =
        library.files.iter().map(|f| f.strip_prefix(&folder).unwrap().to_str().unwrap()).collect();
    assert_eq!(
        files,
        [
            "a/linux/6.1.0-9-test/release.stp",
            "a/linux/6.1.0/version.stp",
            "a/linux/6.1/x86_64/series_arch.stp",
            "a/linux/6.1/series.stp",
            "a/linux/x86_64/runtime_arch.stp",
            "a/linux/runtime.stp",
            "a/6.1/plain_series.stp",
            "a/x86_64/arch.stp",
            "a/all.stp",
            "b/own.stp",
        ]
    );
    assert_eq!(library.aliases().count(), files.len());
}

fn load(tree: &Tree) -> Library {
    let folders: Vec<PathBuf> = ["a", "b"].map(|f| tree.path().join(f)).into();
    Library::load(&folders, &target())
}

#[test]
fn macros_of_the_library_are_for_all_and_those_of_a_file_for_it_alone() {
    let tree = Tree::empty();
    tree.file(
        "a/one.stpm",
        b"@define shared %( 1 + @inner %) @define inner %( 2 %) @define arg(x) %( f(@x) %)",
    );
    tree.file("a/two.stpm", b"@define other %( 3 %)\n@define shared %( 4 %)");
    tree.file("b/three.stpm", b"@define x %( %)\nprobe begin {}");
    // The body of a library's macro does not see the file's own `inner`; its argument does.
    tree.file(
        "a/use.stp",
        b"@define inner %( 9 %) global g function f() { x = @shared; y = @arg(@inner); @own }",
    );
    tree.file("b/own.stp", b"@define own %( 5 %) private function h() { @own }");
    let library = load(&tree);
    let errors: Vec<String> =
        library.errors.iter().map(|e| e.to_string().replace(&*tree.path().to_string_lossy(), "")).collect();
    assert_eq!(
        errors,
        [
            "/a/two.stpm:2:9: the macro `@shared` is already defined in /a/one.stpm:1:9",
            "/b/three.stpm:2:1: a file of macros holds definitions alone, found `probe`",
            "/a/use.stp:1:78: `@own` is neither a macro nor an operator",
        ]
    );
    assert_eq!(library.macros().into_keys().collect::<Vec<_>>(), ["arg", "inner", "shared"]);
    assert_eq!(library.functions().count(), 1);
    tree.file("a/use.stp", b"@define inner %( 9 %) function f() { x = @shared; y = @arg(@inner) }");
    let library = load(&tree);
    let tree = render::tapset::script(&Script {
        functions: library.functions().take(1).cloned().collect(),
        ..Script::default()
    });
    assert_eq!(tree, "function f ()\n{\n(x) = ((1) + (2));\n(y) = (f(9));\n}\n");
}

#[test]
fn files_that_cannot_be_read_do_not_keep_others_from_it() {
    let tree = Tree::empty();
    tree.file("a/good.stp", b"probe good = begin {}");
    tree.file("a/bad.stp", b"probe bad = begin {}\nprobe worse = {");
    tree.file("a/binary.stp", b"\x7fELF\0\0");
    tree.file("a/huge.stp", &vec![b'\n'; (16 << 20) + 1]);
    tree.file("a/folder.stp/inside", b"");
    std::os::unix::fs::symlink("nowhere", tree.path().join("a/dangling.stp")).unwrap();
    let library = Library::load(&[tree.path().join("a"), tree.path().join("gone")], &target());
    let prefix = tree.path().to_string_lossy().into_owned();
    let errors: Vec<String> = library.errors.iter().map(|e| e.to_string().replace(&prefix, "")).collect();
    assert_eq!(
        errors,
        [
            "/gone: cannot read the folder of tapsets: No such file or directory (os error 2); install SystemTap's tapsets, or name another folder",
            "/a/bad.stp:2:16: expected a name, `*` or `{`, found the end of the file",
            "/a/binary.stp:1:5: this is not text: it has a zero byte",
            "/a/huge.stp: a tapset of more than 16 MiB is not read",
        ]
    );
    assert_eq!(render::tapset::aliases(library.aliases()).into_iter().collect::<Vec<_>>(), ["good = begin"]);
}

/// The same whether a script defines the aliases or a library does.
fn expanded(script: &Script, point: &str) -> (Vec<String>, Result<bool>) {
    let mut library = Library::default();
    library.scripts.push(script.clone());
    let none = Library::default();
    let of_script = leaves(&Definitions::new(&none).with(script, Path::new("a.stp")), point);
    let (found, matched) = leaves(&Definitions::new(&library), point);
    assert_eq!(found, of_script.0);
    (found, matched)
}

#[test]
fn the_parts_of_a_point_together_are_all_of_it() {
    let many: String = (0..10).map(|n| format!("probe a.b{n} = x.c{n}, y{n}.z {{}}\n")).collect();
    let script = whole(&format!("{many}probe a.b3 = z {{}} probe d = e {{}}"));
    let none = Library::default();
    let definitions = Definitions::new(&none).with(&script, Path::new("a.stp"));
    let read = |parts: &[Part<'_>]| {
        let mut leaves = vec![];
        for part in parts {
            let visit = |met: Met<'_>| match met {
                Met::Leaf(leaf) if !leaf.components.iter().any(|c| c.name.contains('*')) => {
                    let through: Vec<String> = leaf.through.iter().map(|alias| alias.to_string()).collect();
                    leaves.push((through, leaf.components.to_vec()));
                    true
                }
                _ => false,
            };
            definitions.walk(part, visit).unwrap();
        }
        leaves
    };
    for (point, count, found) in
        [("a.*", 4, 21), ("a.*.call", 4, 21), ("a.b1*", 4, 2), ("*.*", 1, 21), ("d", 1, 1)]
    {
        let asked = whole(&format!("probe {point} {{}}"));
        let point = &asked.probes[0].points[0];
        let parts = definitions.parts(point, 3);
        let leaves = read(&parts);
        assert_eq!((parts.len(), leaves.len()), (count, found), "{point}");
        assert_eq!(leaves, read(&[Part::whole(point)]), "{point}");
    }
}

/// The points that are asked about, with what they came through. With `no` or a wildcard in them they match nothing.
fn leaves(definitions: &Definitions<'_>, point: &str) -> (Vec<String>, Result<bool>) {
    let asked = whole(&format!("probe {point} {{}}"));
    let mut leaves = vec![];
    let found = definitions.expand(&asked.probes[0].points[0], |leaf| {
        let components = leaf.components.to_vec();
        if components.iter().any(|c| c.name.contains('*')) {
            return false;
        }
        let matches = !components[0].name.starts_with("no");
        let point = Point { components, optional: leaf.optional, sufficient: false, condition: None };
        let conditions: String = leaf.conditions.iter().map(|c| format!(" if {c}")).collect();
        leaves.push(format!("{}{point}{conditions}", ">".repeat(leaf.through.len())));
        matches
    });
    (leaves, found)
}

#[test]
fn aliases_stand_for_points() {
    let script = whole(
        "probe v.open = v.tp !, v.kp {} probe v.tp = no.trace(\"open\") {} probe v.kp = kernel.function(\"open\") if (a) {}
         probe v.first = yes.a !, yes.b {} probe v.both = yes.a, no.b ?, yes.c {} probe v.deep.er = yes.d {}
         probe v.twice = x {} probe v.twice = y {} probe v.opt = v.open ? if (b) {} probe star = v.o* {}",
    );
    let cases: [(&str, &[&str], bool); 14] = [
        ("v.open", &[">>no.trace(\"open\")?", ">>kernel.function(\"open\") if a"], true),
        ("v.open.return", &[">>no.trace(\"open\").return?", ">>kernel.function(\"open\").return if a"], true),
        ("v.first", &[">yes.a?"], true),
        ("v.both", &[">yes.a", ">no.b?", ">yes.c"], true),
        ("v.twice", &[">x", ">y"], true),
        (
            "v.opt if (c)",
            &[">>>no.trace(\"open\")? if c if b", ">>>kernel.function(\"open\")? if c if b if a"],
            true,
        ),
        ("v.fir*", &[">yes.a?"], true),
        ("v.fir*.return", &[">yes.a.return?"], true),
        ("v.*eep.*", &[">yes.d"], true),
        ("v.d**", &[">yes.d"], true),
        ("**er", &[">yes.d"], true),
        ("v.none", &["v.none"], true),
        ("no.such(1)", &["no.such(1)"], false),
        (
            "star",
            &[
                ">>>no.trace(\"open\")?",
                ">>>kernel.function(\"open\") if a",
                ">>>>no.trace(\"open\")? if b",
                ">>>>kernel.function(\"open\")? if b if a",
            ],
            true,
        ),
    ];
    for (point, leaves, matched) in cases {
        let (found, any) = expanded(&script, point);
        assert_eq!(found, leaves, "{point}");
        assert_eq!(any.unwrap(), matched, "{point}");
    }
}

#[test]
fn aliases_end() {
    let loops = whole(
        "probe a = b {} probe b = c ?, a {} probe c = a {} probe self = self.more {}
         probe may.be = may.be ?, x {} probe some.all = some.* ?, y {} probe some.one = z {}
         probe timer.profile = timer.profile.tick {}",
    );
    // Below a wildcard, and where nothing need match, it is as if nothing did.
    assert_eq!(expanded(&loops, "may.be").0, [">x"]);
    assert_eq!(expanded(&loops, "some.all").0, [">>z?", ">y"]);
    assert_eq!(expanded(&loops, "timer.profile").0, [">timer.profile.tick"]);
    for (point, message) in [("a", "`a` leads back to itself"), ("self", "`self` leads back to itself")] {
        let error = expanded(&loops, point).1.unwrap_err();
        assert!(error.message().contains(message), "{error}");
    }
    let many = |n: usize, points: &str| {
        let aliases =
            (0..n).map(|i| format!("probe a{i} = {} {{}} ", points.replace("NEXT", &format!("a{}", i + 1))));
        whole(&aliases.collect::<String>())
    };
    let error = expanded(&many(10_000, "NEXT"), "a0").1.unwrap_err();
    assert!(error.message().contains("behind 32 others"), "{error}");
    let error = expanded(&many(30, "NEXT, NEXT"), "a0").1.unwrap_err();
    assert!(error.message().contains("300000 points and names"), "{error}");
    assert_eq!(expanded(&many(10, "NEXT, NEXT"), "a0").0.len(), 1024);
    let long = whole(&format!("probe {} = begin {{}}", ["a"; 32].join(".")));
    let error = expanded(&long, &["**"; 16].join(".")).1.unwrap_err();
    assert!(error.message().contains("300000 points and names"), "{error}");
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes);
    }

    /// What is read is printed, and what is printed is read as the same: of points, whose form is also input.
    #[test]
    fn any_tokens_are_read_or_refused(tokens in proptest::collection::vec(token(), 0..60)) {
        let text = tokens.join(" ");
        let bodies = [text.clone(), format!("probe begin {{ {text} }}"), format!("probe {text} {{}}"), format!("@define m(a) %( {text} %) probe begin {{ @m(x) }}"), format!("%( {text} %? {text} %)")];
        for text in bodies {
            if let Ok(script) = read(&text) {
                let _ = render::tapset::script(&script);
                for alias in &script.aliases {
                    let again = read(format!("probe {alias} {{}}"));
                    prop_assert_eq!(again.map(|a| a.aliases[0].to_string()).ok(), Some(alias.to_string()));
                }
            }
        }
    }
}

fn token() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "probe",
        "function",
        "global",
        "private",
        "if",
        "else",
        "for",
        "foreach",
        "while",
        "in",
        "limit",
        "return",
        "delete",
        "try",
        "catch",
        "next",
        "break",
        "string",
        "long",
        "a",
        "b",
        "$x",
        "$y$",
        "$",
        "@m",
        "@a",
        "@cast",
        "@defined",
        "@var",
        "@count",
        "@hist_log",
        "@const",
        "@define",
        "print",
        "printf",
        "1",
        "0x10",
        "-",
        "\"s\"",
        "\"%d\"",
        "%{ c %}",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "%(",
        "%?",
        "%:",
        "%)",
        ",",
        ";",
        ".",
        "*",
        "?",
        "!",
        "=",
        "+=",
        "==",
        "&&",
        "||",
        "&",
        "->",
        "++",
        "<<<",
        "=~",
        ":",
        "kernel_v",
        "arch",
        "CONFIG_HZ",
        "/*",
        "*/",
        "#",
        "\n",
        "kernel",
        "=",
    ])
}
