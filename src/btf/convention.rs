//! In which registers parameters are passed, by the prototype alone.
use super::record::{Btf, Id, Kind};
use gimli::constants::DW_OP_reg0;
use probeidx_format::machine::{address_size, argument_registers};

/// Typedefs and `const`s of … deeper than this are cut: only damaged BTF has them.
const DEEPEST: usize = 64;

/// The DWARF operation (`DW_OP_regN`) for each parameter, up to the first of which the prototype does not tell: one that is
/// no integer or pointer of one register, such as a struct by value, which may take several or none, and all behind it;
/// those on the stack. (System V ABI for x86-64, 3.2.3; AAPCS64, 6.4; ELF ABI s390x supplement, 1.2.3; 64-bit ELF V2 ABI for Power, 2.2.3.)
///
/// None of 32-bit machines: of i386 a prototype does not tell which functions are `asmlinkage` and have all on the stack, and
/// numbers of 64 bits take two registers.
pub fn registers(btf: &Btf<'_>, prototype: Id, machine: u16) -> Vec<u8> {
    if address_size(machine) < 8 {
        return vec![];
    }
    let parameters = btf.record(prototype).into_iter().flat_map(|p| p.rows());
    let told = parameters.take_while(|[_, id, _]| is_one_register(btf, Id(*id)));
    told.zip(argument_registers(machine)).map(|(_, register)| DW_OP_reg0.0 + register).collect()
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
