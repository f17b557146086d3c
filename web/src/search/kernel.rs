//! The results of one kernel.
use super::collected::Collected;
use super::{Fit, Hit, Kind};
use probeidx::Pattern;
use probeidx::query::index::functions;
use probeidx::query::types::layout::{self, Aggregate, Body};
use probeidx::query::types::{c_declaration, lookup};
use probeidx_format::View;
use probeidx_format::id::{NameId, TypeId};
use probeidx_format::types::TypeKind;

/// How many of a kind are looked at, and how many are kept.
const LOOKED_AT: usize = 400;
const KEPT: usize = 24;
/// What is shorter is searched at the start of names only: it stands inside of too many.
const SHORTEST_INSIDE: usize = 3;

/// What of a kernel fits what is typed.
pub fn hits(view: &View<'_>, collected: &Collected, typed: &str) -> Vec<Hit> {
    let mut hits = vec![];
    let release = String::from_utf8_lossy(view.release()).into_owned();
    if let Some(fit) = Fit::of(release.as_bytes(), typed.as_bytes()) {
        hits.push(Hit { kind: Kind::Kernel, name: release, about: String::new(), fit });
    }
    hits.extend(address(view, typed));
    keep(functions(view, typed), &mut hits);
    keep(types(view, typed), &mut hits);
    keep(members(view, collected, typed), &mut hits);
    let listed = |kind, names: &mut dyn Iterator<Item = (&str, &str)>| {
        let fitting = names.filter_map(|(name, about)| {
            let fit = Fit::of(name.as_bytes(), typed.as_bytes())?;
            (typed.len() >= SHORTEST_INSIDE || fit <= Fit::Word).then(|| hit(kind, name, about, fit))
        });
        fitting.collect::<Vec<Hit>>()
    };
    let plain = |names: &[String], kind| listed(kind, &mut names.iter().map(|name| (name.as_str(), "")));
    let mut tracepoints = collected.tracepoints.iter().map(|(name, about)| (name.as_str(), about.as_str()));
    keep(listed(Kind::Tracepoint, &mut tracepoints), &mut hits);
    keep(plain(&collected.aliases, Kind::Alias), &mut hits);
    keep(plain(&collected.files, Kind::File), &mut hits);
    keep(plain(&collected.modules, Kind::Module), &mut hits);
    hits
}

fn hit(kind: Kind, name: &str, about: &str, fit: Fit) -> Hit {
    Hit { kind, name: name.to_owned(), about: about.to_owned(), fit }
}

/// Keeps the best of a kind.
fn keep(mut found: Vec<Hit>, hits: &mut Vec<Hit>) {
    found.sort_by(|one, other| super::order(one).cmp(&super::order(other)));
    found.truncate(KEPT);
    hits.append(&mut found);
}

/// `0xffffffff81361385`, `vfs_read+0x9c`, `vfs_read+0x9c/0x310 [module]`, if there is such a symbol.
fn address(view: &View<'_>, typed: &str) -> Option<Hit> {
    let is_hexadecimal = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
    let whole = || hit(Kind::Address, typed, "", Fit::Whole);
    let digits = typed.strip_prefix("0x").unwrap_or(typed);
    if is_hexadecimal(digits) && (digits.len() < typed.len() || digits.len() >= 12) {
        return Some(whole());
    }
    let (symbol, offset) = typed.split_once('+')?;
    let offset = offset.split(['/', ' ']).next().unwrap_or_default();
    let symbol = symbol.rsplit(':').next().unwrap_or(symbol);
    let is_number = offset.strip_prefix("0x").is_some_and(is_hexadecimal) || offset.parse::<u64>().is_ok();
    (is_number && view.name(symbol.as_bytes()).is_some()).then(whole)
}

