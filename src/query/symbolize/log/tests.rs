use super::*;
use proptest::prelude::*;

/// What lines are made of.
const PARTS: &[&str] = &[
    " ",
    "\t",
    "#1",
    "#",
    "[<",
    ">]",
    "[",
    "]",
    "(",
    ")",
    "([",
    "])",
    "+",
    "0x",
    "/0x",
    "10",
    "ffffffff8134c750",
    ":",
    " : ",
    "vfs_read",
    "?",
    "=> ",
    "<-",
    "RIP: 0010:",
    "pc : ",
    " at ",
    " in ",
    "Workqueue: ",
    "[exception RIP: ",
    "Linux version ",
    "CPU: 0 Not tainted ",
    " #1",
    "Kernel Offset: 0x",
    "RELEASE: ",
    "<6>",
    " kernel: ",
    "\u{e9}",
    "/usr/lib/",
    "libc.so.6",
    "fs/a.c:1:2",
    "999999999999999999999",
];

proptest! {
    #[test]
    fn frames_lie_within_their_lines(parts in prop::collection::vec(prop::sample::select(PARTS), 0..14)) {
        let line = parts.concat();
        let line = line.as_bytes();
        let mut frames = vec![];
        let mut reader = Reader::default();
        for _ in 0..2 {
            reader.frames(line, &mut frames);
        }
        let _ = header(&line[start(line)..]);
        for frame in frames {
            prop_assert!(frame.end <= line.len());
            let at = frame.text.as_ptr() as usize - line.as_ptr() as usize;
            prop_assert!(at + frame.text.len() <= frame.end, "{frame:?}");
        }
    }

    #[test]
    fn any_bytes_are_borne(line in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut frames = vec![];
        Reader::default().frames(&line, &mut frames);
        let _ = header(&line[start(&line)..]);
    }
}
