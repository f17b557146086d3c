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
//! If the frame base is a register, `DW_OP_fbreg` becomes that register's `DW_OP_breg`; if it is anything else, the
//! expression is verbatim. In verbatim bytes, offsets into `.debug_info` have no meaning, and addresses are the
//! object's base plus a `Pc`. Operands of fixed size are little-endian for all objects; only the bytes of
//! `DW_OP_implicit_value` are as in its memory.
use crate::bits::{BitWriter, Bits};
use crate::codes::{Context, EXPRESSION, OPERAND, REFERENCE, REGISTER, VERBATIM_LENGTH, verbatim};

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
    kind: u32,
    register: u8,
    /// If verbatim, the position of the number of bytes in the details.
    number: i64,
}

impl Coded {
    const fn of(kind: u32) -> Self {
        Self { kind, register: 0, number: 0 }
    }
    /// The context of the kind of the next expression.
    #[inline]
    fn group(self) -> u32 {
        match self.kind {
            REGISTERS..ENTRY_VALUES => 0,
            LITERALS..BASED | NUMBER => 1,
            ENTRY_VALUES..LITERALS => 2,
            BASED | SUM => 3,
            FRAME | FRAME_SUM => 4,
            _ => 5,
        }
    }
}

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

/// What was written of a placement's expressions.
#[derive(Debug)]
pub(crate) struct Written {
    history: History,
    /// Verbatim expressions: their first bytes, the position of their number, and their range of `operations`.
    verbatim: Vec<([u8; 4], usize, std::ops::Range<usize>)>,
    operations: Vec<u8>,
}

impl Default for Written {
    fn default() -> Self {
        Self { history: History::NEW, verbatim: vec![], operations: vec![] }
    }
}

impl Written {
    pub fn clear(&mut self) {
        self.history = History::NEW;
        self.verbatim.clear();
        self.operations.clear();
    }
    /// The position of an equal verbatim expression among the last ones.
    fn find(&self, first: [u8; 4], operations: &[u8]) -> Option<usize> {
        let same = |(known, _, range): &&([u8; 4], _, std::ops::Range<usize>)| {
            *known == first && self.operations[range.clone()] == *operations
        };
        self.verbatim.iter().rev().take(COMPARED).find(same).map(|(_, at, _)| *at)
    }
}

/// Number of recent verbatim expressions that a new one is compared with.
const COMPARED: usize = 16;

