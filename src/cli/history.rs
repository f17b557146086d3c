//! `probeidx history`
use super::args::History as Args;
use super::config::Config;
use super::exit::Outcome;
use super::note;
use super::output::failed;
use super::why_not::{nothing, why_not};
use crate::error::{Error, ErrorKind, Result};
use crate::kernels::histories;
use crate::query::history::{Asked, Families, History, Subject};
use crate::query::index::kernel_description::KernelDescription;
use crate::query::index::release::Release;
use crate::query::types::lookup;
use crate::query::types::member::walk_path;
use crate::query::{Index, answer, explain};
use crate::render::history as render;
use crate::render::text::Style;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// The most functions of one name that are shown unless all are asked for.
const MOST_OF_A_NAME: usize = 12;

/// Shows what many kernels have of a name, with the kernels that have each fact.
pub fn run(args: &Args, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let asked = Asked::parse(&args.name)?;
    let mut kernels = config.kernels()?;
    if let Some(since) = &args.since {
        kernels = after(kernels, since)?;
    }
    let (kernels, sources): (Vec<_>, Vec<_>) = kernels.into_iter().unzip();
    let families = Families::new(&kernels);
    let open = |path: &Path| config.open(path);
    let mut told = histories(&asked, &sources, &open)?;
    if told.iter().all(|(_, histories)| histories.is_empty()) {
        let newest = sources.last().map(|source| source.index(open)).transpose()?;
        return nothing(&reasons(&args.name, &asked, newest)?, config);
    }
    if let Some(since) = &args.since {
        told.iter_mut().flat_map(|(_, histories)| histories).for_each(|h| h.keep_changes(families.members()));
        if told.iter().all(|(_, histories)| histories.iter().all(|h| h.facts.is_empty())) {
            note(config, &format!("nothing of {} changed after {since}", args.name));
            return Ok(Outcome::Done);
        }
    }
    let shown = render::Shown { style: Style { color: config.color }, in_full: config.verbose > 0 };
    for (subject, histories) in &told {
        write(subject, histories, &families, shown, config.json, out).map_err(failed)?;
    }
    if config.session.ends_with_the_answer() {
        // To free what was read of each kernel takes a tenth of reading it.
        std::mem::forget(sources);
    }
    Ok(Outcome::Done)
}

/// The kernels after a release, with the last ones before that.
///
/// # Errors
/// [`ErrorKind::Usage`] if it is no release.
pub fn after<T>(kernels: Vec<(KernelDescription, T)>, since: &str) -> Result<Vec<(KernelDescription, T)>> {
    let bound = Release::parse(since);
    if bound.version.is_empty() {
        return Err(Error::new(
            ErrorKind::Usage,
            format!("--since {since}: a release starts with a version"),
        ));
    }
    let mut kept: Vec<(KernelDescription, T)> = vec![];
    for (kernel, index) in kernels {
        if kernel.release().cmp_bound(&bound).is_le() {
            kept.retain(|(before, _)| {
                before.release().cmp_bound(&bound).is_gt() || !before.is_of_family(&kernel)
            });
        }
        kept.push((kernel, index));
    }
    Ok(kept)
}

fn write(
    subject: &Subject,
    histories: &[History],
    families: &Families<'_>,
    shown: render::Shown,
    json: bool,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let kind = subject.kind();
    if json {
        return histories.iter().try_for_each(|history| render::json(kind, history, families, out));
    }
    let (kind, members) = match subject {
        // The type itself comes first, then its members.
        Subject::Member(path) if path.steps.is_empty() => {
            ("type", histories.iter().position(|h| h.name.starts_with(&format!("{}.", path.root))))
        }
        _ => (kind, None),
    };
    let (own, members) = histories.split_at(members.unwrap_or(histories.len()));
    let changed: Vec<&History> = own.iter().filter(|history| !history.facts.is_empty()).collect();
    let most = if shown.in_full { usize::MAX } else { MOST_OF_A_NAME };
    changed.iter().take(most).try_for_each(|history| render::text(kind, history, families, shown, out))?;
    if let Some(more) = changed.len().checked_sub(most).filter(|more| *more > 0) {
        writeln!(out, "and {more} more of the name: choose one with NAME@FILE, or see all with -v")?;
    }
    match subject {
        Subject::Member(path) => render::members(&path.root, members, families, shown, out),
        _ => Ok(()),
    }
}

/// Why no kernel has the name: what the newest says.
///
/// # Errors
/// Those of the index.
pub fn reasons(name: &str, asked: &Asked, newest: Option<&Arc<Index>>) -> Result<Vec<String>> {
    let Some(index) = newest else { return Ok(vec![]) };
    let view = index.view()?;
    let member = asked.subjects.iter().find_map(|subject| match subject {
        Subject::Member(path) => Some(path),
        _ => None,
    });
    if let Some(path) = member {
        let types = lookup::find(&view, &path.root);
        if let Some(error) = types.first().and_then(|of| walk_path(&view, *of, path).err()) {
            return Ok(vec![error.to_string()]);
        }
        if asked.subjects.len() == 1 {
            return Ok(vec![explain::types::missing(&view, &path.root).to_string()]);
        }
    }
    why_not(&answer::parse(&view, name)?, &[name.to_owned()], index)
}
