//! What GCC for 32-bit ARM writes of the frame into location lists, where it is wrong.
//!
//! It tracks values by their distance from its own pointer to the arguments. In ARM code that lies four bytes below the canonical
//! frame address, and lower by what the function saves of arguments that came in registers; GCC takes these bytes off where they are
//! to be added (`vt_initialize`, gcc/var-tracking.cc; `FIRST_PARM_OFFSET`, gcc/config/arm/arm.h). So a list says `fbreg -76` of what is
//! at -68. Seen with GCC 10 to 16, in kernels and programs. It does so only in functions without a frame pointer. Locations of a
//! whole function, which have no list, are right, and so is Thumb code. The kernel is always built with `-marm` or
//! `-mthumb` (arch/arm/Makefile), which the name of the compiler tells.
use super::dwarf_expr::counts_from_frame;
use super::plan::{At, Missing};
use crate::query::index::cfa;
use crate::query::index::functions::{self, Placed};
use crate::query::types::lookup;
use probeidx_format::expr::Expr;
use probeidx_format::record::FunctionRecord;
use probeidx_format::types::TypeKind;
use probeidx_format::{View, machine};

/// How many bytes a list is off, without saved arguments.
const OFF: i64 = 8;

/// The DWARF number of the frame pointer of ARM code.
const FRAME_POINTER: u8 = 11;

/// The expression of a location list as it should be. Cost: nothing on other machines; for what is in the frame, as for
/// [`cfa::has_base`].
///
/// # Errors
/// It is in the frame, and not known where.
pub fn mended<'a>(view: &View<'a>, expr: Expr<'a>, at: At) -> Result<Expr<'a>, Missing> {
    if view.machine() != machine::ARM {
        return Ok(expr);
    }
    // Arguments on the stack are told from that pointer itself.
    let mended = match expr {
        Expr::Frame(distance) if distance < 0 => Some(Expr::Frame(distance + OFF)),
        Expr::FrameSum(distance) if distance < 0 => Some(Expr::FrameSum(distance + OFF)),
        Expr::Verbatim(operations) if counts_from_frame(&operations.to_vec()) => None,
        _ => return Ok(expr),
    };
    let Some(function) = functions::outermost(view, at.object, at.pc) else { return Ok(expr) };
    if !is_arm_by_gcc(view, function) || cfa::has_base(view, at.object, at.pc, FRAME_POINTER) {
        return Ok(expr);
    }
    mended.filter(|_| !saves_arguments(view, function)).ok_or_else(|| {
        Missing::Unsupported("in the frame, at a distance that GCC for ARM does not tell right".to_owned())
    })
}

/// Whether GCC compiled a function, and to ARM code.
fn is_arm_by_gcc(view: &View<'_>, placed: Placed) -> bool {
    let unit = view.units.get(view.unit_of_place(placed.id).index());
    let producer = unit.map_or(&[][..], |unit| view.string(unit.producer));
    producer.starts_with(b"GNU ") && producer.split(|b| *b == b' ').any(|word| word == b"-marm")
}

/// Whether a function may save arguments beside those on the stack: it takes any number of them, or a struct that may be split between
/// registers and the stack.
fn saves_arguments(view: &View<'_>, placed: Placed) -> bool {
    let Some(function) = functions::function(view, placed.record) else { return true };
    let may_be_split = |type_id| {
        let stripped = lookup::stripped(view, type_id)?;
        let size = lookup::size_of_stripped(view, stripped)?;
        Some(size > view.address_size().into() && TypeKind::from_u8(stripped.1.kind).is_aggregate())
    };
    let mut parameters = view.variables(function).filter(|v| v.parameter);
    function.has(FunctionRecord::VARIADIC)
        || parameters.any(|parameter| parameter.type_id.and_then(may_be_split).unwrap_or(true))
}
