//! What C's `sscanf` takes, as far as libbpf uses it.

/// What is left to read.
pub(super) struct Scan<'a>(pub(super) &'a [u8]);

impl<'a> Scan<'a> {
    /// `%[…]`: the longest run of such bytes, at least one.
    pub(super) fn of(&mut self, is: impl Fn(u8) -> bool) -> Option<&'a [u8]> {
        let length = self.0.iter().position(|&c| !is(c)).unwrap_or(self.0.len());
        let (run, rest) = self.0.split_at(length);
        self.0 = rest;
        (!run.is_empty()).then_some(run)
    }

    /// A byte that has to stand there.
    pub(super) fn skip(&mut self, byte: u8) -> bool {
        let is_there = self.0.first() == Some(&byte);
        if is_there {
            self.0 = &self.0[1..];
        }
        is_there
    }

    /// `%li`: white space, a sign, and a decimal, octal (`0…`) or hexadecimal (`0x…`) number. What overflows is the
    /// largest one.
    pub(super) fn number(&mut self) -> Option<i64> {
        let start = self.0.iter().position(|c| !c.is_ascii_whitespace())?;
        self.0 = &self.0[start..];
        let is_negative = self.skip(b'-');
        if !is_negative {
            self.skip(b'+');
        }
        let radix = match self.0 {
            [b'0', b'x' | b'X', digit, ..] if digit.is_ascii_hexdigit() => {
                self.0 = &self.0[2..];
                16
            }
            [b'0', ..] => 8,
            _ => 10,
        };
        let digits = self.of(|c| char::from(c).is_digit(radix))?;
        let digits = digits.iter().filter_map(|&c| char::from(c).to_digit(radix));
        let value =
            digits.fold(0i64, |value, digit| value.saturating_mul(radix.into()).saturating_add(digit.into()));
        Some(if is_negative { -value } else { value })
    }
}
