//! What BPF trampolines (fentry, fexit, fmod_ret, lsm) want of a function besides an ftrace site.
//!
//! The kernel is given a function of its BTF, takes the address of the first symbol of that name, and must be able to
//! pass the arguments on (`bpf_check_attach_target`, kernel/bpf/verifier.c; `btf_distill_func_proto`,
//! kernel/bpf/btf.c; `arch_prepare_bpf_trampoline`, arch/*/net/bpf_jit_comp.c).
use super::Judge;
use super::reason::Reason;
use super::unknown::Unknown;
use crate::query::index::functions;
use crate::query::index::symbols::Held;
use crate::query::types::lookup::stripped;
use probeidx_format::View;
use probeidx_format::id::{FunctionId, ObjectId, StrId};
use probeidx_format::machine;
use probeidx_format::record::{FunctionRecord, InBtf, ObjectRecord, PlaceRecord, SymbolRecord, UnitRecord};
use probeidx_format::types::TypeKind;

/// `MAX_BPF_FUNC_ARGS` (include/linux/bpf.h, 5.10 to 7.3).
const MOST_ARGUMENTS: u32 = 12;
/// The largest struct that is passed (`btf_distill_func_proto`).
const LARGEST_STRUCT: u32 = 16;
/// Functions that trampolines call themselves: `btf_id_deny` (kernel/bpf/verifier.c, 5.14 to 7.3). Those of RCU are on the
/// list since 6.3; 6.1 attaches to them, and stands still (seen on 6.1.192).
const DENIED: [&[u8]; 8] = [
    b"__migrate_enable",
    b"__rcu_read_lock",
    b"__rcu_read_unlock",
    b"migrate_disable",
    b"migrate_enable",
    b"preempt_count_add",
    b"preempt_count_sub",
    b"rcu_read_unlock_strict",
];

/// Whether a kernel has such a list.
pub fn denies(view: &View<'_>) -> bool {
    view.name(b"btf_id_deny").is_some()
}

impl Judge<'_, '_> {
    /// Why no trampoline can be attached to a function whose entry has an ftrace site. `held` is a symbol at its entry.
    pub(super) fn beyond_site(&self, object: ObjectId, held: Held) -> Option<Reason> {
        if self.kernel.is_none() {
            return Some(Reason::Undecided(Unknown::KERNEL));
        }
        if self.flags & ObjectRecord::NO_TRAMPOLINES != 0 {
            return Some(Reason::NoTrampoline);
        }
        let own = self.view.objects.get(object.index()).map_or(0, |o| o.flags.get());
        // The BTF of a module refers to that of vmlinux.
        if (own | self.flags) & ObjectRecord::NO_BTF != 0 {
            return Some(Reason::NoBtf);
        }
        if own & ObjectRecord::BTF == 0 {
            return Some(Reason::Undecided(Unknown::BTF));
        }
        let symbols = || self.symbols_at(object, held);
        let of_name = |name| symbols().any(|s| s.name == name);
        let plain = symbols().find(|s| s.has(SymbolRecord::PLAIN_IN_BTF));
        let function = match plain {
            Some(_) => None,
            // The function that is named like a symbol there, the first one if possible: BTF has no clones.
            None => self
                .functions_at(object, held)
                .find(|f| f.name == held.record.name)
                .or_else(|| self.functions_at(object, held).find(|f| of_name(f.name))),
        };
        let Some(name) = plain.map(|s| s.name).or(function.map(|f| f.name)) else {
            // Another function was made the same code as this one (`-fipa-icf`; `__probestub_…` of 7.3), and has its debug
            // information there, or this one is defined without an address. BTF has this name all the same, and what of it is not
            // in the index.
            let is_at_another = self.functions_at(object, held).next().is_some();
            let is_without_code = |at: FunctionId| self.view.places_of_function(at).next().is_none();
            let is_elsewhere = self.view.name_of(held.record.name).is_some_and(|name| {
                self.view.functions_named(name).any(|at| {
                    let function = self.view.functions.get(at);
                    function.is_some_and(|function| function.has(FunctionRecord::PROTOTYPED))
                        && (is_at_another || is_without_code(FunctionId::new(at as u32)))
                })
            });
            return Some(match is_elsewhere {
                true => Reason::Undecided(Unknown::PROTOTYPE),
                false => Reason::NoBtf,
            });
        };
        // BTF alone has a placement for each prototype of a name. Whichever the kernel is given, it must be one to pass.
        let of_btf = function.is_some() && self.is_of_btf(object);
        let refuses_one = || {
            let named = || self.functions_at(object, held).filter(|f| f.name == name);
            named().count() > 1 && named().any(|f| self.beyond_limits(f).is_some())
        };
        match function.map(|f| f.in_btf()) {
            _ if of_btf && refuses_one() => return Some(Reason::AmbiguousName),
            Some(InBtf::Missing | InBtf::Unknown) if !of_btf => return Some(Reason::NoBtf),
            Some(InBtf::Ambiguous) => return Some(Reason::AmbiguousName),
            _ if self.is_ambiguous(object, name) => return Some(Reason::AmbiguousName),
            _ => {}
        }
        if DENIED.contains(&self.view.string(name)) && denies(self.view) {
            return Some(Reason::Blacklist);
        }
        match function {
            // That in BTF is one of another function of the name.
            Some(function) if function.in_btf() == InBtf::Changed => {
                Some(Reason::Undecided(Unknown::PROTOTYPE))
            }
            Some(function) => self.beyond_limits(function),
            // No kernel with trampolines refuses it.
            None => (self.flags & ObjectRecord::TRAMPOLINES == 0)
                .then_some(Reason::Undecided(Unknown::TRAMPOLINES)),
        }
    }

