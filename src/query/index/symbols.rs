//! Addresses as the running kernel names them, and anchors that denote exactly one address.
use super::functions::{self, kernel};
use crate::symbol_name::{is_area_mark, is_prefix};
use probeidx_format::id::{NameId, ObjectId, StrId, SymbolId};
use probeidx_format::record::{ObjectRecord, SectionRecord, SymbolRecord};
use probeidx_format::{View, machine};

/// A symbol that holds an address, and the offset of the address in it.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// The symbol.
    pub record: SymbolRecord,
    /// The offset in bytes from the symbol's start.
    pub offset: u32,
}

/// The symbol that the kernel prints for an address: the one with the greatest address up to it, the first in the
/// kernel's table if there are several. (`kallsyms_lookup`; `find_kallsyms_symbol`.) Cost: a binary search.
pub fn holding<'a>(view: &View<'a>, object: ObjectId, pc: u32) -> Option<Held> {
    holding_in(view, object, section(view, object, pc)?, pc)
}

/// Like [`holding`], given the section that holds the address.
pub(crate) fn holding_in<'a>(
    view: &View<'a>,
    object: ObjectId,
    section: SectionRecord,
    pc: u32,
) -> Option<Held> {
    let symbols = view.symbols.part(view.symbols_of(object));
    held_behind(view, object, section, pc, symbols.partition_point(|s| s.pc.get() <= pc))
}

/// Like [`holding_in`], given how many of the object's symbols do not lie behind the address.
pub(crate) fn held_behind<'a>(
    view: &View<'a>,
    object: ObjectId,
    section: SectionRecord,
    pc: u32,
    after: usize,
) -> Option<Held> {
    let symbols = view.symbols.part(view.symbols_of(object));
    let record = symbols.at(printed_behind(view, object, after)?);
    let same_section = record.pc >= section.pc;
    // In a damaged, unsorted table, the search finds an arbitrary symbol.
    let offset = pc.checked_sub(record.pc.get())?;
    same_section.then_some(Held { record, offset })
}

/// The position among an object's symbols of the one that the kernel prints for addresses behind so many of them.
pub(crate) fn printed_behind(view: &View<'_>, object: ObjectId, after: usize) -> Option<usize> {
    let symbols = view.symbols.part(view.symbols_of(object));
    let at = symbols.up_to(after).iter().rposition(is_printed)?;
    let address = symbols.at(at).pc;
    let is_first = at.checked_sub(1).is_none_or(|before| symbols.at(before).pc < address);
    let first = if is_first { at } else { symbols.up_to(at).partition_point(|s| s.pc < address) };
    symbols.part(first..at + 1).iter().position(is_printed).map(|into| first + into)
}

/// The symbol that the kernel prints for an address in module code that exists only while the module loads.
pub(crate) fn holding_while_loading<'a>(
    view: &View<'a>,
    object: ObjectId,
    section: SectionRecord,
    pc: u32,
) -> Option<Held> {
    if Some(object) == kernel(view) || !view.string(section.name).starts_with(b".init") {
        return None;
    }
    let symbols = view.symbols.part(view.symbols_of(object));
    let after = symbols.partition_point(|s| s.pc.get() <= pc);
    let is_own = |s: &SymbolRecord| s.pc >= section.pc && s.section.get() != SymbolRecord::ABSOLUTE;
    let record = symbols.up_to(after).last().filter(is_own)?;
    Some(Held { record, offset: pc.wrapping_sub(record.pc.get()) })
}

/// Whether the kernel uses the symbol to print addresses.
pub(crate) fn is_printed(symbol: SymbolRecord) -> bool {
    symbol.has(SymbolRecord::KEPT) && symbol.section.get() != SymbolRecord::ABSOLUTE
}

/// The extent of a symbol as the kernel computes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The bytes up to the next symbol: what the kernel prints after the slash.
    pub size: u32,
    /// Whether the next symbol is known. For the last symbol of a module's section, it depends on what is loaded after
    /// it; `size` is then the rest of the section.
    pub is_sure: bool,
}

