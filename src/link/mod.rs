//! Builds the tables of objects: sections, symbols by address and by name, names of everything.
pub mod btf;
pub mod btf_types;
mod calls;
mod tracepoints;

use crate::btf::named::Named;
use crate::code::{self, CodeFacts, Kernel};
use crate::error::Error;
use crate::load::elf::{Elf, Segment};
use crate::load::object_kind::ObjectKind;
use crate::load::symbols::{self, Kept, Symbol};
use crate::merge::blank;
use crate::merge::calls::Call;
use crate::merge::intern::{GlobalStr, Interner, SortedStrings, StringIds};
use crate::merge::{Functions, Places};
pub use calls::Calls;
use object::Endianness;
use probeidx_format::id::{FunctionId, Pc, StrId, SymbolId};
use probeidx_format::record::*;
use probeidx_format::variables::Variables;
use probeidx_format::zerocopy::byteorder::little_endian::{U16, U32, U64};
use probeidx_format::{boundaries, names};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use tracepoints::TracepointFacts;

/// Facts about an object besides its debug information.
pub struct ObjectFacts {
    /// The name in the index; empty for vmlinux.
    pub name: GlobalStr,
    pub path: GlobalStr,
    pub base: u64,
    pub build_id: [u8; 20],
    pub machine: u16,
    pub sections: Vec<SectionFacts>,
    pub symbols: Vec<SymbolFacts>,
    pub code: CodeFacts,
    pub tracepoints: TracepointFacts,
    /// The key of each prototype in BTF by name, `None` for ambiguous names; only for objects that also have DWARF.
    pub prototypes: Option<btf::Prototypes>,
    /// The named types in its BTF.
    pub btf_types: Vec<Named>,
    /// Names of functions with flags of [`FunctionRecord`]: see [`marks`](crate::code::marks).
    marks: Vec<(GlobalStr, u16)>,
    /// For vmlinux: which symbols the kernel keeps.
    kept: Kept,
    /// For a user object.
    segments: Vec<Segment>,
}

/// A symbol with an unranked name.
#[derive(Clone, Copy)]
pub struct SymbolFacts {
    name: GlobalStr,
    pc: u32,
    size: u32,
    section: u16,
    flags: u16,
}

/// An allocated section.
#[derive(Clone, Copy)]
pub struct SectionFacts {
    name: GlobalStr,
    flags: u32,
    address: u64,
    size: u64,
    pc: u32,
}

impl ObjectFacts {
    /// Extracts what the index needs from an object of `kernel`. `with_code` is the object itself, or the file with
    /// the machine code if the object is a debug file without it. Errors in reading the code and the tables about it
    /// are appended to `faults`.
    pub fn new(
        object: &Elf<'_>,
        with_code: &Elf<'_>,
        kind: ObjectKind<'_>,
        path: &str,
        kernel: Kernel<'_>,
        interner: &Interner,
        faults: &mut Vec<Error>,
    ) -> Self {
        let is_user = matches!(kind, ObjectKind::User(_));
        let with_symbols = if with_code.symbols.is_empty() || is_user { object } else { with_code };
        let mut symbols = symbols::symbols(with_symbols, kind, &Kept::of(kernel.version, kernel.config));
        let mut code = match kind {
            ObjectKind::User(_) => code::read_user(with_code, &mut symbols, faults),
            ObjectKind::Vmlinux => code::read(with_code, &mut symbols, false, kernel, faults),
            ObjectKind::Module(_) => code::read(with_code, &mut symbols, true, kernel, faults),
        };
        for (_, starts) in &mut code.boundaries {
            *starts = boundaries::encode(starts);
            starts.shrink_to_fit();
        }
        if object.order == Endianness::Big {
            code.flags |= ObjectRecord::BIG_ENDIAN;
        }
        let mut build_id = [0; 20];
        for (to, from) in build_id.iter_mut().zip(object.build_id().unwrap_or_default()) {
            *to = *from;
        }
        let section = |s: &crate::load::elf::Section<'_>| {
            Some(SectionFacts {
                name: interner.intern(s.name.as_bytes()),
                flags: s.flags(),
                address: if object.is_relocatable { 0 } else { s.address() },
                size: s.size(),
                pc: s.pc?,
            })
        };
        Self {
            name: interner.intern(kind.name().as_bytes()),
            path: interner.intern(path.as_bytes()),
            base: object.base,
            build_id,
            machine: object.machine,
            sections: object.sections.iter().filter_map(section).collect(),
            symbols: symbols
                .iter()
                .map(|&Symbol { name, pc, size, section, flags }| SymbolFacts {
                    name: interner.intern(name),
                    pc,
                    size,
                    section,
                    flags,
                })
                .collect(),
            code,
            tracepoints: TracepointFacts::default(),
            prototypes: None,
            btf_types: vec![],
            marks: vec![],
            kept: Kept::of(kernel.version, kernel.config),
            segments: if is_user { with_code.segments.clone() } else { vec![] },
        }
    }
}

