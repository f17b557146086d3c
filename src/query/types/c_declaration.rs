//! Spells types as C declarations: `struct list_head *next`, `int (*fn)(void *)`, `char comm[16]`.
use super::lookup::{self, DEEPEST};
use probeidx_format::View;
use probeidx_format::id::TypeId;
use probeidx_format::record::FunctionRecord;
use probeidx_format::types::TypeKind;
use probeidx_format::variables::Variable;

/// The longest parameter list; longer ones are cut, because nested function types could otherwise take any amount of
/// memory.
const LONGEST: usize = 4096;

/// Declares this name with this type; with an empty name, the type as in a cast. No type is void, and an unnamed type
/// is `struct {...}`.
pub fn declare(view: &View<'_>, type_id: Option<TypeId>, name: &str) -> String {
    declarator(view, type_id, "", name.to_owned(), 0)
}

/// Declares a variable.
pub fn variable(view: &View<'_>, variable: Variable) -> String {
    declare(view, variable.type_id, &String::from_utf8_lossy(view.string(variable.name)))
}

/// What a function takes and returns.
#[derive(Clone, Debug)]
pub struct Prototype {
    returns: Option<TypeId>,
    /// The declarations of its parameters.
    pub parameters: Vec<String>,
}

impl Prototype {
    /// `None` if it is not known: of assembly, the debug information has the name and the line.
    pub fn of(view: &View<'_>, function: FunctionRecord) -> Option<Self> {
        let variables = view.variables(function);
        let returns = variables.return_type;
        if returns.and_then(|t| lookup::kind(view, t)) == Some(TypeKind::Unspecified) {
            return None;
        }
        let parameters = variables.parameters().map(|v| variable(view, v)).collect();
        Some(Self { returns, parameters })
    }
    /// The type that it returns.
    pub fn return_type(&self, view: &View<'_>) -> String {
        declare(view, self.returns, "")
    }
    /// The whole declaration: `long vfs_read(struct file *file, char *buf)`.
    pub fn declaration(&self, view: &View<'_>, name: &str) -> String {
        let parameters = match &self.parameters[..] {
            [] => "void".to_owned(),
            parameters => parameters.join(", "),
        };
        declare(view, self.returns, &format!("{name}({parameters})"))
    }
}

/// The keyword of a kind, if it has one.
pub fn keyword(kind: TypeKind) -> Option<&'static str> {
    match kind {
        TypeKind::Struct => Some("struct"),
        TypeKind::Union => Some("union"),
        TypeKind::Class => Some("class"),
        TypeKind::Enum => Some("enum"),
        _ => None,
    }
}

/// `inner` is the declaration so far, from the name outwards; `qualifiers` are those of this type.
fn declarator(
    view: &View<'_>,
    type_id: Option<TypeId>,
    qualifiers: &str,
    inner: String,
    depth: u32,
) -> String {
    let Some((id, kind)) = type_id.and_then(|id| Some((id, lookup::kind(view, id)?))) else {
        return named(qualifiers, "void", &inner);
    };
    if depth > DEEPEST {
        return named(qualifiers, "...", &inner);
    }
    let record = view.types.at(id.index());
    let target = record.target.some();
    let further = |qualifiers: &str, inner| declarator(view, target, qualifiers, inner, depth + 1);
    let name = String::from_utf8_lossy(view.string(record.name));
    match kind {
        TypeKind::Const => further(&format!("{qualifiers}const "), inner),
        TypeKind::Volatile => further(&format!("{qualifiers}volatile "), inner),
        TypeKind::Restrict => further(&format!("{qualifiers}restrict "), inner),
        TypeKind::Atomic => further(&format!("{qualifiers}_Atomic "), inner),
        TypeKind::Pointer | TypeKind::Reference | TypeKind::RvalueReference => {
            let sign = match kind {
                TypeKind::Pointer => "*",
                TypeKind::Reference => "&",
                _ => "&&",
            };
            let mut inner = [sign, qualifiers, &inner].concat();
            inner.truncate(inner.trim_end().len());
            let binds_weaker = target
                .and_then(|t| lookup::kind(view, t))
                .is_some_and(|k| matches!(k, TypeKind::Array | TypeKind::Function));
            further("", if binds_weaker { format!("({inner})") } else { inner })
        }
        TypeKind::Array => {
            let dimension = |length: i64| match length {
                0.. => format!("[{length}]"),
                _ => "[]".to_owned(),
            };
            let dimensions: String = view.members(id).iter().map(|m| dimension(m.value.get())).collect();
            further(qualifiers, inner + &dimensions)
        }
        TypeKind::Function => {
            let mut parameters = String::new();
            for parameter in view.members(id) {
                if !parameters.is_empty() {
                    parameters += ", ";
                }
                if parameters.len() > LONGEST {
                    parameters += "...";
                    break;
                }
                parameters += &match parameter.target.some() {
                    Some(target) => declarator(view, Some(target), "", String::new(), depth + 1),
                    None => "...".to_owned(),
                };
            }
            if parameters.is_empty() {
                parameters += "void";
            }
            further("", format!("{inner}({parameters})"))
        }
        _ => {
            let name = if name.is_empty() { "{...}" } else { &name };
            match keyword(kind) {
                Some(word) => [qualifiers, word, " ", name, space_before(&inner), &inner].concat(),
                None => named(qualifiers, name, &inner),
            }
        }
    }
}

fn named(qualifiers: &str, name: &str, inner: &str) -> String {
    [qualifiers, name, space_before(inner), inner].concat()
}

/// What stands between a type's name and the rest.
fn space_before(inner: &str) -> &'static str {
    if inner.is_empty() || inner.starts_with('[') { "" } else { " " }
}
