//! A build, and the facts of its index as lines of text.
use super::facts::{Declared, Facts, ObjectFacts};
use super::fixture::Tree;
use probeidx::pipeline::{self, Options, Report};
use probeidx_format::View;
use probeidx_format::details::{Item, Location};
use probeidx_format::expr::Expr;
use probeidx_format::id::{FunctionId, ObjectId, Pc, PlaceId, StrId, TypeId};
use probeidx_format::record::{FunctionRecord, SymbolRecord};
use probeidx_format::strings::Decoded;
use probeidx_format::types::TypeKind;
use std::path::{Path, PathBuf};

/// An index in memory, and what its build reported.
pub struct Index {
    pub report: Report,
    pub bytes: Vec<u8>,
    decoded: Decoded,
}

/// How a build of the tests goes, for as many threads.
pub fn options(db: &Path, jobs: usize) -> Options {
    Options { db: db.to_owned(), modules: true, tapsets: vec![], force: true, jobs }
}

/// Indexes what lies under these paths, which is one kernel at most; the bytes are empty if it is none.
pub fn build(paths: &[PathBuf], jobs: usize) -> Index {
    let db = tempfile::tempdir().unwrap();
    let report = pipeline::build(paths, &options(db.path(), jobs), &()).unwrap();
    assert!(report.built.len() < 2, "{report:#?}");
    let bytes = report.built.first().map(|b| std::fs::read(&b.index).unwrap()).unwrap_or_default();
    Index { report, bytes, decoded: Decoded::new() }
}

/// Indexes a tree, all of it.
pub fn build_whole(tree: &Tree) -> Index {
    let index = build(&[tree.path()], 2);
    assert!(index.report.skipped.is_empty(), "{:#?}", index.report.skipped);
    index
}

/// The facts of a tree, all of it; see [`without_references`].
pub fn facts(tree: &Tree) -> Facts {
    without_references(build_whole(tree).facts())
}

/// Facts in which expressions do not say to which entries they refer: those are others however the entries are packed.
pub fn without_references(mut facts: Facts) -> Facts {
    for function in facts.objects.values_mut().flat_map(|object| &mut object.functions) {
        let mut parts = function.split("UnitOffset(");
        let first = parts.next().unwrap_or_default().to_owned();
        *function =
            parts.fold(first, |kept, part| kept + part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    facts
}

impl Index {
    pub fn view(&self) -> View<'_> {
        View::open(&self.bytes, &self.decoded).unwrap()
    }
    /// What was skipped, a line each, with `root` left out.
    pub fn skipped(&self, root: &Path) -> Vec<String> {
        let below = format!("{}/", root.display());
        let line = |s: &pipeline::Skipped| {
            let times = if s.count == 1 { String::new() } else { format!("{} times: ", s.count) };
            let part = if s.whole_object { "" } else { "part of " };
            format!("{part}{times}{}", s.error).replace(&below, "")
        };
        self.report.skipped.iter().map(line).collect()
    }
    pub fn facts(&self) -> Facts {
        let reader = Reader { v: self.view() };
        let mut facts = Facts::default();
        for object in reader.v.object_ids() {
            let name = reader.s(reader.v.objects[object.index()].name);
            facts.objects.insert(name, reader.object(object));
        }
        let types = reader.v.types.len() - 1;
        facts.types = (0..types as u32).filter_map(|t| reader.definition(TypeId::new(t))).collect();
        let functions = reader.v.functions.len() - 1;
        facts.declared = (0..functions).map(|f| reader.declared(reader.v.functions.at(f))).collect();
        facts
    }
}

/// Turns records into text.
pub struct Reader<'a> {
    pub v: View<'a>,
}

