//! Bytes with their length, ended by a NUL.
use std::ffi::c_char;

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

    /// A string as [`View::string`](probeidx_format::View::string) gives it: a NUL follows it, and it stays where it is as long as the
    /// index is open.
    pub fn of_index(string: &[u8]) -> Self {
        match string {
            [] => Self::EMPTY,
            string => Self { text: string.as_ptr().cast(), length: string.len() },
        }
    }
}

impl From<&'static std::ffi::CStr> for Text {
    fn from(text: &'static std::ffi::CStr) -> Self {
        Self { text: text.as_ptr(), length: text.count_bytes() }
    }
}

/// The texts of one answer, with a NUL after each.
#[derive(Default)]
pub struct Texts {
    /// None grows beyond its capacity: texts stay where they are.
    chunks: Vec<Vec<u8>>,
}

/// How many bytes of short texts have their memory together.
const CHUNK: usize = 4096;

impl Texts {
    /// A copy of a text.
    pub fn of(&mut self, text: impl AsRef<[u8]>) -> Text {
        let text = text.as_ref();
        if text.is_empty() {
            return Text::EMPTY;
        }
        if self.chunks.last().is_none_or(|chunk| chunk.capacity() - chunk.len() <= text.len()) {
            self.chunks.push(Vec::with_capacity(CHUNK.max(text.len() + 1)));
        }
        let Some(chunk) = self.chunks.last_mut() else { return Text::EMPTY };
        let start = chunk.len();
        chunk.extend_from_slice(text);
        chunk.push(0);
        Text { text: chunk.as_ptr().wrapping_add(start).cast(), length: text.len() }
    }
    /// A text, or the empty text if there is none.
    pub fn of_some(&mut self, text: Option<impl AsRef<[u8]>>) -> Text {
        text.map_or(Text::EMPTY, |text| self.of(text))
    }
    /// Texts that were made for the answer.
    pub fn all(&mut self, texts: &[String]) -> Vec<Text> {
        texts.iter().map(|text| self.of(text)).collect()
    }
}
