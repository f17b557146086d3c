//! Tracepoints, `kernel.trace("sched:sched_switch")` and `kernel.tracepoint("sched_switch")`, and events of system calls,
//! `syscalls:sys_enter_openat`.
use crate::nearest;
use crate::pattern::Pattern;
use crate::query::index::functions::Scope;
use crate::query::index::symbols;
use crate::query::spec::{ModuleScope, TraceSpec};
use crate::query::types::lookup;
use probeidx_format::id::{FunctionId, ObjectId};
use probeidx_format::record::{EventFieldRecord, FunctionRecord, TracepointRecord};
use probeidx_format::types::TypeKind;
use probeidx_format::variables::Variable;
use probeidx_format::{Table, View};
use std::borrow::Cow;

/// A tracepoint of an object.
#[derive(Clone, Copy)]
pub struct Tracepoint<'a> {
    view: &'a View<'a>,
    record: &'a TracepointRecord,
    by_number: bool,
    returns: bool,
}

/// A parameter of a tracepoint.
#[derive(Clone, Debug)]
pub struct Parameter<'a> {
    /// The name that handlers use.
    pub name: Cow<'a, [u8]>,
    /// Its position among all, from 1.
    pub number: u32,
    /// Its own name and type.
    pub variable: Variable,
}

/// The tracepoints that match a pattern, ordered by name, system and object. SystemTap's patterns mean the same
/// (`tracepoint_query`, tapsets.cxx of 4.8), over the tracepoints that headers declare. Cost: a binary search for a
/// literal name, else linear in the tracepoints.
pub fn matching<'a>(view: &'a View<'a>, spec: &TraceSpec) -> impl Iterator<Item = Tracepoint<'a>> + use<'a> {
    let named = match spec.event.is_literal() && spec.by_number.is_none() {
        true => view.tracepoints_named(spec.event.literal_prefix().as_bytes()),
        false => view.tracepoints(),
    };
    let spec = spec.clone();
    let scope = spec.by_number.as_ref().map(|module| Scope::new(view, module));
    let by_number = scope.is_some();
    let tracepoint = move |record| Tracepoint { by_number, ..Tracepoint::new(view, record) };
    named.iter().map(tracepoint).filter(move |t| {
        (spec.with_system_calls || !t.is_system_call())
            && spec.event.matches(t.asked())
            && spec.system.as_ref().is_none_or(|asked| asked.matches(t.system()))
            && scope.as_ref().is_none_or(|scope| scope.contains(t.object()))
    })
}

/// The tracepoints of a name, by system and object. Cost: a binary search.
pub fn named<'a>(view: &'a View<'a>, name: &[u8]) -> impl Iterator<Item = Tracepoint<'a>> + use<'a> {
    view.tracepoints_named(name).iter().map(|record| Tracepoint::new(view, record))
}

/// All tracepoints, in the same order.
pub fn all<'a>(view: &'a View<'a>) -> impl Iterator<Item = Tracepoint<'a>> + use<'a> {
    view.tracepoints().iter().map(|record| Tracepoint::new(view, record))
}