    /// The function symbols at a symbol's address, itself first.
    fn symbols_at(&self, object: ObjectId, held: Held) -> impl Iterator<Item = SymbolRecord> {
        let symbols = self.view.symbols.part(self.view.symbols_of(object));
        let others = move || {
            let first = symbols.partition_point(|s| s.pc < held.record.pc);
            symbols.from(first).iter().take_while(move |s| s.pc == held.record.pc)
        };
        // Most addresses have one symbol, and that tells it.
        std::iter::once(held.record)
            .chain(std::iter::once_with(others).flatten())
            .filter(SymbolRecord::is_function)
    }

    /// The out-of-line functions that start at a symbol's address.
    fn functions_at(&self, object: ObjectId, held: Held) -> impl Iterator<Item = FunctionRecord> {
        let places = self.places_at(object, held.record.pc.get());
        places.filter_map(|place| functions::function(self.view, place))
    }

    /// The out-of-line placements that start at an address.
    fn places_at(&self, object: ObjectId, pc: u32) -> impl Iterator<Item = PlaceRecord> {
        let ranges = self.view.ranges_of(object);
        let first = ranges.partition_point_of_key(|r| r.start.get() < pc);
        let of_range = move |place: usize| self.view.places.get(place).filter(|p| p.entry.get() == pc);
        let starting = ranges.from(first).iter().take_while(move |r| r.start.get() == pc);
        starting.filter_map(move |r| of_range(r.place.index()))
    }

    /// Whether an object is described by its BTF alone.
    fn is_of_btf(&self, object: ObjectId) -> bool {
        let first = self.view.objects.get(object.index()).map_or(0, |o| o.first_unit.get());
        self.view.units.get(first as usize).is_some_and(|unit| unit.has(UnitRecord::BTF))
    }

    /// Whether the kernel may find another symbol of the name.
    fn is_ambiguous(&self, object: ObjectId, name: StrId) -> bool {
        let Some(name) = self.view.name_of(name) else { return false };
        let kept = |id| functions::is_kept(self.view, id);
        // Vmlinux is searched first.
        let is_alone = Some(object) == self.kernel || self.flags & ObjectRecord::LOOKS_IN_MODULE != 0;
        let count = match is_alone {
            true => functions::symbols_named(self.view, object, name).filter(|id| kept(*id)).count(),
            false => self.view.symbols_named(name).iter().filter(|id| kept(*id)).count(),
        };
        count > 1
    }

    /// The first limit that a prototype exceeds.
    fn beyond_limits(&self, function: FunctionRecord) -> Option<Reason> {
        if function.has(FunctionRecord::VARIADIC) {
            return Some(Reason::Variadic);
        }
        let has = |flag| self.flags & flag != 0;
        let variables = self.view.variables(function);
        let kind = |id| stripped(self.view, id).map(|(_, record)| (TypeKind::from_u8(record.kind), record));
        let returned = variables.return_type.and_then(kind);
        if returned.is_some_and(|(kind, _)| kind.is_aggregate()) {
            return Some(Reason::StructReturn);
        }
        if !has(ObjectRecord::TRAMPOLINES) {
            return Some(Reason::Undecided(Unknown::TRAMPOLINES));
        }
        let is_arm64 = self.view.machine() == machine::AARCH64;
        let in_registers = if is_arm64 { 8 } else { 6 };
        let (mut arguments, mut slots) = (0, 0);
        let mut is_on_stack = false;
        for parameter in variables.parameters() {
            arguments += 1;
            let Some((kind, record)) =
                parameter.type_id.and_then(kind).filter(|(kind, _)| kind.is_aggregate())
            else {
                slots += 1;
                continue;
            };
            let flag = match kind {
                TypeKind::Union => ObjectRecord::UNION_ARGUMENTS,
                _ => ObjectRecord::STRUCT_ARGUMENTS,
            };
            if !has(flag) || !(1..=LARGEST_STRUCT).contains(&record.size.get()) {
                return Some(Reason::StructArgument);
            }
            slots += record.size.get().div_ceil(8);
            is_on_stack |= slots > in_registers;
        }
        let most = if has(ObjectRecord::STACK_ARGUMENTS) { MOST_ARGUMENTS } else { in_registers };
        if arguments > MOST_ARGUMENTS || slots > most {
            return Some(Reason::TooManyArguments);
        }
        // Kernels that pass arguments on the stack refused structs there until 6.18 or so (`calc_arg_aux`, arm64).
        (is_arm64 && is_on_stack).then_some(Reason::Undecided(Unknown::TRAMPOLINES))
    }
}