/// The extent of a symbol (`get_symbol_pos`; `find_kallsyms_symbol`). Module code that exists only while the module
/// loads has all its symbols then. Cost: a binary search.
pub fn reach(view: &View<'_>, object: ObjectId, symbol: SymbolRecord) -> Reach {
    let symbols = view.symbols.part(view.symbols_of(object));
    let is_kept = symbol.has(SymbolRecord::KEPT);
    let counts = |s: &SymbolRecord| if is_kept { is_printed(*s) } else { s.section == symbol.section };
    let after = symbols.partition_point(|s| s.pc <= symbol.pc);
    let next = symbols.from(after).iter().find(counts);
    let end = section(view, object, symbol.pc.get())
        .map(|s| u64::from(s.pc.get()).saturating_add(s.size.get()))
        .filter(|_| Some(object) != kernel(view));
    let distance = |end: u64| u32::try_from(end.saturating_sub(symbol.pc.get().into())).unwrap_or(u32::MAX);
    match (next.map(|s| u64::from(s.pc.get())), end) {
        (Some(next), Some(end)) if next >= end => Reach { size: distance(end), is_sure: false },
        (Some(next), _) => Reach { size: distance(next), is_sure: true },
        (None, Some(end)) if end > symbol.pc.get().into() => Reach { size: distance(end), is_sure: false },
        (None, _) => Reach { size: symbol.size.get(), is_sure: false },
    }
}

/// The allocated section that holds an address.
pub fn section<'a>(view: &View<'a>, object: ObjectId, pc: u32) -> Option<SectionRecord> {
    let holds = |s: &SectionRecord| pc.checked_sub(s.pc.get()).is_some_and(|o| u64::from(o) < s.size.get());
    view.sections_of(object).iter().find(holds)
}

/// Whether a symbol names code: a function, an indirect function resolved at load time, or an untyped assembly label.
pub fn is_code(view: &View<'_>, object: ObjectId, symbol: SymbolRecord) -> bool {
    let untyped = symbol.flags.get() & SymbolRecord::TYPE == 0;
    symbol.is_function()
        || symbol.is_indirect()
        || (untyped && section(view, object, symbol.pc.get()).is_some_and(is_executable))
}

/// Whether a name is that of padding: see [`is_prefix`].
pub fn is_prefix_name(view: &View<'_>, name: NameId) -> bool {
    view.names.get(name.index()).is_some_and(|n| is_prefix(view.string(n.name)))
}

/// Whether a section holds code.
pub fn is_executable(section: SectionRecord) -> bool {
    const SHF_EXECINSTR: u32 = 4;
    section.flags.get() & SHF_EXECINSTR != 0
}

/// Whether an address is within a symbol, rather than in the gap after it, which holds padding or a function that lost
/// to another of its name. An assembly label has no size and extends to the next symbol; but what follows the end
/// marker of a linker section (`__kprobes_text_end`) is padding. Cost: linear in the symbols close to it.
pub fn covers(view: &View<'_>, object: ObjectId, held: Held) -> bool {
    if held.offset < held.record.size.get() {
        return true;
    }
    let pc = held.record.pc.get().wrapping_add(held.offset);
    let symbols = view.symbols.part(view.symbols_of(object));
    let own = symbols.partition_point(|s| s.pc < held.record.pc);
    let reaches = |s: SymbolRecord| pc.checked_sub(s.pc.get()).is_some_and(|into| into < s.size.get());
    let at_its_address = || symbols.from(own).iter().take_while(|s| s.pc == held.record.pc);
    // A label within a larger function hides it; the function is a few symbols before.
    const NEAR: usize = 64;
    let is_label = || {
        let name = view.string(held.record.name);
        held.record.size.get() == 0 && !(is_area_mark(name) && name.ends_with(b"_end"))
    };
    is_label()
        || at_its_address().any(reaches)
        || symbols.part(own.saturating_sub(NEAR)..own).iter().any(reaches)
}

/// Whether an object has no addresses: its address values only distinguish symbols.
pub fn has_names_only(view: &View<'_>, object: ObjectId) -> bool {
    view.objects.get(object.index()).is_some_and(|o| o.has(ObjectRecord::NAMES_ONLY))
}

/// The address as the debug information has it: a link address, or an offset within the section in a module. 0 if
/// unknown.
pub fn address(view: &View<'_>, object: ObjectId, pc: u32) -> u64 {
    address_in(view, object, section(view, object, pc), pc)
}

/// Like [`address`], given the section that holds the address, if one does.
pub(crate) fn address_in(view: &View<'_>, object: ObjectId, section: Option<SectionRecord>, pc: u32) -> u64 {
    if has_names_only(view, object) {
        return 0;
    }
    match section {
        Some(section) => section.address.get().wrapping_add(u64::from(pc - section.pc.get())),
        None => view.objects.get(object.index()).map_or(0, |o| o.base.get()).wrapping_add(pc.into()),
    }
}

