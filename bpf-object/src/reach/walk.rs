//! The walk: every way through a program, with what is known on it.
use crate::instruction::{Instruction, class};
use crate::object::{ExternKind, FunctionId, ImageKind, Object, Reference};
use crate::reach::flow::{self, Flow, Next};
use crate::reach::state::{Frame, State};
use crate::reach::value::{self, Value};
use crate::reach::{Assumption, ContextRead, Environment, Place};
use crate::relocate::Decision;
use rustc_hash::{FxHashMap, FxHashSet};

/// How many instructions are followed. Programs of libbpf-tools take some thousands.
const MAX_STEPS: u32 = 400_000;
/// How many states are kept at a place before they are made one.
const MAX_STATES: usize = 24;
/// As `MAX_CALL_FRAMES` of the verifier (`include/linux/bpf_verifier.h`, 6.1).
const MAX_FRAMES: usize = 8;

/// What one walk finds. Sets, as places are reached many times.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) places: FxHashSet<Place>,
    pub(super) helpers: FxHashSet<(Place, u32)>,
    pub(super) kfuncs: FxHashSet<(Place, u32)>,
    pub(super) maps: FxHashSet<(Place, u32)>,
    pub(super) externs: FxHashSet<(Place, u32)>,
    pub(super) context: FxHashSet<ContextRead>,
    /// The volatile constants that are read: image and number of the variable.
    pub(super) variables: FxHashSet<(u32, u32)>,
    /// Whether it ended before everything was followed: everything then counts as reached.
    pub(super) is_bounded: bool,
}

/// The callers of a place: the number of a chain of them, 0 for none.
type Chain = u32;

/// A walk in progress.
pub(super) struct Walk<'w, 'a, E> {
    object: &'w Object<'a>,
    /// The functions with their relocations applied, as far as they have been asked for.
    code: &'w Patched,
    environment: &'w E,
    assumption: Option<Assumption>,
    chains: FxHashMap<(Chain, FunctionId, u32), Chain>,
    /// The chain without its last caller, by chain.
    outer: Vec<Chain>,
    seen: FxHashMap<(Chain, FunctionId, u32), Vec<State>>,
    /// The states that are yet to be followed, each from an instruction on.
    work: Vec<(u32, Chain, State)>,
    /// Functions that are checked by themselves: callbacks and global subprograms.
    entered: FxHashSet<FunctionId>,
    found: Found,
    steps: u32,
}

/// The code of all functions of a program, relocated.
#[derive(Debug)]
pub(super) struct Patched {
    functions: FxHashMap<FunctionId, (Vec<Instruction>, Flow)>,
    /// The instructions whose relocation is poisoned or failed: what they do is not known.
    broken: FxHashSet<Place>,
}

impl Patched {
    pub(super) fn new(object: &Object<'_>, functions: &[FunctionId], decisions: &[Decision]) -> Self {
        let mut code: FxHashMap<FunctionId, Vec<Instruction>> =
            functions.iter().map(|&id| (id, object.function(id).code.clone())).collect();
        let mut broken = FxHashSet::default();
        for (relocation, decision) in object.relocations.iter().zip(decisions) {
            let Some(code) = code.get_mut(&relocation.function) else { continue };
            let place = Place { function: relocation.function, instruction: relocation.instruction };
            let at = relocation.instruction as usize;
            match decision {
                Decision::Applied { patch, .. } => {
                    code[at] = patch.first;
                    if let Some((slot, second)) = code.get_mut(at + 1).zip(patch.second) {
                        *slot = second;
                    }
                }
                _ => {
                    broken.insert(place);
                }
            }
        }
        let flows = code.into_iter().map(|(id, code)| {
            let flow = Flow::new(&code);
            (id, (code, flow))
        });
        Self { functions: flows.collect(), broken }
    }
}

