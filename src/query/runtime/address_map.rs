//! The run-time addresses of vmlinux and its modules.
use crate::error::{Error, ErrorKind, Result};
use crate::live::Live;
use crate::query::index::functions::{self, kernel};
use crate::query::index::symbols;
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use probeidx_format::record::{SectionRecord, SymbolRecord};
use rustc_hash::FxHashMap;

/// The sections of objects, by run-time address.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The sections, ordered by start.
    spans: Vec<Span>,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    start: u64,
    size: u64,
    object: ObjectId,
    pc: u32,
}

impl Loaded {
    /// vmlinux, moved by this many bytes from its link address.
    pub fn moved_by(view: &View<'_>, slide: u64) -> Self {
        let mut own = Self::default();
        own.add_kernel(view, slide);
        own
    }

    /// vmlinux, given the address of `_text`.
    ///
    /// # Errors
    /// [`ErrorKind::NoMatch`] if vmlinux or its `_text` is not indexed.
    pub fn at_base(view: &View<'_>, base: u64) -> Result<Self> {
        Ok(Self::moved_by(view, base.wrapping_sub(linked_base(view, &BASES[1..])?)))
    }

    /// The addresses in a copy of `/proc/kallsyms`: vmlinux by `_stext` or `_text`, and each module's sections by their
    /// symbols with unique names. Cost: linear in the text.
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`] if it has neither, or if the kernel hid all addresses.
    pub fn of_kallsyms(view: &View<'_>, text: &[u8]) -> Result<Self> {
        let mut own = Self::default();
        let mut modules: FxHashMap<&[u8], Vec<(u64, &[u8])>> = FxHashMap::default();
        let (mut base, mut are_hidden) = (None, true);
        let linked = |name: &[u8]| BASES.iter().position(|base| *base == name);
        for line in text.split(|b| *b == b'\n') {
            let mut words = line.split(|b| b.is_ascii_whitespace()).filter(|w| !w.is_empty());
            let (Some(address), Some(_), Some(name)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            let Some(address) = crate::query::spec::address::hex(address) else { continue };
            are_hidden &= address == 0;
            let module = words.next().and_then(|m| m.strip_prefix(b"[")?.strip_suffix(b"]"));
            match module {
                Some(module) => modules.entry(module).or_default().push((address, name)),
                None => {
                    let found = linked(name).map(|rank| (rank, address));
                    base = base.into_iter().chain(found).min();
                }
            }
        }
        let damaged = |what: &str| Error::new(ErrorKind::Damaged, what);
        match base {
            Some((_, 0)) if are_hidden => {
                return Err(damaged("all its addresses are 0").hint("copy /proc/kallsyms as root"));
            }
            None => return Err(damaged("there is no _stext in it").hint("give a copy of /proc/kallsyms")),
            Some((rank, base)) => own.add_kernel(view, base.wrapping_sub(linked_base(view, &BASES[rank..])?)),
        }
        for (module, symbols) in modules {
            if let Some(object) = functions::module(view, module) {
                own.add_module(view, object, &symbols);
            }
        }
        own.spans.sort_unstable_by_key(|s| s.start);
        Ok(own)
    }

    /// The addresses in a capture: vmlinux by `_stext`, and each module that `runs` by its sections, or by its symbols
    /// if the kernel hid the sections. Anything else has no address.
    pub fn of_live(view: &View<'_>, live: &Live, runs: impl Fn(ObjectId) -> bool) -> Self {
        let mut own = Self::default();
        if let (Some(base), Ok(linked)) = (live.text, linked_base(view, &BASES)) {
            own.add_kernel(view, base.wrapping_sub(linked));
        }
        let mut modules: FxHashMap<&str, Vec<(u64, &[u8])>> = FxHashMap::default();
        for (name, symbol) in
            live.symbols.iter().flatten().flat_map(|(n, all)| all.iter().map(move |s| (n, s)))
        {
            modules.entry(&symbol.module).or_default().push((symbol.address, name.as_bytes()));
        }
        for module in &live.modules {
            let Some(object) = functions::module(view, module.name.as_bytes()).filter(|o| runs(*o)) else {
                continue;
            };
            for (name, start) in &module.sections {
                let is_named = |s: &SectionRecord| view.string(s.name) == name.as_bytes();
                if let Some(section) = view.sections_of(object).iter().find(is_named) {
                    own.add(object, section, *start);
                }
            }
            if let Some(symbols) = modules.get(module.name.as_str()).filter(|_| module.sections.is_empty()) {
                own.add_module(view, object, symbols);
            }
        }
        own.spans.sort_unstable_by_key(|s| s.start);
        own
    }

    /// The run-time address of an address in an object. Cost: linear in the loaded sections.
    pub fn address(&self, object: ObjectId, pc: u32) -> Option<u64> {
        let holds = |s: &&Span| s.object == object && pc >= s.pc && u64::from(pc - s.pc) < s.size;
        self.spans.iter().find(holds).map(|s| s.start.wrapping_add(u64::from(pc - s.pc)))
    }

    /// The object at a run-time address, and the address in it. Cost: a binary search.
    pub fn find(&self, address: u64) -> Option<(ObjectId, u32)> {
        let after = self.spans.partition_point(|s| s.start <= address);
        let span = self.spans[..after].last().filter(|s| address - s.start < s.size)?;
        Some((span.object, span.pc.checked_add(u32::try_from(address - span.start).ok()?)?))
    }

    fn add_kernel(&mut self, view: &View<'_>, slide: u64) {
        let Some(object) = kernel(view) else { return };
        let base = view.objects[object.index()].base.get();
        // Per-CPU variables are linked at 0, and are elsewhere for each CPU.
        for section in view.sections_of(object).iter().filter(|s| s.address.get() >= base) {
            self.add(object, section, section.address.get().wrapping_add(slide));
        }
        self.spans.sort_unstable_by_key(|s| s.start);
    }

    /// Places each section where most of its symbols indicate, because names that occur twice in the module give wrong
    /// addresses.
    fn add_module(&mut self, view: &View<'_>, object: ObjectId, listed: &[(u64, &[u8])]) {
        let sections = view.sections_of(object);
        let mut starts: Vec<FxHashMap<u64, u32>> = vec![FxHashMap::default(); sections.len()];
        for (address, name) in listed {
            let Some(name) = view.name(name) else { continue };
            for symbol in
                functions::symbols_named(view, object, name).filter_map(|s| functions::symbol(view, s))
            {
                let section = usize::from(symbol.section.get());
                if let (Some(record), Some(starts)) = (sections.get(section), starts.get_mut(section)) {
                    let offset = symbol.pc.get().wrapping_sub(record.pc.get());
                    *starts.entry(address.wrapping_sub(offset.into())).or_default() += 1;
                }
            }
        }
        for (section, starts) in sections.iter().zip(starts) {
            if let Some((start, _)) = starts.into_iter().max_by_key(|(start, count)| (*count, *start)) {
                self.add(object, section, start);
            }
        }
    }

    fn add(&mut self, object: ObjectId, section: SectionRecord, start: u64) {
        if section.size.get() > 0 {
            self.spans.push(Span { start, size: section.size.get(), object, pc: section.pc.get() });
        }
    }
}

/// How far vmlinux was moved from its link address, if `address` is the run-time address of `pc`; `None` if the kernel
/// never moves itself by that distance.
pub fn slide(view: &View<'_>, address: u64, pc: u32) -> Option<u64> {
    let slide = address.wrapping_sub(symbols::address(view, kernel(view)?, pc));
    is_slide(view, slide).then_some(slide)
}

/// Like [`slide`], if only the symbol that holds the address is known.
pub fn slide_within(view: &View<'_>, address: u64, symbol: SymbolRecord, size: u32) -> Option<u64> {
    let distance = address.wrapping_sub(symbols::address(view, kernel(view)?, symbol.pc.get()));
    let slide = distance & !(step(view) - 1);
    (is_slide(view, slide) && distance - slide < size.into()).then_some(slide)
}

/// `CONFIG_PHYSICAL_ALIGN` is at least 2 MiB (arch/x86/Kconfig); arm64 keeps the offset within 2 MiB of the memory it
/// was loaded at, which is aligned to 64 KiB (arch/arm64/kernel/pi/kaslr_early.c).
fn step(view: &View<'_>) -> u64 {
    const EM_X86_64: u16 = 62;
    if view.machine() == EM_X86_64 { 2 << 20 } else { 64 << 10 }
}

fn is_slide(view: &View<'_>, slide: u64) -> bool {
    const EM_X86_64: u16 = 62;
    /// `KERNEL_IMAGE_SIZE` (arch/x86/include/asm/page_64_types.h); else half of the address range.
    const MOST: [u64; 2] = [1 << 30, 1 << 47];
    slide.is_multiple_of(step(view)) && slide < MOST[usize::from(view.machine() != EM_X86_64)]
}

/// The symbols that locate vmlinux. All kernels keep the first; arm64 without CONFIG_KALLSYMS_ALL lacks the second. On
/// x86-64 they are at the same address.
const BASES: [&[u8]; 2] = [b"_stext", b"_text"];

/// The link address of the first of these symbols that exists.
fn linked_base(view: &View<'_>, names: &[&[u8]]) -> Result<u64> {
    let address = |object, name: &[u8]| {
        let symbol = functions::symbols_named(view, object, view.name(name)?).next()?;
        Some(symbols::address(view, object, functions::symbol(view, symbol)?.pc.get()))
    };
    let found = kernel(view).and_then(|object| names.iter().find_map(|name| address(object, name)));
    found.ok_or_else(|| {
        let missing = "vmlinux is not indexed with a symbol _text, from which addresses at run time are told";
        Error::new(ErrorKind::NoMatch, missing).hint("build the index with vmlinux")
    })
}
