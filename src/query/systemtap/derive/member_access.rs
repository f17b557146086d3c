//! Follows `->member` and `[index]` from a type to a value that a script can use (`translate_components`,
//! `translate_final_fetch_or_store`, dwflpp.cxx of SystemTap 4.8).
use crate::query::spec::member_path::Step as Part;
use crate::query::types::lookup;
use crate::query::types::member;
use crate::query::types::stap_spelling::spell;
use crate::tapset::ast::{Step, Type};
use crate::tapset::context::{self, Detail};
use probeidx_format::View;
use probeidx_format::id::TypeId;
use probeidx_format::types::TypeKind;

/// In a [`Detail`]: the value is a pointer to the type.
const POINTS_TO: u32 = 1 << 31;

/// A value described by its type, before it is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    type_id: TypeId,
    /// Whether it is the target of a pointer that SystemTap has as a number: `[n]` then indexes such objects.
    is_target: bool,
}

/// Why a path fails, and after how many steps.
pub(super) struct Wrong {
    pub steps: usize,
    pub why: String,
    pub instead: Vec<String>,
}

/// The detail of a value of this type.
pub(super) fn detail(type_id: TypeId) -> Detail {
    Detail(type_id.get())
}

/// The types that a cast may mean by a name without a kind.
pub(super) fn named(view: &View<'_>, name: &str) -> Vec<TypeId> {
    let name = name.strip_prefix("class ").unwrap_or(name);
    match lookup::find(view, name) {
        found if found.is_empty() && name.ends_with('*') => vec![],
        found => found,
    }
}

impl Value {
    /// A variable of this type.
    pub(super) fn of(type_id: TypeId) -> Self {
        Self { type_id, is_target: false }
    }
    /// The target of a number that is cast to a pointer.
    pub(super) fn pointed_to(type_id: TypeId) -> Self {
        Self { type_id, is_target: true }
    }
    /// The target of a value with this detail; `None` if it is not a pointer.
    pub(super) fn behind(view: &View<'_>, of: Detail) -> Option<Self> {
        let type_id = TypeId::new(of.0 & !POINTS_TO);
        if of.0 & POINTS_TO != 0 {
            return Some(Self::pointed_to(type_id));
        }
        let stripped = lookup::strip(view, type_id)?;
        let is_pointer = matches!(lookup::kind(view, stripped)?, TypeKind::Pointer | TypeKind::Array);
        let target = view.types.at(stripped.index()).target.some().filter(|_| is_pointer)?;
        Some(Self::pointed_to(target))
    }

    /// Follows a path to a number or a text.
    pub(super) fn along(
        self,
        view: &View<'_>,
        steps: &[Step],
        address_of: bool,
    ) -> Result<context::Value, Wrong> {
        let (steps, pretty) = match steps {
            [rest @ .., Step::Pretty(_)] => (rest, true),
            all => (all, false),
        };
        let mut at = Position::new(self.type_id);
        for (number, step) in steps.iter().enumerate() {
            let is_first = number == 0 && self.is_target;
            at.go(view, step, is_first).map_err(|(why, instead)| Wrong {
                steps: number + 1,
                why,
                instead,
            })?;
        }
        let wrong = |why: String| Wrong { steps: steps.len(), why, instead: vec![] };
        match (pretty, address_of) {
            (true, true) => Err(wrong("text has no address".to_owned())),
            (true, false) => Ok(context::Value { kind: Type::String, detail: None }),
            (false, true) if at.is_bits => Err(wrong("a bit-field has no address".to_owned())),
            (false, true) => {
                let detail = at.type_id.map(|t| Detail(t.get() | POINTS_TO));
                Ok(context::Value { kind: Type::Long, detail })
            }
            (false, false) => at.number(view).map_err(wrong),
        }
    }
}

/// Whether a member belongs to the struct itself, or to plain anonymous structs in it.
fn is_plain_member(view: &View<'_>, aggregate: TypeId, name: &[u8], depth: usize) -> bool {
    view.members(aggregate).iter().any(|member| {
        let own = view.string(member.name);
        let anonymous = || {
            let within = member.target.some().filter(|_| own.is_empty() && depth < DEEPEST)?;
            let is_aggregate = lookup::kind(view, within).is_some_and(TypeKind::is_aggregate);
            is_aggregate.then(|| is_plain_member(view, within, name, depth + 1))
        };
        own == name || anonymous().unwrap_or(false)
    })
}

/// The deepest nesting of anonymous structs; only damaged files have more.
const DEEPEST: usize = 16;

/// The position on a path.
struct Position {
    /// The type of the variable, or of the target of the last pointer that was read.
    start: TypeId,
    parts: Vec<Part>,
    /// The type at the position; `None` for void.
    type_id: Option<TypeId>,
    is_bits: bool,
}

impl Position {
    fn new(start: TypeId) -> Self {
        Self { start, parts: vec![], type_id: Some(start), is_bits: false }
    }

