//! Bytes with their length, ended by a NUL.
use std::ffi::c_char;
use std::ops::Range;

/// `struct probeidx_text`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Text {
    /// Never null, and a NUL stands behind the last byte.
    pub text: *const c_char,
    /// In bytes, without the NUL.
    pub length: usize,
}

impl Text {
    /// Of no bytes.
    pub const EMPTY: Self = Self { text: c"".as_ptr(), length: 0 };
}

impl From<&'static std::ffi::CStr> for Text {
    fn from(text: &'static std::ffi::CStr) -> Self {
        Self { text: text.as_ptr(), length: text.count_bytes() }
    }
}

/// Texts of one answer. Those of the index are handed out as they are there, others are kept with a NUL behind them.
pub struct Texts {
    of_index: Range<*const u8>,
    own: Vec<Vec<u8>>,
}

impl Texts {
    /// For an index of which these are the strings, each with a NUL behind it.
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
    /// A text, if there is one; else an empty one.
    pub fn of_some(&mut self, text: Option<&[u8]>) -> Text {
        text.map_or(Text::EMPTY, |text| self.of(text))
    }
    /// Texts that were made for the answer.
    pub fn all(&mut self, texts: &[String]) -> Vec<Text> {
        texts.iter().map(|text| self.keep(&**text)).collect()
    }
    /// A text that was made for the answer.
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
