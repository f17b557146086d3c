//! Writes results to stdout in large pieces, and ends quietly once the reader is gone.
use std::io::{self, BufWriter, Write};

use super::escaped::{Escaped, Passing};
use super::exit::Outcome;
use crate::error::{Error, ErrorKind, Result};

/// The size of the buffer: the capacity of a pipe.
const BUFFER: usize = 64 << 10;

/// Runs a command with stdout to write to, and flushes it at the end. Text that may not pass is escaped.
///
/// If the reader closed the pipe, the outcome is [`Outcome::Done`], whatever the command makes of the failed write.
///
/// # Errors
/// Those of the command; else [`ErrorKind::Io`] if stdout cannot be written for another reason.
pub fn to_stdout(
    passing: Passing,
    command: impl FnOnce(&mut dyn Write) -> Result<Outcome>,
) -> Result<Outcome> {
    to(io::stdout().lock(), passing, command)
}

/// The error of a command whose write failed, for `map_err`.
pub fn failed(source: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot write the results: {source}"))
}

fn to(
    target: impl Write,
    passing: Passing,
    command: impl FnOnce(&mut dyn Write) -> Result<Outcome>,
) -> Result<Outcome> {
    let watched = Escaped::new(Watched { target, closed: false }, passing);
    let mut output = BufWriter::with_capacity(BUFFER, watched);
    let result = command(&mut output);
    let flushed = output.flush();
    let (escaped, _unwritten) = output.into_parts();
    if escaped.target().closed {
        return Ok(Outcome::Done);
    }
    result.and_then(|outcome| flushed.map(|()| outcome).map_err(failed))
}

/// Results that are held back until they are wanted. If they do not fit, they are released.
pub struct Held<'o> {
    out: &'o mut dyn Write,
    waiting: Option<Vec<u8>>,
}

impl<'o> Held<'o> {
    /// The largest number of bytes held back.
    const MOST: usize = 1 << 20;

    /// A writer that passes everything on.
    pub fn open(out: &'o mut dyn Write) -> Self {
        Self { out, waiting: None }
    }

    /// A writer that holds results back until [`release`](Self::release).
    pub fn waiting(out: &'o mut dyn Write) -> Self {
        Self { out, waiting: Some(vec![]) }
    }

    /// Writes what was held back, and passes everything on from then. Results that are not released are never written.
    ///
    /// # Errors
    /// Those of the underlying writer.
    pub fn release(&mut self) -> io::Result<()> {
        self.waiting.take().map_or(Ok(()), |waiting| self.out.write_all(&waiting))
    }
}

impl Write for Held<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(waiting) = self.waiting.as_mut().filter(|w| w.len() + bytes.len() <= Self::MOST) {
            waiting.extend_from_slice(bytes);
            return Ok(());
        }
        self.release()?;
        self.out.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Remembers whether the other end was closed.
struct Watched<W> {
    target: W,
    closed: bool,
}

impl<W> Watched<W> {
    fn watch<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        self.closed |= matches!(&result, Err(e) if e.kind() == io::ErrorKind::BrokenPipe);
        result
    }
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.target.write(bytes);
        self.watch(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.target.flush();
        self.watch(flushed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accepts this many bytes and then fails; records the size of each write.
    struct Reader {
        room: usize,
        then: io::ErrorKind,
        writes: Vec<usize>,
    }

    impl Write for &mut Reader {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.room == 0 {
                return Err(self.then.into());
            }
            let taken = bytes.len().min(self.room);
            self.room -= taken;
            self.writes.push(taken);
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Writes lines until a write fails. Also returns their number.
    fn lines(reader: &mut Reader, most: usize) -> (Result<Outcome>, usize) {
        let mut written = 0;
        let result = to(reader, Passing::Text, |out| {
            while written < most {
                out.write_all(b"kernel.function(\"vfs_read@fs/read_write.c:450\")\n").map_err(failed)?;
                written += 1;
            }
            Ok(Outcome::Nothing)
        });
        (result, written)
    }

    fn reader(room: usize, then: io::ErrorKind) -> Reader {
        Reader { room, then, writes: Vec::new() }
    }

    #[test]
    fn a_closed_pipe_ends_the_work_quietly() {
        let mut head = reader(100_000, io::ErrorKind::BrokenPipe);
        let (result, written) = lines(&mut head, 1_000_000);
        assert_eq!(result.unwrap(), Outcome::Done);
        assert!(written < 10_000, "{written} lines for nobody");
    }

    #[test]
    fn a_pipe_closed_before_the_last_piece_is_quiet_too() {
        let mut closed = reader(0, io::ErrorKind::BrokenPipe);
        assert_eq!(lines(&mut closed, 1).0.unwrap(), Outcome::Done);
    }

    #[test]
    fn a_full_disk_is_an_error() {
        let mut disk = reader(10, io::ErrorKind::StorageFull);
        assert_eq!(lines(&mut disk, 1).0.unwrap_err().kind(), ErrorKind::Io);
    }

    #[test]
    fn results_leave_in_large_pieces_and_all_of_them() {
        let mut file = reader(usize::MAX, io::ErrorKind::Other);
        let (result, written) = lines(&mut file, 10_000);
        assert_eq!((result.unwrap(), written), (Outcome::Nothing, 10_000));
        assert_eq!(file.writes.iter().sum::<usize>(), 10_000 * 48);
        assert!(file.writes.len() <= 10_000 * 48 / (BUFFER - 48) + 1, "{:?}", file.writes);
    }

    #[test]
    fn what_waits_is_written_when_it_is_released_or_is_too_much() {
        let mut out = vec![];
        Held::waiting(&mut out).write_all(b"never").unwrap();
        let mut held = Held::waiting(&mut out);
        held.write_all(b"one ").unwrap();
        held.release().unwrap();
        held.write_all(b"two ").unwrap();
        Held::open(&mut out).write_all(b"three").unwrap();
        assert_eq!(out, b"one two three");
        out.clear();
        let mut held = Held::waiting(&mut out);
        let piece = vec![b'x'; Held::MOST / 2 + 1];
        held.write_all(&piece).unwrap();
        held.write_all(&piece).unwrap();
        assert_eq!(out.len(), 2 * piece.len());
    }

    #[test]
    fn the_error_of_the_command_comes_first() {
        let result = to(io::sink(), Passing::Text, |_| Err(Error::new(ErrorKind::NoMatch, "no match")));
        assert_eq!(result.unwrap_err().kind(), ErrorKind::NoMatch);
    }
}
