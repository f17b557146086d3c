//! The functions that take or return a type.
use super::lookup::{self, DEEPEST};
use probeidx_format::id::{FunctionId, ObjectId, PlaceId, TypeId};
use probeidx_format::types::TypeKind;
use probeidx_format::users::Use;
use probeidx_format::{SectionName, View};

/// A function that takes or returns a type.
#[derive(Clone, Debug)]
pub struct User<'a> {
    /// The function's name.
    pub name: &'a [u8],
    /// The file of the declaration.
    pub file: &'a [u8],
    /// The line of the declaration, from 1; 0 if unknown.
    pub line: u32,
    /// Whether it is inlined somewhere.
    pub is_inlined: bool,
    /// The objects with code of the function; empty if the compiler kept none.
    pub objects: Vec<ObjectId>,
    /// The uses of the type: 0 for the return value, else the number of the parameter; and the number of pointers that
    /// lead to the type.
    pub uses: Vec<(u32, u32)>,
}

/// Calls `each` with the functions that take or return one of these types, directly or through pointers; ordered by
/// name, file and line. Typedefs and qualifiers are ignored. Cost: linear in the results for structs, unions and enums;
/// for other types, linear in all functions.
///
/// # Errors
/// Those of `each`.
pub fn users<'a, E>(
    view: &View<'a>,
    wanted: &[TypeId],
    mut each: impl FnMut(&User<'a>) -> Result<(), E>,
) -> Result<(), E> {
    let mut open: Option<(User<'a>, FunctionId)> = None;
    for one in uses(view, wanted) {
        let Some(record) = view.functions.get(one.function.index()) else { continue };
        let (name, file, line) = (view.string(record.name), view.string(record.file), record.line.get());
        let (mut user, last) = match open.take() {
            Some((user, last)) if (user.name, user.file, user.line) == (name, file, line) => {
                (user, Some(last))
            }
            before => {
                let (mut objects, mut uses) = (vec![], vec![]);
                if let Some((mut user, _)) = before {
                    user.finish();
                    each(&user)?;
                    (objects, uses) = (user.objects, user.uses);
                    objects.clear();
                    uses.clear();
                }
                (User { name, file, line, is_inlined: false, objects, uses }, None)
            }
        };
        if last != Some(one.function) {
            user.is_inlined |= record.is_inlined();
            add_objects(view, one.function, &mut user.objects);
        }
        if !user.uses.contains(&(one.position, one.depth)) {
            user.uses.push((one.position, one.depth));
        }
        open = Some((user, one.function));
    }
    open.map_or(Ok(()), |(mut user, _)| {
        user.finish();
        each(&user)
    })
}

/// The types to pass to [`users`] for a name with these definitions. Includes the types that are only declared, because
/// functions may refer to those if there are several definitions.
pub fn asked(view: &View<'_>, name: &str, found: &[TypeId]) -> Vec<TypeId> {
    let (kind, plain) = lookup::split(name);
    let mut wanted = found.to_vec();
    let kinds: Vec<Option<TypeKind>> = found.iter().map(|t| lookup::kind(view, *t)).collect();
    let is_asked = |t: &TypeId| kind.is_some() || kinds.contains(&lookup::kind(view, *t));
    wanted.extend(lookup::named(view, plain.as_bytes(), kind).into_iter().filter(is_asked));
    wanted
}

impl User<'_> {
    fn finish(&mut self) {
        self.uses.sort_unstable();
        self.objects.sort_unstable();
    }
}

/// The objects with code of functions that take or return the type, to distinguish definitions of the same name.
pub fn objects(view: &View<'_>, type_id: TypeId) -> Vec<ObjectId> {
    let mut objects = vec![];
    let mut last = None;
    for one in uses(view, &[type_id]) {
        if last.replace(one.function) != Some(one.function) {
            add_objects(view, one.function, &mut objects);
        }
    }
    objects.sort_unstable();
    objects
}

/// The uses of the types, by function and position.
fn uses(view: &View<'_>, wanted: &[TypeId]) -> Vec<Use> {
    let is_listed =
        |t: &TypeId| lookup::kind(view, *t).is_some_and(|kind| kind.is_aggregate() || kind == TypeKind::Enum);
    let stripped = wanted.iter().filter_map(|t| lookup::strip(view, *t));
    let (mut listed, others): (Vec<TypeId>, Vec<TypeId>) = stripped.partition(is_listed);
    listed.sort_unstable();
    listed.dedup();
    // Only a forged index has more uses than bytes in the section.
    let mut left = view.left(SectionName::TypeUses);
    let mut uses: Vec<Use> =
        listed.iter().flat_map(|t| view.users(*t)).take_while(|_| left.take(1)).collect();
    if !others.is_empty() {
        // Typedefs are not resolved: gfp_t is not every unsigned int.
        let plain: Vec<TypeId> = wanted
            .iter()
            .copied()
            .filter(|t| lookup::strip(view, *t).is_some_and(|t| !is_listed(&t)))
            .collect();
        uses.extend(search(view, &plain));
    }
    uses.sort_unstable();
    uses.dedup();
    uses
}

/// Searches the parameters and return types of all functions.
fn search(view: &View<'_>, wanted: &[TypeId]) -> Vec<Use> {
    let depths: Vec<Option<u32>> =
        (0..view.types.len() as u32).map(|t| depth(view, wanted, TypeId::new(t))).collect();
    let mut uses = vec![];
    let count = view.functions.len().saturating_sub(1);
    for (function, record) in (0..).map(FunctionId::new).zip(view.functions.up_to(count)) {
        let variables = view.variables(record);
        let returned = std::iter::once(variables.return_type);
        let parameters = variables.filter(|v| v.parameter && !v.nested).map(|v| v.type_id);
        for (type_id, position) in returned.chain(parameters).zip(0..) {
            if let Some(depth) = type_id.and_then(|t| *depths.get(t.index())?) {
                uses.push(Use { function, position, depth });
            }
        }
    }
    uses
}

/// The number of pointers from a type to one of the wanted ones.
fn depth(view: &View<'_>, wanted: &[TypeId], type_id: TypeId) -> Option<u32> {
    let (mut at, mut depth) = (type_id, 0);
    for _ in 0..DEEPEST {
        if wanted.contains(&at) {
            return Some(depth);
        }
        match lookup::kind(view, at)? {
            TypeKind::Pointer | TypeKind::Reference | TypeKind::RvalueReference => depth += 1,
            TypeKind::Function => return None,
            _ => {}
        }
        at = view.types.at(at.index()).target.some()?;
    }
    None
}

/// Adds the objects in which a function has code, without duplicates.
fn add_objects(view: &View<'_>, function: FunctionId, objects: &mut Vec<ObjectId>) {
    let mut places = view.places_of_function(function);
    while let Some(place) = places.next() {
        if view.places.facts(place.index()).is_none_or(|p| p.entry.get() == 0) {
            continue;
        }
        let object = view.object_of_place(place);
        if !objects.contains(&object) {
            objects.push(object);
        }
        // Of an object one is enough.
        places.skip_to(PlaceId::new(view.places_of(object).end as u32));
    }
}
