//! Reads the ring buffers of an instance, without waiting for single events.
//!
//! What costs is to be woken for an event: a kernel that shall wake a reader does so for the first event behind the last
//! reading, and so for each one if they come at leisure. So the reader sleeps, and reads all processors when it wakes. It
//! sleeps at most [`LATENCY`]. A processor that fills its buffer sooner wakes it, where the kernel counts how full it is
//! (`buffer_percent` holds for `poll` since 6.1 and in stable kernels since); where `poll` returns for a single event, it
//! sleeps without `poll`, and the shorter the more it finds.
use super::bytes::Order;
use super::merge::{Merge, Merged};
use super::page::Layout;
use crate::error::{Error, ErrorKind, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind as Io, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long an event waits to be read, at most.
pub const LATENCY: Duration = Duration::from_millis(100);

/// The shortest sleep.
const SHORTEST: Duration = Duration::from_millis(2);

/// How full a buffer is in percent before its reader is woken.
const WATERMARK: u64 = 25;

/// The sub-buffers of a processor that are read at a time: a flood of one must not keep the others waiting.
const MOST_PAGES: usize = 4096;

/// The readers of all processors.
#[derive(Debug)]
pub struct Reader {
    layout: Layout,
    processors: Vec<Processor>,
    /// Room for a sub-buffer.
    page: Vec<u8>,
    merge: Merge,
    /// The size of a processor's buffer in bytes.
    capacity: u64,
    waiting: Waiting,
    /// Whether a buffer ended the last wait, not the time.
    is_woken: bool,
}

#[derive(Debug)]
struct Processor {
    number: u32,
    path: PathBuf,
    file: File,
}

#[derive(Clone, Copy, Debug)]
enum Waiting {
    /// By `poll`: how often it returned for less than the watermark.
    Poll { early: u8 },
    /// For so long.
    Sleep(Duration),
}

/// What a reading found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Records.
    pub records: u64,
    /// Bytes of the fullest buffer.
    pub most: u64,
    /// Whether there was more than is read at a time.
    pub is_more: bool,
}

impl Reader {
    /// Opens the buffers of an instance: the folder with `per_cpu`. Sets its watermark, where the kernel has one.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if they cannot be opened, and [`ErrorKind::Damaged`] if their layout is not understood.
    pub fn open(instance: &Path) -> Result<Self> {
        let header = instance.join("events/header_page");
        let text =
            read_at_once(&header).map_err(|e| Error::io(&header, "read the layout of the ring buffer", e))?;
        let layout = Layout::parse(&text, Order::NATIVE).map_err(|e| e.at(&header))?;
        let mut processors = vec![];
        let folder = instance.join("per_cpu");
        let failed = |e| Error::io(&folder, "list the processors", e);
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let Some(number) = name.to_str().and_then(|n| n.strip_prefix("cpu")?.parse().ok()) else {
                continue;
            };
            let path = entry.path().join("trace_pipe_raw");
            let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path);
            let file = file.map_err(|e| Error::io(&path, "open the ring buffer of a processor", e))?;
            processors.push(Processor { number, path, file });
        }
        processors.sort_by_key(|p| p.number);
        let has_watermark = std::fs::write(instance.join("buffer_percent"), WATERMARK.to_string()).is_ok();
        Ok(Self {
            layout,
            processors,
            page: vec![0; layout.size()],
            merge: Merge::default(),
            capacity: capacity(instance),
            waiting: if has_watermark { Waiting::Poll { early: 0 } } else { Waiting::Sleep(LATENCY) },
            is_woken: false,
        })
    }

    /// The layout of its sub-buffers.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// From now on records with this mark, which are stacks, are given out with the record before them.
    pub fn join_stacks(&mut self, stacks: super::record::Mark) {
        self.merge.join_stacks(stacks);
    }

    /// Reads what all processors have, and gives out what is complete, in the order of time: see [`super::merge`]. The
    /// last reading gives out all.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if the kernel refuses, and [`ErrorKind::Damaged`] if a sub-buffer is not understood: what was
    /// read before that is given out.
    pub fn read(&mut self, is_last: bool, out: &mut dyn FnMut(Merged<'_>)) -> Result<Found> {
        let mut found = Found::default();
        let mut result = Ok(());
        for processor in &mut self.processors {
            result = processor.read(&self.layout, &mut self.page, &mut self.merge, &mut found);
            if result.is_err() {
                break;
            }
        }
        self.merge.give(is_last || result.is_err(), out);
        self.waiting = self.waiting.after(&found, self.capacity, self.is_woken);
        result.map(|()| found)
    }

    /// Waits until there is enough to read, for at most [`LATENCY`]; or until `other` is readable, and says whether it
    /// is. Interrupted by a signal, it returns.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if the kernel refuses.
    pub fn wait(&mut self, other: Option<BorrowedFd<'_>>) -> Result<bool> {
        let (polled, most) = match self.waiting {
            Waiting::Poll { .. } => (&self.processors[..], LATENCY),
            Waiting::Sleep(time) => (&[][..], time),
        };
        let other = other.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN));
        let is_other = other.is_some();
        let all = other.into_iter().chain(polled.iter().map(|p| PollFd::new(&p.file, PollFlags::IN)));
        let mut all: Vec<PollFd<'_>> = all.collect();
        let most = Timespec { tv_sec: 0, tv_nsec: most.subsec_nanos().into() };
        match poll(&mut all, Some(&most)) {
            Ok(_) => {
                let mut ready = all.iter().map(|fd| !fd.revents().is_empty());
                let is_other = is_other && ready.next() == Some(true);
                self.is_woken = ready.any(|is_ready| is_ready);
                Ok(is_other)
            }
            Err(rustix::io::Errno::INTR) => {
                self.is_woken = false;
                Ok(false)
            }
            Err(e) => Err(Error::new(
                ErrorKind::Io,
                format!("cannot wait for the ring buffer: {}", std::io::Error::from(e)),
            )),
        }
    }
}

