//! Evaluates one comparison of the preprocessor.
use std::cmp::Ordering;

use super::lexer::{Kind, Token};
use super::macros::{fault, shown};
use super::{Result, Target};
use crate::pattern::Pattern;

/// Whether `left operator right` holds for the target.
pub fn holds(target: &Target<'_>, left: &Token<'_>, operator: &Token<'_>, right: &Token<'_>) -> Result<bool> {
    let holds_for = |order: Ordering| -> Result<bool> {
        match &*operator.text {
            _ if operator.kind != Kind::Operator => None,
            "<=" => Some(order.is_le()),
            ">=" => Some(order.is_ge()),
            "<" => Some(order.is_lt()),
            ">" => Some(order.is_gt()),
            "==" => Some(order.is_eq()),
            "!=" => Some(order.is_ne()),
            _ => None,
        }
        .ok_or_else(|| fault(operator, format!("expected a comparison, found {}", shown(operator))))
    };
    let equality = |equal: bool| match &*operator.text {
        "==" if operator.kind == Kind::Operator => Ok(equal),
        "!=" if operator.kind == Kind::Operator => Ok(!equal),
        _ => Err(fault(operator, format!("expected `==` or `!=`, found {}", shown(operator)))),
    };
    let string = || match right.kind {
        Kind::String => Ok(&*right.text),
        _ => Err(fault(right, format!("expected a string, found {}", shown(right)))),
    };
    match (left.kind, &*left.text, right.kind) {
        (Kind::Identifier, which @ ("kernel_v" | "kernel_vr" | "systemtap_v"), _) => {
            let version = match which {
                "kernel_v" => target.version(),
                "kernel_vr" => target.release,
                _ => target.systemtap,
            };
            let wanted = string()?;
            match wanted.contains(['*', '?', '[']) {
                true if operator.is_operator("==") || operator.is_operator("!=") => {
                    equality(fits(wanted, version, right)?)
                }
                true => Err(fault(operator, "wildcards can be compared by `==` and `!=` alone")),
                false => holds_for(version_order(version, wanted)),
            }
        }
        (Kind::Identifier, "systemtap_privilege", _) => equality(target.privilege.name() == string()?),
        (Kind::Identifier, "arch", _) => equality(fits(string()?, target.arch, right)?),
        (Kind::Identifier, "runtime", _) => equality(fits(string()?, target.runtime.name(), right)?),
        (Kind::Identifier, "guru_mode", _) => match literal(right)? {
            wanted @ (0 | 1) => equality(i64::from(target.guru) == wanted),
            _ => Err(fault(right, "`guru_mode` is 0 or 1")),
        },
        (Kind::Identifier, option, kind) if option.starts_with("CONFIG_") => {
            let value = (target.config)(option).unwrap_or_default();
            match kind {
                Kind::String => equality(fits(&right.text, &value, right)?),
                Kind::Number => {
                    let value = c_number(&value).ok_or_else(|| {
                        fault(left, format!("`{option}` is {value:?} in this kernel, not a number"))
                    })?;
                    holds_for(value.cmp(&literal(right)?))
                }
                Kind::Identifier if right.text.starts_with("CONFIG_") => {
                    let other = (target.config)(&right.text).unwrap_or_default();
                    match (c_number(&value), c_number(&other)) {
                        (Some(value), Some(other)) => holds_for(value.cmp(&other)),
                        _ => holds_for(value.cmp(&other)),
                    }
                }
                _ => {
                    let found = shown(right);
                    Err(fault(right, format!("expected a string, a number or an option, found {found}")))
                }
            }
        }
        (Kind::String, left, Kind::String) => holds_for(left.cmp(&right.text)),
        (Kind::Number, _, Kind::Number) => holds_for(literal(left)?.cmp(&literal(right)?)),
        (Kind::String, _, _) => Err(fault(right, format!("expected a string, found {}", shown(right)))),
        (Kind::Number, _, _) => Err(fault(right, format!("expected a number, found {}", shown(right)))),
        _ => {
            let known =
                "kernel_v, kernel_vr, systemtap_v, arch, runtime, systemtap_privilege, guru_mode, CONFIG_…";
            let found = shown(left);
            Err(fault(left, format!("expected {known}, a string or a number to compare, found {found}")))
        }
    }
}

