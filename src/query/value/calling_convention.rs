//! Where the calling convention puts parameters, so that `$argN` is offered only if it is right.
use super::stap_visibility::after_fentry;
use crate::query::index::functions::{self, Placed};
use crate::query::index::language::Language;
use crate::query::index::provenance::{self, Provenance};
use crate::query::types::lookup;
use probeidx_format::details::Location;
use probeidx_format::expr::Expr;
use probeidx_format::id::TypeId;
use probeidx_format::record::TypeRecord;
use probeidx_format::types::TypeKind;
use probeidx_format::variables::Variable;
use probeidx_format::{View, machine};

/// Whether the debug information confirms where the convention puts a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The parameter is there.
    Proved,
    /// It is elsewhere: the compiler reordered parameters, or removed another one.
    Moved,
    /// The parameter is not passed.
    Gone,
    /// The debug information has no location, or none that can be compared.
    Unknown,
}

impl Proof {
    /// The name in JSON and text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Proved => "proved",
            Self::Moved => "moved",
            Self::Gone => "gone",
            Self::Unknown => "unknown",
        }
    }
}

/// Where the convention puts a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// In a register, by its DWARF number.
    Register(u8),
    /// On the stack, this many bytes above the stack pointer at the entry.
    Stack(i64),
}

/// A parameter by its number, from 1.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// From 1, as in the declaration.
    pub number: u32,
    /// From 1, as the kernel counts for `$argN`: a pointer to the result that is passed before it counts, and numbers in registers of
    /// their own, as floating-point ones have, do not.
    pub argument: u32,
    /// Where the convention puts it.
    pub slot: Slot,
    /// Whether the debug information confirms it.
    pub proof: Proof,
}

/// Where at the entry the stack arguments begin, and where the frame base is (DW_CFA_def_cfa of the first instruction);
/// both in bytes above the stack pointer. (The same documents, on the stack frame.)
fn stack_arguments(machine: u16) -> (i64, i64) {
    match machine {
        machine::X86_64 => (8, 8),
        machine::I386 => (4, 4),
        machine::S390 => (160, 160),
        machine::PPC64 => (96, 0),
        _ => (0, 0),
    }
}

/// The parameters of an out-of-line function, with their positions among its variables. Empty for machines and languages
/// whose convention is not known. Cost: linear in the function's variables and their locations.
pub fn parameters(view: &View<'_>, placed: Placed) -> Vec<(u32, Parameter)> {
    let Some(function) = functions::function(view, placed.record) else { return vec![] };
    let locations: Vec<(u32, Location<'_>)> =
        view.details(placed.id, placed.record).items.outermost().collect();
    let location = |position| locations.iter().find(|l| l.0 == position).map(|l| l.1);
    parameters_of(view, placed, view.variables(function), location)
}

/// Like [`parameters`], given the function's variables and the location of each by its position.
pub fn parameters_of<'a>(
    view: &View<'a>,
    placed: Placed,
    variables: impl Iterator<Item = Variable>,
    location: impl Fn(u32) -> Option<Location<'a>>,
) -> Vec<(u32, Parameter)> {
    let language = Language::of_place(view, placed.id);
    if language.has_own_convention() {
        return vec![];
    }
    let result = functions::function(view, placed.record).and_then(|f| view.variables(f).return_type);
    let hidden = is_returned_through_a_pointer(view, result, language);
    let is_hidden = hidden.unwrap_or(false);
    let registers = machine::argument_registers(view.machine());
    let pc = placed.record.entry.get();
    let later = after_fentry(view, placed);
    let mut free = registers.iter().skip(is_hidden.into());
    let mut argument = u32::from(is_hidden);
    let mut free_for_floats = floating_point_registers(view.machine());
    let word = i64::from(view.address_size());
    let (mut stack, frame_base) = stack_arguments(view.machine());
    let mut found = vec![];
    let parameters = (0u32..).zip(variables).filter(|(_, v)| v.parameter);
    for ((position, variable), number) in parameters.zip(1..) {
        if registers.is_empty() {
            break;
        }
        let slot = match class(view, variable.type_id) {
            Some(Class::Word) => match free.next() {
                Some(register) => Slot::Register(*register),
                None => {
                    stack += word;
                    Slot::Stack(stack - word)
                }
            },
            Some(Class::Float) if free_for_floats > 0 => {
                free_for_floats -= 1;
                continue;
            }
            // More than one register, or memory: parameters after this one are not counted.
            _ => break,
        };
        argument += 1;
        let at_entry = |l: Location<'a>| l.at_start(pc).or_else(|| l.at(later?));
        let proof = match prove(location(position), slot, word, frame_base, registers, at_entry) {
            // BTF has no locations, so that a missing one means nothing.
            Proof::Gone if provenance::of_place(view, placed) == Provenance::Btf => Proof::Unknown,
            proof => proof,
        };
        // If an address may be passed before it, only what is there as if none were is known.
        if hidden.is_some() || proof == Proof::Proved {
            found.push((position, Parameter { number, argument, slot, proof }));
        }
    }
    found
}

