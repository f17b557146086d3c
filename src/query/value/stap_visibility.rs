//! Which variables SystemTap sees at a placement.
use crate::query::index::functions::{self, Placed};
use crate::query::types::stap_spelling::spell;
use probeidx_format::View;
use probeidx_format::details::{Item, Location};
use probeidx_format::id::{FunctionId, StrId, TypeId};
use probeidx_format::record::UnitRecord;
use probeidx_format::variables::Variable;
use rustc_hash::FxHashMap;

/// The length of the call to `__fentry__` on x86-64.
const FENTRY_CALL: u32 = 5;

/// Calls `each` with the position of every variable in the outermost scope of the placement that has a location at its
/// entry, in the order of the debug information. (`dwarf_derived_probe::saveargs`, tapsets.cxx of SystemTap 4.8.)
pub fn visible(view: &View<'_>, placed: Placed, mut each: impl FnMut(u32)) {
    let mut there = There::new(view, placed, placed.record.entry.get());
    for (index, location) in view.details(placed.id, placed.record).items.outermost() {
        if there.is(location) {
            each(index);
        }
    }
}

/// Calls `each` with the position of every variable that has a location at an address within the placement, from the
/// innermost lexical block that holds the address outwards. Of sibling blocks, the first that holds it counts
/// (`dwflpp::inner_die_containing_pc`). `start` is the number of the block to start from, as for a label: it and the
/// blocks around it count even if they do not hold the address. With [`OUTERMOST`], no block counts.
pub fn visible_within(view: &View<'_>, placed: Placed, pc: u32, start: u32, each: impl FnMut(u32)) {
    let path = path_to(view, placed, start);
    let mut goes_inwards = start != OUTERMOST;
    let mut number = 0;
    let mut there = There::new(view, placed, pc);
    // The variables of each entered scope; the number of open blocks, and how many of them are entered.
    let mut scopes: Vec<Vec<u32>> = vec![vec![]];
    let (mut depth, mut entered) = (0, 0);
    for item in view.details(placed.id, placed.record).items {
        match item {
            Item::Block(mut ranges) => {
                number += 1;
                let is_next = depth == entered && scopes.len() == entered + 1;
                let holds = ranges.any(|r| r.contains(pc));
                let is_entered = match path.get(depth) {
                    Some(wanted) => *wanted == number,
                    None => holds && goes_inwards,
                };
                if is_next && is_entered {
                    goes_inwards &= holds || number != start;
                    scopes.push(vec![]);
                    entered += 1;
                }
                depth += 1;
            }
            Item::End => {
                depth -= 1;
                entered = entered.min(depth);
            }
            Item::Variable(index, location) if depth == entered && there.is(location) => {
                scopes[depth].push(index);
            }
            Item::Variable(..) => {}
        }
    }
    scopes.into_iter().rev().flatten().for_each(each);
}

/// Whether a variable of a placement has a location at an address within it.
pub fn is_there(view: &View<'_>, placed: Placed, pc: u32, location: Location<'_>) -> bool {
    There::new(view, placed, pc).is(location)
}

/// The block number that stands for no block.
pub const OUTERMOST: u32 = u32::MAX;

/// The numbers of a block and of those around it, outermost first.
fn path_to(view: &View<'_>, placed: Placed, block: u32) -> Vec<u32> {
    let (mut open, mut number) = (vec![], 0);
    if block != 0 && block != OUTERMOST {
        for item in view.details(placed.id, placed.record).items {
            match item {
                Item::Block(_) => {
                    number += 1;
                    open.push(number);
                    if number == block {
                        return open;
                    }
                }
                Item::End => drop(open.pop()),
                Item::Variable(..) => {}
            }
        }
    }
    vec![]
}

/// Checks whether variables have a location at an address.
struct There<'v, 'a> {
    view: &'v View<'a>,
    placed: Placed,
    pc: u32,
    later: Option<Option<u32>>,
}

