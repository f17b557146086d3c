//! The arguments of `printf`.
use super::tree::Sort;

/// The values that a format takes, in order; those of `*` come before the value they format. The parser has rejected
/// malformed formats.
pub(super) fn arguments(format: &str) -> Vec<Sort> {
    let mut wanted = vec![];
    let mut bytes = format.bytes();
    while bytes.by_ref().any(|b| b == b'%') {
        for byte in bytes.by_ref() {
            match byte {
                b'*' => wanted.push(Sort::Long),
                b's' => {
                    wanted.push(Sort::String);
                    break;
                }
                b'%' => break,
                b'b' | b'c' | b'm' | b'M' | b'd' | b'i' | b'u' | b'o' | b'x' | b'X' | b'p' => {
                    wanted.push(Sort::Long);
                    break;
                }
                _ => {}
            }
        }
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;
    use Sort::{Long, String};

    #[test]
    fn widths_and_doubled_percents_count_as_they_should() {
        let cases: [(&str, &[Sort]); 5] = [
            ("100%%", &[]),
            ("%d %s", &[Long, String]),
            ("%-*.*s|%5.3d", &[Long, Long, String, Long]),
            ("%#lx%%%c", &[Long, Long]),
            ("", &[]),
        ];
        for (format, wanted) in cases {
            assert_eq!(arguments(format), wanted, "{format}");
        }
    }
}
