//! Where the calling convention puts parameters, so that `$argN` is offered only if it is right.
use super::stap_visibility::after_fentry;
use crate::query::index::functions::{self, Placed};
use crate::query::index::language::Language;
use crate::query::index::provenance::{self, Provenance};
use crate::query::types::lookup;
use probeidx_format::details::Location;
use probeidx_format::expr::Expr;
use probeidx_format::id::TypeId;
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
    if Language::of_place(view, placed.id).has_own_convention() {
        return vec![];
    }
    let registers = machine::argument_registers(view.machine());
    let pc = placed.record.entry.get();
    let later = after_fentry(view, placed);
    let mut free = registers.iter();
    let word = i64::from(view.address_size());
    let (mut stack, frame_base) = stack_arguments(view.machine());
    let mut found = vec![];
    let parameters = (0u32..).zip(variables).filter(|(_, v)| v.parameter);
    for ((position, variable), number) in parameters.zip(1..) {
        if registers.is_empty() {
            break;
        }
        let slot = match words(view, variable.type_id) {
            Some(1) => match free.next() {
                Some(register) => Slot::Register(*register),
                None => {
                    stack += word;
                    Slot::Stack(stack - word)
                }
            },
            // More than one register, or memory: parameters after this one are not counted.
            _ => break,
        };
        let at_entry = |l: Location<'a>| l.at_start(pc).or_else(|| l.at(later?));
        let proof = match prove(location(position), slot, word, frame_base, registers, at_entry) {
            // BTF has no locations, so that a missing one means nothing.
            Proof::Gone if provenance::of_place(view, placed) == Provenance::Btf => Proof::Unknown,
            proof => proof,
        };
        found.push((position, Parameter { number, slot, proof }));
    }
    found
}

/// How many registers a value of this type takes; `None` unless it is passed in one register.
fn words(view: &View<'_>, type_id: Option<TypeId>) -> Option<u32> {
    let stripped = lookup::strip(view, type_id?)?;
    let record = view.types.get(stripped.index())?;
    let size = lookup::size_of(view, stripped)?;
    let word = u64::from(view.address_size());
    match TypeKind::from_u8(record.kind) {
        TypeKind::Base | TypeKind::Enum | TypeKind::Pointer | TypeKind::Reference if size <= word => Some(1),
        TypeKind::Struct | TypeKind::Union if (1..=word).contains(&size) => Some(1),
        _ => None,
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
