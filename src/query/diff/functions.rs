//! Compares functions by name: their parameters, whether they have code of their own, where they are inlined, the
//! verdicts on a probe at the entry, and whether the name is still that of a single symbol.
use super::matching::{Pair, pairs};
use super::overview::{Entry, Judged, Overview, Tally};
use super::struct_members::{self, Item};
use super::{Asked, Change, Difference, Home, Side, State, Subject, What};
use crate::query::index::functions::{self, Declaration, Declarations};
use crate::query::index::symbols;
use crate::query::verdict::mechanism::Mechanism;
use probeidx_format::View;
use probeidx_format::id::NameId;
use probeidx_format::record::{FunctionRecord, SymbolRecord};
use std::cmp::Ordering;
use std::ops::Range;

/// Compares the functions of some names, by name. A function without debug information is compared by its symbol.
pub fn compare<'a, E>(
    before: &Side<'a, '_>,
    after: &Side<'a, '_>,
    names: impl Iterator<Item = Named<'a>>,
    asked: &Asked,
    tell: &mut impl FnMut(Difference<'a>) -> Result<(), E>,
) -> Result<(), E> {
    let sides = [before, after];
    for (name, ids) in names {
        if !asked.names(name) {
            continue;
        }
        let [one, other] = [0, 1].map(|number| {
            let found = ids[number].map(|id| functions(sides[number], id)).unwrap_or_default();
            found.into_iter().filter(|f| asked.files(f.home.file)).collect::<Vec<_>>()
        });
        if one.is_empty() && other.is_empty() {
            continue;
        }
        let symbols = [0, 1].map(|number| ids[number].map_or(0, |id| kept(sides[number], id)));
        for Pair { before: one, after: other } in pairs(one, other, |f| f.home.file) {
            let changes = match (&one, &other) {
                (Some(one), Some(other)) => differences(sides, [one, other], symbols),
                _ => vec![],
            };
            tell(Difference {
                subject: Subject::Function,
                name: String::from_utf8_lossy(name).into_owned(),
                before: one.map(|f| f.home),
                after: other.map(|f| f.home),
                changes,
            })?;
        }
    }
    Ok(())
}

/// A name with its rank in the first kernel and in the second.
pub type Named<'a> = (&'a [u8], [Option<NameId>; 2]);

/// A name that one of the kernels has.
pub fn named<'a>(views: [&View<'a>; 2], name: &'a [u8]) -> Option<Named<'a>> {
    let ids = views.map(|view| view.name(name));
    ids.iter().any(Option::is_some).then_some((name, ids))
}

/// Splits the names of two kernels into halves, so that a name is in the same half for both.
pub fn halves(views: [&View<'_>; 2]) -> [[Range<u32>; 2]; 2] {
    let names = views.each_ref().map(|view| view.names.owners());
    let middle = names[0].get(names[0].len() / 2).map_or(&b""[..], |record| views[0].string(record.name));
    let at = [0, 1].map(|number| {
        names[number].partition_point(|record| views[number].string(record.name) < middle) as u32
    });
    [[0, 1].map(|number| 0..at[number]), [0, 1].map(|number| at[number]..names[number].len() as u32)]
}

/// The names between these ranks of both kernels, in order.
pub fn between<'a>(
    views: [&'a View<'a>; 2],
    between: &[Range<u32>; 2],
) -> impl Iterator<Item = Named<'a>> + use<'a> {
    let mut left = between.clone();
    std::iter::from_fn(move || {
        let next = [0, 1].map(|number| {
            let record = views[number].names.get(left[number].clone().next()? as usize)?;
            Some(views[number].string(record.name))
        });
        let order = match next {
            [None, None] => return None,
            [Some(_), None] => Ordering::Less,
            [None, Some(_)] => Ordering::Greater,
            [Some(one), Some(other)] => one.cmp(other),
        };
        let has = [order.is_le(), order.is_ge()];
        let ids = [0, 1].map(|number| has[number].then(|| left[number].next().map(NameId::new)).flatten());
        Some((if has[0] { next[0]? } else { next[1]? }, ids))
    })
}

