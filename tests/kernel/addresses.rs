//! Functions, inlined calls, files and lines of random addresses of a whole kernel and of modules are those that
//! llvm-symbolizer and eu-addr2line tell.
//!
//! Where these differ from one another, somebody else decides (binutils' addr2line for modules). What is left is named:
//! between functions there is only padding, of which line tables go on to tell the line before; llvm calls an out-of-line
//! function as the symbol table does (`do_open.isra.0`), eu-addr2line calls code that only the symbol table knows as the
//! nearest symbol with a size.
use crate::installed::{self, Kernel, needed, wanted};
use probeidx::query::Index;
use probeidx::query::index::{functions, symbols};
use probeidx::query::symbolize::frames::{Cursor, Ground, Where};
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use probeidx_format::record::{SectionRecord, SymbolRecord};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Addresses of vmlinux for llvm-symbolizer, which takes a second for 10,000.
const OF_VMLINUX: usize = 20_000;
/// One in so many of them for eu-addr2line, which takes several seconds for 1,000.
const SLOW: usize = 32;
/// One in so many modules, and addresses of each of their sections.
const MODULES: usize = 40;
const OF_SECTION: usize = 40;

#[test]
fn addresses_of_the_installed_kernel_are_those_of_other_readers() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    agree(&kernel);
}

#[test]
fn addresses_of_a_newer_kernel_are_those_of_other_readers() {
    let Some(kernel) = wanted(installed::newer()) else { return };
    agree(&kernel);
}

/// A function with file, line and column; empty or 0 where they are not known.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Level {
    function: String,
    file: String,
    line: u32,
    column: u32,
}

fn agree(kernel: &Kernel) {
    let index = Index::open(&installed::index(kernel)).unwrap_or_else(|e| panic!("{e}"));
    let view = index.view().unwrap_or_else(|e| panic!("{e}"));
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut counted = Counted::default();
    vmlinux(kernel, &view, &mut random, &mut counted);
    let modules: Vec<ObjectId> =
        view.object_ids().filter(|o| Some(*o) != functions::kernel(&view)).step_by(MODULES).collect();
    for module in modules {
        of_module(&view, module, &mut random, &mut counted);
    }
    installed::say(&format!("{}: {counted:?}", kernel.release));
    assert!(counted.same > OF_VMLINUX / 2, "{counted:?}");
    assert_eq!(counted.ours_alone, 0, "{counted:?}");
}

/// How the readers agree.
#[derive(Debug, Default)]
struct Counted {
    same: usize,
    padding: usize,
    /// Of eu-addr2line, where another reader says what we say.
    theirs_alone: usize,
    ours_alone: usize,
}

fn vmlinux(kernel: &Kernel, view: &View<'_>, random: &mut Random, counted: &mut Counted) {
    let Some(object) = functions::kernel(view) else { panic!("vmlinux is indexed") };
    let sections: Vec<SectionRecord> =
        view.sections_of(object).iter().filter(|s| symbols::is_executable(*s)).collect();
    let size: u64 = sections.iter().map(|s| s.size.get()).sum();
    let mut pcs = vec![];
    for _ in 0..OF_VMLINUX {
        let mut offset = random.below(size);
        for section in &sections {
            if offset < section.size.get() {
                pcs.push(section.pc.get() + offset as u32);
                break;
            }
            offset -= section.size.get();
        }
    }
    let addresses: Vec<u64> = pcs.iter().map(|pc| symbols::address(view, object, *pc)).collect();
    let llvm = needed(llvm_symbolizer(&kernel.vmlinux, &addresses));
    let slow: Vec<u64> = addresses.iter().copied().step_by(SLOW).collect();
    let Some(elfutils) = needed(eu_addr2line(&kernel.vmlinux, None, &slow)) else { return };
    let mut cursor = Cursor::new(view);
    for (at, pc) in pcs.iter().enumerate() {
        let place = cursor.at(object, *pc);
        let ours = levels(place);
        let own = view.symbols.part(view.symbols_of(object));
        let at_symbol = |s: &SymbolRecord| place.symbol.is_some_and(|(held, _)| held.record.pc == s.pc);
        let names: Vec<String> = own.iter().filter(at_symbol).map(|s| text(view.string(s.name))).collect();
        let same_as_llvm = llvm.as_ref().map(|llvm| is_same(&ours, &llvm[at], &names));
        let theirs = elfutils.get(at / SLOW).filter(|_| at.is_multiple_of(SLOW));
        let same = theirs.is_none_or(|theirs| is_same(&ours, theirs, &names));
        if place.ground == Ground::Padding {
            // What is copied over other instructions has lines, and no function.
            let is_copied = place.section.is_some_and(|s| view.string(s.name).starts_with(b".altinstr"));
            let knows = |levels: &[Level]| levels.first().is_some_and(is_function);
            let known =
                llvm.as_ref().is_some_and(|llvm| knows(&llvm[at])) || theirs.is_some_and(|t| knows(t));
            assert!(
                !known || is_copied,
                "{:#x} is padding: {:?} {theirs:?}",
                addresses[at],
                llvm.as_ref().map(|l| &l[at])
            );
            counted.padding += 1;
            continue;
        }
        match (same_as_llvm, same) {
            (Some(true) | None, true) => counted.same += 1,
            (Some(true), false) => counted.theirs_alone += 1,
            _ => {
                let llvm = llvm.as_ref().map(|llvm| &llvm[at]);
                installed::say(&format!("{:#x}: {ours:?} {llvm:?} {theirs:?}", addresses[at]));
                counted.ours_alone += 1;
            }
        }
    }
}

