//! Location expressions: about six bits for the frequent ones, all others are verbatim DWARF.
//!
//! A symbol is the kind of the expression (context `EXPRESSION`), then:
//!
//! | kind | meaning |
//! | --- | --- |
//! | 0–31 | `DW_OP_reg0`–`31` |
//! | 32–63 | `DW_OP_entry_value (DW_OP_reg0–31)`, `DW_OP_stack_value` |
//! | 64–95 | `DW_OP_lit0`–`31`, `DW_OP_stack_value` |
//! | 96 | `DW_OP_breg0`–`31`: the register follows, and a signed number |
//! | 97 | as 96, then `DW_OP_stack_value` |
//! | 98 | `DW_OP_fbreg`, if the frame base is the CFA ([`frames`](crate::frames)): a signed number follows |
//! | 99 | as 98, then `DW_OP_stack_value` |
//! | 100 | a constant and `DW_OP_stack_value`: a signed number follows |
//! | 101 | `DW_OP_addr` of eight bytes: a signed number follows |
//! | 102 | as 101, then `DW_OP_stack_value` |
//! | 103 | verbatim: the number of bytes follows, and the bytes |
//! | 104 | without operations |
//! | 105 | an earlier verbatim expression of the details: a number follows, the bits from its number of bytes to here |
//! | 106 | the previous expression of the details |
//! | 107 | the one before |
//!
//! Before the first one, the previous two are without operations. The contexts of the kind are by the previous
//! expression: a register; a literal or constant; an entry value; a based one, or sum; in the frame; any other. For each,
//! there is one if the expression is in a list but not the first, one if it is the only one of its variable, and one
//! if it is the first of several. The code of a verbatim byte is by the group of the byte before it (`codes.rs`): 4 bits
//! on average, so that 14 bytes take 7.
//!
//! If the frame base is a register, `DW_OP_fbreg` becomes that register's `DW_OP_breg`; if it is the CFA, it becomes `DW_OP_call_frame_cfa`,
//! `DW_OP_consts` and `DW_OP_plus` in verbatim bytes; if it is anything else, the expression is verbatim as it was. In verbatim bytes
//! conversions to integers are masks or shifts, offsets into `.debug_info` have no meaning, and addresses are the
//! object's base plus a `Pc`. Operands of fixed size are little-endian for all objects; only the bytes of
//! `DW_OP_implicit_value` are as in its memory.
mod write;

use crate::bits::Bits;
use crate::codes::{Context, EXPRESSION, OPERAND, REFERENCE, REGISTER, VERBATIM_LENGTH, verbatim};
use crate::store::moved::Moved;
pub use write::put_sleb;
pub(crate) use write::{Written, put, put_read};

/// A location expression (DWARF 5, section 2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expr<'a> {
    /// In this register.
    Register(u8),
    /// This value, not in memory.
    Literal(u8),
    /// This value, not in memory.
    Constant(i64),
    /// In memory, at a register plus an offset.
    BasedOn(u8, i64),
    /// The value of this register at the function's entry.
    EntryValue(u8),
    /// A register plus an offset, not in memory.
    Sum(u8, i64),
    /// In memory, at the canonical frame address plus an offset.
    Frame(i64),
    /// The canonical frame address plus an offset, not in memory.
    FrameSum(i64),
    /// In memory at this address.
    Memory(u64),
    /// This address, not in memory.
    Address(u64),
    /// Operations in DWARF's encoding.
    Verbatim(Operations<'a>),
}

/// The operations of a verbatim expression, which are decoded when they are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Operations<'a> {
    /// At their number.
    bits: Bits<'a>,
}

impl<'a> Operations<'a> {
    /// The bytes one by one. Cost: about 4 bits each.
    pub fn bytes(self) -> impl Iterator<Item = u8> + use<'a> {
        let mut bits = self.bits;
        let mut left = bits.number32(VERBATIM_LENGTH);
        let mut previous = None;
        std::iter::from_fn(move || {
            if left == 0 || bits.ended() {
                return None;
            }
            left -= 1;
            previous = Some(bits.symbol(verbatim(previous)) as u8);
            previous
        })
    }
    /// The bytes together.
    pub fn to_vec(self) -> Vec<u8> {
        self.bytes().collect()
    }
}

