//! Compares debug information with BTF, for an index that has both.
use probeidx_format::View;
use probeidx_format::id::FunctionId;
use probeidx_format::record::{FunctionRecord, InBtf};

/// The numbers of functions whose BTF agrees with the debug information, and differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// BTF has the same prototype.
    pub same: usize,
    /// BTF lacks the function.
    pub missing: usize,
    /// BTF has several prototypes of the name.
    pub ambiguous: usize,
    /// BTF has another prototype.
    pub changed: usize,
}

/// Counts the functions with a symbol of their own name; `None` if nothing was compared. Cost: linear in all functions.
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

/// The functions whose BTF differs, by name.
pub fn differences<'a>(view: &View<'a>) -> impl Iterator<Item = (FunctionId, FunctionRecord)> + use<'a> {
    let all = (0..).map(FunctionId::new).zip(view.functions);
    all.filter(|(_, f)| matches!(f.in_btf(), InBtf::Missing | InBtf::Ambiguous | InBtf::Changed))
}

/// The name in JSON and text.
pub fn name(status: InBtf) -> &'static str {
    match status {
        InBtf::Unknown => "unknown",
        InBtf::Same => "same",
        InBtf::Missing => "missing",
        InBtf::Ambiguous => "ambiguous",
        InBtf::Changed => "changed",
    }
}
