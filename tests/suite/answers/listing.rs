//! What `find` lists: the lines of SystemTap, and why there are none.
use crate::support::program::{Run, declared, find, json, kernel, module, probeidx};
use std::collections::BTreeSet;

fn gamma(name: &str, file: &str) -> String {
    module("gamma_mod", name, file)
}

/// The functions of the module, each with the file that defines it.
const GAMMA: [(&str, &str); 9] = [
    ("deep", "gamma_one.c"),
    ("either_way", "gamma_one.c"),
    ("gamma_calls", "gamma_one.c"),
    ("gamma_other", "gamma_two.c"),
    ("init_module", "gamma_one.c"),
    ("shallow", "gamma_one.c"),
    ("submit", "gamma_one.c"),
    ("twin", "gamma_one.c"),
    ("twin", "gamma_two.c"),
];

fn gamma_all() -> Vec<String> {
    GAMMA.iter().map(|(name, file)| gamma(name, file)).collect()
}

fn only_assembly() -> [String; 2] {
    ["gamma_assembly", "gamma_evil\\u{1b}[31m"].map(|n| format!("module(\"gamma_mod\").function(\"{n}\")"))
}

fn sorted(lines: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<String> = lines.into_iter().collect();
    lines.sort();
    lines
}

#[test]
fn a_name_is_looked_for_everywhere() {
    assert_eq!(find(&["lookup"]), [kernel("lookup", "fs.c")]);
    assert_eq!(find(&["submit"]), [kernel("submit", "core.c"), gamma("submit", "gamma_one.c")]);
    // Static functions of two files are two.
    let twins = [gamma("twin", "gamma_one.c"), gamma("twin", "gamma_two.c")];
    assert_eq!(find(&["twin"]), twins);
    assert_eq!(find(&["kernel.function(\"submit\")"]), [kernel("submit", "core.c")]);
    let init = [("alpha_mod", "alpha_main.c"), ("beta", "beta.c"), ("gamma_mod", "gamma_one.c")];
    let all = find(&["module(\"*\").function(\"init_module\")"]);
    assert_eq!(all, init.map(|(name, file)| module(name, "init_module", file)));
}

#[test]
fn wildcards() {
    let named = |part: &str| {
        let all: Vec<String> =
            GAMMA.iter().filter(|g| g.0.contains(part)).map(|(n, f)| gamma(n, f)).collect();
        assert!(!all.is_empty());
        all
    };
    let calls = named("gamma_");
    let mut expected = calls.clone();
    expected.extend(only_assembly());
    assert_eq!(find(&["gamma_*"]), sorted(expected));
    assert_eq!(find(&["gamma_?[a-m]l*"]), [gamma("gamma_calls", "gamma_one.c")]);
    assert_eq!(find(&["*amma_[!a-b]*"]).len(), 3);
    assert_eq!(find(&["*wi*n"]), named("twin"));
    assert_eq!(find(&["gamma_mod:*ee*"]), named("deep"));
    // Infixes of two bytes and more are searched for otherwise than shorter ones.
    assert_eq!(
        find(&["gamma_mod:*w*"]),
        sorted(named("twin").into_iter().chain(named("low")).chain(named("way")))
    );
    assert_eq!(
        find(&["gamma_mod:*it*"]),
        sorted(named("init").into_iter().chain(named("submit")).chain(named("either")))
    );
    let whole = sorted(gamma_all().into_iter().chain(only_assembly()));
    for pattern in ["gamma_mod:*", "module(\"gamma*\").function(\"*\")", "module(\"g*-mod\").function(\"*\")"]
    {
        assert_eq!(find(&[pattern]), whole, "{pattern}");
    }
}