fn functions(view: &View<'_>, typed: &str) -> Vec<Hit> {
    let text = |id: NameId| view.names.get(id.index()).map_or(&b""[..], |name| view.string(name.name));
    let is_function = |id: &NameId| !view.functions_named(*id).is_empty();
    let starting = functions::names_starting(view, typed.as_bytes()).map(|at| NameId::new(at as u32));
    let mut ids: Vec<NameId> = starting.filter(is_function).take(LOOKED_AT).collect();
    let is_pattern = typed.contains(['*', '?', '[']);
    if is_pattern || (ids.len() < KEPT && typed.len() >= SHORTEST_INSIDE) {
        let written = if is_pattern { typed.to_owned() } else { format!("*{typed}*") };
        let matching =
            Pattern::new(&written).map(|pattern| functions::names(view, &pattern)).unwrap_or_default();
        ids.extend(matching.into_iter().filter(is_function).take(LOOKED_AT));
    }
    ids.sort_unstable_by_key(|id| {
        (Fit::of(text(*id), typed.as_bytes()).unwrap_or(Fit::Start), text(*id).len(), id.index())
    });
    ids.dedup();
    let found = ids.into_iter().take(KEPT).map(|id| {
        let mut declared = functions::declarations(view, id, None).into_iter();
        let first = declared.next().map_or(String::new(), |d| {
            format!("{}:{}", String::from_utf8_lossy(view.string(d.file)), d.line)
        });
        let about = match declared.count() {
            0 => first,
            more => format!("{first} and {more} more"),
        };
        let fit = Fit::of(text(id), typed.as_bytes()).unwrap_or(Fit::Start);
        hit(Kind::Function, &String::from_utf8_lossy(text(id)), &about, fit)
    });
    found.collect()
}

fn types(view: &View<'_>, typed: &str) -> Vec<Hit> {
    let (kind, plain) = lookup::split(typed);
    let plain = plain.as_bytes();
    if plain.is_empty() {
        return vec![];
    }
    let of_record = |id: TypeId| {
        let record = view.types.get(id.index())?;
        let of_kind = TypeKind::from_u8(record.kind);
        let word = c_declaration::keyword(of_kind).map_or(String::new(), |word| format!("{word} "));
        let is_meant = kind.is_none_or(|kind| kind == of_kind) && !lookup::is_declared(view, id);
        let name = view.string(record.name);
        let fit = Fit::of(name, plain).filter(|_| is_meant && of_kind != TypeKind::Function)?;
        let about = format!("{}:{}", String::from_utf8_lossy(view.string(record.file)), record.line.get());
        Some(hit(
            Kind::Type,
            &format!("{word}{}", String::from_utf8_lossy(name)),
            about.trim_start_matches(":0"),
            fit,
        ))
    };
    let starting = lookup::starting(view, plain).take(LOOKED_AT).map(|(id, _)| id);
    let mut found: Vec<Hit> = starting.filter_map(of_record).collect();
    if found.len() < KEPT && plain.len() >= SHORTEST_INSIDE {
        let all = lookup::all_named(view).map(|at| TypeId::new(at as u32));
        found.extend(all.filter_map(of_record).filter(|hit| hit.fit > Fit::Start).take(LOOKED_AT));
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found.dedup_by(|one, other| one.name == other.name);
    found
}

/// `struct file.f_pos`, and members that are called or begin so.
fn members(view: &View<'_>, collected: &Collected, typed: &str) -> Vec<Hit> {
    let arrow = typed.replace("->", ".");
    if let Some((head, name)) = arrow.rsplit_once('.') {
        let Some(id) = lookup::find(view, head).into_iter().next() else { return vec![] };
        let Some(layout) = layout::layout(view, id) else { return vec![] };
        let mut found = vec![];
        if let Body::Members(body) = &layout.body {
            collect(body, name, head, &mut found);
        }
        return found;
    }
    if typed.len() < SHORTEST_INSIDE {
        return vec![];
    }
    let members = &collected.members;
    let first = members.partition_point(|(name, _)| view.string(*name) < typed.as_bytes());
    let same =
        members[first..].iter().take_while(|(name, _)| view.string(*name).starts_with(typed.as_bytes()));
    let found = same.take(LOOKED_AT).filter_map(|(name, of)| {
        let record = view.types.get(of.index())?;
        let word = c_declaration::keyword(TypeKind::from_u8(record.kind))?;
        let name = view.string(*name);
        let whole = format!(
            "{word} {}.{}",
            String::from_utf8_lossy(view.string(record.name)),
            String::from_utf8_lossy(name)
        );
        Some(hit(Kind::Member, &whole, "", Fit::of(name, typed.as_bytes())?))
    });
    found.collect()
}

/// The members that begin so, also those of unnamed structs and unions.
fn collect(body: &Aggregate<'_>, typed: &str, head: &str, found: &mut Vec<Hit>) {
    for member in &body.members {
        match &member.within {
            Some(within) if member.name.is_empty() => collect(within, typed, head, found),
            _ if member.name.starts_with(typed.as_bytes()) && found.len() < LOOKED_AT => {
                let fit = if member.name == typed.as_bytes() { Fit::Whole } else { Fit::Start };
                let whole = format!("{head}.{}", String::from_utf8_lossy(member.name));
                found.push(hit(Kind::Member, &whole, &member.spelled, fit));
            }
            _ => {}
        }
    }
}
