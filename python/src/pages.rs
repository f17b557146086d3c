//! Placements of an answer: all at once, or a page at a time.
use crate::failure::Answer;
use crate::places::Found;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Some placements.
#[derive(Debug, Default)]
pub struct Page {
    /// In their order.
    pub found: Vec<Found>,
    /// The points of aliases that lead nowhere.
    pub nowhere: Vec<Found>,
}

/// What has pages.
pub trait Source: Send + Sync {
    /// How many pages there are.
    fn pages(&self) -> usize;
    /// Describes the placements of a page.
    ///
    /// # Errors
    /// Those of the library.
    fn page(&self, at: usize) -> Answer<Page>;
    /// How many placements each page has. Cost: finds each, and describes none.
    ///
    /// # Errors
    /// Those of the library.
    fn lengths(&self) -> Answer<Vec<usize>>;
}

/// The placements of an answer.
pub enum Pages {
    /// All of them.
    One(Arc<Page>),
    /// A page at a time.
    Many(Many),
}

/// Placements that are described when they are read.
pub struct Many {
    source: Box<dyn Source>,
    /// The number of the first placement of each page, and that of all.
    starts: OnceLock<Vec<usize>>,
    /// The page that was read last.
    last: Mutex<Option<(usize, Arc<Page>)>>,
}

impl Pages {
    /// Pages of which none is read yet.
    pub fn of(source: impl Source + 'static) -> Self {
        Self::Many(Many { source: Box::new(source), starts: OnceLock::new(), last: Mutex::default() })
    }

    /// The number of placements. Cost: none, or once, what it takes to find each.
    ///
    /// # Errors
    /// Those of the library.
    pub fn length(&self) -> Answer<usize> {
        match self {
            Self::One(page) => Ok(page.found.len()),
            Self::Many(many) => Ok(many.starts()?.last().copied().unwrap_or(0)),
        }
    }

    /// Whether there is any. Cost: describes pages up to one that has a placement.
    ///
    /// # Errors
    /// Those of the library.
    pub fn is_any(&self) -> Answer<bool> {
        for at in 0..self.pages() {
            if !self.page(at)?.found.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// How many pages there are.
    pub fn pages(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(many) => many.source.pages(),
        }
    }

    /// A page. Cost: describes its placements, unless it is the one that was read last.
    ///
    /// # Errors
    /// Those of the library.
    pub fn page(&self, at: usize) -> Answer<Arc<Page>> {
        match self {
            Self::One(page) => Ok(Arc::clone(page)),
            Self::Many(many) => many.page(at),
        }
    }

    /// The page of a placement, and its number there.
    ///
    /// # Errors
    /// Those of the library.
    pub fn at(&self, position: usize) -> Answer<(Arc<Page>, usize)> {
        match self {
            Self::One(page) => Ok((Arc::clone(page), position)),
            Self::Many(many) => {
                let starts = many.starts()?;
                let page = starts.partition_point(|start| *start <= position).saturating_sub(1);
                Ok((many.page(page)?, position - starts[page]))
            }
        }
    }
}

impl Many {
    fn page(&self, at: usize) -> Answer<Arc<Page>> {
        let last = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, page)) = &*last()
            && *known == at
        {
            return Ok(Arc::clone(page));
        }
        let page = Arc::new(self.source.page(at)?);
        *last() = Some((at, Arc::clone(&page)));
        Ok(page)
    }

    fn starts(&self) -> Answer<&[usize]> {
        if let Some(starts) = self.starts.get() {
            return Ok(starts);
        }
        let lengths = self.source.lengths()?;
        let mut all = 0;
        let ends = lengths.iter().map(|length| {
            all += length;
            all
        });
        let starts = std::iter::once(0).chain(ends).collect();
        Ok(self.starts.get_or_init(|| starts))
    }
}
