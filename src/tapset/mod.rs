//! SystemTap's language: parses scripts and tapsets.
//!
//! Nothing here knows a kernel's debug information. The result depends only on the [`Target`]: conditionals of the
//! preprocessor test the kernel's release, architecture and configuration, and only the selected parts are read.
//!
//! | module | content |
//! | --- | --- |
//! | [`library`] | the tapsets that apply to a target, read in parallel |
//! | [`parser`] | parses the tokens of a file to a [`ast::Script`] |
//! | [`ast`] | syntax trees |
//! | [`expand`] | expands aliases to points |
//! | [`definitions`] | everything that scripts can use, by name |
//! | [`sources`] | tapset folders, on disk or kept in an index |
//! | `packed` | encodes these folders for an index |
//! | [`stored`] | definitions in the form of an index |
//! | [`name`] | patterns of names |
//! | [`context`] | the variables at a handler's probe point |
//! | `regex` | which regular expressions SystemTap compiles |
//! | [`handler`] | analyses handlers: locals, types, dead code, errors |
//! | [`target`] | the kernel, architecture and SystemTap that a script is read for |
//! | `version` | versions of SystemTap, and what differs by them |
//! | `preprocess` → `macros` → `lexer` | bytes to tokens, each pulling from the next |
//!
//! The language is that of SystemTap 4.8, and what later ones add to it ([`Version`]); where its sources differ from its
//! manual, the sources count. Deviations: limits where SystemTap has none, and errors where it ignores something missing,
//! such as the end of a comment.
pub mod ast;
mod condition;
pub mod context;
pub mod definitions;
#[cfg(feature = "build")]
pub(crate) mod evaluated;
pub mod expand;
pub mod handler;
mod lexer;
pub mod library;
mod macros;
pub mod name;
#[cfg(feature = "build")]
mod packed;
pub mod parser;
mod preprocess;
mod regex;
pub mod sources;
pub mod stored;
pub mod target;
mod version;
mod walk;

pub use definitions::Definitions;
pub use library::Library;
pub use macros::Macro;
pub use target::Target;
pub use version::Version;
pub use walk::MARKS;

use std::path::Path;

use crate::error::{Error, ErrorKind};

/// A place in a source file. Lines and columns start at 1, columns count bytes, as in SystemTap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The number of the file, in the order of [`Library::files`].
    pub file: u32,
    /// From 1.
    pub line: u32,
    /// From 1, in bytes.
    pub column: u32,
}

/// A place, and that of the macro call that produced it.
type Spot = (Place, Option<Place>);

/// Why reading a file stopped.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    spot: Spot,
    message: String,
}

/// Boxed because the recursive parser holds many of them on the stack.
type Result<T, E = Box<Fault>> = std::result::Result<T, E>;

impl Fault {
    fn new(spot: Spot, message: impl Into<String>) -> Box<Self> {
        Box::new(Self { spot, message: message.into() })
    }

    /// Converts it for the reader of `file`; `path` returns the path of a file by its number.
    fn into_error<'p>(self, path: impl Fn(u32) -> &'p Path) -> Error {
        let (place, called) = self.spot;
        let message = match called {
            Some(from) => {
                let file = path(from.file).display();
                format!("{} (in a macro called at {file}:{}:{})", self.message, from.line, from.column)
            }
            None => self.message,
        };
        Error::new(ErrorKind::Syntax, message).at(path(place.file)).line(place.line, place.column)
    }
}
