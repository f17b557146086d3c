//! What a tracepoint adds to a placement, as C structs.
use crate::text::{Text, Texts};
use probeidx::query::resolve::tracepoint_values::TracepointValues;
use probeidx_format::View;
use probeidx_format::record::EventFieldRecord;

/// `struct probeidx_field`
#[repr(C)]
pub struct Field {
    /// The size of the struct.
    pub size: usize,
    /// Its name.
    pub name: Text,
    /// The type as in the event's format.
    pub type_name: Text,
    /// The offset in the record, in bytes.
    pub offset: u32,
    /// The size in bytes.
    pub bytes: u32,
    /// Whether it is signed.
    pub is_signed: u32,
    /// 0.
    pub reserved32: u32,
}

/// `struct probeidx_tracepoint`
#[repr(C)]
pub struct Tracepoint {
    /// The size of the struct.
    pub size: usize,
    /// The system of its event or its header; empty if neither is known.
    pub system: Text,
    /// Why `dynamic_events` cannot probe it; empty if the placement has a definition.
    pub refusal: Text,
    /// The fields of the event record, without the common ones.
    pub fields: *const *const Field,
    /// The length of `fields`.
    pub field_count: usize,
    /// Whether it has an event, so that tracefs and perf list it.
    pub has_event: u32,
    /// Whether all fields are known.
    pub has_fields: u32,
    /// 0.
    pub reserved: [u64; 2],
}

/// A tracepoint with everything it points to except texts. It is boxed because placements point to it.
pub struct Written {
    /// The struct that a placement points to.
    pub tracepoint: Tracepoint,
    _fields: Vec<Field>,
    _pointers: Vec<*const Field>,
}

impl Written {
    /// Converts a tracepoint.
    pub fn new(view: &View<'_>, traced: &TracepointValues<'_>, texts: &mut Texts) -> Box<Self> {
        let known = traced.tracepoint.fields();
        let fields: Vec<Field> = known.unwrap_or_default().iter().map(|f| field(view, f, texts)).collect();
        let pointers: Vec<*const Field> = fields.iter().map(std::ptr::from_ref).collect();
        let tracepoint = Tracepoint {
            size: size_of::<Tracepoint>(),
            system: texts.of(traced.tracepoint.system()),
            refusal: texts.of(traced.definition.as_ref().err().map_or("", |why| why)),
            fields: pointers.as_ptr(),
            field_count: pointers.len(),
            has_event: traced.tracepoint.has_event().into(),
            has_fields: known.is_some().into(),
            reserved: [0; 2],
        };
        Box::new(Self { tracepoint, _fields: fields, _pointers: pointers })
    }
}

fn field(view: &View<'_>, field: EventFieldRecord, texts: &mut Texts) -> Field {
    Field {
        size: size_of::<Field>(),
        name: texts.of(view.string(field.name)),
        type_name: texts.of(view.string(field.type_name)),
        offset: field.offset.get().into(),
        bytes: field.size.get().into(),
        is_signed: (field.flags.get() & EventFieldRecord::SIGNED != 0).into(),
        reserved32: 0,
    }
}
