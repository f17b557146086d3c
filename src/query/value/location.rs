//! Turns location expressions into plans.
use super::dwarf_expr;
use super::plan::{At, Missing, Op, Plan};
use crate::query::index::cfa;
use probeidx_format::expr::Expr;
use probeidx_format::{View, machine};

/// Room for the steps to a member of what a variable points to.
const ROOM: usize = 4;

/// The plan that reads what an expression denotes.
pub fn operations(view: &View<'_>, expr: Expr<'_>, at: At) -> Result<Plan, Missing> {
    let rule = || cfa::cfa(view, at.object, at.pc);
    let frame = || rule().ok_or_else(dwarf_expr::unknown_frame);
    // A slot below the stack pointer is not allocated yet: GCC records where a variable is kept, but not from
    // which address on.
    let is_below = |register, distance| distance < 0 && Some(register) == stack_pointer(view.machine());
    let sum = |register, distance: i64| {
        let mut ops = Vec::with_capacity(ROOM);
        ops.push(Op::Register(register));
        if distance != 0 {
            ops.push(Op::Add(distance));
        }
        ops
    };
    let (ops, in_memory) = match expr {
        Expr::Register(number) => (sum(number, 0), false),
        Expr::Literal(value) => (vec![Op::Constant(value.into())], false),
        Expr::Constant(value) => (vec![Op::Constant(value)], false),
        Expr::BasedOn(number, distance) => (sum(number, distance), true),
        Expr::Sum(number, distance) => (sum(number, distance), false),
        Expr::Frame(distance) => {
            let (register, cfa) = frame()?;
            let distance = cfa.wrapping_add(distance);
            if is_below(register, distance) {
                return Err(Missing::Elsewhere);
            }
            (sum(register, distance), true)
        }
        Expr::FrameSum(distance) => {
            let (register, cfa) = frame()?;
            (sum(register, cfa.wrapping_add(distance)), false)
        }
        Expr::EntryValue(number) if at.is_entry => (vec![Op::Register(number)], false),
        Expr::EntryValue(_) => {
            return Err(Missing::Unsupported("what a register held at the entry".to_owned()));
        }
        Expr::Memory(address) => (vec![Op::Address(address)], true),
        Expr::Address(address) => (vec![Op::Address(address)], false),
        Expr::Verbatim(operations) => {
            let operations = operations.to_vec();
            let is_in_frame = dwarf_expr::counts_from_frame(&operations);
            let context = dwarf_expr::Context {
                is_entry: at.is_entry,
                order: view.order(),
                word: view.address_size(),
                cfa: if is_in_frame { rule() } else { None },
            };
            let plan = dwarf_expr::run(&operations, context)?;
            let is_below = |steps: &[Op]| match *steps {
                [Op::Register(register), Op::Add(distance), ..] => is_below(register, distance),
                _ => false,
            };
            let is_gone = is_in_frame && plan.has_steps(&is_below);
            return if is_gone { Err(Missing::Elsewhere) } else { Ok(plan) };
        }
    };
    Ok(Plan::of(ops, in_memory, None))
}

/// Whether a location of the whole function means registers that its prologue sets, and that have other values at this address: the
/// frame of code that clang or others did not optimize, and of GCC's that aligns its stack; a parameter's own register, of a few
/// functions (`dev` of `ata_dev_power_set_standby`, 6.1: `%rbx`, which has the caller's value at the entry; the code reads `%rdi`).
pub(super) fn is_of_body(view: &View<'_>, expr: Expr<'_>, at: At, plan: &Plan) -> bool {
    // The canonical frame address is known at each instruction.
    let is_in_frame = || match expr {
        Expr::Frame(_) | Expr::FrameSum(_) => true,
        Expr::Verbatim(operations) => dwarf_expr::counts_from_frame(&operations.to_vec()),
        _ => false,
    };
    // The stack pointer in the body differs from that at the entry if the function moves it. Nothing is below it yet: a function that
    // calls no other has its slots there.
    let is_moved = |then: &[Op]| matches!(then, [Op::Add(..0), ..]) || !cfa::is_fixed(view, at.object, at.pc);
    plan.has_steps(&|steps| match steps {
        [Op::Register(register), then @ ..] if Some(*register) == stack_pointer(view.machine()) => {
            at.is_entry && !is_in_frame() && is_moved(then)
        }
        [Op::Register(register), ..] => is_callers(view, at, *register),
        _ => false,
    })
}

/// Whether a register still, or again, has the value of the function's caller: at an entry, and where the frame has another base than
/// it has elsewhere in the function.
fn is_callers(view: &View<'_>, at: At, register: u8) -> bool {
    machine::is_preserved(view.machine(), register)
        && match cfa::cfa(view, at.object, at.pc) {
            Some((base, _)) => {
                base != register && (at.is_entry || cfa::has_base(view, at.object, at.pc, register))
            }
            None => at.is_entry,
        }
}

/// The DWARF number of the stack pointer.
pub(super) fn stack_pointer(machine: u16) -> Option<u8> {
    match machine {
        machine::X86_64 => Some(7),
        machine::AARCH64 => Some(31),
        machine::I386 => Some(4),
        machine::ARM => Some(13),
        machine::S390 => Some(15),
        machine::PPC64 => Some(1),
        machine::RISCV => Some(2),
        machine::MIPS => Some(29),
        machine::LOONGARCH => Some(3),
        _ => None,
    }
}
