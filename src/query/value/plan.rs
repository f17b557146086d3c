//! Plans: the steps that read a value at a placement, from a register to the value, independent of the output format.
//!
//! A plan states what DWARF and the types state: an addition is never a memory read. A lowering rejects what it cannot
//! express.
use crate::query::value::{gcc_of_arm, location};

use crate::error::{Error, ErrorKind, Result};
use crate::query::spec::member_path::Step;
use crate::query::types::lookup;
use crate::query::types::member::{self, Move};
use probeidx_format::details::Location;
use probeidx_format::id::{ObjectId, TypeId};
use probeidx_format::types::TypeKind;
use probeidx_format::{ByteOrder, View};
use std::borrow::Cow;
use std::ops::Range;

/// A step. The steps of a plan work on one value: 64 bits, or 32 for a 32-bit kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Take a register by its DWARF number.
    Register(u8),
    /// Take a number.
    Constant(i64),
    /// Take a link address of the object, which the kernel may have moved.
    Address(u64),
    /// Take the function's return value.
    Returned,
    /// Take the value that the register of the argument with this number, from 1, had when the function was entered.
    Argument(u32),
    /// Add to the value; the sum wraps.
    Add(i64),
    /// Read this many bytes of memory at the value, and continue with the result.
    Read(u8),
}

/// How a value is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The steps, in order.
    pub ops: Vec<Op>,
    /// Whether the steps lead to the address of the value in memory, rather than to the value.
    pub in_memory: bool,
    /// The type of the value.
    pub type_id: Option<TypeId>,
    /// Whether the value is a pointer to `type_id`; the pointer may have no type of its own in the debug information.
    pub is_pointer: bool,
    /// The bits that are the value; if `None`, as many as its type has, from the lowest on.
    pub bits: Option<Bits>,
    /// The pieces of the value, in the order of memory; then `ops` does not lead to the value as a whole.
    pub pieces: Vec<Piece>,
    /// The first read, counted from 0, that is of user memory.
    pub user_from: Option<usize>,
}

/// Some bits of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    /// The lowest bit, where 0 is the least significant.
    pub lowest: u32,
    /// The number of bits.
    pub width: u32,
    /// Whether the highest bit is a sign bit, which fills those above it.
    pub is_signed: bool,
}

/// A part of a value whose parts are in different places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The number of bits in it.
    pub bits: u64,
    /// The plan that reads it.
    pub plan: Result<Plan, Missing>,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The variable has a location, but not at this address.
    Elsewhere,
    /// It has no location.
    OptimizedOut,
    /// It has a location that no plan can express; the text describes it.
    Unsupported(String),
}

/// The address at which a variable is read.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// The object that holds the address.
    pub object: ObjectId,
    /// The address, as a [`Pc`](probeidx_format::id::Pc).
    pub pc: u32,
    /// Whether the registers hold their values at the function's entry.
    pub is_entry: bool,
}

impl Plan {
    /// The plan for a variable. Cost: linear in its location, and a binary search if it is in the frame.
    pub fn of_variable(
        view: &View<'_>,
        location: Location<'_>,
        type_id: Option<TypeId>,
        at: At,
    ) -> Result<Self, Missing> {
        let expr = match location {
            Location::None => return Err(Missing::OptimizedOut),
            Location::Constant(value) => return Ok(Self::of(vec![Op::Constant(value)], false, type_id)),
            Location::Bytes(bytes) => {
                let too_long = || Missing::Unsupported(format!("a constant of {} bytes", bytes.len()));
                let value = view.order().number(bytes).ok_or_else(too_long)?;
                return Ok(Self::of(vec![Op::Constant(value as i64)], false, type_id));
            }
            Location::Everywhere(expr) => expr,
            Location::List(_) | Location::Within(..) => {
                gcc_of_arm::mended(view, location.at_start(at.pc).ok_or(Missing::Elsewhere)?, at)?
            }
        };
        if expr.is_uninitialized() {
            return Err(Missing::Elsewhere);
        }
        if expr.is_empty() {
            return Err(Missing::OptimizedOut);
        }
        let mut plan = location::operations(view, expr, at)?;
        if let Location::Everywhere(expr) = location
            && location::is_of_body(view, expr, at, &plan)
        {
            return Err(Missing::Elsewhere);
        }
        if plan.pieces.is_empty() && plan.bits.is_none() {
            return Ok(Self { type_id, ..plan });
        }
        let word = u64::from(view.address_size());
        let size = type_id.and_then(|t| lookup::size_of(view, t)).unwrap_or(word);
        // A single piece with all of it, as GCC writes for a struct that is split into its members.
        if let [Piece { bits, plan: Ok(whole) }] = &plan.pieces[..]
            && *bits >= size.saturating_mul(8)
        {
            plan = whole.clone();
        }
        // Bits above the type, cut off or filled with its sign, do not belong to the value.
        let of_type = size.saturating_mul(8).min(64) as u32;
        let bits = plan.bits.map(|b| match b.width >= of_type {
            true => Bits { width: of_type, is_signed: false, ..b },
            false => b,
        });
        let bits = bits.filter(|b| b.lowest > 0 || b.width < of_type);
        Ok(Self { type_id, bits, ..plan })
    }

