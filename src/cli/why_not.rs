//! What to say where nothing matched.
use super::config::Config;
use super::exit::Outcome;
use super::note;
use crate::error::{Error, ErrorKind, Result};
use crate::query::absence::{Absence, absence};
use crate::query::spec::{Filter, ModuleScope, Point, Spec};
use crate::query::{Index, pattern::Pattern, suggest};
use probeidx_format::View;
use probeidx_format::id::NameId;

/// How a command ends that found nothing: the reasons on stderr, as one object of JSON where that was asked for.
pub fn nothing(reasons: &[String], config: &Config) -> Result<Outcome> {
    if config.json && !reasons.is_empty() {
        return Err(Error::new(ErrorKind::NoMatch, reasons.join("; ")));
    }
    reasons.iter().for_each(|reason| note(config, reason));
    Ok(Outcome::Nothing)
}

/// Why nothing in this index matched, where that can be told, or which names are near.
pub fn why_not(specs: &[Spec], index: &Index) -> Result<Vec<String>> {
    let view = index.view()?;
    let mut reasons = vec![];
    for spec in specs {
        let (module, name, file, filter) = match &spec.point {
            Point::Function(f) => (&f.module, Some(&f.declared.name), f.declared.file.as_ref(), f.filter),
            Point::Statement(s) => (&s.module, s.function.as_ref(), s.file.as_ref(), Filter::Any),
            Point::Address(a) => {
                reasons.push(format!("no code is at {:#x}", a.address));
                continue;
            }
            _ => continue,
        };
        if let ModuleScope::Module(Pattern::Literal(module)) = module {
            let mut names = view.object_ids().map(|o| view.string(view.objects[o.index()].name));
            if !names.any(|n| n == module.as_bytes()) {
                reasons.push(no_module(&view, module));
                continue;
            }
        }
        let Some(Pattern::Literal(name)) = name else {
            reasons.push("nothing matches".to_owned());
            continue;
        };
        match view.name(name.as_bytes()) {
            Some(id) => reasons.push(explain(name, &absence(&view, id, module, file, filter))),
            None => {
                let count = view.names.len().saturating_sub(1);
                let of_functions = |n: &usize| !view.functions_named(NameId::new(*n as u32)).is_empty();
                let texts = (0..count).filter(of_functions).map(|n| view.string(view.names[n].name));
                let near = suggest::nearest(name, texts.filter_map(|n| std::str::from_utf8(n).ok()), 5);
                let without_modules = view.meta().is_ok_and(|m| m.without_modules);
                let scope = if without_modules { " in vmlinux, and no modules are indexed" } else { "" };
                reasons.push(with_near(&format!("no function {name}{scope}"), &near));
            }
        }
    }
    Ok(reasons)
}

/// What to say of a module that is not there.
pub fn no_module(view: &View<'_>, module: &str) -> String {
    let names = view.object_ids().map(|o| view.string(view.objects[o.index()].name));
    let near = suggest::nearest(module, names.filter_map(|n| std::str::from_utf8(n).ok()), 3);
    with_near(&format!("module {module} is not indexed"), &near)
}

/// What to say of a name that exists and was not listed.
fn explain(text: &str, why: &Absence) -> String {
    let list = |names: &[String]| {
        let shown: Vec<&str> =
            names.iter().take(5).map(|n| if n.is_empty() { "vmlinux" } else { n }).collect();
        let more = if names.len() > shown.len() { ", and others" } else { "" };
        format!("{}{more}", shown.join(", "))
    };
    match why {
        Absence::SymbolOnly => format!("{text} is a symbol, but no function with debug information"),
        Absence::Merged => {
            format!("{text} was merged with a function that does the same; see: probeidx find {text}")
        }
        Absence::NoCode => format!("{text} exists, but the compiler kept no code of it"),
        Absence::InOthers(objects) => format!("{text} runs in {}, not where it was asked for", list(objects)),
        Absence::Refused => {
            format!(
                "{text} is a function that SystemTap refuses by name or file; see: probeidx resolve {text}"
            )
        }
        Absence::Discarded(section) => format!(
            "{text} exists only in {section}, which is gone once the kernel runs; see: probeidx resolve {text}"
        ),
        Absence::OnlyInline(1) => format!("{text} is only inlined, at 1 place; see: probeidx resolve {text}"),
        Absence::OnlyInline(places) => {
            format!("{text} is only inlined, at {places} places; see: probeidx resolve {text}")
        }
        Absence::NeverInline => format!("{text} is never inlined"),
        Absence::InOtherFiles(files) => format!("{text} is declared in {}", list(files)),
    }
}

/// What is not there, and what is near.
pub fn with_near(what: &str, near: &[String]) -> String {
    if near.is_empty() { what.to_owned() } else { format!("{what}; did you mean {}?", near.join(", ")) }
}
