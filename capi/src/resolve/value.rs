//! The values that can be read at a placement, as C structs.
use super::Options;
use crate::names::state;
use crate::text::{Text, Texts};
use probeidx::lookup::Lookup;
use probeidx::query::value::calling_convention::{Proof, Slot};
use probeidx::query::value::{Role, ValueAt};
use probeidx::render::{steps, words};

/// `struct probeidx_step`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Step {
    /// The operation: see the header.
    pub op: u32,
    /// For a read, the size in bytes; for bits, the width.
    pub size: u32,
    /// A number, a distance, the number of a register, or the lowest bit.
    pub value: i64,
    /// For a register, the kernel's name; else empty.
    pub name: Text,
}

impl Step {
    /// `PROBEIDX_ADD`
    pub const ADD: u32 = 5;
    /// `PROBEIDX_READ`
    pub const READ: u32 = 6;
}

/// `struct probeidx_value`
#[repr(C)]
pub struct Value {
    /// The size of the struct.
    pub size: usize,
    /// The name of the variable, or the requested argument.
    pub name: Text,
    /// The type in SystemTap's spelling; empty if it has none.
    pub type_name: Text,
    /// Where it is, or why it cannot be fetched.
    pub location: Text,
    /// The argument of kprobe_events that reads it.
    pub fetch: Text,
    /// An expression in C.
    pub expression: Text,
    /// The steps that read it.
    pub steps: *const Step,
    /// The length of `steps`.
    pub step_count: usize,
    /// 0 a parameter, 1 a local variable, 2 the return value, 3 what the kernel reads by itself, 4 a field of an event.
    pub role: u32,
    /// See `probeidx_state_name`.
    pub state: u32,
    /// For a parameter at an entry, its number, from 1; else 0.
    pub parameter: u32,
    /// 0 unknown, 1 it is where the calling convention puts it, 2 it is elsewhere, 3 it is not passed.
    pub proof: u32,
    /// The DWARF number of the register in which the convention passes it, or -1.
    pub convention_register: i32,
    /// Whether it was requested.
    pub is_asked: u32,
    /// The nearest address where it has a location, if it has none here; 0 if there is none.
    pub elsewhere: u64,
    /// The line of that address; 0 if unknown.
    pub elsewhere_line: u32,
    /// For a parameter passed on the stack, its distance in bytes above the stack pointer at the entry; else -1.
    pub convention_stack: i32,
}

/// The values in order, with everything they point to except texts.
#[derive(Default)]
pub struct Values {
    _values: Vec<Value>,
    /// The pointers that a placement refers to.
    pub pointers: Vec<*const Value>,
    _steps: Vec<Vec<Step>>,
}

impl Values {
    /// Converts values.
    pub fn new(lookup: &Lookup<'_>, options: Options, values: &[ValueAt], texts: &mut Texts) -> Self {
        let (values, steps): (Vec<_>, Vec<_>) =
            values.iter().map(|v| value(lookup, options, v, texts)).unzip();
        let pointers = values.iter().map(std::ptr::from_ref).collect();
        Self { _values: values, pointers, _steps: steps }
    }
}

fn value(lookup: &Lookup<'_>, options: Options, v: &ValueAt, texts: &mut Texts) -> (Value, Vec<Step>) {
    let view = lookup.view();
    let plan = v.plan.as_ref();
    let steps: Vec<Step> =
        plan.map_or(vec![], |plan| steps::steps(view, plan).iter().map(|s| step(s, texts)).collect());
    let expression = plan.filter(|_| options.has(Options::EXPRESSIONS)).and_then(|p| steps::c(view, p));
    let elsewhere = v.elsewhere.as_ref().map(|e| words::elsewhere(Some(e)));
    let value = Value {
        size: size_of::<Value>(),
        name: texts.of(&v.name),
        type_name: texts.of_some(v.type_name.as_deref()),
        location: texts.of_some(v.location.as_deref().or(elsewhere.as_deref())),
        fetch: texts.of_some(v.fetch.as_deref()),
        expression: texts.of_some(expression.as_deref()),
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
        elsewhere: v.elsewhere.as_ref().map_or(0, |e| e.address),
        elsewhere_line: v.elsewhere.as_ref().and_then(|e| Some(e.line.as_ref()?.1)).unwrap_or(0),
        convention_stack: v.parameter.map_or(-1, |p| match p.slot {
            Slot::Register(_) => -1,
            Slot::Stack(offset) => i32::try_from(offset).unwrap_or(-1),
        }),
    };
    (value, steps)
}

fn step(step: &steps::Step, texts: &mut Texts) -> Step {
    use steps::Step as S;
    let plain = |op, size, value| Step { op, size, value, name: Text::EMPTY };
    match step {
        S::Register { name, dwarf } => {
            let name = texts.of_some(name.as_deref());
            Step { name, ..plain(0, 8, (*dwarf).into()) }
        }
        S::Constant { value } => plain(1, 8, *value),
        S::Address { value } => {
            let digits = value.strip_prefix("0x").unwrap_or(value);
            plain(2, 8, u64::from_str_radix(digits, 16).unwrap_or(0) as i64)
        }
        S::Return => plain(3, 8, 0),
        S::Argument { number } => plain(4, 8, (*number).into()),
        S::Add { value } => plain(Step::ADD, 8, *value),
        S::Read { size, user } => plain(if *user { 7 } else { Step::READ }, *size as u32, 0),
        S::Bits { offset, width, signed } => plain(if *signed { 9 } else { 8 }, *width, (*offset).into()),
        S::Place { size } => plain(10, 0, size.map_or(-1, |size| size as i64)),
    }
}
