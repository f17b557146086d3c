//! The `format` file of an event: which bytes of a record are which field (kernel/trace/trace_events.c, `f_show`).
use super::bytes::{Order, number};
use crate::error::{Error, ErrorKind, Result};

/// What the records of an event consist of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// The name of the event.
    pub name: String,
    /// The number that `common_type` of its records has.
    pub id: u16,
    /// The fields in their order, first those that all events have (`common_type`, `common_pid`).
    pub fields: Vec<Field>,
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type as the kernel writes it, without what says where its bytes are: `unsigned long`, `char[]`.
    pub declared: String,
    /// In bytes, from the start of the record.
    pub offset: usize,
    /// In bytes, within the record.
    pub size: usize,
    /// Whether its numbers have a sign.
    pub is_signed: bool,
    /// Where its bytes are.
    pub storage: Storage,
    /// What the bytes are.
    pub content: Content,
}

/// Where the bytes of a field are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// At its offset.
    Inline,
    /// Elsewhere in the record (`__data_loc`): the field has the length in its upper 16 bits, and in its lower ones the
    /// distance from the start of the record.
    Elsewhere,
    /// The same, with the distance from the end of the field (`__rel_loc`, since 5.17).
    Behind,
}

/// What the bytes of a field are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// One number.
    Number,
    /// Numbers of so many bytes each.
    Numbers(usize),
    /// Text, up to the first zero byte.
    Text,
    /// Bytes of which the size of one element is unknown.
    Bytes,
}

impl Format {
    /// Reads a `format` file. `word` is the size of the kernel's `long` in bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`] if it has no name, no number or a field that is not understood.
    pub fn parse(text: &str, word: usize) -> Result<Self> {
        let line = |key: &str| text.lines().find_map(|l| l.strip_prefix(key)).map(str::trim);
        let name = line("name:").ok_or_else(|| damaged("it has no name"))?;
        let id = line("ID:").and_then(|id| id.parse().ok()).ok_or_else(|| damaged("it has no ID"))?;
        let described = text.lines().take_while(|l| !l.starts_with("print fmt:"));
        let fields = described.filter_map(|l| l.trim_start().strip_prefix("field:"));
        let fields = fields.map(|f| {
            Field::parse(f, word).ok_or_else(|| damaged(&format!("this field is not understood: {f}")))
        });
        Ok(Self { name: name.to_owned(), id, fields: fields.collect::<Result<_>>()? })
    }

    /// The field of this name. Cost: linear in the fields.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl Field {
    /// Reads what follows `field:` in a line, also in `events/header_page`.
    pub(super) fn parse(text: &str, word: usize) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let declaration = parts.next()?;
        let (mut offset, mut size, mut is_signed) = (None, None, false);
        for (key, value) in parts.filter_map(|part| part.split_once(':')) {
            match key {
                "offset" => offset = value.parse().ok(),
                "size" => size = value.parse().ok(),
                "signed" => is_signed = value != "0",
                _ => {}
            }
        }
        let (offset, size) = (offset?, size?);
        let (storage, declaration) = match declaration.split_once(' ') {
            Some(("__data_loc", rest)) => (Storage::Elsewhere, rest),
            Some(("__rel_loc", rest)) => (Storage::Behind, rest),
            _ => (Storage::Inline, declaration),
        };
        // `u32 arr[4]`, since 6.1 `u32 arr[]`; `__data_loc char[] name`.
        let (plain, count) = match declaration.strip_suffix(']').and_then(|d| d.rsplit_once('[')) {
            Some((plain, count)) => (plain, Some(count)),
            None => (declaration, None),
        };
        let start = plain.rfind(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(0, |at| at + 1);
        let (declared, name) = plain.split_at(start);
        let declared = declared.trim();
        let (element, is_array) = match declared.strip_suffix("[]") {
            Some(element) => (element.trim(), true),
            None => (declared, count.is_some() || storage != Storage::Inline),
        };
        let content = match is_array {
            false if matches!(size, 1 | 2 | 4 | 8) => Content::Number,
            false => Content::Bytes,
            true if is_text(element) => Content::Text,
            true => {
                let counted = count.and_then(|c| c.parse::<usize>().ok()).filter(|c| *c > 0);
                let each = counted.filter(|_| storage == Storage::Inline).map(|c| size / c);
                match each.or_else(|| size_of(element, word)) {
                    Some(each @ (1 | 2 | 4 | 8)) => Content::Numbers(each),
                    _ => Content::Bytes,
                }
            }
        };
        let declared = if count.is_some() { format!("{declared}[]") } else { declared.to_owned() };
        Some(Self { name: name.to_owned(), declared, offset, size, is_signed, storage, content })
    }

    /// The bytes of the field in a record; of text, those before the first zero byte. `None` if they lie outside of the
    /// record, and for text that the kernel could not read.
    pub fn bytes<'a>(&self, record: &'a [u8], order: Order) -> Option<&'a [u8]> {
        let end = self.offset.checked_add(self.size)?;
        let own = record.get(self.offset..end)?;
        let bytes = match self.storage {
            Storage::Inline => own,
            Storage::Elsewhere | Storage::Behind => {
                let location = number(own.get(..4)?, order)? as usize;
                let base = if self.storage == Storage::Behind { end } else { 0 };
                let start = base.checked_add(location & 0xffff)?;
                record.get(start..start.checked_add(location >> 16)?)?
            }
        };
        match self.content {
            // Without even a zero byte, or with `FAULT_STRING` in its place (some kernels since 6.2), it is text that
            // was not in memory.
            Content::Text
                if self.storage != Storage::Inline && (bytes.is_empty() || bytes == b"(fault)\0") =>
            {
                None
            }
            Content::Text => Some(&bytes[..memchr::memchr(0, bytes).unwrap_or(bytes.len())]),
            _ => Some(bytes),
        }
    }
}

fn is_text(element: &str) -> bool {
    element.strip_prefix("const ").unwrap_or(element).trim_end() == "char"
}

/// The size of a number of this type.
fn size_of(declared: &str, word: usize) -> Option<usize> {
    let plain = declared.strip_prefix("const ").unwrap_or(declared).trim();
    Some(match plain.strip_prefix("__").unwrap_or(plain) {
        "u8" | "s8" | "char" | "unsigned char" | "signed char" | "bool" | "uint8_t" | "int8_t" => 1,
        "u16" | "s16" | "short" | "unsigned short" | "le16" | "be16" | "uint16_t" | "int16_t" => 2,
        "u32" | "s32" | "int" | "unsigned int" | "unsigned" | "le32" | "be32" | "pid_t" | "uint32_t"
        | "int32_t" => 4,
        "u64" | "s64" | "long long" | "unsigned long long" | "le64" | "be64" | "uint64_t" | "int64_t" => 8,
        "long" | "unsigned long" | "size_t" | "ssize_t" => word,
        plain if plain.ends_with('*') => word,
        _ => return None,
    })
}

fn damaged(what: &str) -> Error {
    Error::new(ErrorKind::Damaged, what)
}
