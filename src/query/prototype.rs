//! Whether the calling convention says where parameters are: so that `$argN` is offered only where it is right.
use super::basis::{self, Basis};
use super::readable::after_fentry;
use super::select::{self, Placed};
use super::types;
use probeidx_format::View;
use probeidx_format::details::Location;
use probeidx_format::expr::Expr;
use probeidx_format::id::TypeId;
use probeidx_format::types::TypeKind;

/// What the debug information says of a parameter that the calling convention puts somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// It is there.
    Proved,
    /// It is elsewhere: the compiler changed the order, or removed another one.
    Moved,
    /// It is not passed.
    Gone,
    /// Nothing is said, or nothing that could be compared.
    Unknown,
}

impl Proof {
    /// As JSON and text print it.
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
    /// On the stack, so many bytes above the stack pointer at the entry.
    Stack(i64),
}

/// A parameter by its number, from 1.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// From 1, as in the declaration.
    pub number: u32,
    /// Where the convention puts it.
    pub slot: Slot,
    /// Whether it is there in fact.
    pub proof: Proof,
}

/// The registers that pass arguments: System V ABI for x86-64 (3.2.3), AAPCS64 (6.4), RISC-V ELF psABI ("Integer Calling
/// Convention").
pub(crate) fn argument_registers(machine: u16) -> &'static [u8] {
    match machine {
        62 => &[5, 4, 1, 2, 8, 9],
        183 => &[0, 1, 2, 3, 4, 5, 6, 7],
        243 => &[10, 11, 12, 13, 14, 15, 16, 17],
        _ => &[],
    }
}

/// How far the stack pointer lies below the frame base at the entry: where a call leaves the return address, it does by that.
fn below_frame(machine: u16) -> i64 {
    if machine == 62 { 8 } else { 0 }
}

/// The parameters of an out-of-line function, by their position among its variables. Empty for machines of which the
/// convention is not known. Cost: of the function's variables and their locations.
pub fn parameters(view: &View<'_>, placed: Placed<'_>) -> Vec<(u32, Parameter)> {
    let registers = argument_registers(view.machine());
    let Some(function) = select::function(view, placed.record) else { return vec![] };
    let pc = placed.record.entry.get();
    let later = after_fentry(view, placed);
    let mut locations: Vec<(u32, Location<'_>)> = view.details(placed.record).items.outermost().collect();
    locations.sort_by_key(|l| l.0);
    let mut free = registers.iter();
    let below = below_frame(view.machine());
    let mut stack = below;
    let mut found = vec![];
    let parameters = (0u32..).zip(view.variables(function)).filter(|(_, v)| v.parameter);
    for ((position, variable), number) in parameters.zip(1..) {
        if registers.is_empty() {
            break;
        }
        let slot = match words(view, variable.type_id) {
            Some(1) => match free.next() {
                Some(register) => Slot::Register(*register),
                None => {
                    stack += 8;
                    Slot::Stack(stack - 8)
                }
            },
            // More than one register, or memory: what comes behind is not counted any further.
            _ => break,
        };
        let location = locations.iter().find(|l| l.0 == position).map(|l| l.1);
        let proof = match prove(location, slot, below, |l| l.at_start(pc).or_else(|| l.at(later?))) {
            // Of what BTF does not know it says nothing.
            Proof::Gone if basis::of_place(view, placed) == Basis::Btf => Proof::Unknown,
            proof => proof,
        };
        found.push((position, Parameter { number, slot, proof }));
    }
    found
}

/// How many registers a value of this type takes, if it is one that is passed in registers one by one.
fn words(view: &View<'_>, type_id: Option<TypeId>) -> Option<u32> {
    let stripped = types::strip(view, type_id?)?;
    let record = view.types.get(stripped.index())?;
    let size = types::size_of(view, stripped)?;
    match TypeKind::from_u8(record.kind) {
        TypeKind::Base | TypeKind::Enum | TypeKind::Pointer | TypeKind::Reference if size <= 8 => Some(1),
        TypeKind::Struct | TypeKind::Union if (1..=8).contains(&size) => Some(1),
        _ => None,
    }
}

fn prove<'a>(
    location: Option<Location<'a>>,
    slot: Slot,
    below: i64,
    at_entry: impl Fn(Location<'a>) -> Option<Expr<'a>>,
) -> Proof {
    let Some(location) = location else { return Proof::Gone };
    let expr = match location {
        Location::None | Location::Constant(_) | Location::Bytes(_) => return Proof::Gone,
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
        (Expr::Frame(distance), Slot::Stack(due)) if distance.checked_add(below) == Some(due) => {
            Proof::Proved
        }
        // A slot that is written later says nothing of where it came from.
        (Expr::Frame(distance), _) if distance < -below => Proof::Unknown,
        (Expr::Register(_) | Expr::Frame(_) | Expr::BasedOn(..) | Expr::EntryValue(_), _) => Proof::Moved,
        _ if expr.is_empty() => Proof::Gone,
        _ => Proof::Unknown,
    }
}
