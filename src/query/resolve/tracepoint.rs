//! Tracepoints: `kernel.trace("sched:sched_switch")`.
use crate::nearest;
use crate::query::index::symbols;
use crate::query::spec::TraceSpec;
use probeidx_format::View;
use probeidx_format::id::{FunctionId, ObjectId};
use probeidx_format::record::{EventFieldRecord, FunctionRecord, TracepointRecord};
use probeidx_format::variables::Variable;

/// A tracepoint of an object.
#[derive(Clone, Copy)]
pub struct Tracepoint<'a> {
    view: View<'a>,
    record: &'a TracepointRecord,
}

/// The tracepoints of a pattern, by name, system and object. SystemTap's patterns mean the same (`tracepoint_query`,
/// tapsets.cxx of 4.8), over what the headers declare. Cost: of a literal name a binary search, else a look at each.
pub fn matching<'a>(view: &View<'a>, spec: &TraceSpec) -> impl Iterator<Item = Tracepoint<'a>> + use<'a> {
    let view = *view;
    let named = match spec.event.is_literal() {
        true => view.tracepoints_named(spec.event.literal_prefix().as_bytes()),
        false => view.tracepoints,
    };
    let spec = spec.clone();
    named.iter().map(move |record| Tracepoint { view, record }).filter(move |t| {
        spec.event.matches(t.name()) && spec.system.as_ref().is_none_or(|asked| asked.matches(t.system()))
    })
}

impl<'a> Tracepoint<'a> {
    /// Its name, which is the event's too.
    pub fn name(&self) -> &'a [u8] {
        self.view.string(self.record.name)
    }
    /// That of its event, or of its header; empty where neither is known.
    pub fn system(&self) -> &'a [u8] {
        self.view.string(self.record.system)
    }
    /// Where it is.
    pub fn object(&self) -> ObjectId {
        self.record.object
    }
    /// The module's name; `None` for vmlinux.
    pub fn module(&self) -> Option<&'a [u8]> {
        let name = self.view.string(self.view.objects.get(self.record.object.index())?.name);
        (!name.is_empty()).then_some(name)
    }
    /// The address of its `struct tracepoint`: of the link in vmlinux, in a module within the section.
    pub fn address(&self) -> u64 {
        symbols::address(&self.view, self.record.object, self.record.pc.get())
    }
    /// The same as the index has it.
    pub fn pc(&self) -> u32 {
        self.record.pc.get()
    }
    /// Whether an event records it: tracefs and perf know it then.
    pub fn has_event(&self) -> bool {
        self.record.has(TracepointRecord::EVENT)
    }
    /// The fields of the event's record, without those that all events have; `None` where not all are known.
    pub fn fields(&self) -> Option<&'a [EventFieldRecord]> {
        self.record.has(TracepointRecord::FIELDS).then(|| self.view.event_fields(self.record))
    }
    /// The function that has its parameters, where one is known.
    pub fn prototype(&self) -> Option<FunctionId> {
        self.record.prototype.some()
    }
    /// Its parameters, in order: names and types. None where no function is known that has them.
    pub fn parameters(&self) -> impl Iterator<Item = Variable> + use<'a> {
        let view = self.view;
        let parameters = self.function().map(|f| view.variables(f).filter(|v| v.parameter));
        // What was registered with the probe stands before them (`DEFINE_TRACE_FN`, include/linux/tracepoint.h).
        parameters.into_iter().flatten().filter(move |v| view.string(v.name) != b"__data")
    }
    /// The file that declares it, and the line: that of the end of the declaration with GCC.
    pub fn declared(&self) -> Option<(&'a [u8], u32)> {
        self.function().map(|f| (self.view.string(f.file), f.line.get()))
    }
    fn function(&self) -> Option<&'a FunctionRecord> {
        self.view.functions.get(self.prototype()?.index())
    }

    /// Appends `kernel.trace("sched:sched_switch")`, as SystemTap spells it, whatever the object.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"kernel.trace(\"");
        if !self.system().is_empty() {
            out.extend_from_slice(self.system());
            out.push(b':');
        }
        out.extend_from_slice(self.name());
        out.extend_from_slice(b"\")");
    }

    /// The name of the section that holds it.
    pub fn section(&self) -> &'a [u8] {
        let section = symbols::section(&self.view, self.record.object, self.record.pc.get());
        section.map_or(&[], |s| self.view.string(s.name))
    }
}

/// Why nothing matches a pattern: which systems have the event, and names that are near.
pub fn absence(view: &View<'_>, spec: &TraceSpec) -> String {
    let lossy = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    let asked = match &spec.system {
        Some(system) => format!("{system}:{}", spec.event),
        None => spec.event.to_string(),
    };
    let what = format!("no tracepoint {asked}");
    let of_others: Vec<String> = matching(view, &TraceSpec { system: None, event: spec.event.clone() })
        .map(|t| lossy(t.system()) + ":" + &lossy(t.name()))
        .take(3)
        .collect();
    if spec.system.is_some() && !of_others.is_empty() {
        return format!("{what}; there is {}", of_others.join(", "));
    }
    if !spec.event.is_literal() {
        return what;
    }
    // Events of single system calls record no tracepoint of their own (kernel/trace/trace_syscalls.c).
    let name = spec.event.literal_prefix();
    for raw in ["sys_enter", "sys_exit"] {
        if name.strip_prefix(raw).is_some_and(|rest| rest.starts_with('_')) {
            return format!("{what}: all system calls share kernel.trace(\"raw_syscalls:{raw}\")");
        }
    }
    let names = view.tracepoints.iter().filter_map(|t| std::str::from_utf8(view.string(t.name)).ok());
    let near = nearest::nearest(name, names, 5);
    match near.is_empty() {
        true => what,
        false => format!("{what}; did you mean {}?", near.join(", ")),
    }
}