    /// Whether its steps are such, or those of one of its pieces.
    pub(super) fn has_steps(&self, are: &dyn Fn(&[Op]) -> bool) -> bool {
        let of_piece = |piece: &Piece| piece.plan.as_ref().is_ok_and(|plan| are(&plan.ops));
        are(&self.ops) || self.pieces.iter().any(of_piece)
    }

    /// What was passed in a register, read when the function returns.
    pub fn of_argument(number: u32, type_id: Option<TypeId>) -> Self {
        Self::of(vec![Op::Argument(number)], false, type_id)
    }

    /// The function's return value.
    pub fn of_return(type_id: TypeId) -> Self {
        Self::of(vec![Op::Returned], false, Some(type_id))
    }

    /// A value of a type in memory, to find out which parts it has.
    pub fn anywhere(type_id: Option<TypeId>) -> Self {
        Self::of(vec![Op::Constant(0)], true, type_id)
    }

    pub(super) fn of(ops: Vec<Op>, in_memory: bool, type_id: Option<TypeId>) -> Self {
        Self { ops, in_memory, type_id, ..Self::default() }
    }

    /// The number that the steps lead to.
    pub(super) fn number(ops: Vec<Op>) -> Self {
        Self::of(ops, false, None)
    }

    /// The plan for a part of the value: a member, an element, or what it points to.
    ///
    /// # Errors
    /// Those of [`member::walk`]; [`ErrorKind::Usage`] for a part that is not in a single piece.
    pub fn part(mut self, view: &View<'_>, steps: &[Step]) -> Result<Self> {
        let mut steps = Cow::Borrowed(steps);
        let is_cast = self.is_pointer;
        if is_cast {
            steps = match &steps[..] {
                [] => return Ok(self),
                [Step::Arrow(name), rest @ ..] => {
                    self = self.follow(view)?;
                    [&[Step::Member(name.clone())], rest].concat().into()
                }
                [Step::Index(n), rest @ ..] => {
                    let unknown =
                        || Error::new(ErrorKind::NoMatch, format!("[{n}]: the size of it is not known"));
                    let size = match n {
                        0 => 0,
                        _ => self.type_id.and_then(|t| lookup::size_of(view, t)).ok_or_else(unknown)?,
                    };
                    self = self.follow(view)?;
                    self.add(n.wrapping_mul(size as i64));
                    rest.to_vec().into()
                }
                [Step::Member(name), ..] => {
                    let error = Error::new(ErrorKind::NoMatch, format!(".{name}: it is a pointer"));
                    return Err(error.hint(format!("write ->{name}")));
                }
            };
        }
        if steps.is_empty() {
            return Ok(self);
        }
        let start = self.type_id.ok_or_else(|| Error::new(ErrorKind::NoMatch, "its type is void"))?;
        let walked = member::walk(view, start, &steps).map_err(|error| {
            // The user wrote an arrow for this step.
            let text = error.message().strip_prefix('.').filter(|_| is_cast).map(|t| format!("->{t}"));
            let Some(text) = text else { return error };
            let written = Error::new(error.kind(), text);
            error.remedy().map_or(written.clone(), |remedy| written.hint(remedy))
        })?;
        let mut moves = &walked.moves[..];
        let word = u64::from(view.address_size());
        let size = |type_id: Option<TypeId>| type_id.and_then(|t| lookup::size_of(view, t)).unwrap_or(word);
        let whole = || size(walked.type_id).saturating_mul(8);
        let mut field = walked.bits.map(|bits| bit_field(view, bits, whole())).transpose()?;
        if !self.in_memory {
            let mut offset = 0;
            if let [Move::Add(distance), rest @ ..] = moves {
                (offset, moves) = (*distance, rest);
            }
            let wanted = field.filter(|_| moves.is_empty());
            let (first, width) = match (walked.bits, moves) {
                (Some((first, width)), []) => (first.into(), width.into()),
                (None, []) => (0, whole()),
                _ => (0, word * 8),
            };
            let first = offset.saturating_mul(8).saturating_add(first);
            let whole = size(self.type_id).saturating_mul(8);
            self = self
                .slice(view, first..first.saturating_add(width), whole)
                .map_err(|why| Error::new(ErrorKind::Usage, why))?;
            if moves.is_empty() {
                field = self.bits.or(wanted.map(|bits| Bits { lowest: 0, ..bits }));
            }
        }
        for step in moves {
            match step {
                Move::Deref if self.in_memory => self.ops.push(Op::Read(view.address_size())),
                Move::Deref => self.in_memory = true,
                Move::Add(distance) => self.add(*distance as i64),
            }
            self.bits = None;
        }
        Ok(Self { type_id: walked.type_id, bits: field, ..self })
    }

