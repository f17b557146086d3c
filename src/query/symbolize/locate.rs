//! Resolves a written address to the places it can mean.
use crate::query::index::functions::{self, kernel};
use crate::query::index::has_build_id;
use crate::query::index::symbols;
use crate::query::runtime::address_map::Loaded;
use crate::query::spec::address::{Address, Scope, Symbolic, file_name};
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use probeidx_format::record::SymbolRecord;

/// An address in an object.
pub type Spot = (ObjectId, u32);

/// Why an address does not resolve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absent {
    /// The text is not an address.
    Unreadable,
    /// No section holds the number.
    Number,
    /// The module is not indexed.
    Object,
    /// vmlinux is not indexed.
    Kernel,
    /// The object is indexed with another build id.
    BuildId,
    /// The symbol does not exist.
    Symbol,
    /// The offset is beyond the end of the symbol or section, which has this many bytes.
    Beyond(u32),
    /// The symbol has this size, not the one in the text, which is of another build.
    Size(u32),
}

/// The places that an address can mean: one, or several if symbols of the same name cannot be distinguished. Cost: a
/// look-up, and a few binary searches for each symbol of the name.
pub fn locate(view: &View<'_>, address: &Address<'_>, loaded: &Loaded) -> Result<Vec<Spot>, Absent> {
    match address {
        Address::Number(number) => loaded.find(*number).map(|spot| vec![spot]).ok_or(Absent::Number),
        Address::Symbolic(symbolic) => locate_symbol(view, symbolic),
    }
}

fn locate_symbol(view: &View<'_>, asked: &Symbolic<'_>) -> Result<Vec<Spot>, Absent> {
    let object = match asked.scope {
        Scope::Any => None,
        Scope::Kernel => Some(kernel(view).ok_or(Absent::Object)?),
        Scope::Object(name) => Some(module(view, name).ok_or(Absent::Object)?),
    };
    if let (Some(object), Some(digits)) = (object, asked.build_id)
        && !has_build_id(view, object, digits)
    {
        return Err(Absent::BuildId);
    }
    if asked.name.first() == Some(&b'.')
        && let Some(spot) = in_section(view, object.or_else(|| kernel(view)), asked)
    {
        return spot;
    }
    let name = view.name(asked.name).ok_or(Absent::Symbol)?;
    let (mut found, mut possible, mut why) = (vec![], vec![], Absent::Symbol);
    let mut consider = |object: ObjectId, symbol: SymbolRecord| match place(view, object, symbol, asked) {
        Ok((pc, true)) => found.push((object, pc)),
        Ok((pc, false)) => possible.push((object, pc)),
        Err(reason) => why = reason,
    };
    match object {
        Some(object) => functions::symbols_named(view, object, name)
            .filter_map(|s| functions::symbol(view, s))
            .for_each(|s| consider(object, s)),
        None => {
            for id in view.symbols_named(name) {
                if let Some(symbol) = functions::symbol(view, id) {
                    consider(view.object_of_symbol(id), symbol);
                }
            }
        }
    }
    if found.is_empty() {
        found = possible;
    }
    found.dedup();
    if found.is_empty() { Err(why) } else { Ok(found) }
}

/// The module with this name, or of a file such as `/lib/modules/…/kvm-amd.ko.xz`.
pub fn module(view: &View<'_>, name: &[u8]) -> Option<ObjectId> {
    let name = file_name(name);
    functions::module(view, &name[..memchr::memmem::find(name, b".ko").unwrap_or(name.len())])
}

/// The address at an offset from a symbol, and whether the given size is the symbol's. An impossible size is an error.
/// The kernel counts up to the next symbol, SystemTap up to the next function, drgn uses the size in the symbol table.
fn place(
    view: &View<'_>,
    object: ObjectId,
    symbol: SymbolRecord,
    asked: &Symbolic<'_>,
) -> Result<(u32, bool), Absent> {
    if symbol.section.get() == SymbolRecord::ABSOLUTE {
        return Err(Absent::Symbol);
    }
    let reach = symbols::reach(view, object, symbol);
    let mut fits = true;
    if let Some(size) = asked.size {
        fits = size == u64::from(reach.size)
            || size == u64::from(symbol.size.get())
            || size == u64::from(to_next_function(view, object, symbol));
        if !fits && (reach.is_sure || size < symbol.size.get().into()) {
            return Err(Absent::Size(reach.size));
        }
    }
    // A return address after a final call is at the end of the symbol.
    let most = asked.size.unwrap_or(reach.size.max(symbol.size.get()).into());
    let pc = u32::try_from(asked.offset).ok().filter(|o| u64::from(*o) <= most);
    let pc = pc.and_then(|o| symbol.pc.get().checked_add(o)).ok_or(Absent::Beyond(reach.size))?;
    Ok((pc, fits))
}

fn to_next_function(view: &View<'_>, object: ObjectId, symbol: SymbolRecord) -> u32 {
    let symbols = view.symbols.part(view.symbols_of(object));
    let after = symbols.partition_point(|s| s.pc <= symbol.pc);
    let next = symbols.from(after).iter().find(|s| s.is_function());
    next.map_or(0, |next| next.pc.get().saturating_sub(symbol.pc.get()))
}

/// `.text+0x10`: an offset from a section; `None` if no section has the name.
fn in_section(
    view: &View<'_>,
    object: Option<ObjectId>,
    asked: &Symbolic<'_>,
) -> Option<Result<Vec<Spot>, Absent>> {
    let object = object?;
    let section = view.sections_of(object).iter().find(|s| view.string(s.name) == asked.name)?;
    if asked.offset >= section.size.get() {
        return Some(Err(Absent::Beyond(u32::try_from(section.size.get()).unwrap_or(u32::MAX))));
    }
    let pc = u32::try_from(asked.offset).ok().and_then(|o| section.pc.get().checked_add(o));
    Some(pc.map(|pc| vec![(object, pc)]).ok_or(Absent::Number))
}