impl Reader<'_> {
    pub fn s(&self, id: StrId) -> String {
        String::from_utf8_lossy(self.v.string(id)).into_owned()
    }

    fn object(&self, id: ObjectId) -> ObjectFacts {
        let v = &self.v;
        let record = &v.objects[id.index()];
        let mut facts = ObjectFacts::default();
        for section in v.sections_of(id) {
            facts.sections.push(format!(
                "{} {:#x} {:#x}",
                self.s(section.name),
                section.pc.get(),
                section.size.get()
            ));
        }
        for symbol in v.symbols.part(v.symbols_of(id)) {
            facts.symbols.push(self.symbol(id, symbol));
        }
        assert!(v.symbols.part(v.symbols_of(id)).iter().is_sorted_by_key(|s| s.pc), "symbols by address");
        for sequence in v.sequences_of(id) {
            let mut text = format!("{:#x}-{:#x}", sequence.start.get(), sequence.end.get());
            for row in v.rows(sequence) {
                let file = self.s(v.unit_file(sequence.unit, row.position.file));
                let stmt = if row.is_stmt { " stmt" } else { "" };
                text +=
                    &format!("\n  {:#x} {file}:{}:{}{stmt}", row.pc, row.position.line, row.position.column);
            }
            facts.sequences.push(text);
        }
        assert!(v.sequences_of(id).iter().is_sorted_by_key(|s| s.start), "sequences by address");
        let mut ranges = vec![];
        let mut places = v.places_of(id).peekable();
        while let Some(at) = places.next() {
            let place = v.places.at(at);
            let outer = |at: usize| v.outer(PlaceId::new(at as u32), v.places.at(at));
            assert!(outer(at).is_none(), "an out-of-line function comes first");
            let mut tree = self.place(PlaceId::new(at as u32), 0);
            ranges.extend(
                v.details(PlaceId::new(at as u32), place)
                    .ranges
                    .filter(|r| r.start < r.end)
                    .map(|r| (r.start, r.end, at as u32)),
            );
            let mut chain = vec![at as u32];
            while let Some(inner) = places.next_if(|i| outer(*i).is_some()) {
                let outer = outer(inner).map(PlaceId::get);
                while chain.last().copied() != outer {
                    chain.pop().expect("inline instances follow their outer place in preorder");
                }
                tree += &self.place(PlaceId::new(inner as u32), chain.len());
                chain.push(inner as u32);
            }
            facts.functions.push(tree);
        }
        ranges.sort_unstable();
        let listed: Vec<_> =
            v.ranges_of(id).iter().map(|r| (r.start.get(), r.end.get(), r.place.get())).collect();
        assert_eq!(listed, ranges, "the table of ranges of {}", self.s(record.name));
        facts
    }

    fn symbol(&self, object: ObjectId, s: SymbolRecord) -> String {
        let section = match s.section.get() {
            SymbolRecord::ABSOLUTE => "*ABS*".to_owned(),
            section => self.s(self.v.sections_of(object).at(usize::from(section)).name),
        };
        let exported = if s.has(SymbolRecord::EXPORTED) { " exported" } else { "" };
        let (kind, binding) = (s.flags.get() & SymbolRecord::TYPE, s.binding());
        format!(
            "{} {:#x} size {} {section} type {kind} binding {binding}{exported}",
            self.s(s.name),
            s.pc.get(),
            s.size.get()
        )
    }

    /// A placement and its variables, indented by its depth.
    pub fn place(&self, id: PlaceId, depth: usize) -> String {
        let v = &self.v;
        let place = v.places.get(id.index()).unwrap();
        let details = v.details(id, place);
        let function = v.functions.get(place.function.index()).unwrap();
        let indent = "  ".repeat(depth);
        let mut text = format!("{indent}{} at {}", self.head(function), pc(place.entry));
        if let Some(call) = details.call {
            let file = self.s(v.unit_file(v.unit_of_place(id), call.file));
            text += &format!(" from {file}:{}:{}", call.line, call.column);
        }
        text += &ranges(details.ranges);
        text.push('\n');
        let variables: Vec<_> = v.variables(function).collect();
        let mut depth = depth + 1;
        for item in details.items {
            let indent = "  ".repeat(depth);
            match item {
                Item::Block(block) => {
                    text += &format!("{indent}{{{}\n", ranges(block));
                    depth += 1;
                }
                Item::End => depth -= 1,
                Item::Variable(index, location) => {
                    let variable = &variables[index as usize];
                    text += &format!("{indent}{} {}\n", self.variable(variable), self.location(location));
                }
            }
        }
        text
    }

    fn variable(&self, variable: &probeidx_format::variables::Variable) -> String {
        let kind = if variable.parameter { "param" } else { "var" };
        let spelled = self.spell(variable.type_id.unwrap_or(TypeId::NONE), 0);
        format!("{kind} {}: {spelled} line {}", self.s(variable.name), variable.line)
    }

    fn location(&self, location: Location<'_>) -> String {
        match location {
            Location::None => "nowhere".to_owned(),
            Location::Everywhere(expr) => format!("always {}", operations(expr)),
            Location::Constant(number) => format!("= {number}"),
            Location::Bytes(bytes) => format!("= {bytes:02x?}"),
            Location::Within(range, expr) => {
                format!("[{:#x}-{:#x} {}]", range.start, range.end, operations(expr))
            }
            Location::List(list) => {
                // Independent readers pass over empty ranges.
                let text: String = list
                    .filter(|(range, _)| range.start < range.end)
                    .map(|(range, expr)| {
                        format!("[{:#x}-{:#x} {}]", range.start, range.end, operations(expr))
                    })
                    .collect();
                if text.is_empty() { "nowhere".to_owned() } else { text }
            }
        }
    }

    pub fn head(&self, f: FunctionRecord) -> String {
        let mut text =
            format!("{} {}:{} inline{}", self.s(f.name), self.s(f.file), f.line.get(), f.flags.get() & 3);
        for (flag, name) in [
            (FunctionRecord::EXTERNAL, "external"),
            (FunctionRecord::NORETURN, "noreturn"),
            (FunctionRecord::PROTOTYPED, "prototyped"),
        ] {
            if f.has(flag) {
                text += &format!(" {name}");
            }
        }
        format!("{text} -> {}", self.spell(self.v.variables(f).return_type.unwrap_or(TypeId::NONE), 0))
    }

    fn declared(&self, f: FunctionRecord) -> Declared {
        let nested = |nested: bool| if nested { " nested" } else { "" };
        let variables = self.v.variables(f).map(|v| format!("{}{}", self.variable(&v), nested(v.nested)));
        Declared { head: self.head(f), variables: variables.collect() }
    }

    /// The definition of a named type, in full.
    fn definition(&self, id: TypeId) -> Option<String> {
        let t = self.v.types.get(id.index()).unwrap();
        let is_definition = t.name.get() != 0 && t.flags.get() & 1 == 0;
        is_definition.then(|| format!("{} size {} {}", self.spell(id, 0), t.size.get(), self.inside(id, 0)))
    }

    fn inside(&self, id: TypeId, depth: usize) -> String {
        let t = self.v.types.get(id.index()).unwrap();
        let kind = TypeKind::from_u8(t.kind);
        let member = |m: probeidx_format::record::MemberRecord| {
            let name = self.s(m.name);
            let value = m.value.get();
            match kind {
                TypeKind::Enum => format!("{name}={value} "),
                TypeKind::Array => format!("[{value}]"),
                TypeKind::Function => format!("{},", self.spell(m.target, depth + 1)),
                _ => {
                    let (bits, width) = (value & 0xffff_ffff_ffff, value >> 48);
                    format!("{name}: {} at {bits} width {width}; ", self.spell(m.target, depth + 1))
                }
            }
        };
        let members: String = self.v.members(id).iter().map(member).collect();
        let has_target = !kind.is_aggregate() && kind != TypeKind::Base;
        let target = if has_target { self.spell(t.target, depth + 1) } else { String::new() };
        format!("{{{members}}}{target}")
    }

    /// A type by its name and place, or by what it is made of.
    pub fn spell(&self, id: TypeId, depth: usize) -> String {
        let Some(id) = id.some() else { return "void".to_owned() };
        let t = self.v.types.get(id.index()).unwrap();
        let kind = format!("{:?}", TypeKind::from_u8(t.kind)).to_lowercase();
        if t.name.get() != 0 {
            let place = if t.file.get() == 0 {
                String::new()
            } else {
                format!("<{}:{}>", self.s(t.file), t.line.get())
            };
            let declared = if t.flags.get() & 1 == 0 { "" } else { " declared" };
            return format!("{kind} {}{place}{declared}", self.s(t.name));
        }
        if depth > 20 {
            return "…".to_owned();
        }
        format!("{kind}{}", self.inside(id, depth))
    }

    /// The placements of all functions of this name, with the functions.
    pub fn places_named(&self, name: &str) -> Vec<(FunctionId, PlaceId)> {
        let Some(id) = self.v.name(name.as_bytes()) else { return vec![] };
        let functions = self.v.functions_named(id).map(|f| FunctionId::new(f as u32));
        functions.flat_map(|f| self.v.places_of_function(f).map(move |p| (f, p))).collect()
    }
}

fn pc(pc: Pc) -> String {
    if pc.get() == 0 { "nowhere".to_owned() } else { format!("{:#x}", pc.get()) }
}

fn ranges(ranges: impl Iterator<Item = probeidx_format::details::Range>) -> String {
    ranges.filter(|r| r.start < r.end).map(|r| format!(" {:#x}-{:#x}", r.start, r.end)).collect()
}

/// The expression as the bytes that DWARF has for it.
fn operations(expr: Expr<'_>) -> String {
    // The table of addresses is not in the index: an expression that points into it would be of no use.
    super::oracle::operations(&expr.operations(), gimli::RunTimeEndian::Little, |_| u64::MAX)
}
