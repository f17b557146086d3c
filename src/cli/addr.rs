//! `probeidx addr`
use super::args::{self, Addr};
use super::config::Config;
use super::exit::Outcome;
use super::output::failed;
use super::{capture, chunked_stdin};
use super::{note, processes};
use crate::error::{Error, ErrorKind, Result};
use crate::query::Index;
use crate::query::runtime::address_map::Loaded;
use crate::query::runtime::overlay::Overlay;
use crate::query::spec::address::{self, Address, Scope, Symbolic};
use crate::query::symbolize::frames::{Cursor, Ground};
use crate::query::symbolize::locate::{Absent, Spot, locate};
use crate::query::symbolize::user_objects::{self, Further};
use crate::render::address as render;
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use std::cell::LazyCell;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

/// Prints what is at each address.
pub fn run(args: &Addr, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let wrong = |a: &&String| *a != "-" && address::parse(a.as_bytes()).is_none();
    if let Some(wrong) = args.addresses.iter().find(wrong) {
        let hint = "write 0xADDRESS, SYMBOL+OFFSET or MODULE:SYMBOL+OFFSET";
        return Err(Error::new(ErrorKind::Usage, format!("'{wrong}' is no address")).hint(hint));
    }
    let files = match config.indexes() {
        // Addresses in programs and libraries need no kernel.
        Err(error)
            if error.kind() == ErrorKind::NoIndex && config.kernel.is_none() && processes::is_any(config) =>
        {
            vec![]
        }
        files => files?,
    };
    let indexes: Vec<Arc<Index>> = files.iter().map(|path| config.open(path)).collect::<Result<_>>()?;
    let views: Vec<View<'_>> = indexes.iter().map(|index| index.view()).collect::<Result<_>>()?;
    let users = LazyCell::new(|| {
        processes::all(config).unwrap_or_else(|error| {
            note(config, &error.to_string());
            vec![]
        })
    });
    let mut asked = vec![];
    for view in &views {
        let loaded = loaded(view, &args.loaded)?;
        asked.push(Asked::new(Some(view), loaded, config, views.len() > 1));
    }
    if asked.is_empty() {
        asked.push(Asked::new(None, Loaded::default(), config, false));
    }
    let (mut found, mut is_any_asked) = (false, false);
    let mut answer = |lines: &mut dyn Iterator<Item = &[u8]>, out: &mut dyn Write| {
        let lines: Vec<&[u8]> = lines.map(<[u8]>::trim_ascii).filter(|l| !l.is_empty()).collect();
        let further = LazyCell::new(|| processes::further(&users));
        is_any_asked |= !lines.is_empty();
        for one in &asked {
            found |= one.answer(&lines, &further, out).map_err(failed)?;
        }
        Ok(())
    };
    let stdin = std::iter::once("-".to_owned());
    let arguments: Vec<String> = match args.addresses.is_empty() {
        true => stdin.collect(),
        false => args.addresses.clone(),
    };
    if args.addresses.is_empty() && config.session.is_typed() {
        note(config, "addresses are read from the terminal, one a line");
    }
    for group in arguments.chunk_by(|a, b| (a == "-") == (b == "-")) {
        if group[0] != "-" {
            answer(&mut group.iter().map(|a| a.as_bytes()), out)?;
            continue;
        }
        chunked_stdin::pieces(config.session.input(), |piece, ended| {
            let end = if ended { piece.len() } else { memchr::memrchr(b'\n', piece).map_or(0, |at| at + 1) };
            // Text longer than any address counts as one invalid line.
            let end = if end == 0 && piece.len() > LONGEST { piece.len() } else { end };
            answer(&mut piece[..end].split(|b| *b == b'\n'), out)?;
            out.flush().map_err(failed)?;
            Ok(end)
        })?;
    }
    if !is_any_asked {
        note(config, "no addresses: give them as arguments or on stdin, one a line");
    }
    Ok(if found { Outcome::Done } else { Outcome::Nothing })
}