#[test]
fn files_lines_and_modules() {
    let (one, two) = (gamma("twin", "gamma_one.c"), gamma("twin", "gamma_two.c"));
    for pattern in [
        "twin@gamma_two.c",
        "twin@fixtures/gamma_two.c",
        "tw*@gamma_t*.c",
        "gamma_mod:twin@gamma_two.c",
        "module(\"gamma_mod\").function(\"twin@gamma_two.c\")",
        &declared("twin", "gamma_two.c"),
        &format!("module(\"*\").function(\"{}\")", declared("twin", "gamma_two.c")),
        // A pattern is its own answer.
        &two,
    ] {
        assert_eq!(find(&[pattern]), [two.as_str()], "{pattern}");
    }
    assert_eq!(find(&["gamma-mod:twin"]), [one.as_str(), &two]);
    assert_eq!(find(&["module(\"gamma-mod\").function(\"twin\")"]), [one.as_str(), &two]);
    let of_file = GAMMA.iter().filter(|g| g.1 == "gamma_two.c").map(|(n, f)| gamma(n, f));
    assert_eq!(find(&["*@gamma_two.c"]), of_file.collect::<Vec<_>>(), "nothing of the symbol table");
    // Whole components of the path only.
    assert_eq!(probeidx(&["-q", "find", "twin@amma_two.c"]).code, 1);
    assert_eq!(find(&["vmlinux:submit"]), [kernel("submit", "core.c")]);
}

#[test]
fn suffixes() {
    let with = |suffix: &str| find(&[&format!("module(\"gamma_mod\").function(\"*\"){suffix}")]);
    let named = |names: &[&str], suffix: &str| {
        let chosen = GAMMA.iter().filter(|g| names.contains(&g.0));
        chosen.map(|(n, f)| gamma(n, f) + suffix).collect::<Vec<_>>()
    };
    let out_of_line = ["either_way", "gamma_calls", "gamma_other", "init_module", "submit", "twin"];
    for suffix in [".call", ".return"] {
        let assembly = only_assembly().map(|a| a + suffix);
        assert_eq!(with(suffix), sorted(named(&out_of_line, suffix).into_iter().chain(assembly)), "{suffix}");
    }
    assert_eq!(with(".return"), find(&["gamma_mod:*%return"]));
    // SystemTap lists what only the symbol table knows under `.inline` too.
    let inline = named(&["deep", "either_way", "shallow"], ".inline");
    assert_eq!(with(".inline"), sorted(inline.into_iter().chain(only_assembly().map(|a| a + ".inline"))));
    let exported = with(".exported");
    let global = named(&["gamma_calls", "gamma_other", "init_module", "submit"], ".exported");
    let described = exported.iter().filter(|l| l.contains('@')).cloned();
    assert_eq!(described.collect::<Vec<_>>(), global);
}

#[test]
fn several_patterns_are_one_sorted_list() {
    let (lookup, submit) = (kernel("lookup", "fs.c"), kernel("submit", "core.c"));
    let [one, two] = ["gamma_one.c", "gamma_two.c"].map(|f| gamma("twin", f));
    let expected = [lookup.clone(), one.clone(), two];
    assert_eq!(find(&["twin", "lookup"]), expected);
    assert_eq!(find(&["gamma_mod:twin", "lookup", "twin", "look*p", "twin@gamma_one.c"]), expected);
    let braces = "kernel.{function(\"submit\"),function(\"lookup\").call}, module(\"gamma_mod\").function(\"twin@*one.c\")";
    assert_eq!(find(&[braces]), [lookup + ".call", submit, one]);
    for arguments in
        [&["*"][..], &["*", "--args"], &["*", "gamma*", "--each"], &["--each", "*", "--args", "--locals"]]
    {
        let lines = find(arguments);
        assert!(lines.len() > 40, "{arguments:?}");
        let once: BTreeSet<&String> = lines.iter().collect();
        assert_eq!(once.len(), lines.len(), "{arguments:?}: no line twice");
        let points = lines.iter().map(|l| &l[..l.find(" $").unwrap_or(l.len())]);
        assert!(points.is_sorted(), "{arguments:?}");
    }
}

