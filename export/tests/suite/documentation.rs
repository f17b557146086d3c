//! docs/tables.md is what the schemas say.
use std::fs;
use std::path::Path;

const START: &str = "Version of the schemas:";

#[test]
fn the_documentation_has_every_column() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tables.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, there) = text.find(START).map_or((&*text, ""), |at| text.split_at(at));
    let wanted = probeidx_export::described();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, format!("{before}{wanted}")).unwrap();
    } else {
        assert_eq!(there, wanted, "write it anew with: UPDATE=1 cargo test -p probeidx-export documentation");
    }
}

/// Words that SQL:2016, DuckDB or Spark (with ANSI rules) reserve and that a table of kernels might be tempted to use.
#[test]
fn no_column_is_a_reserved_word() {
    const RESERVED: [&str; 24] = [
        "all",
        "array",
        "call",
        "check",
        "column",
        "constraint",
        "default",
        "end",
        "fetch",
        "filter",
        "from",
        "group",
        "limit",
        "offset",
        "only",
        "order",
        "primary",
        "references",
        "select",
        "table",
        "time",
        "to",
        "user",
        "using",
    ];
    for schema in &probeidx_export::schema::ALL {
        for column in schema.columns {
            assert!(!RESERVED.contains(&column.name), "{}.{}", schema.name, column.name);
        }
    }
}
