//! `probeidx addr`
use super::args::{self, Addr};
use super::config::Config;
use super::exit::Outcome;
use super::feed;
use super::output::failed;
use crate::error::{Error, ErrorKind, Result};
use crate::query::Index;
use crate::query::address;
use crate::query::loaded::Loaded;
use crate::query::locate::{Absent, locate};
use crate::query::reverse::{Cursor, Ground};
use crate::render::address as render;
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use std::io::Write;
use std::ops::Range;

/// Tells what stands at addresses.
pub fn run(args: &Addr, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let wrong = |a: &&String| *a != "-" && address::parse(a.as_bytes()).is_none();
    if let Some(wrong) = args.addresses.iter().find(wrong) {
        let hint = "write 0xADDRESS, SYMBOL+OFFSET or MODULE:SYMBOL+OFFSET";
        return Err(Error::new(ErrorKind::Usage, format!("'{wrong}' is no address")).hint(hint));
    }
    let indexes: Vec<Index> =
        config.indexes()?.iter().map(|path| Index::open(path)).collect::<Result<_>>()?;
    let mut asked = vec![];
    for index in &indexes {
        asked.push(Asked::new(
            index.view()?,
            loaded(&index.view()?, &args.loaded)?,
            config,
            indexes.len() > 1,
        ));
    }
    let mut found = false;
    let mut answer = |lines: &mut dyn Iterator<Item = &[u8]>, out: &mut dyn Write| {
        let lines: Vec<&[u8]> = lines.map(<[u8]>::trim_ascii).filter(|l| !l.is_empty()).collect();
        for one in &mut asked {
            found |= one.answer(&lines, out).map_err(failed)?;
        }
        Ok(())
    };
    let stdin = std::iter::once("-".to_owned());
    let arguments: Vec<String> = match args.addresses.is_empty() {
        true => stdin.collect(),
        false => args.addresses.clone(),
    };
    for group in arguments.chunk_by(|a, b| (a == "-") == (b == "-")) {
        if group[0] != "-" {
            answer(&mut group.iter().map(|a| a.as_bytes()), out)?;
            continue;
        }
        feed::pieces(std::io::stdin(), |piece, ended| {
            let end = if ended { piece.len() } else { memchr::memrchr(b'\n', piece).map_or(0, |at| at + 1) };
            // What is longer than any address is one line that is none.
            let end = if end == 0 && piece.len() > LONGEST { piece.len() } else { end };
            answer(&mut piece[..end].split(|b| *b == b'\n'), out)?;
            out.flush().map_err(failed)?;
            Ok(end)
        })?;
    }
    Ok(if found { Outcome::Done } else { Outcome::Nothing })
}

const LONGEST: usize = 64 << 10;

/// Where things lie at run time, as the options say; else where they were linked to.
pub fn loaded(view: &View<'_>, args: &args::Loaded) -> Result<Loaded> {
    match (args.base, args.kallsyms.as_deref()) {
        (Some(base), _) => Loaded::at_base(view, base),
        (None, Some(path)) => {
            let text = std::fs::read(path).map_err(|e| Error::io(path, "read the addresses", e))?;
            Loaded::of_kallsyms(view, &text).map_err(|e| e.at(path))
        }
        (None, None) => Ok(Loaded::moved_by(view, 0)),
    }
}

/// Questions to one index.
struct Asked<'a> {
    view: View<'a>,
    kernel: String,
    loaded: Loaded,
    json: bool,
    with_kernel: bool,
}

/// A place to look up, for the line that asked for it.
#[derive(Clone, Copy)]
struct Question {
    object: ObjectId,
    pc: u32,
    line: u32,
    of: (u32, u32),
}

impl<'a> Asked<'a> {
    fn new(view: View<'a>, loaded: Loaded, config: &Config, with_kernel: bool) -> Self {
        let kernel = String::from_utf8_lossy(view.release()).into_owned();
        Self { view, kernel, loaded, json: config.json, with_kernel }
    }

    /// Looks addresses up in the order in which they lie, and answers in that in which they were asked. Gives whether code
    /// was found at one.
    fn answer(&self, lines: &[&[u8]], out: &mut dyn Write) -> std::io::Result<bool> {
        let mut text = vec![];
        let mut answers: Vec<Range<usize>> = vec![0..0; lines.len()];
        let mut several: Vec<(u32, u32, Range<usize>)> = vec![];
        let mut questions = vec![];
        for (line, at) in lines.iter().zip(0..) {
            match self.spots(line) {
                Ok(spots) => {
                    let count = spots.len() as u32;
                    questions.extend(spots.iter().zip(1..).map(|((object, pc), nth)| Question {
                        object: *object,
                        pc: *pc,
                        line: at,
                        of: (nth, count),
                    }));
                }
                Err(why) => {
                    let start = text.len();
                    match self.json {
                        true => render::absent_json(&self.kernel, line, &why, &mut text),
                        false => render::absent(line, &why, &mut text),
                    }
                    answers[at as usize] = start..text.len();
                }
            }
        }
        questions.sort_unstable_by_key(|q| (q.object, q.pc));
        let mut cursor = Cursor::new(self.view);
        let mut found = false;
        for q in questions {
            let start = text.len();
            found |= self.render(&mut cursor, &q, lines[q.line as usize], &mut text);
            match q.of {
                (_, 1) => answers[q.line as usize] = start..text.len(),
                (nth, _) => several.push((q.line, nth, start..text.len())),
            }
        }
        several.sort_unstable_by_key(|(line, nth, _)| (*line, *nth));
        let mut several = several.into_iter().peekable();
        for (answer, line) in answers.into_iter().zip(0..) {
            out.write_all(&text[answer])?;
            while let Some((.., answer)) = several.next_if(|(of, ..)| *of == line) {
                out.write_all(&text[answer])?;
            }
        }
        Ok(found)
    }

    fn spots(&self, line: &[u8]) -> Result<Vec<(ObjectId, u32)>, Absent> {
        let address = address::parse(line).ok_or(Absent::Unreadable)?;
        locate(&self.view, &address, &self.loaded)
    }

    fn render(&self, cursor: &mut Cursor<'a>, q: &Question, asked: &[u8], text: &mut Vec<u8>) -> bool {
        let at = cursor.at(q.object, q.pc);
        let of = (q.of.0 as usize, q.of.1 as usize);
        if self.json {
            let context = render::Context { kernel: &self.kernel, asked, of, exact: true };
            render::json(&self.view, context, at, text);
        } else {
            if self.with_kernel {
                text.extend_from_slice(self.kernel.as_bytes());
                text.extend_from_slice(b"  ");
            }
            render::text(&self.view, asked, of, at, text);
        }
        at.ground == Ground::Code
    }
}
