//! The registers in which parameters are passed, by the prototype only.
use super::record::{Btf, Id, Kind};
use gimli::constants::DW_OP_reg0;
use probeidx_format::machine::{address_size, argument_registers, is_returned_through_a_pointer};

/// The DWARF operation (`DW_OP_regN`) of each parameter in a register. The list ends before the first parameter whose
/// register is uncertain: one that is not an integer or pointer of one register, such as a struct by value, which may
/// take several or none. (System V ABI for x86-64, 3.2.3; AAPCS64, 6.4; ELF ABI s390x supplement, 1.2.3; 64-bit ELF
/// V2 ABI for Power, 2.2.3.)
///
/// Empty on 32-bit machines: i386 prototypes do not show which functions are `asmlinkage`, with all parameters on the
/// stack, and 64-bit numbers take two registers.
pub fn registers(btf: &Btf<'_>, prototype: Id, machine: u16) -> Vec<u8> {
    if address_size(machine) < 8 {
        return vec![];
    }
    let Some(prototype) = btf.record(prototype) else { return vec![] };
    let Some(is_hidden) = is_hidden(btf, prototype.target(), machine) else { return vec![] };
    let passed = prototype.rows().take_while(|[_, id, _]| is_one_register(btf, Id(*id)));
    let registers = argument_registers(machine).iter().skip(is_hidden.into());
    passed.zip(registers).map(|(_, register)| DW_OP_reg0.0 + register).collect()
}

/// Whether the address to write a result of this type to is passed before all parameters; `None` if that is not known.
fn is_hidden(btf: &Btf<'_>, result: Id, machine: u16) -> Option<bool> {
    let Some(result) = btf.stripped(result) else { return Some(false) };
    match result.kind {
        Kind::Struct | Kind::Union => is_returned_through_a_pointer(machine, result.word.into()),
        _ => Some(false),
    }
}

fn is_one_register(btf: &Btf<'_>, id: Id) -> bool {
    btf.stripped(id).is_some_and(|record| match record.kind {
        Kind::Pointer => true,
        Kind::Int | Kind::Enum | Kind::Enum64 => (1..=8).contains(&record.word),
        _ => false,
    })
}
