//! Function declarations: name, file, line, and the variables of all their scopes.
//!
//! Functions that were inlined somewhere have an abstract entry of their own; others are described where their code
//! is. Either way, placements refer to one list of variables by position.
use super::abbrev::Slot;
use super::attrs::Attrs;
use super::cursor::Cursor;
use super::extractor::{Extractor, Source};
use super::facts::{FunctionFacts, NO_TYPE, VariableFacts};
use super::header::Fault;
use super::strings::{Key, LocalStr};
use super::types::MOST_PASSED_OVER;
use gimli::constants::*;
use object::Endian;
use probeidx_format::record::FunctionRecord;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::rc::Rc;

/// The most variables that an index record can count.
pub const MOST_VARIABLES: usize = u16::MAX as usize;

/// A function whose unit is still being read.
#[derive(Clone, Default)]
pub struct UnitFunction {
    pub name: LocalStr,
    pub linkage_name: LocalStr,
    pub file: LocalStr,
    pub line: u32,
    pub return_type: u32,
    pub flags: u16,
    /// Its range of the unit's variables.
    pub variables: Range<u32>,
    /// Variables that its placements have but its own entry lacks.
    pub extra: Vec<UnitVariable>,
    /// Without `DW_AT_decl_file`, as in assembly: an address whose line row gives the file.
    pub lookup: Option<u32>,
}

/// A variable and the offset of its entry, by which placements refer to it.
#[derive(Clone, Copy)]
pub struct UnitVariable {
    pub offset: u32,
    pub facts: VariableFacts,
    /// The location or value of all placements that have none of their own.
    pub fixed: Fixed,
}

/// A location or value that does not depend on the address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fixed {
    None,
    /// A block for `attrs::block`.
    Expr(u64),
    Number(i64),
    /// A block for `attrs::block`.
    Bytes(u64),
}

/// The functions of the current unit, and all of the batch by key.
#[derive(Default)]
pub struct UnitFunctions {
    pub list: Vec<UnitFunction>,
    pub variables: Vec<UnitVariable>,
    by_offset: FxHashMap<u32, u32>,
    by_key: FxHashMap<Key, u32>,
    depth: u32,
    /// Bytes read or skipped within abstract functions, and what calls lead to.
    pub(super) passed_over: usize,
}

impl UnitFunctions {
    /// Starts with the functions already in the batch.
    pub(super) fn new(by_key: FxHashMap<Key, u32>) -> Self {
        Self { by_key, ..Self::default() }
    }
    /// The function of the unit whose entry is at this offset, if it is known already.
    #[inline]
    pub(super) fn known(&self, offset: u64) -> Option<u32> {
        self.by_offset.get(&(offset as u32)).copied()
    }
    /// The functions in the batch.
    pub(super) fn into_known(self) -> FxHashMap<Key, u32> {
        self.by_key
    }
}

/// Chains of origins deeper than this are cut.
const DEEPEST_ORIGIN: u32 = 16;

/// Lexical blocks nested deeper than this are cut.
pub const DEEPEST_SCOPE: u32 = 400;

