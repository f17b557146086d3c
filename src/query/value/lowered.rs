//! Plans as texts, each made once for all values that are read alike: for who lists those of all placements.
use super::State;
use super::fetch_arg::Target;
use super::plan::{Missing, Op, Plan};
use probeidx_format::id::TypeId;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// What is printed of a value.
pub(super) struct Lowered {
    /// Whether a probe can read it.
    pub state: State,
    /// Where it is, or why it cannot be fetched.
    pub location: Option<Rc<str>>,
    /// What follows the `=` of the fetch argument that reads it.
    pub fetch: Option<Rc<str>>,
}

impl Lowered {
    /// The texts of a plan.
    pub fn of(target: Target<'_>, plan: &Plan) -> Self {
        let place = target.place(plan);
        let fetch = target.body_behind([""; 2], plan, None, &place);
        let state = if plan.constant().is_some() { State::Constant } else { State::Readable };
        match place {
            Ok(text) => Self { state, location: Some(text.into()), fetch: fetch.ok().map(Rc::from) },
            Err(why) => Self { state: State::Unsupported, location: Some(why.into()), fetch: None },
        }
    }
}

impl From<Missing> for Lowered {
    fn from(missing: Missing) -> Self {
        let (state, location) = match missing {
            Missing::Elsewhere => (State::Elsewhere, None),
            Missing::OptimizedOut => (State::OptimizedOut, None),
            Missing::Unsupported(why) => (State::Unsupported, Some(why.into())),
        };
        Self { state, location, fetch: None }
    }
}

/// The texts of plans that start at a register or a constant: they are the same at every address.
#[derive(Default)]
pub(super) struct Known(FxHashMap<Key, Lowered>);

#[derive(PartialEq, Eq, Hash)]
struct Key {
    start: Start,
    distance: Option<i64>,
    in_memory: bool,
    type_id: Option<TypeId>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Start {
    Register(u8),
    Constant(i64),
}

impl Known {
    /// The texts of a plan, which stand in `other` if they are not kept, and whether they are.
    pub fn of<'k>(
        &'k mut self,
        target: Target<'_>,
        plan: Result<Plan, Missing>,
        other: &'k mut Option<Lowered>,
    ) -> (&'k Lowered, bool) {
        match plan {
            Err(missing) => (other.insert(missing.into()), false),
            Ok(plan) => match Key::of(&plan) {
                Some(key) => (self.0.entry(key).or_insert_with(|| Lowered::of(target, &plan)), true),
                None => (other.insert(Lowered::of(target, &plan)), false),
            },
        }
    }
}

impl Key {
    /// The key of a plan; `None` if its texts may depend on the address, or if few are like it.
    fn of(plan: &Plan) -> Option<Self> {
        let Plan { ops, in_memory, type_id, is_pointer: false, bits: None, pieces, user_from: None } = plan
        else {
            return None;
        };
        let (start, distance) = match ops[..] {
            _ if !pieces.is_empty() => return None,
            [Op::Register(register)] => (Start::Register(register), None),
            [Op::Register(register), Op::Add(distance)] => (Start::Register(register), Some(distance)),
            [Op::Constant(value)] => (Start::Constant(value), None),
            _ => return None,
        };
        Some(Self { start, distance, in_memory: *in_memory, type_id: *type_id })
    }
}
