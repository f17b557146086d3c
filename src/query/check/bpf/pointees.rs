//! Arguments of typed programs that are pointers: the verifier reads those to structs, and others since later versions
//! (`btf_ctx_access`, kernel/bpf/btf.c). Loading is refused ("invalid bpf_context access") where it does not.
use super::super::outcome::{Finding, State};
use super::Checking;
use super::context::SLOT;
use crate::query::types::lookup;
use probeidx_bpf::reach::ContextRead;
use probeidx_format::View;
use probeidx_format::id::TypeId;
use probeidx_format::types::TypeKind;

/// What a pointer points to, as far as the verifier tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pointee {
    /// Structs, unions, `void`, `char` and `const char`: always.
    Readable,
    /// Numbers: since `is_int_ptr`, 5.17. Refused on 5.10, read on 6.1.
    Number,
    /// `const void`: since 6.16. Refused on 5.10.
    ConstVoid,
    /// Pointers, functions, enums: refused on 6.1 and 6.12, read on 7.3.
    Other,
}

/// The first argument that is read and that this kernel does not let a program read. `types`: those of the parameters.
pub fn finding(
    checking: &Checking<'_, '_, '_>,
    name: &str,
    types: &[Option<TypeId>],
    reads: &[ContextRead],
) -> Option<Finding> {
    let line = checking.line()?;
    reads.iter().find_map(|read| {
        let slot = usize::try_from(read.offset / SLOT).ok()?;
        // A struct takes more than one slot: what follows it is not found by its number.
        let is_struct =
            |id: &Option<TypeId>| id.is_some_and(|id| lookup::size_of(checking.view, id) > Some(8));
        if types.iter().take(slot).any(is_struct) {
            return None;
        }
        let (what, is_read) = match pointee(checking.view, (*types.get(slot)?)?)? {
            Pointee::Readable => return None,
            Pointee::Number => {
                let is_known = checking.view.name(b"is_int_ptr").is_some();
                ("a number", Some(line >= (5, 17) || is_known))
            }
            Pointee::ConstVoid => ("const void", Some(line >= (6, 16))),
            Pointee::Other => {
                let is_read = if line <= (6, 12) { Some(false) } else { (line >= (7, 3)).then_some(true) };
                ("no struct", is_read)
            }
        };
        let argument = format!("argument {} of {name} points to {what}", slot + 1);
        let text = checking.text(read.place, name);
        let found = match is_read {
            Some(true) => return None,
            Some(false) => {
                let instead = "attach a kprobe, which reads any argument".to_owned();
                let why = format!("{argument}, which this kernel lets no program read");
                Finding::new(State::Argument, text, why).errno("EACCES").instead([instead])
            }
            None => {
                let why = format!("{argument}: whether this release lets a program read it is not known");
                Finding::new(State::Undecided, text, why)
            }
        };
        Some(checking.at(found, read.place))
    })
}

/// `None` for what is no pointer.
fn pointee(view: &View<'_>, id: TypeId) -> Option<Pointee> {
    let types = view.types.owners();
    let record = |id: TypeId| types.get(id.index());
    let kind = |id| record(id).map(|t| TypeKind::from_u8(t.kind));
    let pointer = record(lookup::strip(view, id)?)?;
    if TypeKind::from_u8(pointer.kind) != TypeKind::Pointer {
        return None;
    }
    let Some(target) = pointer.target.some() else { return Some(Pointee::Readable) };
    let Some(bare) = lookup::strip(view, target) else { return Some(Pointee::ConstVoid) };
    let stripped = record(bare)?;
    Some(match TypeKind::from_u8(stripped.kind) {
        TypeKind::Struct | TypeKind::Union => Pointee::Readable,
        TypeKind::Base => {
            // `is_string_ptr`, 5.8: no typedef, and const alone.
            let plain = match kind(target) {
                Some(TypeKind::Const) => record(target)?.target.some()?,
                _ => target,
            };
            let is_char = plain == bare && view.string(stripped.name) == b"char";
            if is_char { Pointee::Readable } else { Pointee::Number }
        }
        // A kind that the index does not tell is taken for the best.
        TypeKind::Unspecified => Pointee::Readable,
        _ => Pointee::Other,
    })
}
