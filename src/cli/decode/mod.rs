//! `probeidx decode`
mod answers;

use self::answers::{Asked, Form};
use super::addr::loaded;
use super::args::{self, Decode};
use super::config::Config;
use super::exit::Outcome;
use super::output::failed;
use super::{chunked_stdin, note, processes};
use crate::error::Result;
use crate::kernels;
use crate::query::Index;
use crate::query::index::functions;
use crate::query::index::has_build_id;
use crate::query::symbolize::frames::Cursor;
use crate::query::symbolize::locate::Absent;
use crate::query::symbolize::log::{self, Frame, Header};
use crate::query::symbolize::log_decoder::Decoder;
use crate::query::symbolize::user_objects::Further;
use crate::render::address;
use probeidx_format::View;
use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// Symbolizes the frames of a log.
pub fn run(args: &Decode, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let files = match &config.kernel {
        Some(_) => config.indexes()?,
        None => kernels::choose(&config.db, Some("*"), None)?,
    };
    let indexes: Vec<Result<Arc<Index>>> = files.iter().map(|file| config.open(file)).collect();
    let views = indexes.iter().map(|index| index.as_ref().map_err(Clone::clone)?.view());
    let release = |file: &PathBuf| file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let opened: Vec<(String, Result<View<'_>>)> = files.iter().map(release).zip(views).collect();
    let users = processes::all(config)?;
    let further = processes::further(&users);
    let mut log = Log::new(&opened, &further, &args.loaded, config)?;
    chunked_stdin::pieces(config.session.input(), |piece, ended| {
        let done = log.piece(piece, ended, out)?;
        out.flush().map_err(failed)?;
        Ok(done)
    })?;
    log.end()
}

/// Longer lines are passed through unchanged.
const LONGEST: usize = 64 << 10;

/// The state of reading a log.
struct Log<'a> {
    kernels: Vec<Kernel<'a>>,
    /// Programs and libraries of user space.
    further: &'a [Further<'a>],
    args: &'a args::Loaded,
    config: &'a Config,
    /// The kernel that wrote the current part.
    current: Option<usize>,
    /// Whether the user has chosen the kernel.
    is_fixed: bool,
    /// Whether input that may identify the kernel has been read.
    is_begun: bool,
    reader: log::Reader,
    is_within_long_line: bool,
    lines: u64,
    frames: u64,
    decoded: u64,
    said: Vec<String>,
    has_said_misfit: bool,
}

/// A kernel that may have written the log.
struct Kernel<'a> {
    release: &'a str,
    view: &'a Result<View<'a>>,
    asked: Option<Asked<'a>>,
    /// Whether the log is of another build of this release.
    is_other: bool,
}

/// The position in a chunk where an answer is inserted.
struct Placed {
    at: usize,
    line_end: usize,
    indent: Range<usize>,
    kernel: usize,
    answer: u32,
    line: u64,
}

