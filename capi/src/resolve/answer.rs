//! A placement as C has it.
use super::Options;
use crate::names::{state, verdict};
use crate::places::instance;
use crate::text::{Text, Texts};
use probeidx::lookup::Lookup;
use probeidx::query::placement as query;
use probeidx::query::placement::InlineCall;
use probeidx::query::prototype::{Proof, Slot};
use probeidx::query::spec::Filter;
use probeidx::query::symbols::Anchor;
use probeidx::query::value::{Role, ValueAt};
use probeidx::render::{kprobe_events, steps, words};

/// `struct probeidx_step`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Step {
    /// What is done: see the header.
    pub op: u32,
    /// Of a read, in bytes; of bits, how many.
    pub size: u32,
    /// A number, a distance, the number of a register, the lowest bit.
    pub value: i64,
    /// Of a register, as the kernel calls it; else empty.
    pub name: Text,
}

/// `struct probeidx_value`
#[repr(C)]
pub struct Value {
    /// Of the struct.
    pub size: usize,
    /// The variable's, or the argument as it was asked for.
    pub name: Text,
    /// As SystemTap spells it; empty where it has none.
    pub type_name: Text,
    /// Where it is, or why it cannot be fetched.
    pub location: Text,
    /// The argument of kprobe_events that reads it.
    pub fetch: Text,
    /// As an expression in C.
    pub expression: Text,
    /// How it is read.
    pub steps: *const Step,
    /// How many steps.
    pub step_count: usize,
    /// 0 a parameter, 1 a local variable, 2 what is returned, 3 what the kernel reads by itself, 4 a field of an event.
    pub role: u32,
    /// See `probeidx_state_name`.
    pub state: u32,
    /// Of a parameter at an entry its number, from 1; else 0.
    pub parameter: u32,
    /// 0 unknown, 1 it is where the calling convention puts it, 2 it is elsewhere, 3 it is not passed.
    pub proof: u32,
    /// DWARF's number of the register in which the convention passes it, or -1.
    pub convention_register: i32,
    /// It was asked for.
    pub is_asked: u32,
    /// 0.
    pub reserved: [u64; 2],
}

/// `struct probeidx_call`
#[repr(C)]
pub struct Call {
    /// Of the struct.
    pub size: usize,
    /// The caller.
    pub function: Text,
    /// Where it calls.
    pub file: Text,
    /// From 1.
    pub line: u32,
    /// From 1; 0 unknown.
    pub column: u32,
}

/// `struct probeidx_placement`
#[repr(C)]
pub struct Placement {
    /// Of the struct.
    pub size: usize,
    /// The release.
    pub kernel: Text,
    /// Empty for vmlinux.
    pub module: Text,
    /// Of a program its path.
    pub process: Text,
    /// The function.
    pub function: Text,
    /// Of its declaration.
    pub file: Text,
    /// Which holds the address.
    pub section: Text,
    /// Which the kernel prints for the address.
    pub symbol: Text,
    /// What to write to the kernel.
    pub anchor: Text,
    /// Of the anchor.
    pub anchor_module: Text,
    /// Of the anchor.
    pub anchor_symbol: Text,
    /// A line for kprobe_events; empty where they do not take it.
    pub definition: Text,
    /// What is possible where it is refused.
    pub instead: Text,
    /// Of the line for which the address was found.
    pub source_file: Text,
    /// A link address; in a module an offset within the section.
    pub address: u64,
    /// Of the anchor.
    pub anchor_offset: u64,
    /// Innermost first.
    pub inlined_into: *const *const Call,
    /// How many calls.
    pub inlined_into_count: usize,
    /// What can be read there.
    pub values: *const *const Value,
    /// How many values.
    pub value_count: usize,
    /// Of the declaration.
    pub line: u32,
    /// See `probeidx_instance_name`.
    pub instance: u32,
    /// Behind the symbol's start.
    pub symbol_offset: u32,
    /// See the header.
    pub flags: u32,
    /// See `probeidx_verdict_name`.
    pub kprobe: u32,
    /// The same.
    pub kprobe_events: u32,
    /// The same.
    pub kretprobe: u32,
    /// The same.
    pub fentry: u32,
    /// How many bytes behind the address the kernel puts the probe.
    pub shift: u32,
    /// Of the line for which the address was found.
    pub source_line: u32,
    /// The same.
    pub source_column: u32,
    /// At how many addresses the function runs.
    pub instances: u32,
    /// How many of them kprobes reach.
    pub reachable: u32,
    /// How many kprobe_events reach.
    pub reachable_events: u32,
    /// The number of the object.
    pub object: u32,
    /// Less the base of the object.
    pub pc: u32,
    /// 0.
    pub reserved: [u64; 4],
}

