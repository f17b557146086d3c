//! What an object wants of the kernel by name: options, variables, kfuncs.
use super::super::outcome::{Finding, State};
use super::prototype;
use super::types::KernelTypes;
use crate::query::index::functions;
use probeidx_bpf::object::{Extern, ExternKind, KconfigType};
use probeidx_bpf::reach::Environment;
use probeidx_bpf::{Object, TypeId};
use probeidx_format::View;
use probeidx_format::record::FunctionRecord;

/// The externs of an object on a kernel.
pub struct Externs<'a> {
    all: Vec<Known<'a>>,
    checks_called_only: bool,
}

struct Known<'a> {
    external: Extern<'a>,
    value: Value,
}

/// What an extern is on the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// An option with this value; 0 where it is not set.
    Option { value: Option<u64>, is_set: bool },
    /// The version: which of the stable kernels from this one on is not known.
    Version(u64),
    /// A variable or function.
    Exists(bool),
    /// A kfunc of which the object declares another prototype.
    OtherPrototype,
    /// A kfunc of whose prototype is not known what BTF has.
    UnknownPrototype,
    /// libbpf cannot make it.
    Refused(&'static str),
    /// Not known.
    Unknown,
}

impl<'a> Externs<'a> {
    /// Looks up all externs of an object. Cost: a binary search each.
    pub fn new(view: &View<'_>, types: &KernelTypes<'_>, object: &Object<'a>) -> Self {
        let value = |external: &Extern<'_>| match external.kind {
            ExternKind::Kconfig(_) if external.name == b"LINUX_KERNEL_VERSION" => {
                kernel_version(view, object)
            }
            ExternKind::Kconfig(kind) => option(view, external.name, kind),
            ExternKind::Symbol => symbol(view, external.essential),
            ExternKind::Variable(_) => variable(view, types, external.essential),
            ExternKind::Kfunc(declared) => match kfunc(view, types, external.essential) {
                Value::Exists(true) => declared_kfunc(view, types, object, external, declared),
                value => value,
            },
        };
        let all = object.externs.iter().map(|one| Known { external: *one, value: value(one) }).collect();
        // Whether one is called, the verifier notes since then (include/linux/bpf.h, 6.8).
        Self { all, checks_called_only: types.has_member(b"bpf_func_info_aux", b"called") }
    }

    /// What keeps libbpf from loading the object.
    pub fn findings(&self) -> Vec<Finding> {
        self.all.iter().filter_map(Known::finding).collect()
    }

    /// The first version of the kernel's line, if an extern is the version and the release does not say which stable kernel it
    /// is.
    pub fn version(&self, external: u32) -> Option<u64> {
        match self.all.get(external as usize)?.value {
            Value::Version(first) => Some(first),
            _ => None,
        }
    }

    /// Whether it hangs on which stable kernel it is, and the release does not say that.
    pub fn asks_for_version(&self) -> bool {
        self.all.iter().any(|one| matches!(one.value, Value::Version(_)))
    }

    /// A kfunc that is called.
    pub fn kfunc(&self, number: u32) -> Option<Finding> {
        let known = self.all.get(number as usize)?;
        let name = String::from_utf8_lossy(known.external.essential).into_owned();
        match known.value {
            Value::Exists(false) => {
                Some(Finding::new(State::Kfunc, name, "the kernel has no such kfunc").errno("EINVAL"))
            }
            Value::OtherPrototype => {
                let why = "the kernel has this kfunc with another prototype";
                Some(Finding::new(State::Kfunc, name, why).errno("EINVAL"))
            }
            Value::UnknownPrototype if !known.external.is_weak => None,
            Value::Exists(true) => None,
            _ => Some(Finding::new(
                State::Undecided,
                name,
                "not decided: whether it is a kfunc for this type of program is not in the index",
            )),
        }
    }
}

impl Known<'_> {
    fn finding(&self) -> Option<Finding> {
        let Extern { name, is_weak, kind, .. } = self.external;
        let text = String::from_utf8_lossy(name);
        let of = |reason: &str, errno| Some(Finding::new(State::Loader, text.clone(), reason).errno(errno));
        match (self.value, kind) {
            (Value::Refused(why), _) => of(why, "EINVAL"),
            (Value::Option { is_set: false, .. }, _) if !is_weak => {
                of("the kernel's configuration does not have it, and it is not weak", "ESRCH")
            }
            (Value::Exists(false), ExternKind::Kfunc(_)) if !is_weak => {
                let found =
                    Finding::new(State::Kfunc, text, "the kernel has no such kfunc, and it is not weak");
                Some(found.errno("ESRCH"))
            }
            (Value::OtherPrototype, _) if !is_weak => {
                let why = "the kernel has this kfunc with another prototype";
                Some(Finding::new(State::Kfunc, text, why).errno("EINVAL"))
            }
            (Value::UnknownPrototype, _) if !is_weak => {
                let why = "not decided: which prototype BTF has of this kfunc is not in the index";
                Some(Finding::new(State::Undecided, text, why))
            }
            (Value::Unknown, ExternKind::Variable(_)) if !is_weak => {
                let why = "not decided: the index does not say which variables BTF has";
                Some(Finding::new(State::Undecided, text, why))
            }
            (Value::Exists(false), _) if !is_weak => {
                of("the kernel has no such variable, and it is not weak", "ESRCH")
            }
            _ => None,
        }
    }
}

