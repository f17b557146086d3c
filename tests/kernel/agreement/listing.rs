//! Lines of `stap -L`, and how two lists of them differ.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Bound::{Included, Unbounded};

/// What is listed: each probe point with its `$name:type`.
pub struct Listing<'a> {
    points: BTreeMap<&'a str, BTreeSet<&'a str>>,
    repeated: Vec<&'a str>,
}

impl<'a> Listing<'a> {
    pub fn new(text: &'a str) -> Self {
        let (mut points, mut repeated) = (BTreeMap::new(), vec![]);
        for line in text.lines() {
            let (point, variables) = parse(line);
            if points.insert(point, variables).is_some() {
                repeated.push(point);
            }
        }
        Self { points, repeated }
    }
    pub fn len(&self) -> usize {
        self.points.len()
    }
    pub fn has(&self, point: &str) -> bool {
        self.points.contains_key(point)
    }
    /// The points that are listed more than once.
    pub fn repeated(&self) -> impl Iterator<Item = &'a str> {
        self.repeated.iter().copied()
    }
    /// The points that start so.
    pub fn starting<'s>(&'s self, prefix: &'s str) -> impl Iterator<Item = &'a str> + 's {
        let from = self.points.range::<str, _>((Included(prefix), Unbounded));
        from.map(|(p, _)| *p).take_while(move |p| p.starts_with(prefix))
    }
}

/// A point, and its variables. Types hold blanks, but none hold ` $`.
fn parse(line: &str) -> (&str, BTreeSet<&str>) {
    let (point, variables) = line.split_once(" $").unwrap_or((line, ""));
    (point.trim_end(), variables.split(" $").map(str::trim_end).filter(|v| !v.is_empty()).collect())
}

/// A point on which two lists do not agree.
#[derive(Debug, PartialEq, Eq)]
pub enum Difference<'a> {
    OnlyOurs(&'a str),
    OnlyTheirs(&'a str),
    /// Listed by both; the variables that only one lists.
    Variables {
        point: &'a str,
        ours: Vec<&'a str>,
        theirs: Vec<&'a str>,
    },
}

impl fmt::Display for Difference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnlyOurs(point) => write!(f, "only ours: {point}"),
            Self::OnlyTheirs(point) => write!(f, "only theirs: {point}"),
            Self::Variables { point, ours, theirs } => {
                write!(f, "{point}: only ours {ours:?}, only theirs {theirs:?}")
            }
        }
    }
}

/// All differences, by point.
pub fn compare<'a>(ours: &Listing<'a>, theirs: &Listing<'a>) -> Vec<Difference<'a>> {
    let mut found = vec![];
    for (point, variables) in &ours.points {
        match theirs.points.get(point) {
            None => found.push(Difference::OnlyOurs(point)),
            Some(others) if others != variables => found.push(Difference::Variables {
                point,
                ours: variables.difference(others).copied().collect(),
                theirs: others.difference(variables).copied().collect(),
            }),
            Some(_) => {}
        }
    }
    found.extend(theirs.points.keys().filter(|p| !ours.has(p)).map(|p| Difference::OnlyTheirs(p)));
    found
}

/// The parts of a function's point: what stands before the name, the name, and what stands behind the `@`.
pub fn parts(point: &str) -> Option<(&str, &str, Option<&str>)> {
    let start = point.find("function(\"")? + "function(\"".len();
    let (before, rest) = point.split_at(start);
    let text = &rest[..rest.find("\")")?];
    Some(match text.split_once('@') {
        Some((name, place)) => (before, name, Some(place)),
        None => (before, text, None),
    })
}

#[test]
fn lines_are_taken_apart() {
    let line =
        r#"kernel.function("vfs_read@fs/read_write.c:450") $file:struct file* $f:void (*)(int, char const*)"#;
    let (point, variables) = parse(line);
    assert_eq!(point, r#"kernel.function("vfs_read@fs/read_write.c:450")"#);
    assert_eq!(variables, BTreeSet::from(["file:struct file*", "f:void (*)(int, char const*)"]));
    assert_eq!(parts(point), Some(("kernel.function(\"", "vfs_read", Some("fs/read_write.c:450"))));
    let bare = r#"module("a").function("b.part.0")"#;
    assert_eq!(parse(bare), (bare, BTreeSet::new()));
    assert_eq!(parts(bare), Some((r#"module("a").function(""#, "b.part.0", None)));
}

#[test]
fn differences_are_found_whatever_the_order() {
    let ours = Listing::new("a $x:int $y:int\nb\nc $x:int\n");
    let theirs = Listing::new("a $y:int $x:int\nc $x:long\nd\nd\n");
    assert_eq!(
        compare(&ours, &theirs),
        [
            Difference::OnlyOurs("b"),
            Difference::Variables { point: "c", ours: vec!["x:int"], theirs: vec!["x:long"] },
            Difference::OnlyTheirs("d"),
        ]
    );
    assert_eq!(theirs.repeated().collect::<Vec<_>>(), ["d"]);
    assert_eq!(ours.starting("b").collect::<Vec<_>>(), ["b"]);
}