impl Waiting {
    /// How to wait after a reading.
    fn after(self, found: &Found, capacity: u64, is_woken: bool) -> Self {
        /// So many wake-ups for less than half the watermark, one after the other, mean that the kernel has none.
        const ENOUGH: u8 = 8;
        match self {
            Self::Poll { .. } if !is_woken => self,
            Self::Poll { early } if found.most < capacity * WATERMARK / 200 => match early {
                ENOUGH.. => Self::Sleep(LATENCY),
                _ => Self::Poll { early: early + 1 },
            },
            Self::Poll { .. } => Self::Poll { early: 0 },
            Self::Sleep(time) if found.most > capacity / 4 => Self::Sleep((time / 2).max(SHORTEST)),
            Self::Sleep(time) if found.most < capacity / 16 => Self::Sleep((time * 2).min(LATENCY)),
            Self::Sleep(_) => self,
        }
    }
}

impl Processor {
    fn read(&mut self, layout: &Layout, page: &mut [u8], merge: &mut Merge, found: &mut Found) -> Result<()> {
        let mut bytes = 0;
        for nth in 0.. {
            if nth == MOST_PAGES {
                found.is_more = true;
                merge.cut();
                break;
            }
            let length = match self.file.read(page) {
                Ok(0) => break,
                Ok(length) => length,
                // ENODEV: the processor is gone.
                Err(e) if e.kind() == Io::WouldBlock || e.raw_os_error() == Some(libc::ENODEV) => break,
                Err(e) if e.kind() == Io::Interrupted => continue,
                Err(e) => return Err(Error::io(&self.path, "read the ring buffer of a processor", e)),
            };
            let damaged = |what: String| {
                let hint = "this is a kernel that the program does not know: please report its release";
                Error::new(ErrorKind::Damaged, what).at(&self.path).hint(hint)
            };
            let read = layout
                .page(&page[..length])
                .ok_or_else(|| damaged(format!("a sub-buffer of {length} bytes is not understood")))?;
            let records = merge.add(self.number, &read).map_err(|torn| {
                damaged(format!("an event at {} reaches beyond its sub-buffer", torn.offset))
            })?;
            found.records += records as u64;
            bytes += length as u64;
        }
        found.most = found.most.max(bytes);
        Ok(())
    }
}

/// The text of a file that the kernel gives out in one read alone: the second one ends, however little the first one took.
/// (`show_header`, kernel/trace/trace_events.c, 5.10 to 6.12)
fn read_at_once(path: &Path) -> std::io::Result<String> {
    let mut bytes = [0; 4096];
    let length = File::open(path)?.read(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

/// The size of a processor's buffer in bytes: `buffer_size_kb`, which is `7 (expanded: 1408)` before the first event.
fn capacity(instance: &Path) -> u64 {
    const USUAL: u64 = 1408;
    let text = std::fs::read_to_string(instance.join("buffer_size_kb")).unwrap_or_default();
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse::<u64>().ok());
    numbers.next_back().unwrap_or(USUAL) * 1024
}
