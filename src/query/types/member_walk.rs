//! Walks a path from a type: the additions and reads it takes, and the type at its end.
use super::lookup;
use super::member::{Move, Walked};
use super::stap_spelling::spell;
use crate::error::{Error, ErrorKind, Result};
use crate::nearest;
use crate::query::spec::member_path::{Path, Step};
use probeidx_format::View;
use probeidx_format::id::TypeId;
use probeidx_format::record::{MemberRecord, TypeRecord};
use probeidx_format::types::TypeKind;

/// Walks from an object of this type along the steps. Members of anonymous structs and unions count as the struct's
/// own. For `->`, an array is a pointer to its first element.
///
/// # Errors
/// [`ErrorKind::NoMatch`], with the steps up to the one that fails, and similar member names.
pub fn walk(view: &View<'_>, start: TypeId, steps: &[Step]) -> Result<Walked> {
    walk_from(view, "", start, steps)
}

/// Like [`walk`], for a path whose root has this type. Errors have the path up to the failing step.
///
/// # Errors
/// Those of [`walk`].
pub fn walk_path(view: &View<'_>, start: TypeId, path: &Path) -> Result<Walked> {
    walk_from(view, &path.root, start, &path.steps)
}

fn walk_from(view: &View<'_>, root: &str, start: TypeId, steps: &[Step]) -> Result<Walked> {
    let mut walked = Walked { moves: vec![], type_id: Some(start), indexed: 0, bits: None };
    for (at, step) in steps.iter().enumerate() {
        if let Err(failure) = walked.step(view, step) {
            let so_far: String = steps[..=at].iter().map(Step::to_string).collect();
            let error = Error::new(ErrorKind::NoMatch, format!("{root}{so_far}: {}", failure.what));
            return Err(if failure.hint.is_empty() { error } else { error.hint(failure.hint) });
        }
    }
    Ok(walked)
}

/// Why a step fails, and what to write instead.
struct Failure {
    what: String,
    hint: String,
}

fn failure<T>(what: String, hint: impl Into<String>) -> Result<T, Failure> {
    Err(Failure { what, hint: hint.into() })
}

const CAST: &str = "a cast says to what it points";

impl Walked {
    fn step(&mut self, view: &View<'_>, step: &Step) -> Result<(), Failure> {
        if self.bits.is_some() {
            return failure("a bit-field has no members and no address".to_owned(), "");
        }
        let stripped = self.type_id.and_then(|t| lookup::stripped(view, t));
        let here = stripped.map(|(_, t)| (TypeKind::from_u8(t.kind), t.target.some()));
        match step {
            Step::Member(name) => {
                if matches!(here, Some((TypeKind::Pointer, _))) {
                    return failure(
                        format!("{} is a pointer", self.spelled(view)),
                        format!("write ->{name}"),
                    );
                }
                self.member(view, name, stripped)
            }
            Step::Arrow(name) => {
                let target = match here {
                    Some((TypeKind::Pointer | TypeKind::Reference, target)) => {
                        self.follow(view, target, 0)?
                    }
                    Some((TypeKind::Array, _)) => {
                        self.element(view, 0)?;
                        self.type_id.and_then(|t| lookup::stripped(view, t))
                    }
                    Some((kind, _)) if kind.is_aggregate() => {
                        return failure(self.no_pointer(view), format!("write .{name}"));
                    }
                    _ => return failure(self.no_pointer(view), ""),
                };
                self.member(view, name, target)
            }
            Step::Index(n) => match here {
                Some((TypeKind::Pointer, target)) => self.follow(view, target, *n).map(drop),
                Some((TypeKind::Array, _)) => self.element(view, *n),
                _ => failure(format!("{} is no array and no pointer", self.spelled(view)), ""),
            },
        }
    }

    /// Moves to a member of the struct or union, given its type without typedefs.
    fn member(
        &mut self,
        view: &View<'_>,
        name: &str,
        stripped: Option<(TypeId, TypeRecord)>,
    ) -> Result<(), Failure> {
        let start = self.type_id;
        let spelled = || spelled(view, start);
        let is_aggregate = |t: &TypeRecord| TypeKind::from_u8(t.kind).is_aggregate();
        let Some((aggregate, record)) = stripped.filter(|(_, t)| is_aggregate(t)) else {
            return match self.type_id {
                None => failure("void has no members".to_owned(), CAST),
                Some(_) => failure(format!("{} has no members", spelled()), ""),
            };
        };
        if lookup::has_no_definition(&record) {
            let hint = "it is incomplete, or defined in several ways; a cast says which is meant";
            return failure(
                format!("{} is only declared here, so that its members are not known", spelled()),
                hint,
            );
        }
        let found = members(view, aggregate).find(|(_, m)| view.string(m.name) == name.as_bytes());
        let Some((offset, record)) = found else {
            let names = members(view, aggregate).map(|(_, m)| view.string(m.name));
            let known = names.filter_map(|name| std::str::from_utf8(name).ok());
            let near = nearest::nearest(name, known, 3);
            let hint =
                if near.is_empty() { String::new() } else { format!("did you mean {}?", near.join(", ")) };
            return failure(format!("{} has no member {name}", spelled()), hint);
        };
        let place = position(view, record);
        self.add(offset.wrapping_add(place.offset));
        (self.type_id, self.bits) = (record.target.some(), place.bits);
        Ok(())
    }

