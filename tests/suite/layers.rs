//! The arrows between the parts of the library are those that ARCHITECTURE.md has, and none runs up.
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

type Uses = BTreeMap<String, BTreeSet<String>>;

#[test]
fn layers_use_only_the_layers_of_their_row() {
    compare("Layers", &[]);
}

#[test]
fn rooms_of_query_use_only_the_rooms_of_their_row() {
    compare("Rooms of `query`", &["query"]);
}

#[test]
fn paths_in_groups_behind_super_and_in_code_are_found_and_those_of_tests_are_not() {
    let text = "use super::{a, b::{self, c}};\nuse crate::x::y;\n// crate::comment::z\n\
                fn f() { crate::q::g(super::super::h) }\n#[cfg(test)]\nmod tests {\n    use crate::t::u;\n}\n";
    let found = paths(text, &["m", "n"].map(String::from));
    let joined: BTreeSet<_> = found.iter().map(|path| path.join("::")).collect();
    assert_eq!(joined, ["m::a", "m::b::self", "m::b::c", "x::y", "q::g", "h"].map(String::from).into());
}

/// Compares the modules directly below one with the table under a heading.
fn compare(heading: &str, below: &[&str]) {
    let drawn = drawn(heading);
    let found = found(below);
    let order: Vec<&String> = drawn.iter().map(|(name, _)| name).collect();
    let rank = |name: &String| order.iter().position(|known| *known == name);
    let mut wrong = vec![];
    for (name, uses) in &drawn {
        let none = BTreeSet::new();
        let real = found.get(name).unwrap_or(&none);
        let row: Vec<String> = real.iter().map(|u| format!("`{u}`")).collect();
        if uses != real {
            wrong.push(format!("{name} uses {}", row.join(" ")));
        }
        for up in real.iter().filter(|used| rank(used) >= rank(name)) {
            wrong.push(format!("{name} stands above {up} in the table, and uses it"));
        }
    }
    wrong.extend(found.keys().filter(|name| rank(name).is_none()).map(|name| format!("{name} has no row")));
    assert!(wrong.is_empty(), "ARCHITECTURE.md, {heading}:\n{}", wrong.join("\n"));
}

/// The rows of the table under a heading: the name in the first cell, those in the last.
fn drawn(heading: &str) -> Vec<(String, BTreeSet<String>)> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let section = text.split("\n## ").find(|s| s.lines().next() == Some(heading)).expect(heading);
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" |").collect();
        (names(cells[0]).remove(0), names(cells.last().unwrap()).into_iter().collect())
    };
    rows.map(row).collect()
}

/// Which modules directly below one use which others of them.
fn found(below: &[&str]) -> Uses {
    let mut found = Uses::new();
    for file in files(&root().join("src")) {
        let relative = file.strip_prefix(root().join("src")).unwrap().with_extension("");
        let mut module: Vec<String> =
            relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let last = module.last().unwrap().clone();
        if last.ends_with("tests") {
            continue;
        }
        if ["mod", "lib", "main"].contains(&&*last) {
            module.pop();
        }
        let inside = |path: &[String]| {
            let name = path.strip_prefix(&below.iter().map(|b| (*b).to_owned()).collect::<Vec<_>>()[..]);
            name.and_then(|name| name.first().cloned())
        };
        let Some(name) = inside(&module) else { continue };
        let uses = found.entry(name.clone()).or_default();
        let text = std::fs::read_to_string(&file).unwrap();
        uses.extend(
            paths(&text, &module).iter().filter_map(|path| inside(path)).filter(|used| *used != name),
        );
    }
    // What is re-exported at the top, as `Index` is by `query`, is no module.
    let modules: BTreeSet<String> = found.keys().cloned().collect();
    found.values_mut().for_each(|uses| uses.retain(|used| modules.contains(used)));
    found
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| match path.is_dir() {
        true => files(&path),
        false => {
            if path.extension().is_some_and(|e| e == "rs") {
                vec![path]
            } else {
                vec![]
            }
        }
    };
    entries.flat_map(of).collect()
}

/// The paths from the crate's root that a file of this module has outside of comments and tests, those in braces each.
fn paths(text: &str, module: &[String]) -> Vec<Vec<String>> {
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let mut found = vec![];
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            if code[..at].ends_with(|c: char| is_name(c) || c == ':') {
                continue;
            }
            let mut rest = &code[at..];
            let mut base: &[String] = match rest.strip_prefix("crate::") {
                Some(behind) => {
                    rest = behind;
                    &[]
                }
                None => module,
            };
            while let Some(behind) = rest.strip_prefix("super::") {
                (base, rest) = (&base[..base.len().saturating_sub(1)], behind);
            }
            tree(&mut rest, base, &mut found);
        }
    }
    found
}

/// A path, or several in braces, behind what is known of it.
fn tree(rest: &mut &str, base: &[String], found: &mut Vec<Vec<String>>) {
    let mut path = base.to_vec();
    loop {
        *rest = rest.trim_start();
        if let Some(behind) = rest.strip_prefix('{') {
            *rest = behind;
            while !rest.trim_start().starts_with('}') && !rest.is_empty() {
                tree(rest, &path, found);
                *rest = rest.trim_start();
                match rest.find([',', '}']) {
                    Some(at) if rest[at..].starts_with(',') => *rest = &rest[at + 1..],
                    at => *rest = &rest[at.unwrap_or(rest.len())..],
                }
            }
            *rest = rest.trim_start().strip_prefix('}').unwrap_or_default();
            return;
        }
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        if end > 0 {
            path.push(rest[..end].to_owned());
        }
        *rest = &rest[end..];
        match rest.strip_prefix("::") {
            Some(behind) => *rest = behind,
            None => break found.push(path),
        }
    }
}
