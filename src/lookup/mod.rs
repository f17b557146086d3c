//! The programming interface: handles that borrow from the mapping and compute on demand.
//!
//! A [`Lookup`] is an open kernel (or program). It is free to copy, and is `Send` and `Sync`: threads share it without
//! a lock. It gives out handles ([`Function`], [`Placement`], [`Variable`], [`Frame`], [`Symbol`], [`Type`],
//! [`Member`]) and iterators over them. Iterating allocates nothing; the methods of a handle decode the mapping when
//! called. A method whose answer needs memory of its own (the coverage of a function, a read plan, the text of a type)
//! is documented to allocate.
//!
//! ```
//! # let index = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/example.rs"));
//! use probeidx::query::index::functions::Instance;
//!
//! let kernel = index.lookup()?;
//! let [submit] = kernel.functions(b"submit").collect::<Vec<_>>()[..] else { panic!("there is one") };
//! let [place] = submit.placements().collect::<Vec<_>>()[..] else { panic!("it is nowhere inlined") };
//! assert_eq!(place.instance(), Instance::OutOfLine);
//! let symbol = place.symbol().expect("the kernel has a symbol for it");
//! assert_eq!((symbol.name(), symbol.offset()), (&b"submit"[..], 0));
//!
//! let parameters: Vec<_> = place.variables().filter(|v| v.is_parameter()).map(|v| v.name()).collect();
//! assert_eq!(parameters, [&b"rq"[..], b"flags"]);
//! let mut fetch = String::new();
//! place.variables().nth(1).unwrap().write_fetch(&mut fetch).unwrap();
//! # #[cfg(target_arch = "x86_64")]
//! assert_eq!(fetch, "flags=%si:s32");
//!
//! // What the function is made of: an address in it, and the functions that are inlined there.
//! let inlined = kernel.functions(b"clamp_value").flat_map(|f| f.placements()).find(|p| p.instance() == Instance::Inline);
//! let inlined = inlined.expect("gcc inlines it");
//! let frames: Vec<_> = kernel.frames(inlined.at()).map(|f| f.function()).collect();
//! assert!(frames.contains(&&b"clamp_value"[..]) && frames.len() > 1);
//! assert_eq!(inlined.calls().count(), frames.len() - 1);
//! # Ok::<(), probeidx::Error>(())
//! ```
//!
//! [`query`](crate::query) has whole answers as values, including everything that a spec means in either spelling; see
//! [`Lookup::resolve`].
//!
//! | question | start | handle |
//! | --- | --- | --- |
//! | where does this function run | [`Lookup::functions`], [`Lookup::matching`] | [`Function`] → [`Placement`] |
//! | can it be probed there, and what can be read | | [`Placement`] → [`Variable`] |
//! | what is at this address | [`Lookup::frames`], [`Lookup::symbol_at`], [`Lookup::line_at`] | [`Frame`], [`Symbol`], [`Line`] |
//! | which addresses has this line | [`Lookup::addresses`] | [`Placement`] |
//! | what does this type consist of | [`Lookup::types`] | [`Type`] → [`Member`] |

mod address;
mod frame;
mod function;
mod placement;
mod symbol;
mod types;
mod variable;

pub use address::Address;
pub use frame::{Frame, Frames, Line};
pub use function::{Function, Functions, Placements};
pub use placement::{Calls, Placement};
pub use symbol::{Symbol, Symbols};
pub use types::{Member, Members, Position, Type};
pub use variable::{Unfetchable, Variable, VariablesAt};

use crate::error::Result;
use crate::pattern::Pattern;
use crate::query::Index;
use crate::query::index::{functions, line_table};
use crate::query::resolve::placement as described;
use crate::query::resolve::placement::Wanted;
use crate::query::resolve::{self, statement};
use crate::query::runtime::address_map::Loaded;
use crate::query::spec::address as written;
use crate::query::spec::argument::Argument;
use crate::query::spec::{Filter, Spec, StatementSpec};
use crate::query::symbolize::locate::{self, Absent};
use crate::query::types::lookup as named;
use probeidx_format::View;
use probeidx_format::id::ObjectId;

/// An open index, with the rules of its kernel.
#[derive(Clone, Copy)]
pub struct Lookup<'a> {
    view: View<'a>,
}

/// Threads can share a `Lookup`, because it never changes.
const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Lookup<'static>>();
    is_shared::<Placement<'static>>();
    is_shared::<Variable<'static>>();
    is_shared::<Frames<'static>>();
    is_shared::<Index>();
};

impl Index {
    /// The programming interface to the index. Cost: about a microsecond; create it once and keep it.
    ///
    /// # Errors
    /// [`ErrorKind::IndexDamaged`](crate::ErrorKind::IndexDamaged), as for [`Index::view`].
    pub fn lookup(&self) -> Result<Lookup<'_>> {
        self.view().map(Lookup::new)
    }
}

