//! The data of a package as one stream: other threads unpack it, some pieces ahead of who reads it.
use super::xz::{self, Block};
use super::{BufRead, Error, ErrorKind, Result, Wanted, failed, most};
use crate::load::decompress::{Compression, open_stream};
use std::collections::VecDeque;
use std::io::{self, BufReader, Read};
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, Builder, Scope};

/// The archive in a package, as it is there.
pub(super) struct Payload<'d> {
    pub(super) compression: Option<Compression>,
    pub(super) data: &'d [u8],
}

/// The length of a piece where the format has no independent blocks.
const PIECE: usize = 1 << 20;
/// Pieces of that length that are unpacked ahead.
const AHEAD: usize = 8;

type Piece = io::Result<Vec<u8>>;

impl Payload<'_> {
    /// Unpacks from the end until `start` finds a place in a block, given with its offset in the stream: that is where the rest begins that
    /// is returned. `None` if the format has no independent blocks, or the place is nowhere. `unpacked` as for [`read`](Self::read).
    pub(super) fn rest(
        &self,
        start: impl Fn(&[u8], u64) -> Option<usize>,
        unpacked: &(dyn Fn(&[u8]) + Sync),
    ) -> Result<Option<Rest>> {
        let blocks = if self.compression == Some(Compression::Xz) { xz::blocks(self.data) } else { None };
        let Some(blocks) = blocks else { return Ok(None) };
        let mut offset: u64 = blocks.iter().map(|block| block.size as u64).sum();
        if offset > most(self.data.len() as u64) {
            return Ok(None);
        }
        thread::scope(|scope| {
            let lanes = lanes(scope, &|| blocks.iter().rev(), blocks.len(), unpacked)?;
            let mut rest = Rest { pieces: VecDeque::new(), at: 0, offset };
            for turn in 0..blocks.len() {
                let Ok(piece) = lanes[turn % lanes.len()].pieces.recv() else { break };
                let piece = piece.map_err(failed)?;
                offset -= piece.len() as u64;
                let found = start(&piece, offset);
                rest.pieces.push_front(piece);
                if let Some(at) = found {
                    (rest.at, rest.offset) = (at, offset + at as u64);
                    return Ok(Some(rest));
                }
            }
            Ok(None)
        })
    }

    /// Passes the unpacked stream to `read`, which reads it up to `end` if that is given. Blocks of xz are unpacked side by side,
    /// anything else by one thread; if only the start is wanted, this thread unpacks it. `unpacked` is called with a block that
    /// is read no more.
    pub(super) fn read<T>(
        &self,
        wanted: Wanted<'_>,
        end: Option<u64>,
        unpacked: &(dyn Fn(&[u8]) + Sync),
        read: impl FnOnce(&mut dyn BufRead) -> Result<T>,
    ) -> Result<T> {
        let Some(compression) = self.compression else { return read(&mut { self.data }) };
        if let Wanted::Start = wanted {
            return read(&mut BufReader::new(open_stream(compression, self.data)));
        }
        let mut blocks = if compression == Compression::Xz { xz::blocks(self.data) } else { None };
        if let (Some(blocks), Some(end)) = (&mut blocks, end) {
            let starts = blocks.iter().scan(0, |next, block| {
                let start = *next;
                *next += block.size as u64;
                Some(start)
            });
            let count = starts.take_while(|start| *start < end).count();
            blocks.truncate(count);
        }
        let most = most(self.data.len() as u64);
        thread::scope(|scope| {
            let lanes = match &blocks {
                Some(blocks) => lanes(scope, &|| blocks.iter(), blocks.len(), unpacked)?,
                None => {
                    let stream = move |filler: &Filler| filler.stream(compression, self.data);
                    vec![Lane::start(scope, AHEAD, stream)?]
                }
            };
            let mut pieces = Pieces { lanes, turn: 0, piece: vec![], at: 0, left: most };
            read(&mut pieces)
        })
    }
}

/// Threads that unpack blocks in turn. Each has one block at most, which who reads takes at once.
fn lanes<'s, 'b: 's, I: Iterator<Item = &'b Block<'b>> + Send + 's>(
    scope: &'s Scope<'s, '_>,
    blocks: &dyn Fn() -> I,
    count: usize,
    unpacked: &'s (dyn Fn(&[u8]) + Sync),
) -> Result<Vec<Lane>> {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(count);
    let lane = |first| {
        let own = blocks().skip(first).step_by(threads);
        Lane::start(scope, 0, move |filler| filler.blocks(own, unpacked))
    };
    (0..threads).map(lane).collect()
}

