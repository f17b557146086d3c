//! Decodes trees: bincode's standard configuration, as [`encode`](super::encode) writes it. Trees are made of few kinds of
//! values, and are decoded by the thousand; this takes half as long as what serves all formats of bincode.
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, SeqAccess, VariantAccess,
    Visitor,
};
use std::fmt;

/// The bytes are not a value of the type.
#[derive(Debug)]
pub struct Invalid;

/// The bytes that are left.
pub struct Reader<'de>(pub &'de [u8]);

impl std::error::Error for Invalid {}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes cannot be decoded")
    }
}

impl serde::de::Error for Invalid {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

impl<'de> Reader<'de> {
    #[inline]
    fn byte(&mut self) -> Result<u8, Invalid> {
        let (first, rest) = self.0.split_first().ok_or(Invalid)?;
        self.0 = rest;
        Ok(*first)
    }

    fn bytes(&mut self, count: usize) -> Result<&'de [u8], Invalid> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(Invalid)?;
        self.0 = rest;
        Ok(bytes)
    }

    /// A number: one byte up to 250, else the byte says of how many it is.
    #[inline]
    fn number(&mut self, most: u64) -> Result<u64, Invalid> {
        let first = self.byte()?;
        if first <= 250 {
            return Ok(first.into());
        }
        self.long_number(first, most)
    }

    #[cold]
    fn long_number(&mut self, first: u8, most: u64) -> Result<u64, Invalid> {
        let length = match first {
            251 => 2,
            252 => 4,
            253 => 8,
            _ => return Err(Invalid),
        };
        // A longer number than the type has is refused, whatever its value.
        if length > 1 + most.ilog2() / 8 {
            return Err(Invalid);
        }
        let bytes = self.bytes(length as usize)?;
        Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn length(&mut self) -> Result<usize, Invalid> {
        self.number(u64::MAX)?.try_into().map_err(|_| Invalid)
    }
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Invalid;

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Invalid> {
        match self.byte()? {
            byte @ 0..=1 => visitor.visit_bool(byte == 1),
            _ => Err(Invalid),
        }
    }
    #[inline]
    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Invalid> {
        visitor.visit_u8(self.byte()?)
    }
    #[inline]
    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Invalid> {
        visitor.visit_u32(self.number(u32::MAX.into())? as u32)
    }
    #[inline]
    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Invalid> {
        visitor.visit_u64(self.number(u64::MAX)?)
    }
    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Invalid> {
        visitor.visit_i64(crate::varint::unzigzag(self.number(u64::MAX)?))
    }
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Invalid> {
        let length = self.length()?;
        visitor.visit_borrowed_str(std::str::from_utf8(self.bytes(length)?).map_err(|_| Invalid)?)
    }
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Invalid> {
        self.deserialize_str(visitor)
    }
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Invalid> {
        match self.byte()? {
            0 => visitor.visit_none(),
            1 => visitor.visit_some(self),
            _ => Err(Invalid),
        }
    }
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Invalid> {
        visitor.visit_newtype_struct(self)
    }
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Invalid> {
        let left = self.length()?;
        visitor.visit_seq(Elements { reader: self, left })
    }
    fn deserialize_tuple<V: Visitor<'de>>(self, left: usize, visitor: V) -> Result<V::Value, Invalid> {
        visitor.visit_seq(Elements { reader: self, left })
    }
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Invalid> {
        self.deserialize_tuple(fields.len(), visitor)
    }
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Invalid> {
        visitor.visit_enum(self)
    }
    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Invalid> {
        Err(Invalid::custom("the bytes do not say what they are"))
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i128 u16 u128 f32 f64 char bytes byte_buf unit unit_struct tuple_struct map identifier ignored_any
    }
}

/// The elements of a sequence, tuple or struct.
struct Elements<'r, 'de> {
    reader: &'r mut Reader<'de>,
    left: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = Invalid;
    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Invalid> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(&mut *self.reader).map(Some)
    }
    fn size_hint(&self) -> Option<usize> {
        Some(self.left.min(self.reader.0.len()))
    }
}

impl<'de> EnumAccess<'de> for &mut Reader<'de> {
    type Error = Invalid;
    type Variant = Self;
    #[inline]
    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Invalid> {
        let number = self.number(u32::MAX.into())? as u32;
        let variant: Result<V::Value, Invalid> = seed.deserialize(number.into_deserializer());
        Ok((variant?, self))
    }
}

impl<'de> VariantAccess<'de> for &mut Reader<'de> {
    type Error = Invalid;
    fn unit_variant(self) -> Result<(), Invalid> {
        Ok(())
    }
    #[inline]
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Invalid> {
        seed.deserialize(self)
    }
    fn tuple_variant<V: Visitor<'de>>(self, left: usize, visitor: V) -> Result<V::Value, Invalid> {
        self.deserialize_tuple(left, visitor)
    }
    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Invalid> {
        self.deserialize_tuple(fields.len(), visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{decode_start, encode};
    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    enum Value {
        Number(u64),
        Signed { value: i64, is: bool },
        Text(String),
        Nothing,
        All(u8, Option<u32>, Vec<Value>),
    }

    fn bincode(bytes: &[u8]) -> Option<(Vec<Value>, usize)> {
        // Without a limit it takes as much memory as a length says.
        let config = bincode::config::standard().with_limit::<{ 1 << 20 }>();
        bincode::serde::decode_from_slice(bytes, config).ok()
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<u64>().prop_map(Value::Number),
            (any::<i64>(), any::<bool>()).prop_map(|(value, is)| Value::Signed { value, is }),
            any::<String>().prop_map(Value::Text),
            Just(Value::Nothing),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            (any::<u8>(), any::<Option<u32>>(), prop::collection::vec(inner, 0..5))
                .prop_map(|(kind, some, all)| Value::All(kind, some, all))
        })
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(values in prop::collection::vec(value(), 0..5)) {
            let bytes = encode(&values);
            let length = bytes.len();
            prop_assert_eq!(decode_start(&bytes), Some((values, length)));
        }

        #[test]
        fn bytes_that_lie_are_refused_where_bincode_refuses_them(
            values in prop::collection::vec(value(), 0..3),
            at: prop::sample::Index,
            byte: u8,
        ) {
            let mut bytes = encode(&values);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            prop_assert_eq!(decode_start::<Vec<Value>>(&bytes), bincode(&bytes));
        }

        #[test]
        fn any_bytes_mean_what_they_mean_to_bincode(bytes: Vec<u8>) {
            prop_assert_eq!(decode_start::<Vec<Value>>(&bytes), bincode(&bytes));
        }
    }
}
