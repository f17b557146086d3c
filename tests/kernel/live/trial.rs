//! A mechanism asked for an address, and how its verdict stands to what the kernel did.
use super::boot::{Address, Answer, Request, What};
use super::sample::{self, Place};
use probeidx::query::index::symbols;
use probeidx::query::verdict::Verdicts;
use probeidx_format::record::{SiteKind, SymbolRecord};
use probeidx_format::{View, machine};

/// A mechanism asked for one address.
pub struct Trial {
    pub mechanism: &'static str,
    pub verdict: &'static str,
    symbol: String,
    /// An ftrace site lies within the symbol, if not at its entry: that of a function behind it which lost at link time.
    /// ftrace takes the start of the symbol for that site.
    has_foreign_site: bool,
    /// Its machine has instructions of one length, and constants between them.
    is_fixed: bool,
    /// It is init code of a module that stays: that of ppc64le (`module_init_section`, arch/powerpc/kernel/module_64.c).
    stays: bool,
    pub address: Address,
    pub request: Request,
}

/// How a verdict stands to what the kernel did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    Agrees,
    /// The verdict leaves it open.
    Open,
    /// The kernel accepts what is of no use.
    Stricter,
    Disagrees,
}

impl Trial {
    /// All that can be asked about a place.
    pub fn all(view: &View<'_>, place: Place, verdicts: Verdicts) -> Vec<Self> {
        let Some(address) = sample::address(view, place) else { return vec![] };
        // x86 itself moves a probe from there, ppc64le only one by name.
        let shift = if view.machine() == machine::PPC64 { verdicts.shift } else { 0 };
        let (probed, address) = (place.pc + shift, address.plus(shift.into()));
        let held = symbols::holding(view, place.object, place.pc);
        let symbol = held.map_or_else(String::new, |held| {
            format!("{}+{:#x}", String::from_utf8_lossy(view.string(held.record.name)), held.offset)
        });
        let has = |flag| held.is_some_and(|h| h.record.has(flag));
        let has_foreign_site = has(SymbolRecord::TRACED) && !has(SymbolRecord::FTRACE_ENTRY);
        let stays = view.machine() == machine::PPC64 && matches!(address, Address::Module { .. });
        let is_fixed = view.machine() == machine::ARM;
        let trial = |mechanism, verdict, request| {
            let (symbol, address) = (symbol.clone(), address.clone());
            Self { mechanism, verdict, symbol, has_foreign_site, is_fixed, stays, address, request }
        };
        let register = |what| Request::Register { what, address: address.clone() };
        let mut trials = vec![];
        // An inlined copy has no entry and no return; the function that may start at its address is another matter.
        let is_function = !place.is_inline;
        if !sample::is_freed(&address) {
            trials.push(trial("kprobe", verdicts.any_address().name(), register(What::Kprobe)));
            if is_function && held.is_some_and(|h| h.offset == 0) {
                let to_site = if has(SymbolRecord::FTRACE_ENTRY) { to_site(view, place) } else { 0 };
                let address = address.clone().plus(to_site.into());
                let ask = Request::Register { what: What::Ftrace, address };
                trials.push(trial("fentry", verdicts.ftrace().name(), ask));
            }
        }
        if let Some(anchor) = symbols::anchor(view, place.object, probed) {
            let define =
                |event: &str| Request::Define { line: format!("{event} {anchor}"), expect: address.clone() };
            trials.push(trial("kprobe_events", verdicts.definition(false).name(), define("p:probeidx/p")));
            if is_function {
                trials.push(trial("kretprobe", verdicts.definition(true).name(), define("r:probeidx/r")));
            }
        }
        trials
    }

    pub fn outcome(&self, answer: &Answer) -> Outcome {
        let is_accepted = answer.errno == 0 && answer.landed.as_ref().is_some_and(|l| l.is_as_wanted());
        let errors: &[i32] = match self.verdict {
            // EINVAL within a return that was patched: the bytes behind it are breakpoints (up to v6.8).
            "not-boundary" => &[EILSEQ, EINVAL],
            // What nothing reaches may be padding, which is breakpoints.
            // ENOSPC: an instruction of 15 bytes (`prepare_singlestep`, arch/x86/kernel/kprobes/core.c). ENOENT: a symbol at the end
            // of init code, which only CONFIG_KALLSYMS_ALL keeps.
            "dead-code" | "discarded" => &[EILSEQ, EINVAL, ENOSPC, ENOENT],
            // The symbol is gone with the code; without CONFIG_KALLSYMS_ALL exit code had none.
            "init-text" | "exit-text" => &[ENOENT, EINVAL],
            // `_kprobe_addr`, kernel/kprobes.c, 5.18: padding before the first symbol of a module, seen on 7.3 of arm64.
            "no-symbol" => &[ENOENT, EINVAL],
            "unsupported-instruction" => &[EINVAL, EILSEQ, EOPNOTSUPP, ENOSPC],
            "patched" | "undecided" => &[EINVAL, EILSEQ, EOPNOTSUPP],
            _ => &[EINVAL],
        };
        let is_refused = errors.contains(&answer.errno);
        match self.verdict {
            "ok" if is_accepted => Outcome::Agrees,
            "ok" => Outcome::Disagrees,
            "patched" | "undecided" if is_accepted || is_refused => Outcome::Open,
            // Nothing there ever runs, or there is no return to be seen.
            "dead-code" | "discarded" | "no-symbol" if is_accepted => Outcome::Stricter,
            // It would miss calls.
            "conditional" if is_accepted => Outcome::Stricter,
            // ARM looks at the alignment alone, and takes constants behind a function for instructions.
            "not-boundary" if is_accepted && self.is_fixed => Outcome::Stricter,
            // Where its name leads: to its site or local entry (`kprobe_lookup_name`).
            "init-text"
                if self.stays && answer.landed.as_ref().is_some_and(|l| (0..=16).contains(&l.behind)) =>
            {
                Outcome::Stricter
            }
            "no-ftrace-site" if is_accepted && self.mechanism == "fentry" && self.has_foreign_site => {
                Outcome::Stricter
            }
            "not-entry" if is_accepted && self.symbol.ends_with(".cold+0x0") => Outcome::Stricter,
            _ if is_refused => Outcome::Agrees,
            _ => Outcome::Disagrees,
        }
    }
}

/// How far behind an entry with an ftrace site that is: ftrace takes any address within a site for it, but the entry before it
/// only since 5.18 (`ftrace_location`, kernel/trace/ftrace.c). 0 where the index does not tell.
fn to_site(view: &View<'_>, place: Place) -> u32 {
    let sites = view.sites_of(place.object);
    let first = sites.partition_point(|site| site.start.get() < place.pc);
    let mut near = sites.from(first).iter().take_while(|site| site.start.get() < place.pc + ENTRY);
    near.find(|site| site.kind == SiteKind::Ftrace as u8).map_or(0, |site| site.start.get() - place.pc)
}

/// Bytes at an entry before its ftrace site, at most: a landing pad and a no-op.
const ENTRY: u32 = 9;

const ENOENT: i32 = 2;
pub const EINVAL: i32 = 22;
const ENOSPC: i32 = 28;
const EILSEQ: i32 = 84;
const EOPNOTSUPP: i32 = 95;

impl std::fmt::Display for Trial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} at {}: {}", self.mechanism, self.verdict, self.symbol, self.request)
    }
}
