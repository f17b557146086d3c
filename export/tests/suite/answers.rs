//! Rows are what the library answers.
use crate::support::{ALL, KERNELS, RELEASES, Row, export, of_batch, rows};
use arrow_ipc::reader::StreamReader;
use probeidx::Index;
use probeidx::answer::{self, Answer, Wanted};
use probeidx::query::history::{Asked, Value, What, facts};
use probeidx::query::types::layout::{Body, layout};
use probeidx::query::types::lookup;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

fn tables() -> PathBuf {
    ALL.path().join("tables")
}

fn index(release: &str) -> Index {
    Index::open(&KERNELS.path().join(format!("{release}.pidx"))).unwrap()
}

fn of<'r>(rows: &'r [Row], kernel: &str) -> Vec<&'r Row> {
    rows.iter().filter(|row| row["kernel"] == kernel).collect()
}

/// Some columns of a row as text; what is null is empty.
fn columns(row: &Row, names: &[&str]) -> Vec<String> {
    names.iter().map(|name| row.get(*name).cloned().unwrap_or_default()).collect()
}

#[test]
fn placements_and_arguments_are_those_of_resolve() {
    let (placements, arguments) = (rows(&tables(), "placements"), rows(&tables(), "arguments"));
    for release in RELEASES {
        let index = index(release);
        let view = index.view().unwrap();
        let (mut wanted, mut wanted_arguments) = (vec![], vec![]);
        let text = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
        for spec in answer::parse(&view, "*").unwrap() {
            answer::answers(&view, &spec, Wanted::default(), &mut |answer| {
                let Answer::Code(p, _) = answer else { return Ok(()) };
                let mut row = vec![
                    wanted.len().to_string(),
                    text(p.function),
                    text(p.file),
                    p.instance.name().to_owned(),
                    text(p.section),
                    format!("{:#x}", p.address),
                    p.symbol.map(|s| text(s.0)).unwrap_or_default(),
                    p.symbol.map(|s| s.1.to_string()).unwrap_or_default(),
                    p.anchor.map(|anchor| anchor.to_string()).unwrap_or_default(),
                    p.inlined_into.iter().map(|call| text(call.function)).collect::<Vec<_>>().join(" < "),
                    p.coverage.instances().to_string(),
                    p.coverage.by.any_address().to_string(),
                ];
                row.extend(p.verdicts.iter().map(|(_, verdict)| verdict.name().to_owned()));
                for value in p.values {
                    let maybe = |text: Option<String>| text.unwrap_or_default();
                    wanted_arguments.push(vec![
                        wanted.len().to_string(),
                        value.name,
                        maybe(value.type_name),
                        value.state.name().to_owned(),
                        maybe(value.location),
                        maybe(value.fetch),
                    ]);
                }
                wanted.push(row);
                Ok(())
            })
            .unwrap();
        }
        assert!(wanted.len() > 30 && wanted_arguments.len() > 50);
        let of_row = |row: &&Row| {
            let mut found = columns(
                row,
                &[
                    "placement",
                    "function",
                    "file",
                    "instance",
                    "section",
                    "address",
                    "symbol",
                    "symbol_offset",
                ],
            );
            let anchor = format!("{}+{}", row["anchor_symbol"], row["anchor_offset"]);
            found.push(anchor);
            found.extend(columns(row, &["inlined_into", "instances", "reachable"]));
            found.extend(columns(row, &["kprobe", "kprobe_events", "kretprobe", "ftrace", "trampoline"]));
            found
        };
        assert_eq!(of(&placements, release).iter().map(of_row).collect::<Vec<_>>(), wanted);
        let names = ["placement", "name", "type", "state", "location", "fetch_argument"];
        let found: Vec<_> = of(&arguments, release).iter().map(|row| columns(row, &names)).collect();
        assert_eq!(found, wanted_arguments);
    }
}

#[test]
fn prototypes_and_inlining_are_those_of_history() {
    let rows = rows(&tables(), "functions");
    for release in RELEASES {
        let index = index(release);
        let view = index.view().unwrap();
        let mut compared = 0;
        for row in of(&rows, release) {
            let Some(file) = row.get("file") else { continue };
            let asked = Asked::parse(&format!("{}@{file}", row["name"])).unwrap();
            let abouts = facts(&view, &asked.subjects[0]).unwrap();
            let about = abouts.iter().find(|about| about.part.as_ref() == Some(file)).unwrap();
            let value = |what| &about.facts.iter().find(|(known, _)| *known == what).unwrap().1;
            let parameters = row.get("parameters").map(|all| match &**all {
                "" => "void".to_owned(),
                all => all.replace(" < ", ", "),
            });
            match (parameters, value(What::Prototype)) {
                (Some(found), Value::Word(wanted)) => {
                    assert!(wanted.starts_with(&*row["return_type"]), "{wanted}");
                    assert!(wanted.ends_with(&format!("{}({found})", row["name"])), "{wanted}");
                }
                (None, Value::Unknown) => {}
                other => panic!("{other:?}"),
            }
            let inlined = match (&*row["entries"], &*row["copies"]) {
                (_, "0") => "not",
                ("0", _) => "fully",
                _ => "in part",
            };
            assert_eq!(*value(What::Inlined), Value::Word(inlined.to_owned()), "{row:?}");
            compared += 1;
        }
        assert!(compared > 20, "{compared}");
    }
}

