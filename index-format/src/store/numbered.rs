//! Names that the preprocessor numbers: `__UNIQUE_ID___x512`, the variables of `min` and `max` (include/linux/compiler.h
//! of 6.1, `__UNIQUE_ID`).
//!
//! One `#include` more renumbers all that follow in a unit, a tenth of all functions. A store keeps the variables of a
//! function with the lowest number as 0, and for each kernel what is to be added. Parameters keep their names: so equal
//! rows of functions have equal parameters.
use super::kernel::Kernel;
use super::record::CounterRecord;
use crate::id::StrId;

/// What such names start with.
const START: &[u8] = b"__UNIQUE_ID_";
/// The longest name that is taken apart.
const LONGEST: usize = 120;

/// A name without its number, and the number.
pub fn split(name: &[u8]) -> Option<(&[u8], u32)> {
    if !name.starts_with(START) || name.len() > LONGEST {
        return None;
    }
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (start, number) = name.split_at(name.len() - digits);
    // A number that is written otherwise could not be told from its value.
    let is_plain = !number.is_empty() && (number == b"0" || number[0] != b'0');
    let value = std::str::from_utf8(number).ok().filter(|_| is_plain)?.parse().ok()?;
    Some((start, value))
}

/// A name with another number, which is written to the buffer.
pub fn join<'b>(start: &[u8], number: u32, buffer: &'b mut [u8; LONGEST + 10]) -> &'b [u8] {
    let mut digits = [0; 10];
    let (mut left, mut at) = (number, digits.len());
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    let length = start.len() + digits.len() - at;
    buffer[..start.len()].copy_from_slice(start);
    buffer[start.len()..length].copy_from_slice(&digits[at..]);
    &buffer[..length]
}

/// A buffer for [`join`].
pub fn buffer() -> [u8; LONGEST + 10] {
    [0; LONGEST + 10]
}

impl Kernel<'_> {
    /// The name of a variable of the function with these details, given the shared one.
    pub(crate) fn numbered(&self, name: StrId, details: u32) -> StrId {
        let text = self.text(name);
        let Some((start, number)) = split(text) else { return name };
        let counters = self.table::<CounterRecord>();
        let at = counters.partition_point(|counter| counter.details.get() < details);
        let counter = counters.get(at).filter(|counter| counter.details.get() == details);
        let base = counter.map_or(0, |counter| counter.base.get());
        let mut buffer = buffer();
        let own = join(start, number.wrapping_add(base), &mut buffer);
        self.find_string(own).map_or(name, StrId::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_off_and_put_back() {
        let (start, number) = split(b"__UNIQUE_ID___x512").unwrap();
        assert_eq!((start, number), (&b"__UNIQUE_ID___x"[..], 512));
        assert_eq!(join(start, 0, &mut buffer()), b"__UNIQUE_ID___x0");
        assert_eq!(join(start, u32::MAX, &mut buffer()), b"__UNIQUE_ID___x4294967295");
        for other in [&b"x512"[..], b"__UNIQUE_ID___x", b"__UNIQUE_ID___x01", b"__UNIQUE_ID_99999999999"] {
            assert_eq!(split(other), None);
        }
    }
}
