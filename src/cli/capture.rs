//! `probeidx capture`, and reading captures.
use super::args::Capture;
use super::config::Config;
use super::exit::Outcome;
use super::note;
use super::output::failed;
use crate::error::{Error, ErrorKind, Result};
use crate::kernels::choose;
use crate::live::Live;
use crate::live::code::{self, Part};
use crate::live::gather::gather;
use crate::query::runtime::overlay::Overlay;
use crate::query::runtime::patched;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use std::io::{Read, Write};
use std::path::Path;

/// Writes a capture of the running kernel, and reports what is missing from it.
pub fn run(args: &Capture, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let mut live = gather(&args.root)?;
    add_code(&mut live, &args.root, config);
    for (what, why) in &live.missing {
        note(config, &format!("{what} is missing: {why}"));
    }
    let written = || -> std::io::Result<u64> {
        let folder = args.file.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        let mut packed = GzEncoder::new(&mut file, Compression::default());
        packed.write_all(&live.to_text())?;
        packed.finish()?;
        file.as_file().sync_all()?;
        Ok(file.persist(&args.file).map_err(|e| e.error)?.metadata()?.len())
    };
    let size = written().map_err(|e| Error::io(&args.file, "write the capture", e))?;
    let symbols = live.symbols.as_ref().map_or(0, |all| all.values().map(Vec::len).sum());
    let (file, modules) = (args.file.display(), live.modules.len());
    let line = match config.json {
        true => serde_json::json!({"kernel": live.release, "build_id": live.build_id, "file": args.file,
            "size": size, "modules": modules, "symbols": symbols, "missing": live.missing})
        .to_string(),
        false => {
            format!(
                "{}: {modules} modules with {symbols} symbols; {file}  {} kB",
                live.release,
                size.div_ceil(1000)
            )
        }
    };
    writeln!(out, "{line}").map_err(failed)?;
    Ok(Outcome::Done)
}

/// Adds the code that was patched when the kernel started. The index says where that is.
fn add_code(live: &mut Live, root: &Path, config: &Config) {
    let of_index = || -> Result<(u16, Vec<Part>)> {
        let paths = match config.db.is_file() {
            true => vec![config.db.clone()],
            false => choose(&config.db, Some(&live.release), None)?,
        };
        let none = || Error::new(ErrorKind::NoMatch, "no index of this kernel");
        let index = config.open(paths.first().ok_or_else(none)?)?;
        let view = index.view()?;
        let overlay = Overlay::new(&view, live)?;
        let parts = patched::parts(&view, &overlay).into_iter();
        let part = |p: patched::PatchedPart| Part { function: p.function, addresses: p.addresses };
        Ok((view.machine(), parts.map(part).collect()))
    };
    match of_index() {
        Ok(_) if live.text.is_none() => {
            live.missing.push(("code".to_owned(), "it is not known where the kernel lies".to_owned()));
        }
        Ok((machine, parts)) => code::add(live, root, machine, &parts),
        Err(error) => {
            let why = format!(
                "an index of the kernel says which is patched, and there is none to ask: {}",
                error.message()
            );
            live.missing.push(("code".to_owned(), why));
        }
    }
}

/// Larger than any capture.
const MOST: u64 = 256 << 20;

/// Reads a capture.
///
/// # Errors
/// [`ErrorKind::Io`] if it cannot be read; [`ErrorKind::Damaged`] if it is not a capture or is incomplete.
pub fn read(path: &Path) -> Result<Live> {
    let file = std::fs::File::open(path).map_err(|e| Error::io(path, "open the capture", e))?;
    let mut text = vec![];
    let damaged = |what: String| {
        Error::new(ErrorKind::Damaged, what).at(path).hint("capture again with: probeidx capture FILE")
    };
    MultiGzDecoder::new(file)
        .take(MOST + 1)
        .read_to_end(&mut text)
        .map_err(|e| damaged(format!("the capture cannot be unpacked: {e}")))?;
    if text.len() as u64 > MOST {
        return Err(damaged(format!("the capture is longer than {MOST} bytes")));
    }
    Live::parse(&text).map_err(|e| e.at(path))
}