impl<'w, 'a, E: Environment> Walk<'w, 'a, E> {
    pub(super) fn new(
        object: &'w Object<'a>,
        code: &'w Patched,
        environment: &'w E,
        assumption: Option<Assumption>,
    ) -> Self {
        Self {
            object,
            code,
            environment,
            assumption,
            chains: FxHashMap::default(),
            outer: vec![0],
            seen: FxHashMap::default(),
            work: Vec::new(),
            entered: FxHashSet::default(),
            found: Found::default(),
            steps: 0,
        }
    }

    /// Adds a function to start from, once.
    pub(super) fn enter(&mut self, function: FunctionId, argument: Value) {
        if self.entered.insert(function) {
            self.work.push((0, 0, State::at(function, argument)));
        }
    }

    /// Follows everything.
    pub(super) fn run(mut self) -> Found {
        while let Some((at, chain, state)) = self.work.pop() {
            self.follow(at as usize, chain, state);
            if self.steps >= MAX_STEPS {
                self.found.is_bounded = true;
                break;
            }
        }
        if self.found.is_bounded {
            self.take_all();
        }
        self.found
    }

    /// Takes every instruction for reached.
    fn take_all(&mut self) {
        let patched = self.code;
        for (&function, (code, _)) in &patched.functions {
            let mut state = State::at(function, Value::Other);
            for (at, &instruction) in code.iter().enumerate() {
                let place = Place { function, instruction: at as u32 };
                self.found.places.insert(place);
                if instruction.code == Instruction::CALL {
                    self.call(place, instruction, &mut state.clone(), &mut 0);
                } else if instruction.is_wide() {
                    self.step(place, instruction, None, &mut state);
                }
            }
        }
    }

    /// Follows one way until it ends, or comes to where it has been with as much known.
    fn follow(&mut self, mut at: usize, mut chain: Chain, mut state: State) {
        let patched = self.code;
        loop {
            let function = state.function();
            let Some((code, flow)) = patched.functions.get(&function) else { return };
            let Some(&instruction) = code.get(at) else { return };
            self.steps += 1;
            if self.steps >= MAX_STEPS {
                return;
            }
            if flow.is_joint(at) {
                state.keep(flow.live(at));
                if !self.is_new(chain, function, at as u32, &mut state) {
                    return;
                }
            }
            let place = Place { function, instruction: at as u32 };
            self.found.places.insert(place);
            match flow::next(code, at) {
                Next::Exit if instruction.code == Instruction::EXIT => {
                    let Some(back) = self.leave(&mut state, &mut chain) else { return };
                    at = back;
                }
                Next::Exit => return,
                // Any instruction may follow.
                Next::Indirect => {
                    self.found.is_bounded = true;
                    return;
                }
                Next::Jump(to) => at = to,
                Next::Branch(to) => match self.branch(instruction, &mut state) {
                    Some(true) => at = to,
                    Some(false) => at += 1,
                    None => {
                        let mut taken = state.clone();
                        refine(instruction, &mut taken, true);
                        refine(instruction, &mut state, false);
                        self.work.push((to as u32, chain, taken));
                        at += 1;
                    }
                },
                Next::Through(to) if instruction.code == Instruction::CALL => {
                    at = self.call(place, instruction, &mut state, &mut chain).unwrap_or(to);
                }
                Next::Through(to) => {
                    self.step(place, instruction, code.get(at + 1).copied(), &mut state);
                    at = to;
                }
            }
        }
    }

    /// Whether this has not been seen at a place; notes it there. When there are too many, they become one.
    fn is_new(&mut self, chain: Chain, function: FunctionId, at: u32, state: &mut State) -> bool {
        let states = self.seen.entry((chain, function, at)).or_default();
        if states.iter().any(|seen| seen.covers(state)) {
            return false;
        }
        if states.len() >= MAX_STATES {
            for seen in states.drain(..) {
                state.join(&seen);
            }
        }
        states.push(state.clone());
        true
    }