/// How a value is passed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// In one of the [`argument_registers`](machine::argument_registers).
    Word,
    /// In one of the registers for floating-point numbers, which are counted by themselves.
    Float,
}

/// How many floating-point numbers are passed in registers of their own. (System V ABI for x86-64, 3.2.3; AAPCS64, 6.4; ELF ABI
/// s390x supplement, 1.2.3.) 0 where they take the places of others (Power, MIPS), or where kernels and programs differ (RISC-V,
/// LoongArch, ARM).
fn floating_point_registers(machine: u16) -> u32 {
    match machine {
        machine::X86_64 | machine::AARCH64 => 8,
        machine::S390 => 4,
        _ => 0,
    }
}

/// `DW_ATE_float`, and `DW_ATE_complex_float`, `_imaginary_float` and `_decimal_float` (DWARF 5, table 7.11).
const FLOAT: u8 = 0x4;
const OTHER_FLOATS: [u8; 3] = [0x3, 0x9, 0xf];

/// Deeper structs than this are not looked into.
const DEEPEST: u32 = 8;

/// How a value of this type is passed; `None` for what takes several registers or memory, and where that is not known.
fn class(view: &View<'_>, type_id: Option<TypeId>) -> Option<Class> {
    let stripped = lookup::stripped(view, type_id?)?;
    let size = lookup::size_of_stripped(view, stripped)?;
    let record = stripped.1;
    let word = u64::from(view.address_size());
    match TypeKind::from_u8(record.kind) {
        TypeKind::Base if is_floating_point(view, stripped, 0) => {
            (size <= word && record.encoding == FLOAT).then_some(Class::Float)
        }
        TypeKind::Base
        | TypeKind::Enum
        | TypeKind::Pointer
        | TypeKind::Reference
        | TypeKind::RvalueReference
            if size <= word =>
        {
            Some(Class::Word)
        }
        // Those of other sizes are passed by their address.
        kind if kind.is_aggregate() && view.machine() == machine::S390 && !size.is_power_of_two() => None,
        // Some are passed as the floating-point numbers in them.
        kind if kind.is_aggregate() && (1..=word).contains(&size) => {
            (!is_floating_point(view, stripped, 0)).then_some(Class::Word)
        }
        _ => None,
    }
}

/// Whether a type is or contains a floating-point number, or may.
fn is_floating_point(view: &View<'_>, (type_id, record): (TypeId, TypeRecord), depth: u32) -> bool {
    let is_part = |of: TypeId| {
        let of = of.some().and_then(|of| lookup::stripped(view, of));
        of.is_some_and(|of| is_floating_point(view, of, depth + 1))
    };
    match TypeKind::from_u8(record.kind) {
        TypeKind::Base => record.encoding == FLOAT || OTHER_FLOATS.contains(&record.encoding),
        kind if kind.is_aggregate() => {
            depth >= DEEPEST || view.members(type_id).iter().any(|member| is_part(member.target))
        }
        TypeKind::Array => is_part(record.target),
        _ => false,
    }
}

/// Where the result of a function is when it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returned {
    /// In the register that the kernel calls `$retval`; of a struct, what fits there.
    Register,
    /// In memory, at the address in that register.
    Memory,
    /// Elsewhere, for this reason.
    Elsewhere(&'static str),
}

