//! What kernels wrote, against the text that they print of the same (`trace`).
use probeidx::tracefs::bytes::{Order, number};
use probeidx::tracefs::format::{Content, Format};
use probeidx::tracefs::merge::{Merge, Merged};
use probeidx::tracefs::page::{Layout, Lost};
use probeidx::tracefs::record::Formats;
use std::fmt::Write;
use std::path::PathBuf;

fn fixture(kernel: &str, name: &str) -> Vec<u8> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests/fixtures/ring", kernel, name].iter().collect();
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn text(kernel: &str, name: &str) -> String {
    String::from_utf8_lossy(&fixture(kernel, name)).into_owned()
}

fn formats(kernel: &str) -> Formats {
    let text = text(kernel, "formats");
    let each = text.split("\n\nname: ").map(|t| format!("name: {}", t.trim_start_matches("name: ")));
    // Between fields stand empty lines, too.
    let parsed: Vec<Format> = each.map(|text| Format::parse(&text, 8).unwrap()).collect();
    Formats::new(parsed, Order::Little).unwrap()
}

/// `[000]   3.000219: open`, and of some events their values as the kernel prints them.
fn line(formats: &Formats, time: u64, cpu: u32, data: &[u8]) -> String {
    let format = formats.format(formats.position(data).expect("its format is there"));
    let value = |name: &str| {
        let field = format.field(name).unwrap();
        let number_of = || formats.number(field, data).unwrap();
        match field.content {
            Content::Text => match field.bytes(data, Order::Little) {
                Some(text) => format!("{name}=\"{}\"", String::from_utf8_lossy(text)),
                None => format!("{name}=(fault)"),
            },
            Content::Numbers(size) => {
                let bytes = field.bytes(data, Order::Little).unwrap();
                let one = |b| format!("{:#x}", number(b, Order::Little).unwrap());
                let all: Vec<String> = bytes.chunks_exact(size).map(one).collect();
                format!("{name}={{{}}}", all.join(","))
            }
            _ if field.is_signed => format!("{name}={}", number_of() as i64),
            _ => format!("{name}={}", number_of()),
        }
    };
    let micros = (time + 500) / 1000;
    let pid = formats.pid(data).unwrap();
    let mut line = format!("{pid} [{cpu:03}] {}.{:06}: ", micros / 1_000_000, micros % 1_000_000);
    let fields: &[&str] = match format.name.as_str() {
        "open" => &["dfd", "name", "how", "arr", "comm", "bf", "c"],
        "openr" => &["ret"],
        "sched_switch" => &["prev_comm", "prev_pid", "prev_prio", "next_comm", "next_pid", "next_prio"],
        "sched_process_fork" => &["child_pid"],
        "sched_process_exec" => &["filename", "pid", "old_pid"],
        _ => &[],
    };
    let printed = match format.name.as_str() {
        "sys_enter_openat" => "sys_openat",
        "print" => "tracing_mark_write",
        "kernel_stack" => "<stack trace>",
        name => name,
    };
    line.push_str(printed);
    fields.iter().for_each(|name| write!(line, " {}", value(name)).unwrap());
    if format.name == "sched_switch" {
        // These are not quoted.
        line.retain(|c| c != '"');
    } else if format.name == "sched_process_exec" {
        line.retain(|c| c != '"');
    }
    line
}

/// The same of the kernel's text.
fn printed(trace: &str) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for text in trace.lines().filter(|l| !l.starts_with('#')) {
        // A new line in a text, or a frame of a stack.
        let Some((task, rest)) =
            text.split_once(" [").filter(|_| text.starts_with(' ') && !text.starts_with(" =>"))
        else {
            if !text.starts_with(" =>") {
                let last = lines.last_mut().unwrap();
                *last = format!("{last}\n{text}");
            }
            continue;
        };
        let pid = task.trim_end().rsplit('-').next().unwrap();
        let (cpu, rest) = rest.split_once("] ").unwrap();
        let (_, rest) = rest.trim_start().split_once(' ').unwrap();
        lines.push(format!("{pid} [{cpu}] {}", rest.trim_start()));
    }
    let shortened = lines.iter().map(|line| {
        let (head, rest) = line.split_once(": ").unwrap();
        let (event, values) = rest.split_once([':', '(']).unwrap_or((rest, ""));
        let values = match event {
            "open" => {
                let at = values.find("dfd=").unwrap();
                let (front, back) = values[at..].split_once(" sym=").unwrap();
                format!(" {front} {}", &back[back.find("bf=").unwrap()..])
            }
            "openr" => format!(" {}", &values[values.find("ret=").unwrap()..]),
            "sched_switch" => {
                let words = values
                    .split(' ')
                    .filter(|w| w.contains('=') && *w != "==>" && !w.starts_with("prev_state"));
                words.fold(String::new(), |all, word| format!("{all} {word}"))
            }
            "sched_process_fork" => format!(" {}", &values[values.find("child_pid=").unwrap()..]),
            "sched_process_exec" => values.to_owned(),
            _ => String::new(),
        };
        format!("{head}: {}{values}", event.trim_end())
    });
    shortened.collect()
}

