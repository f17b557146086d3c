//! The parts of the documentation that the program itself says: `docs/schemas`, `docs/reference/command-line.md` and
//! `docs/reference/json.md`. A test compares them with the files, and `UPDATE=1` writes these.
#![warn(missing_docs)]
pub mod command_line;
pub mod console;
pub mod json;

use std::path::{Path, PathBuf};

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}

/// The generated files: their paths from the repository, and their texts.
pub fn generated() -> Vec<(String, String)> {
    let answers = probeidx::cli::schema::all();
    let mut files: Vec<(String, String)> = answers
        .iter()
        .map(|answer| (format!("docs/schemas/{}.json", answer.name), json::file(answer)))
        .collect();
    files.push(("docs/reference/json.md".to_owned(), json::reference(&answers)));
    files.push(("docs/reference/command-line.md".to_owned(), command_line::reference()));
    files
}

/// README and the pages of the book, by their paths from the repository.
pub fn pages() -> Vec<String> {
    let mut found = vec!["README.md".to_owned()];
    let mut folders = vec!["docs".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).into_iter().flatten().flatten() {
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                folders.push(path);
            } else if path.ends_with(".md") {
                found.push(path);
            }
        }
    }
    found[1..].sort();
    found
}

/// Text for a cell of a table in Markdown.
fn cell(text: &str) -> String {
    let mut cell = String::new();
    let mut in_code = false;
    for c in text.chars() {
        match c {
            '`' => in_code = !in_code,
            '|' => cell.push('\\'),
            '<' | '*' | '[' | ']' | '_' if !in_code => cell.push('\\'),
            _ => {}
        }
        cell.push(if c == '\n' { ' ' } else { c });
    }
    cell
}