/// Where the result of this type of a placement's function is.
pub fn returned(view: &View<'_>, placed: Placed, type_id: TypeId) -> Returned {
    let language = Language::of_place(view, placed.id);
    if language.has_own_convention() {
        return Returned::Elsewhere("where functions of this language return it is not known");
    }
    let Some(stripped) = lookup::stripped(view, type_id) else { return Returned::Register };
    let is_floating_point = is_floating_point(view, stripped, 0);
    let machine = view.machine();
    let size = lookup::size_of_stripped(view, stripped);
    match TypeKind::from_u8(stripped.1.kind) {
        TypeKind::Base if is_floating_point => {
            Returned::Elsewhere("in a register for floating-point numbers, which the kernel does not save")
        }
        TypeKind::Base | TypeKind::Enum if size.is_some_and(|size| size > view.address_size().into()) => {
            Returned::Elsewhere("in two registers, of which the kernel reads one")
        }
        // A vector: an array is returned by no language.
        TypeKind::Array => Returned::Elsewhere("in a register for vectors, which the kernel does not save"),
        kind if kind.is_aggregate() => {
            let in_memory = size.and_then(|size| machine::is_returned_in_memory(machine, size));
            match in_memory {
                // The System V ABI has the address in %rax, 3.2.3.
                Some(true) if machine == machine::X86_64 => Returned::Memory,
                _ if is_floating_point => Returned::Elsewhere(
                    "its floating-point numbers are in registers that the kernel does not save",
                ),
                Some(true) => Returned::Elsewhere("in memory, at an address that only the caller knows"),
                Some(false) if language.is_c() => Returned::Register,
                _ => Returned::Elsewhere("in registers or in memory, which is not known"),
            }
        }
        _ => Returned::Register,
    }
}

/// Whether a function's first argument is an address to write the result to, which no variable describes; `None` if that is not
/// known.
fn is_returned_through_a_pointer(
    view: &View<'_>,
    result: Option<TypeId>,
    language: Language,
) -> Option<bool> {
    let Some(stripped) = result.and_then(|result| lookup::stripped(view, result)) else { return Some(false) };
    let machine = view.machine();
    let size = lookup::size_of_stripped(view, stripped).unwrap_or(0);
    match TypeKind::from_u8(stripped.1.kind) {
        // Power returns up to eight numbers in registers for them.
        kind if kind.is_aggregate() && machine == machine::PPC64 && is_floating_point(view, stripped, 0) => {
            None
        }
        // Other languages return what cannot be copied as bytes so, too.
        kind if kind.is_aggregate() => machine::is_returned_through_a_pointer(machine, size)
            .filter(|is_hidden| *is_hidden || language.is_c() || machine == machine::AARCH64),
        // Numbers of 128 bits.
        TypeKind::Base if size > view.address_size().into() => {
            matches!(machine, machine::X86_64 | machine::AARCH64).then_some(false)
        }
        _ => Some(false),
    }
}

fn prove<'a>(
    location: Option<Location<'a>>,
    slot: Slot,
    word: i64,
    frame_base: i64,
    registers: &[u8],
    at_entry: impl Fn(Location<'a>) -> Option<Expr<'a>>,
) -> Proof {
    let Some(location) = location else { return Proof::Gone };
    let expr = match location {
        Location::None | Location::Constant(_) | Location::Bytes(_) => return Proof::Gone,
        // Where the function's code puts it does not show where it came from.
        Location::Everywhere(Expr::Register(base) | Expr::BasedOn(base, _)) if !registers.contains(&base) => {
            return Proof::Unknown;
        }
        Location::Everywhere(expr) => expr,
        Location::List(_) | Location::Within(..) => match at_entry(location) {
            Some(expr) => expr,
            None => return Proof::Unknown,
        },
    };
    match (expr, slot) {
        (Expr::Register(is), Slot::Register(due)) | (Expr::EntryValue(is), Slot::Register(due))
            if is == due =>
        {
            Proof::Proved
        }
        // It is passed by its address.
        (Expr::BasedOn(is, 0), Slot::Register(due)) if is == due => Proof::Unknown,
        // On a big-endian machine, a value smaller than a word is in the last bytes of its slot.
        (Expr::Frame(distance), Slot::Stack(due))
            if distance.checked_add(frame_base).is_some_and(|at| (due..due + word).contains(&at)) =>
        {
            Proof::Proved
        }
        // A slot written later does not show where the value came from.
        (Expr::Frame(distance), _) if distance < -word => Proof::Unknown,
        (Expr::Register(_) | Expr::Frame(_) | Expr::BasedOn(..) | Expr::EntryValue(_), _) => Proof::Moved,
        _ if expr.is_empty() => Proof::Gone,
        _ => Proof::Unknown,
    }
}
