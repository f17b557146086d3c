//! Types of values in handlers, and members of them.
use crate::bpftrace::ast::{OwnType, Script, TypeName};
use crate::error::Error;
use crate::query::check::suggestions;
use crate::query::index::functions;
use crate::query::spec::member_path::Step;
use crate::query::types::lookup;
use crate::query::types::member::walk;
use probeidx_format::View;
use probeidx_format::id::TypeId;
use probeidx_format::record::ObjectRecord;
use probeidx_format::types::TypeKind;

/// The types that a script can use on a kernel.
pub(super) struct Types<'a, 's> {
    view: &'a View<'a>,
    own: &'s [OwnType],
    /// Whether the kernel has BTF. bpftrace tells the script.
    pub has_btf: bool,
    /// Whether types may come from headers.
    pub has_includes: bool,
}

/// The type of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value<'s> {
    base: Base<'s>,
    /// How many pointers lead to it.
    pointers: u32,
}

#[derive(Clone, Copy, Debug)]
enum Base<'s> {
    /// A type of the kernel.
    Kernel(TypeId),
    /// A type of the script.
    Own(&'s OwnType),
}

/// What a name of a type stands for.
pub(super) enum Found<'s> {
    /// A value with members, or a pointer to one.
    Value(Value<'s>),
    /// A number or text of bpftrace.
    Plain,
    /// There is no such type.
    Missing,
}

/// Why a member is not there.
pub(super) struct NoMember {
    pub reason: String,
    pub instead: Vec<String>,
}

impl<'a, 's> Types<'a, 's> {
    pub fn new(view: &'a View<'a>, script: &'s Script) -> Self {
        let kernel = functions::kernel(view).and_then(|kernel| view.objects.get(kernel.index()));
        let has_btf = !kernel.is_some_and(|kernel| kernel.has(ObjectRecord::NO_BTF));
        let has_includes = script.includes.iter().any(|branch| branch.is_read(has_btf));
        Self { view, own: &script.types, has_btf, has_includes }
    }

