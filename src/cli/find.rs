//! `probeidx find`
use super::args::Find;
use super::config::Config;
use super::exit::Outcome;
use super::output::failed;
use crate::error::Result;
use crate::query::Index;
use crate::query::listing::{Lines, Lister};
use crate::query::resolve;
use crate::query::spec::{self, Spec};
use crate::render::{json, printable};
use std::io::Write;

/// Lists what the patterns match.
pub fn run(args: &Find, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let mut specs: Vec<Spec> = vec![];
    for pattern in &args.patterns {
        specs.extend(spec::parse(pattern)?);
    }
    let mut found = false;
    for path in config.indexes()? {
        let index = Index::open(&path)?;
        let any = if args.each || config.json {
            each(args, &specs, &index, config, out)?
        } else {
            list(args, &specs, &index, out)?
        };
        found |= any;
        if !any {
            super::index::suggest(&specs, &index, config)?;
        }
    }
    Ok(if found { Outcome::Done } else { Outcome::Nothing })
}

fn list(args: &Find, specs: &[Spec], index: &Index, out: &mut dyn Write) -> Result<bool> {
    let view = index.view()?;
    let mut lister = Lister::new(view, args.args);
    let mut lines = Lines::default();
    for spec in specs {
        lister.list(&resolve::functions(&view, spec)?, spec.spelled, &mut lines)?;
    }
    lines.sort();
    for line in lines.iter() {
        put(line, out).map_err(failed)?;
    }
    Ok(!lines.is_empty())
}

/// Writes a line; one with control characters in it, which no compiler writes, is escaped.
fn put(line: &[u8], out: &mut dyn Write) -> std::io::Result<()> {
    if line.iter().all(|b| (0x20..0x7f).contains(b)) {
        out.write_all(line)?;
    } else {
        out.write_all(printable(&String::from_utf8_lossy(line)).as_bytes())?;
    }
    out.write_all(b"\n")
}

/// One line for each placement.
fn each(args: &Find, specs: &[Spec], index: &Index, config: &Config, out: &mut dyn Write) -> Result<bool> {
    let view = index.view()?;
    let release = String::from_utf8_lossy(view.release());
    let mut found = false;
    for spec in specs {
        resolve::resolve(view, spec, args.locals, |placement, filter| {
            found = true;
            if config.json {
                return json::placement(&view, &release, &placement, filter, out).map_err(failed);
            }
            let mut line = vec![];
            let p = &placement;
            crate::query::point::put(&view, p.object, p.function, p.file, p.line, filter, &mut line);
            let symbol =
                p.symbol.map_or(String::new(), |(s, o)| format!(" {}+{o:#x}", String::from_utf8_lossy(s)));
            line.extend_from_slice(format!(" {:#x}{symbol} {}", p.address, p.instance.name()).as_bytes());
            if args.args {
                for v in p.variables.iter().filter(|v| v.location.is_some()) {
                    let spelled = v.type_name.as_deref().unwrap_or("?");
                    line.extend_from_slice(
                        format!(" ${}:{spelled}", String::from_utf8_lossy(v.name)).as_bytes(),
                    );
                }
            }
            put(&line, out).map_err(failed)
        })?;
    }
    Ok(found)
}
