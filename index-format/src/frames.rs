//! Frame rules: the canonical frame address (CFA) at each address, about one byte per change.
//!
//! The CFA is the caller's stack pointer before the call. What a function keeps on its stack is at a fixed distance
//! from it (`c0` and `c2` of [`expr`](crate::expr)). A rule gives the CFA at an address: a register plus an offset,
//! or unknown. `frames` has the ranges of code with rules in the debug information
//! ([`FrameRecord`](crate::record::FrameRecord)), `frame_rows` the changes within each range; ranges may share equal
//! rows.
//!
//! At the start of a range the rule is register 7 plus 8, as at the entry of every x86-64 function: `8(%rsp)`. Then a
//! byte per change:
//!
//! | bits | meaning |
//! | --- | --- |
//! | 7–2 | the advance of the address; 63: a number to add follows |
//! | 1–0 | 0: back to the rule before the last fall; 1: offset + 8; 2: offset - 8; 3: a number `n` follows |
//!
//! A rule falls if its offset is less than that of the previous rule; consecutive falls count as one. Before the
//! first fall the rule to go back to is unknown. An epilogue in the middle of a function therefore costs a byte for
//! each register that it pops, and one to return to the rule of the code that follows. The bits 1–0 of `n`:
//!
//! | bits | meaning |
//! | --- | --- |
//! | 0 | the offset grows by 8 times the signed number `n >> 2` |
//! | 1 | the offset grows by the signed number `n >> 2` |
//! | 2 | register `n >> 2`; its offset follows, a signed number |
//! | 3 | unknown, for instance computed by an expression |
//!
//! A byte 0 ends the rows. The last rule applies to the end of the range.
use crate::varint::{self, Reader, unzigzag, zigzag};

/// The canonical frame address is the value of a register plus an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The register's DWARF number.
    pub register: u8,
    /// In bytes.
    pub offset: i64,
}

/// The rule from an address on; `None` is unknown.
pub type Row = (u32, Option<Rule>);

/// The rule at the start of a range.
pub const FIRST: Rule = Rule { register: 7, offset: 8 };

const BACK: u8 = 0;
const PUSH: u8 = 1;
const POP: u8 = 2;
const OTHER: u8 = 3;

const ADVANCE_FOLLOWS: u32 = 63;

/// The state shared by reader and writer.
#[derive(Clone, Copy, Debug)]
struct State {
    pc: u32,
    rule: Option<Rule>,
    before_fall: Option<Rule>,
    falls: bool,
}

impl State {
    fn new(start: u32) -> Self {
        Self { pc: start, rule: Some(FIRST), before_fall: None, falls: false }
    }
    fn go(&mut self, pc: u32, rule: Option<Rule>) {
        let falls = matches!((self.rule, rule), (Some(old), Some(new)) if new.offset < old.offset);
        if falls && !self.falls {
            self.before_fall = self.rule;
        }
        *self = Self { pc, rule, falls, ..*self };
    }
}

/// Appends the rows of a range that starts at `start`. Their addresses must not decrease.
pub fn put(out: &mut Vec<u8>, start: u32, rows: &[Row]) {
    let mut state = State::new(start);
    for &(pc, rule) in rows {
        if rule == state.rule {
            continue;
        }
        let advance = pc.wrapping_sub(state.pc);
        let grows = match (state.rule, rule) {
            (Some(old), Some(new)) if old.register == new.register => new.offset.checked_sub(old.offset),
            _ => None,
        };
        let kind = match grows {
            // A byte 0 would end the rows.
            _ if rule == state.before_fall && advance > 0 => BACK,
            Some(8) => PUSH,
            Some(-8) => POP,
            _ => OTHER,
        };
        out.push((advance.min(ADVANCE_FOLLOWS) as u8) << 2 | kind);
        if advance >= ADVANCE_FOLLOWS {
            varint::put(out, (advance - ADVANCE_FOLLOWS).into());
        }
        if kind == OTHER {
            const LARGEST: u64 = u64::MAX >> 2;
            match (grows, rule) {
                (Some(bytes), _) if bytes % 8 == 0 => varint::put(out, zigzag(bytes / 8) << 2),
                (Some(bytes), _) if zigzag(bytes) <= LARGEST => varint::put(out, zigzag(bytes) << 2 | 1),
                (_, Some(Rule { register, offset })) => {
                    varint::put(out, u64::from(register) << 2 | 2);
                    varint::put_signed(out, offset);
                }
                (_, None) => out.push(3),
            }
        }
        state.go(pc, rule);
    }
    out.push(0);
}

/// The rows of a range, the rule at its start first.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    reader: Reader<'a>,
    state: State,
    is_first: bool,
}

impl<'a> Rows<'a> {
    /// Starts at the first row of a range that starts at `start`.
    pub fn read(bytes: &'a [u8], start: u32) -> Self {
        Self { reader: Reader::new(bytes), state: State::new(start), is_first: true }
    }
}