fn of_module(view: &View<'_>, object: ObjectId, random: &mut Random, counted: &mut Counted) {
    let path = text(view.string(view.objects[object.index()].path));
    let sections = view.sections_of(object).iter().filter(|s| symbols::is_executable(*s) && s.size.get() > 0);
    let mut cursor = Cursor::new(view);
    // elfutils calls padding as any symbol close to it, be it data.
    let reaches = |level: &Level, pc: u32| {
        let holds = |s: &SymbolRecord| pc.checked_sub(s.pc.get()).is_some_and(|offset| offset < s.size.get());
        let mut own =
            view.symbols.part(view.symbols_of(object)).iter().filter(|s| s.is_function() && holds(s));
        own.any(|s| view.string(s.name) == level.function.as_bytes())
    };
    for section in sections {
        let offsets: Vec<u64> = (0..OF_SECTION).map(|_| random.below(section.size.get())).collect();
        let name = text(view.string(section.name));
        let Some(theirs) = needed(eu_addr2line(Path::new(&path), Some(&name), &offsets)) else { return };
        for (offset, theirs) in offsets.iter().zip(theirs) {
            let place = cursor.at(object, section.pc.get() + *offset as u32);
            let ours = levels(place);
            if place.ground == Ground::Padding {
                assert!(
                    theirs.first().is_none_or(|l| !is_function(l) || !reaches(l, place.pc)),
                    "{path} {name}+{offset:#x}: {theirs:?}"
                );
                counted.padding += 1;
            } else if is_same(&ours, &theirs, &[]) {
                counted.same += 1;
            } else {
                let judge = needed(addr2line(Path::new(&path), &name, *offset));
                let lines = |levels: &[Level]| -> Vec<(String, u32)> {
                    levels.iter().map(|l| (l.function.clone(), l.line)).collect()
                };
                if judge.is_some_and(|judge| lines(&judge) == lines(&ours)) {
                    counted.theirs_alone += 1;
                } else {
                    installed::say(&format!("{path} {name}+{offset:#x}: {ours:?} {theirs:?}"));
                    counted.ours_alone += 1;
                }
            }
        }
    }
}

/// Whether a reader tells a function of which it knows the line; the padding before one is none.
fn is_function(level: &Level) -> bool {
    level.line > 0
        && !level.function.is_empty()
        && !probeidx::symbol_name::is_prefix(level.function.as_bytes())
}

fn levels(place: &Where<'_>) -> Vec<Level> {
    let level = |l: &probeidx::query::symbolize::frames::Level<'_>| Level {
        function: text(l.function),
        file: text(l.file),
        line: l.line,
        column: l.column,
    };
    place.chain.iter().map(level).collect()
}

