//! The variables of a function, parameters and locals of all its blocks, in the order of its debug information.
//!
//! For each a number: bit 0 it is a parameter, bit 1 it stands in a lexical block, bit 2 it has no type; above that
//! the name's `StrId`. Then the `TypeId` where it has one, and the line less that of the variable before (the first:
//! less the function's; signed).
use crate::id::{StrId, TypeId};
use crate::varint::{self, Reader};

/// A variable as declared.
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
    /// Whether it stands in a lexical block, not in the function's outermost scope.
    pub nested: bool,
}

/// Appends a variable; `line` is that of the one before, or the function's.
pub fn put(out: &mut Vec<u8>, line: &mut u32, variable: &Variable) {
    let flags = u64::from(variable.parameter)
        | u64::from(variable.nested) << 1
        | u64::from(variable.type_id.is_none()) << 2;
    varint::put(out, u64::from(variable.name.get()) << 3 | flags);
    if let Some(type_id) = variable.type_id {
        varint::put(out, type_id.get().into());
    }
    varint::put_signed(out, i64::from(variable.line) - i64::from(*line));
    *line = variable.line;
}

/// The variables of a function of this line, from the bytes at its offset.
#[derive(Clone, Copy, Debug)]
pub struct Variables<'a> {
    reader: Reader<'a>,
    left: u16,
    line: u32,
}

impl<'a> Variables<'a> {
    /// Reads that many variables.
    pub fn read(bytes: &'a [u8], count: u16, line: u32) -> Self {
        Self { reader: Reader::new(bytes), left: count, line }
    }
}

impl Iterator for Variables<'_> {
    type Item = Variable;

    #[inline]
    fn next(&mut self) -> Option<Variable> {
        if self.left == 0 || self.reader.ended() {
            return None;
        }
        self.left -= 1;
        let head = self.reader.number();
        let type_id = (head & 4 == 0).then(|| TypeId::new(self.reader.number32()));
        self.line = self.line.wrapping_add(self.reader.signed() as u32);
        Some(Variable {
            name: StrId::new((head >> 3) as u32),
            type_id,
            line: self.line,
            parameter: head & 1 != 0,
            nested: head & 2 != 0,
        })
    }
}
