//! Why a verdict is undecided: the unknown tables and rules of the kernel.
use probeidx_format::record::{CodeTable, TableSet};

/// The bits used for tables.
const TABLES: u32 = (1 << 22) - 1;

/// What would decide a verdict but is not known. Never empty for an undecided verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unknown(u32);

impl Unknown {
    /// Everything is known.
    pub const NOTHING: Self = Self(0);
    /// The rules of the architecture.
    pub const ARCHITECTURE: Self = Self(1 << 31);
    /// The machine code.
    pub const CODE: Self = Self(1 << 30);
    /// vmlinux is not indexed.
    pub const KERNEL: Self = Self(1 << 29);
    /// What the kernel does without CONFIG_KPROBES.
    pub const KPROBES: Self = Self(1 << 28);
    /// Where instructions start, because no symbol extends to the address.
    pub const SYMBOL: Self = Self(1 << 27);
    /// The kind of a site: the index has an undefined number for it.
    pub const SITE: Self = Self(1 << 26);

    /// Which modules are loaded, on which the symbol depends that the kernel finds for a name without its suffix.
    pub const MODULES: Self = Self(1 << 25);

    /// Whether the object has BTF, and what it says of the function.
    pub const BTF: Self = Self(1 << 24);
    /// The prototype in BTF: that in the debug information is another one.
    pub const PROTOTYPE: Self = Self(1 << 23);
    /// The limits of BPF trampolines.
    pub const TRAMPOLINES: Self = Self(1 << 22);

    const OTHERS: [(Self, &'static str); 10] = [
        (Self::ARCHITECTURE, "the rules of this architecture"),
        (Self::CODE, "the machine code"),
        (Self::KERNEL, "vmlinux, which is not indexed"),
        (Self::KPROBES, "CONFIG_KPROBES, which is not set"),
        (Self::SYMBOL, "where instructions start outside of all symbols"),
        (Self::SITE, "a kind of site in the index"),
        (Self::MODULES, "which modules are loaded"),
        (Self::BTF, "the BTF"),
        (Self::PROTOTYPE, "the prototype in BTF"),
        (Self::TRAMPOLINES, "the limits of BPF trampolines on this architecture and release"),
    ];

    /// These tables.
    pub fn tables(tables: TableSet) -> Self {
        Self(tables.0 & TABLES)
    }
    /// This table.
    pub fn table(table: CodeTable) -> Self {
        Self::tables(TableSet::EMPTY.with(table))
    }
    /// The union of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// `self`, or `other` if `self` is nothing.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        if self.is_nothing() { other } else { self }
    }
    /// What the index lacks. A capture of a running kernel, or the BTF of other functions, tells the rest.
    pub fn of_index(self) -> Self {
        Self(self.0 & !(Self::MODULES.0 | Self::PROTOTYPE.0 | Self::TRAMPOLINES.0))
    }
    /// Whether everything is known.
    pub fn is_nothing(self) -> bool {
        self == Self::NOTHING
    }
    /// The sections of the tables, then the rest in words.
    pub fn causes(self) -> impl Iterator<Item = &'static str> {
        let tables = TableSet(self.0 & TABLES);
        let others = Self::OTHERS.into_iter().filter(move |(one, _)| self.0 & one.0 != 0);
        tables.iter().map(CodeTable::section).chain(others.map(|(_, words)| words))
    }
}

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, cause) in self.causes().enumerate() {
            f.write_str(if at > 0 { ", " } else { "" })?;
            f.write_str(cause)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_named_in_their_order() {
        let both =
            Unknown::CODE.and(Unknown::table(CodeTable::Paravirt)).and(Unknown::table(CodeTable::Bugs));
        assert_eq!(both.to_string(), "__bug_table, .parainstructions, the machine code");
        assert!(Unknown::NOTHING.is_nothing() && Unknown::NOTHING.causes().next().is_none());
    }
}
