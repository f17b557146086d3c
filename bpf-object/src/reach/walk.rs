//! The walk: every way through a program, with what is known on it.
use crate::btf::Btf;
use crate::feature::Feature;
use crate::instruction::{Instruction, class};
use crate::object::{FunctionId, Object, Reference};
use crate::reach::flow::{self, Next};
use crate::reach::helpers;
use crate::reach::patched::Patched;
use crate::reach::pointer::Pointer;
use crate::reach::state::{Frame, State};
use crate::reach::value::{self, Value};
use crate::reach::{Assumption, ContextRead, Environment, Place, PlainOffset};
use crate::types::{Kind, Types};
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
    pub(super) features: FxHashSet<(Place, Feature)>,
    pub(super) context: FxHashSet<ContextRead>,
    pub(super) plain: FxHashSet<PlainOffset>,
    pub(super) numbers: FxHashSet<Place>,
    pub(super) doubtful: FxHashSet<Place>,
    pub(super) unchecked: FxHashSet<Place>,
    pub(super) returns: FxHashSet<(Place, u64)>,
    /// The volatile constants that are read: image and number of the variable.
    pub(super) variables: FxHashSet<(u32, u32)>,
    /// Whether it ended before everything was followed: everything then counts as reached.
    pub(super) is_bounded: bool,
}

/// The callers of a place: the number of a chain of them, 0 for none.
type Chain = u32;

