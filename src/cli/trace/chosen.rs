//! Which index answers, and what it says is planted.
use crate::cli::args::{Build, Trace};
use crate::cli::config::Config;
use crate::cli::{build, capture, note, processes, why_not};
use crate::error::{Error, ErrorKind, Result};
use crate::live::Live;
use crate::live::gather::gather;
use crate::query::Index;
use crate::query::resolve::event;
use crate::query::runtime::overlay::Overlay;
use crate::query::spec::argument::Argument;
use crate::query::spec::{ModuleScope, Spec};
use crate::query::trace::Plan;
use crate::query::trace::filter::Condition;
use crate::query::trace::plan::{Asked, Planner};
use crate::tracefs::features::Features;
use crate::tracefs::mount::Tracefs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is traced.
pub struct Question<'q> {
    /// Where.
    pub specs: &'q [Spec],
    /// What is printed.
    pub arguments: &'q [Argument],
    /// Of which events.
    pub condition: Option<&'q Condition>,
    /// Whether no values are read.
    pub is_without_values: bool,
    /// The group of the events.
    pub group: &'q str,
}

/// A plan, and what it was made of.
pub struct Chosen {
    /// What is planted.
    pub plan: Plan,
    /// The index of the kernel that runs, and what it says of itself; `None` if only programs are traced.
    pub kernel: Option<(Arc<Index>, Live)>,
    /// Why specs match nothing.
    pub absent: Vec<String>,
}

/// Plans with the index of the running kernel and the lists that it has itself; in a dry run for another kernel with its
/// index alone. Indexes the kernel first if it is not.
///
/// # Errors
/// [`ErrorKind::NoIndex`], [`ErrorKind::Mismatch`] if the kernel that runs is not the indexed one and may not be indexed
/// now; those of the plan.
pub fn plan(
    question: &Question<'_>,
    args: &Trace,
    is_elsewhere: bool,
    tracefs: &Tracefs,
    config: &Config,
) -> Result<Chosen> {
    let is_of_process = |spec: &Spec| matches!(spec.point.scope(), Some(ModuleScope::Process(_)));
    let mut live = match is_elsewhere || question.specs.iter().all(is_of_process) {
        true => None,
        false => Some(gather(Path::new("/"))?),
    };
    let kernel = match &mut live {
        Some(live) => {
            let (path, index) = running(live, args, config)?;
            // What was patched when the kernel started is decided by its memory.
            capture::add_patched(live, Path::new("/"), &index)?;
            Some((path, index))
        }
        None => None,
    };
    let has_event = |system: &str, name: &str| tracefs.has(&format!("events/{system}/{name}/enable"));
    let is_seen = live.is_some() && tracefs.has("events");
    let mut planner = Planner::new(question.arguments, question.condition);
    if question.is_without_values {
        planner = planner.without_values();
    }
    let mut absent = vec![];
    let indexes = asked(question.specs, kernel.as_ref().map(|(path, _)| path.as_path()), config)?;
    if is_elsewhere && indexes.iter().filter(|(_, specs)| !specs.iter().any(is_of_process)).count() > 1 {
        let what = format!("{} kernels match, and a plan is for one", indexes.len());
        return Err(Error::new(ErrorKind::Usage, what).hint("name one with --kernel; see: probeidx kernels"));
    }
    for (path, specs) in indexes {
        let index = match &kernel {
            Some((known, index)) if *known == path => Arc::clone(index),
            _ => config.open(&path)?,
        };
        let view = index.view()?;
        let specs = event::told_apart(&view, specs);
        let is_kernel = kernel.as_ref().is_some_and(|(known, _)| *known == path);
        let overlay =
            live.as_ref().filter(|_| is_kernel).map(|live| Overlay::new(&view, live)).transpose()?;
        let asked = Asked {
            group: question.group,
            running: overlay.as_ref(),
            has_event: if is_seen { Some(&has_event) } else { None },
            has_fprobes: is_seen.then(|| Features::of(tracefs).fprobes),
        };
        let mut found = false;
        for spec in &specs {
            found |= planner.add(&view, spec, asked).map_err(|e| index.named(e))?;
        }
        if found {
            event::too(&view, &specs).iter().for_each(|said| note(config, said));
        } else {
            absent.extend(why_not::why_not(&specs, std::slice::from_ref(&args.spec), &index)?);
        }
    }
    let kernel = kernel.zip(live).map(|((_, index), live)| (index, live));
    Ok(Chosen { plan: planner.finish()?, kernel, absent })
}

