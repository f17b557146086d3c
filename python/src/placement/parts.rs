//! What a placement consists of.
use crate::record::record;
use crate::to_python::Tree;
use probeidx::render::steps::Step;
use probeidx::render::{aliases, json, tracepoint};
use std::collections::BTreeMap;

record! {
    /// The source line that an address belongs to.
    Source(json::Source), |it| format!("{}:{}:{}", it.file, it.line, it.column);
    /// The path as the line table has it.
    file: &str = &it.file;
    /// From 1.
    line: u32 = it.line;
    /// From 1; 0 if unknown.
    column: u32 = it.column;
    /// Whether the compiler recommends it for breakpoints.
    is_stmt: bool = it.is_stmt;
    /// Whether it is the address that SystemTap probes for the line.
    systemtap: bool = it.systemtap;
}

record! {
    /// A call that was inlined.
    Call(json::Call), |it| format!("in {} at {}:{}", it.function, it.file, it.line);
    /// The caller.
    function: &str = &it.function;
    /// The file of the call.
    file: &str = &it.file;
    /// From 1; 0 if unknown.
    line: u32 = it.line;
    /// From 1; 0 if unknown.
    column: u32 = it.column;
}

record! {
    /// What to write to the kernel: a symbol that stands once, and an offset; of a program, a path and an offset in the file.
    Anchor(json::Anchor), |it| written(it);
    /// The module; None for vmlinux.
    module: Option<&str> = match it { json::Anchor::Symbol { module, .. } => module.as_deref(), json::Anchor::File { .. } => None };
    /// The symbol.
    symbol: Option<&str> = match it { json::Anchor::Symbol { symbol, .. } => Some(symbol), json::Anchor::File { .. } => None };
    /// The path of a program.
    path: Option<&str> = match it { json::Anchor::Symbol { .. } => None, json::Anchor::File { path, .. } => Some(path) };
    /// In bytes.
    offset: u64 = match it { json::Anchor::Symbol { offset, .. } => u64::from(*offset), json::Anchor::File { offset, .. } => *offset };
    /// As ``kprobe_events`` and ``uprobe_events`` take it: ``_text+3460300``, ``nfs:do_open+0``, ``/bin/true:0x1234``.
    text: String = written(it);
}

fn written(anchor: &json::Anchor) -> String {
    match anchor {
        json::Anchor::Symbol { module: Some(module), symbol, offset } => {
            format!("{module}:{symbol}+{offset}")
        }
        json::Anchor::Symbol { module: None, symbol, offset } => format!("{symbol}+{offset}"),
        json::Anchor::File { path, offset } => format!("{path}:{offset:#x}"),
    }
}

record! {
    /// What to do if a probe is refused: an address nearby, another mechanism, or returns of a function.
    Instead(json::Instead), |it| match (&it.symbol, it.offset, it.mechanism, &it.return_of) {
        (Some(symbol), Some(offset), ..) => format!("at {symbol}+{offset:#x}"),
        (_, _, Some(mechanism), _) => mechanism.to_owned(),
        (_, _, _, Some(function)) => format!("returns of {function}"),
        _ => String::new(),
    };
    /// An address nearby.
    address: Option<u64> = it.address.map(|address| address.0);
    /// The symbol that holds it.
    symbol: Option<&str> = it.symbol.as_deref();
    /// The offset from that.
    offset: Option<u32> = it.offset;
    /// What to write for it.
    anchor: Option<Anchor> = it.anchor.clone().map(Anchor);
    /// The variables that can be read there.
    readable: Option<Vec<String>> = it.readable.clone();
    /// A mechanism that takes the place itself.
    mechanism: Option<&'static str> = it.mechanism;
    /// A function whose returns are those of this one.
    return_of: Option<&str> = it.return_of.as_deref();
}

record! {
    /// How many addresses a function runs at, and how many of them can be reached.
    Coverage(json::Coverage), |it| format!("{} of {} reachable", it.reachable, it.instances);
    /// The distinct addresses.
    instances: u32 = it.instances;
    /// Those that a mechanism reaches by address.
    reachable: u32 = it.reachable;
    /// The entries.
    out_of_line: Reached = Reached(it.out_of_line.clone());
    /// The inlined copies.
    inline: Reached = Reached(it.inline.clone());
    /// How many functions contain the copies.
    callers: u32 = it.callers;
    /// By mechanism, how many addresses it takes.
    by: BTreeMap<&'static str, u32> = it.by.0.iter().copied().collect();
    /// Copies in sections that are gone once the kernel runs, by reason.
    left_out: BTreeMap<&'static str, u32> = it.left_out.clone();
}

