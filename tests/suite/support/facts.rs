//! What is compared: the same facts, once as the index tells them and once as an independent reader sees them in the
//! debug information, both as lines of text, so that a difference can be read.
use std::collections::{BTreeMap, BTreeSet};

/// The facts of one build.
#[derive(Default)]
pub struct Facts {
    /// By the object's name; vmlinux has none.
    pub objects: BTreeMap<String, ObjectFacts>,
    /// Every named type that is defined somewhere: kind, name, place, size, what it is made of.
    pub types: BTreeSet<String>,
    /// Every function with a description of its own.
    pub declared: BTreeSet<Declared>,
}

#[derive(Default)]
pub struct ObjectFacts {
    /// An out-of-line function, its variables, its inline instances and theirs: a tree of lines each.
    pub functions: Vec<String>,
    /// One line sequence each.
    pub sequences: Vec<String>,
    pub symbols: Vec<String>,
    pub sections: Vec<String>,
}

/// A function as declared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Declared {
    /// Name, place, flags, return type.
    pub head: String,
    /// In order.
    pub variables: Vec<String>,
}

/// Panics unless both say the same, and shows the first facts that only one of them has.
pub fn assert_equal(found: &Facts, expected: &Facts, what: &str) {
    let names = |f: &Facts| f.objects.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(found), names(expected), "{what}: objects");
    for (name, object) in &found.objects {
        let other = &expected.objects[name];
        let what = format!("{what}: {name}");
        same(&object.sections, &other.sections, &format!("{what}: sections"));
        same(&object.symbols, &other.symbols, &format!("{what}: symbols"));
        same(&object.sequences, &other.sequences, &format!("{what}: line sequences"));
        same(&object.functions, &other.functions, &format!("{what}: functions"));
    }
    same(found.types.iter(), expected.types.iter(), &format!("{what}: types"));
    for declared in &expected.declared {
        // The index may know variables that only a placement has; they come last.
        let known = found
            .declared
            .iter()
            .any(|f| f.head == declared.head && f.variables.starts_with(&declared.variables));
        assert!(known, "{what}: the index lacks {declared:#?}\nit has {:#?}", like(found, declared));
    }
    for declared in &found.declared {
        let known = expected.declared.iter().any(|e| e.head == declared.head);
        assert!(known, "{what}: only the index has {declared:#?}");
    }
}

fn like<'f>(facts: &'f Facts, declared: &Declared) -> Vec<&'f Declared> {
    let name = |d: &Declared| d.head.split(' ').next().map(str::to_owned);
    facts.declared.iter().filter(|d| name(d) == name(declared)).collect()
}

/// Compares as multisets.
fn same<'a>(
    found: impl IntoIterator<Item = &'a String>,
    expected: impl IntoIterator<Item = &'a String>,
    what: &str,
) {
    let count = |all: &mut dyn Iterator<Item = &'a String>| {
        let mut counted: BTreeMap<&str, i32> = BTreeMap::new();
        all.for_each(|s| *counted.entry(s).or_default() += 1);
        counted
    };
    let (found, expected) = (count(&mut found.into_iter()), count(&mut expected.into_iter()));
    let only = |a: &BTreeMap<&str, i32>, b: &BTreeMap<&str, i32>| {
        let more = a.iter().filter(|(s, n)| b.get(*s).copied().unwrap_or(0) < **n);
        more.map(|(s, _)| (*s).to_owned()).collect::<Vec<_>>()
    };
    let (extra, missing) = (only(&found, &expected), only(&expected, &found));
    if extra.is_empty() && missing.is_empty() {
        return;
    }
    let show = |all: &[String]| all.iter().take(3).map(|s| format!("\n{s}")).collect::<String>();
    panic!(
        "{what}: {} of {} differ\nonly in the index ({}):{}\nonly in the debug information ({}):{}",
        extra.len().max(missing.len()),
        expected.len(),
        extra.len(),
        show(&extra),
        missing.len(),
        show(&missing),
    );
}