/// The symbols of code that have a name and that the kernel keeps, in one module (`vmlinux` is the kernel) or in all objects.
/// Cost: linear in the symbols of that name.
pub fn code_named<'a>(
    view: &'a View<'a>,
    module: Option<&[u8]>,
    name: &[u8],
) -> impl Iterator<Item = (ObjectId, SymbolRecord)> + use<'a> {
    let only = module.map(|module| match module {
        b"vmlinux" => kernel(view),
        module => functions::module(view, module),
    });
    let found = view.name(name).map(|name| view.symbols_named(name)).unwrap_or_default();
    let found = found.iter().filter_map(|id| Some((view.object_of_symbol(id), functions::symbol(view, id)?)));
    found.filter(move |(object, symbol)| {
        only.is_none_or(|only| only == Some(*object))
            && symbol.has(SymbolRecord::KEPT)
            && is_code(view, *object, *symbol)
    })
}

/// How often a name occurs in the symbol tables of the kernel and its modules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uniqueness {
    /// It occurs once in its own object.
    pub unique: bool,
    /// The other modules that also have it, if it occurs once in its own object.
    pub collides_with: Vec<ObjectId>,
}

/// Whether a symbol's name is unique, counting data symbols and all modules. Cost: linear in the symbols of that name.
pub fn uniqueness(view: &View<'_>, object: ObjectId, name: StrId) -> Uniqueness {
    let mut own = 0;
    let mut others = vec![];
    for id in view.name_of(name).map(|n| view.symbols_named(n)).unwrap_or_default() {
        if functions::is_kept(view, id) {
            match view.object_of_symbol(id) {
                o if o == object => own += 1,
                o if others.last() != Some(&o) => others.push(o),
                _ => {}
            }
        }
    }
    let kernel = kernel(view);
    let only_modules = own == 1 && others.iter().all(|o| Some(*o) != kernel);
    Uniqueness {
        unique: own == 1 && others.is_empty(),
        collides_with: if only_modules { others } else { vec![] },
    }
}

/// What to write to the kernel to denote exactly this address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Anchor<'a> {
    /// An offset from a symbol, for kprobes.
    Symbol {
        /// The module in which the kernel looks up the symbol.
        module: Option<&'a [u8]>,
        /// The symbol's name in the kernel's table.
        symbol: &'a [u8],
        /// The offset in bytes from the symbol's start.
        offset: u32,
    },
    /// An offset in a file, for uprobes.
    File {
        /// The file's path.
        path: &'a [u8],
        /// The offset in bytes from the file's start.
        offset: u64,
    },
}

impl Anchor<'_> {
    /// Whether the kernel can parse it: a blank ends it, and `#` starts a comment.
    pub fn is_definable(&self) -> bool {
        let is_whole = |text: &[u8]| !text.iter().any(|b| b.is_ascii_whitespace() || *b == b'#');
        match self {
            Self::Symbol { module, symbol, .. } => is_whole(symbol) && module.is_none_or(is_whole),
            Self::File { path, .. } => is_whole(path),
        }
    }
}

/// As the kernel accepts it: `_text+3543965`, `overlay:ovl_fill_super+16`, `/usr/bin/ls:0x4e20`.
impl std::fmt::Display for Anchor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = String::from_utf8_lossy;
        match self {
            Self::Symbol { module: None, symbol, offset } => write!(f, "{}+{offset}", text(symbol)),
            Self::Symbol { module: Some(module), symbol, offset } => {
                write!(f, "{}:{}+{offset}", text(module), text(symbol))
            }
            Self::File { path, offset } => write!(f, "{}:{offset:#x}", text(path)),
        }
    }
}

/// The anchor of an address. In vmlinux: an offset from `_text`, a name that no other symbol has, or from `_stext` if
/// the kernel does not keep `_text` (arm64 without CONFIG_KALLSYMS_ALL). In a module: an offset from the closest
/// preceding function symbol of the same section whose name is unique in the module. In a program or shared library:
/// the offset in its file.
pub fn anchor<'a>(view: &View<'a>, object: ObjectId, pc: u32) -> Option<Anchor<'a>> {
    if view.is_user(object) {
        let path = view.string(view.objects.get(object.index())?.path);
        return Some(Anchor::File { path, offset: view.file_offset(address(view, object, pc))? });
    }
    if has_names_only(view, object) {
        return holding(view, object, pc)
            .filter(|held| uniqueness(view, object, held.record.name).unique)
            .map(|held| Anchor::Symbol {
                module: None,
                symbol: view.string(held.record.name),
                offset: held.offset,
            });
    }
    if Some(object) == kernel(view) {
        return texts(view, object).find_map(|(_, record)| anchor_at(view, object, record, pc));
    }
    let section = section(view, object, pc)?;
    let symbols = view.symbols.part(view.symbols_of(object));
    let after = symbols.partition_point(|s| s.pc.get() <= pc);
    let record = symbols.at(anchor_behind(view, object, section, after)?);
    anchor_at(view, object, record, pc)
}

