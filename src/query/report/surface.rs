//! What tools depend on of a kernel: functions, types and tracepoints by name, each with its parts.
use crate::query::index::functions::{self, Declaration, Declarations, Scope};
use crate::query::resolve::tracepoint;
use crate::query::spec::ModuleScope;
use crate::query::types::c_declaration::declare;
use crate::query::types::lookup;
use probeidx_format::id::{NameId, TypeId};
use probeidx_format::types::TypeKind;
use probeidx_format::{SectionName, View};
use rustc_hash::FxHashMap;

/// The kinds of things that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A function with code of its own.
    Function,
    /// A struct.
    Struct,
    /// A union.
    Union,
    /// An enum.
    Enum,
    /// A tracepoint with an event.
    Tracepoint,
}

impl Kind {
    /// All kinds, in the order in which they are told.
    pub const ALL: [Self; 5] = [Self::Function, Self::Struct, Self::Union, Self::Enum, Self::Tracepoint];

    /// The name in text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Struct => "struct",
            Self::Union => "union",
            Self::Enum => "enum",
            Self::Tracepoint => "tracepoint",
        }
    }
    fn of_type(kind: TypeKind) -> Option<Self> {
        match kind {
            TypeKind::Struct | TypeKind::Class => Some(Self::Struct),
            TypeKind::Union => Some(Self::Union),
            TypeKind::Enum => Some(Self::Enum),
            _ => None,
        }
    }
}

/// The kinds of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A parameter of a function or tracepoint.
    Parameter,
    /// What a function returns.
    Returns,
    /// A member of a struct or union; those of an unnamed member are the struct's own.
    Member,
    /// An enumerator, with its value.
    Enumerator,
    /// A field of an event's record.
    Field,
}

/// Texts of several kernels; equal ones have the same number.
#[derive(Default)]
pub struct Spellings(FxHashMap<Box<[u8]>, u32>);

impl Spellings {
    fn number(&mut self, text: &[u8]) -> u32 {
        if let Some(number) = self.0.get(text) {
            return *number;
        }
        let number = self.0.len() as u32;
        self.0.insert(text.into(), number);
        number
    }
}

/// A part of a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Item {
    pub part: Part,
    pub name: u32,
    /// Its type, or its value.
    pub value: u32,
    /// Its position, if that counts; else 0.
    pub at: u32,
}

/// The parts of a thing, sorted; those of all that share its name. `None` if they are unknown.
pub(super) type Items = Option<Box<[Item]>>;

/// The things of a kernel by kind and name.
pub struct Surface {
    kinds: [FxHashMap<u32, Items>; Kind::ALL.len()],
}

impl Surface {
    /// The number of things of a kind.
    pub fn count(&self, kind: Kind) -> usize {
        self.of(kind).len()
    }
    pub(super) fn of(&self, kind: Kind) -> &FxHashMap<u32, Items> {
        &self.kinds[kind as usize]
    }

    /// The functions and tracepoints of these objects, and all types of an index. Cost: linear in the placements and
    /// members of the kernel.
    pub fn of_kernel(view: &View<'_>, objects: &ModuleScope, spellings: &mut Spellings) -> Self {
        let scope = Scope::new(view, objects);
        let types = vec![0; view.types.len()];
        let mut reader = Reader { view, spellings, types, found: Default::default() };
        reader.functions(&scope);
        reader.types();
        reader.tracepoints(&scope);
        let sorted = |found: FxHashMap<u32, Found>| found.into_iter().map(|(name, of)| (name, of.sorted()));
        Self { kinds: reader.found.map(|found| sorted(found).collect()) }
    }
}

/// The limits on unnamed structs: the depth of nesting and the total number of members. Only damaged indexes exceed them.
const DEEPEST: u32 = 32;
const MOST_MEMBERS: usize = 1 << 16;

struct Reader<'a, 's> {
    view: &'a View<'a>,
    spellings: &'s mut Spellings,
    /// For each type, the number of its spelling plus one; 0 if not known yet.
    types: Vec<u32>,
    found: [FxHashMap<u32, Found>; Kind::ALL.len()],
}

/// What is found of a name.
#[derive(Default)]
struct Found {
    items: Vec<Item>,
    is_unknown: bool,
}

impl Found {
    fn sorted(mut self) -> Items {
        self.items.sort_unstable();
        self.items.dedup();
        (!self.is_unknown).then(|| self.items.into())
    }
}

impl Reader<'_, '_> {
    /// What is found so far of a thing.
    fn thing(&mut self, kind: Kind, name: &[u8]) -> &mut Found {
        let number = self.spellings.number(name);
        self.found[kind as usize].entry(number).or_default()
    }

