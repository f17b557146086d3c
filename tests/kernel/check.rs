//! Scripts against a real kernel: two that have to be right on every kernel, and those that SystemTap ships, where
//! `check` and `stap -p2` have to agree or the difference is decided here.
use crate::installed::{self, Kernel, needed, say};
use crate::sample::{seed, some};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where systemtap-doc puts its examples.
const EXAMPLES: &str = "/usr/share/systemtap/examples";

/// How many of them a run compares, others in each.
const SAMPLE: usize = 8;

/// A difference that is decided: its name, and which scripts it is about.
struct Class {
    name: &'static str,
    holds: fn(&Call, &Said) -> bool,
}

const CLASSES: [Class; 5] = [
    // SystemTap looks for the program on this machine; the index of a kernel cannot tell of it, and says that.
    Class { name: "program", holds: |_, said| said.ours.contains("not indexed") },
    // SystemTap compiles a header to find a type, relative to where the kernel was built; the type is in the kernel.
    Class { name: "header", holds: |call, _| call.file.ends_with("general/sizeof.stp") },
    // The tracepoint is a module's, and its header lies where SystemTap 4.8 does not look; the index has the module.
    Class { name: "tracepoint of a module", holds: |call, _| call.file.ends_with("kvm_service_time.stp") },
    // Its tapset lies beside it (`stap -I`): the index holds those that it was built with.
    Class { name: "own tapset", holds: |call, _| call.options.iter().any(|option| option.starts_with("-I")) },
    // Called with `-x 1`, SystemTap hangs while it compiles its tracepoint headers; then or once that is ended, it finds no
    // tracepoint of those that the kernel has.
    Class {
        name: "tracepoint headers not compiled",
        holds: |call, said| said.theirs.starts_with("124") || call.file.ends_with("process/noptrace.stp"),
    },
];

/// How a script is called: its `.meta` says it.
struct Call {
    file: PathBuf,
    options: Vec<String>,
    arguments: Vec<String>,
}

struct Said {
    ours: String,
    theirs: String,
}

#[test]
fn the_slab_monitor_and_the_fault_monitor_are_right() {
    let kernels = [needed(installed::kernel()), installed::wanted(installed::newer())];
    for kernel in kernels.iter().flatten() {
        let (code, text) = check(kernel, &fixture("faults.stp"), &[]);
        assert_eq!(code, 0, "{text}");
        let (code, text) = check(kernel, &fixture("slab.stp"), &[]);
        assert_eq!(code, 0, "{text}");
        // Inlined wherever the size is known, so that a probe on the symbol alone misses most of it.
        let warned = text.lines().any(|l| l.contains("kmalloc") && l.contains("are inlined copies"));
        assert!(warned, "{text}");
        // Copies in functions that run at start alone.
        assert!(text.contains("are gone once the kernel runs, and left out"), "{text}");
    }
}

#[test]
fn the_examples_of_systemtap_resolve_where_systemtap_says_so() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    let Some(calls) = needed(calls()) else { return };
    let seed = seed();
    let calls = some(calls, SAMPLE, seed);
    let (mut agree, mut decided, mut undecided) = (0, vec![], vec![]);
    for call in &calls {
        let Some(theirs) = needed(stap(&kernel, call)) else { return };
        let guru = call.options.iter().any(|option| option == "-g");
        let mut options: Vec<String> = call.arguments.iter().map(|a| format!("--arg={a}")).collect();
        options.extend(guru.then(|| "--guru".to_owned()));
        let (code, ours) = check(&kernel, &call.file, &options);
        if (code == 0) == theirs.starts_with("0\n") {
            agree += 1;
            continue;
        }
        let said = Said { ours, theirs };
        match CLASSES.iter().find(|class| (class.holds)(call, &said)) {
            Some(class) => decided.push((class.name, call.file.display().to_string())),
            None => undecided.push(format!("{}\n{}\n{}", call.file.display(), said.ours, said.theirs)),
        }
    }
    say(&format!(
        "{}: {agree} of {} examples agree with stap -p2 (PROBEIDX_SEED={seed}); decided: {decided:?}",
        kernel.release,
        calls.len()
    ));
    assert!(undecided.is_empty(), "{} differ:\n{}", undecided.len(), undecided.join("\n"));
}

