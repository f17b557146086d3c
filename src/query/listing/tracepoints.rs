//! Tracepoints, as SystemTap lists them.
use super::{Lines, Lister};
use crate::query::spec::TraceSpec;
use crate::query::tracepoint::{self, Tracepoint};

impl<'a> Lister<'a> {
    /// A line for each, with its parameters: SystemTap lists those that the headers of include/trace/events declare (4.8),
    /// and here are those that the kernel and its modules have.
    pub(super) fn list_tracepoints(&mut self, spec: &TraceSpec, lines: &mut Lines) {
        for tracepoint in tracepoint::matching(&self.view, spec) {
            lines.push(|out| tracepoint.put(out), |out| self.put_parameters(&tracepoint, out));
        }
    }

    fn put_parameters(&mut self, tracepoint: &Tracepoint<'a>, out: &mut Vec<u8>) {
        if !self.with_variables {
            return;
        }
        for parameter in tracepoint.parameters() {
            let spelled = parameter.type_id.and_then(|t| self.spellings.spelled(t));
            let name = self.view.string(parameter.name);
            let Some(spelled) = spelled.filter(|_| !name.is_empty()) else { continue };
            out.extend_from_slice(b" $");
            out.extend_from_slice(name);
            out.push(b':');
            out.extend_from_slice(self.spellings.text(spelled).as_bytes());
        }
    }
}
