//! How the value of a field is shown, without the index that knows its type.

/// How a number, an address or a string of a record is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// In decimal.
    Signed,
    /// In decimal.
    Unsigned,
    /// In hexadecimal.
    Hexadecimal,
    /// `true` or `false`.
    Boolean,
    /// A character and its code.
    Character,
    /// Text, quoted.
    Text,
    /// An enumerator by name, or several with `|` if their values are bits; the number if none fits.
    Enumerators {
        /// Values and names, ascending by value.
        named: Vec<(i64, String)>,
        /// Whether all values are different bits.
        are_bits: bool,
    },
    /// A pointer to code or data: a symbol with its distance where one is near, else in hexadecimal.
    Address,
    /// A number that is an error if it is in -4095..0: `-ENOENT`.
    Result,
}