/// The exit code of `check`, and all that it prints.
fn check(kernel: &Kernel, file: &Path, options: &[String]) -> (i32, String) {
    let ran = Command::new(installed::program())
        .arg("check")
        .arg(file)
        .args(options)
        .arg("--db")
        .arg(installed::index(kernel))
        .output()
        .expect("probeidx can be run");
    let text = [ran.stdout, ran.stderr].concat();
    (ran.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/check").join(name)
}

/// The examples with the command lines that their `.meta` gives.
fn calls() -> Result<Vec<Call>, String> {
    let mut files = vec![];
    let mut folders = vec![PathBuf::from(EXAMPLES)];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            match path.is_dir() {
                true => folders.push(path),
                false => files.extend(Some(path).filter(|path| path.extension().is_some_and(|e| e == "stp"))),
            }
        }
    }
    files.sort();
    Ok(files.into_iter().map(call).collect())
}

fn call(file: PathBuf) -> Call {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let meta = std::fs::read(file.with_extension("meta")).unwrap_or_default();
    let meta = String::from_utf8_lossy(&meta).into_owned();
    let mut lines = meta.lines().filter_map(|line| line.strip_prefix("test_check:"));
    let line = lines.find(|line| line.contains("stap") && line.contains(&name)).unwrap_or_default();
    let (mut options, mut arguments, mut behind) = (vec![], vec![], false);
    let mut words = words(line).into_iter().skip(1);
    while let Some(word) = words.next() {
        match &*word {
            _ if !behind && word == name => behind = true,
            "-x" | "-c" | "-d" => options.extend([word.clone(), words.next().unwrap_or_default()]),
            _ if word.starts_with("--") => options.push(word),
            // `-gp4` is `-g -p4`: how far to go is ours to say.
            _ if word.starts_with('-')
                && word.trim_end_matches(|c: char| c.is_ascii_digit()).ends_with('p') =>
            {
                let others = word.chars().skip(1).filter(|c| *c != 'p' && !c.is_ascii_digit());
                options.extend(others.map(|option| format!("-{option}")));
            }
            _ if word.starts_with('-') => options.push(word),
            _ => arguments.push(word),
        }
    }
    Call { file, options, arguments }
}

/// The words of a command line, as a shell has them; what a command or variable would give is a plain number.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (vec![], None::<String>, None);
    for c in line.replace("$$", "1").chars() {
        match (quote, c) {
            (Some(open), _) if open == c => {
                quote = None;
                if c == '`' {
                    word = Some(format!("{}1", word.unwrap_or_default()));
                }
            }
            (Some('`'), _) => {}
            (None, '\'' | '"' | '`') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The exit code of `stap -p2` in the first line, and what it said. It takes up to a minute for a script, and is kept.
fn stap(kernel: &Kernel, call: &Call) -> Result<String, String> {
    let folder =
        std::env::var_os("PROBEIDX_ORACLE").map_or_else(|| installed::scratch("oracle"), PathBuf::from);
    let name = call.file.display().to_string().replace('/', "+");
    let kept = folder.join(format!("{}-p2-{name}.txt", kernel.release));
    if let Ok(text) = std::fs::read_to_string(&kept) {
        return Ok(text);
    }
    let ran = Command::new("timeout")
        .args(["300", "stap", "-p2", "-r", &kernel.release])
        .args(&call.options)
        .arg(&call.file)
        .args(&call.arguments)
        .current_dir(call.file.parent().unwrap_or(Path::new("/")))
        .stdin(std::process::Stdio::null())
        .output()
        .map_err(|e| format!("cannot run stap: {e}"))?;
    let code = ran.status.code().unwrap_or(-1);
    let text = format!("{code}\n{}", String::from_utf8_lossy(&ran.stderr));
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&kept, &text))
        .map_err(|e| format!("{}: {e}", kept.display()))?;
    Ok(text)
}
