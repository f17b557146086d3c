//! Values of the library as objects of Python: what JSON would have, without text in between.
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use serde::ser::{self, Serialize};
use std::fmt;

/// Makes dictionaries, lists, strings and numbers of a value.
///
/// # Errors
/// Those of Python, such as no memory.
pub fn to_python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    value.serialize(Objects(py)).map_err(|error| error.0)
}

/// A value that is handed over as [`to_python`] makes it.
pub struct Tree<T>(pub T);

impl<'py, T: Serialize> IntoPyObject<'py> for Tree<T> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;
    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        to_python(py, &self.0)
    }
}

/// The serializer.
#[derive(Clone, Copy)]
struct Objects<'py>(Python<'py>);

type Object<'py> = Bound<'py, PyAny>;

/// An error of Python within serde's.
#[derive(Debug)]
struct Failed(PyErr);

impl From<PyErr> for Failed {
    fn from(error: PyErr) -> Self {
        Self(error)
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Failed {}

impl ser::Error for Failed {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(pyo3::exceptions::PyValueError::new_err(message.to_string()))
    }
}

impl<'py> Objects<'py> {
    fn of(self, value: impl IntoPyObject<'py>) -> Result<Object<'py>, Failed> {
        Ok(value.into_bound_py_any(self.0)?)
    }

    /// `{variant: value}`, as JSON has it.
    fn tagged(self, variant: &'static str, value: Object<'py>) -> Result<Object<'py>, Failed> {
        let object = PyDict::new(self.0);
        object.set_item(PyString::intern(self.0, variant), value)?;
        Ok(object.into_any())
    }
}

macro_rules! plain {
    ($($method:ident $kind:ty),*) => {
        $(fn $method(self, value: $kind) -> Result<Self::Ok, Failed> {
            self.of(value)
        })*
    };
}

impl<'py> ser::Serializer for Objects<'py> {
    type Ok = Object<'py>;
    type Error = Failed;
    type SerializeSeq = List<'py>;
    type SerializeTuple = List<'py>;
    type SerializeTupleStruct = List<'py>;
    type SerializeTupleVariant = List<'py>;
    type SerializeMap = Dictionary<'py>;
    type SerializeStruct = Dictionary<'py>;
    type SerializeStructVariant = Dictionary<'py>;

    plain! {
        serialize_bool bool, serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64, serialize_u8 u8,
        serialize_u16 u16, serialize_u32 u32, serialize_u64 u64, serialize_f32 f32, serialize_f64 f64, serialize_char char,
        serialize_str &str
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<Self::Ok, Failed> {
        self.of(value.to_vec())
    }
    fn serialize_none(self) -> Result<Self::Ok, Failed> {
        self.serialize_unit()
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Self::Ok, Failed> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<Self::Ok, Failed> {
        Ok(self.0.None().into_bound(self.0))
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<Self::Ok, Failed> {
        self.serialize_unit()
    }
    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Self::Ok, Failed> {
        self.of(variant)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Self::Ok, Failed> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Self::Ok, Failed> {
        self.tagged(variant, value.serialize(self)?)
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<List<'py>, Failed> {
        Ok(List { list: PyList::empty(self.0), variant: None })
    }
    fn serialize_tuple(self, length: usize) -> Result<List<'py>, Failed> {
        self.serialize_seq(Some(length))
    }
    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<List<'py>, Failed> {
        self.serialize_seq(Some(length))
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<List<'py>, Failed> {
        Ok(List { list: PyList::empty(self.0), variant: Some(variant) })
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Dictionary<'py>, Failed> {
        Ok(Dictionary { objects: self, object: PyDict::new(self.0), key: None, variant: None })
    }
    fn serialize_struct(self, _: &'static str, length: usize) -> Result<Dictionary<'py>, Failed> {
        self.serialize_map(Some(length))
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Dictionary<'py>, Failed> {
        Ok(Dictionary { variant: Some(variant), ..self.serialize_map(Some(length))? })
    }
}

struct List<'py> {
    list: Bound<'py, PyList>,
    variant: Option<&'static str>,
}

impl<'py> List<'py> {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        Ok(self.list.append(value.serialize(Objects(self.list.py()))?)?)
    }
    fn whole(self) -> Result<Object<'py>, Failed> {
        let (py, list) = (self.list.py(), self.list.into_any());
        match self.variant {
            Some(variant) => Objects(py).tagged(variant, list),
            None => Ok(list),
        }
    }
}

macro_rules! list {
    ($($of:ident $method:ident),*) => {
        $(impl<'py> ser::$of for List<'py> {
            type Ok = Object<'py>;
            type Error = Failed;
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
                self.push(value)
            }
            fn end(self) -> Result<Object<'py>, Failed> {
                self.whole()
            }
        })*
    };
}
list!(
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field
);

struct Dictionary<'py> {
    objects: Objects<'py>,
    object: Bound<'py, PyDict>,
    key: Option<Object<'py>>,
    variant: Option<&'static str>,
}

impl<'py> Dictionary<'py> {
    fn whole(self) -> Result<Object<'py>, Failed> {
        match self.variant {
            Some(variant) => self.objects.tagged(variant, self.object.into_any()),
            None => Ok(self.object.into_any()),
        }
    }
}

impl<'py> ser::SerializeMap for Dictionary<'py> {
    type Ok = Object<'py>;
    type Error = Failed;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Failed> {
        self.key = Some(key.serialize(self.objects)?);
        Ok(())
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        let key = self.key.take().ok_or_else(|| <Failed as ser::Error>::custom("a value without a key"))?;
        Ok(self.object.set_item(key, value.serialize(self.objects)?)?)
    }
    fn end(self) -> Result<Object<'py>, Failed> {
        self.whole()
    }
}

macro_rules! dictionary {
    ($($of:ident),*) => {
        $(impl<'py> ser::$of for Dictionary<'py> {
            type Ok = Object<'py>;
            type Error = Failed;
            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Failed> {
                let value = value.serialize(self.objects)?;
                Ok(self.object.set_item(PyString::intern(self.objects.0, key), value)?)
            }
            fn end(self) -> Result<Object<'py>, Failed> {
                self.whole()
            }
        })*
    };
}
dictionary!(SerializeStruct, SerializeStructVariant);
