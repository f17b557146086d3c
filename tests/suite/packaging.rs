//! What packages and workflows say of this project is so: nobody sees it before a release otherwise.
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

const MANIFESTS: [&str; 9] = [
    "Cargo.toml",
    "index-format/Cargo.toml",
    "bpf-object/Cargo.toml",
    "export/Cargo.toml",
    "web/Cargo.toml",
    "mcp/Cargo.toml",
    "lsp/Cargo.toml",
    "capi/Cargo.toml",
    "python/Cargo.toml",
];

#[test]
fn packages_need_each_other_in_this_version() {
    let version = env!("CARGO_PKG_VERSION");
    let capi = read("capi/Cargo.toml");
    for needed in [format!("libprobeidx0 (= {version}-1)"), format!("libprobeidx = \"= {version}-1\"")] {
        assert!(capi.contains(&needed), "capi/Cargo.toml does not have {needed}");
    }
    for manifest in MANIFESTS {
        for line in
            read(manifest).lines().filter(|line| line.starts_with("probeidx") && line.contains("path = "))
        {
            assert!(line.contains(&format!("version = \"{version}\"")), "{manifest}: {line}");
        }
    }
}

/// Its number is in the names of packages, and in what programs name that are linked with it.
#[test]
fn the_name_of_the_library_is_everywhere_the_same() {
    let makefile = read("capi/Makefile");
    let name = makefile.lines().find_map(|line| line.strip_prefix("SONAME := ")).unwrap();
    let capi = read("capi/Cargo.toml");
    let number = name.rsplit('.').next().unwrap();
    for said in [
        format!("usr/lib64/{name}\""),
        format!("\"{name}()(64bit)\""),
        format!("name = \"libprobeidx{number}\""),
        format!("capi/{name}\", \"usr/lib/\""),
    ] {
        assert!(capi.contains(&said), "capi/Cargo.toml does not have {said}");
    }
    let map = read("capi/probeidx.map");
    for version in map.lines().filter_map(|line| line.strip_suffix(" {")) {
        assert!(capi.contains(&format!("({version})(64bit)")), "no package provides {version}");
    }
}

/// The files of the folders below `.github`.
fn forge_files() -> Vec<PathBuf> {
    let folders = ["workflows", "ISSUE_TEMPLATE"].map(|name| root().join(".github").join(name));
    let files: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(files.len() >= 6, "{files:?}");
    files
}

#[test]
fn workflows_run_scripts_that_are_there() {
    use std::os::unix::fs::PermissionsExt;
    let mut scripts = 0;
    for file in forge_files() {
        let text = std::fs::read_to_string(&file).unwrap();
        let words =
            text.lines().filter(|line| !line.trim_start().starts_with('#')).flat_map(str::split_whitespace);
        for word in words.map(|word| word.trim_end_matches(';')) {
            if word.starts_with("scripts/") || word.starts_with(".ci/") {
                let mode = std::fs::metadata(root().join(word)).map(|m| m.permissions().mode());
                assert!(mode.is_ok_and(|mode| mode & 0o111 != 0), "{}: {word} is no script", file.display());
                scripts += 1;
            }
        }
    }
    assert!(scripts >= 4, "{scripts} scripts are run");
}

#[cfg(feature = "cli")]
#[test]
fn workflows_and_templates_of_issues_are_yaml() {
    for file in forge_files() {
        let text = std::fs::read_to_string(&file).unwrap();
        for event in saphyr_parser::Parser::new_from_str(&text) {
            event.unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        }
    }
}
