//! `probeidx callers`
use super::args::Callers;
use super::config::Config;
use super::exit::Outcome;
use super::note;
use super::output::failed;
use super::processes;
use super::several::Several;
use super::why_not::Reasons;
use crate::error::{Error, ErrorKind, Result};
use crate::query::callers;
use crate::query::spec::{self, FunctionSpec, Point, Spec};
use crate::render::callers as render;
use crate::render::text::Style;
use probeidx_format::View;
use std::io::Write;

/// Shows who reaches the functions of a name, through their entries and through inlined copies.
pub fn run(args: &Callers, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let specs = spec::parse(&args.spec)?;
    specs.iter().try_for_each(|spec| asked(spec, &args.spec).map(drop))?;
    processes::name_kernel(config);
    let shown = render::Shown { style: Style { color: config.color }, in_full: config.verbose > 0 };
    let mut outcome = Outcome::Nothing;
    let mut reasons = Reasons::new(std::slice::from_ref(&args.spec));
    let files = processes::asked(config, &specs)?;
    let mut several = Several::new(config, files.len());
    for (file, specs) in files {
        let index = config.open(&file)?;
        let view = &index.view()?;
        let out = &mut several.below(view, out);
        let release = String::from_utf8_lossy(view.release());
        let found = callees(view, &specs, &args.spec)?;
        if found.is_empty() {
            several.lacks(view, None);
            reasons.missed(specs, &index);
            continue;
        }
        outcome = Outcome::Done;
        if !view.has_calls() {
            let name = processes::name(view);
            note(config, &format!("{name}: direct calls are unknown, as it was indexed from no call sites"));
        }
        for callee in &found {
            match config.json {
                true => render::json(view, &release, callee, out),
                false => render::text(view, callee, shown, out),
            }
            .map_err(failed)?;
        }
    }
    if outcome == Outcome::Nothing { reasons.nothing(config) } else { several.end(outcome, out) }
}

/// The functions that specs name, with who reaches them. `text` is the source of the specs.
///
/// # Errors
/// [`ErrorKind::Usage`] if one of them names no function.
pub fn callees<'a>(view: &'a View<'a>, specs: &[Spec], text: &str) -> Result<Vec<callers::Callee<'a>>> {
    let functions: Vec<FunctionSpec> = specs.iter().map(|spec| asked(spec, text)).collect::<Result<_>>()?;
    Ok(functions.iter().flat_map(|spec| callers::of_spec(view, spec)).collect())
}

/// The functions that a spec names, wherever in them it points.
fn asked(spec: &Spec, text: &str) -> Result<FunctionSpec> {
    match &spec.point {
        Point::Function(asked)
            if asked.callee.is_none() && asked.label.is_none() && asked.offset.is_none() =>
        {
            Ok(asked.clone())
        }
        Point::Statement(asked) if asked.lines.is_none() && asked.function.is_some() => {
            let name = asked.function.clone().unwrap_or(crate::pattern::Pattern::literal(""));
            let mut function = FunctionSpec::of(asked.module.clone(), name);
            function.declared.file.clone_from(&asked.file);
            Ok(function)
        }
        _ => Err(Error::new(ErrorKind::Usage, format!("{text}: only functions are called"))
            .hint("name a function: NAME, NAME@FILE or MODULE:NAME")),
    }
}
