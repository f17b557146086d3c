//! Tracepoints, events of tracefs, and what BTF has by a name of its own.
use super::super::outcome::{Finding, Severity, State};
use super::Attacher;
use crate::pattern::Pattern;
use crate::query::index::functions;
use crate::query::resolve::tracepoint::{self, Tracepoint};
use crate::query::spec::TraceSpec;
use probeidx_format::View;

impl<'a> Attacher<'a> {
    /// The event of tracefs, or why there is none.
    ///
    /// # Errors
    /// A finding with `ENOENT`, which opening its `id` gives.
    pub fn event(
        &self,
        category: &[u8],
        name: &[u8],
    ) -> Result<(Tracepoint<'a>, Vec<Finding>), Box<Finding>> {
        let asked = asked(Some(category), name, true);
        let found = tracepoint::matching(self.view, &asked).find(Tracepoint::has_event);
        match found {
            Some(found) => Ok((found, self.of_module(&found).into_iter().collect())),
            None => Err(Box::new(self.no_event(&asked).errno("ENOENT"))),
        }
    }

    /// A tracepoint without its event: `raw_tp` (`ENOENT` if it is not there) and `tp_btf` (`ESRCH`).
    ///
    /// # Errors
    /// A finding with that error.
    pub fn raw_tracepoint(
        &self,
        name: &[u8],
        errno: &'static str,
    ) -> Result<(Tracepoint<'a>, Vec<Finding>), Box<Finding>> {
        let asked = asked(None, name, false);
        match tracepoint::matching(self.view, &asked).next() {
            Some(found) => Ok((found, self.of_module(&found).into_iter().collect())),
            None => Err(Box::new(self.no_event(&asked).errno(errno))),
        }
    }

    /// An iterator: BTF has `bpf_iter_NAME` (`DEFINE_BPF_ITER_FUNC`, include/linux/bpf.h).
    pub fn iterator(&self, name: &[u8]) -> Vec<Finding> {
        let function = [b"bpf_iter_", name].concat();
        let found = self.view.name(&function).filter(|name| !self.view.functions_named(*name).is_empty());
        match found {
            Some(_) => vec![],
            None => {
                let text = String::from_utf8_lossy(name);
                vec![Finding::new(State::Absent, text, "the kernel has no such iterator").errno("ESRCH")]
            }
        }
    }

    fn no_event(&self, asked: &TraceSpec) -> Finding {
        let text = match &asked.system {
            Some(system) => format!("{system}:{}", asked.event),
            None => asked.event.to_string(),
        };
        Finding::new(State::Absent, text, tracepoint::absence(self.view, asked))
    }

    fn of_module(&self, found: &Tracepoint<'_>) -> Option<Finding> {
        let module = String::from_utf8_lossy(found.module()?);
        let reason = format!("it is in module {module}, which has to be loaded");
        let name = String::from_utf8_lossy(found.name());
        Some(Finding::new(State::Module, name, reason).severity(Severity::Note))
    }
}

/// Whether the kernel has a tracepoint of this name.
pub fn has_tracepoint(view: &View<'_>, name: &[u8]) -> bool {
    functions::kernel(view).is_some()
        && tracepoint::matching(view, &asked(None, name, false)).next().is_some()
}

fn asked(system: Option<&[u8]>, name: &[u8], with_system_calls: bool) -> TraceSpec {
    let literal = |text: &[u8]| Pattern::literal(&String::from_utf8_lossy(text));
    TraceSpec { system: system.map(literal), event: literal(name), with_system_calls }
}
