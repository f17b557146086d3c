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
use crate::query::Index;
use crate::query::runtime::overlay::Overlay;
use crate::query::runtime::patched;
use crate::render::json_of;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use std::io::{Read, Write};
use std::path::Path;

/// Writes a capture of the running kernel, and reports what is missing from it.
pub fn run(args: &Capture, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let (live, size) = take(args, config)?;
    for (what, why) in &live.missing {
        note(config, &format!("{what} is missing: {why}"));
    }
    let line = Line::new(&live, &args.file, size);
    let text = match config.json {
        true => json_of(&line).to_string(),
        false => {
            let Line { kernel, modules, symbols, .. } = line;
            let file = args.file.display();
            format!("{kernel}: {modules} modules with {symbols} symbols; {file}  {} kB", size.div_ceil(1000))
        }
    };
    writeln!(out, "{text}").map_err(failed)?;
    Ok(Outcome::Done)
}

/// Captures the running kernel into a file. Returns the capture and the size of the file, which appears whole or not at all.
///
/// # Errors
/// [`ErrorKind::Io`] if the kernel's release cannot be read, or the file not be written.
pub fn take(args: &Capture, config: &Config) -> Result<(Live, u64)> {
    let mut live = gather(&args.root)?;
    add_code(&mut live, &args.root, config);
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
    Ok((live, size))
}

/// A capture that was written.
#[derive(Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Captured"))]
pub struct Line<'a> {
    /// The release.
    kernel: &'a str,
    /// The build id of the running kernel.
    build_id: Option<&'a str>,
    /// The file.
    file: &'a Path,
    /// Its bytes.
    size: u64,
    /// The number of modules that are loaded.
    modules: usize,
    /// The number of their symbols.
    symbols: usize,
    /// What could not be read, each with the reason.
    missing: &'a [(String, String)],
}

impl<'a> Line<'a> {
    /// What is said of a capture in a file of this size.
    pub fn new(live: &'a Live, file: &'a Path, size: u64) -> Self {
        Self {
            kernel: &live.release,
            build_id: live.build_id.as_deref(),
            file,
            size,
            modules: live.modules.len(),
            symbols: live.symbol_count(),
            missing: &live.missing,
        }
    }
}

/// Adds the code that was patched when the kernel started, if an index says where that is.
fn add_code(live: &mut Live, root: &Path, config: &Config) {
    let of_index = |live: &mut Live| -> Result<()> {
        let paths = match config.db.is_file() {
            true => vec![config.db.clone()],
            false => choose(&config.db, Some(&live.release), None)?,
        };
        let none = || Error::new(ErrorKind::NoMatch, "no index of this kernel");
        add_patched(live, root, &*config.open(paths.first().ok_or_else(none)?)?)
    };
    if let Err(error) = of_index(live) {
        let why = format!(
            "an index of the kernel says which is patched, and there is none to ask: {}",
            error.message()
        );
        live.missing.push(("code".to_owned(), why));
    }
}

/// Adds the code that was patched when the kernel of an index started, as it is in memory now; or why it cannot be read.
///
/// # Errors
/// If the index is of another kernel.
pub fn add_patched(live: &mut Live, root: &Path, index: &Index) -> Result<()> {
    let view = index.view()?;
    let parts = patched::parts(&view, &Overlay::new(&view, live)?).into_iter();
    let parts: Vec<Part> =
        parts.map(|part| Part { function: part.function, addresses: part.addresses }).collect();
    match live.text {
        Some(_) => code::add(live, root, view.machine(), &parts),
        None => live.missing.push(("code".to_owned(), "it is not known where the kernel lies".to_owned())),
    }
    Ok(())
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
