//! Commands for shells, manuals and other programs.
use clap::ValueEnum;
use std::path::PathBuf;

// `serve`; what it is for stands at its variant of `Command`, whose text documentation here would hide.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "A request is {\"id\":1,\"method\":\"resolve\",\"params\":{\"spec\":\"vfs_read\"}}: the method is one of the \
                        other commands, its parameters are their arguments and options. Answers are lines with the same id: \
                        any number of \"item\" and \"note\", then one \"done\" or \"error\". What is asked is answered side by \
                        side; {\"method\":\"cancel\",\"params\":{\"id\":1}} ends an answer early, {\"method\":\"methods\"} lists \
                        what can be asked; docs/protocol.md says all of it.\n\n\
                        Example:\n  echo '{\"id\":1,\"method\":\"addr\",\"params\":{\"addresses\":[\"vfs_read+0x10\"]}}' | probeidx serve --stdio"
)]
pub struct Serve {
    /// Requests come from stdin, answers go to stdout
    #[arg(long, required = true)]
    pub stdio: bool,
}

// `complete`; what it is for stands at its variant of `Command`, whose text documentation here would hide.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Example:\n  probeidx complete -- type 'struct file.f_p'")]
pub struct Complete {
    /// The words of a command line without the name of the program; the last one is completed
    #[arg(value_name = "WORD", allow_hyphen_values = true, trailing_var_arg = true)]
    pub words: Vec<String>,
    /// A command line as it was typed, up to the cursor, in place of words: bash's COMP_LINE
    #[arg(long, value_name = "TEXT", conflicts_with = "words", allow_hyphen_values = true)]
    pub line: Option<String>,
    /// Where words end for the shell that completes the line: bash's COMP_WORDBREAKS
    #[arg(long, value_name = "CHARACTERS", requires = "line", allow_hyphen_values = true)]
    pub breaks: Option<String>,
}

// `man`; what it is for stands at its variant of `Command`, whose text documentation here would hide.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  probeidx man ~/.local/share/man/man1\n  man probeidx-resolve")]
pub struct Man {
    /// The folder for the pages; created if missing
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

// `completions`; what it is for stands at its variant of `Command`, whose text documentation here would hide.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Functions, files, modules, types, members, variables and releases are completed from the index.\n\n\
                        Examples:\n  source <(probeidx completions bash)\n  \
                        probeidx completions bash > /etc/bash_completion.d/probeidx\n  \
                        probeidx completions zsh > /usr/local/share/zsh/site-functions/_probeidx\n  \
                        probeidx completions fish > ~/.config/fish/completions/probeidx.fish"
)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// The shells that are completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// 4.0 or newer.
    Bash,
    /// 5.0 or newer.
    Zsh,
    /// 3.0 or newer.
    Fish,
}
