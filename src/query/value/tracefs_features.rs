//! Features of kprobe_events that some kernels have and others lack.
//!
//! Stable kernels get such features after their release, and the release name of a distribution hides which stable
//! kernel it is. The debug information of kernel/trace/trace_probe.c decides; without it, the version does.
use crate::query::index::user_object;
use crate::query::types::lookup;
use probeidx_format::View;
use probeidx_format::types::TypeKind;

/// A feature that was added after kprobe_events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// The type `symstr`: an address as a string with the symbol's name.
    SymbolString,
    /// The type `char`.
    Character,
    /// The types `%pd` and `%pD`: the name of a `struct dentry *` or a `struct file *`.
    DentryName,
    /// `$argN` in return probes: the argument, saved at the entry.
    EntryArguments,
    /// `t`: a probe on a tracepoint of vmlinux.
    TracepointProbes,
    /// `t`, on a tracepoint of a module.
    ModuleTracepointProbes,
    /// `e`: a probe on an event.
    EventProbes,
}

/// What proves a feature.
enum Witness {
    /// An enumerator of `enum fetch_op`.
    Operation(&'static [u8]),
    Function(&'static [u8]),
}

impl Ability {
    /// The feature behind a type of kprobe_events: `symstr`, `char[4]`.
    pub fn of_type(text: &str) -> Option<Self> {
        match text.split('[').next()? {
            "symstr" => Some(Self::SymbolString),
            "char" => Some(Self::Character),
            "%pd" | "%pD" => Some(Self::DentryName),
            _ => None,
        }
    }

    /// The version since which all kernels have it, and what proves it in an older one.
    fn history(self) -> ((u32, u32), Witness) {
        match self {
            Self::SymbolString => ((6, 3), Witness::Operation(b"FETCH_OP_ST_SYMSTR")),
            Self::Character => ((6, 3), Witness::Function(b"print_type_char")),
            Self::DentryName => ((6, 10), Witness::Function(b"traceprobe_expand_dentry_args")),
            Self::EntryArguments => ((6, 9), Witness::Operation(b"FETCH_OP_EDATA")),
            Self::TracepointProbes => ((6, 5), Witness::Function(b"trace_fprobe_create")),
            Self::ModuleTracepointProbes => ((6, 12), Witness::Function(b"__tracepoint_probe_module_cb")),
            Self::EventProbes => ((5, 15), Witness::Function(b"eprobe_dyn_event_create")),
        }
    }

    /// Whether the kernel has it. Cost: a few name lookups.
    ///
    /// # Errors
    /// Why not: the version that has it, and how the version of this kernel is known; those of [`has_arguments`].
    pub fn check(self, view: &View<'_>) -> Result<(), String> {
        if self == Self::EntryArguments {
            has_arguments(view)?;
        }
        let ((major, minor), witness) = self.history();
        let since = format!("kernels have that since {major}.{minor}");
        if user_object::path(view).is_some() {
            return Err(format!("{since}, and the kernel it will run on is unknown"));
        }
        let operations = lookup::named(view, b"fetch_op", Some(TypeKind::Enum));
        if operations.iter().all(|t| lookup::is_declared(view, *t)) {
            let release = String::from_utf8_lossy(view.release());
            return match version(&release) {
                Some(version) if version >= (major, minor) => Ok(()),
                _ => Err(format!("{since}, and this one is called {release}")),
            };
        }
        let has = match witness {
            Witness::Function(name) => view.name(name).is_some(),
            Witness::Operation(name) => {
                operations.iter().any(|t| view.members(*t).iter().any(|m| view.string(m.name) == name))
            }
        };
        if has { Ok(()) } else { Err(format!("{since}, and the code of this one shows that it has not")) }
    }
}

/// Whether kprobe_events has `$argN` at all: 32-bit ARM and mips64 do not (6.1). A kernel whose configuration is not known is believed
/// to. (`parse_probe_vars`, kernel/trace/trace_probe.c)
///
/// # Errors
/// Why not.
pub fn has_arguments(view: &View<'_>) -> Result<(), String> {
    let has = |option: &[u8]| view.option(option).is_some();
    match has(b"HAVE_REGS_AND_STACK_ACCESS_API") && !has(b"HAVE_FUNCTION_ARG_ACCESS_API") {
        true => Err("this kernel has no $argN (CONFIG_HAVE_FUNCTION_ARG_ACCESS_API)".to_owned()),
        false => Ok(()),
    }
}

/// The version at the start of a release: 6.1 for `6.1.0-56-cloud-amd64`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}
