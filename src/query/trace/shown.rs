//! How the value of a field is shown, without the index that knows its type.
use crate::query::types::lookup;
use probeidx_format::View;
use probeidx_format::id::TypeId;
use probeidx_format::record::TypeRecord;
use probeidx_format::types::TypeKind;

/// How a number, an address or a string of a record is shown; of an array, each of its elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// In decimal.
    Signed,
    /// In decimal.
    Unsigned,
    /// In hexadecimal.
    Hexadecimal,
    /// `true` or `false`.
    Boolean,
    /// A character, quoted.
    Character,
    /// Text, quoted.
    Text,
    /// An enumerator by name, or several with `|` if their values are bits; the number if none fits.
    Enumerators {
        /// Values and names, ascending by value; of several names of a value, the first.
        named: Vec<(i64, String)>,
        /// Whether all values are different bits.
        are_bits: bool,
    },
    /// A pointer: to code as a symbol with its distance, else in hexadecimal. `NULL` for 0, an error such as `-ENOENT` for
    /// the last 4095 addresses (`ERR_PTR`, include/linux/err.h).
    Address,
    /// A number that is an error if it is in -4095..0: `-ENOENT`.
    Result,
}

impl Shown {
    /// How a value of this type is shown, as the kernel fetches it by default. `is_returned`: a function returned it, so
    /// that a signed number may be an error. Cost: linear in the enumerators.
    pub fn of_type(view: &View<'_>, type_id: Option<TypeId>, is_returned: bool) -> Self {
        let Some(type_id) = type_id else { return Self::Unsigned };
        if is_hexadecimal(view, type_id) {
            return Self::Hexadecimal;
        }
        let Some((stripped, record)) = lookup::stripped(view, type_id) else { return Self::Unsigned };
        match TypeKind::from_u8(record.kind) {
            TypeKind::Pointer | TypeKind::Reference | TypeKind::RvalueReference => Self::Address,
            TypeKind::Enum => enumerators(view, stripped),
            TypeKind::Base => of_base(view, record, is_returned),
            TypeKind::Array if is_character(view, record.target.some()) => Self::Text,
            TypeKind::Array => Self::element(view, record.target.some()),
            // `kuid_t`, `pgprot_t`: a number wrapped in a struct, which is fetched as that number.
            TypeKind::Struct | TypeKind::Class if view.members(stripped).len() == 1 => {
                Self::element(view, view.members(stripped).at(0).target.some())
            }
            _ => Self::Unsigned,
        }
    }

    /// How a value is shown that the user asked for as a type of kprobe_events: `s32`, `x64`, `string`, `symbol`, `char`,
    /// `b4@2/8`, each also as an array. `None` for a type that says nothing of it.
    pub fn of_cast(cast: &str) -> Option<Self> {
        let plain = cast.split('[').next().unwrap_or(cast);
        Some(match plain {
            "string" | "ustring" | "symstr" | "%pd" | "%pD" | "$comm" => Self::Text,
            "symbol" => Self::Address,
            "char" => Self::Character,
            _ if plain.starts_with('b') => Self::Unsigned,
            _ => match (plain.get(..1)?, plain.get(1..)?.parse::<u8>().ok()?) {
                ("s", _) => Self::Signed,
                ("u", _) => Self::Unsigned,
                ("x", _) => Self::Hexadecimal,
                _ => return None,
            },
        })
    }

    /// What an array or a struct consists of; arrays of arrays only of a damaged index are deep.
    fn element(view: &View<'_>, type_id: Option<TypeId>) -> Self {
        let mut at = type_id;
        for _ in 0..lookup::DEEPEST {
            let Some((stripped, record)) = at.and_then(|t| lookup::stripped(view, t)) else { break };
            match TypeKind::from_u8(record.kind) {
                TypeKind::Array => at = record.target.some(),
                TypeKind::Struct | TypeKind::Class if view.members(stripped).len() == 1 => {
                    at = view.members(stripped).at(0).target.some();
                }
                TypeKind::Struct | TypeKind::Class | TypeKind::Union => break,
                _ => return Self::of_type(view, at, false),
            }
        }
        Self::Unsigned
    }
}

