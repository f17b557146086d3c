//! `probeidx find`
use super::aliases;
use super::args::Find;
use super::config::Config;
use super::exit::Outcome;
use super::memory;
use super::note;
use super::output::failed;
use super::processes;
use super::why_not::Reasons;
use crate::error::Result;
use crate::query::Index;
use crate::query::answer::{Answer, answers};
use crate::query::index::user_object;
use crate::query::resolve::placement::{Placement, Wanted};
use crate::query::resolve::tracepoint::Tracepoint;
use crate::query::resolve::{event, statement};
use crate::query::spec::{self, Filter, FunctionSpec, Point, Spec};
use crate::query::systemtap::alias::{self, At, Probe};
use crate::query::systemtap::listing::listed::{Listed, listed};
use crate::query::systemtap::listing::{Lines, Lister};
use crate::query::systemtap::probe_point;
use crate::query::systemtap::probe_point::Kind;
use crate::query::value::reader::ValueAt;
use crate::query::verdict::coverage;
use crate::render::{json, printable, tracepoint, words};
use crate::tapset::Definitions;
use probeidx_format::View;
use rustc_hash::FxHashSet;
use std::io::Write;
use std::mem::ManuallyDrop;

/// Lists what the patterns match.
pub fn run(args: &Find, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let mut specs: Vec<Spec> = vec![];
    for pattern in &args.patterns {
        specs.extend(spec::parse(pattern)?);
    }
    let mut found = false;
    let mut reasons = Reasons::new(&args.patterns);
    let asked = processes::asked(config, &specs)?;
    processes::name_kernel(config);
    let is_one_of_several = asked.len() > 1 && !config.json;
    for (path, specs) in asked {
        let index = config.open(&path)?;
        if is_one_of_several && !config.quiet {
            // The lines are SystemTap's and do not name the kernel, which is printed on stderr: flush to keep the
            // order.
            out.flush().map_err(failed)?;
            note(config, &format!("{}:", processes::name(&index.view()?)));
        }
        let specs = event::told_apart(&index.view()?, specs);
        let any = if args.each || config.json {
            each(args, &specs, &index, config, out)
        } else {
            list(args, &specs, &index, config, out)
        };
        let any = any.map_err(|e| index.named(e))?;
        found |= any;
        if any {
            event::too(&index.view()?, &specs).iter().for_each(|said| note(config, said));
        } else {
            reasons.missed(specs, &index);
        }
    }
    if found { Ok(Outcome::Done) } else { reasons.nothing(config) }
}

fn list(args: &Find, specs: &[Spec], index: &Index, config: &Config, out: &mut dyn Write) -> Result<bool> {
    let view = &index.view()?;
    let Some(functions) = listing(view, specs, args.args, config, out)? else { return Ok(false) };
    name_files(view, specs, config);
    for function in functions.iter().filter(|f| config.verbose > 0 || f.declared.name.is_literal()) {
        note_coverage(view, function, config);
    }
    Ok(true)
}

/// Prints what the specs match in SystemTap's listing, and returns the specs of functions; `None` if nothing matches.
pub fn listing(
    view: &View<'_>,
    specs: &[Spec],
    with_variables: bool,
    config: &Config,
    out: &mut dyn Write,
) -> Result<Option<Vec<FunctionSpec>>> {
    let mut lister = Lister::new(view, with_variables);
    let mut lines = Lines::default();
    let mut asked = vec![];
    let points = alias::asked(specs);
    if !points.is_empty() {
        let definitions = ManuallyDrop::new(Definitions::of_index(view)?);
        if config.session.ends_with_the_answer() {
            memory::take_in_large_steps();
        }
        let unindexed = alias::list(view, &definitions, &points, with_variables, true, &mut lines)?;
        // If the process ends next, decoded definitions are leaked: freeing them one by one takes a sixth of the time.
        if !config.session.ends_with_the_answer() {
            drop(ManuallyDrop::into_inner(definitions));
        }
        if !unindexed.is_empty() {
            note(
                config,
                &format!("what these probe is not in the index of a kernel: {}", unindexed.join(", ")),
            );
        }
    }
    for spec in specs.iter().filter(|s| !matches!(s.point, Point::Alias(_))) {
        let listed = listed(view, spec)?;
        lister.list(&listed, spec.spelled, &mut lines)?;
        if let Listed::Functions { spec, kind: Kind::Function } = listed {
            asked.push(spec);
        }
    }
    if lines.is_empty() {
        return Ok(None);
    }
    lines.sort();
    for line in lines.iter() {
        put(line, out).map_err(failed)?;
    }
    Ok(Some(asked))
}

/// Lists the files if a file name without wildcards matches several: all of them are meant.
pub(super) fn name_files(view: &View<'_>, specs: &[Spec], config: &Config) {
    const MOST: usize = 5;
    for spec in specs {
        let Point::Statement(asked) = &spec.point else { continue };
        let Some(name) = asked.file.as_ref().filter(|file| file.is_literal()) else { continue };
        let files = statement::files(view, asked);
        let is_restricted = asked.function.as_ref().is_some_and(|f| !f.matches_all());
        if config.quiet || is_restricted || files.len() < 2 {
            continue;
        }
        let shown: Vec<_> = files.iter().take(MOST).map(|f| String::from_utf8_lossy(f)).collect();
        let more = match files.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        note(config, &format!("{name} is the name of {} files: {}{more}", files.len(), shown.join(", ")));
    }
}

