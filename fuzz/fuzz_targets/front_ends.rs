//! Text as a script of bpftrace, a policy and a tool of bcc: each is read, or refused in one line.
#![no_main]
use libfuzzer_sys::fuzz_target;
use probeidx::{bcc, bpftrace, policy};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let is_one_line = |error: probeidx::Error| error.to_string().lines().count() == 1;
    assert!(bpftrace::parser::parse(&text).err().is_none_or(is_one_line));
    assert!(policy::parse(&text).err().is_none_or(is_one_line));
    for point in bcc::read(&text).attached {
        assert!(!point.name.contains('\n'));
    }
});