/// Appends an expression, given as DWARF operations. `out` starts with the placement's details.
#[inline]
pub(crate) fn put(
    out: &mut BitWriter,
    operations: &[u8],
    base: FrameBase,
    place: Place,
    written: &mut Written,
) {
    let [previous, before] = written.history.0;
    let context = EXPRESSION.at(previous.group() * 3 + place as u32);
    let Some(coded) = coded(operations, base) else {
        return put_verbatim(out, operations, context, written);
    };
    if coded == previous {
        out.symbol(context, PREVIOUS);
    } else if coded == before {
        out.symbol(context, BEFORE);
    } else {
        out.symbol(context, coded.kind);
        if let BASED | SUM = coded.kind {
            out.symbol(REGISTER.at(coded.kind - BASED), coded.register.into());
        }
        if let Some(operand) = operand(coded.kind) {
            out.signed(operand, coded.number);
        }
    }
    written.history.add(coded);
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

/// The parts of an expression; `None` if it must be verbatim.
#[inline]
fn coded(operations: &[u8], base: FrameBase) -> Option<Coded> {
    if let &[register @ 0x50..=0x6f] = operations {
        return Some(Coded::of(REGISTERS + u32::from(register) - 0x50));
    }
    let Some((&op, rest)) = operations.split_first() else { return Some(Coded::of(EMPTY)) };
    let (rest, is_value) = match rest {
        [rest @ .., STACK_VALUE] => (rest, true),
        _ => (rest, false),
    };
    let value = u32::from(is_value);
    Some(match (op, rest) {
        (0x30..=0x4f, []) if is_value => Coded::of(LITERALS + u32::from(op) - 0x30),
        (0xa3 | 0xf3, &[1, register @ 0x50..=0x6f]) if is_value => {
            Coded::of(ENTRY_VALUES + u32::from(register) - 0x50)
        }
        (0x70..=0x8f, _) if let Some(number) = whole_sleb(rest) => {
            Coded { kind: BASED + value, register: op - 0x70, number }
        }
        (0x91, _)
            if base != FrameBase::Other
                && let Some(number) = whole_sleb(rest) =>
        {
            match base {
                FrameBase::Register(register) => {
                    Coded { kind: BASED + value, register: register & 0x1f, number }
                }
                _ => Coded { kind: FRAME + value, register: 0, number },
            }
        }
        (0x03, address) if let Ok(address) = address.try_into() => {
            Coded { kind: MEMORY + value, register: 0, number: i64::from_le_bytes(address) }
        }
        _ if is_value => Coded { kind: NUMBER, register: 0, number: constant(op, rest)? },
        _ => return None,
    })
}

fn put_verbatim(out: &mut BitWriter, operations: &[u8], context: Context, written: &mut Written) {
    let mut first = [0; 4];
    let some = operations.len().min(first.len());
    first[..some].copy_from_slice(&operations[..some]);
    let known = written.find(first, operations);
    let of = |at: usize| Coded { kind: OPERATIONS, register: 0, number: at as i64 };
    let [previous, before] = written.history.0;
    // Shorter ones take no more space than a reference.
    let at = match known {
        Some(at) if of(at) == previous => {
            out.symbol(context, PREVIOUS);
            at
        }
        Some(at) if of(at) == before => {
            out.symbol(context, BEFORE);
            at
        }
        Some(at) if operations.len() > 3 => {
            out.symbol(context, EARLIER);
            out.number(REFERENCE, (out.position() - at) as u64);
            at
        }
        _ => {
            out.symbol(context, OPERATIONS);
            let at = out.position();
            out.number(VERBATIM_LENGTH, operations.len() as u64);
            let mut before = None;
            for byte in operations {
                out.symbol(verbatim(before), (*byte).into());
                before = Some(*byte);
            }
            let start = written.operations.len();
            written.operations.extend_from_slice(operations);
            written.verbatim.push((first, at, start..written.operations.len()));
            at
        }
    };
    written.history.add(of(at));
}

/// Reads the expressions of details.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    pub bits: Bits<'a>,
    history: History,
}