    fn branch(&self, instruction: Instruction, state: &mut State) -> Option<bool> {
        // may_goto: the kernel decides.
        if instruction.code >> 4 == 0xe {
            return None;
        }
        value::is_taken(instruction, state.register(instruction.dst), operand(instruction, state))
    }

    /// Returns from a function: where its caller goes on.
    fn leave(&self, state: &mut State, chain: &mut Chain) -> Option<usize> {
        let frame = state.frames.pop()?;
        state.frames.last()?;
        state.restore(frame.back.1);
        for number in 1..6 {
            state.set(number, Value::Other);
        }
        *chain = self.outer[*chain as usize];
        Some(frame.back.0 as usize)
    }

    /// A call: where a subprogram starts, or `None` where it goes on after it.
    fn call(
        &mut self,
        place: Place,
        instruction: Instruction,
        state: &mut State,
        chain: &mut Chain,
    ) -> Option<usize> {
        let object = self.object;
        let reference = object.function(place.function).reference(place.instruction);
        let is_broken = self.code.broken.contains(&place);
        match reference {
            _ if is_broken => {}
            Some(Reference::Call(callee)) => {
                let is_global = object.function(callee).is_global;
                if is_global {
                    self.enter(callee, Value::Any);
                }
                if !is_global && state.frames.len() < MAX_FRAMES {
                    let key = (*chain, place.function, place.instruction);
                    let outer = &mut self.outer;
                    *chain = *self.chains.entry(key).or_insert_with(|| {
                        outer.push(key.0);
                        outer.len() as Chain - 1
                    });
                    let back = place.instruction + 1;
                    // What the caller does not read again makes no difference between two calls.
                    if let Some((_, flow)) = self.code.functions.get(&place.function) {
                        state.keep(flow.live(back as usize) | 0x3e);
                    }
                    let frame = Frame::new(callee, (back, state.saved()));
                    state.frames.push(frame);
                    for number in 6..10 {
                        state.set(number, Value::Other);
                    }
                    state.set(0, Value::Other);
                    return Some(0);
                }
            }
            Some(Reference::Extern(external)) => {
                self.found.kfuncs.insert((place, external));
            }
            _ if instruction.src == 0 => {
                self.found.helpers.insert((place, instruction.imm.cast_unsigned()));
            }
            _ => {}
        }
        let helper = if reference.is_none() && instruction.src == 0 { instruction.imm } else { -1 };
        self.forget_written(helper, state);
        state.set(0, Value::Other);
        for number in 1..6 {
            state.set(number, Value::Other);
        }
        None
    }

    /// Forgets what a call may have written to stacks. `helper` is -1 for kfuncs and subprograms.
    fn forget_written(&self, helper: i32, state: &mut State) {
        let writes = writes(helper);
        let arguments = match writes {
            Writes::Nothing => 1..1,
            Writes::First => 1..2,
            Writes::Forward | Writes::Around => 1..6,
        };
        for number in arguments {
            // A pointer to the stack that was lost cannot be passed: the verifier would have lost it too.
            let Value::Stack(frame, offset) = state.register(number) else { continue };
            match (writes, offset, state.register(2)) {
                (Writes::First, Some(offset), Value::Constant(size)) => {
                    state.forget(frame, offset, i64::try_from(size).unwrap_or(i64::MAX));
                }
                (Writes::First | Writes::Forward, Some(offset), _) => state.forget(frame, offset, i64::MAX),
                _ => state.forget(frame, i32::MIN, i64::MAX),
            }
        }
    }

