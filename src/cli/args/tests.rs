use super::*;
use clap::CommandFactory;
use std::num::NonZeroUsize;

fn run(line: &str) -> Args {
    match parse(line.split(' ')).unwrap_or_else(|e| panic!("{line}: {e}")) {
        Request::Run(args) => *args,
        Request::Show(text) => panic!("{text}"),
    }
}

#[test]
fn the_definition_is_sound() {
    Args::command().debug_assert();
}

#[test]
fn global_options_stand_on_either_side() {
    for line in ["probeidx --db /x --json -vv find a", "probeidx find a --json -vv --db /x"] {
        let global = run(line).global;
        assert_eq!((global.db, global.json, global.verbose), (Some(PathBuf::from("/x")), true, 2), "{line}");
    }
    assert_eq!(run("probeidx --kernel * stats").global.kernel.as_deref(), Some("*"));
    assert_eq!(run("probeidx stats --color never").global.color, When::Never);
}

#[test]
fn commands_take_their_options() {
    let Command::Build(build) = run("probeidx build -j 3 --no-modules a b --progress always").command else {
        panic!()
    };
    assert_eq!((build.jobs.map(NonZeroUsize::get), build.no_modules, build.force), (Some(3), true, false));
    assert_eq!((build.paths.len(), build.progress), (2, When::Always));
    for line in ["probeidx type struct file", "probeidx type --users struct file"] {
        let Command::Type(asked) = run(line).command else { panic!() };
        assert_eq!(asked.name, ["struct", "file"], "{line}");
    }
    let Command::Resolve(resolve) = run("probeidx resolve f a b->c --format json").command else { panic!() };
    assert_eq!((resolve.spec.as_str(), resolve.args.len(), resolve.format), ("f", 2, Format::Json));
}

#[test]
fn what_is_wrong_is_one_line() {
    for (line, message, hint) in [
        ("probeidx", "there is no command", "see: probeidx --help"),
        ("probeidx fnd a", "unrecognized subcommand 'fnd'", "did you mean find?"),
        ("probeidx resolv vfs_read", "unrecognized subcommand 'resolv'", "did you mean resolve?"),
        ("probeidx res vfs_read", "unrecognized subcommand 'res'", "did you mean resolve?"),
        (
            "probeidx vfs_read",
            "unrecognized subcommand 'vfs_read'",
            "to look up a function: probeidx resolve vfs_read",
        ),
        (
            "probeidx vfs_*",
            "unrecognized subcommand 'vfs_*'",
            "to list what a pattern matches: probeidx find 'vfs_*'",
        ),
        ("probeidx help", "unrecognized subcommand 'help'", "see: probeidx --help"),
        ("probeidx vfs;read", "unrecognized subcommand 'vfs;read'", "see: probeidx --help"),
        (
            "probeidx completions",
            "the following required arguments were not provided: <SHELL>",
            "SHELL is one of bash, zsh, fish",
        ),
        ("probeidx find --ecah a", "unexpected argument '--ecah' found", "did you mean --each?"),
        (
            "probeidx find",
            "the following required arguments were not provided: <PATTERN>...",
            "see: probeidx --help",
        ),
    ] {
        let wrong = parse(line.split(' ')).unwrap_err();
        assert_eq!(wrong.kind(), ErrorKind::Usage);
        assert!(wrong.message().starts_with(message), "{line}: {wrong}");
        assert_eq!(wrong.remedy(), Some(hint), "{line}: {wrong}");
        assert!(!wrong.to_string().contains('\n'), "{wrong}");
    }
    for line in
        ["probeidx build -j 0", "probeidx -q -v stats", "probeidx stats --color red", "probeidx lines f g"]
    {
        assert_eq!(parse(line.split(' ')).unwrap_err().kind(), ErrorKind::Usage, "{line}");
    }
}

#[test]
fn every_command_that_takes_arguments_shows_an_example() {
    for command in Args::command().get_subcommands() {
        let help = command.clone().render_long_help().to_string();
        let wants = command.get_positionals().next().is_some();
        assert!(!wants || help.contains("Example"), "{help}");
    }
    assert!(matches!(parse(["probeidx", "--help"]), Ok(Request::Show(_))));
    assert!(matches!(parse(["probeidx", "find", "-h"]), Ok(Request::Show(_))));
    assert!(matches!(parse(["probeidx", "-V"]), Ok(Request::Show(_))));
}

#[test]
fn json_is_seen_in_a_line_that_is_wrong() {
    let line = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
    assert!(json_asked(line("probeidx fnd --json")));
    assert!(!json_asked(line("probeidx find -- --json")));
}