impl<'a> Log<'a> {
    fn new(
        opened: &'a [(String, Result<View<'a>>)],
        further: &'a [Further<'a>],
        args: &'a args::Loaded,
        config: &'a Config,
    ) -> Result<Self> {
        let kernels = opened
            .iter()
            .map(|(release, view)| Kernel { release, view, asked: None, is_other: false })
            .collect::<Vec<_>>();
        let running = || kernels.iter().position(|k| Some(k.release) == config.running.as_deref());
        let only = (kernels.len() == 1).then_some(0);
        let current = only.or_else(running);
        let is_fixed = only.is_some() && (config.kernel.is_some() || !config.db.is_dir());
        let mut own = Self {
            kernels,
            further,
            args,
            config,
            current,
            is_fixed,
            is_begun: false,
            reader: log::Reader::default(),
            is_within_long_line: false,
            lines: 0,
            frames: 0,
            decoded: 0,
            said: vec![],
            has_said_misfit: false,
        };
        if let Some(current) = current {
            own.ask(current)?;
        }
        Ok(own)
    }

    /// Prepares the questions to a kernel.
    fn ask(&mut self, kernel: usize) -> Result<&mut Asked<'a>> {
        let kernel = &mut self.kernels[kernel];
        let asked = match kernel.asked.take() {
            Some(asked) => asked,
            None => {
                let view = kernel.view.as_ref().map_err(Clone::clone)?;
                let args::Loaded { base, kallsyms, live } = self.args;
                let is_given = base.is_some() || kallsyms.is_some() || live.is_some();
                let loaded = if is_given { Some(loaded(view, self.args)?) } else { None };
                Asked::new(Decoder::new(view, loaded, self.further), Cursor::new(view))
            }
        };
        Ok(kernel.asked.insert(asked))
    }

    /// Passes on the complete lines of a chunk, with additions. Returns their length.
    fn piece(&mut self, piece: &[u8], ended: bool, out: &mut dyn Write) -> Result<usize> {
        let mut end = if ended { piece.len() } else { memchr::memrchr(b'\n', piece).map_or(0, |at| at + 1) };
        if end == 0 && (piece.len() > LONGEST || self.is_within_long_line) {
            self.is_within_long_line = true;
            end = piece.len();
            self.pass(&piece[..end], out)?;
            return Ok(end);
        }
        let piece = &piece[..end];
        if !piece.is_empty() && !std::mem::replace(&mut self.is_begun, true) {
            self.look_ahead(piece)?;
        }
        let mut placed = vec![];
        let mut frames = vec![];
        let mut at = 0;
        while at < piece.len() {
            let line_end = memchr::memchr(b'\n', &piece[at..]).map_or(piece.len(), |length| at + length);
            let line = &piece[at..line_end];
            self.lines += 1;
            let is_long = std::mem::take(&mut self.is_within_long_line) || line.len() > LONGEST;
            if !is_long {
                self.line(line, at, &mut frames, &mut placed)?;
            }
            at = line_end + 1;
        }
        for kernel in 0..self.kernels.len() {
            let form = self.form(kernel);
            if let Some(asked) = &mut self.kernels[kernel].asked {
                asked.answer(form);
            }
        }
        self.write(piece, &placed, out).map_err(failed)?;
        self.kernels.iter_mut().filter_map(|k| k.asked.as_mut()).for_each(Asked::make_room);
        Ok(end)
    }

    fn pass(&self, text: &[u8], out: &mut dyn Write) -> Result<()> {
        if self.config.json { Ok(()) } else { out.write_all(text).map_err(failed) }
    }

    /// Looks for the kernel in later lines: a log identifies it after the first frames, or never.
    fn look_ahead(&mut self, piece: &[u8]) -> Result<()> {
        let header = piece.split(|b| *b == b'\n').filter(|l| l.len() <= LONGEST).find_map(|line| {
            match log::header(&line[log::start(line)..]) {
                Some(Header::Booted(release) | Header::Release(release, _)) => Some(release),
                _ => None,
            }
        });
        header.map_or(Ok(()), |release| self.choose(release))
    }

    fn line<'p>(
        &mut self,
        line: &'p [u8],
        at: usize,
        frames: &mut Vec<Frame<'p>>,
        placed: &mut Vec<Placed>,
    ) -> Result<()> {
        let start = log::start(line);
        if let Some(header) = log::header(&line[start..]) {
            self.apply_header(header)?;
        }
        frames.clear();
        self.reader.frames(line, frames);
        let content = start + line[start..].len() - line[start..].trim_ascii_start().len();
        for frame in frames.iter() {
            self.frames += 1;
            let Some(kernel) = self.current else { continue };
            let form = self.form(kernel);
            let asked = self.ask(kernel)?;
            let (answer, why) = asked.find(frame, form);
            let is_known = answer.is_some_and(|a| asked.answers[a as usize].is_known);
            self.decoded += u64::from(is_known);
            if let Some(why) = why {
                self.say_why(frame, &why);
            }
            let Some(answer) = answer else { continue };
            placed.push(Placed {
                at: at + frame.end,
                line_end: at + line.len(),
                indent: at..at + content,
                kernel,
                answer,
                line: self.lines,
            });
        }
        Ok(())
    }

    fn apply_header(&mut self, header: Header<'_>) -> Result<()> {
        match header {
            Header::Booted(release) => {
                self.choose(release)?;
                if let Some(current) = self.current {
                    self.ask(current)?.decoder.forget();
                }
            }
            Header::Release(release, build_id) => {
                self.choose(release)?;
                if let (Some(named), Some(build_id)) = (self.named(release), build_id) {
                    let view = self.ask(named)?.decoder.view(None);
                    let is_other = functions::kernel(view).is_some_and(|k| !has_build_id(view, k, build_id));
                    if is_other {
                        let id = String::from_utf8_lossy(build_id);
                        let what = "the log is of a vmlinux with build id";
                        self.say(format!("{what} {id}, which is not indexed: its frames stay as they are"));
                    }
                    self.kernels[named].is_other = is_other;
                    self.current = Some(named).filter(|_| !is_other);
                }
            }
            Header::Slide(slide) => {
                if let Some(current) = self.current {
                    self.ask(current)?.decoder.moved_by(slide);
                }
            }
        }
        Ok(())
    }

    /// The kernel of a release; the chosen one if the user has chosen.
    fn named(&self, release: &[u8]) -> Option<usize> {
        match self.is_fixed {
            true => Some(0),
            false => self.kernels.iter().position(|k| k.release.as_bytes() == release),
        }
    }

    /// Switches to this kernel.
    fn choose(&mut self, release: &[u8]) -> Result<()> {
        let named = self.named(release);
        let release = String::from_utf8_lossy(release);
        if self.is_fixed {
            if self.kernels[0].release != release && self.config.kernel.is_some() {
                let asked = self.kernels[0].release;
                self.say(format!("the log is of kernel {release}, not of {asked}"));
            }
            return Ok(());
        }
        self.current = named.filter(|named| !self.kernels[*named].is_other);
        match named {
            Some(named) => self.ask(named).map(|_| ()),
            None => {
                self.say(format!(
                    "the log is of kernel {release}, which is not indexed: its frames stay as they are"
                ));
                Ok(())
            }
        }
    }

    fn form(&self, kernel: usize) -> Form<'a> {
        if self.config.json { Form::Json(self.kernels[kernel].release) } else { Form::Text }
    }

    fn say_why(&mut self, frame: &Frame<'_>, why: &Absent) {
        if matches!(why, Absent::Size(_) | Absent::BuildId)
            && !std::mem::replace(&mut self.has_said_misfit, true)
        {
            let (text, why) = (String::from_utf8_lossy(frame.text), address::reason(why));
            self.say(format!("frames that do not fit stay as they are, such as {text}: {why}"));
        }
    }

    /// Reports something once.
    fn say(&mut self, text: String) {
        const MOST: usize = 16;
        if self.said.len() < MOST && !self.said.contains(&text) {
            note(self.config, &text);
            self.said.push(text);
        }
    }

    fn write(&self, piece: &[u8], placed: &[Placed], out: &mut dyn Write) -> std::io::Result<()> {
        let answer = |p: &Placed| {
            let asked = self.kernels[p.kernel].asked.as_ref();
            asked.and_then(|a| Some((a.answers.get(p.answer as usize)?, &a.text[..])))
        };
        if self.config.json {
            for p in placed {
                if let Some((answer, text)) = answer(p) {
                    for object in text[answer.behind.clone()].split_inclusive(|b| *b == b'\n') {
                        // The schema of it: `OfLog` in `cli/schema`.
                        write!(out, "{{\"log_line\":{},", p.line)?;
                        out.write_all(&object[1..])?;
                    }
                }
            }
            return Ok(());
        }
        let mut at = 0;
        for line in placed.chunk_by(|a, b| a.line == b.line) {
            for p in line {
                out.write_all(&piece[at..p.at])?;
                at = p.at;
                if let Some((answer, text)) = answer(p) {
                    out.write_all(&text[answer.behind.clone()])?;
                }
            }
            out.write_all(&piece[at..line[0].line_end])?;
            at = line[0].line_end;
            for p in line {
                let Some((answer, text)) = answer(p) else { continue };
                let below = &text[answer.lines.clone()];
                for below in below.split(|b| *b == b'\n').skip(1) {
                    out.write_all(b"\n")?;
                    out.write_all(&piece[p.indent.clone()])?;
                    out.write_all(below)?;
                }
            }
        }
        out.write_all(&piece[at..])
    }

    fn end(self) -> Result<Outcome> {
        if self.frames > 0 && self.current.is_none() && self.said.is_empty() {
            // The error lists the kernels.
            return self.config.indexes().map(|_| Outcome::Nothing);
        }
        Ok(if self.decoded == 0 && self.frames > 0 { Outcome::Nothing } else { Outcome::Done })
    }
}