impl Environment for Externs<'_> {
    fn checks_called_only(&self) -> bool {
        self.checks_called_only
    }
    fn option(&self, external: u32) -> Option<u64> {
        match self.all.get(external as usize)?.value {
            Value::Option { value, .. } => value,
            _ => None,
        }
    }
    fn exists(&self, external: u32) -> Option<bool> {
        match self.all.get(external as usize)?.value {
            Value::Exists(exists) => Some(exists),
            // libbpf leaves out weak ones that do not fit.
            Value::OtherPrototype => Some(false),
            _ => None,
        }
    }
}

/// `LINUX_KERNEL_VERSION` (`get_kernel_version`, libbpf 1.7): the version that a distribution writes beside the release, or
/// that of the release. The index has the release, whose third number is often 0 where the kernel is a later stable one.
fn kernel_version(view: &View<'_>, object: &Object<'_>) -> Value {
    let release = String::from_utf8_lossy(view.release()).into_owned();
    let end = release.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(release.len());
    let numbers: Vec<u32> = release[..end].split('.').filter_map(|number| number.parse().ok()).collect();
    let [major, minor, patch, ..] = numbers[..] else {
        return Value::Refused("libbpf cannot read a version of three numbers from the kernel's release");
    };
    let first = major << 16 | minor << 8;
    // Only a comparison with one of the stable kernels depends on which one it is.
    let among = first + 1..=first + 255;
    let is_asked =
        object.functions.iter().flat_map(|f| &f.code).any(|one| among.contains(&one.imm.cast_unsigned()));
    match patch {
        0 if is_asked => Value::Version(first.into()),
        _ => Value::Option { value: Some(u64::from(first + patch.min(255))), is_set: true },
    }
}

/// An option, or one of the values that libbpf makes (`bpf_object__resolve_externs`, libbpf 1.7).
fn option(view: &View<'_>, name: &[u8], kind: KconfigType) -> Value {
    let known = |value: Option<u64>| Value::Option { value, is_set: true };
    if let Some(name) = name.strip_prefix(b"LINUX_HAS_") {
        let has = match name {
            b"SYSCALL_WRAPPER" => {
                [&b"__x64_sys_bpf"[..], b"__arm64_sys_bpf", b"__riscv_sys_bpf", b"__s390x_sys_bpf"]
                    .iter()
                    .any(|wrapper| view.name(wrapper).is_some())
            }
            _ => return known(None),
        };
        return known(Some(has.into()));
    }
    let Some(option) = name.strip_prefix(b"CONFIG_") else { return Value::Unknown };
    // Every configuration has this one.
    let is_known = [&b"64BIT"[..], b"CC_VERSION_TEXT", b"HZ"].iter().any(|one| view.option(one).is_some());
    match (view.option(option), kind) {
        (None, _) if !is_known => Value::Unknown,
        (None, _) => Value::Option { value: Some(0), is_set: false },
        (Some(b"y"), KconfigType::Tristate) => known(Some(1)),
        (Some(b"m"), KconfigType::Tristate) => known(Some(2)),
        (Some(b"y"), KconfigType::Bool) => known(Some(1)),
        (Some(b"y" | b"m"), KconfigType::Integer { .. }) => {
            Value::Refused("the option is y or m, and the variable a number")
        }
        (Some(b"m"), KconfigType::Bool) => Value::Refused("the option is m, and the variable a bool"),
        (Some([one @ (b'y' | b'm' | b'n')]), KconfigType::Char) => known(Some(u64::from(*one))),
        (Some(text), KconfigType::Bool | KconfigType::Tristate) if !text.starts_with(b"\"") => {
            Value::Refused("the option is a number, and the variable none")
        }
        (Some(text), KconfigType::Integer { .. } | KconfigType::Char) => known(number(text)),
        (Some(_), _) => known(None),
    }
}

fn number(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse::<i64>().ok().map(i64::cast_unsigned),
    }
}

/// A variable or function of `/proc/kallsyms`.
fn symbol(view: &View<'_>, name: &[u8]) -> Value {
    let found = view.name(name).map(|name| view.symbols_named(name)).unwrap_or_default();
    let is_kept = |id| functions::is_kept(view, id);
    Value::Exists(found.iter().any(is_kept))
}

/// A variable in BTF, which has those of each processor: pahole leaves out all others (before 1.30).
fn variable(view: &View<'_>, types: &KernelTypes<'_>, name: &[u8]) -> Value {
    match (symbol(view, name), types.is_known()) {
        (Value::Exists(false), _) => Value::Exists(false),
        _ => Value::Unknown,
    }
}

/// A kfunc that the kernel has, against its declaration.
fn declared_kfunc(
    view: &View<'_>,
    types: &KernelTypes<'_>,
    object: &Object<'_>,
    external: &Extern<'_>,
    declared: TypeId,
) -> Value {
    let Some(btf) = &object.btf else { return Value::UnknownPrototype };
    match prototype::is_kfunc(view, types, btf, declared, external.essential) {
        Some(true) => Value::Exists(true),
        Some(false) => Value::OtherPrototype,
        None => Value::UnknownPrototype,
    }
}

/// A kfunc: a function that is listed for programs. Kernels list them since 5.19, in a form that the index has.
fn kfunc(view: &View<'_>, types: &KernelTypes<'_>, name: &[u8]) -> Value {
    let is_listed = functions::of_name(view, name).any(|f| f.has(FunctionRecord::KFUNC));
    match symbol(view, name) {
        _ if is_listed => Value::Exists(true),
        Value::Exists(false) => Value::Exists(false),
        // Kernels without the lists have none but those of TCP's struct_ops (5.13 to 5.18).
        _ if types.is_known() && !types.has_type(b"btf_kfunc_id_set") => Value::Exists(false),
        _ if view.functions.owners().iter().any(|f| f.has(FunctionRecord::KFUNC)) => Value::Exists(false),
        _ => Value::Unknown,
    }
}
