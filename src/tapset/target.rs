//! The kernel that a script is read for.
use probeidx_format::machine;
use std::fmt;

/// The values compared by preprocessor conditionals, which also select the tapset folders.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// SystemTap's name: see [`architecture`].
    pub arch: &'a str,
    /// The kernel's release, `kernel_vr`: `6.1.0-56-cloud-amd64`.
    pub release: &'a str,
    /// The emulated version of SystemTap, `systemtap_v`.
    pub systemtap: &'a str,
    /// The runtime, `--runtime`.
    pub runtime: Runtime,
    /// The user's privilege, `--privilege`.
    pub privilege: Privilege,
    /// Whether the script runs in guru mode, `stap -g`.
    pub guru: bool,
    /// The arguments of the script on the command line of stap: `$1`, `@1`. Tapsets have none.
    pub arguments: &'a [String],
    /// Whether SystemTap finds the kernel's `System.map`, and so its functions by their symbols.
    pub system_map: bool,
    /// The `vmlinux.h` in the kernel's build tree, if there is one: later versions read tracepoints and types from it.
    pub vmlinux_header: Option<&'a str>,
    /// The kernel's configuration: the value of an option, including quotes; `None` if it is not set.
    pub config: &'a (dyn Fn(&str) -> Option<String> + Sync),
}

/// The runtime of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// A kernel module.
    Kernel,
    /// A process instrumented by dyninst, without a kernel module.
    Dyninst,
    /// A program for the kernel's BPF virtual machine.
    Bpf,
}

/// The privilege of a SystemTap user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// The group `stapdev`: everything.
    Stapdev,
    /// The group `stapsys`: scripts compiled and signed by a SystemTap server.
    Stapsys,
    /// The group `stapusr`: such scripts, limited to the user's own processes.
    Stapusr,
}

impl<'a> Target<'a> {
    /// A kernel module for this kernel, built by a developer with the oldest SystemTap whose rules are known.
    pub fn new(arch: &'a str, release: &'a str, config: &'a (dyn Fn(&str) -> Option<String> + Sync)) -> Self {
        let (runtime, privilege) = (Runtime::Kernel, Privilege::Stapdev);
        let (guru, system_map) = (false, false);
        let (systemtap, arguments, vmlinux_header) = ("4.8", &[][..], None);
        Self {
            arch,
            release,
            systemtap,
            runtime,
            privilege,
            guru,
            system_map,
            vmlinux_header,
            arguments,
            config,
        }
    }

    /// The release up to its first dash, `kernel_v`: `6.1.0` of `6.1.0-56-cloud-amd64`.
    pub fn version(&self) -> &'a str {
        self.release.split('-').next().unwrap_or_default()
    }
}

/// SystemTap's name of a machine, given that of `uname -m` (util.cxx of 4.8, `normalize_machine`).
pub fn architecture(machine: &str) -> &str {
    match machine {
        "i486" | "i586" | "i686" => "i386",
        "sun4u" => "sparc64",
        "s390x" => "s390",
        "riscv64" => "riscv",
        "aarch64" | "arm64" => "arm64",
        "sa110" => "arm",
        _ if machine.starts_with("arm") => "arm",
        _ if machine.starts_with("ppc") => "powerpc",
        _ if machine.starts_with("mips") => "mips",
        _ if ["sh2", "sh3", "sh4"].iter().any(|sh| machine.starts_with(sh)) => "sh",
        _ => machine,
    }
}

/// SystemTap's name of an ELF machine (`e_machine`); empty if no kernel of it is indexed.
pub fn of_machine(machine: u16) -> &'static str {
    architecture(machine::name(machine))
}

impl Runtime {
    /// The name in `%( runtime == … %)`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Dyninst => "dyninst",
            Self::Bpf => "bpf",
        }
    }
    /// The folder of tapsets only for this runtime.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Kernel => "linux",
            Self::Dyninst => "dyninst",
            Self::Bpf => "bpf",
        }
    }
}

impl Privilege {
    /// The name in `%( systemtap_privilege == … %)`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stapdev => "stapdev",
            Self::Stapsys => "stapsys",
            Self::Stapusr => "stapusr",
        }
    }
}

impl fmt::Debug for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("arch", &self.arch)
            .field("release", &self.release)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_have_the_names_of_systemtap() {
        let cases = [
            ("x86_64", "x86_64"),
            ("i686", "i386"),
            ("i386", "i386"),
            ("aarch64", "arm64"),
            ("arm64", "arm64"),
            ("armv7l", "arm"),
            ("ppc64le", "powerpc"),
            ("powerpc", "powerpc"),
            ("s390x", "s390"),
            ("mips64", "mips"),
            ("sh4", "sh"),
            ("sharp", "sharp"),
            ("riscv64", "riscv"),
        ];
        for (machine, name) in cases {
            assert_eq!(architecture(machine), name, "{machine}");
        }
    }

    #[test]
    fn machines_have_names_by_number() {
        use probeidx_format::machine::{AARCH64, ARM, I386, LOONGARCH, MIPS, PPC64, RISCV, S390, X86_64};
        let cases = [
            (AARCH64, "arm64"),
            (ARM, "arm"),
            (I386, "i386"),
            (LOONGARCH, "loongarch64"),
            (MIPS, "mips"),
            (PPC64, "powerpc"),
            (RISCV, "riscv"),
            (S390, "s390"),
            (X86_64, "x86_64"),
            (0, ""),
        ];
        for (number, name) in cases {
            assert_eq!(of_machine(number), name, "{number}");
        }
    }
}