impl Iterator for Rows<'_> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        let State { pc, rule, before_fall, .. } = self.state;
        // A change at the start itself leaves no address to the first rule.
        let is_replaced = || self.reader.rest().first().is_some_and(|head| (1..4).contains(head));
        if std::mem::take(&mut self.is_first) && !is_replaced() {
            return Some((pc, rule));
        }
        let head = self.reader.byte();
        if head == 0 {
            return None;
        }
        let mut advance = u32::from(head >> 2);
        if advance == ADVANCE_FOLLOWS {
            advance = advance.wrapping_add(self.reader.number32());
        }
        let grown = |by: i64| rule.map(|r| Rule { offset: r.offset.wrapping_add(by), ..r });
        let rule = match head & 3 {
            BACK => before_fall,
            PUSH => grown(8),
            POP => grown(-8),
            _ => {
                let number = self.reader.number();
                match number & 3 {
                    0 => grown(unzigzag(number >> 2).wrapping_mul(8)),
                    1 => grown(unzigzag(number >> 2)),
                    2 => Some(Rule { register: (number >> 2) as u8, offset: self.reader.signed() }),
                    _ => None,
                }
            }
        };
        self.state.go(pc.wrapping_add(advance), rule);
        Some((self.state.pc, rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SP: u8 = 7;
    const BP: u8 = 6;

    fn at(register: u8, offset: i64) -> Option<Rule> {
        Some(Rule { register, offset })
    }

    fn there_and_back(rows: &[Row], length: usize) {
        let mut out = vec![];
        put(&mut out, 100, rows);
        assert_eq!(out.len(), length, "{out:x?}");
        out.extend([0xff; 8]);
        let is_replaced = rows.first().is_some_and(|row| row.0 == 100);
        let first = (!is_replaced).then_some((100, Some(FIRST)));
        let whole: Vec<Row> = first.iter().chain(rows).copied().collect();
        assert_eq!(Rows::read(&out, 100).collect::<Vec<_>>(), whole);
    }

    #[test]
    fn what_compilers_emit_is_one_byte_each() {
        there_and_back(&[], 1);
        let (pushes, pops) = ([(102, at(SP, 16)), (103, at(SP, 24))], [(130, at(SP, 16)), (131, at(SP, 8))]);
        there_and_back(&[pushes, pops].concat(), 5);
        there_and_back(&[&pushes[..], &pops, &[(132, at(SP, 24))]].concat(), 6);
        // `sub $0x58,%rsp` and its inverse take an extra number.
        there_and_back(&[(104, at(SP, 96)), (120, at(SP, 8)), (121, at(SP, 96))], 6);
        // `push %rbp; mov %rsp,%rbp` … `leave; ret`, and further code.
        let frame = [(101, at(SP, 16)), (104, at(BP, 16)), (162, at(SP, 8)), (163, at(BP, 16))];
        there_and_back(&frame, 9);
        // Before the first fall, the rule to go back to is unknown too.
        there_and_back(&[(500, None), (501, at(SP, 8))], 7);
    }

    /// As of every function of another machine.
    #[test]
    fn a_rule_at_the_start_is_the_first() {
        there_and_back(&[(100, at(13, 0)), (104, at(13, 32))], 6);
        there_and_back(&[(100, None)], 3);
        there_and_back(&[(100, at(SP, 16)), (100, at(SP, 24))], 3);
    }

    /// The function in the specification's example.
    #[test]
    fn the_worked_example_is_what_is_written() {
        let mut out = vec![];
        let words = [(7, 2), (11, 3), (17, 4), (24, 8), (106, 4), (107, 3), (108, 2), (110, 1)];
        let rest = [(115, 8), (321, 9), (337, 8)];
        let rows: Vec<Row> = words.iter().chain(&rest).map(|&(pc, words)| (pc, at(SP, words * 8))).collect();
        put(&mut out, 0, &rows);
        let expected = "1d 11 19 1f 20 ff 13 1c 06 06 0a 14 fd 8f 01 40 00";
        assert_eq!(out.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" "), expected);
    }

    fn rule() -> impl Strategy<Value = Option<Rule>> {
        let near = (prop::sample::select(&[BP, SP][..]), -20i64..20)
            .prop_map(|(register, words)| Some(Rule { register, offset: words * 8 }));
        let any = (any::<u8>(), any::<i64>()).prop_map(|(register, offset)| Some(Rule { register, offset }));
        prop_oneof![6 => near, 1 => any, 1 => Just(None)]
    }

    proptest! {
        #[test]
        fn what_is_put_is_read(start: u32, rows in prop::collection::vec((0u32..200, rule()), 0..30)) {
            let (mut pc, mut last) = (start, Some(FIRST));
            let mut expected = vec![(start, last)];
            for (advance, rule) in rows {
                pc = pc.wrapping_add(advance);
                if rule != last {
                    expected.push((pc, rule));
                    last = rule;
                }
            }
            let mut out = vec![];
            put(&mut out, start, &expected[1..]);
            if expected.get(1).is_some_and(|row| row.0 == start) {
                expected.remove(0);
            }
            prop_assert_eq!(Rows::read(&out, start).collect::<Vec<_>>(), expected);
        }

        #[test]
        fn damaged_rows_end(start: u32, bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(Rows::read(&bytes, start).count() <= bytes.len() + 1);
        }
    }
}
