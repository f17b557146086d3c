//! Completes probe points: names of functions, files and modules, and SystemTap's spelling of them.
use super::Candidate;
use super::alias;
use super::bounded::{self, Chosen};
use crate::pattern::Pattern;
use crate::query::index::functions;
use crate::tapset::Version;
use probeidx_format::View;
use probeidx_format::id::{FunctionId, NameId, ObjectId, StrId};
use rustc_hash::FxHashSet;

/// Any probe point.
pub fn points(view: &View<'_>, typed: &str) -> Vec<Candidate> {
    let mut found = if typed.contains('(') { vec![] } else { bare(view, typed) };
    found.extend(in_scripts(view, typed));
    found
}

/// What a script of SystemTap can probe of the kernel: its functions, statements and tracepoints, and aliases.
pub fn in_scripts(view: &View<'_>, typed: &str) -> Vec<Candidate> {
    if typed.contains('(') {
        return systemtap(view, typed);
    }
    let heads = ["kernel.function(\"", "kernel.statement(\"", "kernel.trace(\"", "module(\""];
    let later = ["kernel.tracepoint(\""].into_iter();
    let later = later.filter(|_| Version::of(view) >= Version::TRACEPOINTS_BY_BTF);
    let heads = heads.into_iter().chain(later).filter(|head| head.starts_with(typed));
    let mut found: Vec<Candidate> = heads.map(|head| Candidate::going_on(head, "")).collect();
    found.extend(alias::aliases(view, typed));
    found
}

/// What has lines: functions and files.
pub fn lines(view: &View<'_>, typed: &str) -> Vec<Candidate> {
    bare(view, typed)
}

/// Symbols; those of modules after the module's name.
pub fn addresses(view: &View<'_>, typed: &str) -> Vec<Candidate> {
    if let Some((module, name)) = typed.split_once(':') {
        let Some(object) = functions::module(view, module.as_bytes()) else { return vec![] };
        let symbols = view.symbols.part(view.symbols_of(object));
        let names = symbols.iter().map(|symbol| view.string(symbol.name));
        return starting(names, name)
            .map(|name| Candidate::going_on(format!("{module}:{name}"), ""))
            .collect();
    }
    let mut found = names(view, typed, |_| true);
    found.extend(scopes(view, typed));
    found
}

/// Names of modules.
pub fn modules(view: &View<'_>, typed: &str) -> Vec<Candidate> {
    let names = view.object_ids().map(|o| view.string(view.objects[o.index()].name));
    starting(names.filter(|name| !name.is_empty()), typed)
        .map(|name| Candidate::new(name, "module"))
        .collect()
}

/// `NAME@FILE`, `MODULE:NAME`, `NAME`, `FILE`.
fn bare(view: &View<'_>, typed: &str) -> Vec<Candidate> {
    if let Some((name, file)) = typed.rsplit_once('@') {
        return files_of(view, name, file, None)
            .map(|file| Candidate::new(format!("{name}@{file}"), ""))
            .collect();
    }
    if let Some((module, name)) = typed.split_once(':') {
        let Some(object) = functions::module(view, module.as_bytes()) else { return vec![] };
        let named = functions_in(view, object, name);
        return named.into_iter().map(|name| Candidate::going_on(format!("{module}:{name}"), "")).collect();
    }
    if typed.contains('/') {
        return files(view, typed).map(|file| Candidate::going_on(file, "")).collect();
    }
    let mut found = names(view, typed, |name| has_code(view, name, None));
    found.extend(scopes(view, typed));
    found
}

/// Modules, as prefixes of a name.
fn scopes(view: &View<'_>, typed: &str) -> impl Iterator<Item = Candidate> {
    modules(view, typed).into_iter().map(|module| Candidate::going_on(module.text + ":", "module"))
}

/// `kernel.function("NAME@FILE").call`, `module("NAME").statement("NAME@FILE:LINE")`.
fn systemtap(view: &View<'_>, typed: &str) -> Vec<Candidate> {
    let Some(open) = typed.rfind("(\"") else { return vec![] };
    let (head, value) = typed.split_at(open + 2);
    let is_module = head.ends_with("module(\"");
    if let Some((value, suffix)) = value.split_once('"') {
        let suffixes: &[&str] = match head.rsplit('.').next() {
            _ if is_module => &[").function(\"", ").statement(\""],
            Some("function(\"") => &[
                ")",
                ").call",
                ").inline",
                ").return",
                ").exported",
                ").callee(\"",
                ").callees",
                ").label(\"",
            ],
            Some("statement(\"") => &[")", ").nearest"],
            Some("trace(\"" | "tracepoint(\"") => &[")"],
            _ => &[],
        };
        let suffixes = suffixes.iter().filter(|known| known.starts_with(suffix));
        return suffixes.map(|suffix| Candidate::going_on(format!("{head}{value}\"{suffix}"), "")).collect();
    }
    if head.ends_with("kernel.trace(\"") {
        let close = |c: Candidate| match c.goes_on {
            true => Candidate { text: format!("{head}{}", c.text), ..c },
            false => Candidate { text: format!("{head}{}\")", c.text), ..c },
        };
        return alias::tracepoints(view, value, false).into_iter().map(close).collect();
    }
    if head.ends_with(".tracepoint(\"") {
        let names = alias::numbered_tracepoints(view, head.strip_prefix("module(\""), value).into_iter();
        return names.map(|c| Candidate { text: format!("{head}{}\")", c.text), ..c }).collect();
    }
    if is_module {
        let found = modules(view, value).into_iter();
        let mut found: Vec<_> =
            found.map(|m| Candidate::going_on(format!("{head}{}\")", m.text), "module")).collect();
        if let [module] = &mut found[..] {
            module.text += ".function(\"";
        }
        return found;
    }
    let scope = match head.strip_prefix("module(\"").and_then(|rest| rest.split_once('"')) {
        Some((module, _)) => functions::module(view, module.as_bytes()),
        None if head.starts_with("kernel.") => functions::kernel(view),
        None => return vec![],
    };
    // A statement continues with its line.
    let (close, goes_on) = if head.ends_with("statement(\"") { ("", true) } else { ("\")", false) };
    let candidate =
        |value: String| Candidate { text: format!("{head}{value}{close}"), about: String::new(), goes_on };
    if let Some((name, file)) = value.split_once('@') {
        return files_of(view, name, file, scope).map(|file| candidate(format!("{name}@{file}"))).collect();
    }
    match scope {
        Some(object) if Some(object) != functions::kernel(view) => {
            functions_in(view, object, value).into_iter().map(|name| candidate(name.to_owned())).collect()
        }
        scope => {
            let named = names(view, value, |name| has_code(view, name, scope)).into_iter();
            // A prefix of a name is not closed.
            named
                .map(|name| match name.about.is_empty() {
                    true => candidate(name.text),
                    false => Candidate::going_on(format!("{head}{}", name.text), name.about),
                })
                .collect()
        }
    }
}

