//! The spelling of addresses: a number, or a symbol with an offset as the kernel prints it.

/// An address as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address<'t> {
    /// `0xffffffff8136139d`
    Number(u64),
    /// `path_openat+0x14d/0x1180 [module]`
    Symbolic(Symbolic<'t>),
}

/// A symbol and an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbolic<'t> {
    /// The object in which to look up the symbol.
    pub scope: Scope<'t>,
    /// The symbol's name with all suffixes; or the name of a section, `.text`.
    pub name: &'t [u8],
    /// The offset in bytes from the symbol's start.
    pub offset: u64,
    /// The symbol's size, which distinguishes symbols of the same name.
    pub size: Option<u64>,
    /// The object's build id in hexadecimal digits.
    pub build_id: Option<&'t [u8]>,
}

/// The objects in which a symbol is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope<'t> {
    /// vmlinux and all modules.
    Any,
    /// vmlinux.
    Kernel,
    /// A module, with dashes or underscores; or a user-space file.
    Object(&'t [u8]),
}

/// Parses an address: `0x…` (optional before sixteen digits), or `[MODULE:]SYMBOL[+OFFSET[/SIZE]]`, optionally followed
/// by `[MODULE]` with or without a build id. Numbers are decimal, or hexadecimal after `0x`. `None` if it is not an
/// address.
pub fn parse(text: &[u8]) -> Option<Address<'_>> {
    let text = text.trim_ascii();
    if let Some(number) = address_number(text) {
        return Some(Address::Number(number));
    }
    let (symbol, rest) = symbol(text)?;
    if symbol.name[0].is_ascii_digit() {
        return None;
    }
    let (object, rest) = object(rest.trim_ascii_start());
    if !rest.is_empty() || (object.is_some() && symbol.scope != Scope::Any) {
        return None;
    }
    Some(Address::Symbolic(match object {
        Some(Object { scope, build_id }) => Symbolic { scope, build_id, ..symbol },
        None => symbol,
    }))
}

/// `0xffffffff8136139d`, `ffffffff8136139d`
fn address_number(text: &[u8]) -> Option<u64> {
    const DIGITS: usize = 16;
    match text.strip_prefix(b"0x") {
        Some(digits) => hex(digits),
        None if text.len() == DIGITS => hex(text),
        None => None,
    }
}

/// `[MODULE:]SYMBOL[+OFFSET[/SIZE]]`, and the rest of the text.
fn symbol(text: &[u8]) -> Option<(Symbolic<'_>, &[u8])> {
    let (mut name, mut rest) = split_name(text);
    let mut scope = Scope::Any;
    if let Some(behind) = rest.strip_prefix(b":") {
        scope = Scope::of(name);
        (name, rest) = split_name(behind);
    }
    if name.is_empty() || scope == Scope::Object(b"") {
        return None;
    }
    let (mut offset, mut size) = (0, None);
    if let Some(behind) = rest.strip_prefix(b"+") {
        (offset, rest) = number(behind)?;
        if let Some(behind) = rest.strip_prefix(b"/") {
            let (number, behind) = number(behind)?;
            (size, rest) = (Some(number), behind);
        }
    }
    Some((Symbolic { scope, name, offset, size, build_id: None }, rest))
}

/// The object named after a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object<'t> {
    /// The module, the kernel, or a path.
    pub scope: Scope<'t>,
    /// The build id in hexadecimal digits.
    pub build_id: Option<&'t [u8]>,
}

/// `[kvm]`, `[kvm 0123abcd…]` (`%pSb`), `[kernel]` (SystemTap), `([kernel.kallsyms])`, `(/path/libc.so.6)` (perf), and
/// the rest of the text.
pub fn object(text: &[u8]) -> (Option<Object<'_>>, &[u8]) {
    let none = (None, text);
    let (open, inner) = match text {
        [b'(', b'[', inner @ ..] => (2, inner),
        [b'(', b'/', ..] => (1, &text[1..]),
        [b'[', inner @ ..] => (1, inner),
        _ => return none,
    };
    let is_perf = text[0] == b'(';
    let close = if is_perf { b')' } else { b']' };
    let Some(end) = memchr::memchr(close, inner) else { return none };
    let (mut content, rest) = (&inner[..end], &inner[end + 1..]);
    if open == 2 {
        let Some(within) = content.strip_suffix(b"]") else { return none };
        content = within;
    }
    let mut words = content.split(|b| *b == b' ');
    let name = words.next().unwrap_or_default();
    let build_id = words.next();
    let is_build_id = |id: &[u8]| id.len() >= 8 && id.iter().all(u8::is_ascii_hexdigit);
    if name.is_empty() || words.next().is_some() || !build_id.is_none_or(is_build_id) {
        return none;
    }
    (Some(Object { scope: Scope::of(name), build_id }), rest)
}