/// How many functions of a kernel are compared. Cost: linear in placements and names.
pub fn count(side: &Side<'_, '_>) -> usize {
    let (view, overview) = (side.view, Overview::count(side));
    let of_name = |name: NameId| {
        let described = Declarations::of(view, Some(name)).filter(|d| counts(side, &overview.tally(d)));
        match described.count() {
            0 if symbols::is_prefix_name(view, name) => 0,
            0 => by_symbol(side, name).map_or(0, |_| 1),
            some => some,
        }
    };
    (0..view.names.owners().len() as u32).map(NameId::new).map(of_name).sum()
}

/// Whether a declaration with these placements is compared.
fn counts(side: &Side<'_, '_>, tally: &Tally) -> bool {
    tally.entries > 0 || side.is_whole && tally.copies > 0
}

/// A function of one kernel.
struct Function<'a> {
    home: Home<'a>,
    /// `None` if only a symbol describes it.
    record: Option<FunctionRecord>,
    /// The number of out-of-line placements, and of inlined ones.
    entries: u32,
    copies: u32,
    /// The first out-of-line placement, in vmlinux if there is one.
    entry: Option<Entry>,
}

/// The functions of a name that have code.
fn functions<'a>(side: &Side<'a, '_>, name: NameId) -> Vec<Function<'a>> {
    let mut scratch = vec![];
    let mut found = vec![];
    for declaration in Declarations::of(side.view, Some(name)) {
        found.extend(described(side, &declaration, &mut scratch));
    }
    if found.is_empty() && !symbols::is_prefix_name(side.view, name) {
        found.extend(by_symbol(side, name));
    }
    found
}

fn described<'a>(
    side: &Side<'a, '_>,
    declaration: &Declaration,
    scratch: &mut Vec<functions::Placed>,
) -> Option<Function<'a>> {
    let view = side.view;
    let tally = match side.overview {
        Some(overview) => overview.tally(declaration),
        None => Tally::of(side, declaration, scratch),
    };
    counts(side, &tally).then_some(())?;
    Some(Function {
        home: Home {
            module: side.module(view.object_of_place(tally.first()?)),
            file: view.string(declaration.file),
            line: declaration.line,
        },
        record: declaration.functions().next().and_then(|id| view.functions.get(id.index())),
        entries: tally.entries,
        copies: tally.copies,
        entry: tally.entry(side),
    })
}

/// A function that only a symbol describes: assembly. A name with a dot belongs to a part or copy of a function, which
/// is compared by its own name.
fn by_symbol<'a>(side: &Side<'a, '_>, name: NameId) -> Option<Function<'a>> {
    let view = &side.view;
    if view.string(view.names.at(name.index()).name).contains(&b'.') {
        return None;
    }
    let mut entries = view.symbols_named(name).iter().filter_map(|id| {
        let (object, symbol) = (view.object_of_symbol(id), functions::symbol(view, id)?);
        let is_one = side.scope.contains(object)
            && symbol.is_function()
            && symbol.has(SymbolRecord::KEPT)
            && !symbol.has(SymbolRecord::DESCRIBED);
        is_one.then_some((object, symbol.pc.get()))
    });
    let (object, pc) = entries.next()?;
    Some(Function {
        home: Home { module: side.module(object), file: b"", line: 0 },
        record: None,
        entries: 1 + entries.count() as u32,
        copies: 0,
        entry: Some(Entry { object, pc, judged: None }),
    })
}

/// The number of symbols of a name in the kernel and its modules.
fn kept(side: &Side<'_, '_>, name: NameId) -> u32 {
    let symbols = side.view.symbols_named(name).iter();
    let own = symbols.filter(|id| side.scope.contains(side.view.object_of_symbol(*id)));
    own.filter(|id| functions::is_kept(side.view, *id)).count() as u32
}