impl Placement {
    /// The symbol's name stands once.
    pub const UNIQUE: u32 = 1;
    /// It lies within another copy of the same function.
    pub const NESTED: u32 = 2;
    /// A return probe is meant.
    pub const RETURN: u32 = 4;
    /// The function does not return.
    pub const NEVER_RETURNS: u32 = 8;
    /// Some of its exits are jumps to other functions.
    pub const TAIL_CALLS: u32 = 16;
    /// Of the addresses of the line the best to probe.
    pub const BEST: u32 = 32;
    /// Of the addresses of the line the one that SystemTap takes.
    pub const SYSTEMTAP: u32 = 64;
}

/// A placement, with all to which it points.
pub struct Written {
    placement: Placement,
    /// What the placement points to, which stays where it is.
    _texts: Texts,
    _calls: Vec<Call>,
    _call_pointers: Vec<*const Call>,
    _steps: Vec<Vec<Step>>,
    _values: Vec<Value>,
    _value_pointers: Vec<*const Value>,
}

impl AsRef<Placement> for Written {
    fn as_ref(&self) -> &Placement {
        &self.placement
    }
}

/// Writes placements.
pub struct Writer<'a> {
    lookup: Lookup<'a>,
    options: Options,
    texts: Texts,
    steps: Vec<Vec<Step>>,
}

impl<'a> Writer<'a> {
    /// For one placement.
    pub fn new(lookup: Lookup<'a>, options: Options) -> Self {
        Self { lookup, options, texts: Texts::new(lookup.view().strings()), steps: vec![] }
    }

    /// A placement as C has it.
    pub fn placement(mut self, p: &query::Placement<'_>, filter: Filter) -> Written {
        let calls: Vec<Call> = p.inlined_into.iter().map(|c| self.call(c)).collect();
        let values: Vec<Value> = p.values.iter().map(|v| self.value(v)).collect();
        let call_pointers: Vec<*const Call> = calls.iter().map(std::ptr::from_ref).collect();
        let value_pointers: Vec<*const Value> = values.iter().map(std::ptr::from_ref).collect();
        let (anchor_module, anchor_symbol, anchor_offset) = match &p.anchor {
            Some(Anchor::Symbol { module, symbol, offset }) => (*module, *symbol, (*offset).into()),
            Some(Anchor::File { path, offset }) => (None, *path, *offset),
            None => (None, &[][..], 0),
        };
        let anchor = p.anchor.as_ref().map_or(String::new(), ToString::to_string);
        let definition = kprobe_events::definition(p, filter, None).unwrap_or_default();
        let instead = p.instead.as_ref().map_or(String::new(), words::instead);
        let source = p.source;
        let flags = [
            (p.uniqueness.unique, Placement::UNIQUE),
            (p.is_nested, Placement::NESTED),
            (filter == Filter::Return, Placement::RETURN),
            (p.returns.never, Placement::NEVER_RETURNS),
            (p.returns.tail_calls, Placement::TAIL_CALLS),
            (source.is_some_and(|s| s.is_best), Placement::BEST),
            (source.is_some_and(|s| s.is_systemtap), Placement::SYSTEMTAP),
        ];
        let texts = &mut self.texts;
        let placement = Placement {
            size: size_of::<Placement>(),
            kernel: texts.of(self.lookup.release()),
            module: texts.of_some(p.module),
            process: texts.of_some(p.process),
            function: texts.of(p.function),
            file: texts.of(p.file),
            section: texts.of(p.section),
            symbol: texts.of_some(p.symbol.map(|s| s.0)),
            anchor: texts.keep(anchor),
            anchor_module: texts.of_some(anchor_module),
            anchor_symbol: texts.of(anchor_symbol),
            definition: texts.keep(definition),
            instead: texts.keep(instead),
            source_file: texts.of_some(source.map(|s| s.file)),
            address: p.address,
            anchor_offset,
            inlined_into: call_pointers.as_ptr(),
            inlined_into_count: call_pointers.len(),
            values: value_pointers.as_ptr(),
            value_count: value_pointers.len(),
            line: p.line,
            instance: instance(p.instance),
            symbol_offset: p.symbol.map_or(0, |s| s.1),
            flags: flags.iter().filter(|f| f.0).fold(0, |all, f| all | f.1),
            kprobe: verdict(p.verdicts.kprobe.reason()),
            kprobe_events: verdict(p.verdicts.kprobe_events.reason()),
            kretprobe: verdict(p.verdicts.kretprobe.reason()),
            fentry: verdict(p.verdicts.fentry.reason()),
            shift: p.verdicts.shift,
            source_line: source.map_or(0, |s| s.line),
            source_column: source.map_or(0, |s| s.column),
            instances: p.coverage.instances(),
            reachable: p.coverage.by.kprobe,
            reachable_events: p.coverage.by.kprobe_events,
            object: p.object.get(),
            pc: p.pc,
            reserved: [0; 4],
        };
        Written {
            placement,
            _texts: self.texts,
            _calls: calls,
            _call_pointers: call_pointers,
            _steps: self.steps,
            _values: values,
            _value_pointers: value_pointers,
        }
    }