impl<'a> Tracepoint<'a> {
    fn new(view: &'a View<'a>, record: &'a TracepointRecord) -> Self {
        Self { view, record, by_number: false, returns: false }
    }
    /// The name, which is also the event's.
    pub fn name(&self) -> &'a [u8] {
        self.view.string(self.record.name)
    }
    /// The system of its event or its header; empty if neither is known.
    pub fn system(&self) -> &'a [u8] {
        self.view.string(self.record.system)
    }
    /// The object that contains it.
    pub fn object(&self) -> ObjectId {
        self.record.object
    }
    /// The module's name; `None` for vmlinux.
    pub fn module(&self) -> Option<&'a [u8]> {
        let name = self.view.string(self.view.objects.get(self.record.object.index())?.name);
        (!name.is_empty()).then_some(name)
    }
    /// The address of its `struct tracepoint`, or `struct syscall_metadata`: a link address in vmlinux, an offset within the
    /// section in a module.
    pub fn address(&self) -> u64 {
        symbols::address(self.view, self.record.object, self.record.pc.get())
    }
    /// The address as a [`Pc`](probeidx_format::id::Pc).
    pub fn pc(&self) -> u32 {
        self.record.pc.get()
    }
    /// Whether it has an event, so that tracefs and perf list it.
    pub fn has_event(&self) -> bool {
        self.record.has(TracepointRecord::EVENT)
    }
    /// Whether it is the event of a system call, without a tracepoint: tracefs, perf and BPF have it.
    pub fn is_system_call(&self) -> bool {
        self.record.has(TracepointRecord::SYSTEM_CALL)
    }
    /// Whether the kernel may add fields when it starts (`__filename_val` of an argument `filename`).
    pub fn is_extended(&self) -> bool {
        self.record.has(TracepointRecord::EXTENDED)
    }
    /// The fields of the event's record, without the common ones; `None` if not all are known.
    pub fn fields(&self) -> Option<Table<'a, EventFieldRecord>> {
        self.record.has(TracepointRecord::FIELDS).then(|| self.view.event_fields(self.record))
    }
    /// A function that has its parameters, if one is known.
    pub fn prototype(&self) -> Option<FunctionId> {
        self.record.prototype.some()
    }
    /// The names and types of its parameters, in order; empty if no function with them is known.
    pub fn parameters(&self) -> impl Iterator<Item = Variable> + use<'a> {
        let view = self.view;
        let parameters = self.function().map(|f| view.variables(f).parameters());
        // The first parameter is the data registered with the probe (`DEFINE_TRACE_FN`, include/linux/tracepoint.h).
        parameters.into_iter().flatten().filter(move |v| view.string(v.name) != b"__data")
    }
    /// The file and line of the declaration; GCC records the line of its end.
    pub fn declared(&self) -> Option<(&'a [u8], u32)> {
        self.function().map(|f| (self.view.string(f.file), f.line.get()))
    }
    fn function(&self) -> Option<FunctionRecord> {
        self.view.functions.get(self.prototype()?.index())
    }

    /// The same tracepoint as that of a system call, `tp_syscall("read")`: parameters by number, and at the return what the
    /// call had at its entry.
    pub fn of_system_call(&self, returns: bool) -> Self {
        Self { by_number: true, returns, ..*self }
    }
    /// Whether it is asked as the return of a system call.
    pub fn returns(&self) -> bool {
        self.returns
    }
    /// The parameters with the names that handlers use. By number, they are those of the callback in BTF
    /// (`btf_add_args_from_subroutine_type`, tapsets.cxx of 5.6): what is registered with the probe is left out, and with it,
    /// seen with 5.6, every `void *` that follows; those that point to functions count, but cannot be used.
    pub fn named_parameters(&self) -> Vec<Parameter<'a>> {
        let view = self.view;
        let all = (1..).zip(self.parameters());
        if !self.by_number {
            let of = |(number, variable): (u32, Variable)| {
                let name = Cow::Borrowed(view.string(variable.name));
                Parameter { name, number, variable }
            };
            return all.map(of).collect();
        }
        let counted = (1..).zip(all.skip_while(|(_, v)| is_void_pointer(view, v)));
        let usable = counted.filter(|(_, (_, v))| !is_function_pointer(view, v));
        let of = |(at, (number, variable)): (u32, (u32, Variable))| {
            let name = Cow::Owned(format!("arg{at}").into_bytes());
            Parameter { name, number, variable }
        };
        usable.map(of).collect()
    }
    /// What asks for it, by these names.
    pub fn spec(&self) -> TraceSpec {
        let literal = |text: &[u8]| Pattern::literal(&String::from_utf8_lossy(text));
        let module = || self.module().map_or(ModuleScope::Kernel, |name| ModuleScope::Module(literal(name)));
        TraceSpec {
            system: (!self.by_number).then(|| literal(self.system())),
            event: literal(self.asked()),
            with_system_calls: false,
            by_number: self.by_number.then(module),
        }
    }
    /// The same tracepoint, with the names that another has for it.
    pub fn named_as(self, other: &Tracepoint<'_>) -> Self {
        Self { by_number: other.by_number, returns: other.returns, ..self }
    }
    /// The name by which it is probed. By number, `_tp` behind that of a callback without an event is left out; but not of
    /// `bpf_trigger_tp` (seen with 5.6 on 7.3).
    pub fn asked(&self) -> &'a [u8] {
        let name = self.name();
        let is_plain = !self.by_number || name.starts_with(b"bpf_");
        name.strip_suffix(b"_tp").filter(|_| !is_plain).unwrap_or(name)
    }

    /// Appends SystemTap's spelling, `kernel.trace("sched:sched_switch")`, which does not depend on the object; of an
    /// event of a system call that of tracefs, `syscalls:sys_enter_openat`.
    pub fn put(&self, out: &mut Vec<u8>) {
        if self.by_number {
            match self.module() {
                None => out.extend_from_slice(b"kernel"),
                Some(module) => out.extend([b"module(\"", module, b"\")"].concat()),
            }
            return out.extend([b".tracepoint(\"", self.asked(), b"\")"].concat());
        }
        if self.is_system_call() {
            out.extend_from_slice(self.system());
            out.push(b':');
            return out.extend_from_slice(self.name());
        }
        out.extend_from_slice(b"kernel.trace(\"");
        if !self.system().is_empty() {
            out.extend_from_slice(self.system());
            out.push(b':');
        }
        out.extend_from_slice(self.name());
        out.extend_from_slice(b"\")");
    }

    /// The name of the section that contains it.
    pub fn section(&self) -> &'a [u8] {
        let section = symbols::section(self.view, self.record.object, self.record.pc.get());
        section.map_or(&[], |s| self.view.string(s.name))
    }
}

