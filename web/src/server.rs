//! Listens, and has a thread for each connection.
use crate::access::Access;
use crate::assets::Assets;
use crate::code::Code;
use crate::connection;
use crate::message::{Refusal, refuse};
use crate::search::Search;
use crate::watch::Watch;
use probeidx::cli::args::Web;
use probeidx::cli::config::Config;
use probeidx::cli::exit::Outcome;
use probeidx::cli::serve::Answers;
use probeidx::{Error, ErrorKind, Result};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The largest number of connections.
const CONNECTIONS: usize = 256;
/// How many answers are worked on at a time, and how long each may take.
const AT_ONCE: usize = 8;
const LONGEST: Duration = Duration::from_secs(30);
/// How long the other end may read nothing.
const UNREAD: Duration = Duration::from_secs(30);

/// A listening program.
pub struct Server {
    listener: TcpListener,
    bound: SocketAddr,
    shared: Arc<Shared>,
}

/// What connections share.
pub struct Shared {
    /// Who may ask.
    pub access: Access,
    /// The pages.
    pub assets: Assets,
    /// The answers of `serve`.
    pub answers: Answers,
    /// The search of all kernels.
    pub search: Search,
    /// The code of functions.
    pub code: Code,
    /// The end of answers.
    pub watch: Watch,
    places: Places,
    connections: AtomicUsize,
}

impl Server {
    /// Listens where it is asked to.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if that address is not this machine's, is taken, or wants a right.
    pub fn new(asked: &Web, config: &Config) -> Result<Self> {
        let address = asked.listen;
        let failed = |e: std::io::Error| {
            let what = format!("cannot listen on {address}: {e}");
            Error::new(ErrorKind::Io, what).hint("name another address: --listen 127.0.0.1:0 takes any port")
        };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        let shared = Shared {
            access: Access::new(bound)?,
            assets: Assets::new(),
            answers: Answers::new(config),
            search: Search::default(),
            code: Code::new(asked.source.clone()),
            watch: Watch::new(LONGEST),
            places: Places { free: Mutex::new(AT_ONCE), freed: Condvar::new() },
            connections: AtomicUsize::new(0),
        };
        Ok(Self { listener, bound, shared: Arc::new(shared) })
    }

    /// What to type into a browser.
    pub fn address(&self) -> String {
        format!("http://{}/{}", self.bound, self.shared.access.introduction())
    }

    /// Answers, until the process is ended.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if no more connections can be taken.
    pub fn run(&self) -> Result<Outcome> {
        let shared = Arc::clone(&self.shared);
        thread::spawn(move || shared.watch.run());
        let shared = Arc::clone(&self.shared);
        // The first key that is typed should not wait for what is collected of each kernel.
        thread::spawn(move || shared.search.warm(&shared.answers.config()));
        for stream in self.listener.incoming() {
            match stream {
                Ok(stream) => self.take(stream),
                // The other end is gone already, or files are short for a while.
                Err(_) => thread::sleep(Duration::from_millis(10)),
            }
        }
        Ok(Outcome::Done)
    }

    fn take(&self, stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let _ = stream.set_write_timeout(Some(UNREAD));
        let shared = Arc::clone(&self.shared);
        if shared.connections.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS {
            shared.connections.fetch_sub(1, Ordering::Relaxed);
            let _ = refuse(&stream, Refusal(503, "there are too many connections"), true);
            return;
        }
        let counted = Counted(shared);
        // A thread that cannot be made drops the connection.
        let _ = thread::Builder::new().spawn(move || connection::serve(stream, &counted.0));
    }
}

/// A connection that counts while it lives.
struct Counted(Arc<Shared>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Places for those that compute.
struct Places {
    free: Mutex<usize>,
    freed: Condvar,
}

/// A place, until it is dropped.
pub struct Place<'s>(&'s Places);

impl Shared {
    /// Waits for a place.
    pub fn place(&self) -> Place<'_> {
        let free = self.places.free.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.places.freed.wait_while(free, |free| *free == 0);
        *free.unwrap_or_else(PoisonError::into_inner) -= 1;
        Place(&self.places)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}