    /// A type by its name: the script's own, else the kernel's.
    pub fn named(&self, name: &TypeName) -> Found<'s> {
        if let Some(own) =
            self.own.iter().find(|own| own.name == name.name && own.branch.is_read(self.has_btf))
        {
            return Found::Value(Value { base: Base::Own(own), pointers: name.pointers });
        }
        if name.is_own() {
            return Found::Plain;
        }
        let found = lookup::find(self.view, &name.name);
        let defined = found.iter().find(|id| !lookup::is_declared(self.view, **id));
        match defined {
            Some(id) => Found::Value(Value { base: Base::Kernel(*id), pointers: name.pointers }),
            // Types that are only declared have no members; a pointer to one is still a pointer.
            None => Found::Missing,
        }
    }

    /// A value of a type of the kernel.
    pub fn of(&self, id: TypeId) -> Value<'s> {
        Value { base: Base::Kernel(id), pointers: 0 }
    }

    /// The type that a pointer points to, or an element of an array.
    pub fn target(&self, value: Value<'s>) -> Option<Value<'s>> {
        if value.pointers > 0 {
            return Some(Value { pointers: value.pointers - 1, ..value });
        }
        let Base::Kernel(id) = value.base else { return None };
        let stripped = lookup::strip(self.view, id)?;
        let record = self.view.types.get(stripped.index())?;
        let has_target = matches!(
            TypeKind::from_u8(record.kind),
            TypeKind::Pointer | TypeKind::Reference | TypeKind::Array
        );
        let target = record.target.some().filter(|_| has_target)?;
        Some(Value { base: Base::Kernel(target), pointers: 0 })
    }

    /// A pointer to a value.
    pub fn address(&self, value: Value<'s>) -> Value<'s> {
        Value { pointers: value.pointers.saturating_add(1), ..value }
    }

    /// A member; `Ok(None)` if nothing can be said about it. bpftrace takes `.` for `->`.
    pub fn member(&self, value: Value<'s>, name: &str) -> Result<Option<Value<'s>>, NoMember> {
        if value.pointers > 1 {
            return Ok(None);
        }
        match value.base {
            Base::Own(own) => self.own_member(own, name),
            Base::Kernel(id) => self.kernel_member(id, name),
        }
    }

    fn own_member(&self, own: &'s OwnType, name: &str) -> Result<Option<Value<'s>>, NoMember> {
        let Some(members) = &own.members else { return Ok(None) };
        match members.iter().find(|(known, _)| known == name) {
            Some((_, named)) => Ok(named.as_ref().and_then(|named| match self.named(named) {
                Found::Value(value) if named.is_array => Some(self.address(value)),
                Found::Value(value) => Some(value),
                _ => None,
            })),
            None => {
                let known = members.iter().map(|(name, _)| name.as_str());
                let instead = crate::nearest::nearest(name, known, 3);
                Err(NoMember { reason: format!("{} has no member {name}", own.name), instead })
            }
        }
    }

    /// The script's own definition of a type of the kernel, which counts for all values of it.
    fn redefined(&self, id: TypeId) -> Option<&'s OwnType> {
        if self.own.is_empty() {
            return None;
        }
        let record = self.view.types.get(id.index())?;
        let word = match TypeKind::from_u8(record.kind) {
            TypeKind::Struct => "struct ",
            TypeKind::Union => "union ",
            _ => return None,
        };
        let name = self.view.string(record.name);
        let is_it = |own: &&OwnType| {
            own.name.strip_prefix(word).is_some_and(|own| own.as_bytes() == name)
                && own.branch.is_read(self.has_btf)
        };
        self.own.iter().find(is_it)
    }

    fn kernel_member(&self, id: TypeId, name: &str) -> Result<Option<Value<'s>>, NoMember> {
        let view = self.view;
        let mut at = id;
        // Up to one pointer leads to the struct.
        let kind = |id| lookup::strip(view, id).and_then(|id| lookup::kind(view, id));
        if kind(at) == Some(TypeKind::Pointer) {
            match self.target(self.of(at)) {
                Some(Value { base: Base::Kernel(target), .. }) => at = target,
                _ => return Ok(None),
            }
        }
        if !kind(at).is_some_and(TypeKind::is_aggregate) {
            // A pointer to a pointer, or a number: bpftrace's own errors.
            return Ok(None);
        }
        if let Some(own) = lookup::strip(view, at).and_then(|id| self.redefined(id)) {
            return self.own_member(own, name);
        }
        let definitions = self.definitions(at);
        let mut first: Option<Error> = None;
        for definition in &definitions {
            match walk(view, *definition, &[Step::Member(name.to_owned())]) {
                Ok(walked) => {
                    return Ok(walked.type_id.filter(|_| walked.bits.is_none()).map(|id| self.of(id)));
                }
                Err(error) => {
                    first.get_or_insert(error);
                }
            }
        }
        // Without a definition nothing is known of its members.
        let Some(error) = first else { return Ok(None) };
        let message = error.message();
        let reason = message.split_once(": ").map_or(message, |(_, reason)| reason).to_owned();
        let near = error.remedy().and_then(|hint| hint.strip_prefix("did you mean "));
        let near = near.into_iter().flat_map(|near| near.trim_end_matches('?').split(", "));
        let mut instead: Vec<String> = near.map(str::to_owned).collect();
        instead.extend(suggestions::of_member(view, &format!("x->{name}")));
        Err(NoMember { reason, instead })
    }

    /// The definitions of a struct: others of the name if it is only declared.
    fn definitions(&self, id: TypeId) -> Vec<TypeId> {
        let view = self.view;
        let Some(stripped) = lookup::strip(view, id) else { return vec![] };
        let name = view.types.get(stripped.index()).map_or(&b""[..], |t| view.string(t.name));
        if name.is_empty() {
            return vec![stripped];
        }
        let kind = lookup::kind(view, stripped);
        let mut all = vec![stripped];
        all.extend(lookup::named(view, name, kind).into_iter().filter(|other| *other != stripped));
        all.retain(|id| !lookup::is_declared(view, *id));
        all
    }
}