    fn kind(&self, view: &View<'_>) -> Option<(TypeId, TypeKind)> {
        let stripped = lookup::strip(view, self.type_id?)?;
        Some((stripped, lookup::kind(view, stripped)?))
    }

    fn go(&mut self, view: &View<'_>, step: &Step, is_first: bool) -> Result<(), (String, Vec<String>)> {
        match step {
            Step::Member(name) => {
                // Pointers to pointers are followed to the struct.
                while let Some((pointer, TypeKind::Pointer | TypeKind::Reference)) = self.kind(view) {
                    let target = view.types.at(pointer.index()).target.some();
                    let Some(target) = target.filter(|t| lookup::strip(view, *t).is_some()) else {
                        return Err(("a void pointer leads to no members".to_owned(), vec![]));
                    };
                    *self = Self::new(target);
                }
                if let Some((aggregate, kind)) = self.kind(view)
                    && kind.is_aggregate()
                    && lookup::is_declared(view, aggregate)
                {
                    self.define(view, aggregate, kind, name);
                }
                self.member(view, name)
            }
            Step::Index(number) => self.index(view, *number, is_first),
            Step::At(_) => self.index(view, 0, is_first),
            // It ends a path, and has been removed.
            Step::Pretty(_) => Ok(()),
        }
    }

    /// Moves to a member. SystemTap 4.8 does not look into a `const` anonymous struct (`find_struct_member`), such as
    /// that of `struct vm_fault`.
    fn member(&mut self, view: &View<'_>, name: &str) -> Result<(), (String, Vec<String>)> {
        let aggregate = self.kind(view).map(|(aggregate, _)| aggregate);
        self.part(view, Part::Member(name.to_owned()))?;
        match aggregate.is_none_or(|aggregate| is_plain_member(view, aggregate, name.as_bytes(), 0)) {
            true => Ok(()),
            false => {
                Err((format!("SystemTap 4.8 does not find {name} in a const struct without a name"), vec![]))
            }
        }
    }

    /// Replaces a declaration by its definition; if there are several, by one that has the member.
    fn define(&mut self, view: &View<'_>, aggregate: TypeId, kind: TypeKind, member: &str) {
        let name = view.string(view.types.at(aggregate.index()).name);
        let defined = lookup::named(view, name, Some(kind));
        let mut defined = defined.into_iter().filter(|t| !lookup::is_declared(view, *t)).peekable();
        let first = defined.peek().copied();
        let step = [Part::Member(member.to_owned())];
        if let Some(found) = defined.find(|t| member::walk(view, *t, &step).is_ok()).or(first) {
            *self = Self::new(found);
        }
    }

    fn index(&mut self, view: &View<'_>, number: i64, is_first: bool) -> Result<(), (String, Vec<String>)> {
        match self.kind(view) {
            Some((_, TypeKind::Pointer | TypeKind::Array)) => self.part(view, Part::Index(number)),
            // The target of a cast may be an element of an array.
            _ if is_first => Ok(()),
            _ => self.part(view, Part::Index(number)),
        }
    }

    fn part(&mut self, view: &View<'_>, part: Part) -> Result<(), (String, Vec<String>)> {
        self.parts.push(part);
        match member::walk(view, self.start, &self.parts) {
            Ok(walked) => {
                (self.type_id, self.is_bits) = (walked.type_id, walked.bits.is_some());
                Ok(())
            }
            Err(error) => {
                let why = error.message().split_once(": ").map_or(error.message(), |(_, why)| why);
                let near = error.remedy().and_then(|r| r.strip_prefix("did you mean ")?.strip_suffix('?'));
                let near = near.map(|n| n.split(", ").map(str::to_owned).collect()).unwrap_or_default();
                Err((why.to_owned(), near))
            }
        }
    }

    /// The value at the position, as a number.
    fn number(&self, view: &View<'_>) -> Result<context::Value, String> {
        let spelled = || self.type_id.and_then(|t| spell(view, t)).unwrap_or_else(|| "void".to_owned());
        let Some((stripped, kind)) = self.kind(view) else { return Err("void is no value".to_owned()) };
        match kind {
            kind if kind.is_aggregate() => {
                let mut names: Vec<_> = view
                    .members(stripped)
                    .iter()
                    .map(|m| view.string(m.name))
                    .filter(|n| !n.is_empty())
                    .collect();
                names.sort_unstable();
                let member = names
                    .first()
                    .map_or(String::new(), |name| format!(", such as ->{}", String::from_utf8_lossy(name)));
                Err(format!("{} is no number: one of its members has to be named{member}", spelled()))
            }
            TypeKind::Base | TypeKind::Enum if lookup::size_of(view, stripped).is_none_or(|s| s > 8) => {
                Err(format!("{} is too large for a number", spelled()))
            }
            TypeKind::Function | TypeKind::Unspecified => Err(format!("{} is no value", spelled())),
            _ => Ok(context::Value { kind: Type::Long, detail: Some(detail(stripped)) }),
        }
    }
}
