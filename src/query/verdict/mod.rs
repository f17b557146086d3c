//! Whether the kernel accepts a probe at an address, for each mechanism, and if not, why.
//!
//! Checks run in the order of [`Reason`]. Probes that the kernel accepts but that are useless are also refused: in a
//! function that was replaced at link time, or on returns of the split-off part of a function.
mod along;
pub mod alternative;
mod around;
pub mod blacklist;
pub mod coverage;
pub mod decided;
pub mod mechanism;
pub mod reason;
mod runtime_stack;
pub(crate) mod stap_blocklist;
mod suffix;
pub mod sweep;
pub(crate) mod trampoline;
pub mod unknown;
mod verdicts;
use super::index::functions::{self, kernel};
use super::index::symbols::{self, Held};
use super::runtime::overlay::Overlay;
use crate::live::Instruction;
use crate::symbol_name::is_prefix;
use around::Around;
use mechanism::{ByMechanism, Mechanism};
use probeidx_format::id::{ObjectId, PlaceId};
use probeidx_format::record::{
    CodeTable, ObjectRecord, RefusedBy, SectionRecord, SiteKind, SiteRecord, SymbolRecord, TableSet,
};
use probeidx_format::{View, machine};
use reason::Reason;
use sweep::{Sweep, Swept};
use unknown::Unknown;
pub use verdicts::{Verdict, Verdicts};

/// Judges addresses by what the index has of the kernel.
#[derive(Clone, Copy)]
pub struct Judge<'a, 'l> {
    view: &'a View<'a>,
    kernel: Option<ObjectId>,
    /// The object flags of vmlinux.
    flags: u32,
    /// From `_stext` to `_etext` of vmlinux.
    core: (u32, u32),
    /// The running kernel, if there is a capture: its own lists override what the index predicts.
    running: Option<&'l Overlay<'l>>,
    /// What is known of all placements, if it was made.
    pub(crate) sweep: Option<&'l Sweep>,
    /// What is around the last address, for one address after another.
    around: Option<&'l Around>,
}

impl<'a, 'l> Judge<'a, 'l> {
    /// Determines which rules the kernel has. Cost: none to speak of.
    pub fn new(view: &'a View<'a>) -> Self {
        let kernel = kernel(view);
        let record = kernel.and_then(|k| view.objects.get(k.index()));
        // In an index without vmlinux, it is unknown whether the kernel has these rules; assuming them loses nothing.
        const TAKEN: u32 = ObjectRecord::REFUSES_PREFIXES | ObjectRecord::REFUSES_TRAPS;
        let flags = record.map_or(TAKEN, |o| o.flags.get());
        let core = record.map_or((0, u32::MAX), |o| (o.core_start.get(), o.core_end.get()));
        Self { view, kernel, flags, core, running: None, sweep: None, around: None }
    }

    /// Takes from a sweep what it has: for who asks about most placements. It is not of a running kernel.
    pub fn with(self, sweep: Option<&'l Sweep>) -> Self {
        Self { sweep: sweep.filter(|_| self.running.is_none()), ..self }
    }

    /// Judges for a running kernel.
    pub fn over(self, running: Option<&'l Overlay<'l>>) -> Self {
        Self { running, sweep: self.sweep.filter(|_| running.is_none()), ..self }
    }

    /// The verdict of each mechanism on an address. `is_inline` selects the inlined copy, even if a function starts
    /// there too. Cost: a few binary searches.
    pub fn verdicts(&self, object: ObjectId, pc: u32, is_inline: bool) -> Verdicts {
        self.judged(object, pc, is_inline).0
    }

