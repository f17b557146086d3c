//! Text as patterns, specs and arguments: first what is to be done, then the spec, then a line for each argument.
#![no_main]
use libfuzzer_sys::fuzz_target;
use probeidx::cli::args::{Blacklist, Command, Complete, Find, Resolve, Tapset};
use probeidx::pattern::Pattern;
use probeidx::query::spec::{self, argument};
use probeidx_fuzz::ask::{self, Asked};
use probeidx_fuzz::file::Unnamed;
use probeidx_fuzz::index::SMALL;
use std::sync::LazyLock;

static INDEX: LazyLock<Unnamed> = LazyLock::new(|| Unnamed::new(SMALL));

fuzz_target!(|data: &[u8]| {
    let Some((&what, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let mut lines = text.split('\n').map(str::to_owned);
    let spec = lines.next().unwrap_or_default();
    let args: Vec<String> = lines.take(8).collect();

    // What a pattern is printed as means the same; a literal is printed without its escapes.
    if let Ok(pattern) = Pattern::new(&spec)
        && !pattern.is_literal()
    {
        let again = Pattern::new(&pattern.to_string()).expect("it was one");
        for name in args.iter().chain([&spec]) {
            assert_eq!(
                pattern.matches(name.as_bytes()),
                again.matches(name.as_bytes()),
                "{pattern} of {name:?}"
            );
        }
    }
    let _ = spec::parse(&spec);
    for argument in &args {
        let _ = argument::parse(argument);
    }

    let patterns = || [&[spec.clone()][..], &args].concat();
    let command = match what >> 1 & 15 {
        form @ 0..6 => ask::resolve(spec, args, form.into()),
        6 => Command::Find(Find { patterns: patterns(), args: true, each: false, locals: false }),
        7 => Command::Find(Find { patterns: patterns(), args: true, each: true, locals: true }),
        8 => ask::lines(spec),
        9 => ask::type_of(spec, false),
        10 => ask::type_of(spec, true),
        11 => Command::Blacklist(Blacklist { modules: patterns(), all: false }),
        12 => Command::Tapset(Tapset { patterns: patterns(), functions: false, macros: false, all: true }),
        13 => Command::Tapset(Tapset { patterns: patterns(), functions: true, macros: false, all: true }),
        14 => Command::Complete(Complete { words: patterns(), line: None, breaks: None }),
        _ => {
            let defined = args.into_iter().next();
            let (format, args) = (probeidx::cli::args::Format::Text, vec![]);
            Command::Resolve(Resolve { spec, args, format, locals: false, defined, live: None })
        }
    };
    ask::ask(&INDEX.path(), &command, Asked { input: b"", json: what & 1 == 1 });
});