/// Whether a parameter is a `void *`, by no other name.
fn is_void_pointer(view: &View<'_>, parameter: &Variable) -> bool {
    let record = parameter.type_id.and_then(|t| view.types.get(t.index()));
    record.is_some_and(|r| TypeKind::from_u8(r.kind) == TypeKind::Pointer && r.target.some().is_none())
}

/// Whether a parameter points to a function.
fn is_function_pointer(view: &View<'_>, parameter: &Variable) -> bool {
    let of_kind = |type_id, kind| {
        let (_, record) = lookup::stripped(view, type_id)?;
        (TypeKind::from_u8(record.kind) == kind).then_some(record)
    };
    let pointer = parameter.type_id.and_then(|type_id| of_kind(type_id, TypeKind::Pointer));
    let target = pointer.and_then(|pointer| pointer.target.some());
    target.is_some_and(|target| of_kind(target, TypeKind::Function).is_some())
}

/// Whether the kernel has tracepoints that the index does not: they could not be read, or are not read from memory.
pub fn are_unknown(view: &View<'_>) -> bool {
    // What sets events up, and what enables one (kernel/trace/trace_events.c): the first is gone from a running kernel.
    let has_events = || [&b"trace_event_init"[..], b"trace_event_reg"].iter().any(|f| view.name(f).is_some());
    all(view).all(|tracepoint| tracepoint.module().is_some()) && has_events()
}

/// Why nothing matches a pattern: the systems that have the event, and similar names.
pub fn absence(view: &View<'_>, spec: &TraceSpec) -> String {
    let lossy = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    let asked = match &spec.system {
        Some(system) => format!("{system}:{}", spec.event),
        None => spec.event.to_string(),
    };
    if are_unknown(view) {
        return format!(
            "the kernel's tracepoints are not in the index, so whether there is {asked} is not known; build says why"
        );
    }
    let what = format!("no tracepoint {asked}");
    let of_others: Vec<String> = matching(view, &TraceSpec { system: None, ..spec.clone() })
        .map(|t| lossy(t.system()) + ":" + &lossy(t.name()))
        .take(3)
        .collect();
    if spec.system.is_some() && !of_others.is_empty() {
        return format!("{what}; there is {}", of_others.join(", "));
    }
    if !spec.event.is_literal() {
        return what;
    }
    // Events of individual system calls have no tracepoint of their own (kernel/trace/trace_syscalls.c).
    let name = spec.event.literal_prefix();
    for raw in ["sys_enter", "sys_exit"] {
        if !spec.with_system_calls && name.strip_prefix(raw).is_some_and(|rest| rest.starts_with('_')) {
            return format!("{what}: all system calls share kernel.trace(\"raw_syscalls:{raw}\")");
        }
    }
    let names = all(view).filter(|t| spec.with_system_calls || !t.is_system_call());
    let names = names.filter_map(|t| std::str::from_utf8(t.name()).ok());
    let near = nearest::nearest(name, names, 5);
    match near.is_empty() {
        true => what,
        false => format!("{what}; did you mean {}?", near.join(", ")),
    }
}
