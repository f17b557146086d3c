//! What to do if a placement is refused.
use super::mechanism::Mechanism;
use super::reason::Reason;
use super::{Judge, Verdict, Verdicts};
use crate::query::index::functions::Placed;
use crate::query::index::symbols;
use probeidx_format::View;
use probeidx_format::id::ObjectId;

/// What to do about a refused placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alternative<'a> {
    /// Probe this address.
    At(Nearby<'a>),
    /// Use a mechanism that accepts this address: SystemTap's `register_kprobe`, or ftrace.
    Mechanism(&'static str),
    /// Define the probe before the module is loaded: its init code exists only while it loads.
    BeforeLoading,
    /// Probe returns of this function, which contains the placement.
    ReturnOf(&'a [u8]),
}

/// An address near a refused one that kprobes accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearby<'a> {
    /// As a [`Pc`](probeidx_format::id::Pc).
    pub pc: u32,
    /// The address as a placement has it.
    pub address: u64,
    /// The symbol that holds it, and the offset from that symbol.
    pub symbol: (&'a [u8], u32),
    /// The anchor to write for it; `None` if no symbol is unique.
    pub anchor: Option<symbols::Anchor<'a>>,
    /// Those of the requested variables that can be read there.
    pub readable: Vec<String>,
}

/// How far from a refused address to search, in bytes.
const FAR: u32 = 256;

/// What is needed of a placement to find an alternative.
pub struct Refusal<'a> {
    /// The object that holds the address.
    pub object: ObjectId,
    /// As a [`Pc`](probeidx_format::id::Pc).
    pub pc: u32,
    /// The verdict of each mechanism.
    pub verdicts: Verdicts,
    /// Whether the object is a module.
    pub is_in_module: bool,
    /// The symbol that holds the address.
    pub symbol: Option<&'a [u8]>,
    /// The out-of-line function into which the placement is inlined.
    pub outermost: Option<&'a [u8]>,
    /// The inlined copy that starts at the address.
    pub copy: Option<Placed>,
    /// Whether a return probe is requested.
    pub wants_return: bool,
}

/// What to do about a refusal; `None` if nothing is refused. A nearby address is searched after the refused one in the
/// same inlined copy, then anywhere in the same symbol. Cost: linear in the bytes passed.
pub fn alternative<'a>(
    view: &View<'a>,
    judge: &Judge<'a, '_>,
    refusal: &Refusal<'a>,
) -> Option<Alternative<'a>> {
    let verdicts = refusal.verdicts;
    if refusal.wants_return {
        return match verdicts.definition(true) {
            Verdict::Ok => None,
            Verdict::No(Reason::Inline | Reason::NotEntry) => {
                refusal.outermost.or(refusal.symbol.map(whole)).map(Alternative::ReturnOf)
            }
            Verdict::No(_) => of_ftrace(verdicts),
        };
    }
    match verdicts.any_address() {
        Verdict::Ok if verdicts.definition(false).is_ok() => None,
        Verdict::Ok => Some(Alternative::Mechanism("kprobe")),
        Verdict::No(
            Reason::FtraceSite
            | Reason::JumpLabel
            | Reason::StaticCall
            | Reason::BugSite
            | Reason::Patched
            | Reason::NotBoundary
            | Reason::UnsupportedInstruction,
        ) => nearest(view, judge, refusal).map(Alternative::At),
        Verdict::No(Reason::InitText) => refusal.is_in_module.then_some(Alternative::BeforeLoading),
        Verdict::No(_) => of_ftrace(verdicts),
    }
}

/// What needs an ftrace site, if it accepts the probe.
fn of_ftrace<'a>(verdicts: Verdicts) -> Option<Alternative<'a>> {
    let name = if verdicts.trampoline().is_ok() { Mechanism::FENTRY } else { Mechanism::Ftrace.name() };
    verdicts.ftrace().is_ok().then_some(Alternative::Mechanism(name))
}

/// Strips `.cold` and what follows: the name of the function that the symbol was split from.
fn whole(symbol: &[u8]) -> &[u8] {
    &symbol[..memchr::memmem::find(symbol, b".cold").unwrap_or(symbol.len())]
}

fn nearest<'a>(view: &View<'a>, judge: &Judge<'a, '_>, refusal: &Refusal<'a>) -> Option<Nearby<'a>> {
    let Refusal { object, pc: refused, copy, .. } = *refusal;
    let own = symbols::holding(view, object, refused)?.record.pc;
    let takes = |pc: &u32| judge.kprobe(object, *pc).is_ok();
    let is_near = |pc: &u32| symbols::holding(view, object, *pc).is_some_and(|h| h.record.pc == own);
    let within = |placed: Placed| {
        let ranges = view.details(placed.id, placed.record).ranges;
        let holds = |pc: &u32| ranges.into_iter().any(|r| r.contains(*pc));
        let starts = ranges.map(|r| r.start.max(refused)).filter(holds);
        let behind = |start: u32| (start..start.saturating_add(FAR)).find(|pc| holds(pc) && takes(pc));
        starts.filter_map(behind).min()
    };
    let around = || {
        let at = |distance: u32| [refused.checked_add(distance), refused.checked_sub(distance)];
        (1..FAR).flat_map(at).flatten().find(|pc| is_near(pc) && takes(pc))
    };
    let pc = copy.and_then(within).or_else(around)?;
    let held = symbols::holding(view, object, pc)?;
    Some(Nearby {
        pc,
        address: symbols::address(view, object, pc),
        symbol: (view.string(held.record.name), held.offset),
        anchor: symbols::anchor(view, object, pc),
        readable: vec![],
    })
}
