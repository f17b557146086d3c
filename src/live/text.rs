//! Writes and parses the text of a capture.
use super::{Instruction, Live, Module, Patched, Refused, Symbol};
use crate::error::{Error, ErrorKind, Result};
use rustc_hash::FxHashMap;
use std::fmt::Write;

const FIRST: &str = "probeidx capture 1";

pub fn print(live: &Live) -> Vec<u8> {
    let mut out = format!("{FIRST}\n[kernel]\nrelease {}\n", live.release);
    let mut line = |words: std::fmt::Arguments<'_>| {
        let _ = writeln!(out, "{words}");
    };
    if let Some(id) = &live.build_id {
        line(format_args!("build-id {id}"));
    }
    if let Some(text) = live.text {
        line(format_args!("text {text:x}"));
    }
    line(format_args!("[modules]"));
    for module in &live.modules {
        line(format_args!("{} {}", module.name, module.build_id.as_deref().unwrap_or("-")));
    }
    line(format_args!("[sections]"));
    for (module, (name, address)) in live.modules.iter().flat_map(|m| m.sections.iter().map(move |s| (m, s)))
    {
        line(format_args!("{} {name} {address:x}", module.name));
    }
    if let Some(symbols) = &live.symbols {
        line(format_args!("[symbols]"));
        let each = symbols.iter().flat_map(|(name, all)| all.iter().map(move |s| (name, s)));
        let mut all: Vec<_> = each.map(|(name, s)| (&s.module, s.address, s.letter, name)).collect();
        all.sort_unstable();
        for (module, address, letter, name) in all {
            line(format_args!("{address:x} {letter} {name} {module}"));
        }
    }
    if let Some(refused) = &live.refused {
        line(format_args!("[refused]"));
        for Refused { addresses, name } in refused {
            line(format_args!("{:x} {:x} {name}", addresses.start, addresses.end));
        }
    }
    if let Some(code) = &live.code {
        line(format_args!("[code]"));
        for Patched { addresses, instructions } in code {
            let each: String = instructions.iter().map(|(at, i)| format!(" {at}{}", letter(*i))).collect();
            line(format_args!("{:x} {}{each}", addresses.start, addresses.end - addresses.start));
        }
    }
    if let Some(traced) = &live.traced {
        line(format_args!("[traced]"));
        let mut all: Vec<_> = traced.iter().map(|(name, module)| (module, name)).collect();
        all.sort_unstable();
        for (module, name) in all {
            match module {
                Some(module) => line(format_args!("{name} {module}")),
                None => line(format_args!("{name}")),
            }
        }
    }
    line(format_args!("[missing]"));
    for (what, why) in &live.missing {
        line(format_args!("{what} {why}"));
    }
    line(format_args!("[end]"));
    out.into_bytes()
}

pub fn parse(text: &[u8]) -> Result<Live> {
    let damaged = |line: usize, what: &str| {
        let what = format!("line {}: {what}", line + 1);
        Error::new(ErrorKind::Damaged, what).hint("capture again with: probeidx capture FILE")
    };
    let text = std::str::from_utf8(text).map_err(|_| damaged(0, "this is no capture of a running kernel"))?;
    let mut lines = text.lines().enumerate();
    match lines.next() {
        Some((_, FIRST)) => {}
        Some((_, first)) if first.starts_with("probeidx capture ") => {
            return Err(damaged(0, "a capture of another version"));
        }
        _ => return Err(damaged(0, "this is no capture of a running kernel")),
    }
    let mut live = Live::default();
    let mut modules = FxHashMap::default();
    let mut part = "";
    for (number, line) in lines {
        if let Some(named) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            part = named;
            match part {
                "symbols" => live.symbols = Some(Default::default()),
                "refused" => live.refused = Some(vec![]),
                "code" => live.code = Some(vec![]),
                "traced" => live.traced = Some(Default::default()),
                _ => {}
            }
            continue;
        }
        read(&mut live, &mut modules, part, line).ok_or_else(|| damaged(number, "it cannot be read"))?;
    }
    if part != "end" {
        return Err(damaged(text.lines().count(), "the end of the capture is missing"));
    }
    live.modules.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(refused) = &mut live.refused {
        refused.sort_by_key(|r| (r.addresses.start, r.addresses.end));
    }
    if let Some(code) = &mut live.code {
        code.sort_by_key(|patched| patched.addresses.start);
    }
    Ok(live)
}

/// What stands behind the distance of an instruction.
fn letter(instruction: Instruction) -> &'static str {
    match instruction {
        Instruction::Taken => "",
        Instruction::Unsupported => "!",
        Instruction::Trap => "t",
    }
}

fn instruction(word: &str) -> Option<(u32, Instruction)> {
    let digits = word.trim_end_matches(['!', 't']);
    let instruction = [Instruction::Taken, Instruction::Unsupported, Instruction::Trap]
        .into_iter()
        .find(|instruction| letter(*instruction) == &word[digits.len()..])?;
    Some((digits.parse().ok()?, instruction))
}

