//! `probeidx trace`
mod chosen;
mod counting;
mod guard;
mod only;
mod printer;
mod records;
mod redraw;
mod session;
mod signals;
mod steps;

use super::args::Trace;
use super::config::Config;
use super::exit::Outcome;
use super::note;
use super::output::failed;
use super::why_not::nothing;
use crate::error::{Error, ErrorKind, Result};
use crate::query::runtime::overlay::Overlay;
use crate::query::spec::argument::{self, Argument};
use crate::query::spec::{self, Filter, FunctionSpec, Point, Spec};
use crate::query::trace::Plan;
use crate::query::trace::filter::Condition;
use crate::query::trace::names::{IndexNames, NoNames};
use crate::render::json_of;
use crate::render::trace::plan::{as_shell, summary};
use crate::tracefs::mount::Tracefs;
use crate::tracefs::planted::{self, Planted};
use crate::tracefs::session_id::SessionId;
use crate::tracefs::stale;
use counting::What;
use session::Session;
use signals::Ending;
use std::io::Write;
use std::path::Path;
use steps::Steps;

/// The names of the session in a dry run.
const DRY: &str = "probeidx.dry";
const DRY_GROUP: &str = "probeidx_dry";

/// Plans, plants, prints and removes.
pub fn run(args: &Trace, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let counted = What::of(args);
    let specs = match counted {
        Some(What::Latency) => entries_and_returns(spec::parse(&args.spec)?)?,
        _ if args.output.is_some() => with_returns(spec::parse(&args.spec)?),
        _ => spec::parse(&args.spec)?,
    };
    let arguments = args.args.iter().chain(&args.hist).map(|a| argument::parse(a));
    let arguments: Vec<Argument> = arguments.collect::<Result<_>>()?;
    if arguments.len() > argument::MOST {
        let what = format!("{} arguments, and the kernel takes {}", arguments.len(), argument::MOST);
        return Err(Error::new(ErrorKind::Usage, what));
    }
    let condition = condition(args)?;
    let is_elsewhere = args.dry_run && config.kernel.is_some();
    let tracefs = match Tracefs::find(Path::new("/")) {
        Err(_) if args.dry_run => Tracefs::usual(),
        found => found?,
    };
    let session = SessionId::own(Path::new("/"));
    let (group, instance) = match args.dry_run {
        true => (DRY_GROUP.to_owned(), DRY.to_owned()),
        false => (session.group(), session.instance()),
    };
    if !args.dry_run {
        for left in stale::remove(&tracefs, Path::new("/")) {
            note(config, &format!("removed what {left} left in tracefs"));
        }
    }
    let question = chosen::Question {
        specs: &specs,
        arguments: &arguments,
        condition: condition.as_ref(),
        is_without_values: matches!(counted, Some(What::Copies | What::Latency)),
        group: &group,
    };
    let mut chosen = chosen::plan(&question, args, is_elsewhere, &tracefs, config)?;
    if chosen.plan.events.is_empty() {
        return refused(&chosen, config);
    }
    let threads = only::threads(args)?;
    if args.dry_run {
        return print(
            &chosen.plan,
            &Steps::of(&chosen.plan, &threads, args.stack),
            &tracefs,
            &instance,
            config,
            out,
        );
    }
    // From here on a signal ends the trace, and what is planted goes with it.
    let ending = Ending::watch()?;
    remove_on_panic(&tracefs, session);
    // Thousands of probes take a while.
    let definitions = chosen.plan.definitions().take_while(|_| !ending.is_asked());
    let (planted, refused_ones) = Planted::new(&tracefs, session, definitions)?;
    if ending.is_asked() {
        return planted.remove().map(|()| Outcome::Done);
    }
    chosen.plan.leave_out(&refused_ones);
    if chosen.plan.events.is_empty() {
        planted.remove()?;
        return refused(&chosen, config);
    }
    summary(&chosen.plan).iter().for_each(|line| note(config, line));
    let steps = Steps::of(&chosen.plan, &threads, args.stack);
    let running = Session { tracefs: &tracefs, chosen: &chosen, args, config, threads: &threads };
    match &chosen.kernel {
        Some((index, live)) => {
            let view = index.view()?;
            let loaded = Overlay::new(&view, live)?.into_loaded();
            running.run(planted, &steps, &mut IndexNames::new(&view, &loaded), &ending, out)
        }
        None => running.run(planted, &steps, &mut NoNames::default(), &ending, out),
    }
}

