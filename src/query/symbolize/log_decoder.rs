//! Resolves the frames of a log to places, with the kernel's slide and the choice among symbols of one name taken from
//! the log.
use super::locate::{self, Absent, Spot};
use super::log::{Frame, Role};
use super::user_objects::{self, Further};
use crate::query::index::functions::{self, kernel};
use crate::query::index::symbols;
use crate::query::runtime::address_map::{self, Loaded};
use crate::query::spec::address::{Address, Scope, Symbolic};
use probeidx_format::View;
use probeidx_format::record::SymbolRecord;

/// The places of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The position of the user object that it is in; `None` for the kernel and its modules.
    pub further: Option<usize>,
    /// The places that it can be; for a return address, that of the last byte of the call.
    pub spots: Vec<Spot>,
    /// Whether the places are those of the address itself.
    pub exact: bool,
}

/// Resolves the frames of a log.
pub struct Decoder<'a> {
    view: &'a View<'a>,
    further: &'a [Further<'a>],
    loaded: Loaded,
    /// Where the slide comes from.
    base: Base,
    /// Increased whenever the slide changes.
    pub generation: u32,
}

/// Where the kernel's slide comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    /// The slide is unknown.
    Unknown,
    /// The log contained this slide.
    FromLog(u64),
    /// The caller gave the addresses.
    Given,
}

impl<'a> Decoder<'a> {
    /// A decoder for the log of one kernel, whose address map may be given.
    pub fn new(view: &'a View<'a>, loaded: Option<Loaded>, further: &'a [Further<'a>]) -> Self {
        let base = if loaded.is_some() { Base::Given } else { Base::Unknown };
        Self { view, further, loaded: loaded.unwrap_or_default(), base, generation: 0 }
    }

    /// The index that a frame was resolved in.
    pub fn view(&self, further: Option<usize>) -> &'a View<'a> {
        further.and_then(|at| self.further.get(at)).map_or(self.view, |f| &f.view)
    }

    /// Forgets the slide: the kernel has rebooted.
    pub fn forget(&mut self) {
        if self.base != Base::Given {
            (self.base, self.loaded) = (Base::Unknown, Loaded::default());
            self.generation += 1;
        }
    }

    /// Sets the slide found in the log.
    pub fn moved_by(&mut self, slide: u64) {
        if self.base != Base::Given && self.base != Base::FromLog(slide) {
            (self.base, self.loaded) = (Base::FromLog(slide), Loaded::moved_by(self.view, slide));
            self.generation += 1;
        }
    }

    /// The slide, if it was found in the log.
    pub fn slide(&self) -> Option<u64> {
        match self.base {
            Base::FromLog(slide) => Some(slide),
            Base::Unknown | Base::Given => None,
        }
    }

    /// Resolves a frame. Numbers need the slide; frames with both a number and a symbol reveal it.
    pub fn locate(&mut self, frame: &Frame<'_>) -> Result<Located, Absent> {
        match &frame.address {
            Address::Number(number) => self.by_number(frame, *number),
            Address::Symbolic(symbolic) => self.by_symbol(frame, symbolic),
        }
    }

    fn by_number(&mut self, frame: &Frame<'_>, number: u64) -> Result<Located, Absent> {
        let view = self.view;
        if let (Base::Unknown | Base::FromLog(_), Some(name)) = (self.base, frame.symbol)
            && let Some(slide) = self.only_one(name).and_then(|symbol| {
                let size = symbols::reach(view, kernel(view)?, symbol).size;
                address_map::slide_within(view, number, symbol, size)
            })
        {
            self.moved_by(slide);
        }
        let (object, pc) = self.loaded.find(number).ok_or(Absent::Number)?;
        let symbol = |pc| symbols::holding(view, object, pc).map(|held| view.string(held.record.name));
        if frame.symbol.is_some_and(|name| symbol(pc) != Some(name)) {
            return Err(Absent::Symbol);
        }
        // A return address at the start of a function does not follow a call in that function.
        let is_entry = symbols::holding(view, object, pc).is_some_and(|held| held.offset == 0);
        let exact = frame.role == Role::Exact || is_entry;
        Ok(Located {
            further: None,
            spots: vec![(object, if exact { pc } else { pc.saturating_sub(1) })],
            exact,
        })
    }

    fn by_symbol(&mut self, frame: &Frame<'_>, symbolic: &Symbolic<'_>) -> Result<Located, Absent> {
        let further = match symbolic.scope {
            Scope::Object(name) if locate::module(self.view, name).is_none() => {
                Some(user_objects::named(self.further, name).ok_or(Absent::Object)?)
            }
            _ => None,
        };
        let mut spots = match further {
            Some(at) => self.further[at].locate(symbolic)?,
            None => locate::locate(self.view, &frame.address, &self.loaded)?,
        };
        if let (None, Some(number)) = (further, frame.number) {
            match spots[..] {
                [(object, pc)] if Some(object) == kernel(self.view) => {
                    if let Some(slide) = address_map::slide(self.view, number, pc) {
                        self.moved_by(slide);
                    }
                }
                [_] => {}
                _ => {
                    if let Some(spot) = self.loaded.find(number).filter(|spot| spots.contains(spot)) {
                        spots = vec![spot];
                    }
                }
            }
        }
        let is_call = matches!(frame.role, Role::Return | Role::Unreliable) && symbolic.offset > 0;
        if is_call {
            spots.iter_mut().for_each(|(_, pc)| *pc = pc.saturating_sub(1));
        }
        Ok(Located { further, spots, exact: !is_call })
    }

    /// The symbol of vmlinux with this name, if it is unique.
    fn only_one(&self, name: &[u8]) -> Option<SymbolRecord> {
        let view = self.view;
        let mut own = functions::symbols_named(view, kernel(view)?, view.name(name)?);
        let only = own.next().and_then(|s| functions::symbol(view, s))?;
        own.next().is_none().then_some(only)
    }
}
