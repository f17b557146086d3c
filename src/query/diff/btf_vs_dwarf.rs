//! Debug information and BTF compared, as far as an index has both.
use probeidx_format::View;
use probeidx_format::id::FunctionId;
use probeidx_format::record::{FunctionRecord, InBtf};

/// How many functions BTF tells as debug information does, and how many not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// With the same prototype.
    pub same: usize,
    /// Not at all.
    pub missing: usize,
    /// With several prototypes of one name.
    pub ambiguous: usize,
    /// With another prototype.
    pub changed: usize,
}

/// Counts the functions that have a symbol of their own name; none if nothing was compared. Cost: of all functions.
pub fn compared(view: &View<'_>) -> Option<Compared> {
    let mut counted = Compared::default();
    for function in view.functions {
        match function.in_btf() {
            InBtf::Unknown => {}
            InBtf::Same => counted.same += 1,
            InBtf::Missing => counted.missing += 1,
            InBtf::Ambiguous => counted.ambiguous += 1,
            InBtf::Changed => counted.changed += 1,
        }
    }
    (counted != Compared::default()).then_some(counted)
}

/// The functions that BTF tells otherwise, by name.
pub fn differences<'a>(view: &View<'a>) -> impl Iterator<Item = (FunctionId, &'a FunctionRecord)> + use<'a> {
    let all = (0..).map(FunctionId::new).zip(view.functions);
    all.filter(|(_, f)| matches!(f.in_btf(), InBtf::Missing | InBtf::Ambiguous | InBtf::Changed))
}

/// As JSON and text print it.
pub fn name(status: InBtf) -> &'static str {
    match status {
        InBtf::Unknown => "unknown",
        InBtf::Same => "same",
        InBtf::Missing => "missing",
        InBtf::Ambiguous => "ambiguous",
        InBtf::Changed => "changed",
    }
}
