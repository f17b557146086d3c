//! Where the calling convention passes parameters of programs: numbers with a point have registers of their own, and a result in memory
//! has its address passed first.
use super::Place;
use crate::support::fixture::skipped;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

const TEXT: &str = "
    static volatile long sink;
    struct big { long a[4]; };
    struct point { float x; };
    struct pair { int a, b; };
    #define CALLED __attribute__((noinline, used))
    CALLED int mixed(double d, int a, float f, char *p, double e, long q) { sink += a + d + f + e + q; return p[0]; }
    CALLED struct big result(int a, long b) { struct big all = {{a, b}}; sink++; return all; }
    CALLED double real(int a) { sink += a; return a * 2.5; }
    CALLED int point(struct point at, int a) { sink += at.x; return a; }
    CALLED int pair(struct pair of, int a) { sink += of.b; return a; }
    CALLED long many(float a, float b, float c, float d, float e, float f, float g, float h, float i, long n) { sink += a + b + c + d + e + f + g + h + i; return n; }
    int main(int n, char **words) { struct point p = {n}; struct pair q = {n, 2};
        return mixed(n, n, 1, words[0], 2, 3) + real(n) + result(n, 2).a[0] + point(p, n) + pair(q, n) + many(n, 1, 2, 3, 4, 5, 6, 7, 8, n); }
";

/// For each function, where its parameters are passed; `-` where that is not told.
type Passed = [(&'static str, &'static str); 5];

const MACHINES: [(&str, Passed); 3] = [
    (
        "x86_64-linux-gnu-gcc",
        [
            ("mixed", "- %di - %si - %dx"),
            ("result", "%si %dx"),
            ("point", "- -"),
            ("pair", "%di %si"),
            ("many", "- - - - - - - - - -"),
        ],
    ),
    (
        "aarch64-linux-gnu-gcc",
        [
            ("mixed", "- %x0 - %x1 - %x2"),
            ("result", "%x0 %x1"),
            ("point", "- -"),
            ("pair", "%x0 %x1"),
            ("many", "- - - - - - - - - -"),
        ],
    ),
    (
        "s390x-linux-gnu-gcc",
        [
            ("mixed", "- %r2 - %r3 - %r4"),
            ("result", "%r3 %r4"),
            ("point", "- -"),
            ("pair", "%r2 %r3"),
            ("many", "- - - - - - - - - -"),
        ],
    ),
];

/// The program in an index; `None` where it does not compile.
fn compiled(compiler: &str) -> Option<(Place, PathBuf)> {
    let place = Place::new();
    let [source, program] = ["passed.c", "passed"].map(|name| place.path(name));
    std::fs::write(&source, TEXT).unwrap();
    let mut gcc = Command::new(compiler);
    gcc.args(["-g", "-O2"]).arg(&source).arg("-o").arg(&program);
    if !gcc.output().is_ok_and(|out| out.status.success()) {
        skipped(&format!("{compiler} does not compile here"));
        return None;
    }
    place.index(&program);
    Some((place, program))
}

#[test]
fn parameters_are_counted_as_the_convention_does() {
    for (compiler, expected) in MACHINES {
        let Some((place, program)) = compiled(compiler) else { continue };
        for (function, passed) in expected {
            let found = place.place(&[&super::point(&program, function)]);
            let told = found["vars"].as_array().unwrap().iter().map(|var| match &var["passed"] {
                Value::Null => "-".to_owned(),
                passed => {
                    assert_eq!(passed["proof"], "proved", "{compiler}: {function}: {var}");
                    passed["slot"].as_str().unwrap().to_owned()
                }
            });
            assert_eq!(told.collect::<Vec<_>>().join(" "), passed, "{compiler}: {function}");
        }
    }
}

/// `real` returns in a register that no probe reads, and `result` in memory: of x86-64 alone is it known where when it returns.
#[test]
fn results_are_read_where_they_are() {
    for (compiler, read) in [
        ("x86_64-linux-gnu-gcc", Some("a=+8($retval):s64")),
        ("aarch64-linux-gnu-gcc", None),
        ("s390x-linux-gnu-gcc", None),
    ] {
        let Some((place, program)) = compiled(compiler) else { continue };
        let fetch = |function: &str, value: &str| {
            let found = place.place(&[&format!("{}.return", super::point(&program, function)), value]);
            found["vars"][0]["fetch"].as_str().map(str::to_owned)
        };
        assert_eq!(fetch("pair", "$retval").as_deref(), Some("retval=$retval:s32"), "{compiler}");
        assert_eq!(fetch("real", "$retval"), None, "{compiler}");
        assert_eq!(fetch("result", "$retval.a[1]").as_deref(), read, "{compiler}");
    }
}
