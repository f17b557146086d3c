//! SystemTap's spelling of types, with modifiers after what they modify: `struct file*`, `char const*`, `int (*)
//! (struct file*, long int)`. The rules follow `dwarf_wrappers.cxx` of SystemTap 4.8.
use probeidx_format::View;
use probeidx_format::id::TypeId;
use probeidx_format::types::TypeKind;

/// The deepest chain of types; only damaged files have longer ones, which are cut.
const DEEPEST: u32 = 64;

/// The spelling of a type; `None` if it has none, in which case SystemTap does not list the variable.
pub fn spell(view: &View<'_>, type_id: TypeId) -> Option<String> {
    spell_at(view, type_id, 0)
}

fn spell_at(view: &View<'_>, type_id: TypeId, depth: u32) -> Option<String> {
    if depth > DEEPEST {
        return None;
    }
    let mut out = String::with_capacity(32);
    let mut subroutine = None;
    if !modifiers(view, Some(type_id), &mut out, &mut subroutine, depth) {
        return None;
    }
    let Some(function) = subroutine else { return Some(out) };
    let record = view.types.get(function.index())?;
    let result = match record.target.some() {
        Some(result) => spell_at(view, result, depth + 1)?,
        None => "void".to_owned(),
    };
    let mut parameters = vec![];
    for parameter in view.members(function) {
        parameters.push(match parameter.target.some() {
            Some(target) => spell_at(view, target, depth + 1)?,
            None => "...".to_owned(),
        });
    }
    let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    Some(format!("{result} ({out}) ({parameters})"))
}

/// Writes the type from the inside out; stops at a function type, whose modifiers are in the middle of it. False if the
/// type cannot be named.
fn modifiers(
    view: &View<'_>,
    type_id: Option<TypeId>,
    out: &mut String,
    subroutine: &mut Option<TypeId>,
    depth: u32,
) -> bool {
    let Some((id, record)) = type_id.and_then(|id| Some((id, view.types.get(id.index())?))) else {
        return false;
    };
    let kind = TypeKind::from_u8(record.kind);
    let name = String::from_utf8_lossy(view.string(record.name));
    let after = match kind {
        TypeKind::Struct | TypeKind::Union | TypeKind::Class | TypeKind::Enum => {
            out.push_str(match kind {
                TypeKind::Struct => "struct ",
                TypeKind::Union => "union ",
                TypeKind::Class => "class ",
                _ => "enum ",
            });
            out.push_str(if name.is_empty() { "{...}" } else { &name });
            return true;
        }
        TypeKind::Typedef | TypeKind::Base => {
            out.push_str(if name.is_empty() { "{...}" } else { &name });
            return true;
        }
        TypeKind::Function => {
            *subroutine = Some(id);
            return true;
        }
        TypeKind::Unspecified | TypeKind::Atomic => return false,
        TypeKind::Pointer => "*",
        TypeKind::Array => "[]",
        TypeKind::Const => " const",
        TypeKind::Volatile => " volatile",
        TypeKind::Restrict => " restrict",
        TypeKind::Reference => "&",
        TypeKind::RvalueReference => "&&",
    };
    let target = record.target.some();
    let target_record = target.and_then(|t| view.types.get(t.index()));
    let target_kind = target_record.map(|t| TypeKind::from_u8(t.kind));
    // The argument list of a variadic function is a pointer to a struct that the compiler generated.
    if kind == TypeKind::Pointer
        && target_kind == Some(TypeKind::Struct)
        && target_record.is_some_and(|t| view.string(t.name) == b"__va_list_tag")
    {
        out.push_str("va_list");
        return true;
    }
    if depth > DEEPEST || !modifiers(view, target, out, subroutine, depth + 1) {
        out.push_str("void");
    }
    let is_reference = matches!(target_kind, Some(TypeKind::Reference | TypeKind::RvalueReference));
    if !(kind == TypeKind::Const && is_reference) {
        out.push_str(after);
    }
    true
}
