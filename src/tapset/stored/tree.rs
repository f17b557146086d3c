//! How trees are encoded, where it differs from serde's derived encoding.
//!
//! A place is encoded as the difference from the previous one, an operator as its number in [`OPERATORS`]. Decoding
//! accepts any bytes: no tree is deeper than [`DEEPEST`].
use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeOwned, Error, SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::super::Place;
use super::super::ast::Operator;

/// The maximum depth of a tree: more than the parser creates, which limits nesting and chains of operators.
const DEEPEST: u32 = 700;

/// All operators and statistics. Part of the format: append new ones at the end.
const OPERATORS: [&str; 47] = [
    "",
    "=",
    "<<<",
    "+=",
    "-=",
    "*=",
    "/=",
    "%=",
    "<<=",
    ">>=",
    "&=",
    "^=",
    "|=",
    ".=",
    "+",
    "-",
    "!",
    "~",
    "++",
    "--",
    "||",
    "&&",
    "|",
    "^",
    "&",
    "in",
    "<",
    ">",
    "==",
    "!=",
    "<=",
    ">=",
    "=~",
    "!~",
    "<<",
    ">>",
    ">>>",
    ".",
    "*",
    "/",
    "%",
    "@avg",
    "@variance",
    "@count",
    "@sum",
    "@min",
    "@max",
];

thread_local! {
    /// The place encoded or decoded last.
    static LAST: Cell<Place> = const { Cell::new(Place { file: 0, line: 0, column: 0 }) };
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Encodes a tree.
pub fn encode(tree: &impl Serialize) -> Vec<u8> {
    LAST.set(Place::default());
    probeidx_format::tapset::encode(tree)
}

/// Decodes a tree; `None` for invalid bytes.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    decode_from(bytes, Place::default())
}

/// Decodes the end of a tree, given the last place before it; `None` for invalid bytes.
pub fn decode_from<T: DeserializeOwned>(bytes: &[u8], before: Place) -> Option<T> {
    LAST.set(before);
    DEPTH.set(0);
    probeidx_format::tapset::decode(bytes)
}

/// Decodes the start of a tree: also returns the number of its bytes, and the last place in it.
pub fn decode_start<T: DeserializeOwned>(bytes: &[u8]) -> Option<(T, usize, Place)> {
    LAST.set(Place::default());
    DEPTH.set(0);
    let (start, length) = probeidx_format::tapset::decode_start(bytes)?;
    Some((start, length, LAST.get()))
}

/// Decodes a recursive type.
pub fn deeper<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    let depth = DEPTH.get() + 1;
    if depth > DEEPEST {
        return Err(D::Error::custom("the tree is too deep"));
    }
    DEPTH.set(depth);
    let read = T::deserialize(from);
    DEPTH.set(depth - 1);
    read
}

/// In the same line, a number with lowest bit 0: the distance in columns. Otherwise, with that bit set, the column;
/// then the distance in lines, whose lowest bit says whether a file follows.
impl Serialize for Place {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let last = LAST.replace(*self);
        let mut parts = to.serialize_tuple(3)?;
        if (self.file, self.line) == (last.file, last.line) {
            parts.serialize_element(&(zigzag(self.column, last.column) << 1))?;
            return parts.end();
        }
        parts.serialize_element(&(u64::from(self.column) << 1 | 1))?;
        let another = self.file != last.file;
        parts.serialize_element(&(zigzag(self.line, last.line) << 1 | u64::from(another)))?;
        if another {
            parts.serialize_element(&self.file)?;
        }
        parts.end()
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Parts;
        impl<'de> Visitor<'de> for Parts {
            type Value = Place;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a place")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Place, A::Error> {
                let mut number = || parts.next_element::<u64>().map(Option::unwrap_or_default);
                let mut place = LAST.get();
                let column = number()?;
                if column & 1 == 0 {
                    place.column = moved(place.column, column >> 1);
                    return Ok(place);
                }
                place.column = (column >> 1) as u32;
                let line = number()?;
                place.line = moved(place.line, line >> 1);
                if line & 1 != 0 {
                    place.file = number()? as u32;
                }
                Ok(place)
            }
        }
        let place = from.deserialize_tuple(3, Parts)?;
        LAST.set(place);
        Ok(place)
    }
}

