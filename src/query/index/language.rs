//! What the language of a unit tells of its code (DWARF 5, table 7.17).
use probeidx_format::View;
use probeidx_format::id::PlaceId;

/// `DW_AT_language` of a unit; 0 if it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Language(u16);

impl Language {
    const GO: Self = Self(0x16);
    const HASKELL: Self = Self(0x18);
    const OCAML: Self = Self(0x1b);
    const SWIFT: Self = Self(0x1e);

    /// The language of the unit that a placement belongs to. Cost: a binary search.
    pub fn of_place(view: &View<'_>, place: PlaceId) -> Self {
        Self(view.units.get(view.unit_of_place(place).index()).map_or(0, |unit| unit.language.get()))
    }
    /// Whether it is C, or not known: what has no debug information is a kernel's.
    pub fn is_c(self) -> bool {
        // `DW_LANG_C89`, `_C`, `_C99`, `_C11`, `_C17`, `_C23`, and `_Mips_Assembler`.
        matches!(self.0, 0 | 0x1 | 0x2 | 0xc | 0x1d | 0x2c | 0x3e | 0x8001)
    }
    /// Whether its runtime reads return addresses on its stacks, or returns without them.
    pub fn has_own_stack(self) -> bool {
        [Self::GO, Self::HASKELL, Self::OCAML].contains(&self)
    }
    /// Whether its functions get their parameters elsewhere than those of C (Go: `abi-internal.md` in cmd/compile).
    pub fn has_own_convention(self) -> bool {
        self.has_own_stack() || self == Self::SWIFT
    }
}
