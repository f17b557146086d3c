//! Reads stdin in chunks: while one chunk is processed, the next one is gathered.
use crate::error::{Error, ErrorKind, Result};
use std::io::{ErrorKind as Io, Read};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The largest chunk.
const MOST: usize = 12 << 20;
/// How long to wait for more of an input that comes as fast as it is read.
const PAUSE: Duration = Duration::from_millis(10);
/// The size of a read: the largest buffer that a pipe can have.
const AT_ONCE: usize = 1 << 20;

#[derive(Default)]
struct State {
    gathered: Vec<u8>,
    /// Whether the last read filled its buffer, as one of a file does: then the next one does not wait.
    full: bool,
    ended: bool,
    failed: Option<std::io::Error>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// Calls `each` with the input so far, and whether it has ended. `each` returns how much it has processed; the rest
/// comes again with the next chunk. So a pipe is answered as it fills, and a file is read in large chunks.
///
/// # Errors
/// Those of `each`; [`ErrorKind::Io`] if the input cannot be read.
pub fn pieces(
    input: impl Read + Send + 'static,
    mut each: impl FnMut(&[u8], bool) -> Result<usize>,
) -> Result<()> {
    let shared = Arc::new(Shared::default());
    let theirs = Arc::clone(&shared);
    let gatherer = std::thread::spawn(move || gather(input, &theirs));
    let mut piece: Vec<u8> = vec![];
    let mut fresh = vec![];
    let end = loop {
        let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.gathered.is_empty() && !state.ended {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        // Larger chunks are answered faster. A pipe whose writer pauses is answered all the same.
        let goes_on = |s: &mut State| s.full && !s.ended && s.gathered.len() + AT_ONCE <= MOST;
        let waited = shared.changed.wait_timeout_while(state, PAUSE, goes_on);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        std::mem::swap(&mut state.gathered, &mut fresh);
        let ended = state.ended;
        let failed = state.failed.take();
        shared.changed.notify_all();
        drop(state);
        piece.append(&mut fresh);
        let done = each(&piece, ended)?;
        piece.drain(..done.min(piece.len()));
        if let Some(failed) = failed {
            break Err(Error::new(ErrorKind::Io, format!("cannot read the input: {failed}")));
        }
        if ended {
            break Ok(());
        }
    };
    // Not joined after an error of `each`: the thread may be blocked in a read forever.
    gatherer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    end
}

fn gather(mut input: impl Read, shared: &Shared) {
    let mut buffer = vec![0; AT_ONCE];
    loop {
        let read = input.read(&mut buffer);
        let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        match read {
            Ok(0) => state.ended = true,
            Ok(length) => {
                while !state.gathered.is_empty() && state.gathered.len() + length > MOST {
                    state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                state.gathered.extend_from_slice(&buffer[..length]);
                state.full = length == buffer.len();
            }
            Err(e) if e.kind() == Io::Interrupted => {}
            Err(e) => (state.failed, state.ended) = (Some(e), true),
        }
        shared.changed.notify_all();
        if state.ended {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns this many bytes at a time.
    struct Slow(Vec<u8>, usize);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let length = self.1.min(self.0.len()).min(buffer.len());
            buffer[..length].copy_from_slice(&self.0[..length]);
            self.0.drain(..length);
            Ok(length)
        }
    }

    #[test]
    fn what_is_not_done_comes_again() {
        for size in [1, 3, 7, 100] {
            let text = b"one\ntwo\n\nthree".to_vec();
            let mut lines = vec![];
            pieces(Slow(text.clone(), size), |piece, ended| {
                let end =
                    if ended { piece.len() } else { memchr::memrchr(b'\n', piece).map_or(0, |at| at + 1) };
                lines.extend_from_slice(&piece[..end]);
                Ok(end)
            })
            .unwrap();
            assert_eq!(lines, text, "{size}");
        }
    }

    #[test]
    fn a_failed_read_is_told_after_what_came_before() {
        struct Broken(bool);
        impl Read for Broken {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                if std::mem::replace(&mut self.0, true) {
                    return Err(std::io::Error::other("gone"));
                }
                buffer[0] = b'a';
                Ok(1)
            }
        }
        let mut came = vec![];
        let failed = pieces(Broken(false), |piece, _| {
            came.extend_from_slice(piece);
            Ok(piece.len())
        });
        assert_eq!(came, b"a");
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::Io);
    }
}
