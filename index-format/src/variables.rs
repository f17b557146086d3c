//! The return type of a function, and its variables: parameters and locals of all its blocks, in the order of the
//! debug information.
//!
//! Bits ([`bits`](crate::bits)): the return type's `TypeId` plus one, or 0 for void; the linkage name's `StrId`; then for
//! each variable
//! 1. a symbol (context `VARIABLE_FLAGS`): 1 for a parameter, plus 2 for a variable in a lexical block; the context is by
//!    the symbol of the previous one, 4 for the first
//! 2. its rank in `variables`, by its symbol
//! 3. its line less that of the previous variable (the first: less the function's), signed; the context is five times its
//!    symbol, plus that of the previous one
//!
//! The head takes about 4 bytes, a variable two to three.
use crate::bits::{BitWriter, Bits};
use crate::codes;
use crate::id::{StrId, TypeId};
use crate::record::VariableRecord;
use crate::store::Kernel;
use crate::table::Table;

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

/// In place of the previous variable's symbol.
const NO_VARIABLE: u32 = 4;

/// Writes the return type of a function, and its variables.
pub struct Writer {
    bits: BitWriter,
    symbol: u32,
    line: u32,
}

impl Writer {
    /// Appends to these bytes; for a function with this line.
    pub fn new(out: Vec<u8>, return_type: Option<TypeId>, linkage_name: StrId, line: u32) -> Self {
        let mut bits = BitWriter::new(out);
        bits.number(codes::RETURN_TYPE, return_type.map_or(0, |t| u64::from(t.get()) + 1));
        bits.number(codes::LINKAGE_NAME, linkage_name.get().into());
        Self { bits, symbol: NO_VARIABLE, line }
    }
    /// Appends a variable by its rank.
    pub fn put(&mut self, rank: u32, line: u32, parameter: bool, nested: bool) {
        let symbol = u32::from(nested) << 1 | u32::from(parameter);
        self.bits.symbol(codes::VARIABLE_FLAGS.at(self.symbol), symbol);
        self.bits.number(codes::VARIABLE_RANK.at(symbol), rank.into());
        let distance = i64::from(line) - i64::from(self.line);
        self.bits.signed(codes::VARIABLE_LINE.at(symbol * 5 + self.symbol), distance);
        (self.symbol, self.line) = (symbol, line);
    }
    /// All bytes.
    pub fn finish(self) -> Vec<u8> {
        self.bits.finish()
    }
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
    bits: Bits<'a>,
    symbol: u32,
    left: u16,
    line: u32,
    /// A kernel of a store, and the details: for names that the preprocessor numbered.
    shared: Option<(&'a Kernel<'a>, u32)>,
}

impl<'a, T: Ranked> Variables<'a, T> {
    /// Reads `count` variables of a function with this line, from the bytes at its offset.
    pub fn read(table: T, bytes: &'a [u8], count: u16, line: u32) -> Self {
        let mut bits = Bits::new(bytes);
        let return_type = bits.number32(codes::RETURN_TYPE).checked_sub(1).map(TypeId::new);
        let linkage_name = StrId::new(bits.number32(codes::LINKAGE_NAME));
        Self { return_type, linkage_name, table, bits, symbol: NO_VARIABLE, left: count, line, shared: None }
    }
    /// Gives names the numbers that they have in a kernel of a store.
    pub(crate) fn numbered_by(self, kernel: &'a Kernel<'a>, details: u32) -> Self {
        Self { shared: Some((kernel, details)), ..self }
    }
}

impl<T: Ranked> Variables<'_, T> {
    /// The next variable, with its rank.
    #[inline]
    pub fn next_ranked(&mut self) -> Option<(u32, Variable)> {
        let (symbol, rank) = self.pass()?;
        Some((rank, self.variable(symbol, rank)))
    }
    /// The parameters that are left. Cost: of others, that of passing over them.
    pub fn parameters(mut self) -> impl Iterator<Item = Variable> {
        std::iter::from_fn(move || {
            loop {
                let (symbol, rank) = self.pass()?;
                if symbol & 1 != 0 {
                    return Some(self.variable(symbol, rank));
                }
            }
        })
    }
    /// Passes over the next variable. Returns its symbol, and its rank.
    #[inline]
    fn pass(&mut self) -> Option<(u32, u32)> {
        if self.left == 0 || self.bits.ended() {
            return None;
        }
        self.left -= 1;
        let symbol = self.bits.symbol(codes::VARIABLE_FLAGS.at(self.symbol));
        let rank = self.bits.number32(codes::VARIABLE_RANK.at(symbol));
        let distance = self.bits.signed(codes::VARIABLE_LINE.at(symbol * 5 + self.symbol));
        self.line = self.line.wrapping_add(distance as u32);
        self.symbol = symbol;
        Some((symbol, rank))
    }
    /// The variable that was passed over last.
    #[inline]
    fn variable(&self, symbol: u32, rank: u32) -> Variable {
        let record = self.table.ranked(rank as usize);
        Variable {
            name: match self.shared {
                Some((kernel, details)) if symbol & 1 == 0 => {
                    record.map_or(StrId::new(0), |r| kernel.numbered(r.name, details))
                }
                _ => record.map_or(StrId::new(0), |r| r.name),
            },
            type_id: record.and_then(|r| r.type_id.some()),
            line: self.line,
            parameter: symbol & 1 != 0,
            nested: symbol & 2 != 0,
        }
    }
}

impl<T: Ranked> Iterator for Variables<'_, T> {
    type Item = Variable;

    #[inline]
    fn next(&mut self) -> Option<Variable> {
        self.next_ranked().map(|(_, variable)| variable)
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
        let mut writer = Writer::new(vec![], None, StrId::new(7), 100);
        writer.put(1, 100, true, false);
        writer.put(0, 98, false, true);
        let out = writer.finish();
        let read = Variables::read(&table[..], &out, 2, 100);
        assert_eq!((read.return_type, read.linkage_name), (None, StrId::new(7)));
        let all: Vec<_> =
            read.map(|v| (v.name.get(), v.type_id.is_some(), v.line, v.parameter, v.nested)).collect();
        assert_eq!(all, [(4, false, 100, true, false), (9, true, 98, false, true)]);
    }
}