const LONGEST: usize = 64 << 10;

/// The run-time addresses that the options give, else the link addresses.
pub fn loaded(view: &View<'_>, args: &args::Loaded) -> Result<Loaded> {
    if let Some(path) = &args.live {
        let live = capture::read(path)?;
        return Ok(Overlay::new(view, &live).map_err(|e| e.at(path))?.into_loaded());
    }
    match (args.base, args.kallsyms.as_deref()) {
        (Some(base), _) => Loaded::at_base(view, base),
        (None, Some(path)) => {
            let text = std::fs::read(path).map_err(|e| Error::io(path, "read the addresses", e))?;
            Loaded::of_kallsyms(view, &text).map_err(|e| e.at(path))
        }
        (None, None) => Ok(Loaded::moved_by(view, 0)),
    }
}

/// Programs and libraries, opened when an address in one is first seen.
type Programs<'a, F> = LazyCell<Vec<Further<'a>>, F>;

/// The look-ups in one index.
struct Asked<'a> {
    /// The tables of the kernel; `None` if only programs and libraries are indexed.
    view: Option<&'a View<'a>>,
    kernel: String,
    loaded: Loaded,
    json: bool,
    with_kernel: bool,
}

/// The number of look-ups that take as long as starting a thread.
const WORTH_A_THREAD: usize = 4096;

/// The answers of one thread, each with its line and, for a line with several places, its number.
#[derive(Default)]
struct Part {
    text: Vec<u8>,
    answers: Vec<(u32, u32, Range<usize>)>,
    /// Whether any address is in code.
    found: bool,
}

impl Part {
    fn put(&mut self, line: u32, nth: u32, render: impl FnOnce(&mut Vec<u8>)) {
        let start = self.text.len();
        render(&mut self.text);
        self.answers.push((line, nth, start..self.text.len()));
    }
}

/// A place to look up, and the line that it belongs to.
#[derive(Clone, Copy)]
struct Question {
    /// The number of the program or library that contains it, from 1; 0 for the kernel.
    index: u32,
    object: ObjectId,
    pc: u32,
    line: u32,
    of: (u32, u32),
}

impl<'a> Asked<'a> {
    fn new(view: Option<&'a View<'a>>, loaded: Loaded, config: &Config, with_kernel: bool) -> Self {
        let kernel = view.map_or(String::new(), |v| String::from_utf8_lossy(v.release()).into_owned());
        Self { view, kernel, loaded, json: config.json, with_kernel }
    }

