//! Tracepoints, events of tracefs, and what BTF has by a name of its own.
use super::super::outcome::{Finding, State};
use super::Attacher;
use crate::pattern::Pattern;
use crate::query::index::functions;
use crate::query::resolve::tracepoint::{self, Tracepoint};
use crate::query::spec::TraceSpec;

/// An event or tracepoint with notes on it, or why there is none.
pub type Found<'a> = Result<(Tracepoint<'a>, Vec<Finding>), Box<Finding>>;

impl<'a> Attacher<'a> {
    /// The event of tracefs, or why there is none.
    ///
    /// # Errors
    /// A finding with `ENOENT`, which opening its `id` gives.
    pub fn event(&self, category: &[u8], name: &[u8]) -> Found<'a> {
        let asked = asked(Some(category), name, true);
        let found = tracepoint::matching(self.view, &asked).find(Tracepoint::has_event);
        match found {
            Some(found) => Ok((found, self.of_module(&found).into_iter().collect())),
            None => Err(Box::new(self.no_event(&asked, "ENOENT"))),
        }
    }

    /// A tracepoint without its event: `raw_tp` (`ENOENT` if it is not there) and `tp_btf` (`ESRCH`).
    ///
    /// # Errors
    /// A finding with that error.
    pub fn raw_tracepoint(&self, name: &[u8], errno: &'static str) -> Found<'a> {
        let asked = asked(None, name, false);
        match tracepoint::matching(self.view, &asked).next() {
            Some(found) => Ok((found, self.of_module(&found).into_iter().collect())),
            None => Err(Box::new(self.no_event(&asked, errno))),
        }
    }

    /// An iterator: BTF has `bpf_iter_NAME` (`DEFINE_BPF_ITER_FUNC`, include/linux/bpf.h).
    pub fn iterator(&self, name: &[u8]) -> Vec<Finding> {
        let function = [b"bpf_iter_", name].concat();
        match functions::of_name(self.view, &function).next() {
            Some(_) => self.of_target(name).into_iter().collect(),
            None => {
                let text = String::from_utf8_lossy(name);
                vec![Finding::new(State::Absent, text, "the kernel has no such iterator").errno("ESRCH")]
            }
        }
    }

    /// Iterators over the parts of one thing: libbpf attaches them only where the loader says which (`EBADF` for maps,
    /// `map_iter.c`; `EINVAL` without an order for cgroups, `cgroup_iter.c`, kernel/bpf, 7.3).
    fn of_target(&self, name: &[u8]) -> Option<Finding> {
        let what = match name {
            b"cgroup" => "cgroup",
            b"bpf_map_elem" | b"bpf_sk_storage_map" | b"sockmap" => "map",
            _ => return None,
        };
        let reason = format!(
            "it attaches only where the loader names a {what}, and the object does not say whether it does"
        );
        let instead = format!("bpf_program__attach_iter with the {what} in bpf_iter_link_info");
        Some(Finding::new(State::Undecided, String::from_utf8_lossy(name), reason).instead([instead]))
    }

    fn no_event(&self, asked: &TraceSpec, errno: &'static str) -> Finding {
        let text = match &asked.system {
            Some(system) => format!("{system}:{}", asked.event),
            None => asked.event.to_string(),
        };
        let why = tracepoint::absence(self.view, asked);
        match tracepoint::are_unknown(self.view) {
            true => Finding::new(State::Undecided, text, why),
            false => Finding::new(State::Absent, text, why).errno(errno),
        }
    }

    fn of_module(&self, found: &Tracepoint<'_>) -> Option<Finding> {
        Some(Finding::in_module(String::from_utf8_lossy(found.name()), found.module()?))
    }
}

fn asked(system: Option<&[u8]>, name: &[u8], with_system_calls: bool) -> TraceSpec {
    let literal = |text: &[u8]| Pattern::literal(&String::from_utf8_lossy(text));
    TraceSpec { system: system.map(literal), event: literal(name), with_system_calls, by_number: None }
}