impl ObjectFacts {
    /// Adds names of functions with flags.
    pub fn mark(&mut self, marks: &[(Vec<u8>, u16)], interner: &Interner) {
        self.marks.extend(marks.iter().map(|(name, flag)| (interner.intern(name), *flag)));
    }
}

/// The tables of objects, sections, symbols and names.
#[derive(Default)]
pub struct Linked {
    pub objects: Vec<ObjectRecord>,
    pub sections: Vec<SectionRecord>,
    pub symbols: Vec<SymbolRecord>,
    pub names: Names,
    pub sites: Vec<SiteRecord>,
    pub segments: Vec<SegmentRecord>,
    pub refused: Vec<RefusedRecord>,
    pub boundaries: Vec<u8>,
    pub tracepoints: Vec<TracepointRecord>,
    pub event_fields: Vec<EventFieldRecord>,
    pub calls: Calls,
    pub btf_types: Vec<BtfTypeRecord>,
}

/// The tables of names.
#[derive(Default)]
pub struct Names {
    pub records: Vec<NameRecord>,
    pub hash: Vec<u8>,
    pub symbols: Vec<SymbolId>,
}

/// Links objects, in order, with their debug information. Their symbols and code facts leave them.
pub fn link(
    facts: &mut [ObjectFacts],
    ids: &StringIds,
    strings: &SortedStrings,
    functions: &Functions,
    places: &Places,
    calls: Vec<Call>,
) -> Linked {
    let keeps_data = facts.first().is_none_or(|first| first.kept.has_data);
    let mut linked = Linked::default();
    let first = |owners: &[u32], object: usize| owners.partition_point(|o| *o < object as u32);
    for number in 0..=facts.len() {
        let first_unit = first(&places.unit_objects, number);
        let mut record = ObjectRecord {
            first_section: U32::new(linked.sections.len() as u32),
            first_symbol: U32::new(linked.symbols.len() as u32),
            first_unit: U32::new(first_unit as u32),
            first_place: places.units[first_unit].first_place,
            first_range: U32::new(first(&places.range_objects, number) as u32),
            first_sequence: U32::new(first(&places.sequence_objects, number) as u32),
            first_site: U32::new(linked.sites.len() as u32),
            first_refused: U32::new(linked.refused.len() as u32),
            first_frame: U32::new(first(&places.frame_objects, number) as u32),
            ..blank()
        };
        if let Some(object) = facts.get_mut(number) {
            record.name = ids.get(object.name);
            record.path = ids.get(object.path);
            record.base = U64::new(object.base);
            record.build_id = object.build_id;
            record.flags = U32::new(object.code.flags);
            record.unread = U32::new(object.code.unread.0);
            let mut boundaries: FxHashMap<u32, u32> = FxHashMap::default();
            for (start, bits) in std::mem::take(&mut object.code.boundaries) {
                boundaries.insert(start, linked.boundaries.len() as u32);
                linked.boundaries.extend(bits);
            }
            linked.sites.extend(std::mem::take(&mut object.code.sites).iter().map(|s| SiteRecord {
                start: Pc::new(s.start),
                length: s.length,
                kind: s.kind,
            }));
            linked.segments.extend(object.segments.iter().map(|s| SegmentRecord {
                address: U64::new(s.address),
                offset: U64::new(s.offset),
                size: U64::new(s.size),
            }));
            linked.refused.extend(object.code.refused.iter().map(|r| RefusedRecord {
                start: Pc::new(r.start),
                end: Pc::new(r.end),
                source: U32::new(r.source),
            }));
            linked.sections.extend(object.sections.iter().map(|s| SectionRecord {
                name: ids.get(s.name),
                flags: U32::new(s.flags),
                address: U64::new(s.address),
                size: U64::new(s.size),
                pc: Pc::new(s.pc),
                boundaries: U32::new(boundaries.get(&s.pc).copied().unwrap_or(SectionRecord::NO_BOUNDARIES)),
            }));
            let keeps_data = keeps_data || number == 0;
            let is_data = |s: &SymbolFacts| !object.sections.get(usize::from(s.section)).is_some_and(is_code);
            let plain = object.prototypes.as_ref().map(btf::Prototypes::plain).unwrap_or_default();
            linked.symbols.extend(std::mem::take(&mut object.symbols).iter().map(|s| {
                let lost = if keeps_data || !is_data(s) { 0 } else { SymbolRecord::KEPT };
                let is_function = s.flags & SymbolRecord::TYPE == SymbolRecord::FUNC;
                let known =
                    if is_function && plain.contains(&s.name) { SymbolRecord::PLAIN_IN_BTF } else { 0 };
                SymbolRecord {
                    name: ids.get(s.name),
                    pc: Pc::new(s.pc),
                    size: U32::new(s.size),
                    section: U16::new(s.section),
                    flags: U16::new(s.flags & !lost | known),
                }
            }));
        }
        linked.objects.push(record);
    }
    (linked.tracepoints, linked.event_fields) =
        tracepoints::link(facts, &linked.objects, ids, strings, functions, places);
    let Linked { objects, symbols, .. } = &mut linked;
    if let Some(kernel) = objects.first_mut().filter(|o| o.name == StrId::new(0)) {
        let is_configured = facts.first().is_some_and(|o| o.code.is_configured);
        let machine = facts.first().map_or(0, |o| o.machine);
        let flags = inlined_rules(kernel.flags.get(), strings, functions, is_configured);
        let exists = |name: &[u8]| exists(name, strings, functions);
        kernel.flags = U32::new(code::trampolines::by_functions(flags, machine, exists));
    }
    let by_name = symbols_by_name(symbols);
    let calls = calls::link(&calls, objects, symbols, &by_name, functions, places);
    let (names, ()) = rayon::join(
        || names(&by_name, strings, functions),
        || mark_described(objects, symbols, functions, places),
    );
    bound_core(&mut linked, &names, strings);
    Linked { names, calls, ..linked }
}

