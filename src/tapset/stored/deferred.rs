//! Parts of trees that are decoded when they are first used.
use std::fmt;
use std::ops::{Deref, DerefMut, Range};
use std::sync::{Arc, OnceLock};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::super::Place;
use super::tree;

/// The end of a tree, encoded like its content. If the bytes turn out to be damaged, it is empty, and the tables that it
/// is from know.
#[derive(Clone)]
pub struct Deferred<T> {
    decoded: OnceLock<Box<T>>,
    encoded: Option<Encoded>,
}

/// The bytes from which a part is decoded.
#[derive(Clone, Debug)]
pub(super) struct Encoded {
    pub bytes: Bytes,
    /// The last place before it.
    pub before: Place,
    /// The number of its definition.
    pub number: usize,
    /// The first damaged definition.
    pub damaged: Arc<OnceLock<usize>>,
}

/// Bytes of a block that several definitions share.
#[derive(Clone, Debug, Default)]
pub(super) struct Bytes {
    block: Arc<Vec<u8>>,
    range: Range<usize>,
}

impl Bytes {
    /// A part of a block; empty if it lies outside.
    pub fn of(block: &Arc<Vec<u8>>, range: Range<usize>) -> Self {
        Self { block: block.clone(), range }
    }
    /// All but the first bytes.
    pub fn after(mut self, start: usize) -> Self {
        self.range.start += start;
        self
    }
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.block.get(self.range.clone()).unwrap_or_default()
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self { range: 0..bytes.len(), block: Arc::new(bytes) }
    }
}

impl<T> Deferred<T> {
    pub(super) fn new(encoded: Encoded) -> Self {
        Self { decoded: OnceLock::new(), encoded: Some(encoded) }
    }
}

impl<T> From<T> for Deferred<T> {
    fn from(part: T) -> Self {
        Self { decoded: OnceLock::from(Box::new(part)), encoded: None }
    }
}

impl<T: DeserializeOwned + Default> Deref for Deferred<T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.decoded.get_or_init(|| {
            let decoded = self.encoded.as_ref().map(|Encoded { bytes, before, number, damaged }| {
                tree::decode_from(bytes, *before).unwrap_or_else(|| {
                    let _ = damaged.set(*number);
                    Box::default()
                })
            });
            decoded.unwrap_or_default()
        })
    }
}

impl<T: DeserializeOwned + Default> DerefMut for Deferred<T> {
    fn deref_mut(&mut self) -> &mut T {
        let _: &T = self;
        self.decoded.get_mut().expect("it has just been decoded")
    }
}

impl<T: DeserializeOwned + Default + fmt::Debug> fmt::Debug for Deferred<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: DeserializeOwned + Default + Serialize> Serialize for Deferred<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(to)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Deferred<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::deserialize(from).map(Self::from)
    }
}
