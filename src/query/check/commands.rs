//! Attach points in the command lines of other tools, as scripts and notes have them: `trace-cmd` and `perf`.
//!
//! | tool | options that are read |
//! | --- | --- |
//! | `trace-cmd record`, `start`, `stream`, ... | `-e SYSTEM:EVENT`, `-e SYSTEM`, `-e EVENT`; with `-p function` or `function_graph` `-l NAME` and `-g NAME` |
//! | `perf probe` | definitions, after `-a`, `--add` or alone, with `-m MODULE`; what they read is left out |
//! | `perf record`, `stat`, `trace`, ... | `-e` with events of tracefs, commas between them |

/// A point in a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it stands in the line, in bytes.
    pub start: usize,
    /// The point, as [`spec`](crate::query::spec) spells those of other tools.
    pub point: String,
}

/// The points of a command line; `None` if it is none of these tools. Programs of user space are left out.
pub fn points(line: &str) -> Option<Vec<Found>> {
    let words = words(line);
    let mut rest = words.iter().map(|(start, word)| (*start, word.as_str()));
    let mut first = rest.next()?;
    if matches!(first.1, "sudo" | "$") {
        first = rest.next()?;
    }
    let name = first.1.rsplit('/').next()?;
    let (_, command) = rest.next()?;
    let rest: Vec<(usize, &str)> = rest.collect();
    match (name, command) {
        ("trace-cmd", "record" | "start" | "stream" | "extract" | "profile" | "set") => {
            Some(trace_cmd(&rest))
        }
        ("perf", "probe") => Some(perf_probe(&rest)),
        ("perf", "record" | "stat" | "trace" | "top") => Some(perf_events(&rest)),
        _ => None,
    }
}

/// `trace-cmd-record(1)`.
fn trace_cmd(words: &[(usize, &str)]) -> Vec<Found> {
    let traces_functions =
        options(words).any(|(option, (_, value))| option == "-p" && value.starts_with("function"));
    let found = options(words).filter_map(|(option, (start, value))| {
        let point = match option {
            "-e" if value == "all" => return None,
            "-e" => match value.split_once(':') {
                Some(_) => format!("tracepoint:{value}"),
                // A system, or an event of any.
                None => format!("tracepoint:{value}:*"),
            },
            "-l" | "-g" if traces_functions => format!("kprobe.multi:{value}"),
            _ => return None,
        };
        Some(Found { start, point })
    });
    found.collect()
}

/// `perf-probe(1)`: `[[GROUP:]EVENT=]FUNCTION[@FILE][+OFFSET|%return|:LINE] [ARGUMENT ...]`.
fn perf_probe(words: &[(usize, &str)]) -> Vec<Found> {
    if words.iter().any(|(_, word)| matches!(*word, "-x" | "--exec" | "-d" | "--del" | "-l" | "--list")) {
        return vec![];
    }
    let of_option =
        |names: [&str; 2]| options(words).find(|(option, _)| names.contains(option)).map(|(_, value)| value);
    let module = of_option(["-m", "--module"]).map_or(String::new(), |(_, module)| format!("{module}:"));
    let added: Vec<(usize, &str)> = options(words)
        .filter(|(option, _)| matches!(*option, "-a" | "--add"))
        .map(|(_, value)| value)
        .collect();
    let definitions = match added.is_empty() {
        // What has no option is a definition up to the end.
        true => words
            .iter()
            .copied()
            .find(|(start, word)| !word.starts_with('-') && !is_value(words, *start))
            .into_iter()
            .collect(),
        false => added,
    };
    let found = definitions.into_iter().filter_map(|(start, definition)| {
        let place = definition.split_whitespace().next()?;
        let (before, place) =
            place.split_once('=').map_or((0, place), |(event, place)| (event.len() + 1, place));
        Some(Found { start: start + before, point: format!("kprobe:{module}{place}") })
    });
    found.collect()
}

/// `perf-record(1)`: `-e EVENT[,EVENT ...]`.
fn perf_events(words: &[(usize, &str)]) -> Vec<Found> {
    let lists =
        options(words).filter(|(option, _)| matches!(*option, "-e" | "--event")).map(|(_, value)| value);
    let events = lists.flat_map(|(start, list)| {
        let from = list.as_ptr() as usize;
        list.split(',').map(move |event| (start + (event.as_ptr() as usize - from), event))
    });
    let found = events.filter_map(|(start, event)| {
        let (system, name) = event.split_once(':')?;
        // `cycles:pp`: modifiers of an event of the processor, not of a system.
        let is_modifier = name.len() < 4 && name.bytes().all(|byte| b"ukhpPGHISDWeb".contains(&byte));
        let point = match system {
            _ if is_modifier || name.is_empty() => return None,
            "probe" => format!("probe:{name}"),
            _ => format!("tracepoint:{system}:{name}"),
        };
        Some(Found { start, point })
    });
    found.collect()
}