/// Marks the code of vmlinux that can be probed (`core_kernel_text`, kernel/extable.c).
fn bound_core(linked: &mut Linked, names: &Names, strings: &SortedStrings) {
    let Linked { objects, symbols, .. } = linked;
    let [kernel, next, ..] = &mut objects[..] else { return };
    let bound = |name| {
        let first = names.symbols_of(name, strings).first()?.index();
        (first < next.first_symbol.get() as usize).then(|| symbols[first].pc)
    };
    let is_kernel = kernel.name == StrId::new(0);
    kernel.core_start = bound(b"_stext").filter(|_| is_kernel).unwrap_or(Pc::new(0));
    kernel.core_end = bound(b"_etext").filter(|_| is_kernel).unwrap_or(Pc::new(u32::MAX));
}

/// Whether a section contains code.
fn is_code(section: &SectionFacts) -> bool {
    section.flags & object::elf::SHF_EXECINSTR.0 as u32 != 0
}

/// Kernel rules that only always-inlined functions reveal. The first function is absent with
/// `CONFIG_KPROBE_EVENTS_ON_NOTRACE` (kernel/trace/trace_kprobe.c), which a known configuration shows by itself.
/// Kernels before 6.6, and stable kernels of that time, lack the second (kernel/kprobes.c). If `can_probe` is
/// described, so is its function that recognizes traps, unless the kernel has none: then this counts instead of the
/// version (arch/x86/kernel/kprobes/core.c, 6.9).
fn inlined_rules(flags: u32, strings: &SortedStrings, functions: &Functions, is_configured: bool) -> u32 {
    const RULES: [(&[u8], u32); 2] = [
        (b"within_notrace_func", ObjectRecord::REFUSES_NOTRACE),
        (b"is_cfi_preamble_symbol", ObjectRecord::REFUSES_PREFIXES),
    ];
    let exists = |name: &[u8]| exists(name, strings, functions);
    let flags = match (exists(b"can_probe"), exists(b"is_exception_insn")) {
        (_, true) => flags | ObjectRecord::REFUSES_TRAPS,
        (true, false) => flags & !ObjectRecord::REFUSES_TRAPS,
        (false, false) => flags,
    };
    let open = &RULES[usize::from(is_configured)..];
    open.iter().filter(|(name, _)| exists(name)).fold(flags, |flags, (_, flag)| flags | flag)
}

/// Whether the debug information has a function of this name.
fn exists(name: &[u8], strings: &SortedStrings, functions: &Functions) -> bool {
    let declared = &functions.records[..functions.records.len() - 1];
    declared.binary_search_by(|f| strings.get(f.name).cmp(name)).is_ok()
}