#[test]
fn members_are_those_of_type() {
    let rows = rows(&tables(), "members");
    for release in RELEASES {
        let index = index(release);
        let view = index.view().unwrap();
        let mut found: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
        for row in of(&rows, release).into_iter().filter(|row| row["type_kind"] == "struct") {
            let names = ["member", "type", "byte_offset", "byte_size", "bit_width", "struct_size"];
            found.entry(row["type_name"].clone()).or_default().push(columns(row, &names));
        }
        assert!(found.len() > 5);
        for (name, members) in &found {
            let types = lookup::find(&view, &format!("struct {name}"));
            let laid_out = types.iter().map(|id| layout(&view, *id).unwrap());
            let mut wanted = vec![];
            for layout in laid_out {
                let Body::Members(all) = layout.body else { panic!("{name}") };
                for member in all.members.iter().filter(|member| !member.name.is_empty()) {
                    wanted.push(vec![
                        String::from_utf8_lossy(member.name).into_owned(),
                        member.spelled.clone(),
                        member.offset.to_string(),
                        member.size.to_string(),
                        member.bits.map(|bits| bits.1.to_string()).unwrap_or_default(),
                        all.size.to_string(),
                    ]);
                }
            }
            // Members of unnamed types have longer paths, or stand in the place of an unnamed member.
            assert!(wanted.iter().all(|member| members.contains(member)), "{name}: {members:?}\n{wanted:?}");
        }
    }
}

#[test]
fn each_fact_stands_once_and_has_exactly_its_kernels() {
    for (table, of_kernels, names) in [
        ("functions_since", "functions", &["name", "file", "module"][..]),
        (
            "placements_since",
            "placements",
            &[
                "function",
                "file",
                "module",
                "instance",
                "inlined_into",
                "symbol",
                "symbol_offset",
                "kprobe",
                "ftrace",
            ],
        ),
        (
            "members_since",
            "members",
            &["type_name", "type_kind", "file", "member", "type", "byte_offset", "byte_size"],
        ),
    ] {
        let mut wanted: BTreeMap<Vec<String>, BTreeSet<String>> = BTreeMap::new();
        for row in rows(&tables(), of_kernels) {
            wanted.entry(columns(&row, names)).or_default().insert(row["kernel"].clone());
        }
        let mut found: BTreeMap<Vec<String>, BTreeSet<String>> = BTreeMap::new();
        for row in rows(&tables(), table) {
            let kernels: Vec<&str> = row["kernels"].split(" < ").collect();
            assert_eq!((&*row["since"], &*row["until"]), (kernels[0], *kernels.last().unwrap()));
            assert!(kernels.is_sorted_by_key(|kernel| RELEASES.iter().position(|release| release == kernel)));
            if let Some(lines) = row.get("lines") {
                assert_eq!(lines.split(" < ").count(), kernels.len());
            }
            // The type as a whole is in no table of single kernels.
            if table != "members_since" || row.contains_key("member") {
                found.entry(columns(&row, names)).or_default().extend(kernels.into_iter().map(str::to_owned));
            }
        }
        // -O1 and -O2 declare the same, and place it elsewhere.
        let of = |count| found.values().any(|kernels| kernels.len() == count);
        assert!(of(2) && (of(1) || table != "placements_since"), "{table}");
        assert_eq!(found, wanted, "{table}");
    }
}

#[test]
fn a_stream_has_the_rows_of_the_files() {
    for table in ["functions", "placements", "kernels", "functions_since"] {
        let ran = export(&["--arrow", table, "--kernel", "*"].map(AsRef::as_ref));
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let reader = StreamReader::try_new(&*ran.stdout, None).unwrap();
        let mut found: Vec<Row> = reader.flat_map(|batch| of_batch(&batch.unwrap())).collect();
        let mut wanted = rows(&tables(), table);
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted, "{table}");
    }
}
