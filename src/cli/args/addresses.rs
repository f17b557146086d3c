//! Commands that start from addresses.
use std::path::PathBuf;

const ADDRESSES: &str = "0xADDRESS, SYMBOL+OFFSET, MODULE:SYMBOL+OFFSET, MODULE:.SECTION+OFFSET or SYMBOL+OFFSET/SIZE \
                         [MODULE]; - reads such from stdin, one a line [default: -]";

// `addr`; what it is for stands at its variant of `Command`, whose text documentation here would hide.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  probeidx addr path_openat+0x14d 'ovl_open+0x1f/0x90 [overlay]'\n  \
                        probeidx addr nfs:.text+0x3270\n  \
                        probeidx addr --base 0xffffffffa7400000 0xffffffffa776139d\n  \
                        perf script -F ip | probeidx addr --kallsyms kallsyms.txt")]
pub struct Addr {
    /// What to look up
    #[arg(value_name = "ADDR", help = ADDRESSES)]
    pub addresses: Vec<String>,
    /// Run-time addresses.
    #[command(flatten)]
    pub loaded: Loaded,
}

// `decode`; what it is for stands at its variant of `Command`, whose text documentation here would hide.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Behind each frame that is known stands where it is, and for inlined code a line for each caller:\n  \
                        path_openat+0x14d/0x1180 do_open (fs/namei.c:3640:10)\n    \
                          inlined into path_openat (fs/namei.c:3838:11)\n\
                        A return address is looked up at the call before it. All else passes as it is.\n\n\
                        Examples:\n  dmesg | probeidx decode\n  \
                        perf script | probeidx decode --kallsyms kallsyms.txt"
)]
pub struct Decode {
    /// Run-time addresses.
    #[command(flatten)]
    pub loaded: Loaded,
}

/// Options for run-time addresses.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Loaded {
    /// Run-time address of _text, which KASLR moves [default: its link address]
    #[arg(long, value_name = "ADDRESS", value_parser = hexadecimal)]
    pub base: Option<u64>,
    /// A copy of /proc/kallsyms, with the run-time addresses of vmlinux and its modules
    #[arg(long, value_name = "FILE", conflicts_with = "base")]
    pub kallsyms: Option<PathBuf>,
    /// A file that probeidx capture wrote, with the same addresses
    #[arg(long, value_name = "FILE", conflicts_with_all = ["base", "kallsyms"])]
    pub live: Option<PathBuf>,
}

fn hexadecimal(text: &str) -> Result<u64, String> {
    u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16)
        .map_err(|_| "it is no hexadecimal number".to_owned())
}