/// Marks the function symbols covered by debug information: those named like a function with code in the object, and
/// all others at its address; and those where contiguous code starts. SystemTap 4.8 makes the same distinctions
/// (`update_symtab`, `query_dwarf_func` of tapsets.cxx): it takes a clone whose cold part was split off for a
/// separate function, because it looks for `DW_AT_low_pc`.
fn mark_described(
    objects: &[ObjectRecord],
    symbols: &mut [SymbolRecord],
    functions: &Functions,
    places: &Places,
) {
    let bounds: Vec<_> = objects
        .windows(2)
        .map(|o| {
            let part = |f: fn(&ObjectRecord) -> U32| f(&o[0]).get() as usize..f(&o[1]).get() as usize;
            (part(|o| o.first_symbol), part(|o| o.first_place))
        })
        .collect();
    let mut pieces = vec![0u8; places.places.len()];
    for range in &places.ranges {
        let count = &mut pieces[range.place.index()];
        *count = count.saturating_add(1);
    }
    let mut rest = symbols;
    let mut parts = vec![];
    for (symbols, placed) in bounds {
        let (part, after) = rest.split_at_mut(symbols.len());
        rest = after;
        parts.push((part, placed));
    }
    parts.into_par_iter().for_each(|(symbols, placed)| {
        let mut names: FxHashSet<StrId> = FxHashSet::default();
        let mut entries: FxHashSet<Pc> = FxHashSet::default();
        for at in placed.filter(|at| places.out_of_line[*at]) {
            let place = &places.places[at];
            names.insert(symbol_name(functions, place.function));
            if pieces[at] < 2 {
                entries.insert(place.entry);
            }
        }
        let named: FxHashSet<Pc> =
            symbols.iter().filter(|s| s.is_function() && names.contains(&s.name)).map(|s| s.pc).collect();
        for symbol in symbols.iter_mut().filter(|s| s.is_function()) {
            let described = if named.contains(&symbol.pc) { SymbolRecord::DESCRIBED } else { 0 };
            let entry = if entries.contains(&symbol.pc) { SymbolRecord::ENTRY } else { 0 };
            symbol.flags = U16::new(symbol.flags.get() | described | entry);
        }
    });
}

/// The symbol name of a function: its linkage name if it has one, else its name.
fn symbol_name(functions: &Functions, function: FunctionId) -> StrId {
    let record = &functions.records[function.index()];
    let details = functions.details.get(record.details.get() as usize..).unwrap_or_default();
    let known = Variables::read(&functions.variables[..], details, 0, 0);
    if known.linkage_name == StrId::new(0) { record.name } else { known.linkage_name }
}

/// The symbols by name, then by position: the name in the high half, the position in the low half.
fn symbols_by_name(symbols: &[SymbolRecord]) -> Vec<u64> {
    let mut by_name: Vec<u64> =
        (0u32..).zip(symbols).map(|(at, s)| u64::from(s.name.get()) << 32 | u64::from(at)).collect();
    by_name.par_sort_unstable();
    by_name
}

/// Builds the tables of names.
fn names(by_name: &[u64], strings: &SortedStrings, functions: &Functions) -> Names {
    let mut records = vec![];
    let declared = &functions.records[..functions.records.len() - 1];
    let (mut function, mut symbol) = (0, 0);
    loop {
        let function_name = declared.get(function).map(|f| f.name);
        let symbol_name = by_name.get(symbol).map(|s| StrId::new((s >> 32) as u32));
        let Some(name) = function_name.into_iter().chain(symbol_name).min() else { break };
        let first = (function, symbol);
        while declared.get(function).is_some_and(|f| f.name == name) {
            function += 1;
        }
        while by_name.get(symbol).is_some_and(|s| (s >> 32) as u32 == name.get()) {
            symbol += 1;
        }
        records.push(NameRecord {
            name,
            first_function: FunctionId::new(first.0 as u32),
            first_symbol: U32::new(first.1 as u32),
        });
    }
    let hash = names::table(records.iter().map(|n| strings.get(n.name)));
    records.push(NameRecord {
        first_function: FunctionId::new(function as u32),
        first_symbol: U32::new(symbol as u32),
        ..blank()
    });
    Names { records, hash, symbols: by_name.iter().map(|s| SymbolId::new(*s as u32)).collect() }
}

impl Names {
    /// The symbols of a name.
    fn symbols_of(&self, name: &[u8], strings: &SortedStrings) -> &[SymbolId] {
        let named = |record: &NameRecord| strings.get(record.name).cmp(name);
        let found = self.records[..self.records.len() - 1].binary_search_by(named);
        let first = |at: usize| self.records[at].first_symbol.get() as usize;
        found.map_or(&[], |at| &self.symbols[first(at)..first(at + 1)])
    }
}
