//! Out-of-line functions with their inline instances, variables and line rows.
use super::types::number;
use super::{At, Bytes, Die, Reader, operations};
use crate::support::facts::{Declared, ObjectFacts};
use gimli::{AttributeValue, DwAt, Operation, RawRngListEntry, Unit, constants::*};
use std::collections::BTreeSet;

/// What `DW_OP_fbreg` counts from.
#[derive(Clone, Copy)]
enum Base {
    Register(u8),
    Cfa,
    Other,
}

impl Base {
    fn of(die: &Die<'_>) -> Self {
        let Some(AttributeValue::Exprloc(base)) = die.attr_value(DW_AT_frame_base) else {
            return Self::Other;
        };
        match base.0.slice() {
            [op] if DwOp(*op) == DW_OP_call_frame_cfa => Self::Cfa,
            [op] if (DW_OP_reg0.0..=DW_OP_reg31.0).contains(op) => Self::Register(op - DW_OP_reg0.0),
            _ => Self::Other,
        }
    }

    /// The text of an expression without offsets from it, as an index has them: a lone one from the canonical frame address stays.
    fn told(self, text: &str) -> String {
        let offset =
            |word: &str| word.strip_prefix("FrameOffset { offset: ")?.strip_suffix(" }")?.parse::<i64>().ok();
        let words: Vec<&str> = text.split("; ").collect();
        let is_lone = matches!(words[..], [_] | [_, "StackValue"]);
        let leads_elsewhere = words.iter().any(|word| word.starts_with("Bra") || word.starts_with("Skip"));
        let told = words.iter().map(|word| match (offset(word), self) {
            (Some(offset), Self::Register(register)) => format!(
                "{:?}",
                Operation::<Bytes<'_>>::RegisterOffset {
                    register: gimli::Register(register.into()),
                    offset,
                    base_type: gimli::UnitOffset(0)
                }
            ),
            (Some(0), Self::Cfa) if !is_lone => "CallFrameCFA".to_owned(),
            (Some(offset), Self::Cfa) if !is_lone => format!("CallFrameCFA; constant {offset}; Plus"),
            _ => (*word).to_owned(),
        });
        if leads_elsewhere { text.to_owned() } else { told.collect::<Vec<_>>().join("; ") }
    }
}

/// Address, file, line.
type Row = (u64, String, u64);