#[test]
fn records_are_what_the_kernel_prints() {
    for kernel in ["5.10", "6.1", "7.3"] {
        let layout = Layout::parse(&text(kernel, "header_page"), Order::Little).unwrap();
        assert_eq!((layout.size(), layout.word()), (4096, 8));
        let formats = formats(kernel);
        let mut merge = Merge::default();
        for cpu in 0..2 {
            for page in fixture(kernel, &format!("cpu{cpu}")).chunks(layout.size()) {
                merge.add(cpu, &layout.page(page).unwrap()).unwrap();
            }
        }
        let mut lines = vec![];
        merge.give(true, &mut |given| match given {
            Merged::Record { time, cpu, data, .. } => lines.push(line(&formats, time, cpu, data)),
            Merged::Lost { .. } => panic!("none was lost"),
        });
        let printed = printed(&text(kernel, "trace"));
        assert!(printed.len() > 40);
        for (ours, theirs) in lines.iter().zip(&printed) {
            assert_eq!(ours, theirs, "{kernel}");
        }
        assert_eq!(lines.len(), printed.len(), "{kernel}");
    }
}

#[test]
fn lost_events_are_as_many_as_the_program_made_more() {
    let layout = Layout::parse(&text("6.1", "header_page"), Order::Little).unwrap();
    let formats = formats("6.1");
    let pages = fixture("6.1", "lapped");
    let (mut lost, mut names) = (vec![], vec![]);
    for page in pages.chunks(layout.size()) {
        let page = layout.page(page).unwrap();
        lost.push(page.lost);
        for event in page.events() {
            let data = event.unwrap().data;
            let format = formats.format(formats.position(data).unwrap());
            let name = format.field("name").unwrap().bytes(data, Order::Little).unwrap();
            names.push(String::from_utf8(name.to_vec()).unwrap());
        }
    }
    assert_eq!(lost, [Lost::None, Lost::Count(442), Lost::Count(245)]);
    // The program opened /lap0/0 to /lap0/299, then /lap1/0 and so on, and read a sub-buffer after each 300.
    let number = |name: &String| {
        let (lap, nth) = name.strip_prefix("/lap").unwrap().split_once('/').unwrap();
        300 * lap.parse::<u64>().unwrap() + nth.parse::<u64>().unwrap()
    };
    let numbers: Vec<u64> = names.iter().map(number).collect();
    let gaps: Vec<u64> = numbers.windows(2).map(|w| w[1] - w[0] - 1).filter(|gap| *gap > 0).collect();
    assert_eq!((numbers[0], gaps), (0, vec![442, 245]));
}

#[test]
fn sub_buffers_of_more_than_a_page() {
    let layout = Layout::parse(&text("7.3", "large_header_page"), Order::Little).unwrap();
    assert_eq!(layout.size(), 16384);
    let bytes = fixture("7.3", "large");
    let page = layout.page(&bytes).unwrap();
    let formats = formats("7.3");
    let mut expected = 0;
    for event in page.events() {
        let data = event.unwrap().data;
        let field = formats.format(formats.position(data).unwrap()).field("name").unwrap();
        let name = field.bytes(data, Order::Little).unwrap();
        if name.starts_with(b"/large/") {
            assert_eq!(name, format!("/large/{expected}").as_bytes());
            expected += 1;
        }
    }
    assert_eq!(expected, 60);
}
