//! The schemas as docs/tables.md has them.
use crate::schema::{self, Schema, VERSION};
use std::fmt::Write;

/// The part of docs/tables.md that follows the first table's heading.
pub fn tables() -> String {
    let mut text = format!("Version of the schemas: {VERSION} (`probeidx.schema` in each file).\n");
    schema::ALL.iter().for_each(|schema| describe(schema, &mut text));
    text
}

fn describe(schema: &Schema, text: &mut String) {
    let files = match schema.is_partitioned {
        true => "a file for each line and flavour",
        false => "one file",
    };
    let _ = write!(
        text,
        "\n## {}\n\n{}\nSorted by `{}`; {files}.\n\n| column | type | null | meaning | example |\n\
         | --- | --- | --- | --- | --- |\n",
        schema.name, schema.meaning, schema.sorted_by
    );
    for column in schema.columns {
        let null = column.null.unwrap_or_default();
        let sql = column.kind.sql();
        let _ = writeln!(
            text,
            "| `{}` | {sql} | {null} | {} | `{}` |",
            column.name, column.meaning, column.example
        );
    }
}
