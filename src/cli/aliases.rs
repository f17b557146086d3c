//! Output for tapset aliases.
use crate::query::systemtap::alias::{At, Probe};
use crate::render;
use probeidx_format::View;
use std::io::{self, Write};

/// Writes a probe as one line of JSON: a placement or tracepoint with the fields of the alias.
pub fn put_json(view: &View<'_>, kernel: &str, probe: &Probe<'_, '_>, out: &mut dyn Write) -> io::Result<()> {
    let mut line = vec![];
    match &probe.place {
        At::Code(placement) => render::json::placement(view, kernel, placement, probe.filter, &mut line)?,
        At::Trace(traced) => render::tracepoint::json(view, kernel, traced, &mut line)?,
        At::Nowhere | At::Unindexed => {
            let instance = if matches!(probe.place, At::Unindexed) { "unindexed" } else { "none" };
            let point = probe.named.point;
            let nowhere = render::aliases::Nowhere { kernel, module: None, probe: point, instance };
            writeln!(line, "{}", render::json_of(&nowhere))?;
        }
    }
    render::aliases::extend(&mut line, &probe.named)?;
    out.write_all(&line)
}