    /// An instruction that is neither a jump nor a call.
    fn step(
        &mut self,
        place: Place,
        instruction: Instruction,
        second: Option<Instruction>,
        state: &mut State,
    ) {
        let is_broken = self.code.broken.contains(&place);
        match instruction.class() {
            class::ALU | class::ALU64 => {
                let first = state.register(instruction.dst);
                let mut result = value::arithmetic(instruction, first, operand(instruction, state));
                if is_broken {
                    result = Value::Other;
                }
                state.set(instruction.dst, result);
            }
            class::LD if instruction.is_wide() => {
                let high = u64::from(second.map_or(0, |second| second.imm.cast_unsigned())) << 32;
                let number = high | u64::from(instruction.imm.cast_unsigned());
                let value = if is_broken { Value::Other } else { self.loaded_address(place, number) };
                state.set(instruction.dst, value);
            }
            class::LD => {
                for number in 0..6 {
                    state.set(number, Value::Other);
                }
            }
            class::LDX => {
                let value = self.load(place, instruction, is_broken, state);
                state.set(instruction.dst, value);
            }
            _ => self.store(instruction, is_broken, state),
        }
    }

    /// What a load of a 64-bit constant gives: a number, or the address of what it refers to.
    fn loaded_address(&mut self, place: Place, number: u64) -> Value {
        match self.object.function(place.function).reference(place.instruction) {
            None => Value::Constant(number),
            Some(Reference::Map(map)) => {
                self.found.maps.insert((place, map));
                Value::Not(0)
            }
            Some(Reference::Data(image, offset)) => Value::Image(image, offset),
            Some(Reference::Extern(external)) => {
                self.found.externs.insert((place, external));
                match self.object.externs[external as usize].kind {
                    ExternKind::Kconfig(_) => Value::Extern(external),
                    _ => match self.environment.exists(external) {
                        Some(true) => Value::Not(0),
                        Some(false) => Value::Constant(0),
                        None => Value::Other,
                    },
                }
            }
            Some(Reference::FunctionAddress(function)) => {
                // A helper calls it later, with what it was given.
                self.enter(function, Value::Any);
                Value::Not(0)
            }
            Some(_) => Value::Not(0),
        }
    }

    fn load(&mut self, place: Place, instruction: Instruction, is_broken: bool, state: &State) -> Value {
        let (size, off) = (instruction.width(), i32::from(instruction.off));
        let loaded = match state.register(instruction.src) {
            _ if is_broken => Value::Other,
            Value::Context(base) => {
                self.found.context.insert(ContextRead { place, offset: base.saturating_add(off), size });
                Value::Other
            }
            Value::Stack(frame, offset) => {
                let value = state.load(frame, offset.and_then(|offset| offset.checked_add(off)), size);
                // Loads of fewer than 8 bytes give no pointer.
                if size < 8 && !matches!(value, Value::Constant(_)) { Value::Other } else { value }
            }
            Value::Image(image, offset) => offset
                .checked_add_signed(off)
                .map_or(Value::Other, |offset| self.initial(image, offset, size)),
            Value::Extern(external) if off == 0 => {
                self.environment.option(external).map_or(Value::Other, Value::Constant)
            }
            _ => Value::Other,
        };
        // Mode 4 (MEMSX) extends the sign.
        match loaded {
            Value::Constant(number) if instruction.code >> 5 == 4 => {
                let unused = 64 - size * 8;
                Value::Constant((number.cast_signed() << unused >> unused).cast_unsigned())
            }
            Value::Not(_) if instruction.code >> 5 == 4 => Value::Other,
            loaded => loaded,
        }
    }

    /// What a global variable is known to be.
    fn initial(&mut self, number: u32, offset: u32, size: u32) -> Value {
        let image = &self.object.images[number as usize];
        if image.kind != ImageKind::ReadOnly {
            return Value::Other;
        }
        let start = offset as usize;
        let Some(bytes) = image.bytes.get(start..start + size as usize) else { return Value::Other };
        let order = self.object.byte_order();
        let initial = crate::bytes::Bytes::new(bytes, order).number();
        let after = image.variables.partition_point(|variable| variable.offset <= u64::from(offset));
        let Some(index) = after.checked_sub(1) else { return Value::Constant(initial) };
        let variable = &image.variables[index];
        let is_inside = u64::from(offset) - variable.offset < variable.size;
        if !is_inside || !variable.is_volatile {
            return Value::Constant(initial);
        }
        let key = (number, index as u32);
        self.found.variables.insert(key);
        match self.assumption {
            Some(assumption) if assumption.variable == key && assumption.is_initial => {
                Value::Constant(initial)
            }
            Some(assumption) if assumption.variable == key => Value::Not(initial),
            _ => Value::Other,
        }
    }