fn zigzag(to: u32, from: u32) -> u64 {
    probeidx_format::varint::zigzag(i64::from(to) - i64::from(from))
}

fn moved(from: u32, by: u64) -> u32 {
    i64::from(from).wrapping_add(probeidx_format::varint::unzigzag(by)) as u32
}

/// Encodes an operator as its number.
pub mod operator {
    use super::*;

    pub fn serialize<S: Serializer>(operator: &Operator, to: S) -> Result<S::Ok, S::Error> {
        let number = OPERATORS.iter().position(|known| known == operator).unwrap_or_default();
        to.serialize_u8(number as u8)
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Operator, D::Error> {
        let number = u8::deserialize(from)?;
        OPERATORS.get(usize::from(number)).copied().ok_or_else(|| D::Error::custom("no such operator"))
    }
}

/// Decodes a text without a buffer in between.
pub fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    struct Text;
    impl Visitor<'_> for Text {
        type Value = String;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text")
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
            Ok(text.to_owned())
        }
    }
    from.deserialize_str(Text)
}

/// Encodes an optional statistic as its number among the operators.
pub mod statistic {
    use super::*;

    pub fn serialize<S: Serializer>(statistic: &Option<Operator>, to: S) -> Result<S::Ok, S::Error> {
        operator::serialize(&statistic.unwrap_or_default(), to)
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Operator>, D::Error> {
        operator::deserialize(from).map(|name| Some(name).filter(|name| !name.is_empty()))
    }
}

/// Encodes an optional shared value.
pub mod shared {
    use super::*;
    use std::sync::Arc;

    pub fn serialize<T: Serialize, S: Serializer>(of: &Option<Arc<T>>, to: S) -> Result<S::Ok, S::Error> {
        of.as_deref().serialize(to)
    }
    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Arc<T>>, D::Error> {
        Ok(Option::<T>::deserialize(from)?.map(Arc::new))
    }
}

/// Encodes a shared list.
pub mod sequence {
    use super::*;
    use std::sync::Arc;

    pub fn serialize<T: Serialize, S: Serializer>(of: &Arc<[T]>, to: S) -> Result<S::Ok, S::Error> {
        (**of).serialize(to)
    }
    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Arc<[T]>, D::Error> {
        Vec::deserialize(from).map(Arc::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tapset::ast::{Expression, ExpressionKind, Literal};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn places_are_read_as_they_were_written(places: Vec<(u8, u32, u32)>) {
            let places: Vec<Place> =
                places.into_iter().map(|(file, line, column)| Place { file: file.into(), line, column }).collect();
            prop_assert_eq!(decode::<Vec<Place>>(&encode(&places)), Some(places));
        }

        #[test]
        fn any_bytes_are_a_tree_or_none(bytes: Vec<u8>) {
            let _ = decode::<Vec<Expression>>(&bytes);
        }
    }

    #[test]
    fn a_tree_that_is_too_deep_is_none() {
        let nested = |depth: usize| {
            let zero =
                Expression { place: Place::default(), kind: ExpressionKind::Literal(Literal::Number(0)) };
            (0..depth).fold(zero, |inner, _| Expression {
                place: Place::default(),
                kind: ExpressionKind::Unary { operator: "-", operand: Box::new(inner) },
            })
        };
        // Without optimisation, a test thread's stack is too small for what the parser allows.
        let read = move || {
            assert!(decode::<Expression>(&encode(&nested(650))).is_some());
            assert!(decode::<Expression>(&encode(&nested(2_000))).is_none());
        };
        let thread = std::thread::Builder::new().stack_size(128 << 20).spawn(read).unwrap();
        thread.join().unwrap();
    }
}
