//! CO-RE relocations by function.
use crate::btf::{Btf, Ext, RelocationKind};
use crate::elf::Elf;
use crate::error::{Error, shown};
use crate::object::code::{self, Function, FunctionId};
use crate::types::TypeId;

/// A CO-RE relocation of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreRelocation<'a> {
    /// The function whose instruction it is.
    pub function: FunctionId,
    /// The instruction within the function.
    pub instruction: u32,
    /// Its number within the section, which libbpf's log prints as `relo #`.
    pub number: u32,
    /// The type at the root of the access, in the object's BTF.
    pub type_id: TypeId,
    /// The path: indices with colons between them (`0:1:2`).
    pub access: &'a [u8],
    /// What is asked; a number that is not known is kept as it is.
    pub kind: Result<RelocationKind, u32>,
}

/// The relocations of all functions. Those of code without a function are left out, as libbpf does.
pub(super) fn collect<'a>(
    elf: &Elf<'a>,
    btf: &Btf<'a>,
    ext: &Ext<'a>,
    functions: &[Function<'a>],
    refused: &mut Vec<Error>,
) -> Vec<CoreRelocation<'a>> {
    let mut found = Vec::new();
    for (group, name) in ext.relocated_sections().enumerate() {
        let place = || format!("relocations of section {}", shown(name));
        let Some(section) = elf.section(name) else {
            refused.push(Error::refused(place(), "there is no such section", "build the object again"));
            continue;
        };
        for (number, record) in ext.relocations(group, btf).enumerate() {
            if record.offset % 8 != 0 {
                refused.push(Error::refused(
                    place(),
                    "one is not at an instruction",
                    "build the object again",
                ));
                break;
            }
            let slot = record.offset / 8;
            let Some(function) = code::at(functions, section, slot.into()) else { continue };
            found.push(CoreRelocation {
                function,
                instruction: slot - functions[function.0 as usize].start,
                number: number as u32,
                type_id: record.type_id,
                access: record.access,
                kind: record.kind,
            });
        }
    }
    found
}