impl<'a> Reader<'a> {
    #[inline]
    pub fn new(bits: Bits<'a>) -> Self {
        Self { bits, history: History::NEW }
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
        match kind {
            REGISTERS..ENTRY_VALUES => Expr::Register(kind as u8),
            ENTRY_VALUES..LITERALS => Expr::EntryValue((kind - ENTRY_VALUES) as u8),
            LITERALS..BASED => Expr::Literal((kind - LITERALS) as u8),
            BASED => Expr::BasedOn(register, number),
            SUM => Expr::Sum(register, number),
            FRAME => Expr::Frame(number),
            FRAME_SUM => Expr::FrameSum(number),
            NUMBER => Expr::Constant(number),
            MEMORY => Expr::Memory(number as u64),
            ADDRESS => Expr::Address(number as u64),
            OPERATIONS => Expr::Verbatim(Operations { bits: self.bits.to(number as usize) }),
            _ => Expr::Verbatim(Operations { bits: Bits::new(&[]) }),
        }
    }
    #[inline]
    fn coded(&mut self, place: Place) -> Coded {
        let Self { bits, history: History([previous, before]) } = self;
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
    fn longer(&mut self, kind: u32) -> Coded {
        let bits = &mut self.bits;
        let mut coded = Coded::of(kind);
        match kind {
            OPERATIONS => {
                coded.number = bits.position() as i64;
                let mut left = bits.number32(VERBATIM_LENGTH);
                let mut before = None;
                while left > 0 && !bits.ended() {
                    left -= 1;
                    before = Some(bits.symbol(verbatim(before)) as u8);
                }
            }
            EARLIER => {
                let here = bits.position() as u64;
                match here.checked_sub(bits.number(REFERENCE)) {
                    Some(at) => coded = Coded { kind: OPERATIONS, register: 0, number: at as i64 },
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

/// The value of `DW_OP_const* N`. One of eight bytes may be an address and stays verbatim.
fn constant(op: u8, operand: &[u8]) -> Option<i64> {
    Some(match (op, operand) {
        (0x08, [v]) => i64::from(*v),
        (0x09, [v]) => i64::from(*v as i8),
        (0x0a, v) => i64::from(u16::from_le_bytes(v.try_into().ok()?)),
        (0x0b, v) => i64::from(i16::from_le_bytes(v.try_into().ok()?)),
        (0x0c, v) => i64::from(u32::from_le_bytes(v.try_into().ok()?)),
        (0x0d, v) => i64::from(i32::from_le_bytes(v.try_into().ok()?)),
        (0x11, v) => whole_sleb(v)?,
        _ => return None,
    })
}

/// The value of these bytes, if they are exactly one signed LEB128 number in its shortest form.
fn whole_sleb(bytes: &[u8]) -> Option<i64> {
    if bytes.is_empty() || bytes.len() > 9 {
        return None;
    }
    let mut value = 0;
    for (i, &byte) in bytes.iter().enumerate() {
        let last = i + 1 == bytes.len();
        if (byte < 0x80) != last {
            return None;
        }
        value |= i64::from(byte & 0x7f) << (7 * i);
        if last && byte & 0x40 != 0 {
            value |= -1 << (7 * (i + 1)).min(63);
        }
    }
    match bytes {
        [.., before, 0x00] if before & 0x40 == 0 => None,
        [.., before, 0x7f] if before & 0x40 != 0 => None,
        _ => Some(value),
    }
}

/// Appends a number as signed LEB128.
fn put_sleb(out: &mut Vec<u8>, mut value: i64) {
    while !(-0x40..0x40).contains(&value) {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8 & 0x7f);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// These expressions as the only ones of their details: bits and bytes of them.
    fn written(all: &[&[u8]], base: FrameBase) -> (usize, Vec<u8>) {
        let (mut out, mut written) = (BitWriter::default(), Written::default());
        for operations in all {
            put(&mut out, operations, base, Place::Only, &mut written);
        }
        (out.position(), out.finish())
    }

    fn read(bytes: &[u8], count: usize) -> Vec<Expr<'_>> {
        let mut reader = Reader::new(Bits::new(bytes));
        (0..count).map(|_| reader.read(Place::Only)).collect()
    }

    fn there_and_back(operations: &[u8], most: usize, expected: Expr<'_>) {
        let (bits, out) = written(&[operations], FrameBase::Cfa);
        assert!(bits <= most, "{operations:x?}: {bits} bits");
        assert_eq!(read(&out, 1), [expected]);
    }

    #[test]
    fn frequent_expressions_are_short() {
        there_and_back(&[0x55], 8, Expr::Register(5));
        there_and_back(&[0x31, 0x9f], 8, Expr::Literal(1));
        there_and_back(&[0xa3, 1, 0x54, 0x9f], 12, Expr::EntryValue(4));
        there_and_back(&[0x77, 0x08], 20, Expr::BasedOn(7, 8));
        there_and_back(&[0x7c, 0xc0, 0x7a], 24, Expr::BasedOn(12, -704));
        there_and_back(&[0x91, 0xb8, 0x7f], 18, Expr::Frame(-72));
        there_and_back(&[0x09, 0xde, 0x9f], 18, Expr::Constant(-34));
        there_and_back(&[0x0c, 0xff, 0xff, 0xff, 0xff, 0x9f], 64, Expr::Constant(0xffff_ffff));
        // The value r12-704 is not the memory at that address: the last operation matters.
        there_and_back(&[0x7c, 0xc0, 0x7a, 0x9f], 24, Expr::Sum(12, -704));
        there_and_back(&[0x91, 0x40, 0x9f], 20, Expr::FrameSum(-64));
        let address = [0x03, 0xc0, 0x11, 0x2a, 0x82, 0xff, 0xff, 0xff, 0xff];
        there_and_back(&address, 64, Expr::Memory(0xffff_ffff_822a_11c0));
        there_and_back(&[&address[..], &[0x9f]].concat(), 64, Expr::Address(0xffff_ffff_822a_11c0));
    }

    #[test]
    fn others_are_verbatim() {
        // A number in more bytes than needed is.
        let long = vec![0x96; 100];
        for operations in [&[0x77, 0x88, 0x00], &[][..], &long] {
            let (_, out) = written(&[operations], FrameBase::Cfa);
            let [expr @ Expr::Verbatim(_)] = read(&out, 1)[..] else { panic!("{operations:x?}") };
            assert_eq!(expr.operations(), operations);
            assert_eq!(expr.is_empty(), operations.is_empty());
        }
    }

    #[test]
    fn the_frame_base_decides_what_an_offset_from_it_is() {
        let based = |base, operations: &[u8]| {
            let (_, out) = written(&[operations], base);
            (read(&out, 1)[0].operations(), matches!(read(&out, 1)[0], Expr::Verbatim(_)))
        };
        assert_eq!(based(FrameBase::Register(7), &[0x91, 0x40]), (vec![0x77, 0x40], false));
        assert_eq!(based(FrameBase::Register(6), &[0x91, 0x40, 0x9f]), (vec![0x76, 0x40, 0x9f], false));
        assert_eq!(based(FrameBase::Other, &[0x91, 0x40]), (vec![0x91, 0x40], true));
    }

    #[test]
    fn an_expression_that_comes_again_is_a_reference() {
        let verbatim = [0x70, 0x00, 0x06, 0x23, 0x08];
        let all =
            [&verbatim[..], &[0x77, 0x08], &[0x55], &[0x77, 0x08], &[0x77, 0x08], &[0x31, 0x9f], &verbatim];
        let (once, _) = written(&all[..3], FrameBase::Cfa);
        let (bits, out) = written(&all, FrameBase::Cfa);
        assert!(bits < once + 40, "{bits} bits, {once} of them for those that differ");
        assert_eq!(read(&out, all.len()).iter().map(|e| e.operations()).collect::<Vec<_>>(), all);
    }

    proptest! {
        #[test]
        fn all_operations_are_given_back(operations in prop::collection::vec(any::<u8>(), 0..12)) {
            exactly(&operations)?;
        }

        #[test]
        fn operations_with_a_number_are_given_back(op in prop::sample::select(&[0x70u8, 0x8f, 0x91, 0x11][..]), number: i64, is_value: bool) {
            let mut operations = vec![op];
            put_sleb(&mut operations, number);
            if is_value {
                operations.push(STACK_VALUE);
            }
            exactly(&operations)?;
        }

        #[test]
        fn damaged_expressions_are_read(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            let mut reader = Reader::new(Bits::new(&bytes));
            while !reader.bits.ended() {
                let before = reader.bits.position();
                prop_assert!(reader.read(Place::First).operations().len() <= 8 * bytes.len() + 10);
                prop_assert!(reader.bits.position() > before);
            }
        }
    }

    /// Checks that these operations are read as they were written; constants at least by value.
    fn exactly(operations: &[u8]) -> Result<(), TestCaseError> {
        let (_, out) = written(&[operations], FrameBase::Cfa);
        match read(&out, 1)[0] {
            Expr::Constant(value) => {
                let [op, operand @ .., STACK_VALUE] = operations else { panic!("{operations:x?}") };
                prop_assert_eq!(constant(*op, operand), Some(value));
            }
            // The opcode of older compilers.
            Expr::EntryValue(_) if operations[0] == 0xf3 => {}
            expr => prop_assert_eq!(&*expr.operations(), operations),
        }
        Ok(())
    }
}
