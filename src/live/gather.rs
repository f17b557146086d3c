//! Captures the state of the running kernel.
use super::{Live, Module, Refused, Symbol};
use crate::build_id::hex;
use crate::error::{Error, Result};
use std::io::{Error as Failed, ErrorKind as Io};
use std::path::Path;

type Read<T> = std::result::Result<T, Failed>;

/// Captures the kernel whose files are below `root`, which is `/` for the running one. What only root may read is
/// missing for other users, and is listed.
///
/// # Errors
/// [`ErrorKind::Io`](crate::error::ErrorKind::Io) if even the release cannot be read.
pub fn gather(root: &Path) -> Result<Live> {
    let release = root.join("proc/sys/kernel/osrelease");
    let read =
        std::fs::read_to_string(&release).map_err(|e| Error::io(&release, "read the kernel's release", e))?;
    let mut live = Live { release: read.trim().to_owned(), ..Live::default() };
    let id = build_id(&root.join("sys/kernel/notes")).map(|id| hex(&id));
    live.build_id = noted(&mut live.missing, "build-id", id);
    let listed = noted(&mut live.missing, "symbols", kallsyms(&root.join("proc/kallsyms")));
    if let Some((text, symbols)) = listed {
        (live.text, live.symbols) = (Some(text), Some(symbols));
    }
    live.modules = noted(&mut live.missing, "modules", modules(root)).unwrap_or_default();
    if !live.modules.is_empty() && live.modules.iter().all(|m| m.sections.is_empty()) {
        live.missing.push(("sections".to_owned(), "the kernel hides where modules lie".to_owned()));
    }
    let debug = root.join("sys/kernel/debug");
    live.refused = noted(&mut live.missing, "refused", refused(&debug.join("kprobes/blacklist")));
    let traced = traced(&root.join("sys/kernel/tracing/available_filter_functions"))
        .or_else(|_| traced(&debug.join("tracing/available_filter_functions")));
    live.traced = noted(&mut live.missing, "traced", traced);
    Ok(live)
}

fn noted<T>(missing: &mut Vec<(String, String)>, what: &str, read: Read<T>) -> Option<T> {
    read.inspect_err(|failed| missing.push((what.to_owned(), failed.to_string()))).ok()
}

fn wrong(what: &str) -> Failed {
    Failed::new(Io::InvalidData, what)
}

/// The build id in ELF notes, in the byte order of the machine: the name and content of a note are padded to four
/// bytes.
pub(crate) fn build_id(path: &Path) -> Read<Vec<u8>> {
    const NT_GNU_BUILD_ID: u32 = 3;
    let notes = std::fs::read(path)?;
    let mut rest = &notes[..];
    while let Some((head, after)) = rest.split_at_checked(12) {
        let word = |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let padded = |length: u32| (length as usize).next_multiple_of(4);
        let note = after.split_at_checked(padded(word(0))).and_then(|(name, after)| {
            let (content, after) = after.split_at_checked(padded(word(4)))?;
            Some((name, content.get(..word(4) as usize)?, after))
        });
        let Some((name, content, after)) = note else { break };
        if word(8) == NT_GNU_BUILD_ID && name == b"GNU\0" {
            return Ok(content.to_owned());
        }
        rest = after;
    }
    Err(wrong("there is no build id in it"))
}

type Symbols = rustc_hash::FxHashMap<String, Vec<Symbol>>;

/// The address of `_stext`, which all kernels keep, and the symbols of modules. On x86-64, `_text` is the same.
fn kallsyms(path: &Path) -> Read<(u64, Symbols)> {
    let text = std::fs::read_to_string(path)?;
    let (mut base, mut symbols) = (None, Symbols::default());
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(address), Some(letter), Some(name)) = (words.next(), words.next(), words.next()) else {
            return Err(wrong("a line of it is no symbol"));
        };
        let address = u64::from_str_radix(address, 16).map_err(|_| wrong("a line of it is no symbol"))?;
        let module = words.next().and_then(|m| m.strip_prefix('[')?.strip_suffix(']'));
        match (module, name) {
            (None, "_stext") => base = Some(address),
            (None, "_text") => base = base.or(Some(address)),
            (None, _) => {}
            (Some(module), _) => {
                let letter = letter.chars().next().unwrap_or('?');
                let symbol = Symbol { module: module.to_owned(), address, letter };
                symbols.entry(name.to_owned()).or_default().push(symbol);
            }
        }
    }
    match base {
        Some(0) => Err(wrong("the kernel hides all addresses (kptr_restrict); capture as root")),
        None => Err(wrong("there is no _stext in it")),
        Some(base) => Ok((base, symbols)),
    }
}

/// The loaded modules, by name.
pub(crate) fn modules(root: &Path) -> Read<Vec<Module>> {
    let listed = std::fs::read_to_string(root.join("proc/modules"))?;
    let mut modules: Vec<Module> = listed
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().next())
        .map(|name| {
            let folder = root.join("sys/module").join(name);
            Module {
                name: name.to_owned(),
                build_id: build_id(&folder.join("notes/.note.gnu.build-id")).ok().map(|id| hex(&id)),
                sections: sections(&folder.join("sections")).unwrap_or_default(),
            }
        })
        .collect();
    modules.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(modules)
}

/// There is a file for each section with its address, or 0 for unprivileged users.
fn sections(folder: &Path) -> Read<Vec<(String, u64)>> {
    let mut found = vec![];
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let text = std::fs::read_to_string(entry.path())?;
        let address = u64::from_str_radix(text.trim().trim_start_matches("0x"), 16);
        if let (Ok(address @ 1..), Ok(name)) = (address, entry.file_name().into_string()) {
            found.push((name, address));
        }
    }
    found.sort();
    Ok(found)
}

/// `0xSTART-0xEND\tNAME` (kernel/kprobes.c of 6.1, `kprobe_blacklist_seq_show`).
fn refused(path: &Path) -> Read<Vec<Refused>> {
    let text = std::fs::read_to_string(path)?;
    let hexadecimal = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    let one = |line: &str| {
        let (range, name) = line.split_once(char::is_whitespace)?;
        let (start, end) = range.split_once('-')?;
        Some(Refused { addresses: hexadecimal(start)?..hexadecimal(end)?, name: name.trim().to_owned() })
    };
    let mut all: Vec<Refused> =
        text.lines().map(one).collect::<Option<_>>().ok_or_else(|| wrong("a line of it is no range"))?;
    if !all.is_empty() && all.iter().all(|r| r.addresses.start == 0) {
        return Err(wrong("the kernel hides all addresses (kptr_restrict); capture as root"));
    }
    all.sort_by_key(|r| (r.addresses.start, r.addresses.end));
    Ok(all)
}

/// `NAME` or `NAME [MODULE]`. Functions discarded since are listed as `__ftrace_invalid_address___N`
/// (kernel/trace/ftrace.c of 6.1).
fn traced(path: &Path) -> Read<rustc_hash::FxHashSet<(String, Option<String>)>> {
    let text = std::fs::read_to_string(path)?;
    let all = text.lines().filter(|line| !line.starts_with("__ftrace_invalid_address"));
    Ok(all
        .filter_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let name = words.next()?.to_owned();
            let module = words.next().and_then(|m| m.strip_prefix('[')?.strip_suffix(']'));
            Some((name, module.map(str::to_owned)))
        })
        .collect())
}
