//! Where else a probe is possible, if a placement is refused.
use super::placement::{Instance, Placement};
use super::reason::Reason;
use super::select::Placed;
use super::symbols;
use super::verdict::{Judge, Verdict};
use probeidx_format::View;

/// What to do about a refused placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instead<'a> {
    /// Probe there.
    At(Nearby<'a>),
    /// Use a mechanism that takes the place: SystemTap's `register_kprobe`, or ftrace.
    Mechanism(&'static str),
    /// Define it while the module is not loaded: its init code is there only then.
    BeforeLoading,
    /// Probe returns of the function that holds it.
    ReturnOf(&'a [u8]),
}

/// An address close to a refused one that kprobes take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearby<'a> {
    /// As a [`Pc`](probeidx_format::id::Pc).
    pub pc: u32,
    /// As a placement's.
    pub address: u64,
    /// The symbol that holds it, and the offset.
    pub symbol: (&'a [u8], u32),
    /// What to write for it; none where no symbol is unique.
    pub anchor: Option<symbols::Anchor<'a>>,
    /// The variables that can be read there, of those that were asked for.
    pub readable: Vec<String>,
}

/// How far from a refused address to look, in bytes.
const FAR: u32 = 256;

/// What is possible instead of `p`, of which `placed` is the debug information. The nearest address lies behind it in the
/// same inlined copy, else anywhere in the same symbol. Cost: of each byte passed.
pub fn instead<'a>(
    view: &View<'a>,
    judge: &Judge<'a, '_>,
    p: &Placement<'a>,
    placed: Option<Placed<'a>>,
    wants_return: bool,
) -> Option<Instead<'a>> {
    if wants_return {
        return match p.verdicts.kretprobe {
            Verdict::Ok => None,
            Verdict::No(Reason::Inline | Reason::NotEntry) => {
                let outermost = p.inlined_into.last().map(|c| c.function);
                outermost.or(p.symbol.map(|s| whole(s.0))).map(Instead::ReturnOf)
            }
            Verdict::No(_) => p.verdicts.fentry.is_ok().then_some(Instead::Mechanism("fentry")),
        };
    }
    match p.verdicts.kprobe {
        Verdict::Ok if p.verdicts.kprobe_events.is_ok() => None,
        Verdict::Ok => Some(Instead::Mechanism("kprobe")),
        Verdict::No(
            Reason::FtraceSite
            | Reason::JumpLabel
            | Reason::StaticCall
            | Reason::BugSite
            | Reason::Patched
            | Reason::NotBoundary
            | Reason::UnsupportedInstruction,
        ) => nearest(view, judge, p, placed).map(Instead::At),
        Verdict::No(Reason::InitText) => p.module.map(|_| Instead::BeforeLoading),
        Verdict::No(_) => p.verdicts.fentry.is_ok().then_some(Instead::Mechanism("fentry")),
    }
}

/// The function from which a part with this symbol was split off.
fn whole(symbol: &[u8]) -> &[u8] {
    &symbol[..memchr::memmem::find(symbol, b".cold").unwrap_or(symbol.len())]
}

fn nearest<'a>(
    view: &View<'a>,
    judge: &Judge<'a, '_>,
    p: &Placement<'a>,
    placed: Option<Placed<'a>>,
) -> Option<Nearby<'a>> {
    let own = symbols::holding(view, p.object, p.pc)?.record.pc;
    let takes = |pc: &u32| judge.kprobe(p.object, *pc).is_ok();
    let is_near = |pc: &u32| symbols::holding(view, p.object, *pc).is_some_and(|h| h.record.pc == own);
    let within = |placed: Placed<'a>| {
        let ranges = view.details(placed.record).ranges;
        let holds = |pc: &u32| ranges.into_iter().any(|r| r.contains(*pc));
        let starts = ranges.map(|r| r.start.max(p.pc)).filter(holds);
        let behind = |start: u32| (start..start.saturating_add(FAR)).find(|pc| holds(pc) && takes(pc));
        starts.filter_map(behind).min()
    };
    let around = || {
        let at = |distance: u32| [p.pc.checked_add(distance), p.pc.checked_sub(distance)];
        (1..FAR).flat_map(at).flatten().find(|pc| is_near(pc) && takes(pc))
    };
    let copy = placed.filter(|_| p.instance == Instance::Inline);
    let pc = copy.and_then(within).or_else(around)?;
    let held = symbols::holding(view, p.object, pc)?;
    Some(Nearby {
        pc,
        address: symbols::address(view, p.object, pc),
        symbol: (view.string(held.record.name), held.offset),
        anchor: symbols::anchor(view, p.object, pc),
        readable: vec![],
    })
}
