//! The kind of an object.

/// The kind of an object, with its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind<'a> {
    Vmlinux,
    Module(&'a str),
    /// A program or shared library.
    User(&'a str),
}

impl<'a> ObjectKind<'a> {
    /// Empty for vmlinux.
    pub fn name(self) -> &'a str {
        match self {
            Self::Vmlinux => "",
            Self::Module(name) | Self::User(name) => name,
        }
    }
}