    /// Reads the pointer, and moves to the `n`th element of what it points to; returns that without typedefs.
    fn follow(
        &mut self,
        view: &View<'_>,
        target: Option<TypeId>,
        n: i64,
    ) -> Result<Option<(TypeId, TypeRecord)>, Failure> {
        let stripped = target.and_then(|t| lookup::stripped(view, t));
        if stripped.is_none() {
            return failure(format!("{} is a void pointer", self.spelled(view)), CAST);
        }
        self.moves.push(Move::Deref);
        (self.type_id, self.indexed) = (target, 0);
        self.advance(view, n, target)?;
        Ok(stripped)
    }

    /// Moves to the `n`th element of the array.
    fn element(&mut self, view: &View<'_>, n: i64) -> Result<(), Failure> {
        let Some(array) = self.type_id.and_then(|t| lookup::strip(view, t)) else { return Ok(()) };
        let dimensions = view.members(array);
        let length = dimensions.get(self.indexed).map_or(-1, |d| d.value.get());
        // The last member of a struct may be declared with one element or none, but have more.
        if n < 0 || (length > 1 && n >= length) {
            return failure(format!("{} has {length} elements", self.spelled(view)), "");
        }
        let element = view.types.at(array.index()).target.some();
        self.indexed += 1;
        let within = dimensions.from(self.indexed);
        let count = within.iter().fold(1u64, |all, d| all.wrapping_mul(d.value.get().max(0) as u64));
        self.advance(view, n.wrapping_mul(count as i64), element)?;
        if within.is_empty() {
            (self.type_id, self.indexed) = (element, 0);
        }
        Ok(())
    }

    /// Moves over this many elements.
    fn advance(&mut self, view: &View<'_>, n: i64, element: Option<TypeId>) -> Result<(), Failure> {
        if n == 0 {
            return Ok(());
        }
        match element.and_then(|e| lookup::size_of(view, e)) {
            Some(size) => {
                self.add((n as u64).wrapping_mul(size));
                Ok(())
            }
            None => failure(format!("the size of {} is not known", spelled(view, element)), CAST),
        }
    }

    fn add(&mut self, bytes: u64) {
        let mut sum = bytes;
        if let Some(Move::Add(before)) = self.moves.last() {
            sum = sum.wrapping_add(*before);
            self.moves.pop();
        }
        if sum != 0 {
            self.moves.push(Move::Add(sum));
        }
    }

    fn spelled(&self, view: &View<'_>) -> String {
        spelled(view, self.type_id)
    }

    fn no_pointer(&self, view: &View<'_>) -> String {
        format!("{} is no pointer", self.spelled(view))
    }
}

fn spelled(view: &View<'_>, type_id: Option<TypeId>) -> String {
    type_id.and_then(|t| spell(view, t)).unwrap_or_else(|| "void".to_owned())
}

/// The position of a member in its struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The offset in bytes; for a bit-field, that of the aligned storage unit of its type that holds it.
    pub offset: u64,
    /// The first bit in the storage unit, and the width: see [`Walked::bits`].
    pub bits: Option<(u32, u32)>,
}

/// The position of a member in its struct.
pub(crate) fn position(view: &View<'_>, member: MemberRecord) -> Position {
    let bit = member.value.get() as u64 & 0xffff_ffff_ffff;
    let width = (member.value.get() as u64 >> 48) as u32;
    if width == 0 {
        return Position { offset: bit / 8, bits: None };
    }
    let size = member.target.some().and_then(|t| lookup::size_of(view, t)).filter(|s| *s > 0).unwrap_or(1);
    let aligned = bit / 8 / size * size;
    // A packed bit-field may start anywhere.
    let fits = bit - aligned * 8 + u64::from(width) <= size.saturating_mul(8);
    let offset = if fits { aligned } else { bit / 8 };
    Position { offset, bits: Some(((bit - offset * 8) as u32, width)) }
}

/// The largest number of anonymous structs and unions to search; only damaged files have more.
const MOST_ANONYMOUS: usize = 1024;

/// The members of a struct or union, then those of its anonymous members, each with the offset in bytes of the
/// containing struct.
fn members<'a>(view: &View<'a>, aggregate: TypeId) -> impl Iterator<Item = (u64, MemberRecord)> {
    let mut open = vec![];
    let mut next = 0;
    let (mut base, mut within) = (0, view.members(aggregate).iter());
    std::iter::from_fn(move || {
        loop {
            let Some(member) = within.next() else {
                let &(offset, anonymous) = open.get(next)?;
                next += 1;
                (base, within) = (offset, view.members(anonymous).iter());
                continue;
            };
            let stripped = || lookup::strip(view, member.target.some()?);
            let aggregate =
                || stripped().filter(|t| lookup::kind(view, *t).is_some_and(TypeKind::is_aggregate));
            let is_looked_through = member.name.get() == 0 && open.len() < MOST_ANONYMOUS;
            match is_looked_through.then(aggregate).flatten() {
                Some(anonymous) => open.push((position(view, member).offset.wrapping_add(base), anonymous)),
                None => return Some((base, member)),
            }
        }
    })
}
