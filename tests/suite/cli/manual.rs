//! The manual pages: whole, and good roff.
use crate::support::fixture::skipped;
use crate::support::program::run_in;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn pages() -> (TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let out = run_in(Path::new("/absent"), ["man".as_ref(), folder.path().join("man1").as_os_str()]).found();
    let pages: Vec<PathBuf> = out.lines().map(PathBuf::from).collect();
    (folder, pages)
}

/// The page as a terminal shows it, words broken nowhere.
fn shown(page: &Path) -> Option<String> {
    let mut c = Command::new("man");
    c.args(["-l", "--warnings=w", "-E", "ascii"]).arg(page).env("MANWIDTH", "500").env("LC_ALL", "C");
    let out = c.output().ok()?;
    assert_eq!(String::from_utf8_lossy(&out.stderr), "", "{}", page.display());
    Some(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// Words of a help text that name commands or options.
fn named(help: &str) -> Vec<String> {
    let words = help.lines().filter(|line| line.starts_with("  ") && line.trim_start().starts_with('-'));
    words
        .flat_map(|line| line.split([' ', ',', '[', '=']))
        .filter(|word| word.starts_with('-') && word.len() > 1 && *word != "-")
        .map(|word| word.trim_end_matches('.').to_owned())
        .collect()
}

#[test]
fn each_command_and_option_is_in_its_page() {
    let (_keep, pages) = pages();
    let absent = Path::new("/absent");
    let help = run_in(absent, ["--help"]).found();
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands: Vec<&str> = listed
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|c| !c.is_empty())
        .collect();
    assert!(commands.len() > 10, "{help}");
    assert_eq!(pages.len(), commands.len() + 1);
    for command in std::iter::once("").chain(commands.iter().copied()) {
        let name = if command.is_empty() { "probeidx".to_owned() } else { format!("probeidx-{command}") };
        let path = pages.iter().find(|p| p.file_stem().is_some_and(|s| *s == *name)).unwrap();
        let page = std::fs::read_to_string(path).unwrap();
        let help = run_in(absent, [command, "--help"].into_iter().filter(|word| !word.is_empty())).found();
        let options = named(&help);
        assert!(options.contains(&"--kernel".to_owned()), "{help}");
        for option in options {
            let escaped = option.replace('-', "\\-");
            assert!(page.contains(&format!("\\fB{escaped}\\fR")), "{name} lacks {option}");
        }
        for section in [
            "NAME",
            "SYNOPSIS",
            "DESCRIPTION",
            "GLOBAL OPTIONS",
            "EXIT STATUS",
            "ENVIRONMENT",
            "FILES",
            "SEE ALSO",
        ] {
            assert!(page.contains(&format!("\n.SH {section}\n")), "{name} lacks {section}");
        }
        let has_examples = help.contains("Example");
        assert_eq!(page.contains("\n.SH EXAMPLES\n"), has_examples, "{name}");
    }
    let root = std::fs::read_to_string(pages.iter().find(|p| p.ends_with("probeidx.1")).unwrap()).unwrap();
    for command in commands {
        assert!(root.contains(&format!("\\fBprobeidx\\-{command}\\fR(1)")), "{command}");
    }
    assert!(!pages.iter().any(|p| p.ends_with("probeidx-complete.1")), "it is for scripts");
}

#[test]
fn man_shows_them_as_they_are_written() {
    let (_keep, pages) = pages();
    if Command::new("man").arg("--version").output().is_err() {
        skipped("man is not installed");
        return;
    }
    let page = |name: &str| pages.iter().find(|p| p.ends_with(name)).unwrap();
    let Some(type_page) = shown(page("probeidx-type.1")) else { return };
    assert!(type_page.contains("probeidx type 'struct file.f_path.dentry->d_name.name'"), "{type_page}");
    let decode = shown(page("probeidx-decode.1")).unwrap();
    assert!(decode.contains("path_openat+0x14d/0x1180 do_open (fs/namei.c:3640:10)"), "{decode}");
    for page in &pages {
        let text = shown(page).unwrap();
        assert!(text.contains("NAME") && text.contains("SEE ALSO"), "{text}");
    }
}

#[test]
fn formatters_have_nothing_to_say() {
    let (_keep, pages) = pages();
    for (program, arguments) in
        [("groff", &["-man", "-ww", "-Tascii", "-z"][..]), ("mandoc", &["-Tlint", "-Wwarning"])]
    {
        let mut c = Command::new(program);
        match c.args(arguments).args(&pages).output() {
            Err(_) => {
                skipped(&format!("{program} is not installed"));
            }
            Ok(out) => {
                let said = [out.stdout, out.stderr].concat();
                assert_eq!(String::from_utf8_lossy(&said), "", "{program}");
            }
        }
    }
}