impl<'d, E: Endian> Extractor<'d, '_, E> {
    /// The function whose entry is at this offset of `.debug_info`, in any unit.
    pub(super) fn function_at(&mut self, source: &Rc<Source<'d, E>>, offset: u64) -> Option<u32> {
        if let Some(&known) = self.functions.by_offset.get(&(offset as u32)) {
            return Some(known);
        }
        let from = source;
        let Some(source) = self.source_of(source, offset).filter(|_| self.functions.depth < DEEPEST_ORIGIN)
        else {
            let at = self.place_of_reference(from, offset);
            self.fault(Fault::new(".debug_info", at, "an origin that cannot be followed"));
            return None;
        };
        self.functions.depth += 1;
        let described = self.describe_function(&source, offset as usize);
        self.functions.depth -= 1;
        described
    }

    fn describe_function(&mut self, source: &Rc<Source<'d, E>>, offset: usize) -> Option<u32> {
        let mut cursor = source.unit.cursor(offset);
        let abbrev = *source.unit.abbrevs.get(cursor.uleb())?;
        if abbrev.tag != DW_TAG_subprogram {
            self.fault(Fault::new(".debug_info", offset, "the origin of a function is none"));
            return None;
        }
        let mut attrs = Attrs::default();
        source.unit.attrs(&mut cursor, &abbrev, &mut attrs);
        Some(self.abstract_function(source, offset, &mut cursor, abbrev.has_children, &attrs))
    }

    /// Reads a function from its entry, whose attributes are already read, and its children.
    pub(super) fn abstract_function(
        &mut self,
        source: &Rc<Source<'d, E>>,
        offset: usize,
        cursor: &mut Cursor<'d, E>,
        has_children: bool,
        attrs: &Attrs,
    ) -> u32 {
        if let Some(&known) = self.functions.by_offset.get(&(offset as u32)) {
            if has_children {
                source.unit.skip_children(cursor);
            }
            return known;
        }
        let mut function = self.declaration(source, attrs);
        let id = self.functions.list.len() as u32;
        self.functions.list.push(UnitFunction::default());
        self.functions.by_offset.insert(offset as u32, id);
        let mut variables = vec![];
        let first_child = cursor.pos;
        if has_children {
            let is_variadic = self.collect_variables(source, cursor, &mut variables, 0);
            function.flags |= if is_variadic { FunctionRecord::VARIADIC } else { 0 };
        }
        self.functions.passed_over += cursor.pos - first_child;
        let first = self.functions.variables.len() as u32;
        function.variables = first..first + variables.len() as u32;
        self.functions.variables.extend(variables);
        self.functions.list[id as usize] = function;
        id
    }

    /// The declaration in an entry, completed from its origin or specification.
    pub(super) fn declaration(&mut self, source: &Rc<Source<'d, E>>, attrs: &Attrs) -> UnitFunction {
        let parent = attrs.get(Slot::Specification).or(attrs.get(Slot::Origin));
        let flag = |slot, flag| if attrs.flag(slot) { flag } else { 0 };
        let flags = attrs.get(Slot::Inline).unwrap_or(0) as u16 & FunctionRecord::INLINE
            | flag(Slot::External, FunctionRecord::EXTERNAL)
            | flag(Slot::Noreturn, FunctionRecord::NORETURN)
            | flag(Slot::Prototyped, FunctionRecord::PROTOTYPED);
        let (name, linkage) = (attrs.string(Slot::Name), attrs.string(Slot::LinkageName));
        let (file, line) = (attrs.get(Slot::DeclFile), attrs.get(Slot::DeclLine));
        let return_type = attrs.get(Slot::Type);
        let mut function = match parent.and_then(|parent| self.function_at(source, parent)) {
            Some(parent) => {
                let parent = &self.functions.list[parent as usize];
                UnitFunction { variables: 0..0, extra: vec![], ..parent.clone() }
            }
            None => UnitFunction { return_type: NO_TYPE, ..UnitFunction::default() },
        };
        function.flags |= flags;
        if let Some(name) = name {
            function.name = self.string(name);
        }
        if let Some(linkage) = linkage {
            function.linkage_name = self.string(linkage);
        }
        if let Some(file) = file {
            function.file = self.path(source, file);
        }
        if let Some(line) = line {
            function.line = line as u32;
        }
        if let Some(return_type) = return_type {
            function.return_type = self.type_at(source, return_type);
        }
        function
    }

    /// Returns whether the function takes further arguments.
    fn collect_variables(
        &mut self,
        source: &Rc<Source<'d, E>>,
        cursor: &mut Cursor<'d, E>,
        out: &mut Vec<UnitVariable>,
        depth: u32,
    ) -> bool {
        let unit = &source.unit;
        let mut attrs = self.spare_attrs.take();
        let mut is_variadic = false;
        while let Some((offset, abbrev)) = unit.next_entry(cursor) {
            if self.functions.passed_over > MOST_PASSED_OVER.saturating_mul(unit.sections.info.len()) {
                self.fault(Fault::new(".debug_info", offset, "functions are nested too deep, or overlap"));
                cursor.ended = true;
                return is_variadic;
            }
            match abbrev.tag {
                DW_TAG_formal_parameter | DW_TAG_variable => {
                    unit.attrs(cursor, abbrev, &mut attrs);
                    let parameter = abbrev.tag == DW_TAG_formal_parameter;
                    if !is_extern(&attrs) {
                        out.push(self.variable(source, offset, &attrs, parameter, depth > 0));
                    }
                    if abbrev.has_children {
                        unit.skip_children(cursor);
                    }
                }
                DW_TAG_lexical_block if abbrev.has_children && depth < DEEPEST_SCOPE => {
                    unit.skip_attrs(cursor, abbrev);
                    self.collect_variables(source, cursor, out, depth + 1);
                }
                DW_TAG_unspecified_parameters => {
                    is_variadic = true;
                    unit.skip_entry(cursor, abbrev);
                }
                _ => {
                    if abbrev.has_name && abbrev.kind.is_some() {
                        self.pass_type(source, offset, cursor, abbrev, &mut attrs);
                    } else {
                        unit.skip_entry(cursor, abbrev);
                    }
                    self.functions.passed_over += cursor.pos - offset;
                }
            }
        }
        self.spare_attrs.put(attrs);
        is_variadic
    }

    /// Reads a variable from its entry.
    pub(super) fn variable(
        &mut self,
        source: &Rc<Source<'d, E>>,
        offset: usize,
        attrs: &Attrs,
        parameter: bool,
        nested: bool,
    ) -> UnitVariable {
        let own_type = attrs.get(Slot::Type);
        let facts = VariableFacts {
            name: attrs.string(Slot::Name).map_or(LocalStr::EMPTY, |name| self.string(name)),
            type_id: own_type.map_or(NO_TYPE, |t| self.type_at(source, t)),
            line: attrs.get(Slot::DeclLine).unwrap_or(0) as u32,
            parameter,
            nested,
        };
        let mut variable = UnitVariable { offset: offset as u32, facts, fixed: fixed(attrs) };
        if let Some(origin) = attrs.get(Slot::Origin).or(attrs.get(Slot::Specification))
            && let Some(origin) = self.origin_variable(source, origin, 0)
        {
            if variable.facts.name == LocalStr::EMPTY {
                variable.facts.name = origin.name;
            }
            if own_type.is_none() {
                variable.facts.type_id = origin.type_id;
            }
            if variable.facts.line == 0 {
                variable.facts.line = origin.line;
            }
        }
        variable
    }

    /// The variable whose entry is at this offset.
    fn origin_variable(
        &mut self,
        source: &Rc<Source<'d, E>>,
        offset: u64,
        depth: u32,
    ) -> Option<VariableFacts> {
        let source = self.source_of(source, offset).filter(|_| depth < DEEPEST_ORIGIN)?;
        let mut cursor = source.unit.cursor(offset as usize);
        let abbrev = *source.unit.abbrevs.get(cursor.uleb())?;
        if !matches!(abbrev.tag, DW_TAG_formal_parameter | DW_TAG_variable) {
            return None;
        }
        let mut attrs = Attrs::default();
        source.unit.attrs(&mut cursor, &abbrev, &mut attrs);
        if attrs.get(Slot::Name).is_none()
            && let Some(origin) = attrs.get(Slot::Origin)
        {
            return self.origin_variable(&source, origin, depth + 1);
        }
        Some(VariableFacts {
            name: attrs.string(Slot::Name).map_or(LocalStr::EMPTY, |name| self.string(name)),
            type_id: attrs.get(Slot::Type).map_or(NO_TYPE, |t| self.type_at(&source, t)),
            line: attrs.get(Slot::DeclLine).unwrap_or(0) as u32,
            parameter: abbrev.tag == DW_TAG_formal_parameter,
            nested: false,
        })
    }

    /// Assigns batch numbers to the unit's functions, one per distinct function, and empties the unit's list. The
    /// numbers are in the order of the list.
    pub(super) fn finish_functions(&mut self) -> Vec<u32> {
        let list = std::mem::take(&mut self.functions.list);
        let variables = std::mem::take(&mut self.functions.variables);
        let mut numbers = Vec::with_capacity(list.len());
        for function in &list {
            let own = variables.get(function.variables.start as usize..function.variables.end as usize);
            let own = own.unwrap_or_default();
            let all = || own.iter().chain(&function.extra).map(|v| v.facts).take(MOST_VARIABLES);
            if own.len() + function.extra.len() > MOST_VARIABLES {
                let at = own.last().map_or(0, |v| v.offset as usize);
                self.fault(Fault::new(
                    ".debug_info",
                    at,
                    "a function has more than 65535 variables, and the rest is left out",
                ));
            }
            let hash = |s| self.batch.strings.hash(s);
            let mut key = Key::new(u64::from(function.flags) << 32 | u64::from(function.line))
                .with(hash(function.name))
                .with(hash(function.file))
                .with(hash(function.linkage_name))
                .and(self.type_key(function.return_type));
            for v in all() {
                let bits = u64::from(v.line) << 2 | u64::from(v.parameter) << 1 | u64::from(v.nested);
                key = key.with(hash(v.name)).with(bits).and(self.type_key(v.type_id));
            }
            let number = match self.functions.by_key.get(&key) {
                Some(&known) => known,
                None => {
                    let first_variable = self.batch.variables.len() as u32;
                    self.batch.variables.extend(all());
                    let new = self.batch.functions.len() as u32;
                    self.batch.functions.push(FunctionFacts {
                        key,
                        name: function.name,
                        linkage_name: function.linkage_name,
                        file: function.file,
                        line: function.line,
                        return_type: function.return_type,
                        flags: function.flags,
                        first_variable,
                        variables: (self.batch.variables.len() as u32 - first_variable) as u16,
                    });
                    self.functions.by_key.insert(key, new);
                    new
                }
            };
            numbers.push(number);
        }
        self.functions.by_offset.clear();
        numbers
    }
}

