//! What Rust does with the standard streams before its `main`: see `main.rs`.
#![allow(unsafe_code)]

/// Opens `/dev/null` for each of stdin, stdout and stderr that is closed, so that no other file takes its number, and
/// makes a write to a closed pipe an error instead of the end of the process.
pub fn standard_streams() {
    for stream in 0..=2 {
        // SAFETY: fcntl with F_GETFD only looks at a number; the path ends with a zero. Files get the lowest free
        // number, so this one gets `stream`.
        unsafe {
            if libc::fcntl(stream, libc::F_GETFD) == -1 {
                libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
            }
        }
    }
    // SAFETY: to ignore a signal has no requirements.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
    }
}