impl<'t> Scope<'t> {
    /// The scope of a name in brackets or before a colon.
    pub fn of(name: &'t [u8]) -> Self {
        match name {
            b"kernel" | b"kernel.kallsyms" => Self::Kernel,
            name if file_name(name).starts_with(b"vmlinux") => Self::Kernel,
            name => Self::Object(name),
        }
    }
}

/// The part of a path after the last slash.
pub fn file_name(path: &[u8]) -> &[u8] {
    &path[memchr::memrchr(b'/', path).map_or(0, |at| at + 1)..]
}

/// Whether a byte can be part of a symbol's name.
#[inline]
pub fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | b'@') || byte >= 0x80
}

fn split_name(text: &[u8]) -> (&[u8], &[u8]) {
    let is_end = |b: &u8| !is_of_name(*b) && *b != b'-';
    text.split_at(text.iter().position(is_end).unwrap_or(text.len()))
}

/// A decimal number, or a hexadecimal one after `0x`, and the rest of the text.
pub fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    if let Some(digits) = text.strip_prefix(b"0x") {
        let end = digits.iter().position(|b| !b.is_ascii_hexdigit()).unwrap_or(digits.len());
        return Some((hex(&digits[..end])?, &digits[end..]));
    }
    let end = text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    let add = |number: u64, digit: &u8| number.checked_mul(10)?.checked_add((digit - b'0').into());
    let number = (end > 0).then(|| text[..end].iter().try_fold(0, add)).flatten()?;
    Some((number, &text[end..]))
}

/// Up to sixteen hexadecimal digits.
pub fn hex(digits: &[u8]) -> Option<u64> {
    const MOST: usize = 16;
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    };
    let is_possible = (1..=MOST).contains(&digits.len());
    let add = |number: u64, byte: &u8| Some(number << 4 | u64::from(digit(*byte)?));
    is_possible.then(|| digits.iter().try_fold(0, add)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLAIN: Symbolic<'_> =
        Symbolic { scope: Scope::Any, name: b"vfs_read", offset: 0, size: None, build_id: None };

    #[test]
    fn forms() {
        let symbolic = |s: Symbolic<'static>| Some(Address::Symbolic(s));
        let kvm = Scope::Object(b"kvm");
        let id = Some(&b"0123456789abcdef"[..]);
        for (text, expected) in [
            ("0xffffffff8136139d", Some(Address::Number(0xffff_ffff_8136_139d))),
            (" ffffffff8136139d\r", Some(Address::Number(0xffff_ffff_8136_139d))),
            ("0x10", Some(Address::Number(16))),
            ("vfs_read", symbolic(PLAIN)),
            ("vfs_read+0x10", symbolic(Symbolic { offset: 16, ..PLAIN })),
            ("vfs_read+16/0x340", symbolic(Symbolic { offset: 16, size: Some(0x340), ..PLAIN })),
            ("kvm:vfs_read+1", symbolic(Symbolic { scope: kvm, offset: 1, ..PLAIN })),
            ("vmlinux:vfs_read", symbolic(Symbolic { scope: Scope::Kernel, ..PLAIN })),
            ("vfs_read+0x1 [kvm]", symbolic(Symbolic { scope: kvm, offset: 1, ..PLAIN })),
            ("vfs_read [kvm 0123456789abcdef]", symbolic(Symbolic { scope: kvm, build_id: id, ..PLAIN })),
            (
                "vfs_read+0x1 ([kernel.kallsyms])",
                symbolic(Symbolic { scope: Scope::Kernel, offset: 1, ..PLAIN }),
            ),
            ("kvm:.text+0x8", symbolic(Symbolic { scope: kvm, name: b".text", offset: 8, ..PLAIN })),
        ] {
            assert_eq!(parse(text.as_bytes()), expected, "{text}");
        }
        for text in [
            "",
            " ",
            "0x",
            "12",
            "0x12345678123456781",
            "vfs_read+",
            "vfs_read+0x",
            "vfs_read+1/",
            "a b",
            ":a",
            "kvm:a [kvm]",
            "a+1 [",
            "a+1 [k",
            "a+1 [a b c]",
            "a+18446744073709551616",
            "kvm:",
            "a+-1",
            "1+1",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_borne(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn what_the_kernel_prints_is_read(offset: u32, size: u32) {
            let text = format!("vfs_read+{offset:#x}/{size:#x}");
            let expected = Symbolic { offset: offset.into(), size: Some(size.into()), ..PLAIN };
            prop_assert_eq!(parse(text.as_bytes()), Some(Address::Symbolic(expected)));
        }
    }
}