record! {
    /// The part of a coverage that is of entries, or of copies.
    Reached(json::Reached), |it| format!("{} of {}", it.reachable, it.instances);
    /// The distinct addresses.
    instances: u32 = it.instances;
    /// Those that can be reached.
    reachable: u32 = it.reachable;
    /// The others, by reason.
    refused: BTreeMap<&'static str, u32> = it.refused.clone();
    /// Those of which it is not known.
    undecided: u32 = it.undecided;
}

record! {
    /// A value at a place: a parameter, a local, or what was asked for.
    Variable(json::Variable), |it| format!(
        "{}: {}, {}{}", it.name, it.type_name.as_deref().unwrap_or("?"), it.state,
        it.location.as_ref().map_or(String::new(), |location| format!(" {location}"))
    );
    /// The name, or the expression in the words of the question.
    name: &str = &it.name;
    /// ``param``, ``local``, ``return``, ``raw``, ``field``.
    kind: &'static str = it.kind;
    /// The type as C spells it.
    r#type: Option<&str> = it.type_name.as_deref();
    /// ``readable``, ``constant``, ``elsewhere``, ``optimized-out``, ``unsupported``.
    state: &'static str = it.state;
    /// Whether its value is known there: it is readable, or a constant.
    readable: bool = matches!(it.state, "readable" | "constant");
    /// Where it is, or why it cannot be read.
    location: Option<&str> = it.location.as_deref();
    /// An argument for ``kprobe_events``, where that is correct.
    fetch: Option<&str> = it.fetch.as_deref();
    /// Where it can be read instead.
    elsewhere: Option<Elsewhere> = it.elsewhere.clone().map(Elsewhere);
    /// Where the calling convention passes it.
    passed: Option<Passed> = it.passed.clone().map(Passed);
    /// The operations that read a value that was asked for: a register, additions, reads, as ``--json`` has them.
    steps: Option<Tree<Vec<Step>>> = it.steps.clone().map(Tree);
    /// The same as an expression in C over the kernel's ``struct pt_regs *regs``.
    c: Option<&str> = it.c.as_deref();
}

record! {
    /// The nearest address where a variable has a location, if it has none here.
    Elsewhere(json::Elsewhere), |it| match (&it.symbol, it.offset) {
        (Some(symbol), Some(offset)) => format!("{symbol}+{offset:#x}"),
        _ => format!("{:#x}", it.address.0),
    };
    /// The address.
    address: u64 = it.address.0;
    /// The symbol that holds it.
    symbol: Option<&str> = it.symbol.as_deref();
    /// The offset from that.
    offset: Option<u32> = it.offset;
    /// The file of its source line.
    file: Option<&str> = it.file.as_deref();
    /// That line, from 1.
    line: Option<u32> = it.line;
}

record! {
    /// Where the calling convention passes a parameter.
    Passed(json::Passed), |it| format!("{} in {}, {}", it.number, it.slot, it.proof);
    /// The position, from 1.
    number: u32 = it.number;
    /// The register, or the slot on the stack.
    slot: &str = &it.slot;
    /// What confirms it.
    proof: &'static str = it.proof;
}

record! {
    /// A field of an event's record.
    Field(tracepoint::Field), |it| format!("{} {} at {}", it.type_name, it.name, it.offset);
    /// Its name.
    name: &str = &it.name;
    /// Its type as C spells it.
    r#type: &str = &it.type_name;
    /// In bytes.
    offset: u16 = it.offset;
    /// In bytes.
    size: u16 = it.size;
    /// Whether it has a sign.
    signed: bool = it.signed;
}

record! {
    /// A tapset alias.
    Alias(aliases::Object<'static>), |it| format!("{}: {}", it.alias, it.point);
    /// Its name.
    name: &str = &it.alias;
    /// The aliases that led to the point.
    through: Vec<String> = it.through.to_vec();
    /// The point.
    point: &str = &it.point;
    /// The variables that it sets.
    locals: Vec<AliasLocal> = it.locals.iter().cloned().map(AliasLocal).collect();
}

record! {
    /// A variable that an alias sets.
    AliasLocal(aliases::Fields<'static>), |it| format!("{}: {}", it.name, it.state);
    /// Its name.
    name: &str = &it.name;
    /// ``long``, ``string``, ``unknown``, ….
    r#type: &'static str = it.kind;
    /// ``fine``, ``broken``, ``untyped``.
    state: &'static str = it.state;
    /// The kernel's variable that is missing.
    variable: Option<&str> = it.variable.as_deref();
    /// Why it is missing.
    why: Option<&str> = it.why.as_deref();
    /// What there is instead.
    instead: Vec<String> = it.instead.to_vec();
    /// The kernel's variable that it is a copy of.
    copy_of: Option<&str> = it.copy_of.as_deref();
}