/// Matches like fnmatch(3) without escapes.
fn fits(pattern: &str, text: &str, token: &Token<'_>) -> Result<bool> {
    let pattern = Pattern::new(&pattern.replace('\\', "\\\\")).map_err(|e| fault(token, e.message()))?;
    Ok(pattern.matches(text.as_bytes()))
}

/// A number written in a script; conditionals read it in base ten.
fn literal(token: &Token<'_>) -> Result<i64> {
    let number = if token.kind == Kind::Number { token.text.parse().ok() } else { None };
    number.ok_or_else(|| fault(token, format!("expected a number, found {}", shown(token))))
}

/// A configuration value, read like strtoll(3) in any base: an empty one is 0.
fn c_number(text: &str) -> Option<i64> {
    let trimmed = text.trim_start();
    let (negative, digits) = match trimmed.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, trimmed.strip_prefix('+').unwrap_or(trimmed)),
    };
    if digits.is_empty() {
        return text.is_empty().then_some(0);
    }
    let number = magnitude(digits)?;
    if negative { 0i64.checked_sub_unsigned(number) } else { i64::try_from(number).ok() }
}

/// Digits in C's notation: `0x1f`, `017`, `15`.
pub fn magnitude(digits: &str) -> Option<u64> {
    let (digits, base) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => (hex, 16),
        None if digits.len() > 1 && digits.starts_with('0') => (&digits[1..], 8),
        None => (digits, 10),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    u64::from_str_radix(digits, base).ok()
}

/// The order of versions by glibc's strverscmp(3): runs of digits are numbers, or fractions if they have leading
/// zeros.
pub fn version_order(left: &str, right: &str) -> Ordering {
    let at = |text: &str, i: usize| text.as_bytes().get(i).copied().unwrap_or(0);
    let same = left.bytes().zip(right.bytes()).take_while(|(l, r)| l == r).count();
    if same == left.len() && same == right.len() {
        return Ordering::Equal;
    }
    // The run of digits that contains or precedes the difference.
    let run = left.as_bytes()[..same].iter().rposition(|b| !b.is_ascii_digit()).map_or(0, |i| i + 1);
    let (l, r) = (at(left, same), at(right, same));
    let first_is_digit = |text: &str| matches!(at(text, run), b'1'..=b'9');
    if first_is_digit(left) && first_is_digit(right) {
        let digits = |text: &str| text.bytes().skip(same).take_while(u8::is_ascii_digit).count();
        return digits(left).cmp(&digits(right)).then(l.cmp(&r));
    }
    let zeros = run < same && left.as_bytes()[run..same].iter().all(|&b| b == b'0');
    if zeros && (l.is_ascii_digit() || r.is_ascii_digit()) {
        // More digits continue the fraction, which is then less than one that ends or is followed by other text.
        let rank = |b: u8| i16::from(b) - i16::from(b'0');
        return match (l.is_ascii_digit(), r.is_ascii_digit()) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            _ => rank(l).cmp(&rank(r)),
        };
    }
    l.cmp(&r)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_glibc_documents() {
        let ordered = ["000", "00", "01", "010", "09", "0", "1", "9", "10"];
        for (i, left) in ordered.iter().enumerate() {
            for (j, right) in ordered.iter().enumerate() {
                assert_eq!(version_order(left, right), i.cmp(&j), "{left} and {right}");
            }
        }
        assert_eq!(version_order("6.1.0", "6.10"), Ordering::Less);
        assert_eq!(version_order("2.6.32", "2.6.9"), Ordering::Greater);
        assert_eq!(version_order("4.8", "4.8.1"), Ordering::Less);
        assert_eq!(version_order("item#99", "item#100"), Ordering::Less);
        assert_eq!(version_order("alpha1", "alpha001"), Ordering::Greater);
        assert_eq!(version_order("foo.0", "foo.0.1"), Ordering::Less);
    }

    #[test]
    fn values_of_the_configuration_are_read_as_c_reads_them() {
        let cases = [("", Some(0)), ("250", Some(250)), ("0x10", Some(16)), ("-1", Some(-1)), ("y", None)];
        for (text, value) in cases {
            assert_eq!(c_number(text), value, "{text:?}");
        }
    }
}