/// Whether two readers say the same; the outermost function may bear the name of one of its symbols.
fn is_same(ours: &[Level], theirs: &[Level], symbols: &[String]) -> bool {
    let same = |at: usize, (a, b): (&Level, &Level)| {
        let is_outermost = at + 1 == ours.len();
        // Code that no debug information describes has no line, or one and a nearby symbol.
        let is_undescribed = ours.len() == 1 && symbols.contains(&a.function) && a.column == 0;
        let same_name =
            a.function == b.function || (is_outermost && symbols.contains(&b.function)) || is_undescribed;
        same_name && is_same_file(&a.file, &b.file) && (a.line, a.column) == (b.line, b.column)
    };
    ours.len() == theirs.len() && ours.iter().zip(theirs).enumerate().all(|(at, pair)| same(at, pair))
}

/// One may say the folder too in which it was compiled.
fn is_same_file(ours: &str, theirs: &str) -> bool {
    let parts = |path: &str| -> Vec<String> {
        let mut parts: Vec<String> = vec![];
        for part in path.split('/').filter(|p| !p.is_empty() && *p != ".") {
            match part {
                ".." if !parts.is_empty() => drop(parts.pop()),
                part => parts.push(part.to_owned()),
            }
        }
        parts
    };
    let (ours, theirs) = (parts(ours), parts(theirs));
    ours.ends_with(&theirs) || theirs.ends_with(&ours)
}

fn llvm_symbolizer(file: &Path, addresses: &[u64]) -> Result<Vec<Vec<Level>>, String> {
    let mut c = Command::new("llvm-symbolizer");
    c.arg(format!("--obj={}", file.display())).arg("--inlines");
    let out = asked(c, addresses)?;
    Ok(out.trim_end().split("\n\n").map(pairs).collect())
}

fn eu_addr2line(file: &Path, section: Option<&str>, addresses: &[u64]) -> Result<Vec<Vec<Level>>, String> {
    let mut c = Command::new("eu-addr2line");
    c.args(["-a", "-f", "-i", "--relative", "-e"]).arg(file);
    if let Some(section) = section {
        c.args(["-j", section]);
    }
    Ok(blocks(&asked(c, addresses)?))
}

fn addr2line(file: &Path, section: &str, offset: u64) -> Result<Vec<Level>, String> {
    let mut c = Command::new("addr2line");
    c.args(["-a", "-f", "-i", "-j", section, "-e"]).arg(file);
    blocks(&asked(c, &[offset])?).pop().ok_or_else(|| "addr2line says nothing".to_owned())
}

/// What a program says of addresses that it reads.
fn asked(mut command: Command, addresses: &[u64]) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = child.map_err(|e| format!("cannot run {name}: {e}"))?;
    let lines: String = addresses.iter().map(|a| format!("{a:#x}\n")).collect();
    let mut stdin = child.stdin.take().ok_or("no pipe")?;
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let out = child.wait_with_output().map_err(|e| e.to_string())?;
    let written = writer.join().map_err(|_| "the writer failed".to_owned())?;
    written.map_err(|e| format!("{name} does not read: {e}"))?;
    Ok(text(&out.stdout))
}

/// Blocks that each start with an address.
fn blocks(text: &str) -> Vec<Vec<Level>> {
    let mut found = vec![];
    let lines: Vec<&str> = text.lines().collect();
    for block in lines.chunk_by(|_, b| !b.starts_with("0x")) {
        found.push(pairs(&block[1..].join("\n")));
    }
    found
}

/// Lines with a function, each followed by one with file, line and perhaps column.
fn pairs(block: &str) -> Vec<Level> {
    let known = |text: &str| if text == "??" { String::new() } else { text.to_owned() };
    let lines: Vec<&str> = block.lines().collect();
    let level = |pair: &[&str]| {
        let (function, place) = (pair[0].split(' ').next()?, pair.get(1)?.split(" (").next()?);
        let mut parts = place.rsplitn(3, ':');
        let mut number = || parts.next().map(|n| n.parse().unwrap_or(0));
        let (last, before) = (number()?, number());
        let rest = parts.next();
        let (file, line, column) = match (rest, before) {
            (Some(file), Some(line)) => (file, line, last),
            _ => (place.rsplit_once(':')?.0, last, 0),
        };
        let (file, column) = if line == 0 { ("??", 0) } else { (file, column) };
        Some(Level { function: known(function), file: known(file), line, column })
    };
    lines.chunks(2).filter_map(level).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A sequence that looks random (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % bound
    }
}