impl PartialEq for Operations<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes().eq(other.bytes())
    }
}
impl Eq for Operations<'_> {}

/// The base of `DW_OP_fbreg`: the function's `DW_AT_frame_base`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrameBase {
    /// The canonical frame address (`DW_OP_call_frame_cfa`), as from GCC.
    #[default]
    Cfa,
    /// The value of this register (`DW_OP_reg0`–`31`), as from clang.
    Register(u8),
    /// Unknown, or changes within the function.
    Other,
}

const STACK_VALUE: u8 = 0x9f;

const REGISTERS: u32 = 0;
const ENTRY_VALUES: u32 = 32;
const LITERALS: u32 = 64;
const BASED: u32 = 96;
const SUM: u32 = 97;
const FRAME: u32 = 98;
const FRAME_SUM: u32 = 99;
const NUMBER: u32 = 100;
const MEMORY: u32 = 101;
const ADDRESS: u32 = 102;
const OPERATIONS: u32 = 103;
const EMPTY: u32 = 104;
const EARLIER: u32 = 105;
const PREVIOUS: u32 = 106;
const BEFORE: u32 = 107;

/// An expression, with the parts that its kind has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Coded {
    kind: u8,
    register: u8,
    /// If verbatim, the position of the number of bytes in the details.
    number: i64,
}

impl Coded {
    const fn of(kind: u32) -> Self {
        Self { kind: kind as u8, register: 0, number: 0 }
    }
    /// The context of the kind of the next expression.
    #[inline]
    fn group(self) -> u32 {
        GROUPS[usize::from(self.kind)].into()
    }
}

/// The group of each kind for the context of the next expression.
const GROUPS: [u8; 256] = {
    let (mut groups, mut kind) = ([0; 256], 0);
    while kind < groups.len() {
        groups[kind] = match kind as u32 {
            REGISTERS..ENTRY_VALUES => 0,
            LITERALS..BASED | NUMBER => 1,
            ENTRY_VALUES..LITERALS => 2,
            BASED | SUM => 3,
            FRAME | FRAME_SUM => 4,
            _ => 5,
        };
        kind += 1;
    }
    groups
};

/// The previous two expressions, the last one first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct History([Coded; 2]);

impl History {
    pub const NEW: Self = Self([Coded::of(EMPTY); 2]);

    #[inline]
    fn add(&mut self, coded: Coded) {
        self.0 = [coded, self.0[0]];
    }
}

/// Where an expression is among those of its variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In a list, but not the first.
    Later = 0,
    /// The only one.
    Only = 1,
    /// The first of several.
    First = 2,
}

impl Place {
    /// Of the first of so many.
    #[inline]
    pub fn of_first(count: usize) -> Self {
        if count == 1 { Self::Only } else { Self::First }
    }
}

/// The context of the number that a kind has.
#[inline]
fn operand(kind: u32) -> Option<Context> {
    match kind {
        BASED..=MEMORY => Some(OPERAND.at(kind - BASED)),
        ADDRESS => Some(OPERAND.at(MEMORY - BASED)),
        _ => None,
    }
}

/// Reads the expressions of details.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    pub bits: Bits<'a>,
    history: History,
    pub moved: Moved<'a>,
}

