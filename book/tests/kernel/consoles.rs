//! Every block of consoles.
use super::real_kernels::kernels;
use super::{INDEXES, RELEASE, is_there, program, say, skip};
use probeidx_book::console::{Block, blocks, matches};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn what_is_printed_is_what_is_written() {
    if !is_there() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let programs = home.path().join("programs");
    fs::create_dir(&programs).unwrap();
    symlink(program(), programs.join("probeidx")).unwrap();
    let (mut wrong, mut count) = (vec![], 0);
    for page in probeidx_book::pages() {
        let text = fs::read_to_string(probeidx_book::root().join(&page)).unwrap();
        let (mut run, mut not_run) = (0, 0);
        for block in blocks(&text).unwrap() {
            let place = format!("{page}:{}", block.line);
            if block.not_run.is_some() {
                not_run += 1;
                continue;
            }
            // Its own folder, with the kernels that it names.
            let folder = tempfile::tempdir().unwrap();
            let db = folder.path().join("db");
            if let Err(missing) = has_programs(&block).and_then(|()| folder_of(&block, &db)) {
                skip(&format!("{place}: no {missing}"));
                continue;
            }
            run += 1;
            wrong.extend(
                differences(&block, folder.path(), home.path())
                    .into_iter()
                    .map(|text| format!("{place}: {text}")),
            );
        }
        count += run;
        if run + not_run > 0 {
            say(&format!("{page}: {run} blocks run, {not_run} not"));
        }
    }
    assert!(wrong.is_empty(), "{} of {count} blocks differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 20, "{count} blocks");
}

/// Whether the programs that a block runs beside `probeidx` are there; or names one that is not: cargo compiles those of crates
/// that have tests of kernels.
fn has_programs(block: &Block) -> Result<(), String> {
    const OWN: [&str; 4] = ["export", "lsp", "mcp", "web"];
    let typed: String = block.commands.iter().flat_map(|command| [&command.typed, "\n"]).collect();
    let own = OWN.into_iter().filter(|name| typed.contains(&format!("probeidx {name}")));
    let own = own.map(|name| {
        (format!("probeidx-{name}"), program().with_file_name(format!("probeidx-{name}")).exists())
    });
    let jq = typed
        .contains("| jq")
        .then(|| ("jq".to_owned(), Command::new("jq").arg("--version").output().is_ok()));
    let missing = own.chain(jq).find(|(_, is_there)| !is_there);
    missing.map_or(Ok(()), |(name, _)| Err(name))
}

/// Makes a folder of indexes of the kernels that a block names, and of the documentation's; or names one that is not there.
fn folder_of(block: &Block, db: &Path) -> Result<(), String> {
    let builds = block.commands.iter().any(|command| command.typed.starts_with("probeidx build /"));
    fs::create_dir(db).unwrap();
    if builds {
        return Ok(());
    }
    let lines = block.commands.iter().flat_map(|c| std::iter::once(&c.typed).chain(&c.output));
    let words = lines
        .flat_map(|line| line.split([' ', ',', '"', '\'', '/', ':']))
        .map(|word| word.trim_end_matches(".pidx"));
    let is_release = |word: &&str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && (word.ends_with("-amd64") || word.ends_with("-arm64"))
    };
    let named: BTreeSet<&str> = words.filter(is_release).chain([RELEASE]).collect();
    for release in named {
        let index = INDEXES.join(format!("{release}.pidx"));
        // An index of an earlier run, whose kernel is gone, may be of an older format.
        if !kernels().iter().any(|(_, there)| there == release) {
            return Err(release.to_owned());
        }
        symlink(index, db.join(format!("{release}.pidx"))).unwrap();
    }
    Ok(())
}

/// The commands whose output is not what is written. One without output only has to succeed.
fn differences(block: &Block, folder: &Path, home: &Path) -> Vec<String> {
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", home.join("programs").display());
    let mut found = vec![];
    for command in &block.commands {
        let mut shell = Command::new("bash");
        let typed = command.typed.replace("~/.cache/probeidx", &folder.join("db").to_string_lossy());
        shell.args(["-c", &format!("exec 2>&1; {typed}")]).current_dir(folder).stdin(Stdio::null());
        shell
            .env("PATH", &path)
            .env("HOME", home)
            .env("PROBEIDX_DB", folder.join("db"))
            .env_remove("XDG_CACHE_HOME");
        let ran = shell.output().unwrap();
        let printed = String::from_utf8_lossy(&ran.stdout)
            .replace(&*folder.join("db").to_string_lossy(), "/root/.cache/probeidx");
        let mut lines: Vec<String> = printed.lines().map(str::to_owned).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        let is_right = match &command.output[..] {
            [] => ran.status.success(),
            written => matches(written, &lines),
        };
        if !is_right {
            const MOST: usize = 40;
            let shown: Vec<_> = lines.iter().take(MOST).cloned().collect();
            found.push(format!(
                "$ {}\n--- written\n{}\n--- printed, {}\n{}\n",
                command.typed,
                command.output.join("\n"),
                ran.status,
                shown.join("\n")
            ));
        }
    }
    found
}