#[test]
fn symbols_without_debug_information() {
    let [assembly, _] = only_assembly();
    for pattern in
        ["gamma_assembly", "gamma_mod:gamma_a*", "module(\"gamma_mod\").function(\"gamma_assembly\")"]
    {
        assert_eq!(find(&[pattern]), [assembly.as_str()], "{pattern}");
        assert_eq!(find(&[pattern, "--args"]), [assembly.as_str()], "{pattern}");
    }
    // Two names of one address are one line, under the name that the symbol table has first.
    let lines = find(&["bare_*"]);
    assert!(
        lines == ["kernel.function(\"bare_entry\")"] || lines == ["kernel.function(\"bare_alias\")"],
        "{lines:?}"
    );
    // Data is no function.
    for name in ["shared_table", "sink", "gamma_keeps"] {
        assert_eq!(probeidx(&["-q", "find", name]).code, 1, "{name}");
    }
}

/// Compilers give clones names with dots: the lists have them under the name that the source has.
#[test]
fn clones_are_listed_under_the_functions_own_name() {
    let clones: BTreeSet<String> = json(&["find", "*"])
        .iter()
        .filter(|p| p["offset"] == 0 && p["instance"] == "out-of-line" && p["file"] != "")
        .filter_map(|p| Some((p["symbol"].as_str()?.to_owned(), p["function"].as_str()?.to_owned())))
        .filter(|(symbol, function)| symbol.starts_with(&format!("{function}.")))
        .map(|(symbol, _)| symbol)
        .collect();
    let all = find(&["*"]);
    for symbol in &clones {
        let own = format!("(\"{}@", symbol.split('.').next().unwrap());
        assert!(all.iter().any(|l| l.contains(&own)), "{own}");
        assert!(!all.iter().any(|l| l.contains(symbol.as_str())), "{symbol}");
        // Asked for by its own name it is there.
        assert!(find(&[symbol]).iter().any(|l| l.contains(&format!("(\"{symbol}\")"))), "{symbol}");
        let each = find(&["--each", symbol]);
        assert!(each.iter().all(|l| l.contains(&format!(" {symbol}+0x0 "))), "{each:?}");
    }
}

#[test]
fn variables() {
    let args = |pattern: &str| find(&["--quiet", pattern, "--args"]);
    let twins = [
        gamma("twin", "gamma_one.c") + " $rq:struct request* $flags:int",
        gamma("twin", "gamma_two.c") + " $other:struct opaque* $flags:int",
    ];
    assert_eq!(args("gamma_mod:twin"), twins);
    let submit = gamma("submit", "gamma_one.c");
    assert_eq!(
        args("gamma_mod:submit%return"),
        [format!("{submit}.return $return:int $rq:struct request* $flags:int")]
    );
    let either = gamma("either_way", "gamma_one.c");
    assert_eq!(args("either_way"), [format!("{either} $value:int")]);
    let many = " $a:u8 $b:u16 $c:u32 $d:u64 $e:int $f:long int $on_stack:struct packed $h:block_no_t";
    assert_eq!(args("many_arguments"), [kernel("many_arguments", "net.c") + many]);
    // A return probe of a function that returns nothing has no $return.
    let never = kernel("never_returns", "core.c");
    assert_eq!(args("never_returns%return"), [format!("{never}.return $code:int")]);
}

