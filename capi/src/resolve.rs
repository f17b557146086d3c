//! Everything that a spec means: placements with anchors, verdicts, coverage and values.
mod alias;
mod answer;
mod placement;
mod tracepoint;
mod value;

pub use alias::{Alias, Local};
pub use placement::{Call, Placement};
pub use tracepoint::{Field, Tracepoint};
pub use value::{Step, Value};

use crate::border::{Answer, Each, EachFn, ErrorOut, ask, sized, text, texts};
use crate::handle::Handle;
use answer::Writer;
use probeidx::query::placement::Wanted;
use probeidx::query::spec::Point;
use probeidx::query::{aliased, argument, resolve, spec, traced};
use std::ffi::{c_char, c_void};

/// `struct probeidx_options`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Options {
    /// Of the struct as the caller knows it.
    pub size: usize,
    /// What else is wanted: see the constants.
    pub flags: u32,
    /// 0.
    pub reserved: u32,
}

impl Options {
    /// Local variables too.
    pub const LOCALS: u32 = 1;
    /// Of each value an expression in C over the kernel's `struct pt_regs`.
    pub const EXPRESSIONS: u32 = 2;
    /// The lines at which variables are known that are not here.
    pub const LINES: u32 = 4;
    /// Nothing.
    pub const NONE: Self = Self { size: size_of::<Self>(), flags: 0, reserved: 0 };

    /// Whether something is wanted.
    pub fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }
}

/// Calls `each` with every placement of a spec.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_resolve(
    index: *const Handle,
    spec: *const c_char,
    arguments: *const *const c_char,
    argument_count: usize,
    options: *const Options,
    each: EachFn<Placement>,
    context: *mut c_void,
    error: *mut ErrorOut,
) -> i32 {
    ask(index, error, |open| -> Answer {
        let lookup = open.lookup();
        let options = sized(options, Options::NONE)?;
        let mut each = Each::new(each, context)?;
        let arguments: Vec<_> = texts(arguments, argument_count)?
            .into_iter()
            .map(argument::parse)
            .collect::<probeidx::Result<_>>()?;
        let wanted = Wanted {
            locals: options.has(Options::LOCALS),
            lines: options.has(Options::LINES),
            arguments: &arguments,
        };
        let view = *lookup.view();
        let writer = || Writer::new(lookup, options);
        let result = spec::parse(text(spec)?)?.iter().try_for_each(|one| match &one.point {
            Point::Trace(asked) => traced::resolve(view, asked, wanted, |traced| {
                each.call(writer().tracepoint(&traced).as_ref())
            }),
            Point::Alias(_) => aliased::asked(std::slice::from_ref(one)).iter().try_for_each(|point| {
                aliased::resolve(view, point, wanted, &mut |probe| each.call(writer().probe(&probe).as_ref()))
            }),
            _ => resolve::resolve(view, one, wanted, |placement, filter| {
                each.call(writer().placement(&placement, filter).as_ref())
            }),
        });
        each.end(result, "nothing matches")
    })
}