fn differences(sides: [&Side<'_, '_>; 2], both: [&Function<'_>; 2], symbols: [u32; 2]) -> Vec<Change> {
    let mut changes = vec![];
    let mut tell = |what: What, name: &str, [before, after]: [State; 2]| {
        if before != after {
            changes.push(Change { what, name: name.to_owned(), before: Some(before), after: Some(after) });
        }
    };
    let word = |text: &[u8]| State::Word(String::from_utf8_lossy(text).into_owned());
    let is_strict = sides[0].is_strict;
    if is_strict || both.iter().all(|f| !f.home.file.is_empty()) {
        tell(What::File, "", both.map(|f| word(f.home.file)));
    }
    let number = |count: u32| State::Number(count.into());
    if both[0].entries.min(both[1].entries) == 0 {
        tell(What::Entries, "", both.map(|f| number(f.entries)));
    }
    if sides[0].is_whole && both[0].copies.min(both[1].copies) == 0 {
        tell(What::Copies, "", both.map(|f| number(f.copies)));
    }
    if is_strict {
        tell(What::Symbols, "", symbols.map(|count| number(count.min(2))));
        tell(What::Parameter, "", both.map(|f| number(f.record.is_some().into())));
    }
    let [Some(one), Some(other)] = both.map(|f| f.entry) else {
        signature(sides, both, &mut changes);
        return changes;
    };
    let judged = [(sides[0], one), (sides[1], other)].map(|(side, entry)| judged(side, entry));
    let symbol = [0, 1]
        .map(|number| word(judged[number].symbol.map_or(b"", |symbol| sides[number].view.string(symbol))));
    tell(What::Symbol, "", symbol);
    if symbols[0].min(symbols[1]) == 1 {
        tell(What::Symbols, "", symbols.map(number));
    }
    let [one, other] = judged.map(|judged| judged.verdicts);
    if one != other {
        // `fentry` says it for both.
        let parts = [Mechanism::Ftrace, Mechanism::Trampoline].map(Mechanism::name);
        let both_agree = [one, other].iter().all(|said| said.ftrace() == said.trampoline());
        let is_said = |mechanism: &str| both_agree && parts.contains(&mechanism);
        for ((mechanism, before), (_, after)) in one.all().zip(other.all()).filter(|(v, _)| !is_said(v.0)) {
            tell(What::Verdict, mechanism, [before, after].map(|v| State::Word(v.name().to_owned())));
        }
    }
    signature(sides, both, &mut changes);
    changes
}

/// The symbol that starts at an entry, and the verdicts on it.
fn judged(side: &Side<'_, '_>, entry: Entry) -> Judged {
    entry.judged.unwrap_or_else(|| {
        let held = symbols::holding(side.view, entry.object, entry.pc).filter(|held| held.offset == 0);
        Judged {
            symbol: held.map(|held| held.record.name),
            verdicts: side.judge.verdicts(entry.object, entry.pc, false),
        }
    })
}

/// Compares parameters and return type, if the debug information of both kernels has them.
fn signature(sides: [&Side<'_, '_>; 2], both: [&Function<'_>; 2], changes: &mut Vec<Change>) {
    let [Some(one), Some(other)] = both.map(|f| f.record) else { return };
    let [one, other] = [(sides[0], one), (sides[1], other)].map(|(side, record)| {
        let variables = side.view.variables(record);
        let returns = side.spelling(variables.return_type);
        let parameters = variables.parameters().zip(1..);
        let items = parameters.map(|(v, at)| Item {
            name: side.view.string(v.name),
            at,
            bits: None,
            of: side.spelling(v.type_id),
        });
        (items.collect::<Vec<_>>(), returns)
    });
    struct_members::compare(What::Parameter, sides, &one.0, &other.0, changes);
    if one.1 != other.1 {
        let [before, after] = [(sides[0], one.1), (sides[1], other.1)]
            .map(|(side, returns)| Some(State::Word(side.text(returns))));
        changes.push(Change { what: What::Returns, name: String::new(), before, after });
    }
}
