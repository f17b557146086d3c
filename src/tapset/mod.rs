//! SystemTap's language: scripts and tapsets to values.
//!
//! Nothing here knows a kernel's debug information. What a script says depends on its [`Target`] alone: conditionals
//! of the preprocessor ask for the kernel's release, architecture and configuration, and only what they leave is read.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`library`] | the folders of tapsets that belong to a target, read side by side |
//! | [`parser`] | the tokens of a file to a [`ast::Script`] |
//! | [`ast`] | what a script says |
//! | [`expand`] | aliases to the points they stand for |
//! | [`definitions`] | what scripts can use, by name |
//! | [`sources`] | the folders of tapsets, on disk or kept in an index |
//! | `packed` | those folders to bytes of an index and back |
//! | [`stored`] | definitions as an index keeps them |
//! | [`name`] | which names a pattern means |
//! | [`context`] | what is known of the place where a handler runs |
//! | [`handler`] | what handlers mean: locals, types, what is dead and what is wrong |
//! | [`target`] | for which kernel, architecture and SystemTap a script is read |
//! | `preprocess` → `macros` → `lexer` | bytes to tokens, each asking the next |
//!
//! The language is that of SystemTap 4.8; where its sources differ from its manual, the sources hold. It differs where
//! SystemTap has no bound, or is silent about what is missing: a comment that is never closed is an error here.
pub mod ast;
mod condition;
pub mod context;
pub mod definitions;
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
pub mod sources;
pub mod stored;
pub mod target;
mod walk;

pub use definitions::Definitions;
pub use library::Library;
pub use macros::Macro;
pub use target::Target;
pub use walk::MARKS;

use std::path::Path;

use crate::error::{Error, ErrorKind};

/// Where something is written. Lines and columns count from 1, columns in bytes, as SystemTap does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Which file, counted in the order of [`Library::files`].
    pub file: u32,
    /// From 1.
    pub line: u32,
    /// From 1, in bytes.
    pub column: u32,
}

/// A place, and where the macro was called that led there.
type Spot = (Place, Option<Place>);

/// Why a file could not be read further.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    spot: Spot,
    message: String,
}

/// Small, since parsing by recursion holds many of them on the stack.
type Result<T, E = Box<Fault>> = std::result::Result<T, E>;

impl Fault {
    fn new(spot: Spot, message: impl Into<String>) -> Box<Self> {
        Box::new(Self { spot, message: message.into() })
    }

    /// What it is to the reader of `file`; `path` gives the path of any file by its number.
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