impl<'a> Lookup<'a> {
    /// Determines which rules the kernel has. Cost: a few name look-ups.
    pub fn new(view: View<'a>) -> Self {
        Self { view }
    }
    /// The tables.
    pub fn view(&self) -> &View<'a> {
        &self.view
    }
    /// As `uname -r` prints it; empty for a program or shared library.
    pub fn release(&self) -> &'a [u8] {
        self.view.release()
    }
    /// vmlinux and the modules, by name; for a program, only that.
    pub fn objects(&self) -> impl DoubleEndedIterator<Item = ObjectId> + use<> {
        self.view.object_ids()
    }
    /// The name of a module, with underscores; empty for vmlinux.
    pub fn object_name(&self, object: ObjectId) -> &'a [u8] {
        self.view.objects.get(object.index()).map_or(&[], |o| self.view.string(o.name))
    }
    /// vmlinux, if it is indexed.
    pub fn kernel(&self) -> Option<ObjectId> {
        functions::kernel(&self.view)
    }
    /// A module by its name, with dashes or underscores. Cost: a binary search.
    pub fn module(&self, name: &[u8]) -> Option<ObjectId> {
        functions::module(&self.view, name)
    }

    /// The functions with exactly this name, in vmlinux and all modules, ordered by file and line of the declaration.
    /// The bytes need not be UTF-8. Cost: two or three cache misses.
    pub fn functions(&self, name: &[u8]) -> Functions<'a> {
        Functions::new(*self, self.view.name(name))
    }
    /// The functions whose name matches, ordered by name, file and line. Cost: that of [`functions::names`], which
    /// allocates a list of the names; nothing for each function.
    pub fn matching(&self, name: &Pattern) -> impl Iterator<Item = Function<'a>> + use<'a> {
        let own = *self;
        functions::names(&self.view, name).into_iter().flat_map(move |name| Functions::new(own, Some(name)))
    }
    /// The symbols with exactly this name, ordered by object and address. Includes data symbols if functions also have
    /// the name, or if the debug information has no code for it. Cost: two or three cache misses.
    pub fn symbols(&self, name: &[u8]) -> Symbols<'a> {
        Symbols::new(*self, name)
    }

    /// Resolves an address: `0xffffffff8136139d`, `symbol+0xoff`, `module:symbol+off`, `symbol+0xoff/0xsize [module]`.
    /// Numbers are link addresses of vmlinux. Returns several addresses if symbols of the same name cannot be
    /// distinguished. Cost: a look-up; allocates the list.
    ///
    /// # Errors
    /// Why it does not resolve.
    pub fn locate(&self, text: &[u8]) -> Result<Vec<Address>, Absent> {
        match written::parse(text).ok_or(Absent::Unreadable)? {
            written::Address::Number(number) => {
                self.linked(number).map(|address| vec![address]).ok_or(Absent::Number)
            }
            symbolic => {
                let spots = locate::locate(&self.view, &symbolic, &Loaded::default())?;
                Ok(spots.into_iter().map(|(object, pc)| Address { object, pc }).collect())
            }
        }
    }
    /// The address with this link address in vmlinux or the program; `None` if no section there contains it. Allocates
    /// nothing.
    pub fn linked(&self, address: u64) -> Option<Address> {
        Address::linked(&self.view, address)
    }
    /// The functions that contain an address: the innermost first, each inlined into the next; empty if no function is
    /// known. Allocates nothing. Cost: a binary search, then linear in what is inlined into the function.
    pub fn frames(&self, address: Address) -> Frames<'a> {
        Frames::new(*self, address)
    }
    /// The symbol that the kernel prints for an address. Cost: a binary search.
    pub fn symbol_at(&self, address: Address) -> Option<Symbol<'a>> {
        Symbol::at(*self, address)
    }
    /// The source line of an address. Cost: linear in the rows before it in its sequence, some microseconds.
    /// [`Frame::call`] has the line of an inlined call without that cost.
    pub fn line_at(&self, address: Address) -> Option<Line<'a>> {
        line_table::at(&self.view, address.object, address.pc).map(|row| Line::of(&self.view, row))
    }
    /// The addresses of the source lines that a spec names, such as `vfs_read@fs/read_write.c:460-470`, ordered by
    /// object and address. Cost: linear in the rows of the units with code of the file; allocates a list.
    pub fn addresses(
        &self,
        spec: &StatementSpec,
    ) -> impl Iterator<Item = (Placement<'a>, Line<'a>)> + use<'a> {
        let own = *self;
        let all = crate::query::spec::Lines::All;
        let found = statement::addresses(&self.view, spec, spec.lines.as_ref().unwrap_or(&all));
        found.into_iter().filter_map(move |found| {
            let address = Address { object: found.object, pc: found.row.pc };
            Some((Placement::statement(own, found.owner?, address), Line::of(&own.view, found.row)))
        })
    }

    /// The types with a name: `struct file`, `file`, `unsigned long`. Ordered by kind, file and line; types that are
    /// only declared if there is nothing else. Cost: a binary search; allocates a short list.
    ///
    /// ```
    /// # let index = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/example.rs"));
    /// let kernel = index.lookup()?;
    /// let request = kernel.types("struct request").next().expect("it is defined");
    /// let flags = request.members().find(|m| m.name() == b"flags").expect("it has flags");
    /// assert_eq!(flags.place().and_then(|place| place.bits), Some((0, 3)));
    /// # Ok::<(), probeidx::Error>(())
    /// ```
    pub fn types(&self, name: &str) -> impl Iterator<Item = Type<'a>> + use<'a> {
        let own = *self;
        named::find(&self.view, name).into_iter().filter_map(move |id| Type::new(own, id))
    }

    /// Calls `each` with every answer to a spec, in the order of [`resolve::resolve`], each complete with verdicts,
    /// coverage and values: those of `arguments`, or all variables. Allocates what the answers contain.
    ///
    /// # Errors
    /// Those of [`resolve::resolve`], and any error of `each`.
    pub fn resolve<'s>(
        &'s self,
        spec: &Spec,
        arguments: &[Argument],
        each: impl FnMut(described::Placement<'s>, Filter) -> Result<()>,
    ) -> Result<()> {
        resolve::resolve(&self.view, spec, Wanted { arguments, ..Wanted::default() }, each)
    }
}
