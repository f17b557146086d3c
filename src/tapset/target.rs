//! For which kernel a script is read.
use probeidx_format::machine;
use std::fmt;

/// What the conditionals of the preprocessor compare with, and what decides where tapsets lie.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// As SystemTap names it: see [`architecture`].
    pub arch: &'a str,
    /// The kernel's release, `kernel_vr`: `6.1.0-56-cloud-amd64`.
    pub release: &'a str,
    /// The version of SystemTap whose behaviour is asked for, `systemtap_v`.
    pub systemtap: &'a str,
    /// What runs it, `--runtime`.
    pub runtime: Runtime,
    /// What its user may do, `--privilege`.
    pub privilege: Privilege,
    /// Whether `stap -g` runs the script.
    pub guru: bool,
    /// What stands behind a script on the command line of stap: `$1`, `@1`. Tapsets have none.
    pub arguments: &'a [String],
    /// Whether SystemTap finds the kernel's `System.map`, and so its functions by their symbols alone.
    pub system_map: bool,
    /// The kernel's configuration: what follows the `=` of an option, quotes included; none where it is not set.
    pub config: &'a (dyn Fn(&str) -> Option<String> + Sync),
}

/// What runs the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// A kernel module.
    Kernel,
    /// A process that dyninst instruments, without a kernel module.
    Dyninst,
    /// A program of the kernel's BPF virtual machine.
    Bpf,
}

/// What the user of SystemTap may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// The group `stapdev`: everything.
    Stapdev,
    /// The group `stapsys`: scripts that a server of SystemTap has compiled and signed.
    Stapsys,
    /// The group `stapusr`: such scripts too, and only if they touch nothing but the processes of the user.
    Stapusr,
}

impl<'a> Target<'a> {
    /// A kernel module for this kernel, by a developer, with SystemTap 4.8.
    pub fn new(arch: &'a str, release: &'a str, config: &'a (dyn Fn(&str) -> Option<String> + Sync)) -> Self {
        let (runtime, privilege) = (Runtime::Kernel, Privilege::Stapdev);
        let (guru, system_map) = (false, false);
        Self { arch, release, systemtap: "4.8", runtime, privilege, guru, system_map, arguments: &[], config }
    }

    /// The release up to its first dash, `kernel_v`: `6.1.0` of `6.1.0-56-cloud-amd64`.
    pub fn version(&self) -> &'a str {
        self.release.split('-').next().unwrap_or_default()
    }
}

/// What SystemTap calls a machine that `uname -m` calls so (util.cxx of 4.8, `normalize_machine`).
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

/// The same for the machine of an ELF object (`e_machine`); empty for one that no kernel is indexed of.
pub fn of_machine(machine: u16) -> &'static str {
    match machine {
        3 => "i386",
        machine::PPC64 => "powerpc",
        machine::S390 => "s390",
        40 => "arm",
        machine::X86_64 => "x86_64",
        machine::AARCH64 => "arm64",
        machine::RISCV => "riscv",
        258 => "loongarch64",
        _ => "",
    }
}

impl Runtime {
    /// As `%( runtime == … %)` compares it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Dyninst => "dyninst",
            Self::Bpf => "bpf",
        }
    }
    /// The folder of tapsets that are for it alone.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Kernel => "linux",
            Self::Dyninst => "dyninst",
            Self::Bpf => "bpf",
        }
    }
}

impl Privilege {
    /// As `%( systemtap_privilege == … %)` compares it.
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
}
