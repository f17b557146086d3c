//! The registers in which parameters are passed, by the prototype only.
use super::record::{Btf, Id, Kind};
use gimli::constants::DW_OP_reg0;
use probeidx_format::machine::{address_size, argument_registers};

/// Deeper chains of typedefs and `const`s are cut: only damaged BTF has them.
const DEEPEST: usize = 64;

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
    let parameters = btf.record(prototype).into_iter().flat_map(|p| p.rows());
    let passed = parameters.take_while(|[_, id, _]| is_one_register(btf, Id(*id)));
    passed.zip(argument_registers(machine)).map(|(_, register)| DW_OP_reg0.0 + register).collect()
}

fn is_one_register(btf: &Btf<'_>, mut id: Id) -> bool {
    for _ in 0..DEEPEST {
        let Some(record) = btf.record(id) else { return false };
        match record.kind {
            Kind::Typedef | Kind::Const | Kind::Volatile | Kind::Restrict | Kind::TypeTag => {
                id = record.target()
            }
            Kind::Pointer => return true,
            Kind::Int | Kind::Enum | Kind::Enum64 => return (1..=8).contains(&record.word),
            _ => return false,
        }
    }
    false
}