    /// Looks up addresses in sorted order, and prints the answers in the order of the lines. Returns whether any
    /// address is in code.
    fn answer<'f>(
        &self,
        lines: &[&[u8]],
        further: &Programs<'f, impl FnOnce() -> Vec<Further<'f>>>,
        out: &mut dyn Write,
    ) -> std::io::Result<bool> {
        let mut questions = vec![];
        let mut absent = Part::default();
        for (line, at) in lines.iter().zip(0..) {
            match self.spots(line, further) {
                Ok((index, spots)) => {
                    let count = spots.len() as u32;
                    questions.extend(spots.iter().zip(1..).map(|((object, pc), nth)| Question {
                        index,
                        object: *object,
                        pc: *pc,
                        line: at,
                        of: (nth, count),
                    }));
                }
                Err(why) => absent.put(at, 1, |text| self.render_absent(line, &why, text)),
            }
        }
        questions.sort_unstable_by_key(|q| (q.index, q.object, q.pc));
        let programs: &[Further<'_>] = if questions.iter().any(|q| q.index > 0) { further } else { &[] };
        // Asking for the number of processors costs as much as a few look-ups.
        let threads = match questions.len() {
            0..=WORTH_A_THREAD => 1,
            _ => std::thread::available_parallelism().map_or(1, usize::from),
        };
        let length = questions.len().div_ceil(threads).max(WORTH_A_THREAD);
        let mut parts = vec![absent];
        std::thread::scope(|scope| {
            let start = |own| scope.spawn(move || self.part(lines, programs, own));
            let others: Vec<_> = questions.chunks(length).skip(1).map(start).collect();
            parts.push(self.part(lines, programs, &questions[..length.min(questions.len())]));
            // A thread that panicked has reported it.
            parts.extend(others.into_iter().filter_map(|other| other.join().ok()));
        });
        let mut answers: Vec<(usize, Range<usize>)> = vec![(0, 0..0); lines.len()];
        let mut further = vec![];
        for (part, at) in parts.iter().zip(0..) {
            for (line, nth, answer) in &part.answers {
                match nth {
                    1 => answers[*line as usize] = (at, answer.clone()),
                    _ => further.push((*line, *nth, at, answer.clone())),
                }
            }
        }
        further.sort_unstable_by_key(|(line, nth, ..)| (*line, *nth));
        let mut further = further.into_iter().peekable();
        for ((part, answer), line) in answers.into_iter().zip(0..) {
            out.write_all(&parts[part].text[answer])?;
            while let Some((.., part, answer)) = further.next_if(|(of, ..)| *of == line) {
                out.write_all(&parts[part].text[answer])?;
            }
        }
        Ok(parts.iter().any(|p| p.found))
    }

    /// Looks up sorted places.
    fn part(&self, lines: &[&[u8]], programs: &[Further<'_>], questions: &[Question]) -> Part {
        let mut part = Part::default();
        for own in questions.chunk_by(|a, b| a.index == b.index) {
            let program = own[0].index.checked_sub(1).map(|at| &programs[at as usize].view);
            let Some(view) = program.or(self.view) else { continue };
            let mut cursor = Cursor::new(view);
            for q in own {
                let asked = lines[q.line as usize];
                let mut found = false;
                part.put(q.line, q.of.0, |text| found = self.render(view, &mut cursor, q, asked, text));
                part.found |= found;
            }
        }
        part
    }

    /// The places that a line means, and the number of the program or library that contains them; 0 for the kernel.
    fn spots<'f>(
        &self,
        line: &[u8],
        further: &Programs<'f, impl FnOnce() -> Vec<Further<'f>>>,
    ) -> Result<(u32, Vec<Spot>), Absent> {
        let address = address::parse(line).ok_or(Absent::Unreadable)?;
        let located = self.view.map(|view| locate(view, &address, &self.loaded));
        match (located, address) {
            (
                None | Some(Err(Absent::Object)),
                Address::Symbolic(symbolic @ Symbolic { scope: Scope::Object(name), .. }),
            ) => {
                let at = user_objects::named(further, name).ok_or(Absent::Object)?;
                Ok((at as u32 + 1, further[at].locate(&symbolic)?))
            }
            (Some(spots), _) => Ok((0, spots?)),
            (None, _) => Err(Absent::Kernel),
        }
    }

    fn render(
        &self,
        view: &View<'_>,
        cursor: &mut Cursor<'_>,
        q: &Question,
        asked: &[u8],
        text: &mut Vec<u8>,
    ) -> bool {
        let at = cursor.at(q.object, q.pc);
        let of = (q.of.0 as usize, q.of.1 as usize);
        if self.json {
            let context = render::Context { kernel: &self.kernel, asked, of, exact: true };
            render::json(view, context, at, text);
        } else {
            self.head(text);
            render::text(view, asked, of, at, text);
        }
        at.ground == Ground::Code
    }

    fn render_absent(&self, asked: &[u8], why: &Absent, text: &mut Vec<u8>) {
        if self.json {
            return render::absent_json(&self.kernel, asked, why, text);
        }
        self.head(text);
        render::absent(asked, why, text);
    }

    /// With several kernels, starts the answer with the kernel's name.
    fn head(&self, text: &mut Vec<u8>) {
        if self.with_kernel {
            text.extend_from_slice(self.kernel.as_bytes());
            text.extend_from_slice(b"  ");
        }
    }
}
