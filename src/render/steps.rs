//! Formats read plans for compilers that generate code: as steps in JSON, and as an expression in C.
use crate::query::index::registers::kernel_register;
use crate::query::types::lookup;
use crate::query::value::plan::{Op, Plan};
use probeidx_format::types::TypeKind;
use probeidx_format::{View, machine};
use serde::Serialize;

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum Step {
    /// Take a register, given by its kernel name if it has one, and its DWARF number.
    Register {
        /// The name in the kernel's `pt_regs` and kprobe_events: `di`.
        name: Option<String>,
        /// The DWARF number.
        dwarf: u8,
    },
    /// Take a number.
    Constant {
        /// The number.
        value: i64,
    },
    /// Take a link address, to which the kernel's slide must be added.
    Address {
        /// In hexadecimal, with `0x`.
        value: String,
    },
    /// Take the function's return value.
    Return,
    /// Take the value of this argument at the function's entry.
    Argument {
        /// From 1, among the arguments passed in registers.
        number: u32,
    },
    /// Add; the sum wraps.
    Add {
        /// The addend.
        value: i64,
    },
    /// Read this many bytes at the value, from kernel or user memory.
    Read {
        /// The size in bytes.
        size: u64,
        /// Whether it is user memory.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        user: bool,
    },
    /// Keep these bits, from the lowest; the highest one may be a sign.
    Bits {
        /// The lowest bit to keep, from 0.
        offset: u32,
        /// The number of bits to keep.
        width: u32,
        /// Whether the highest one is a sign bit, which fills those above it.
        signed: bool,
    },
    /// The value is an address: what is there is not a number.
    Place {
        /// The size in bytes of what is there; `None` if unknown.
        size: Option<u64>,
    },
}

/// The steps of a plan, up to the value if it is a number, else up to its address.
pub fn steps(view: &View<'_>, plan: &Plan) -> Vec<Step> {
    let (mut read, reads) = (0, plan.reads());
    let mut is_user = || {
        read += 1;
        plan.user_from.is_some_and(|from| read > from.min(reads - 1))
    };
    let mut steps: Vec<Step> = plan
        .ops
        .iter()
        .map(|op| match *op {
            Op::Register(dwarf) => Step::Register { name: name(dwarf, view.machine()), dwarf },
            Op::Constant(value) => Step::Constant { value },
            Op::Address(value) => Step::Address { value: format!("{value:#x}") },
            Op::Returned => Step::Return,
            Op::Argument(number) => Step::Argument { number },
            Op::Add(value) => Step::Add { value },
            Op::Read(size) => Step::Read { size: size.into(), user: is_user() },
        })
        .collect();
    if plan.in_memory {
        steps.push(match number_size(view, plan) {
            Some(size) => Step::Read { size, user: is_user() },
            None => Step::Place { size: plan.type_id.and_then(|t| lookup::size_of(view, t)) },
        });
    }
    steps.extend(plan.bits.map(|b| Step::Bits { offset: b.lowest, width: b.width, signed: b.is_signed }));
    steps
}

/// The plan as a C expression over `regs`, the kernel's `struct pt_regs`: `*(u64 *)(regs->di + 96)`. `None` if that
/// lacks the register, or if the address moves with the kernel.
pub fn c(view: &View<'_>, plan: &Plan) -> Option<String> {
    if plan.ops.is_empty() || plan.bits.is_some_and(|b| b.is_signed) {
        return None;
    }
    let mut text = String::new();
    let read = |size, text: &str| format!("*(u{} *)({text})", size * 8);
    for op in &plan.ops {
        text = match *op {
            Op::Register(dwarf) => {
                let machine = view.machine();
                format!("regs->{}", member(machine, &name(dwarf, machine)?)?)
            }
            Op::Constant(value) => value.to_string(),
            Op::Address(_) | Op::Argument(_) => return None,
            Op::Returned => "regs_return_value(regs)".to_owned(),
            Op::Add(value) if value < 0 => format!("{text} - {}", value.unsigned_abs()),
            Op::Add(value) => format!("{text} + {value}"),
            Op::Read(size) => read(u64::from(size), &text),
        };
    }
    if plan.in_memory {
        text = match number_size(view, plan) {
            Some(size) => read(size, &text),
            None => format!("(void *)({text})"),
        };
    }
    Some(match plan.bits {
        Some(b) => format!("{text} >> {} & {:#x}", b.lowest, u64::MAX >> (64 - b.width.clamp(1, 64))),
        None => text,
    })
}

/// The member of the kernel's `struct pt_regs` that has a register. (arch/*/include/asm/ptrace.h)
pub(super) fn member(machine: u16, register: &str) -> Option<String> {
    let number = |prefix: &str| register.strip_prefix(prefix).filter(|n| n.parse::<u8>().is_ok());
    match machine {
        machine::AARCH64 => {
            number("x").map_or_else(|| Some(register.to_owned()), |n| Some(format!("regs[{n}]")))
        }
        machine::S390 => number("r").map(|n| format!("gprs[{n}]")),
        machine::MIPS | machine::LOONGARCH => {
            number("r").map_or_else(|| Some(register.to_owned()), |n| Some(format!("regs[{n}]")))
        }
        machine::PPC64 => {
            number("gpr").map_or_else(|| Some(register.to_owned()), |n| Some(format!("gpr[{n}]")))
        }
        machine::ARM => {
            (0..16).find(|n| name(*n, machine).as_deref() == Some(register)).map(|n| format!("uregs[{n}]"))
        }
        machine::X86_64 | machine::I386 | machine::RISCV => {
            register.chars().all(|c| c.is_ascii_alphanumeric()).then(|| register.to_owned())
        }
        _ => None,
    }
}

fn name(dwarf: u8, machine: u16) -> Option<String> {
    kernel_register(dwarf, machine).map(|name| name.trim_start_matches('%').to_owned())
}

/// The size of a value that is read as one number.
fn number_size(view: &View<'_>, plan: &Plan) -> Option<u64> {
    if plan.is_pointer {
        return Some(view.address_size().into());
    }
    let stripped = lookup::strip(view, plan.type_id?)?;
    let is_number = {
        let kind = lookup::kind(view, stripped)?;
        !kind.is_aggregate() && kind != TypeKind::Array
    };
    lookup::size_of(view, stripped).filter(|size| is_number && matches!(size, 1 | 2 | 4 | 8))
}