    fn call(&mut self, call: &InlineCall<'_>) -> Call {
        Call {
            size: size_of::<Call>(),
            function: self.texts.of(call.function),
            file: self.texts.of(call.file),
            line: call.line,
            column: call.column,
        }
    }

    fn value(&mut self, v: &ValueAt) -> Value {
        let view = self.lookup.view();
        let plan = v.plan.as_ref();
        let steps: Vec<Step> = plan.map_or(vec![], |plan| {
            steps::steps(view, plan).iter().map(|s| step(s, &mut self.texts)).collect()
        });
        let expression =
            plan.filter(|_| self.options.has(Options::EXPRESSIONS)).and_then(|p| steps::c(view, p));
        let elsewhere = v.elsewhere.as_ref().map(|e| words::elsewhere(Some(e)));
        let mut keep = |text: Option<&str>| text.map_or(Text::EMPTY, |text| self.texts.keep(text));
        let value = Value {
            size: size_of::<Value>(),
            name: keep(Some(&v.name)),
            type_name: keep(v.type_name.as_deref()),
            location: keep(v.location.as_deref().or(elsewhere.as_deref())),
            fetch: keep(v.fetch.as_deref()),
            expression: keep(expression.as_deref()),
            steps: steps.as_ptr(),
            step_count: steps.len(),
            role: match v.role {
                Role::Parameter => 0,
                Role::Local => 1,
                Role::Return => 2,
                Role::Raw => 3,
                Role::Field => 4,
            },
            state: state(v.state),
            parameter: v.parameter.map_or(0, |p| p.number),
            proof: v.parameter.map_or(0, |p| match p.proof {
                Proof::Unknown => 0,
                Proof::Proved => 1,
                Proof::Moved => 2,
                Proof::Gone => 3,
            }),
            convention_register: v.parameter.map_or(-1, |p| match p.slot {
                Slot::Register(register) => register.into(),
                Slot::Stack(_) => -1,
            }),
            is_asked: v.is_asked.into(),
            reserved: [0; 2],
        };
        self.steps.push(steps);
        value
    }
}

fn step(step: &steps::Step, texts: &mut Texts) -> Step {
    use steps::Step as S;
    let plain = |op, size, value| Step { op, size, value, name: Text::EMPTY };
    match step {
        S::Register { name, dwarf } => {
            let name = name.as_deref().map_or(Text::EMPTY, |name| texts.keep(name));
            Step { name, ..plain(0, 8, (*dwarf).into()) }
        }
        S::Constant { value } => plain(1, 8, *value),
        S::Address { value } => {
            let digits = value.strip_prefix("0x").unwrap_or(value);
            plain(2, 8, u64::from_str_radix(digits, 16).unwrap_or(0) as i64)
        }
        S::Return => plain(3, 8, 0),
        S::Argument { number } => plain(4, 8, (*number).into()),
        S::Add { value } => plain(5, 8, *value),
        S::Read { size, user } => plain(if *user { 7 } else { 6 }, *size as u32, 0),
        S::Bits { offset, width, signed } => plain(if *signed { 9 } else { 8 }, *width, (*offset).into()),
        S::Place { size } => plain(10, 0, size.map_or(-1, |size| size as i64)),
    }
}