/// The indexes, each with its specs.
fn asked(specs: &[Spec], kernel: Option<&Path>, config: &Config) -> Result<Vec<(PathBuf, Vec<Spec>)>> {
    let Some(kernel) = kernel else { return processes::asked(config, specs) };
    let is_of_process = |spec: &&Spec| matches!(spec.point.scope(), Some(ModuleScope::Process(_)));
    let (processes, kernels): (Vec<&Spec>, Vec<&Spec>) = specs.iter().partition(is_of_process);
    let owned = |specs: Vec<&Spec>| specs.into_iter().cloned().collect::<Vec<_>>();
    let mut all = vec![(kernel.to_owned(), owned(kernels))];
    all.extend(processes::asked(config, &owned(processes))?);
    Ok(all)
}

/// The index of the kernel that runs.
fn running(live: &Live, args: &Trace, config: &Config) -> Result<(PathBuf, Arc<Index>)> {
    if let Some(asked) = config.kernel.as_ref().filter(|asked| **asked != live.release) {
        let what = format!("only the kernel that runs can be traced: {}, not {asked}", live.release);
        return Err(Error::new(ErrorKind::Usage, what).hint("for another kernel there is --dry-run"));
    }
    let found = find(live, config);
    let why = match found {
        Ok(found) => return Ok(found),
        Err(why)
            if matches!(why.kind(), ErrorKind::NoIndex | ErrorKind::Mismatch | ErrorKind::IndexTooOld) =>
        {
            why
        }
        Err(why) => return Err(why),
    };
    if args.no_build || args.dry_run || config.db.is_file() {
        return Err(why.hint(format!("run: probeidx build {}", live.release)));
    }
    note(config, &format!("{}; indexing kernel {} now", why.message(), live.release));
    let wanted = Build { paths: vec![PathBuf::from(&live.release)], ..Build::default() };
    build::index(&wanted, config)?;
    find(live, config)
}

fn find(live: &Live, config: &Config) -> Result<(PathBuf, Arc<Index>)> {
    let path = match config.db.is_file() {
        true => config.db.clone(),
        false => config.db.join(format!("{}.pidx", live.release)),
    };
    if !path.exists() {
        let release = config.kernel.as_deref().unwrap_or(&live.release);
        let of_store = config.indexes().ok().filter(|_| config.kernel.is_some() || config.running.is_some());
        let is_right = |path: &PathBuf| {
            let index = config.open(path).ok()?;
            let is_right = index.view().is_ok_and(|view| view.release() == release.as_bytes());
            is_right.then_some(index)
        };
        if let Some((path, index)) = of_store.into_iter().flatten().find_map(|p| is_right(&p).map(|i| (p, i)))
        {
            Overlay::new(&index.view()?, live)?;
            return Ok((path, index));
        }
        let what = format!("kernel {} is not indexed", live.release);
        return Err(Error::new(ErrorKind::NoIndex, what).at(&config.db));
    }
    let index = config.open(&path)?;
    Overlay::new(&index.view()?, live).map_err(|_| {
        let id = live.build_id.as_deref().unwrap_or("unknown");
        let what = format!(
            "the index is of another build than the kernel {} that runs, build id {id}",
            live.release
        );
        Error::new(ErrorKind::Mismatch, what).at(&path)
    })?;
    Ok((path, index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::Global;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        trace: Trace,
    }

    fn refusal(kernel: Option<&str>, arguments: &[&str]) -> Error {
        let folder = tempfile::tempdir().unwrap();
        let global = Global {
            db: Some(folder.path().to_owned()),
            kernel: kernel.map(str::to_owned),
            ..Global::default()
        };
        let config = Config::new(&global).unwrap();
        let live = Live { release: "6.1.0-none".to_owned(), ..Live::default() };
        let args = Line::parse_from([&["trace", "vfs_read"], arguments].concat()).trace;
        running(&live, &args, &config).err().unwrap()
    }

    #[test]
    fn nothing_is_built_if_that_is_not_wanted() {
        for option in ["--no-build", "--dry-run"] {
            let error = refusal(None, &[option]);
            assert_eq!(error.kind(), ErrorKind::NoIndex, "{option}: {error}");
            assert!(error.message().contains("kernel 6.1.0-none is not indexed"), "{error}");
            assert_eq!(error.remedy(), Some("run: probeidx build 6.1.0-none"), "{option}");
        }
        // It is tried, and there is no such kernel.
        let error = refusal(None, &[]);
        assert!(error.to_string().contains("6.1.0-none"), "{error}");
        assert_ne!(error.remedy(), Some("run: probeidx build 6.1.0-none"), "{error}");
    }

    #[test]
    fn only_the_kernel_that_runs_is_traced() {
        let error = refusal(Some("5.10.0-other"), &[]);
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        assert!(error.message().contains("6.1.0-none, not 5.10.0-other"), "{error}");
    }
}