    /// Some bits of a value of `whole` bits that is not in memory as a whole, counted as they would be in memory.
    fn slice(mut self, view: &View<'_>, wanted: Range<u64>, whole: u64) -> Result<Self, String> {
        let (order, width) = (view.order(), wanted.end - wanted.start);
        let mut start = 0u64;
        for piece in &self.pieces {
            let behind = start.saturating_add(piece.bits);
            if start <= wanted.start && wanted.start < behind {
                let within = wanted.end <= behind;
                let bits = piece.bits;
                let piece = piece.plan.clone().map_err(|missing| match missing {
                    Missing::Unsupported(why) => format!("that piece: {why}"),
                    _ => "that piece is optimized out".to_owned(),
                });
                let user_from = self.user_from;
                return match within {
                    true => {
                        let piece = piece?;
                        let user_from = user_from.map(|_| piece.reads());
                        let wanted = wanted.start - start..wanted.end - start;
                        Self { user_from, ..piece }.slice(view, wanted, bits)
                    }
                    false => Err("it lies in several pieces".to_owned()),
                };
            }
            start = behind;
        }
        if !self.pieces.is_empty() {
            return Err("it lies behind the pieces that are known".to_owned());
        }
        if self.in_memory {
            self.add((wanted.start / 8) as i64);
            let is_whole = wanted.start.is_multiple_of(8) && width.is_multiple_of(8);
            if !is_whole && order == ByteOrder::Big {
                return Err("bits of a big-endian piece in memory".to_owned());
            }
            let lowest = (wanted.start % 8) as u32;
            let bits = Bits { lowest, width: width as u32, is_signed: false };
            return Ok(Self { bits: (!is_whole).then_some(bits), ..self });
        }
        // A register has a shorter value in its lowest bits, in both byte orders.
        let lowest =
            order.lowest_bit(wanted.start, width, whole).ok_or("it is more than the bits that are known")?;
        if let [Op::Constant(value)] = &mut self.ops[..] {
            let kept = if width < 64 { (1 << width) - 1 } else { u64::MAX };
            *value = if lowest < 64 { (*value as u64 >> lowest & kept) as i64 } else { 0 };
            return Ok(self);
        }
        let all = u32::from(view.address_size()) * 8;
        let kept = self.bits.unwrap_or(Bits { lowest: 0, width: all, is_signed: false });
        if lowest.saturating_add(width) > u64::from(kept.width) {
            return Err("it is more than the bits that are known".to_owned());
        }
        let bits =
            Bits { lowest: kept.lowest.saturating_add(lowest as u32), width: width as u32, is_signed: false };
        // Bits that start at the lowest are read by their type.
        self.bits = (bits.lowest > 0).then_some(bits);
        Ok(self)
    }

