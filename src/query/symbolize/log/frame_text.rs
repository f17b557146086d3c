//! The text before a symbol in a line, which determines the role of the address.
use super::word;
use crate::query::spec::address::{hex, number};

/// The text before a symbol with an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Only an address in brackets.
    Stack,
    /// An address in brackets and a question mark.
    Unreliable,
    /// `RIP: 0010:`, `pc : `
    Stopped,
    /// crash's `[exception RIP: `
    ExceptionRip,
    /// `lr : `, ftrace's `=> ` and `<-`
    Return,
    /// `0xffffffff8134c750 : `
    SystemTap,
    /// `ffffffff8134c750 `
    Perf,
    /// `#1  `
    Numbered(u64),
    /// Any other text.
    Other,
}

impl Place {
    pub(super) fn of(lead: &[u8]) -> Self {
        let lead = lead.trim_ascii();
        let Some(first) = lead.first() else { return Self::Stack };
        if lead == b"?" {
            return Self::Unreliable;
        }
        if lead.starts_with(b"RIP: ") || matches!(lead, b"pc :" | b"PC is at") {
            return Self::Stopped;
        }
        match first {
            b'[' if lead == b"[exception RIP:" => Self::ExceptionRip,
            b'[' if bracketed(lead).is_some() => match bracketed(lead) {
                Some((_, b"")) => Self::Stack,
                Some((_, b"?")) => Self::Unreliable,
                _ => Self::Other,
            },
            b'#' => match number(&lead[1..]) {
                Some((level, _)) => Self::Numbered(level),
                None => Self::Other,
            },
            b'0' if lead.ends_with(b" :") && lead.starts_with(b"0x") => Self::SystemTap,
            _ if matches!(lead, b"lr :" | b"LR is at" | b"=>") || lead.ends_with(b"<-") => Self::Return,
            _ if lead.starts_with(b"Returning to") => Self::Return,
            _ if lead.len() >= 6 && lead.iter().all(u8::is_ascii_hexdigit) => Self::Perf,
            _ => Self::Other,
        }
    }

    /// The number in `lead`.
    pub(super) fn number(self, lead: &[u8]) -> Option<u64> {
        let lead = lead.trim_ascii();
        match self {
            Self::Stack | Self::Unreliable => bracketed(lead).map(|(number, _)| number),
            Self::Stopped => {
                let open = memchr::memmem::rfind(lead, b"[<")?;
                bracketed(&lead[open..]).map(|(number, _)| number)
            }
            Self::SystemTap => hex(lead.strip_prefix(b"0x")?.strip_suffix(b" :")?),
            Self::Perf => hex(lead),
            Self::Numbered(_) => {
                let (_, rest) = number(&lead[1..])?;
                hex(word(rest.trim_ascii_start().strip_prefix(b"0x")?).0)
            }
            _ => None,
        }
    }
}

/// `[<ffffffff8134c750>]`, and the rest of the text.
fn bracketed(text: &[u8]) -> Option<(u64, &[u8])> {
    let rest = text.strip_prefix(b"[<")?;
    let end = memchr::memchr(b'>', rest)?;
    let behind = rest[end + 1..].strip_prefix(b"]")?;
    Some((hex(&rest[..end])?, behind.trim_ascii()))
}
