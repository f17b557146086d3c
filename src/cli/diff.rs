//! `probeidx diff`
use super::args::Diff;
use super::config::Config;
use super::exit::Outcome;
use super::note;
use super::output::failed;
use super::why_not::nothing;
use crate::error::{Error, ErrorKind, Result};
use crate::kernels::choose;
use crate::query::diff::{Asked, compare};
use crate::render::diff as render;
use crate::render::text::Style;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Shows the differences between two kernels.
pub fn run(args: &Diff, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let asked = Asked::parse(args.pattern.as_deref().unwrap_or("*"))?;
    let before = config.open(&index(&args.before, config)?)?;
    let after = config.open(&index(&args.after, config)?)?;
    let views = [&before.view()?, &after.view()?];
    let names = views.map(|view| String::from_utf8_lossy(view.release()).into_owned());
    let kernels = [names[0].as_str(), names[1].as_str()];
    let style = Style { color: config.color };
    let told = compare(views, &asked, |difference| match config.json {
        true => render::json(kernels, difference, out),
        false => render::text(difference, style, out),
    });
    let compared = told.map_err(failed)?;
    if compared.all == 0 {
        let pattern = args.pattern.as_deref().unwrap_or_default();
        let neither = || format!("neither kernel has a function, type or tracepoint {pattern}");
        let why = if compared.left_out.is_empty() { vec![neither()] } else { compared.left_out };
        return nothing(&why, config);
    }
    compared.left_out.iter().for_each(|what| note(config, what));
    let written = match config.json {
        true => render::summary_json(kernels, &compared, out),
        false => render::summary(&compared, out),
    };
    written.map_err(failed)?;
    Ok(Outcome::Done)
}

/// The index of a release, or an index file.
fn index(named: &str, config: &Config) -> Result<PathBuf> {
    let path = Path::new(named);
    if path.is_file() {
        return Ok(path.to_owned());
    }
    let found = choose(&config.db, Some(named), None)?;
    match &found[..] {
        [one] => Ok(one.clone()),
        several => {
            let what = format!("{named} stands for {} kernels", several.len());
            Err(Error::new(ErrorKind::Usage, what).hint("name one; see: probeidx kernels"))
        }
    }
}