/// Entries, and with them returns: a viewer shows a call as what lies between them.
fn with_returns(specs: Vec<Spec>) -> Vec<Spec> {
    let of_return = |spec: &Spec| match &spec.point {
        Point::Function(function)
            if matches!(function.filter, Filter::Any | Filter::Call)
                && (function.offset, &function.callee, &function.label) == (None, &None, &None) =>
        {
            let point = Point::Function(FunctionSpec { filter: Filter::Return, ..function.clone() });
            Some(Spec { point, ..spec.clone() })
        }
        _ => None,
    };
    let returns: Vec<Spec> = specs.iter().filter_map(of_return).collect();
    specs.into_iter().chain(returns).collect()
}

/// A program that aborts drops nothing. An instance of which a file is still open stays without events, for the next trace to
/// remove.
fn remove_on_panic(tracefs: &Tracefs, session: SessionId) {
    let (tracefs, report) = (tracefs.clone(), std::panic::take_hook());
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        let _ = planted::remove(&tracefs, session);
    }));
}

/// For each function, its entry and its return. Copies that are inlined have no return.
fn entries_and_returns(specs: Vec<Spec>) -> Result<Vec<Spec>> {
    let mut both = vec![];
    for spec in specs {
        let Point::Function(function) = &spec.point else {
            let what = "--latency is that of functions, from their entry to their return";
            return Err(Error::new(ErrorKind::Usage, what).hint("give the name of a function"));
        };
        for filter in [Filter::Call, Filter::Return] {
            let point = Point::Function(FunctionSpec { filter, ..function.clone() });
            both.push(Spec { point, ..spec.clone() });
        }
    }
    Ok(both)
}

/// What `--if` and `--comm` ask for.
fn condition(args: &Trace) -> Result<Option<Condition>> {
    let asked = args.condition.as_deref().map(Condition::parse).transpose()?;
    let comm = args.comm.as_deref().map(Condition::of_comm);
    Ok(match (asked, comm) {
        (Some(asked), Some(comm)) => Some(Condition::All(vec![comm, asked])),
        (asked, comm) => asked.or(comm),
    })
}

/// Nothing can be traced: the reasons.
fn refused(chosen: &chosen::Chosen, config: &Config) -> Result<Outcome> {
    let Plan { left_out, .. } = &chosen.plan;
    if left_out.is_empty() {
        return nothing(&chosen.absent, config);
    }
    let reason = |left: &crate::query::trace::LeftOut| {
        let instead = left.instead.as_ref().map_or(String::new(), |i| format!("; instead: {i}"));
        format!("{}: {}{instead}", left.what, left.why)
    };
    nothing(&left_out.iter().map(reason).collect::<Vec<_>>(), config)
}

/// What `--dry-run` prints: a file that would be written, or a folder that would be made.
#[derive(serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step<'a> {
    /// The file or folder.
    path: &'a str,
    /// What would be written into the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    write: Option<&'a str>,
    /// True if it is a folder.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    make: bool,
}

/// Prints what would be written.
fn print(
    plan: &Plan,
    steps: &Steps,
    tracefs: &Tracefs,
    instance: &str,
    config: &Config,
    out: &mut dyn Write,
) -> Result<Outcome> {
    let features = crate::tracefs::features::Features::of(tracefs);
    let folder = tracefs.path("instances").join(instance);
    let mut line = |path: &Path, text: Option<&str>| {
        let path = path.to_string_lossy();
        let line = match (config.json, text) {
            (true, write) => json_of(&Step { path: &path, write, make: write.is_none() }).to_string(),
            (false, Some(text)) => as_shell(&path, text),
            (false, None) => format!("mkdir '{path}'"),
        };
        writeln!(out, "{line}").map_err(failed)
    };
    line(&folder, None)?;
    line(&folder.join("tracing_on"), Some("0"))?;
    for (definition, _) in plan.definitions() {
        // Kernels have had it since 5.0.
        line(&tracefs.path(features.file(definition).unwrap_or("dynamic_events")), Some(definition))?;
    }
    for (name, text) in &steps.writes {
        line(&folder.join(name), Some(text))?;
    }
    Ok(Outcome::Done)
}