    fn add(&mut self, distance: i64) {
        match self.ops.last_mut() {
            _ if distance == 0 => {}
            Some(Op::Add(last)) => *last = last.wrapping_add(distance),
            _ => self.ops.push(Op::Add(distance)),
        }
    }

    /// What a pointer points to, in memory, for reading a string. `None` if the value is not a pointer.
    pub fn pointee(self, view: &View<'_>) -> Option<Self> {
        if self.is_pointer {
            return self.follow(view).ok();
        }
        let pointer = view.types.get(lookup::strip(view, self.type_id?)?.index())?;
        if TypeKind::from_u8(pointer.kind) != TypeKind::Pointer {
            return None;
        }
        Self { type_id: pointer.target.some(), ..self }.follow(view).ok()
    }

    /// Dereferences the value, which is a pointer; `type_id` is the type pointed to.
    fn follow(mut self, view: &View<'_>) -> Result<Self> {
        if !self.pieces.is_empty() {
            let type_id = self.type_id;
            let whole = u64::from(view.address_size()) * 8;
            let value = self.slice(view, 0..whole, whole).map_err(|why| Error::new(ErrorKind::Usage, why))?;
            self = Self { type_id, ..value };
        }
        if let Some(bits) = self.bits {
            let what = format!("{} bits are no pointer", bits.width);
            return Err(Error::new(ErrorKind::Usage, what));
        }
        if self.in_memory {
            self.ops.push(Op::Read(view.address_size()));
        }
        Ok(Self { in_memory: true, is_pointer: false, ..self })
    }

    /// The value cast to a pointer to this type. An array stands for the address of its first element.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if it does not have the size of a pointer.
    pub fn pointing_to(self, view: &View<'_>, target: TypeId) -> Result<Self> {
        let type_id = self.type_id.and_then(|t| lookup::strip(view, t)).filter(|_| !self.is_pointer);
        let is_array = type_id.is_some_and(|t| lookup::kind(view, t) == Some(TypeKind::Array));
        let size = type_id.filter(|_| !is_array).and_then(|t| lookup::size_of(view, t));
        if let Some(size) = size.filter(|size| *size != u64::from(view.address_size())) {
            let what = format!("a value of {size} bytes is no pointer");
            return Err(Error::new(ErrorKind::Usage, what));
        }
        Ok(Self { type_id: Some(target), is_pointer: true, in_memory: self.in_memory && !is_array, ..self })
    }

    /// The address of the value.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if it has none.
    pub fn address(self) -> Result<Self> {
        let why = match (&self.bits, self.in_memory, self.is_pointer) {
            (Some(_), ..) => "a bit-field has no address",
            (_, false, _) => "it is not in memory, and has no address",
            (_, _, true) => "the address of a cast",
            _ => return Ok(Self { in_memory: false, is_pointer: true, ..self }),
        };
        Err(Error::new(ErrorKind::Usage, why))
    }

    /// The value as a pointer to user memory.
    pub fn of_user(self) -> Self {
        let user_from = Some(self.user_from.unwrap_or(self.reads()));
        Self { user_from, ..self }
    }

    /// The number of reads that lead to the value.
    pub fn reads(&self) -> usize {
        self.ops.iter().filter(|op| matches!(op, Op::Read(_))).count() + usize::from(self.in_memory)
    }

    /// The value, if it is constant.
    pub fn constant(&self) -> Option<i64> {
        match self.ops[..] {
            [Op::Constant(value)] if !self.in_memory => Some(value),
            _ => None,
        }
    }
}

/// The position of a bit-field within the number of `whole` bits that contains it.
fn bit_field(view: &View<'_>, (first, width): (u32, u32), whole: u64) -> Result<Bits> {
    let lowest = view.order().lowest_bit(first.into(), width.into(), whole);
    let beyond = || Error::new(ErrorKind::Usage, "the bit-field reaches beyond the number of its type");
    Ok(Bits { lowest: lowest.ok_or_else(beyond)? as u32, width, is_signed: false })
}