impl<'a> Reader<'a> {
    #[inline]
    pub fn new(bits: Bits<'a>, moved: Moved<'a>) -> Self {
        Self { bits, history: History::NEW, moved }
    }
    /// Passes over the next expression.
    #[inline]
    pub fn skip(&mut self, place: Place) {
        self.coded(place);
    }
    /// Reads the next expression.
    #[inline]
    pub fn read(&mut self, place: Place) -> Expr<'a> {
        let Coded { kind, register, number } = self.coded(place);
        match u32::from(kind) {
            REGISTERS..ENTRY_VALUES => Expr::Register(kind),
            ENTRY_VALUES..LITERALS => Expr::EntryValue(kind - ENTRY_VALUES as u8),
            LITERALS..BASED => Expr::Literal(kind - LITERALS as u8),
            BASED => Expr::BasedOn(register, number),
            SUM => Expr::Sum(register, number),
            FRAME => Expr::Frame(number),
            FRAME_SUM => Expr::FrameSum(number),
            NUMBER => Expr::Constant(number),
            MEMORY => Expr::Memory(self.moved.address(number as u64)),
            ADDRESS => Expr::Address(self.moved.address(number as u64)),
            OPERATIONS => Expr::Verbatim(Operations { bits: self.bits.to(number as usize) }),
            _ => Expr::Verbatim(Operations { bits: Bits::new(&[]) }),
        }
    }
    #[inline(always)]
    fn coded(&mut self, place: Place) -> Coded {
        let Self { bits, history: History([previous, before]), .. } = self;
        let kind = bits.symbol(EXPRESSION.at(previous.group() * 3 + place as u32));
        let coded = match kind {
            PREVIOUS => *previous,
            BEFORE => *before,
            ..BASED => Coded::of(kind),
            _ => self.longer(kind),
        };
        self.history.add(coded);
        coded
    }
    /// The rest of an expression that has more than a kind.
    #[inline(never)]
    fn longer(&mut self, kind: u32) -> Coded {
        let bits = &mut self.bits;
        let mut coded = Coded::of(kind);
        match kind {
            OPERATIONS => {
                coded.number = bits.position() as i64;
                let length = bits.number32(VERBATIM_LENGTH);
                bits.skip_symbols(length, verbatim(None), |byte| verbatim(Some(byte as u8)));
            }
            EARLIER => {
                let here = bits.position() as u64;
                match here.checked_sub(bits.number(REFERENCE)) {
                    Some(at) => coded = Coded { number: at as i64, ..Coded::of(OPERATIONS) },
                    None => coded = Coded::of(EMPTY),
                }
            }
            _ => {
                if let BASED | SUM = kind {
                    coded.register = bits.symbol(REGISTER.at(kind - BASED)) as u8;
                }
                if let Some(operand) = operand(kind) {
                    coded.number = bits.signed(operand);
                }
            }
        }
        coded
    }
}

/// Makes the offset of an implicit pointer (`DW_OP_implicit_pointer` and GNU's) 0: it has no meaning in an index.
pub fn forget_reference(operations: &mut [u8]) {
    if let [first, offset @ ..] = operations
        && is_implicit_pointer(*first)
    {
        offset.iter_mut().take(4).for_each(|byte| *byte = 0);
    }
}

/// Whether an operation is `DW_OP_implicit_pointer` or GNU's.
pub fn is_implicit_pointer(operation: u8) -> bool {
    matches!(operation, 0xa0 | 0xf2)
}

impl<'a> Expr<'a> {
    /// The operations in DWARF 5's encoding: byte for byte those of the debug information, except that a constant may
    /// have had another width, and an entry value the opcode used before DWARF 5.
    pub fn operations(self) -> Vec<u8> {
        let with_number = |op: u8, number: i64, is_value: bool| {
            let mut bytes = vec![op];
            put_sleb(&mut bytes, number);
            if is_value {
                bytes.push(STACK_VALUE);
            }
            bytes
        };
        let address = |address: u64| [&[0x03], &address.to_le_bytes()[..]].concat();
        match self {
            Self::Register(register) => vec![0x50 + register],
            Self::Literal(value) => vec![0x30 + value, STACK_VALUE],
            Self::Constant(value) => with_number(0x11, value, true),
            Self::BasedOn(register, offset) => with_number(0x70 + register, offset, false),
            Self::Sum(register, offset) => with_number(0x70 + register, offset, true),
            Self::EntryValue(register) => vec![0xa3, 1, 0x50 + register, STACK_VALUE],
            Self::Frame(offset) => with_number(0x91, offset, false),
            Self::FrameSum(offset) => with_number(0x91, offset, true),
            Self::Memory(at) => address(at),
            Self::Address(at) => [&address(at)[..], &[STACK_VALUE]].concat(),
            Self::Verbatim(operations) => operations.to_vec(),
        }
    }
    /// Whether it is empty: the variable is optimized out here.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Verbatim(operations) if operations.bytes().next().is_none())
    }
    /// Whether the variable is not yet initialized (`DW_OP_GNU_uninit`).
    pub fn is_uninitialized(&self) -> bool {
        matches!(self, Self::Verbatim(operations) if operations.bytes().last() == Some(0xf0))
    }
}

#[cfg(test)]
mod tests;