/// Each option with the word behind it, or behind its `=`. Short ones may have it at once: `-esched`.
fn options<'w>(words: &'w [(usize, &'w str)]) -> impl Iterator<Item = (&'w str, (usize, &'w str))> {
    words.iter().enumerate().filter_map(|(at, (start, word))| {
        if let Some((option, value)) = word.split_once('=').filter(|_| word.starts_with("--")) {
            return Some((option, (start + option.len() + 1, value)));
        }
        if word.starts_with('-') && !word.starts_with("--") && word.len() > 2 && word.is_char_boundary(2) {
            return Some((&word[..2], (start + 2, &word[2..])));
        }
        let value = words.get(at + 1).filter(|_| word.starts_with('-'))?;
        Some((*word, *value))
    })
}

/// Whether a word is the value of the option before it, of those of `perf probe` that have one.
fn is_value(words: &[(usize, &str)], start: usize) -> bool {
    const WITH_VALUE: [&str; 10] =
        ["-m", "--module", "-k", "--vmlinux", "-s", "--source", "-n", "--max-probes", "--symfs", "--filter"];
    words.windows(2).any(|pair| pair[1].0 == start && WITH_VALUE.contains(&pair[0].1))
}

/// The words of a line as a shell has them, with where they start: quotes are taken off.
fn words(line: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = vec![];
    let (mut quote, mut is_open) = (None, false);
    for (at, c) in line.char_indices() {
        let is_quote = matches!(c, '\'' | '"');
        match quote {
            Some(open) if c == open => quote = None,
            None if c.is_whitespace() => is_open = false,
            _ => {
                if !is_open {
                    found.push((at + usize::from(quote.is_none() && is_quote), String::new()));
                    is_open = true;
                }
                match quote.is_none() && is_quote {
                    true => quote = Some(c),
                    false => found.last_mut().expect("a word").1.push(c),
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Vec<String> {
        points(line).unwrap_or_else(|| panic!("{line}")).into_iter().map(|found| found.point).collect()
    }

    #[test]
    fn events_and_functions_of_trace_cmd() {
        let line = "sudo trace-cmd record -e sched:sched_switch -e irq -p function -l 'vfs_*' -g do_sys_open -n other sleep 1";
        assert_eq!(
            of(line),
            [
                "tracepoint:sched:sched_switch",
                "tracepoint:irq:*",
                "kprobe.multi:vfs_*",
                "kprobe.multi:do_sys_open"
            ]
        );
        // Without the tracer they filter nothing.
        assert_eq!(of("trace-cmd start -e all -l vfs_read"), Vec::<String>::new());
        assert_eq!(of("trace-cmd record -esched:sched_wakeup"), ["tracepoint:sched:sched_wakeup"]);
    }

    #[test]
    fn definitions_of_perf_probe() {
        assert_eq!(of("perf probe vfs_read"), ["kprobe:vfs_read"]);
        assert_eq!(of("perf probe --add 'mine=vfs_read%return $retval'"), ["kprobe:vfs_read%return"]);
        assert_eq!(of("perf probe -m ext4 -a 'ext4_sync_file+4 file'"), ["kprobe:ext4:ext4_sync_file+4"]);
        assert_eq!(of("perf probe --module=ext4 ext4_sync_file"), ["kprobe:ext4:ext4_sync_file"]);
        assert_eq!(of("perf probe -x /bin/sh main"), Vec::<String>::new());
        assert_eq!(of("perf probe --del probe:vfs_read"), Vec::<String>::new());
    }

    #[test]
    fn events_of_perf_record() {
        let line = "perf record -e 'sched:sched_switch,cycles:pp,probe:vfs_read' -e kmem:kmalloc -a sleep 1";
        assert_eq!(of(line), ["tracepoint:sched:sched_switch", "probe:vfs_read", "tracepoint:kmem:kmalloc"]);
        let starts: Vec<_> =
            points(line).unwrap().iter().map(|found| &line[found.start..found.start + 4]).collect();
        assert_eq!(starts, ["sche", "prob", "kmem"]);
    }

    #[test]
    fn other_lines_are_none_of_theirs() {
        for line in ["vfs_read", "perf", "perf report", "trace-cmd", "", "'perf", "kernel.function(\"f\")"] {
            assert_eq!(points(line), None, "{line}");
        }
    }
}