/// Types of flags and of addresses that are no pointers, which nobody reads in decimal.
fn is_hexadecimal(view: &View<'_>, type_id: TypeId) -> bool {
    const NAMES: [&[u8]; 10] = [
        b"gfp_t",
        b"fmode_t",
        b"blk_opf_t",
        b"slab_flags_t",
        b"vm_flags_t",
        b"vm_fault_t",
        b"phys_addr_t",
        b"dma_addr_t",
        b"resource_size_t",
        b"uintptr_t",
    ];
    let mut at = Some(type_id);
    for _ in 0..lookup::DEEPEST {
        let Some(record) = at.and_then(|t| view.types.get(t.index())) else { return false };
        match TypeKind::from_u8(record.kind) {
            TypeKind::Typedef if NAMES.contains(&view.string(record.name)) => return true,
            TypeKind::Typedef | TypeKind::Const | TypeKind::Volatile | TypeKind::Atomic => {
                at = record.target.some();
            }
            _ => return false,
        }
    }
    false
}

fn of_base(view: &View<'_>, record: TypeRecord, is_returned: bool) -> Shown {
    // DW_ATE_boolean, DW_ATE_signed, DW_ATE_signed_char (DWARF 5, section 7.8).
    const BOOLEAN: u8 = 2;
    const SIGNED: u8 = 5;
    const SIGNED_CHAR: u8 = 6;
    let size = record.size.get();
    match record.encoding {
        BOOLEAN => Shown::Boolean,
        _ if size == 1 && view.string(record.name) == b"char" => Shown::Character,
        SIGNED if is_returned && size >= 4 => Shown::Result,
        SIGNED | SIGNED_CHAR => Shown::Signed,
        _ => Shown::Unsigned,
    }
}

fn is_character(view: &View<'_>, type_id: Option<TypeId>) -> bool {
    let record = type_id.and_then(|t| lookup::stripped(view, t)).map(|(_, record)| record);
    record.is_some_and(|r| r.kind == TypeKind::Base as u8 && view.string(r.name) == b"char")
}

fn enumerators(view: &View<'_>, type_id: TypeId) -> Shown {
    let name = |name| String::from_utf8_lossy(view.string(name)).into_owned();
    let mut named: Vec<(i64, String)> =
        view.members(type_id).iter().map(|m| (m.value.get(), name(m.name))).collect();
    named.sort_by_key(|(value, _)| *value);
    named.dedup_by_key(|(value, _)| *value);
    let are_bits = are_bits(&named);
    Shown::Enumerators { named, are_bits }
}

/// Whether values are bits: each is a single one or 0, and they are not just the first numbers 0, 1 and 2.
fn are_bits(named: &[(i64, String)]) -> bool {
    let mut bits = named.iter().map(|(value, _)| *value).filter(|value| *value != 0);
    bits.clone().all(|value| (value as u64).is_power_of_two())
        && bits.clone().count() > 1
        && bits.any(|v| v > 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_asked_for() {
        for (cast, shown) in [
            ("s32", Some(Shown::Signed)),
            ("u8[4]", Some(Shown::Unsigned)),
            ("x64", Some(Shown::Hexadecimal)),
            ("b4@2/8", Some(Shown::Unsigned)),
            ("ustring", Some(Shown::Text)),
            ("symbol", Some(Shown::Address)),
            ("char", Some(Shown::Character)),
            ("strange", None),
            ("", None),
        ] {
            assert_eq!(Shown::of_cast(cast), shown, "{cast}");
        }
    }

    #[test]
    fn bits_are_told_from_numbers() {
        let are = |values: &[i64]| are_bits(&values.iter().map(|v| (*v, String::new())).collect::<Vec<_>>());
        assert!(are(&[0, 1, 2, 4]) && are(&[1, 2, 4, 8]) && are(&[4, i64::MIN]));
        assert!(!are(&[0, 1, 2]) && !are(&[0, 1, 2, 3, 4]) && !are(&[4]) && !are(&[-1, 4, 8]) && !are(&[]));
    }
}
