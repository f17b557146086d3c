//! What the kprobe_events of one kernel can do, and those of another cannot.
//!
//! Stable kernels get such things after their release, and the release of a distribution hides which stable kernel it is:
//! what the debug information of kernel/trace/trace_probe.c proves decides, and the version only where there is none.
use crate::query::index::user_object;
use crate::query::types::lookup;
use probeidx_format::View;
use probeidx_format::types::TypeKind;

/// What came later than kprobe_events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// The type `symstr`: an address as the symbol's name, as a string.
    SymbolString,
    /// The type `char`.
    Character,
    /// The types `%pd` and `%pD`: the name of a `struct dentry *`, of a `struct file *`.
    DentryName,
    /// `$argN` in return probes: what was passed, saved at the entry.
    EntryArguments,
    /// `t`: a probe of a tracepoint of vmlinux.
    TracepointProbes,
    /// The same of a module's.
    ModuleTracepointProbes,
    /// `e`: a probe of an event.
    EventProbes,
}

/// What proves an ability.
enum Witness {
    /// An enumerator of `enum fetch_op`.
    Operation(&'static [u8]),
    Function(&'static [u8]),
}

impl Ability {
    /// Of the type of kprobe_events: `symstr`, `char[4]`.
    pub fn of_type(text: &str) -> Option<Self> {
        match text.split('[').next()? {
            "symstr" => Some(Self::SymbolString),
            "char" => Some(Self::Character),
            "%pd" | "%pD" => Some(Self::DentryName),
            _ => None,
        }
    }

    /// Since when all kernels have it, and what betrays that an older one does.
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
    /// Why not: the version that has it, and how that of this kernel is known.
    pub fn check(self, view: &View<'_>) -> Result<(), String> {
        let ((major, minor), witness) = self.history();
        let since = format!("kernels have that since {major}.{minor}");
        if user_object::path(view).is_some() {
            return Err(format!("{since}, and which kernel this is for is not known"));
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

/// The version with which a release starts: 6.1 of `6.1.0-56-cloud-amd64`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}