/// `_text` and `_stext` of vmlinux, as far as it keeps them.
fn texts(view: &View<'_>, object: ObjectId) -> impl Iterator<Item = (SymbolId, SymbolRecord)> {
    [&b"_text"[..], b"_stext"].into_iter().filter_map(move |text| {
        let symbol = functions::symbols_named(view, object, view.name(text)?).next()?;
        let record = functions::symbol(view, symbol).filter(|s| s.has(SymbolRecord::KEPT))?;
        Some((symbol, record))
    })
}

/// The symbol from which addresses of vmlinux are counted.
pub(crate) fn text(view: &View<'_>, object: ObjectId) -> Option<SymbolId> {
    texts(view, object).next().map(|(symbol, _)| symbol)
}

/// The anchor of an address at a symbol of its object.
pub(crate) fn anchor_at<'a>(
    view: &View<'a>,
    object: ObjectId,
    record: SymbolRecord,
    pc: u32,
) -> Option<Anchor<'a>> {
    let module = view.string(view.objects.get(object.index())?.name);
    Some(Anchor::Symbol {
        // That of vmlinux is empty.
        module: Some(module).filter(|module| !module.is_empty()),
        symbol: view.string(record.name),
        offset: pc.checked_sub(record.pc.get())?,
    })
}

/// The position among a module's symbols of the one from which addresses behind so many of them are counted.
pub(crate) fn anchor_behind(
    view: &View<'_>,
    object: ObjectId,
    section: SectionRecord,
    after: usize,
) -> Option<usize> {
    let symbols = view.symbols.part(view.symbols_of(object));
    // Init code has symbols only while the module loads; a definition made before that finds them.
    let while_loading = view.string(section.name).starts_with(b".init");
    let usable = |s: &SymbolRecord| {
        s.is_function()
            && is_unique_in(view, object, s.name, while_loading)
            && !is_taken_for_the_next(view, object, *s)
    };
    let closest = symbols.up_to(after).iter().rposition(|s| s.pc >= section.pc && usable(&s))?;
    let pc_of_closest = symbols.at(closest).pc;
    let first = symbols.up_to(closest).partition_point(|s| s.pc < pc_of_closest);
    symbols.part(first..closest + 1).iter().position(|s| usable(&s)).map(|into| first + into)
}

/// Where the local entry of a function of ppc64le is, in bytes from its start.
pub(crate) fn local_entry(symbol: SymbolRecord) -> u32 {
    if symbol.has(SymbolRecord::TWO_ENTRIES) { SymbolRecord::LOCAL_ENTRY } else { 0 }
}

/// Where ftrace patches a function of ppc64le, in bytes from its start; `flags` are those of vmlinux.
pub(crate) fn ftrace_site(flags: u32, symbol: SymbolRecord) -> Option<u32> {
    let behind = if flags & ObjectRecord::SITES_BEHIND_ENTRIES != 0 { 4 } else { 0 };
    symbol.has(SymbolRecord::FTRACE_ENTRY).then_some(local_entry(symbol) + behind)
}

/// Whether a probe at the name of a symbol may land at the function behind it: ppc64le looks for a site of ftrace up to 16
/// bytes from there, and takes any. (`kprobe_lookup_name`, arch/powerpc/kernel/kprobes.c, 6.1 to 7.2)
pub(crate) fn is_taken_for_the_next(view: &View<'_>, object: ObjectId, symbol: SymbolRecord) -> bool {
    const FAR: u32 = 16;
    if view.machine() != machine::PPC64 {
        return false;
    }
    let flags = kernel(view).and_then(|k| view.objects.get(k.index())).map_or(0, |k| k.flags.get());
    if flags & ObjectRecord::PROBES_FTRACE_SITES == 0 {
        return false;
    }
    let end = symbol.pc.get().saturating_add(FAR);
    let symbols = view.symbols.part(view.symbols_of(object));
    let behind = symbols.from(symbols.partition_point(|s| s.pc <= symbol.pc));
    let site = |s: SymbolRecord| s.pc.get().checked_add(ftrace_site(flags, s)?);
    behind.iter().take_while(|s| s.pc.get() <= end).filter_map(site).any(|site| site <= end)
}

/// Whether a name is unique in an object: among the kept symbols or, while it loads, among all.
fn is_unique_in(view: &View<'_>, object: ObjectId, name: StrId, while_loading: bool) -> bool {
    let is_there = |id: &SymbolId| while_loading || functions::is_kept(view, *id);
    let count = |n| functions::symbols_named(view, object, n).filter(is_there).count();
    view.name_of(name).is_some_and(|n| count(n) == 1)
}