impl<'d> Reader<'d, '_> {
    pub fn object_facts(&self, loaded: &super::object::Loaded) -> ObjectFacts {
        let functions = self.entries_with(DW_TAG_subprogram);
        ObjectFacts {
            functions: functions.iter().filter_map(|at| self.out_of_line(at)).collect(),
            sequences: self.d.units.iter().flat_map(|u| self.sequences(u)).map(|s| s.0).collect(),
            symbols: loaded.symbols.clone(),
            sections: loaded.sections.clone(),
        }
    }

    /// Functions that are described on their own: those with code and no origin, abstract ones, and whatever else is
    /// the origin of an instance (after link-time optimization a mere declaration may be).
    pub fn declared(&self) -> BTreeSet<Declared> {
        let own = |at: &At<'d, '_>| {
            let has_code = self.entry_and_ranges(at).0.is_some();
            let concerned = if claims_code(&at.die) { has_code } else { !at.flag(DW_AT_declaration) };
            concerned && !at.die.has_attr(DW_AT_abstract_origin)
        };
        let subprograms = self.entries_with(DW_TAG_subprogram);
        let instances = [subprograms.clone(), self.entries_with(DW_TAG_inlined_subroutine)].concat();
        let origins: Vec<_> = instances
            .iter()
            .filter_map(|at| self.d.follow(at.unit, at.die.attr_value(DW_AT_abstract_origin)?))
            .collect();
        let described = subprograms.iter().filter(|at| own(at)).chain(&origins).map(|at| {
            let mut variables = vec![];
            self.declared_variables(at, false, &mut variables);
            Declared { head: self.head(at), variables }
        });
        described.collect()
    }

    fn entries_with(&self, tag: gimli::DwTag) -> Vec<At<'d, '_>> {
        let mut all = vec![];
        for unit in &self.d.units {
            let mut entries = unit.entries();
            while let Some(die) = entries.next_dfs().unwrap() {
                if die.tag() == tag {
                    all.push(At { unit, die: die.clone() });
                }
            }
        }
        all
    }

    fn declared_variables(&self, at: &At<'d, '_>, nested: bool, out: &mut Vec<String>) {
        for child in at.children() {
            match child.die.tag() {
                DW_TAG_formal_parameter | DW_TAG_variable => {
                    out.push(format!("{}{}", self.variable(&child), if nested { " nested" } else { "" }));
                }
                DW_TAG_lexical_block => self.declared_variables(&child, true, out),
                _ => {}
            }
        }
    }

    /// The tree of a function that has code in the object.
    fn out_of_line(&self, at: &At<'d, '_>) -> Option<String> {
        let (entry, ranges) = self.entry_and_ranges(at);
        let entry = entry?;
        let mut text = format!("{} at {entry:#x}{ranges}\n", self.head(at));
        self.scope(at, 0, Base::of(&at.die), &mut text);
        Some(text)
    }

    /// Variables and lexical blocks in order, then the inline instances.
    fn scope(&self, at: &At<'d, '_>, depth: usize, base: Base, text: &mut String) {
        let mut inlines = vec![];
        self.items(at, depth + 1, base, text, &mut inlines);
        for inline in inlines {
            let (entry, ranges) = self.entry_and_ranges(&inline);
            let entry = entry.map_or("nowhere".to_owned(), |e| format!("{e:#x}"));
            let file = self.d.file(inline.unit, inline.die.attr_value(DW_AT_call_file));
            let [line, column] = [DW_AT_call_line, DW_AT_call_column].map(|a| inline.number(a).unwrap_or(0));
            let indent = "  ".repeat(depth + 1);
            *text +=
                &format!("{indent}{} at {entry} from {file}:{line}:{column}{ranges}\n", self.head(&inline));
            self.scope(&inline, depth + 1, base, text);
        }
    }

    fn items<'a>(
        &'a self,
        at: &At<'d, 'a>,
        depth: usize,
        base: Base,
        text: &mut String,
        inlines: &mut Vec<At<'d, 'a>>,
    ) {
        let indent = "  ".repeat(depth);
        for child in at.children() {
            match child.die.tag() {
                DW_TAG_formal_parameter | DW_TAG_variable => {
                    let extern_only =
                        child.flag(DW_AT_declaration) && !child.die.has_attr(DW_AT_abstract_origin);
                    if !extern_only {
                        *text +=
                            &format!("{indent}{} {}\n", self.variable(&child), self.location(&child, base));
                    }
                }
                DW_TAG_inlined_subroutine => inlines.push(child),
                // Without an address it is the abstract one, repeated.
                DW_TAG_lexical_block if child.die.has_children() => {
                    let mut items = String::new();
                    self.items(&child, depth + 1, base, &mut items, inlines);
                    if !items.is_empty() {
                        *text += &format!("{indent}{{{}\n{items}", self.entry_and_ranges(&child).1);
                    }
                }
                _ => {}
            }
        }
    }

    /// Name, place of declaration, flags and return type, from where they are said first along the origins.
    fn head(&self, at: &At<'d, '_>) -> String {
        // An instance is described by its origin alone.
        let at = &match at.die.attr_value(DW_AT_abstract_origin) {
            Some(origin) => self.d.follow(at.unit, origin).expect("an origin"),
            None => at.clone(),
        };
        let chain = self.chain(at);
        let name = chain.iter().find_map(|at| self.d.name(at)).unwrap_or_default();
        let inline = chain.iter().filter_map(|at| at.die.attr_value(DW_AT_inline));
        let inline = inline.fold(0, |all, value| match value {
            AttributeValue::Inline(inline) => all | inline.0,
            other => panic!("{other:?}"),
        });
        let (file, line) = self.declared_at(&chain);
        let mut text = format!("{name} {file}:{line} inline{inline}");
        for (attribute, name) in
            [(DW_AT_external, "external"), (DW_AT_noreturn, "noreturn"), (DW_AT_prototyped, "prototyped")]
        {
            if chain.iter().any(|at| at.flag(attribute)) {
                text += &format!(" {name}");
            }
        }
        let typed = first(&chain, DW_AT_type);
        format!(
            "{text} -> {}",
            typed.map_or("void".to_owned(), |(at, value)| self.spell(at.unit, Some(value), 0))
        )
    }

    fn declared_at(&self, chain: &[At<'d, '_>]) -> (String, u64) {
        if let Some((at, file)) = first(chain, DW_AT_decl_file) {
            let line = chain.iter().find_map(|at| at.number(DW_AT_decl_line)).unwrap_or(0);
            return (self.d.file(at.unit, Some(file)), line);
        }
        // Assembly: the row at its entry tells.
        let Some(entry) = self.entry_and_ranges(&chain[0]).0 else {
            // Clang 14 writes entries without any attribute with link-time optimization.
            return (String::new(), 0);
        };
        let rows = self.sequences(chain[0].unit).into_iter().flat_map(|s| s.1);
        let row = rows.filter(|r| r.0 <= entry).max_by_key(|r| r.0);
        row.map_or(("<unknown source>".to_owned(), 0), |r| (r.1, r.2))
    }

    /// An entry and those that it completes.
    fn chain<'a>(&'a self, at: &At<'d, 'a>) -> Vec<At<'d, 'a>> {
        let mut chain = vec![at.clone()];
        loop {
            let last = chain.last().expect("one at least");
            let parent =
                [DW_AT_specification, DW_AT_abstract_origin].iter().find_map(|a| last.die.attr_value(*a));
            let Some(parent) = parent.and_then(|value| self.d.follow(last.unit, value)) else { return chain };
            chain.push(parent);
        }
    }

    fn variable(&self, at: &At<'d, '_>) -> String {
        let chain = self.chain(at);
        let kind = if at.die.tag() == DW_TAG_formal_parameter { "param" } else { "var" };
        let name = chain.iter().find_map(|at| self.d.name(at)).unwrap_or_default();
        let typed = first(&chain, DW_AT_type);
        let spelled = typed.map_or("void".to_owned(), |(at, value)| self.spell(at.unit, Some(value), 0));
        let line = chain.iter().find_map(|at| at.number(DW_AT_decl_line)).unwrap_or(0);
        format!("{kind} {name}: {spelled} line {line}")
    }

    fn location(&self, at: &At<'d, '_>, base: Base) -> String {
        let chain = self.chain(at);
        let told = |at: &&At<'d, '_>| at.die.has_attr(DW_AT_const_value) || at.die.has_attr(DW_AT_location);
        let Some(at) = chain.iter().find(told) else { return "nowhere".to_owned() };
        let unit = at.unit;
        let expression = |bytes: Bytes<'d>| {
            let order = self.d.order;
            let text = operations(bytes.slice(), order, |index| self.d.dwarf.address(unit, index).unwrap());
            base.told(&text)
        };
        match at.die.attr_value(DW_AT_const_value) {
            Some(AttributeValue::Block(bytes)) => return format!("= {:02x?}", bytes.slice()),
            Some(value) => return format!("= {}", number(&value)),
            None => {}
        }
        match at.die.attr_value(DW_AT_location).expect("one of both") {
            AttributeValue::Exprloc(e) if e.0.is_empty() => "nowhere".to_owned(),
            AttributeValue::Exprloc(e) => format!("always {}", expression(e.0)),
            list => {
                let mut entries = self.d.dwarf.attr_locations(unit, list).unwrap().expect("a location list");
                let mut text = String::new();
                while let Some(entry) = entries.next().unwrap() {
                    let range = entry.range;
                    if let (Some(start), Some(end)) = (self.d.pc(range.begin), self.d.pc(range.end)) {
                        text += &format!("[{start:#x}-{end:#x} {}]", expression(entry.data.0));
                    }
                }
                if text.is_empty() { "nowhere".to_owned() } else { text }
            }
        }
    }

    /// `DW_AT_entry_pc`, else `DW_AT_low_pc`, else the start of the first range; and the ranges that are not empty.
    fn entry_and_ranges(&self, at: &At<'d, '_>) -> (Option<u64>, String) {
        let address = |name: DwAt| {
            let value = at.die.attr_value(name)?;
            self.d.dwarf.attr_address(at.unit, value).unwrap()
        };
        let low = address(DW_AT_low_pc);
        let mut all = vec![];
        if let Some(value) = at.die.attr_value(DW_AT_ranges) {
            all = self.range_list(at.unit, value);
        } else if let (Some(low), Some(_)) = (low, at.die.attr_value(DW_AT_high_pc)) {
            all.push((
                low,
                address(DW_AT_high_pc).unwrap_or_else(|| low + at.number(DW_AT_high_pc).unwrap()),
            ));
        }
        let start = low.or(all.first().map(|r| r.0));
        let entry = address(DW_AT_entry_pc).or_else(|| Some(start? + at.number(DW_AT_entry_pc)?)).or(start);
        let ranges =
            all.iter().filter(|r| r.0 < r.1).filter_map(|r| Some((self.d.pc(r.0)?, self.d.pc(r.1)?)));
        let text: String = ranges.map(|(start, end)| format!(" {start:#x}-{end:#x}")).collect();
        (entry.and_then(|e| self.d.pc(e)), text)
    }

    /// With the empty ones, which gimli's own iterator leaves out.
    fn range_list(&self, unit: &Unit<Bytes<'d>>, value: AttributeValue<Bytes<'d>>) -> Vec<(u64, u64)> {
        let dwarf = &self.d.dwarf;
        let offset = dwarf.attr_ranges_offset(unit, value).unwrap().expect("a range list");
        let mut raw = dwarf.raw_ranges(unit, offset).unwrap();
        let index = |index| dwarf.address(unit, index).unwrap();
        let mut base = unit.low_pc;
        let mut all = vec![];
        while let Some(entry) = raw.next().unwrap() {
            all.push(match entry {
                RawRngListEntry::BaseAddress { addr } => {
                    base = addr;
                    continue;
                }
                RawRngListEntry::BaseAddressx { addr } => {
                    base = index(addr);
                    continue;
                }
                RawRngListEntry::AddressOrOffsetPair { begin, end }
                | RawRngListEntry::OffsetPair { begin, end } => {
                    (base.wrapping_add(begin), base.wrapping_add(end))
                }
                RawRngListEntry::StartEnd { begin, end } => (begin, end),
                RawRngListEntry::StartLength { begin, length } => (begin, begin + length),
                RawRngListEntry::StartxEndx { begin, end } => (index(begin), index(end)),
                RawRngListEntry::StartxLength { begin, length } => (index(begin), index(begin) + length),
            });
        }
        all
    }

    /// A unit's line sequences, as text and as (address, file, line).
    fn sequences(&self, unit: &Unit<Bytes<'d>>) -> Vec<(String, Vec<Row>)> {
        let Some(program) = unit.line_program.clone() else { return vec![] };
        let mut all = vec![];
        let mut rows = program.rows();
        let mut current = vec![];
        while let Some((_, row)) = rows.next_row().unwrap() {
            if !row.end_sequence() {
                current.push(*row);
                continue;
            }
            let mut sequence = std::mem::take(&mut current);
            sequence.sort_by_key(gimli::LineRow::address);
            let start = sequence.first().and_then(|r| self.d.pc(r.address()));
            let (Some(start), Some(end)) = (start, self.d.pc(row.address())) else { continue };
            let mut lines: Vec<String> = vec![];
            let mut positions = vec![];
            for row in sequence {
                let (pc, file) = (self.d.pc(row.address()).unwrap(), self.d.path(unit, row.file_index()));
                let line = row.line().map_or(0, |l| l.get());
                let column = match row.column() {
                    gimli::ColumnType::LeftEdge => 0,
                    gimli::ColumnType::Column(column) => column.get(),
                };
                let stmt = if row.is_stmt() { " stmt" } else { "" };
                lines.push(format!("\n  {pc:#x} {file}:{line}:{column}{stmt}"));
                positions.push((pc, file, line));
            }
            // Rows that differ in their view number only are one.
            lines.dedup();
            all.push((format!("{start:#x}-{end:#x}{}", lines.concat()), positions));
        }
        all
    }
}

fn first<'d, 'a, 'c>(
    chain: &'c [At<'d, 'a>],
    name: DwAt,
) -> Option<(&'c At<'d, 'a>, AttributeValue<Bytes<'d>>)> {
    chain.iter().find_map(|at| Some((at, at.die.attr_value(name)?)))
}

fn claims_code(die: &Die<'_>) -> bool {
    [DW_AT_low_pc, DW_AT_ranges, DW_AT_entry_pc].iter().any(|a| die.has_attr(*a))
}