/// A walk in progress.
pub(super) struct Walk<'w, 'a, E> {
    pub(super) object: &'w Object<'a>,
    /// The functions with their relocations applied, as far as they have been asked for.
    pub(super) code: &'w Patched,
    pub(super) environment: &'w E,
    pub(super) assumption: Option<Assumption>,
    /// Whether the program may keep pointers of the kernel in maps and global variables.
    pub(super) keeps_pointers: bool,
    chains: FxHashMap<(Chain, FunctionId, u32), Chain>,
    /// The chain without its last caller, by chain.
    outer: Vec<Chain>,
    seen: FxHashMap<(Chain, FunctionId, u32), Vec<State>>,
    /// The states that are yet to be followed, each from an instruction on.
    work: Vec<(u32, Chain, State)>,
    /// The program itself: the first that is entered.
    program: Option<FunctionId>,
    /// Functions that are checked by themselves: callbacks and global subprograms.
    entered: FxHashSet<FunctionId>,
    pub(super) found: Found,
    steps: u32,
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
            keeps_pointers: object.btf.as_ref().is_none_or(keeps_pointers),
            chains: FxHashMap::default(),
            outer: vec![0],
            seen: FxHashMap::default(),
            work: Vec::new(),
            program: None,
            entered: FxHashSet::default(),
            found: Found::default(),
            steps: 0,
        }
    }

    /// Adds a function to start from, once.
    pub(super) fn enter(&mut self, function: FunctionId, argument: Value) {
        self.program.get_or_insert(function);
        if self.entered.insert(function) {
            self.work.push((0, 0, State::at(function, argument)));
        }
    }

    /// Adds a global subprogram, which the verifier checks for any arguments.
    pub(super) fn enter_global(&mut self, function: FunctionId) {
        let is_context = self.object.is_context_first(function);
        self.enter(function, if is_context { Value::Context(0) } else { Value::Any });
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
        for (function, code) in patched.all() {
            let mut state = State::at(function, Value::Other);
            for (at, &instruction) in code.iter().enumerate() {
                let place = Place { function, instruction: at as u32 };
                self.note(place, instruction);
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
            let Some((code, flow)) = patched.function(function) else { return };
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
            self.note(place, instruction);
            match flow::next(code, at) {
                Next::Exit if instruction.code == Instruction::EXIT => {
                    if state.frames.len() == 1
                        && Some(function) == self.program
                        && let Some(number) = state.register(0).number()
                    {
                        self.found.returns.insert((place, number));
                    }
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

    fn note(&mut self, place: Place, instruction: Instruction) {
        let is_new = self.found.places.insert(place);
        if let (true, Some(feature)) = (is_new, Feature::of(instruction)) {
            self.found.features.insert((place, feature));
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
        let is_broken = self.code.is_broken(place);
        match reference {
            _ if is_broken => {}
            Some(Reference::Call(callee)) => {
                let is_global = object.function(callee).is_global;
                if is_global {
                    self.enter_global(callee);
                }
                // Deeper calls are refused by the verifier, and end here.
                self.found.is_bounded |= !is_global && state.frames.len() >= MAX_FRAMES;
                if !is_global && state.frames.len() < MAX_FRAMES {
                    let key = (*chain, place.function, place.instruction);
                    let outer = &mut self.outer;
                    *chain = *self.chains.entry(key).or_insert_with(|| {
                        outer.push(key.0);
                        outer.len() as Chain - 1
                    });
                    let back = place.instruction + 1;
                    // What the caller does not read again makes no difference between two calls.
                    if let Some((_, flow)) = self.code.function(place.function) {
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
                // libbpf writes the kind of call when it links.
                self.found.features.insert((place, Feature::KfuncCall));
            }
            _ if instruction.src == 0 => {
                self.found.helpers.insert((place, instruction.imm.cast_unsigned()));
            }
            _ => {}
        }
        let is_helper = reference.is_none() && instruction.src == 0 && !is_broken;
        let helper = is_helper.then_some(instruction.imm.cast_unsigned());
        let (to, size) = (state.register(1), state.register(2).number());
        helpers::forget_read(helper, &object.maps, self.environment.after_read(), state);
        helpers::forget_written(helper, state);
        if helpers::is_kernel_read(helper) {
            if let Value::Kernel(offset, in_field, _) = state.register(3)
                && offset != 0
            {
                self.found.plain.insert(PlainOffset { place, offset, in_field });
            }
            // What is read may be a pointer to follow.
            if let (Value::Stack(frame, Some(offset)), Some(8)) = (to, size) {
                state.store(frame, Some(offset), 8, Value::Kernel(0, false, Pointer::Number));
            }
        }
        state.set(0, helpers::result(helper, place, self.environment));
        for number in 1..6 {
            state.set(number, Value::Other);
        }
        None
    }

    /// An instruction that is neither a jump nor a call.
    fn step(
        &mut self,
        place: Place,
        instruction: Instruction,
        second: Option<Instruction>,
        state: &mut State,
    ) {
        let is_broken = self.code.is_broken(place);
        match instruction.class() {
            class::ALU | class::ALU64 => {
                let first = state.register(instruction.dst);
                let mut second = operand(instruction, state);
                if let (true, Some(number)) = (self.code.is_offset(place), second.number()) {
                    second = Value::Relocated(number);
                }
                if !is_broken && value::is_unbounded(instruction, first, second) {
                    self.found.doubtful.insert(place);
                }
                // A broken one adds or gives what is not known; where a pointer leads to is not asked any more.
                let result =
                    if is_broken { Value::Other } else { value::arithmetic(instruction, first, second) };
                state.set(instruction.dst, result);
            }
            class::LD if instruction.is_wide() => {
                let high = u64::from(second.map_or(0, |second| second.imm.cast_unsigned())) << 32;
                let number = high | u64::from(instruction.imm.cast_unsigned());
                let value = match self.loaded_address(place, number) {
                    _ if is_broken => Value::Other,
                    Value::Constant(number) if self.code.is_offset(place) => Value::Relocated(number),
                    value => value,
                };
                state.set(instruction.dst, value);
            }
            class::LD => {
                for number in 1..6 {
                    state.set(number, Value::Other);
                }
                state.set(0, Value::Number(None));
            }
            class::LDX => {
                let value = self.load(place, instruction, is_broken, state);
                state.set(instruction.dst, value);
            }
            _ => self.store(place, instruction, is_broken, state),
        }
    }
}

/// Whether a type is tagged as a pointer of the kernel (`__kptr` and the like).
fn keeps_pointers(btf: &Btf<'_>) -> bool {
    let mut tags = btf.ids().filter_map(|id| btf.get(id)).filter(|found| found.kind == Kind::TypeTag);
    tags.any(|tag| tag.name.windows(4).any(|part| part == b"kptr") || tag.name == b"uptr")
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
    if let Some(number) = operand(instruction, state).number() {
        let first = state.register(instruction.dst);
        let refined = value::refined(instruction, first, number, taken);
        match first {
            Value::Memory(Some(_)) => state.replace(first, refined),
            _ => state.set(instruction.dst, refined),
        }
    }
}