/// A line stands for several places, and has what all of them have.
#[test]
fn variables_are_those_that_every_place_has() {
    type Known = Vec<BTreeSet<String>>;
    let mut places: std::collections::BTreeMap<String, Known> = std::collections::BTreeMap::new();
    for place in json(&["find", "*"]) {
        let readable = place["vars"].as_array().unwrap().iter().filter(|v| v["location"].is_string());
        let spelled =
            readable.map(|v| format!("{}:{}", v["name"].as_str().unwrap(), v["type"].as_str().unwrap()));
        // Tails of functions that were inlined in part are no places of a listing.
        if place["file"] != "" && !place["symbol"].as_str().is_some_and(|s| s.contains(".part.")) {
            let known = places.entry(place["probe"].as_str().unwrap().to_owned()).or_default();
            known.push(spelled.collect());
        }
    }
    let mut several = 0;
    for line in find(&["*", "--args"]) {
        let mut words = line.split(" $");
        let point = words.next().unwrap();
        let Some(known) = places.get(point) else {
            assert!(!point.contains('@'), "{point} has no places");
            continue;
        };
        let listed: BTreeSet<String> = words.map(str::to_owned).collect();
        let common = known.iter().skip(1).fold(known[0].clone(), |all, one| &all & one);
        let lost: Vec<_> = common.difference(&listed).collect();
        assert!(lost.is_empty(), "{line} lacks {lost:?}");
        // What is listed beyond is no parameter, but a local variable of the outermost block.
        let any: BTreeSet<&String> = known.iter().flatten().collect();
        assert!(listed.iter().all(|l| common.contains(l) || !any.contains(l)), "{line}");
        several += usize::from(known.len() > 1);
    }
    assert!(several > 2, "{several}");
}

#[test]
fn each_place_is_a_line() {
    let lines = find(&["--each", "either_way", "--args"]);
    let point = gamma("either_way", "gamma_one.c");
    let [one, two] = &lines[..] else { panic!("{lines:?}") };
    for (line, end) in [(one, "out-of-line $value:int"), (two, "inline $value:int")] {
        assert!(line.starts_with(&format!("{point} 0x")) && line.ends_with(end), "{line}");
    }
    assert!(one.contains(" either_way+0x0 ") && two.contains(" gamma_calls+0x"), "{lines:?}");
    assert_eq!(find(&["--each", "module(\"gamma_mod\").function(\"either_way\").inline"]).len(), 1);
    // Where two patterns ask for the same there is one line, in JSON too.
    assert_eq!(find(&["--each", "either_way", "eith*", "--args"]), lines);
    assert_eq!(json(&["find", "either_way", "eith*"]).len(), 2);
}

#[test]
fn why_there_is_nothing() {
    let paths =
        ["gamma_one.c", "gamma_two.c"].map(|f| crate::support::program::source(f).display().to_string());
    for (pattern, said) in [
        ("gama_calls", "no function gama_calls; did you mean gamma_calls?"),
        ("gamma_mod:gama_calls", "no function gama_calls; did you mean gamma_calls?"),
        ("completely_else", "no function completely_else"),
        ("completely_*", "nothing matches"),
        ("gamma_mud:twin", "module gamma_mud is not indexed; did you mean gamma_mod?"),
        ("vmlinux:twin", "twin runs in gamma_mod, not where it was asked for"),
        ("beta:submit", "submit runs in vmlinux, gamma_mod, not where it was asked for"),
        ("twin@fs.c", &format!("twin is declared in {}", paths.join(", "))),
        (
            "module(\"gamma_mod\").function(\"deep\").call",
            "deep is only inlined, at 1 place; see: probeidx resolve deep",
        ),
        ("shallow%return", "shallow is only inlined, at 1 place; see: probeidx resolve shallow"),
        ("module(\"gamma_mod\").function(\"twin\").inline", "twin is never inlined"),
        (
            "core_setup",
            "core_setup exists only in .init.text, which is gone once the kernel runs; \
             see: probeidx resolve core_setup",
        ),
        ("gamma_keeps", "gamma_keeps is a symbol, but no function with debug information"),
    ] {
        let run: Run = probeidx(&["find", pattern]);
        run.refused(1, &format!("probeidx: {said}"));
        let run = probeidx(&["--quiet", "find", pattern]);
        assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (1, "", ""), "{pattern}");
    }
    // One pattern that finds something is enough.
    assert_eq!(find(&["completely_else", "lookup"]), [kernel("lookup", "fs.c")]);
}