/// Notes functions that are inlined or cannot be probed everywhere, because a probe on the name would miss calls. With
/// -v, notes all.
fn note_coverage(view: &View<'_>, spec: &FunctionSpec, config: &Config) {
    const MOST: usize = 5;
    if config.quiet {
        return;
    }
    let mut covered = coverage::of_spec(view, spec);
    if config.verbose == 0 {
        covered.retain(|c| c.coverage.inline.total > 0 || words::is_incomplete(&c.coverage));
    }
    let shown = if config.verbose > 0 { covered.len() } else { MOST };
    for c in covered.iter().take(shown) {
        let [function, file] = [c.function, c.file].map(String::from_utf8_lossy);
        let module = view.objects.get(c.object.index()).map_or(&[][..], |o| view.string(o.name));
        let name = user_object::path(view).unwrap_or(module);
        let object = if name.is_empty() { "vmlinux" } else { &String::from_utf8_lossy(name) };
        note(config, &format!("{function}@{file}:{}, {object}: {}", c.line, words::coverage(&c.coverage)));
    }
    if covered.len() > shown {
        note(config, &format!("and so in {} more; see: probeidx find -v", covered.len() - shown));
    }
}

/// Writes a line, and escapes it if it has control characters, which no compiler writes.
fn put(line: &[u8], out: &mut dyn Write) -> std::io::Result<()> {
    if line.iter().all(|b| (0x20..0x7f).contains(b)) {
        out.write_all(line)?;
    } else {
        out.write_all(printable(&String::from_utf8_lossy(line)).as_bytes())?;
    }
    out.write_all(b"\n")
}

/// One line for each placement: text sorted like the listing, JSON in the order of the patterns.
fn each(args: &Find, specs: &[Spec], index: &Index, config: &Config, out: &mut dyn Write) -> Result<bool> {
    let view = &index.view()?;
    let release = String::from_utf8_lossy(view.release());
    let mut found = false;
    let mut lines = Lines::default();
    // A single pattern gives no placement twice.
    let mut printed = FxHashSet::default();
    for spec in specs {
        let wanted = Wanted { locals: args.locals, ..Wanted::default() };
        answers(view, spec, wanted, &mut |answer| {
            found = true;
            if !config.json {
                lines.push(
                    |line| put_answer(view, &answer, line),
                    |line| put_values(answer.values(), args.args, line),
                );
                return Ok(());
            }
            let (placement, filter) = match &answer {
                Answer::Tracepoint(traced) => {
                    return tracepoint::json(view, &release, traced, out).map_err(failed);
                }
                Answer::Alias(probe) => {
                    return aliases::put_json(view, &release, probe, out).map_err(failed);
                }
                Answer::Code(placement, filter) => (placement, *filter),
            };
            if specs.len() == 1 {
                return json::placement(view, &release, placement, filter, out).map_err(failed);
            }
            let mut line = vec![];
            json::placement(view, &release, placement, filter, &mut line).map_err(failed)?;
            if printed.contains(&line) {
                return Ok(());
            }
            out.write_all(&line).map_err(failed)?;
            printed.insert(line);
            Ok(())
        })?;
    }
    lines.sort();
    for line in lines.iter() {
        put(line, out).map_err(failed)?;
    }
    if found {
        name_files(view, specs, config);
    }
    Ok(found)
}

fn put_answer(view: &View<'_>, answer: &Answer<'_, '_>, line: &mut Vec<u8>) {
    match answer {
        Answer::Code(placement, filter) => put_placement(view, placement, *filter, line),
        Answer::Tracepoint(traced) => put_tracepoint(&traced.tracepoint, line),
        Answer::Alias(probe) => put_probe(view, probe, line),
    }
}

fn put_placement(view: &View<'_>, p: &Placement<'_>, filter: Filter, line: &mut Vec<u8>) {
    probe_point::put_placement(view, p, filter, line);
    line.extend_from_slice(format!(" {:#x}", p.address).as_bytes());
    if let Some((symbol, offset)) = p.symbol {
        line.push(b' ');
        line.extend_from_slice(symbol);
        line.extend_from_slice(format!("+{offset:#x}").as_bytes());
    }
    line.push(b' ');
    line.extend_from_slice(p.instance.name().as_bytes());
}

/// Appends the alias, and the point it leads to.
fn put_probe(view: &View<'_>, probe: &Probe<'_, '_>, line: &mut Vec<u8>) {
    if probe.named.name != probe.named.point {
        line.extend_from_slice(probe.named.name.as_bytes());
        line.push(b' ');
    }
    match &probe.place {
        At::Code(placement) => put_placement(view, placement, probe.filter, line),
        At::Trace(traced) => put_tracepoint(&traced.tracepoint, line),
        At::Nowhere | At::Unindexed => line.extend_from_slice(probe.named.point.as_bytes()),
    }
}

fn put_tracepoint(t: &Tracepoint<'_>, line: &mut Vec<u8>) {
    t.put(line);
    line.extend_from_slice(format!(" {:#x} ", t.address()).as_bytes());
    if let Some(module) = t.module() {
        line.extend_from_slice(module);
        line.push(b':');
    }
    line.extend_from_slice(b"__tracepoint_");
    line.extend_from_slice(t.name());
    line.extend_from_slice(b" tracepoint");
}

fn put_values(values: &[ValueAt], wanted: bool, line: &mut Vec<u8>) {
    for v in values.iter().filter(|v| wanted && v.location.is_some()) {
        line.extend_from_slice(b" $");
        line.extend_from_slice(v.name.trim_start_matches('$').as_bytes());
        line.push(b':');
        line.extend_from_slice(v.type_name.as_deref().unwrap_or("?").as_bytes());
    }
}
