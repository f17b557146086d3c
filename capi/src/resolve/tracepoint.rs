//! What stands beside a placement that is a tracepoint, as C has it.
use crate::text::{Text, Texts};
use probeidx::query::resolve::tracepoint_values::TracepointValues;
use probeidx_format::View;
use probeidx_format::record::EventFieldRecord;

/// `struct probeidx_field`
#[repr(C)]
pub struct Field {
    /// Of the struct.
    pub size: usize,
    /// Its name.
    pub name: Text,
    /// As the format of the event spells it.
    pub type_name: Text,
    /// In the record, in bytes.
    pub offset: u32,
    /// Its size.
    pub bytes: u32,
    /// Whether the number has a sign.
    pub is_signed: u32,
    /// 0.
    pub reserved32: u32,
}

/// `struct probeidx_tracepoint`
#[repr(C)]
pub struct Tracepoint {
    /// Of the struct.
    pub size: usize,
    /// That of its event, or of its header; empty where neither is known.
    pub system: Text,
    /// Why `dynamic_events` take none of it; empty where the placement has a definition.
    pub refusal: Text,
    /// Of the event's record, without those that all events have.
    pub fields: *const *const Field,
    /// How many.
    pub field_count: usize,
    /// Whether an event records it: tracefs and perf know it then.
    pub has_event: u32,
    /// Whether the fields are all known.
    pub has_fields: u32,
    /// 0.
    pub reserved: [u64; 2],
}

/// A tracepoint, with all to which it points but the texts. It is boxed: placements point to it.
pub struct Written {
    /// What a placement points to.
    pub tracepoint: Tracepoint,
    _fields: Vec<Field>,
    _pointers: Vec<*const Field>,
}

impl Written {
    /// As it was found.
    pub fn new(view: &View<'_>, traced: &TracepointValues<'_>, texts: &mut Texts) -> Box<Self> {
        let known = traced.tracepoint.fields();
        let fields: Vec<Field> = known.unwrap_or_default().iter().map(|f| field(view, f, texts)).collect();
        let pointers: Vec<*const Field> = fields.iter().map(std::ptr::from_ref).collect();
        let tracepoint = Tracepoint {
            size: size_of::<Tracepoint>(),
            system: texts.of(traced.tracepoint.system()),
            refusal: texts.keep(traced.definition.as_ref().err().map_or("", |why| why)),
            fields: pointers.as_ptr(),
            field_count: pointers.len(),
            has_event: traced.tracepoint.has_event().into(),
            has_fields: known.is_some().into(),
            reserved: [0; 2],
        };
        Box::new(Self { tracepoint, _fields: fields, _pointers: pointers })
    }
}

fn field(view: &View<'_>, field: &EventFieldRecord, texts: &mut Texts) -> Field {
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
