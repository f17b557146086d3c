//! Bytes with their length, ended by a NUL.
use std::ffi::c_char;
use std::ops::Range;

/// `struct probeidx_text`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Text {
    /// Never null; a NUL follows the last byte.
    pub text: *const c_char,
    /// The length in bytes, without the NUL.
    pub length: usize,
}

impl Text {
    /// The empty text.
    pub const EMPTY: Self = Self { text: c"".as_ptr(), length: 0 };
}

impl From<&'static std::ffi::CStr> for Text {
    fn from(text: &'static std::ffi::CStr) -> Self {
        Self { text: text.as_ptr(), length: text.count_bytes() }
    }
}

/// The texts of one answer. Those in the index are given out directly; others are kept, with a NUL added.
pub struct Texts {
    of_index: Range<*const u8>,
    own: Vec<Vec<u8>>,
}

impl Texts {
    /// For an index with these strings, each followed by a NUL.
    pub fn new(strings: &[u8]) -> Self {
        Self { of_index: strings.as_ptr_range(), own: vec![] }
    }
    /// A text.
    pub fn of(&mut self, text: &[u8]) -> Text {
        if text.is_empty() {
            return Text::EMPTY;
        }
        if self.of_index.contains(&text.as_ptr()) {
            return Text { text: text.as_ptr().cast(), length: text.len() };
        }
        let mut own = Vec::with_capacity(text.len() + 1);
        own.extend_from_slice(text);
        self.keep(own)
    }
    /// A text, or the empty text if there is none.
    pub fn of_some(&mut self, text: Option<&[u8]>) -> Text {
        text.map_or(Text::EMPTY, |text| self.of(text))
    }
    /// Keeps texts that were made for the answer.
    pub fn all(&mut self, texts: &[String]) -> Vec<Text> {
        texts.iter().map(|text| self.keep(&**text)).collect()
    }
    /// Keeps a text that was made for the answer.
    pub fn keep(&mut self, text: impl Into<Vec<u8>>) -> Text {
        let mut text = text.into();
        let length = text.len();
        if length == 0 {
            return Text::EMPTY;
        }
        text.push(0);
        self.own.push(text);
        Text { text: self.own[self.own.len() - 1].as_ptr().cast(), length }
    }
}