/// Whether it is an `extern` declaration within a function, which is not one of its variables.
pub fn is_extern(attrs: &Attrs) -> bool {
    attrs.get(Slot::Origin).is_none() && attrs.flag(Slot::Declaration)
}

/// The location or value in an entry that holds at all addresses.
pub fn fixed(attrs: &Attrs) -> Fixed {
    match (attrs.get(Slot::ConstValue), attrs.get(Slot::Location)) {
        (Some(value), _) if attrs.is_block(Slot::ConstValue) => Fixed::Bytes(value),
        (Some(value), _) if is_number(attrs.form(Slot::ConstValue)) => Fixed::Number(value as i64),
        // A string: the value is an array of characters, which is not stored.
        (Some(_), _) => Fixed::Bytes(0),
        (None, Some(value)) if attrs.is_block(Slot::Location) => Fixed::Expr(value),
        _ => Fixed::None,
    }
}

fn is_number(form: DwForm) -> bool {
    !matches!(
        form,
        DW_FORM_string
            | DW_FORM_strp
            | DW_FORM_line_strp
            | DW_FORM_strx
            | DW_FORM_strx1
            | DW_FORM_strx2
            | DW_FORM_strx3
            | DW_FORM_strx4
            | DW_FORM_GNU_str_index
    )
}