/// Parses a line of a part; parts that a later version may add are skipped. `modules` are those of `live`, by name.
fn read<'t>(
    live: &mut Live,
    modules: &mut FxHashMap<&'t str, usize>,
    part: &str,
    line: &'t str,
) -> Option<()> {
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    let address = |word: &str| u64::from_str_radix(word, 16).ok();
    let mut words = rest.split(' ');
    match part {
        "kernel" => match first {
            "release" => rest.clone_into(&mut live.release),
            "build-id" => live.build_id = Some(rest.to_owned()),
            "text" => live.text = Some(address(rest)?),
            _ => {}
        },
        "modules" => {
            let build_id = Some(rest).filter(|id| *id != "-").map(str::to_owned);
            if modules.insert(first, live.modules.len()).is_some() {
                return None;
            }
            live.modules.push(Module { name: first.to_owned(), build_id, sections: vec![] });
        }
        "sections" => {
            let section = (words.next()?.to_owned(), address(words.next()?)?);
            live.modules[*modules.get(first)?].sections.push(section);
        }
        "symbols" => {
            let (letter, name) = (words.next()?.chars().next()?, words.next()?);
            let symbol = Symbol { module: words.next()?.to_owned(), address: address(first)?, letter };
            live.symbols.as_mut()?.entry(name.to_owned()).or_default().push(symbol);
        }
        "refused" => {
            let end = address(words.next()?)?;
            let name = words.next()?.to_owned();
            live.refused.as_mut()?.push(Refused { addresses: address(first)?..end, name });
        }
        "code" => {
            let (start, length) = (address(first)?, words.next()?.parse::<u64>().ok()?);
            let instructions = words.map(instruction).collect::<Option<_>>()?;
            let addresses = start..start.checked_add(length)?;
            live.code.as_mut()?.push(Patched { addresses, instructions });
        }
        "traced" => {
            let module = Some(rest).filter(|module| !module.is_empty()).map(str::to_owned);
            live.traced.as_mut()?.insert((first.to_owned(), module));
        }
        "missing" => live.missing.push((first.to_owned(), rest.to_owned())),
        _ => {}
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::Range;

    fn whole() -> Live {
        let symbol = Symbol { module: "overlay".to_owned(), address: 0x2000, letter: 't' };
        Live {
            release: "6.1.0-test".to_owned(),
            build_id: Some("00ff".to_owned()),
            text: Some(0xffff_ffff_8100_0000),
            modules: vec![Module {
                name: "overlay".to_owned(),
                build_id: None,
                sections: vec![(".text".to_owned(), 0x2000)],
            }],
            symbols: Some([("ovl_open".to_owned(), vec![symbol.clone(), symbol])].into_iter().collect()),
            refused: Some(vec![Refused { addresses: 0x10..0x20, name: "entry".to_owned() }]),
            traced: Some(
                [("vfs_read".to_owned(), None), ("ovl_open".to_owned(), Some("overlay".to_owned()))]
                    .into_iter()
                    .collect(),
            ),
            code: Some(vec![
                Patched { addresses: 0x20..0x20, instructions: vec![] },
                Patched {
                    addresses: 0x30..0x39,
                    instructions: vec![
                        (0, Instruction::Taken),
                        (3, Instruction::Unsupported),
                        (5, Instruction::Trap),
                    ],
                },
            ]),
            missing: vec![("x".to_owned(), "not allowed (13)".to_owned())],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for live in
            [whole(), Live { symbols: None, refused: None, traced: None, code: None, text: None, ..whole() }]
        {
            assert_eq!(parse(&print(&live)).unwrap(), live);
        }
    }

    #[test]
    fn instructions_of_patched_code_are_found_by_address() {
        let live = whole();
        let found = [0x2f, 0x30, 0x31, 0x33, 0x35, 0x38, 0x39].map(|address| live.instruction(address));
        let there = |instruction| Some(Some(instruction));
        let [taken, refused, trap] =
            [Instruction::Taken, Instruction::Unsupported, Instruction::Trap].map(there);
        assert_eq!(found, [None, taken, Some(None), refused, trap, Some(None), None]);
        assert_eq!(Live { code: None, ..live }.instruction(0x30), None);
    }

    #[test]
    fn a_text_that_ends_early_is_no_capture() {
        let text = print(&whole());
        for length in 0..text.len() - 1 {
            assert!(parse(&text[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn modules_stand_once_and_before_their_sections() {
        let text = String::from_utf8(print(&whole())).unwrap();
        for (what, instead) in [
            ("overlay -\n", "overlay -\noverlay 00ff\n"),
            ("overlay -\n", ""),
            ("overlay .text", "other .text"),
        ] {
            assert!(parse(text.replace(what, instead).as_bytes()).is_err(), "{instead}");
        }
    }

    #[test]
    fn what_is_refused_is_told_in_ranges_that_do_not_touch() {
        let refused = |ranges: &[Range<u64>]| {
            let each =
                |addresses: &Range<u64>| Refused { addresses: addresses.clone(), name: "x".to_owned() };
            Live { refused: Some(ranges.iter().map(each).collect()), ..whole() }.refused_ranges()
        };
        assert_eq!(refused(&[1..9, 2..3, 9..12, 20..30, 20..25]), Some(vec![1..12, 20..30]));
        assert_eq!(Live { refused: None, ..whole() }.refused_ranges(), None);
    }

    #[test]
    fn what_a_later_version_adds_to_it_is_passed_over() {
        let text =
            String::from_utf8(print(&whole())).unwrap().replace("[missing]", "[new]\nx y z\n[missing]");
        assert_eq!(parse(text.as_bytes()).unwrap(), whole());
    }
}
