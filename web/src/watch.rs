//! Ends answers that nobody waits for, and those that take too long.
use probeidx::cli::serve::Request;
use rustix::net::RecvFlags;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often connections are looked at.
const STEP: Duration = Duration::from_millis(50);
/// How long an answer may go on once it is cancelled: what computes first, computes to its first item.
const GRACE: Duration = Duration::from_secs(2);

/// The answers that are worked on.
pub struct Watch {
    longest: Duration,
    running: Mutex<Vec<Watched>>,
    begun: Condvar,
}

struct Watched {
    stream: Arc<TcpStream>,
    request: Arc<Request>,
    since: Instant,
}

/// While it lives, its answer is watched.
pub struct Guard<'w> {
    watch: &'w Watch,
    request: Arc<Request>,
}

impl Watch {
    /// An answer may take so long.
    pub fn new(longest: Duration) -> Self {
        Self { longest, running: Mutex::default(), begun: Condvar::new() }
    }

    /// Watches the answer to a request that goes to this connection.
    pub fn watch(&self, stream: &Arc<TcpStream>, request: &Arc<Request>) -> Guard<'_> {
        let watched =
            Watched { stream: Arc::clone(stream), request: Arc::clone(request), since: Instant::now() };
        self.running().push(watched);
        self.begun.notify_one();
        Guard { watch: self, request: Arc::clone(request) }
    }

    /// Looks at the connections from time to time, for ever.
    pub fn run(&self) {
        loop {
            let running = self.running();
            let running = self.begun.wait_while(running, |running| running.is_empty());
            for watched in running.unwrap_or_else(PoisonError::into_inner).iter() {
                let age = watched.since.elapsed();
                if age > self.longest + GRACE {
                    let _ = watched.stream.shutdown(Shutdown::Both);
                }
                if age > self.longest || is_gone(&watched.stream) {
                    watched.request.is_cancelled.store(true, Ordering::Relaxed);
                }
            }
            std::thread::sleep(STEP);
        }
    }

    fn running(&self) -> MutexGuard<'_, Vec<Watched>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.watch.running().retain(|watched| !Arc::ptr_eq(&watched.request, &self.request));
    }
}

/// Whether the other end has closed the connection. Bytes of a next request stay where they are.
fn is_gone(stream: &TcpStream) -> bool {
    match rustix::net::recv(stream, &mut [0], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
        Ok((length, _)) => length == 0,
        Err(failed) => !matches!(failed, rustix::io::Errno::AGAIN | rustix::io::Errno::INTR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    /// A watched answer, the other end of its connection, and whether it was cancelled in the end.
    fn cancelled(longest: Duration, leave: impl FnOnce(TcpStream) -> Option<TcpStream>) -> bool {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let other = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let stream = Arc::new(listener.accept().unwrap().0);
        let request = Arc::new(Request::parse(br#"{"method":"kernels"}"#).unwrap());
        let watch = Arc::new(Watch::new(longest));
        let runs = Arc::clone(&watch);
        std::thread::spawn(move || runs.run());
        let guard = watch.watch(&stream, &request);
        let kept = leave(other);
        // Ten looks; a hundred, if something is to happen.
        let looks = if kept.is_some() && longest > STEP { 10 } else { 100 };
        let is_cancelled = || request.is_cancelled.load(Ordering::Relaxed);
        let found = (0..looks).any(|_| {
            std::thread::sleep(STEP);
            is_cancelled()
        });
        drop(guard);
        assert!(watch.running().is_empty());
        found
    }

    #[test]
    fn an_answer_ends_when_its_page_is_gone_or_its_time_is_over() {
        const LONG: Duration = Duration::from_secs(3600);
        assert!(cancelled(LONG, |_gone| None));
        assert!(cancelled(Duration::ZERO, Some));
        assert!(!cancelled(LONG, Some));
        // Who sends the next request meanwhile is not gone.
        assert!(!cancelled(LONG, |other| {
            (&mut &other).write_all(b"GET /").unwrap();
            Some(other)
        }));
    }
}
