//! A value of a row, before it is a value of a column.
use std::rc::Rc;

/// A value. Texts are bytes: what is not UTF-8 in them is replaced when they are written. What lasts as long as `'l` is there until
/// all rows are written, all else as long as the row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'l, 'c> {
    /// Unknown, or not there: each column says which.
    Null,
    /// A text.
    Text(&'c [u8]),
    /// A text that stays where it is, so that rows which have it again are known by its address.
    Lasting(&'l [u8]),
    /// A text that others have too: it is known again by its address, as long as somebody keeps it.
    Shared(&'c Rc<str>),
    /// A name that lasts, `=`, and a shared text.
    Assigned(&'l [u8], &'c Rc<str>),
    /// A number.
    Number(i64),
    /// An address.
    Address(u64),
    /// Yes or no.
    Flag(bool),
    /// Several texts.
    Texts(Vec<&'c [u8]>),
    /// Several texts that stay where they are.
    LastingTexts(&'c [&'l [u8]]),
    /// Several numbers, some of which may be unknown.
    Numbers(Vec<Option<i64>>),
    /// The fields of a record.
    Fields(Vec<Field<'c>>),
}

/// A field of a tracepoint's record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field<'a> {
    /// The name.
    pub name: &'a [u8],
    /// The type, as tracefs prints it.
    pub type_name: &'a [u8],
    /// In bytes from the start of the record.
    pub offset: i64,
    /// In bytes.
    pub size: i64,
}

impl<'l, 'c> Cell<'l, 'c> {
    /// A text that lasts, or null if it is empty.
    pub fn lasting(text: &'l [u8]) -> Self {
        if text.is_empty() { Self::Null } else { Self::Lasting(text) }
    }

    /// A text, or null if it is empty.
    pub fn text(text: &'c [u8]) -> Self {
        if text.is_empty() { Self::Null } else { Self::Text(text) }
    }

    /// A list of texts.
    pub fn texts(texts: &'c [String]) -> Self {
        Self::Texts(texts.iter().map(String::as_bytes).collect())
    }

    /// A list of texts that last, or null if there is none.
    pub fn lasting_texts(texts: &'c [&'l [u8]]) -> Self {
        if texts.is_empty() { Self::Null } else { Self::LastingTexts(texts) }
    }

    /// A text that may not be there.
    pub fn maybe(text: Option<&'c str>) -> Self {
        text.map_or(Self::Null, |text| Self::Text(text.as_bytes()))
    }

    /// A line; null if it is 0, which stands for an unknown one.
    pub fn line(line: u32) -> Self {
        if line == 0 { Self::Null } else { Self::Number(line.into()) }
    }
}

impl<'l> From<&'l str> for Cell<'l, '_> {
    fn from(text: &'l str) -> Self {
        Self::Lasting(text.as_bytes())
    }
}

impl From<u32> for Cell<'_, '_> {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<bool> for Cell<'_, '_> {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

/// The text of [`Cell::Assigned`].
pub fn assigned(name: &[u8], text: &str) -> Vec<u8> {
    [name, b"=", text.as_bytes()].concat()
}

/// Appends values, so that equal rows have equal bytes.
pub fn encode(cells: &[Cell<'_, '_>], out: &mut Vec<u8>) {
    for cell in cells {
        match cell {
            Cell::Null => out.push(0),
            Cell::Text(text) | Cell::Lasting(text) => {
                out.push(1);
                put(out, text);
            }
            Cell::Shared(text) => {
                out.push(1);
                put(out, text.as_bytes());
            }
            Cell::Assigned(name, text) => {
                out.push(1);
                put(out, &assigned(name, text));
            }
            Cell::Number(number) => {
                out.push(2);
                out.extend_from_slice(&number.to_le_bytes());
            }
            Cell::Address(address) => {
                out.push(3);
                out.extend_from_slice(&address.to_le_bytes());
            }
            Cell::Flag(flag) => out.extend_from_slice(&[4, u8::from(*flag)]),
            Cell::Texts(texts) => put_all(out, texts),
            Cell::LastingTexts(texts) => put_all(out, texts),
            Cell::Numbers(numbers) => {
                out.push(6);
                count(out, numbers.len());
                for number in numbers {
                    out.push(number.is_some().into());
                    out.extend_from_slice(&number.unwrap_or_default().to_le_bytes());
                }
            }
            Cell::Fields(fields) => {
                out.push(7);
                count(out, fields.len());
                for field in fields {
                    put(out, field.name);
                    put(out, field.type_name);
                    out.extend_from_slice(&field.offset.to_le_bytes());
                    out.extend_from_slice(&field.size.to_le_bytes());
                }
            }
        }
    }
}

/// The values of a row that [`encode`] wrote.
pub fn decode<'l, 'c>(bytes: &'c [u8]) -> Vec<Cell<'l, 'c>> {
    let mut rest = Rest(bytes);
    let mut cells = vec![];
    while !rest.0.is_empty() {
        cells.push(match rest.byte() {
            0 => Cell::Null,
            1 => Cell::Text(rest.text()),
            2 => Cell::Number(rest.number()),
            3 => Cell::Address(rest.number() as u64),
            4 => Cell::Flag(rest.byte() == 1),
            5 => Cell::Texts((0..rest.count()).map(|_| rest.text()).collect()),
            6 => {
                let number = |rest: &mut Rest<'_>| {
                    let is_known = rest.byte() == 1;
                    Some(rest.number()).filter(|_| is_known)
                };
                Cell::Numbers((0..rest.count()).map(|_| number(&mut rest)).collect())
            }
            _ => Cell::Fields((0..rest.count()).map(|_| rest.field()).collect()),
        });
    }
    cells
}

fn put_all(out: &mut Vec<u8>, texts: &[&[u8]]) {
    out.push(5);
    count(out, texts.len());
    texts.iter().for_each(|text| put(out, text));
}

fn put(out: &mut Vec<u8>, text: &[u8]) {
    count(out, text.len());
    out.extend_from_slice(text);
}

fn count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&(count as u32).to_le_bytes());
}

/// What of a row is yet to be read. Only what `encode` wrote is ever read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }
    fn byte(&mut self) -> u8 {
        self.take(1)[0]
    }
    fn count(&mut self) -> usize {
        let bytes = self.take(4);
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize
    }
    fn number(&mut self) -> i64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(self.take(8));
        i64::from_le_bytes(bytes)
    }
    fn text(&mut self) -> &'a [u8] {
        let length = self.count();
        self.take(length)
    }
    fn field(&mut self) -> Field<'a> {
        Field { name: self.text(), type_name: self.text(), offset: self.number(), size: self.number() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_encoded_is_decoded() {
        let field = Field { name: b"prev_comm", type_name: b"char[16]", offset: 8, size: 16 };
        let cells = [
            Cell::Null,
            Cell::Text(b""),
            Cell::Text(b"vfs_read"),
            Cell::Number(-1),
            Cell::Address(0xffff_ffff_8136_139d),
            Cell::Flag(true),
            Cell::Texts(vec![]),
            Cell::Texts(vec![b"a", b"", b"bc"]),
            Cell::Numbers(vec![Some(3), None, Some(-4)]),
            Cell::Fields(vec![field, field]),
            Cell::Flag(false),
        ];
        let mut bytes = vec![];
        encode(&cells, &mut bytes);
        assert_eq!(decode(&bytes), cells);
    }
}
