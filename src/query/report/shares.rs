//! What a compiler made of the functions of a kernel.
use crate::query::index::functions::{self, Declarations, Placed, Scope};
use crate::query::spec::ModuleScope;
use probeidx_format::View;
use probeidx_format::id::NameId;
use probeidx_format::record::{FunctionRecord, SymbolRecord};

/// What became of the functions of a kernel: each name counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// The names of functions that have code.
    pub functions: usize,
    /// Those that only have code of their own.
    pub not_inlined: usize,
    /// Those without code of their own: a probe at the function finds nothing.
    pub fully_inlined: usize,
    /// Those with both: a probe at the function misses the inlined calls.
    pub selectively_inlined: usize,
    /// Those of which a symbol has a suffix, because the compiler changed or split them.
    pub transformed: usize,
    /// Those that one declaration makes in several units: static ones of headers.
    pub duplicated: usize,
    /// Those of which one declaration has several symbols, so that a probe by name reaches one of them at most.
    pub several_entries: usize,
    /// Those that several declarations make.
    pub collided: usize,
    /// The symbols of functions with these names, with and without suffixes.
    pub symbols: usize,
    /// The symbols with each of [`SUFFIXES`]; at last those with several, or with another one.
    pub suffixes: [usize; SUFFIXES.len() + 1],
}

/// What compilers append to names: the function lost parameters, has constants for some, is a part of one, was moved away
/// because it seldom runs, or is a name for the units of LTO.
pub const SUFFIXES: [&str; 5] = ["isra", "constprop", "part", "cold", "localalias"];

/// The functions of these objects; DepSurf counts those of vmlinux. Cost: linear in all placements.
pub fn shares(view: &View<'_>, objects: &ModuleScope) -> Shares {
    let scope = Scope::new(view, objects);
    let mut shares = Shares::default();
    let mut found = vec![];
    let unit_of = |place: Placed| view.unit_of_place(place.id);
    for at in 0..view.names.len() as u32 {
        let name = NameId::new(at);
        let (mut entries, mut copies, mut declared, mut external) = (0, 0, 0, 0);
        let (mut is_in_units, mut with_entries) = (false, 0);
        for declaration in Declarations::of(view, Some(name)) {
            let before = (entries, copies);
            let mut unit = None;
            functions::places(view, &declaration, &scope, &mut found, |_, places| {
                for place in places {
                    match place.is_inline(view) {
                        true => copies += 1,
                        false => entries += 1,
                    }
                    is_in_units |= unit.get_or_insert_with(|| unit_of(*place)) != &unit_of(*place);
                }
            });
            if before == (entries, copies) {
                continue;
            }
            // A definition that others override, and theirs, are one function to whoever calls it.
            let is_external = declaration.functions().all(|id| is_external(view, id.index()));
            external += usize::from(is_external);
            declared += usize::from(!is_external || external == 1);
            with_entries = with_entries.max(entries - before.0);
        }
        match (entries, copies) {
            (0, 0) => continue,
            (_, 0) => shares.not_inlined += 1,
            (0, _) => shares.fully_inlined += 1,
            _ => shares.selectively_inlined += 1,
        }
        shares.functions += 1;
        shares.duplicated += usize::from(declared == 1 && external == 0 && is_in_units);
        shares.several_entries += usize::from(declared == 1 && with_entries > 1);
        shares.collided += usize::from(declared > 1);
        shares.count_symbols(view, name, &scope);
    }
    shares
}

fn is_external(view: &View<'_>, at: usize) -> bool {
    view.functions.get(at).is_some_and(|function| function.has(FunctionRecord::EXTERNAL))
}

impl Shares {
    /// Counts the symbols of a function: those of its name, and those with suffixes.
    fn count_symbols(&mut self, view: &View<'_>, name: NameId, scope: &Scope) {
        let own = view.string(view.names.at(name.index()).name);
        let prefix = [own, b"."].concat();
        let suffixed = functions::names_starting(view, &prefix).map(|at| NameId::new(at as u32));
        let mut is_transformed = false;
        for at in std::iter::once(name).chain(suffixed) {
            let ids = view.symbols_named(at);
            let of_scope = ids.iter().filter(|id| scope.contains(view.object_of_symbol(*id)));
            let is_function = |s: &SymbolRecord| s.is_function();
            let count = of_scope.filter_map(|id| functions::symbol(view, id)).filter(is_function).count();
            self.symbols += count;
            if at != name && count > 0 {
                is_transformed = true;
                let whole = view.string(view.names.at(at.index()).name);
                self.suffixes[suffix(&whole[prefix.len()..])] += count;
            }
        }
        self.transformed += usize::from(is_transformed);
    }
}

/// The position among [`SUFFIXES`], or behind them. Numbers do not count: `isra.0`.
fn suffix(text: &[u8]) -> usize {
    let is_number = |part: &&[u8]| part.iter().all(u8::is_ascii_digit);
    let mut words = text.split(|b| *b == b'.').filter(|part| !is_number(part));
    match (words.next(), words.next()) {
        (Some(word), None) => SUFFIXES.iter().position(|s| s.as_bytes() == word).unwrap_or(SUFFIXES.len()),
        _ => SUFFIXES.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_suffixes_do_not_count() {
        let several = SUFFIXES.len();
        for (text, wanted) in [
            ("isra.0", 0),
            ("constprop.12", 1),
            ("part.0.cold", several),
            ("cold", 3),
            ("llvm.77", several),
            ("isra.0.isra.1", several),
            ("0", several),
        ] {
            assert_eq!(suffix(text.as_bytes()), wanted, "{text}");
        }
    }
}
