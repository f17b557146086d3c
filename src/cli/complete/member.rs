//! Completes types and paths through their members.
use super::Candidate;
use super::bounded::{self, Chosen};
use crate::query::spec::member_path::{self, Step};
use crate::query::types::layout::{self, Aggregate, Body, Member};
use crate::query::types::lookup;
use crate::query::types::member::walk_path;
use probeidx_format::View;
use probeidx_format::id::TypeId;
use probeidx_format::record::TypeRecord;
use probeidx_format::types::TypeKind;

/// `struct NAME`, `NAME`, `struct NAME.member->member`.
pub fn types(view: &View<'_>, typed: &str) -> Vec<Candidate> {
    if let Some((head, _)) = split(typed) {
        let Ok(mut path) = member_path::parse(head) else { return vec![] };
        // The type itself is meant, not a pointer to it, in either spelling.
        if let Some(Step::Arrow(name)) = path.steps.first() {
            path.steps[0] = Step::Member(name.clone());
        }
        let is_first = path.steps.is_empty();
        let mut found = lookup::find(view, &path.root).into_iter();
        let at = found.find_map(|root| walk_path(view, root, &path).ok()?.type_id);
        return at.map_or(vec![], |at| members(view, at, typed, is_first));
    }
    const KINDS: [&str; 4] = ["struct ", "union ", "enum ", "typedef "];
    let word = KINDS.into_iter().find(|word| typed.starts_with(word)).unwrap_or_default();
    let (kind, _) = lookup::split(&format!("{word}x"));
    let kinds = KINDS.into_iter().filter(|known| word.is_empty() && known.starts_with(typed));
    let mut found: Vec<Candidate> = kinds.map(|word| Candidate::going_on(word, "")).collect();
    let named = names(view, kind, &typed[word.len()..]).into_iter();
    found.extend(named.map(|c| Candidate { text: word.to_owned() + &c.text, ..c }));
    found.dedup_by(|a, b| a.text == b.text);
    if let [only] = &found[..]
        && only.text == typed
    {
        return vec![Candidate::going_on(format!("{typed}."), "")];
    }
    found
}

/// The names of types, of one kind or all, with this prefix; or the prefixes that many of them share.
fn names(view: &View<'_>, kind: Option<TypeKind>, typed: &str) -> Vec<Candidate> {
    let all = lookup::all_named(view);
    let name = |at: usize| view.string(view.types.at(at).name);
    let first =
        all.start + view.types.part(all.clone()).partition_point(|t| view.string(t.name) < typed.as_bytes());
    let starts = |t: TypeRecord| view.string(t.name).starts_with(typed.as_bytes());
    let end = first + view.types.part(first..all.end).partition_point(starts);
    let text = |at: usize| std::str::from_utf8(name(at)).unwrap_or_default();
    let wanted = |at: usize| {
        // If several types share a name, the first one.
        let is_kind = |at: usize| kind.is_none_or(|kind| TypeKind::from_u8(view.types.at(at).kind) == kind);
        let before = (first..at).rev().take_while(|before| name(*before) == name(at));
        !text(at).is_empty() && is_kind(at) && !before.into_iter().any(is_kind)
    };
    let chosen = bounded::choose(first..end, typed.len(), text, wanted).into_iter();
    chosen
        .map(|chosen| match chosen {
            Chosen::Whole(at) => Candidate::going_on(text(at), ""),
            Chosen::Start(start) => Candidate::going_on(start, "…"),
        })
        .collect()
}

/// Splits after the last `.` or `->`: the text before it, and the name of the member.
pub fn split(typed: &str) -> Option<(&str, &str)> {
    let dot = typed.rfind('.').map(|at| (at, at + 1));
    let arrow = typed.rfind("->").map(|at| (at, at + 2));
    let (end, start) = dot.max(arrow)?;
    Some((&typed[..end], &typed[start..]))
}

/// The members at the last step of `typed`, which starts from this type; through a pointer only if the step is `->`. At
/// the root, either step is accepted.
pub fn members(view: &View<'_>, of: TypeId, typed: &str, is_root: bool) -> Vec<Candidate> {
    let Some((head, name)) = split(typed) else { return vec![] };
    let is_arrow = typed[head.len()..].starts_with("->");
    let Some((at, pointers)) = aggregate(view, of) else { return vec![] };
    if pointers != usize::from(is_arrow) && !(is_root && pointers == 0) {
        return vec![];
    }
    let Some(laid_out) = layout::layout(view, at) else { return vec![] };
    let Body::Members(body) = &laid_out.body else { return vec![] };
    let before = &typed[..typed.len() - name.len()];
    let mut found = vec![];
    collect(body, &mut |member| {
        let text = String::from_utf8_lossy(member.name);
        if text.starts_with(name) {
            found.push((member.type_id, Candidate::new(format!("{before}{text}"), member.spelled.clone())));
        }
    });
    // Members with members of their own can be continued; shown if there is only one candidate.
    let is_only = found.len() == 1;
    let mut candidates = vec![];
    for (type_id, mut candidate) in found {
        if let Some(step) = type_id.and_then(|id| step(view, id)) {
            candidate.goes_on = true;
            if is_only {
                candidates.push(Candidate::going_on(candidate.text.clone() + step, ""));
            }
        }
        candidates.push(candidate);
    }
    candidates
}

/// The step from a value of this type to its members, if it has any.
pub fn step(view: &View<'_>, type_id: TypeId) -> Option<&'static str> {
    match aggregate(view, type_id)?.1 {
        0 => Some("."),
        1 => Some("->"),
        _ => None,
    }
}

/// The struct or union of this type, and the number of pointers to it.
fn aggregate(view: &View<'_>, type_id: TypeId) -> Option<(TypeId, usize)> {
    const MOST: usize = 8;
    let mut at = lookup::strip(view, type_id)?;
    let mut pointers = 0;
    for _ in 0..MOST {
        match lookup::kind(view, at)? {
            TypeKind::Struct | TypeKind::Union | TypeKind::Class => return Some((at, pointers)),
            TypeKind::Pointer => pointers += 1,
            _ => return None,
        }
        at = lookup::strip(view, view.types.get(at.index())?.target.some()?)?;
    }
    None
}

/// Calls `each` with the members, including those of anonymous structs and unions.
fn collect<'m, 'a>(body: &'m Aggregate<'a>, each: &mut dyn FnMut(&'m Member<'a>)) {
    for member in &body.members {
        match &member.within {
            Some(within) if member.name.is_empty() => collect(within, each),
            _ => each(member),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_step() {
        assert_eq!(split("struct file"), None);
        assert_eq!(split("a->b.c"), Some(("a->b", "c")));
        assert_eq!(split("a.b->"), Some(("a.b", "")));
        assert_eq!(split("a."), Some(("a", "")));
    }
}