/// The wanted names with this prefix, or the prefixes that many of them share.
fn names(view: &View<'_>, typed: &str, is_wanted: impl Fn(NameId) -> bool) -> Vec<Candidate> {
    let all = functions::names_starting(view, typed.as_bytes());
    let text = |at: usize| std::str::from_utf8(view.string(view.names.at(at).name)).unwrap_or_default();
    let wanted = |at: usize| !text(at).is_empty() && is_wanted(NameId::new(at as u32));
    let chosen = bounded::choose(all, typed.len(), text, wanted).into_iter();
    chosen
        .map(|chosen| match chosen {
            Chosen::Whole(at) => Candidate::going_on(text(at), ""),
            Chosen::Start(start) => Candidate::going_on(start, "…"),
        })
        .collect()
}

/// Whether a function of this name has code, in this object or any.
fn has_code(view: &View<'_>, name: NameId, scope: Option<ObjectId>) -> bool {
    view.functions_named(name).any(|function| {
        let mut places = view.places_of_function(FunctionId::new(function as u32));
        match scope {
            None => places.next().is_some(),
            Some(object) => {
                let own = view.places_of(object);
                places.any(|place| own.contains(&place.index()))
            }
        }
    })
}

/// The functions that run in an object. Cost: linear in its placements.
fn functions_in<'a>(view: &View<'a>, object: ObjectId, typed: &str) -> FxHashSet<&'a str> {
    let places = view.places.part(view.places_of(object));
    let functions: FxHashSet<u32> = places.iter().map(|place| place.function.get()).collect();
    let names = functions
        .into_iter()
        .filter_map(|function| Some(view.string(view.functions.get(function as usize)?.name)));
    starting(names, typed).collect()
}

/// The files that declare functions of a name or pattern, up to what is typed.
fn files_of<'a>(
    view: &'a View<'a>,
    name: &str,
    typed: &str,
    scope: Option<ObjectId>,
) -> Box<dyn Iterator<Item = String> + 'a> {
    let Ok(pattern) = Pattern::new(name) else { return Box::new(std::iter::empty()) };
    if name.is_empty() || pattern.matches_all() {
        return Box::new(files(view, typed));
    }
    let typed = typed.to_owned();
    let names = functions::names(view, &pattern).into_iter().filter(move |name| has_code(view, *name, scope));
    let declared = names.flat_map(move |name| functions::declarations(view, name, None));
    Box::new(declared.filter_map(move |d| {
        let path = std::str::from_utf8(view.string(d.file)).ok()?;
        tail(path, &typed).map(str::to_owned)
    }))
}

/// Files with functions and with this prefix, up to the next folder; else those whose path has the prefix after some
/// folder.
fn files<'a>(view: &'a View<'a>, typed: &str) -> impl Iterator<Item = String> + use<'a> {
    let functions = view.functions.owners();
    let known: FxHashSet<StrId> = functions.iter().map(|f| f.file).collect();
    let paths = || known.iter().filter_map(|file| std::str::from_utf8(view.string(*file)).ok());
    let whole = paths().filter(|path| path.starts_with(typed)).map(|path| {
        let end = path[typed.len()..].find('/').map_or(path.len(), |end| typed.len() + end + 1);
        path[..end].to_owned()
    });
    let mut found: FxHashSet<String> = whole.collect();
    if found.is_empty() {
        found = paths().filter_map(|path| tail(path, typed)).map(str::to_owned).collect();
    }
    found.into_iter()
}

/// The longest part of a path that starts at a component and has this prefix.
fn tail<'p>(path: &'p str, typed: &str) -> Option<&'p str> {
    let starts = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
    starts.map(|start| &path[start..]).find(|tail| tail.starts_with(typed) && !tail.is_empty())
}

/// The names with this prefix that are valid UTF-8.
fn starting<'a>(names: impl Iterator<Item = &'a [u8]>, typed: &str) -> impl Iterator<Item = &'a str> {
    names
        .filter(move |name| name.starts_with(typed.as_bytes()))
        .filter_map(|name| std::str::from_utf8(name).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_meant_by_whole_components() {
        assert_eq!(tail("fs/ext4/file.c", ""), Some("fs/ext4/file.c"));
        assert_eq!(tail("fs/ext4/file.c", "f"), Some("fs/ext4/file.c"));
        assert_eq!(tail("fs/ext4/file.c", "fi"), Some("file.c"));
        assert_eq!(tail("fs/ext4/file.c", "ext4/"), Some("ext4/file.c"));
        assert_eq!(tail("fs/ext4/file.c", "le.c"), None);
    }
}
