//! A line for each event.
use super::{put_seconds, put_subject, value};
use crate::query::trace::names::{Frame, Namer};
use crate::query::trace::record::{Notice, Record};
use crate::render::printable;

/// The columns of task and processor, so that lines are aligned.
const TASK: usize = 22;

/// Appends a line: seconds, processor, task, what happened and its values; then a line for each frame of its stack.
///
/// ```text
///     3.000219 [000] kworker/0:1-17         blk_account_io_start in blk_mq_submit_bio req->__data_len=4096
/// ```
pub fn line(record: &Record<'_>, names: &mut dyn Namer, out: &mut Vec<u8>) {
    put_head(record.time, record.cpu, out);
    let start = out.len();
    match record.comm {
        b"" => out.extend_from_slice(b"<...>"),
        comm => out.extend_from_slice(printable(&String::from_utf8_lossy(comm)).as_bytes()),
    }
    out.extend_from_slice(format!("-{}", record.pid).as_bytes());
    out.resize((start + TASK).max(out.len()), b' ');
    out.push(b' ');
    put_subject(record, out);
    for (column, value) in record.event.columns.iter().zip(record.values) {
        out.push(b' ');
        out.extend_from_slice(column.name.as_bytes());
        out.push(b'=');
        value::put(value, &column.shown, names, out);
    }
    out.push(b'\n');
    record.frames(names, &mut |_, frame| put_frame(frame, out));
}

/// Appends a line that says what was lost.
pub fn notice(notice: &Notice, out: &mut Vec<u8>) {
    let Notice::Lost { time, cpu, count } = notice;
    put_head(*time, *cpu, out);
    out.extend_from_slice(lost(*count).as_bytes());
    out.push(b'\n');
}

/// `77 events lost: the kernel overwrote them before they were read`
pub(super) fn lost(count: Option<u64>) -> String {
    let what = match count {
        Some(1) => "1 event lost".to_owned(),
        Some(count) => format!("{count} events lost"),
        None => "events lost".to_owned(),
    };
    format!("{what}: the kernel overwrote them before they were read")
}

fn put_head(time: u64, cpu: u32, out: &mut Vec<u8>) {
    let start = out.len();
    put_seconds(time, 6, out);
    let missing = 12usize.saturating_sub(out.len() - start);
    out.splice(start..start, std::iter::repeat_n(b' ', missing));
    out.extend_from_slice(format!(" [{cpu:03}] ").as_bytes());
}

/// `    path_openat+0x14d  do_open at fs/namei.c:3640 inlined into path_openat at fs/namei.c:3838`
fn put_frame(frame: &Frame, out: &mut Vec<u8>) {
    out.extend_from_slice(b"    ");
    out.extend_from_slice(printable(&frame.symbol).as_bytes());
    for (level, nth) in frame.levels.iter().zip(0..) {
        out.extend_from_slice(if nth == 0 { b"  " } else { b" inlined into " });
        out.extend_from_slice(printable(&level.function).as_bytes());
        if let Some((file, line)) = &level.line {
            out.extend_from_slice(format!(" at {}:{line}", printable(file)).as_bytes());
        }
    }
    out.push(b'\n');
}