impl<'v, 'a> There<'v, 'a> {
    fn new(view: &'v View<'a>, placed: Placed, pc: u32) -> Self {
        Self { view, placed, pc, later: None }
    }

    fn is(&mut self, location: Location<'_>) -> bool {
        match location {
            Location::None => false,
            Location::Constant(_) | Location::Bytes(_) => true,
            // An uninitialized variable has no location, because elfutils does not know the operation that marks it.
            Location::Everywhere(expr) => !expr.is_empty() && !expr.is_uninitialized(),
            Location::List(_) | Location::Within(..) => {
                let at =
                    |pc| location.at(pc).is_some_and(|expr| !expr.is_empty() && !expr.is_uninitialized());
                let Self { view, placed, pc, .. } = *self;
                at(pc)
                    || (*self.later.get_or_insert_with(|| after_fentry_at(view, placed, pc))).is_some_and(at)
            }
        }
    }
}

/// Another address at which a variable counts as readable: with `-mfentry`, GCC starts location lists after the call to
/// `__fentry__` at a function's entry, which changes nothing (SystemTap PR15123).
pub fn after_fentry(view: &View<'_>, placed: Placed) -> Option<u32> {
    after_fentry_at(view, placed, placed.record.entry.get())
}

fn after_fentry_at(view: &View<'_>, placed: Placed, pc: u32) -> Option<u32> {
    let unit = view.units.get(view.unit_of_place(placed.id).index())?;
    let at_entry = functions::root(view, placed).record.entry.get() == pc;
    let applies = unit.flags.get() & UnitRecord::GCC_MFENTRY != 0 && at_entry;
    applies.then(|| pc.wrapping_add(FENTRY_CALL))
}

/// The names of types, each made once; and the variables of one function by position.
pub struct Spellings<'a> {
    view: &'a View<'a>,
    by_type: FxHashMap<TypeId, Option<u32>>,
    by_text: FxHashMap<String, u32>,
    texts: Vec<String>,
    function: Option<FunctionId>,
    variables: Vec<Variable>,
}

impl<'a> Spellings<'a> {
    /// With an empty cache.
    pub fn new(view: &'a View<'a>) -> Self {
        Self {
            view,
            by_type: FxHashMap::default(),
            by_text: FxHashMap::default(),
            texts: vec![],
            function: None,
            variables: vec![],
        }
    }
    /// Switches to the variables of this function.
    pub fn enter(&mut self, function: FunctionId) {
        if self.function != Some(function) {
            self.function = Some(function);
            self.variables.clear();
            if let Some(record) = self.view.functions.get(function.index()) {
                self.variables.extend(self.view.variables(record));
            }
        }
    }
    /// A key for `$name:type` of this variable: the name in the upper half, the type name in the lower. `None` if it
    /// has no name or no type name.
    pub fn key(&mut self, index: u32) -> Option<u64> {
        let variable = *self.variables.get(index as usize)?;
        if variable.name == StrId::new(0) {
            return None;
        }
        let spelled = self.spelled(variable.type_id?)?;
        Some(u64::from(variable.name.get()) << 32 | u64::from(spelled))
    }
    /// The variable at this position.
    pub fn variable(&self, index: u32) -> Option<Variable> {
        self.variables.get(index as usize).copied()
    }
    /// The number of the return type's name, if the function returns anything.
    pub fn return_type(&mut self) -> Option<u32> {
        let function = self.view.functions.get(self.function?.index())?;
        self.spelled(self.view.variables(function).return_type?)
    }
    /// The number of a type's name.
    pub fn spelled(&mut self, type_id: TypeId) -> Option<u32> {
        if let Some(&known) = self.by_type.get(&type_id) {
            return known;
        }
        let number = spell(self.view, type_id).map(|text| match self.by_text.get(&text) {
            Some(&known) => known,
            None => {
                let new = self.texts.len() as u32;
                self.by_text.insert(text.clone(), new);
                self.texts.push(text);
                new
            }
        });
        self.by_type.insert(type_id, number);
        number
    }
    /// The type name with this number.
    pub fn text(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }
}
