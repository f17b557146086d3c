//! What the library says of an address, by the names that it prints.
use probeidx_format::View;
use probeidx_format::id::ObjectId;

/// `ok`, or the name of the reason why not.
pub struct Predicted {
    /// `register_kprobe`.
    pub kprobe: &'static str,
    /// `p` in `kprobe_events`.
    pub kprobe_events: &'static str,
    /// `r` in `kprobe_events`.
    pub kretprobe: &'static str,
    /// A site of ftrace.
    pub fentry: &'static str,
}

/// Nothing is predicted yet: every answer of the kernel counts as undecided.
pub fn predictor(_view: View<'_>) -> impl Fn(ObjectId, u32, bool) -> Predicted {
    |_object, _pc, _is_inline| {
        let undecided = "undecided";
        Predicted { kprobe: undecided, kprobe_events: undecided, kretprobe: undecided, fentry: undecided }
    }
}
