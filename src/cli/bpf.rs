//! `probeidx bpf`
use super::args::{Bpf, Offered};
use super::config::Config;
use super::exit::Outcome;
use super::output::failed;
use super::why_not::nothing;
use crate::error::Result;
use crate::nearest;
use crate::pattern::Pattern;
use crate::query::offers::{Kind, offers};
use crate::render::offers::{json, text};
use clap::ValueEnum;
use std::io::Write;

/// Lists what kernels offer to BPF programs.
pub fn run(args: &Bpf, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let pattern = Pattern::new(args.pattern.as_deref().unwrap_or("*"))?;
    let asked = args.kind.to_possible_value();
    let is_asked = |kind: &Kind| {
        args.kind == Offered::All || asked.as_ref().is_some_and(|asked| asked.get_name() == kind.name())
    };
    let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(is_asked).collect();
    let (mut outcome, mut near) = (Outcome::Nothing, vec![]);
    for path in config.indexes()? {
        let index = config.open(&path)?;
        let view = &index.view()?;
        let release = String::from_utf8_lossy(view.release());
        for kind in &kinds {
            let found = offers(view, *kind, &pattern);
            for offer in &found {
                outcome = Outcome::Done;
                let written = if config.json { json(&release, offer, out) } else { text(offer, out) };
                written.map_err(failed)?;
            }
            if found.is_empty() && pattern.is_literal() {
                let all = offers(view, *kind, &Pattern::new("*")?);
                let names = all.iter().map(|offer| offer.name.as_str());
                near.extend(nearest::nearest(pattern.literal_prefix(), names, 3));
            }
        }
    }
    if outcome == Outcome::Done {
        return Ok(outcome);
    }
    near.sort();
    near.dedup();
    let what = match near.is_empty() {
        true => format!("the kernel offers nothing of that kind called {pattern}"),
        false => format!("nothing is called {pattern}; did you mean {}?", near.join(", ")),
    };
    nothing(&[what], config)
}
