//! The return type of a function, and its variables: parameters and locals of all its blocks, in the order of the
//! debug information.
//!
//! A stream of numbers: the return type's `TypeId` plus one, or 0 for void; the linkage name's `StrId`; then for each
//! variable a number: bit 0 marks a parameter, bit 1 a variable in a lexical block, the rest is its rank in
//! `variables`; and its line less that of the previous variable (the first: less the function's; signed).
use crate::id::{StrId, TypeId};
use crate::record::VariableRecord;
use crate::table::Table;
use crate::varint::{self, Reader};

/// A variable declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name; empty for an unnamed parameter.
    pub name: StrId,
    /// Its type.
    pub type_id: Option<TypeId>,
    /// `DW_AT_decl_line`.
    pub line: u32,
    /// Whether it is a parameter.
    pub parameter: bool,
    /// Whether it is in a lexical block, not in the function's outermost scope.
    pub nested: bool,
}

/// Appends the numbers before the variables.
pub fn put_head(out: &mut Vec<u8>, return_type: Option<TypeId>, linkage_name: StrId) {
    varint::put(out, return_type.map_or(0, |t| u64::from(t.get()) + 1));
    varint::put(out, linkage_name.get().into());
}

/// Appends a variable by its rank; `due` is the line of the previous one, or the function's.
pub fn put(out: &mut Vec<u8>, due: &mut u32, rank: u32, line: u32, parameter: bool, nested: bool) {
    varint::put(out, u64::from(rank) << 2 | u64::from(nested) << 1 | u64::from(parameter));
    varint::put_signed(out, i64::from(line) - i64::from(*due));
    *due = line;
}

/// The table of variables, packed or not.
pub trait Ranked: Copy {
    /// The name and type of this rank.
    fn ranked(&self, rank: usize) -> Option<VariableRecord>;
}

impl Ranked for Table<'_, VariableRecord> {
    #[inline]
    fn ranked(&self, rank: usize) -> Option<VariableRecord> {
        self.get(rank)
    }
}

impl Ranked for &[VariableRecord] {
    #[inline]
    fn ranked(&self, rank: usize) -> Option<VariableRecord> {
        self.get(rank).copied()
    }
}

/// The return type of a function, and an iterator over its variables.
#[derive(Clone, Copy)]
pub struct Variables<'a, T = Table<'a, VariableRecord>> {
    /// `DW_AT_type` of the function, or none for void.
    pub return_type: Option<TypeId>,
    /// `DW_AT_linkage_name`, or the empty string.
    pub linkage_name: StrId,
    table: T,
    reader: Reader<'a>,
    left: u16,
    line: u32,
}

impl<'a, T: Ranked> Variables<'a, T> {
    /// Reads `count` variables of a function with this line, from the bytes at its offset.
    pub fn read(table: T, bytes: &'a [u8], count: u16, line: u32) -> Self {
        let mut reader = Reader::new(bytes);
        let return_type = reader.number32().checked_sub(1).map(TypeId::new);
        let linkage_name = StrId::new(reader.number32());
        Self { return_type, linkage_name, table, reader, left: count, line }
    }
}

impl<T: Ranked> Iterator for Variables<'_, T> {
    type Item = Variable;

    #[inline]
    fn next(&mut self) -> Option<Variable> {
        if self.left == 0 || self.reader.ended() {
            return None;
        }
        self.left -= 1;
        let head = self.reader.number();
        self.line = self.line.wrapping_add(self.reader.signed() as u32);
        let record = self.table.ranked((head >> 2) as usize);
        Some(Variable {
            name: record.map_or(StrId::new(0), |r| r.name),
            type_id: record.and_then(|r| r.type_id.some()),
            line: self.line,
            parameter: head & 1 != 0,
            nested: head & 2 != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read_as_they_were_written() {
        let table = [
            VariableRecord { name: StrId::new(9), type_id: TypeId::new(3) },
            VariableRecord { name: StrId::new(4), type_id: TypeId::NONE },
        ];
        let mut out = vec![];
        put_head(&mut out, None, StrId::new(7));
        let mut due = 100;
        put(&mut out, &mut due, 1, 100, true, false);
        put(&mut out, &mut due, 0, 98, false, true);
        let read = Variables::read(&table[..], &out, 2, 100);
        assert_eq!((read.return_type, read.linkage_name), (None, StrId::new(7)));
        let all: Vec<_> =
            read.map(|v| (v.name.get(), v.type_id.is_some(), v.line, v.parameter, v.nested)).collect();
        assert_eq!(all, [(4, false, 100, true, false), (9, true, 98, false, true)]);
    }
}