    /// What is known of a placement, if all were judged.
    fn swept(&self, place: PlaceId) -> Option<&'l Swept> {
        self.sweep?.swept(place)
    }

    /// The verdicts on the entry of a placement, and what [`is_running`](Self::is_running) says.
    pub(super) fn of_place(
        &self,
        object: ObjectId,
        place: PlaceId,
        pc: u32,
        is_inline: bool,
    ) -> (Verdicts, bool) {
        match self.swept(place) {
            Some(known) => (known.verdicts, known.is_running),
            None => self.judged(object, pc, is_inline),
        }
    }

    /// The verdicts on an address, and what [`is_running`](Self::is_running) says.
    fn judged(&self, object: ObjectId, pc: u32, is_inline: bool) -> (Verdicts, bool) {
        if self.view.is_user(object) {
            return (self.uprobes(object, pc, is_inline), true);
        }
        let section = symbols::section(self.view, object, pc);
        let held = section.and_then(|s| symbols::holding_in(self.view, object, s, pc));
        self.judged_in(object, pc, is_inline, section, held)
    }

    /// The same for an address of a kernel, given the section and the symbol that hold it.
    fn judged_in(
        &self,
        object: ObjectId,
        pc: u32,
        is_inline: bool,
        section: Option<SectionRecord>,
        held: Option<Held>,
    ) -> (Verdicts, bool) {
        match self.running_in(object, pc, section, held) {
            Ok(held) => (self.verdicts_in(object, pc, is_inline, held), true),
            Err(reason) => {
                (Verdicts { by: ByMechanism::new(false, |_| Verdict::No(reason)), shift: 0 }, false)
            }
        }
    }

    /// The verdicts on an address that runs, which this symbol holds.
    fn verdicts_in(&self, object: ObjectId, pc: u32, is_inline: bool, held: Held) -> Verdicts {
        let kprobe = self.registered(object, pc, held);
        let kprobe_events = match (kprobe, self.notrace(object, held)) {
            (Verdict::Ok, Some(reason)) => Verdict::No(reason),
            (Verdict::No(Reason::Undecided(one)), Some(Reason::Undecided(other))) => {
                Verdict::No(Reason::Undecided(one.and(other)))
            }
            (Verdict::No(open), Some(reason)) if open == Reason::Patched || open.is_open() => {
                Verdict::No(if reason.is_open() { open.max(reason) } else { reason })
            }
            (kprobe, _) => kprobe,
        };
        let entry = self.entry_shift(held).filter(|_| self.is_function(held));
        let at_entry = || Verdict::from(entry.is_none().then_some(Reason::NotEntry));
        let inline = Verdict::from(is_inline.then_some(Reason::Inline));
        let kretprobe = inline
            .or(|| kprobe_events)
            .or(at_entry)
            .or(|| self.returns_elsewhere(object, held).then_some(Reason::KretprobeBlacklist).into());
        let ftrace = inline.or(at_entry).or(|| self.traced_at_entry(object, held).into());
        let trampoline = ftrace.or(|| self.beyond_site(object, held).into());
        let by = ByMechanism::new(false, |mechanism| match mechanism {
            Mechanism::KprobeEvents => kprobe_events,
            Mechanism::Kretprobe => kretprobe,
            Mechanism::Ftrace => ftrace,
            Mechanism::Trampoline => trampoline,
            _ => kprobe,
        });
        Verdicts { by, shift: self.shift(held) }
    }

    /// The verdict of `register_kprobe` on an address. Cost: a few binary searches.
    pub fn kprobe(&self, object: ObjectId, pc: u32) -> Verdict {
        if self.view.is_user(object) {
            return self.uprobe(object, pc).into();
        }
        self.running(object, pc).map_or_else(Verdict::No, |held| self.registered(object, pc, held))
    }

    /// Whether the code at an address is present in a running kernel and ever runs.
    pub fn is_running(&self, object: ObjectId, pc: u32) -> bool {
        self.view.is_user(object) || self.running(object, pc).is_ok()
    }

    /// Why the code at an address is not present in a running kernel, or never runs.
    pub fn why_gone(&self, object: ObjectId, pc: u32) -> Option<Reason> {
        if self.view.is_user(object) { None } else { self.running(object, pc).err() }
    }

    /// The verdicts of uprobes on an address of a program or shared library. The rules for kernel code do not apply.
    fn uprobes(&self, object: ObjectId, pc: u32, is_inline: bool) -> Verdicts {
        let uprobe = Verdict::from(self.uprobe(object, pc));
        let starts_symbol = || symbols::holding(self.view, object, pc).is_some_and(|held| held.offset == 0);
        let is_entry = || starts_symbol() || functions::entry_at(self.view, object, pc).is_some();
        let uretprobe = Verdict::from(is_inline.then_some(Reason::Inline))
            .or(|| uprobe)
            .or(|| (!is_entry()).then_some(Reason::NotEntry).into())
            .or(|| {
                runtime_stack::is_of_runtime(self.view, object, pc).then_some(Reason::RuntimeStack).into()
            });
        let is_return = |mechanism| mechanism == Mechanism::Uretprobe;
        Verdicts { by: ByMechanism::new(true, |m| if is_return(m) { uretprobe } else { uprobe }), shift: 0 }
    }

    /// Why uprobes refuse an address. Code outside of symbols was not decoded, so that instructions may start anywhere.
    fn uprobe(&self, object: ObjectId, pc: u32) -> Option<Reason> {
        let view = self.view;
        if !symbols::section(view, object, pc).is_some_and(symbols::is_executable) {
            return Some(Reason::Discarded);
        }
        let is_decoded =
            symbols::holding(view, object, pc).is_some_and(|held| symbols::covers(view, object, held));
        match self.code(object, pc) {
            Some(Reason::NotBoundary) if !is_decoded => Some(Reason::Undecided(Unknown::SYMBOL)),
            reason => reason.or_else(|| Reason::of(self.unsure(object))),
        }
    }

    /// The symbol that holds the address, if its code is present in a running kernel and ever runs.
    fn running(&self, object: ObjectId, pc: u32) -> Result<Held, Reason> {
        let section = symbols::section(self.view, object, pc);
        let held = section.and_then(|s| symbols::holding_in(self.view, object, s, pc));
        self.running_in(object, pc, section, held)
    }

    fn running_in(
        &self,
        object: ObjectId,
        pc: u32,
        section: Option<SectionRecord>,
        held: Option<Held>,
    ) -> Result<Held, Reason> {
        match (self.gone(object, pc, section, held), held) {
            (Some(reason), _) => Err(reason),
            (None, held) => held.ok_or(Reason::NoSymbol),
        }
    }

    fn registered(&self, object: ObjectId, pc: u32, held: Held) -> Verdict {
        let refused = Verdict::from(self.refused(object, pc, held));
        let code = || Verdict::from(self.code(object, pc.saturating_add(self.shift(held))));
        match refused {
            // What is on the instructions alone may decide it.
            Verdict::No(open) if open.is_open() => match code() {
                Verdict::No(reason) if !reason.is_open() => Verdict::No(reason),
                _ => refused,
            },
            _ => refused.or(code).or(|| self.unsure(object).into()),
        }
    }

    /// Why the code is not present in a running kernel, or never runs.
    pub(super) fn gone(
        &self,
        object: ObjectId,
        pc: u32,
        section: Option<SectionRecord>,
        held: Option<Held>,
    ) -> Option<Reason> {
        let view = self.view;
        let Some(section) = section else { return Some(Reason::NoSymbol) };
        let is_kernel = Some(object) == self.kernel;
        match view.string(section.name) {
            name if name.starts_with(b".init") => return Some(Reason::InitText),
            name if is_kernel && name.starts_with(b".exit") => return Some(Reason::ExitText),
            name if name.starts_with(b".altinstr") => return Some(Reason::Discarded),
            _ if !symbols::is_executable(section) => return Some(Reason::Discarded),
            _ if is_kernel && !(self.core.0..self.core.1).contains(&pc) => return Some(Reason::Discarded),
            _ => {}
        }
        match symbols::covers(view, object, held?) {
            true => None,
            false if functions::holding(view, object, pc).is_some() => Some(Reason::DeadCode),
            false => Some(Reason::Discarded),
        }
    }

    /// The kernel's blacklist, by address and, for `foo.cold` and the like, by the address of `foo`
    /// (`within_kprobe_blacklist`); and its refusal of prefix symbols.
    fn refused(&self, object: ObjectId, pc: u32, held: Held) -> Option<Reason> {
        let listed = |object: ObjectId, pc: u32| {
            let holds = |start: u32, end: u32| start <= pc && pc < end;
            let found = match self.around {
                Some(around) => around.refused(self.view, object, pc),
                None => {
                    let mut refused = self.view.refused_of(object).iter();
                    refused.find(|r| holds(r.start.get(), r.end.get())).copied()
                }
            }?;
            Some(RefusedBy::from_number(found.source.get()).map_or(Reason::Blacklist, Reason::from))
        };
        let name = self.view.string(held.record.name);
        let of_base = || self.of_base(object, name, |holder, base| listed(holder, base.pc.get()));
        let is_padding = || self.flags & ObjectRecord::REFUSES_PREFIXES != 0 && is_prefix(name);
        let by_itself = || self.running?.refuses(object, pc).then_some(Reason::Blacklist);
        let of_name = || is_padding().then_some(Reason::PrefixSymbol);
        let is_listed = listed(object, pc).map_or_else(of_base, |reason| Ok(Some(reason)));
        let known = is_listed.unwrap_or_default().or_else(by_itself).or_else(of_name);
        known.or(is_listed.err().map(Reason::Undecided))
    }

    /// Checks the instructions at the address.
    fn code(&self, object: ObjectId, pc: u32) -> Option<Reason> {
        const LONGEST: u32 = u8::MAX as u32;
        let view = self.view;
        let sites = view.sites_of(object);
        let first = sites.partition_point(|s| s.start.get().saturating_add(LONGEST) < pc);
        let before = sites.from(first).iter().take_while(|s| s.start.get() <= pc);
        let holds = |s: &SiteRecord| pc - s.start.get() < s.length.into();
        // Few addresses have some: for the others it takes no memory.
        let holding: Vec<SiteRecord> = before.filter(holds).collect();
        let at_start = |s: &SiteRecord| s.start.get() == pc;
        let is_patched = |s: &SiteRecord| {
            matches!(SiteKind::from_number(s.kind), Some(SiteKind::Patched | SiteKind::PatchedWhole))
        };
        // In a running kernel, what was patched in.
        let now = self.running.filter(|_| holding.iter().any(is_patched));
        let now = now.and_then(|running| running.instruction(object, pc));
        let reason = |s: &SiteRecord| match SiteKind::from_number(s.kind) {
            Some(SiteKind::JumpLabel) => Some(Reason::JumpLabel),
            Some(SiteKind::StaticCall) => Some(Reason::StaticCall),
            Some(SiteKind::Bug) => Some(if at_start(s) { Reason::BugSite } else { Reason::NotBoundary }),
            Some(SiteKind::Patched | SiteKind::PatchedWhole) if now.is_some() => None,
            Some(SiteKind::Patched) if at_start(s) => None,
            Some(SiteKind::Patched | SiteKind::PatchedWhole) => Some(Reason::Patched),
            Some(SiteKind::Trap) if self.flags & ObjectRecord::REFUSES_TRAPS == 0 => None,
            Some(SiteKind::Unsupported | SiteKind::Trap) => Some(Reason::UnsupportedInstruction),
            Some(SiteKind::Ftrace) => Some(Reason::FtraceSite),
            Some(SiteKind::Conditional) => Some(Reason::Conditional),
            None if s.may_be_of().is_some() => None,
            None => Some(Reason::Undecided(Unknown::SITE)),
        };
        // Where instructions are patched in, those in the file do not count.
        let is_replaced =
            now.is_some() || holding.iter().any(|s| at_start(s) && s.kind == SiteKind::Patched as u8);
        let counts = |r: &Reason| *r != Reason::UnsupportedInstruction || !is_replaced;
        let known = holding.iter().filter_map(reason).filter(counts).min();
        let running = now.map(|instruction| match instruction {
            None => Some(Reason::NotBoundary),
            Some(Instruction::Taken) => None,
            Some(Instruction::Trap) if self.flags & ObjectRecord::REFUSES_TRAPS == 0 => None,
            Some(Instruction::Trap | Instruction::Unsupported) => Some(Reason::UnsupportedInstruction),
        });
        if let (None, Some(Some(reason))) = (known, running) {
            return Some(reason);
        }
        let known = known.or_else(|| {
            if running.is_some() {
                return None;
            }
            match self.is_boundary(object, pc)? {
                Some(true) => None,
                Some(false) => Some(Reason::NotBoundary),
                None => Some(Reason::Undecided(self.unsure(object).or(Unknown::CODE))),
            }
        });
        // An unread table may replace the instructions in the file.
        let is_of_file = matches!(known, Some(Reason::UnsupportedInstruction | Reason::NotBoundary));
        if known.is_some() && !is_of_file {
            return known;
        }
        let unread = self.unread(object);
        if unread.is_empty() {
            return known;
        }
        let may_be = |s: &SiteRecord| {
            s.may_be_of().filter(|table| match is_of_file {
                true => table.is_of_patches(),
                false => !table.is_of_patches() || !at_start(s),
            })
        };
        let anywhere =
            unread.filtered(|table| is_of_file && table.may_hold_anything() && table.is_of_patches());
        let open = holding.iter().filter_map(may_be).fold(anywhere, TableSet::with);
        Reason::of(Unknown::tables(open)).or(known)
    }

    /// Whether an instruction starts at an address: see [`View::is_boundary`]; `None` if no section holds it.
    fn is_boundary(&self, object: ObjectId, pc: u32) -> Option<Option<bool>> {
        let section = || symbols::section(self.view, object, pc);
        if let Some(around) = self.around {
            return around.is_boundary(self.view, object, section, pc);
        }
        let section = section()?;
        Some(self.view.is_boundary(object, section, pc - section.pc.get()))
    }

    /// The tables of an object that could not be read.
    fn unread(&self, object: ObjectId) -> TableSet {
        self.view.objects.get(object.index()).map_or(TableSet::EMPTY, ObjectRecord::unread)
    }

    /// What is missing if nothing in an object can be judged as accepted.
    fn unsure(&self, object: ObjectId) -> Unknown {
        let flags = self.view.objects.get(object.index()).map_or(0, |o| o.flags.get());
        let missing = |flags: u32, flag: u32, unknown: Unknown| match flags & flag {
            0 => Unknown::NOTHING,
            _ => unknown,
        };
        if flags & ObjectRecord::NO_RULES != 0 {
            return Unknown::ARCHITECTURE;
        }
        Unknown::tables(self.unread(object).filtered(CodeTable::may_hold_anything))
            .and(missing(flags, ObjectRecord::NO_CODE, Unknown::CODE))
            .and(missing(self.flags, ObjectRecord::NO_KPROBES, Unknown::KPROBES))
    }

    /// Whether kprobe_events refuse a symbol without an ftrace site. A symbol with a suffix is judged by the symbol
    /// named up to the first dot (`within_notrace_func`, trace_kprobe.c).
    fn notrace(&self, object: ObjectId, held: Held) -> Option<Reason> {
        let is_traced = |symbol: SymbolRecord| symbol.has(SymbolRecord::TRACED);
        if is_traced(held.record) {
            return None;
        }
        let name = self.view.string(held.record.name);
        let of_base = self.of_base(object, name, |_, base| is_traced(base).then_some(()));
        match self.kernel {
            _ if of_base == Ok(Some(())) => None,
            Some(_) if self.flags & ObjectRecord::REFUSES_NOTRACE == 0 => None,
            Some(_) => Reason::of(self.lacks_ftrace_table(object).and(of_base.err().unwrap_or_default()))
                .or(Some(Reason::NoFtraceSite)),
            None => Some(Reason::Undecided(Unknown::KERNEL)),
        }
    }

    /// Whether it is the one function whose returns cannot be probed (`kretprobe_blacklist`,
    /// arch/x86/kernel/kprobes/core.c; arm64's is empty).
    fn returns_elsewhere(&self, object: ObjectId, held: Held) -> bool {
        let is_x86 = [machine::X86_64, machine::I386].contains(&self.view.machine());
        is_x86 && Some(object) == self.kernel && self.view.string(held.record.name) == b"__switch_to"
    }

    fn traced_at_entry(&self, object: ObjectId, held: Held) -> Option<Reason> {
        // Without code, it is not known whether `endbr64` precedes the site.
        let unknown = || {
            let lacks_code =
                self.view.objects.get(object.index()).is_some_and(|o| o.has(ObjectRecord::NO_CODE));
            let is_hidden = lacks_code && held.record.has(SymbolRecord::TRACED);
            self.lacks_ftrace_table(object).and(if is_hidden { Unknown::CODE } else { Unknown::NOTHING })
        };
        match held.record.has(SymbolRecord::FTRACE_ENTRY) {
            true if self.running.is_some_and(|r| r.leaves_out(self.view, object, held.record.name)) => {
                Some(Reason::NoFtraceSite)
            }
            true => None,
            false => Reason::of(unknown()).or(Some(Reason::NoFtraceSite)),
        }
    }

    fn lacks_ftrace_table(&self, object: ObjectId) -> Unknown {
        match self.view.objects.get(object.index()) {
            Some(record) if record.has(ObjectRecord::NO_RULES) => Unknown::ARCHITECTURE,
            Some(record) => Unknown::tables(record.unread().filtered(|table| table == CodeTable::Ftrace)),
            None => Unknown::SITE,
        }
    }

    /// If the address counts as the entry of the symbol, how far after it the probe goes (`arch_adjust_kprobe_addr`,
    /// arch/x86/kernel/kprobes/core.c, 5.18).
    fn entry_shift(&self, held: Held) -> Option<u32> {
        if self.view.machine() == machine::PPC64 {
            return self.local_entry_shift(held);
        }
        const ENDBR64: u32 = 4;
        let skips = self.flags & ObjectRecord::SKIPS_ENDBR != 0 && held.record.has(SymbolRecord::ENDBR);
        match held.offset {
            0 if skips => Some(ENDBR64),
            ENDBR64 if skips => Some(0),
            0 => Some(0),
            _ => None,
        }
    }

    /// The same for ppc64le: a probe at the address of a symbol misses the calls that go to its local entry, so it goes where the
    /// kernel puts one by name, to the ftrace site or else to that entry (`kprobe_lookup_name`). What is near counts as
    /// entry too: see [`ObjectRecord::ENTRIES_END_AT_SITES`] (arch/powerpc/kernel/kprobes.c, 6.1 to 7.2).
    fn local_entry_shift(&self, held: Held) -> Option<u32> {
        let has = |flag: u32| self.flags & flag != 0;
        let entry = symbols::local_entry(held.record);
        let site = symbols::ftrace_site(self.flags, held.record);
        let probes_sites = has(ObjectRecord::PROBES_FTRACE_SITES);
        let end = match site {
            Some(site) if has(ObjectRecord::ENTRIES_END_AT_SITES) => site,
            _ if probes_sites && !has(ObjectRecord::ENTRIES_END_AT_SITES) => 16,
            _ => 8,
        };
        match held.offset {
            0 => Some(site.filter(|_| probes_sites).unwrap_or(entry)),
            offset => (offset <= end).then_some(0),
        }
    }

    fn shift(&self, held: Held) -> u32 {
        self.entry_shift(held).unwrap_or(0)
    }

    /// Whether a function starts with the symbol. False for a split-off part, where the kernel would look for a return
    /// address and find none, and for the padding before a function.
    fn is_function(&self, held: Held) -> bool {
        let name = self.view.string(held.record.name);
        memchr::memmem::find(name, b".cold").is_none() && !is_prefix(name)
    }
}