    fn store(&mut self, instruction: Instruction, is_broken: bool, state: &mut State) {
        let (size, off) = (instruction.width(), i32::from(instruction.off));
        let is_atomic = instruction.class() == class::STX && instruction.code >> 5 == 6;
        let value = match instruction.class() {
            class::ST => Value::Constant(i64::from(instruction.imm).cast_unsigned() & mask(size)),
            _ if is_atomic => Value::Other,
            _ => match state.register(instruction.src) {
                Value::Constant(number) => Value::Constant(number & mask(size)),
                value if size == 8 => value,
                _ => Value::Other,
            },
        };
        match state.register(instruction.dst) {
            _ if is_broken => state.forget_all(),
            Value::Stack(frame, offset) => {
                state.store(frame, offset.and_then(|offset| offset.checked_add(off)), size, value);
            }
            Value::Any => state.forget_all(),
            _ => {}
        }
        if is_atomic {
            // With fetch (1) the old value goes to src; cmpxchg (0xf1) has it in r0.
            if instruction.imm == 0xf1 {
                state.set(0, Value::Other);
            } else if instruction.imm & 1 != 0 {
                state.set(instruction.src, Value::Other);
            }
        }
    }
}

/// What a call writes to the stacks it is given pointers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writes {
    Nothing,
    /// From where the first argument points to, as many bytes as the second says.
    First,
    /// From where a pointer points to.
    Forward,
    /// Also before it: what is called back may do so.
    Around,
}

/// What a helper writes (`include/uapi/linux/bpf.h`, `enum bpf_func_id`). Registers that are no arguments may hold
/// anything, so those without arguments are named too.
fn writes(helper: i32) -> Writes {
    match helper {
        // map_lookup_elem, map_update_elem, map_delete_elem, trace_printk, perf_event_output, map_push_elem,
        // ringbuf_output read keys, values and texts.
        1 | 2 | 3 | 6 | 25 | 87 | 130 => Writes::Nothing,
        // ktime_get_ns, get_prandom_u32, get_smp_processor_id, get_current_pid_tgid, get_current_uid_gid,
        // get_current_task, get_numa_node_id, get_current_cgroup_id, jiffies64, ktime_get_boot_ns,
        // get_current_task_btf, ktime_get_coarse_ns, ktime_get_tai_ns have no arguments.
        5 | 7 | 8 | 14 | 15 | 35 | 42 | 80 | 118 | 125 | 158 | 160 | 208 => Writes::Nothing,
        // probe_read and its kin, get_current_comm.
        4 | 16 | 45 | 112..=115 => Writes::First,
        // for_each_map_elem, find_vma, loop, user_ringbuf_drain; kfuncs.
        164 | 180 | 181 | 209 | -1 => Writes::Around,
        _ => Writes::Forward,
    }
}

/// The second operand of arithmetic and jumps.
fn operand(instruction: Instruction, state: &State) -> Value {
    match instruction.is_register_operand() {
        true => state.register(instruction.src),
        false => Value::Constant(i64::from(instruction.imm).cast_unsigned()),
    }
}

/// Notes what a comparison says of its first operand.
fn refine(instruction: Instruction, state: &mut State, taken: bool) {
    if let Value::Constant(number) = operand(instruction, state) {
        let first = state.register(instruction.dst);
        state.set(instruction.dst, value::refined(instruction, first, number, taken));
    }
}

fn mask(size: u32) -> u64 {
    u64::MAX >> (64 - size * 8)
}
