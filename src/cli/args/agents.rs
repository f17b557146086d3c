//! `mcp` and `lsp`: for programs that others speak through, which start them and end them.
use clap::ValueHint;
use std::path::PathBuf;

/// Answer an AI agent: the questions as tools of the Model Context Protocol, on stdin and stdout
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "A client of the Model Context Protocol starts it; the settings of several are in docs/editors-and-agents.md, and \
                        the tools. Nothing that it answers writes, runs or plants anything. The work is done by the program \
                        probeidx-mcp, beside this one or in PATH.\n\n\
                        Examples:\n  probeidx mcp\n  probeidx --db fleet --kernel 6.1.0-56-cloud-amd64 mcp"
)]
pub struct Mcp {}

/// Answer an editor: findings, completions and explanations in SystemTap and bpftrace scripts, on stdin and stdout
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "An editor starts it for files of the languages systemtap (.stp) and bpftrace (.bt); the settings of several are \
                        in docs/editors-and-agents.md. The work is done by the program probeidx-lsp, beside this one or in \
                        PATH.\n\n\
                        Examples:\n  probeidx lsp\n  probeidx lsp --kernel 6.1.0-56-cloud-amd64"
)]
pub struct Lsp {
    /// Go to definitions below this folder; else to where distributions install the kernel's source
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub source: Option<PathBuf>,
    /// Take scripts as stap -g does
    #[arg(short, long)]
    pub guru: bool,
}