    fn functions(&mut self, scope: &Scope) {
        let view = self.view;
        let mut found = vec![];
        for at in 0..view.names.len() as u32 {
            let name = NameId::new(at);
            for declaration in Declarations::of(view, Some(name)) {
                let mut has_code = false;
                functions::places(view, &declaration, scope, &mut found, |_, places| {
                    has_code |= places.iter().any(|place| !place.is_inline(view));
                });
                if has_code {
                    let items = self.prototype(&declaration);
                    let thing = self.thing(Kind::Function, view.string(declaration.name));
                    thing.is_unknown |= items.is_none();
                    thing.items.extend(items.into_iter().flatten());
                }
            }
        }
    }

    /// The parameters of a function and what it returns; `None` for assembly, of which the debug information has the
    /// name and the line.
    fn prototype(&mut self, declaration: &Declaration) -> Option<Vec<Item>> {
        let view = self.view;
        let function = view.functions.get(declaration.functions().next()?.index())?;
        let variables = view.variables(function);
        let returns = variables.return_type;
        if returns.and_then(|t| lookup::kind(view, t)) == Some(TypeKind::Unspecified) {
            return None;
        }
        let mut items = vec![self.item(Part::Returns, b"", returns, 0)];
        for (variable, at) in variables.parameters().zip(1..) {
            items.push(self.item(Part::Parameter, view.string(variable.name), variable.type_id, at));
        }
        Some(items)
    }

    fn types(&mut self) {
        let view = self.view;
        let mut left = view.left(SectionName::Members);
        for id in lookup::all_named(view).map(|at| TypeId::new(at as u32)) {
            let record = view.types.at(id.index());
            let kind = Kind::of_type(TypeKind::from_u8(record.kind));
            let Some(kind) = kind.filter(|_| !lookup::is_declared(view, id)) else { continue };
            // Only types of a forged index have more members than there are.
            if !left.take(view.members(id).len()) {
                return;
            }
            let mut items = vec![];
            match kind {
                Kind::Enum => self.enumerators(id, &mut items),
                _ => self.members(id, 0, &mut items),
            }
            self.thing(kind, view.string(record.name)).items.extend(items);
        }
    }

    fn enumerators(&mut self, id: TypeId, items: &mut Vec<Item>) {
        for record in self.view.members(id) {
            let name = self.spellings.number(self.view.string(record.name));
            let value = self.spellings.number(record.value.get().to_string().as_bytes());
            items.push(Item { part: Part::Enumerator, name, value, at: 0 });
        }
    }

    /// The members that can be accessed by name.
    fn members(&mut self, id: TypeId, depth: u32, items: &mut Vec<Item>) {
        let view = self.view;
        for record in view.members(id) {
            if items.len() >= MOST_MEMBERS {
                return;
            }
            let (name, type_id) = (view.string(record.name), record.target.some());
            let is_own = |t: &TypeId| lookup::kind(view, *t).is_some_and(TypeKind::is_aggregate);
            match type_id.filter(|t| name.is_empty() && depth < DEEPEST && is_own(t)) {
                Some(inner) => self.members(inner, depth + 1, items),
                None => items.push(self.item(Part::Member, name, type_id, 0)),
            }
        }
    }

    fn tracepoints(&mut self, scope: &Scope) {
        let view = self.view;
        for found in tracepoint::all(view) {
            if !scope.contains(found.object()) || !found.has_event() {
                continue;
            }
            let mut items = vec![];
            for (variable, at) in found.parameters().zip(1..) {
                items.push(self.item(Part::Parameter, view.string(variable.name), variable.type_id, at));
            }
            for field in found.fields().into_iter().flatten() {
                let [name, value] =
                    [field.name, field.type_name].map(|t| self.spellings.number(view.string(t)));
                items.push(Item { part: Part::Field, name, value, at: 0 });
            }
            let is_unknown = found.prototype().is_none() || found.fields().is_none();
            let thing = self.thing(Kind::Tracepoint, found.name());
            thing.is_unknown |= is_unknown;
            thing.items.extend(items);
        }
    }

    /// A part with a type. One without a name is called by its position.
    fn item(&mut self, part: Part, name: &[u8], type_id: Option<TypeId>, at: u32) -> Item {
        let name = match name.is_empty() {
            true => self.spellings.number(format!("({at})").as_bytes()),
            false => self.spellings.number(name),
        };
        let known = type_id.and_then(|id| self.types.get(id.index()).copied());
        let value = match known.and_then(|number| number.checked_sub(1)) {
            Some(number) => number,
            None => {
                let number = self.spellings.number(declare(self.view, type_id, "").as_bytes());
                if let Some(slot) = type_id.and_then(|id| self.types.get_mut(id.index())) {
                    *slot = number + 1;
                }
                number
            }
        };
        Item { part, name, value, at }
    }
}
