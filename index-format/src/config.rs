//! The kernel's configuration: one line `NAME=value` per option that is set, without `CONFIG_`, sorted by name.
use std::collections::BTreeMap;

/// The bytes of the section.
pub fn encode(options: &BTreeMap<&str, &str>) -> Vec<u8> {
    let mut out = vec![];
    for (name, value) in options {
        out.extend([name.as_bytes(), b"=", value.as_bytes(), b"\n"].concat());
    }
    out
}

/// The value of an option, named without `CONFIG_`. Cost: a binary search.
pub fn find<'a>(section: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut rest = section;
    while !rest.is_empty() {
        let middle = rest.len() / 2;
        let start = rest[..middle].iter().rposition(|b| *b == b'\n').map_or(0, |newline| newline + 1);
        let length = rest[start..].iter().position(|b| *b == b'\n').unwrap_or(rest.len() - start);
        let line = &rest[start..start + length];
        let equals = line.iter().position(|b| *b == b'=').unwrap_or(line.len());
        match line[..equals].cmp(name) {
            std::cmp::Ordering::Equal => return line.get(equals + 1..),
            std::cmp::Ordering::Less => rest = rest.get(start + length + 1..).unwrap_or_default(),
            std::cmp::Ordering::Greater => rest = &rest[..start],
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_found_and_no_other() {
        let names: Vec<String> = (0..300).map(|n| format!("OPTION_{n:x}")).collect();
        let options = names.iter().map(|name| (&name[..], &name[5..])).collect();
        let section = encode(&options);
        for (name, value) in &options {
            assert_eq!(find(&section, name.as_bytes()), Some(value.as_bytes()));
        }
        assert_eq!(find(&section, b"OPTION"), None);
        assert_eq!(find(b"", b"A"), None);
        assert_eq!(find(b"A\nB", b"B"), None);
        assert_eq!(find(b"\n\n=\nA=y", b"A"), Some(&b"y"[..]));
    }
}