/// The unpacked stream from some place on.
pub(super) struct Rest {
    pieces: VecDeque<Vec<u8>>,
    /// What of the first piece was read.
    at: usize,
    /// The place, in bytes from the start of the stream.
    pub(super) offset: u64,
}

impl BufRead for Rest {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.pieces.front().is_some_and(|piece| piece.len() == self.at) {
            self.pieces.pop_front();
            self.at = 0;
        }
        Ok(self.pieces.front().map_or(&[], |piece| &piece[self.at..]))
    }

    fn consume(&mut self, length: usize) {
        self.at += length;
    }
}

impl Read for Rest {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let got = self.fill_buf()?.read(into)?;
        self.consume(got);
        Ok(got)
    }
}

/// Where a thread puts what it unpacked, and takes used memory from.
struct Filler {
    pieces: SyncSender<Piece>,
    used: Receiver<Vec<u8>>,
}

impl Filler {
    /// Unpacks blocks one after the other, until there is none or nobody listens.
    fn blocks<'b>(&self, blocks: impl Iterator<Item = &'b Block<'b>>, unpacked: &dyn Fn(&[u8])) {
        for block in blocks {
            let mut piece = self.used.try_recv().unwrap_or_default();
            let result = block.unpack(&mut piece).map(|()| piece);
            unpacked(block.bytes);
            let is_last = result.is_err();
            if self.pieces.send(result).is_err() || is_last {
                return;
            }
        }
    }

    fn stream(&self, compression: Compression, data: &[u8]) {
        let mut stream = open_stream(compression, data);
        loop {
            let mut piece = self.used.try_recv().unwrap_or_default();
            piece.clear();
            let read = (&mut stream).take(PIECE as u64).read_to_end(&mut piece);
            let is_last = !matches!(read, Ok(1..));
            // What came out before damage is read first.
            let _ = self.pieces.send(Ok(piece));
            if let Err(error) = read {
                let _ = self.pieces.send(Err(error));
            }
            if is_last {
                return;
            }
        }
    }
}

/// The other end of a [`Filler`].
struct Lane {
    pieces: Receiver<Piece>,
    used: Sender<Vec<u8>>,
}

impl Lane {
    fn start<'s>(
        scope: &'s Scope<'s, '_>,
        ahead: usize,
        unpack: impl FnOnce(&Filler) + Send + 's,
    ) -> Result<Self> {
        let (pieces, used) = (sync_channel(ahead), channel());
        let filler = Filler { pieces: pieces.0, used: used.1 };
        let started = Builder::new().name("unpack".into()).spawn_scoped(scope, move || unpack(&filler));
        started.map_err(|e| Error::new(ErrorKind::Exhausted, format!("cannot start a thread: {e}")))?;
        Ok(Self { pieces: pieces.1, used: used.0 })
    }
}

/// The pieces in their order: those of the first lane, the second and so on, and again the first.
struct Pieces {
    lanes: Vec<Lane>,
    turn: usize,
    piece: Vec<u8>,
    at: usize,
    /// Bytes that may yet come; more are taken for a bomb.
    left: u64,
}

impl BufRead for Pieces {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.at == self.piece.len() {
            let lane = &self.lanes[self.turn % self.lanes.len()];
            // A lane ends after its last piece: then there are no more in any.
            let Ok(next) = lane.pieces.recv() else { break };
            let next = next?;
            let used = std::mem::replace(&mut self.piece, next);
            let before = self.turn.wrapping_sub(1) % self.lanes.len();
            let _ = self.lanes[before].used.send(used);
            (self.at, self.turn) = (0, self.turn + 1);
            self.left = self.left.checked_sub(self.piece.len() as u64).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidData, "it inflates to far more than its length allows")
            })?;
        }
        Ok(&self.piece[self.at..])
    }

    fn consume(&mut self, length: usize) {
        self.at = self.piece.len().min(self.at + length);
    }
}

impl Read for Pieces {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let got = self.fill_buf()?.read(into)?;
        self.consume(got);
        Ok(got)
    }
}
