//! Looks up frames, each once, many at a time.
use crate::query::spec::address::Address;
use crate::query::symbolize::frames::{Cursor, Ground, Where};
use crate::query::symbolize::locate::Absent;
use crate::query::symbolize::log::{Frame, Role};
use crate::query::symbolize::log_decoder::{Decoder, Located};
use crate::render::{address, frame};
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The index of a kernel, and the answers so far.
pub(super) struct Asked<'a> {
    pub(super) decoder: Decoder<'a>,
    cursor: Cursor<'a>,
    /// The answer to each frame; `None` if there is nothing to add.
    known: FxHashMap<Box<[u8]>, Option<u32>>,
    generation: u32,
    /// The key of the frame being looked up.
    key: Vec<u8>,
    pub(super) answers: Vec<Answer>,
    pub(super) text: Vec<u8>,
    pending: Vec<Pending>,
}

/// The text added after a frame and below its line, as ranges of the buffer.
#[derive(Clone, Default)]
pub(super) struct Answer {
    /// Whether the place of the frame is known.
    pub(super) is_known: bool,
    pub(super) behind: Range<usize>,
    pub(super) lines: Range<usize>,
}

struct Pending {
    object: ObjectId,
    pc: u32,
    answer: u32,
    role: Role,
    exact: bool,
    asked: Box<[u8]>,
}

impl<'a> Asked<'a> {
    pub(super) fn new(decoder: Decoder<'a>, cursor: Cursor<'a>) -> Self {
        Self {
            decoder,
            cursor,
            known: FxHashMap::default(),
            generation: 0,
            key: vec![],
            answers: vec![],
            text: vec![],
            pending: vec![],
        }
    }

    /// The answer to a frame, whose text may be written later; and why there is none, unless already reported.
    pub(super) fn find(&mut self, frame: &Frame<'_>, form: Form<'_>) -> (Option<u32>, Option<Absent>) {
        self.key.clear();
        self.key.push(frame.role as u8);
        self.key.extend_from_slice(&frame.number.unwrap_or(0).to_le_bytes());
        self.key.extend_from_slice(frame.text);
        if let Some(known) = self.known.get(&self.key[..]) {
            return (*known, None);
        }
        let located = self.decoder.locate(frame);
        if self.decoder.generation != self.generation {
            self.generation = self.decoder.generation;
            self.known.clear();
        }
        // The meaning of a number may become known later.
        let is_final = located.is_ok() || matches!(frame.address, Address::Symbolic(_));
        let (answer, why) = match located {
            Ok(located) => (Some(self.place(frame, &located, form)), None),
            Err(why) => (self.absent(frame, &why, form), Some(why)),
        };
        if is_final {
            self.known.insert(self.key.as_slice().into(), answer);
        }
        (answer, why)
    }

    fn place(&mut self, frame: &Frame<'_>, located: &Located, form: Form<'_>) -> u32 {
        let answer = self.answers.len() as u32;
        self.answers.push(Answer { is_known: true, ..Answer::default() });
        let (role, exact) = (frame.role, located.exact);
        match (located.further, &located.spots[..]) {
            (None, &[(object, pc)]) => {
                self.pending.push(Pending { object, pc, answer, role, exact, asked: frame.text.into() });
            }
            (further, spots) => {
                let view = self.decoder.view(further);
                let mut cursor = Cursor::new(view);
                let places: Vec<Where<'_>> = spots.iter().map(|(o, pc)| cursor.at(*o, *pc).clone()).collect();
                let put = form.put(view, role, exact, frame.text, &places, &mut self.text);
                self.answers[answer as usize] = put;
            }
        }
        answer
    }

    fn absent(&mut self, frame: &Frame<'_>, why: &Absent, form: Form<'_>) -> Option<u32> {
        let Form::Json(kernel) = form else { return None };
        let start = self.text.len();
        address::absent_json(kernel, frame.text, why, &mut self.text);
        self.answers.push(Answer { behind: start..self.text.len(), ..Answer::default() });
        Some(self.answers.len() as u32 - 1)
    }

    /// Looks up the pending frames in the order of their addresses.
    pub(super) fn answer(&mut self, form: Form<'_>) {
        let view = self.decoder.view(None);
        self.pending.sort_unstable_by_key(|p| (p.object, p.pc));
        for p in self.pending.drain(..) {
            let mut place = self.cursor.at(p.object, p.pc);
            // The kernel prints a function pointer like a return address at the end of the padding before the function
            // (`%pB`).
            if p.role == Role::Unreliable && !p.exact && place.ground != Ground::Code {
                place = self.cursor.at(p.object, p.pc.saturating_add(1));
                if place.symbol.is_none_or(|(held, _)| held.offset > 0) {
                    place = self.cursor.at(p.object, p.pc);
                }
            }
            let places = std::slice::from_ref(place);
            self.answers[p.answer as usize] =
                form.put(view, p.role, p.exact, &p.asked, places, &mut self.text);
        }
    }

    /// Drops previous answers if they take much memory.
    pub(super) fn make_room(&mut self) {
        const MOST: usize = 16 << 20;
        if self.text.len() > MOST || self.known.len() > MOST / 128 {
            self.known.clear();
            self.answers.clear();
            self.text.clear();
        }
    }
}

/// The form of the added text.
#[derive(Clone, Copy)]
pub(super) enum Form<'a> {
    Text,
    /// JSON, with the release of the kernel.
    Json(&'a str),
}

impl Form<'_> {
    fn put(
        self,
        view: &View<'_>,
        role: Role,
        exact: bool,
        asked: &[u8],
        places: &[Where<'_>],
        text: &mut Vec<u8>,
    ) -> Answer {
        let start = text.len();
        match self {
            Form::Text => frame::behind(role, places, text),
            Form::Json(kernel) => {
                for (place, nth) in places.iter().zip(1..) {
                    let context = address::Context { kernel, asked, of: (nth, places.len()), exact };
                    address::json(view, context, place, text);
                }
            }
        }
        let behind = start..text.len();
        if let (Form::Text, [place]) = (self, places)
            && role != Role::Function
        {
            frame::lines(place, text);
        }
        Answer { is_known: true, lines: behind.end..text.len(), behind }
    }
}
