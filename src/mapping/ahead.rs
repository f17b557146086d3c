//! Asks the system for files before they are read. A disk serves many requests in the time of one, and a thread that waits
//! for the page it touches makes one: 6.1's debug information takes 44 s from a disk that needs 5 ms for each 128 KiB, and
//! 6 s if it is asked for ahead.
use super::{Opened, open};
use rustix::fs::{Advice, fadvise};
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Linux takes no more of one request than it reads ahead on that disk, which is usually this much (`force_page_cache_ra`
/// in mm/readahead.c, 6.1).
const AT_ONCE: u64 = 128 << 10;

/// No more of a file than this: one with holes may have any length, and takes memory for all of it.
const MOST: u64 = 4 << 30;

/// Asks for a whole file. Small ones are not waited for; hundreds of megabytes take about as long as they need to come,
/// which is what [`beside`] is for. What is in memory already takes a few microseconds for a megabyte.
///
/// A file that cannot be opened is told by whoever reads it.
pub fn ask_for(path: &Path) {
    ask_while(path, || true);
}

/// Runs `work` while another thread asks for these files.
pub fn beside<'p, T>(paths: impl Iterator<Item = &'p Path> + Send, work: impl FnOnce() -> T) -> T {
    let works = AtomicBool::new(true);
    let ask = || paths.for_each(|path| ask_while(path, || works.load(Ordering::Relaxed)));
    std::thread::scope(|scope| {
        // Where no thread can be had, they come when they are read.
        let _ = std::thread::Builder::new().spawn_scoped(scope, ask);
        let done = work();
        works.store(false, Ordering::Relaxed);
        done
    })
}

fn ask_while(path: &Path, wanted: impl Fn() -> bool) {
    let Ok(Opened { file, stamp }) = open(path) else { return };
    for at in (0..stamp.length.min(MOST)).step_by(AT_ONCE as usize) {
        if !wanted() || fadvise(&file, at, NonZeroU64::new(AT_ONCE), Advice::WillNeed).is_err() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::{ReadWriteFlags, preadv2};
    use std::io::{IoSliceMut, Write};
    use std::time::{Duration, Instant};

    /// The first byte that is not in memory.
    fn missing(file: &std::fs::File, length: u64) -> Option<u64> {
        let is_there = |at| {
            let mut byte = [0];
            preadv2(file, &mut [IoSliceMut::new(&mut byte)], at, ReadWriteFlags::NOWAIT).is_ok()
        };
        (0..length).step_by(4096).find(|at| !is_there(*at))
    }

    #[test]
    fn the_whole_of_a_file_comes() {
        // More than what is read ahead of a reader on any disk.
        const LENGTH: u64 = 24 << 20;
        let mut named = tempfile::NamedTempFile::new().unwrap();
        named.write_all(&vec![7; LENGTH as usize]).unwrap();
        let file = named.as_file();
        file.sync_all().unwrap();
        fadvise(file, 0, None, Advice::DontNeed).unwrap();
        if missing(file, LENGTH).is_none() {
            return eprintln!("skipped: files of this file system are always in memory");
        }
        let until = Instant::now() + Duration::from_secs(60);
        beside(std::iter::once(named.path()), || {
            while missing(file, LENGTH).is_some() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        assert_eq!(missing(file, LENGTH), None);
    }

    #[test]
    fn what_is_no_file_does_not_matter() {
        let folder = tempfile::tempdir().unwrap();
        let paths = [folder.path().join("missing"), folder.path().to_owned()];
        assert_eq!(beside(paths.iter().map(|path| path.as_path()), || 3), 3);
    }
}
