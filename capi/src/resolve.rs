//! Everything that a spec matches: placements with anchors, verdicts, coverage and values.
mod alias;
mod placement;
mod tracepoint;
mod value;
mod writer;

pub use alias::{Alias, Local, locals};
pub use placement::{Call, Placement};
pub use tracepoint::{Field, Tracepoint};
pub use value::{Step, Value};

use crate::border::{ErrorOut, ask, fill, sized, text, texts};
use crate::each::{EachFn, answers};
use crate::handle::Handle;
use probeidx::query::answer::{self, Answer};
use probeidx::query::resolve::defined;
use probeidx::query::resolve::placement::Wanted;
use probeidx::query::spec::argument;
use probeidx::{Error, ErrorKind};
use std::ffi::{c_char, c_void};
use writer::Writer;

/// `struct probeidx_options`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Options {
    /// The size of the struct as the caller knows it.
    pub size: usize,
    /// What to add: see the constants.
    pub flags: u32,
    /// 0.
    pub reserved: u32,
}

impl Options {
    /// Include local variables.
    pub const LOCALS: u32 = 1;
    /// Include a C expression for each value, over the kernel's `struct pt_regs`.
    pub const EXPRESSIONS: u32 = 2;
    /// Include the lines where unavailable variables have a location.
    pub const LINES: u32 = 4;
    /// Nothing.
    pub const NONE: Self = Self { size: size_of::<Self>(), flags: 0, reserved: 0 };

    /// Whether a flag is set.
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
    answers(index, (each, context), error, Some("nothing matches"), |open, each| {
        let lookup = open.lookup();
        let options = sized(options, Options::NONE)?;
        let arguments: Vec<_> = texts(arguments, argument_count)?
            .into_iter()
            .map(argument::parse)
            .collect::<probeidx::Result<_>>()?;
        let wanted = Wanted {
            locals: options.has(Options::LOCALS),
            lines: options.has(Options::LINES),
            arguments: &arguments,
            ..Wanted::default()
        };
        let view = lookup.view();
        let writer = || Writer::new(lookup, options);
        let specs = answer::parse(view, text(spec)?)?;
        Ok(specs.iter().try_for_each(|spec| {
            answer::answers(view, spec, wanted, &mut |answer| match &answer {
                Answer::Code(placement, filter) => each.call(writer().placement(placement, *filter).as_ref()),
                Answer::Tracepoint(traced) => each.call(writer().tracepoint(traced).as_ref()),
                Answer::Alias(probe) => each.call(writer().probe(probe).as_ref()),
                _ => Ok(()),
            })
        })?)
    })
}

/// `struct probeidx_defined`
#[repr(C)]
pub struct Defined {
    /// The size of the struct as the caller knows it.
    pub size: usize,
    /// The placements of the spec.
    pub places: u32,
    /// Placements at which the argument is defined.
    pub defined: u32,
}

/// Whether an argument is defined at all placements of a spec. If not, `error` has the reason, unless it depends on the
/// placement.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_defined(
    index: *const Handle,
    spec: *const c_char,
    argument: *const c_char,
    out: *mut Defined,
    error: *mut ErrorOut,
) -> i32 {
    ask(index, error, |open| {
        let view = open.lookup().view();
        let argument = argument::parse(text(argument)?)?;
        let (mut places, mut at, mut why) = (0, 0, None);
        for one in answer::parse(view, text(spec)?)? {
            let found = defined::defined(view, &one, &argument)?;
            places += found.places;
            at += found.defined;
            why = why.or(found.why);
        }
        fill(out, Defined { size: size_of::<Defined>(), places, defined: at })?;
        match places > 0 && at == places {
            true => Ok(()),
            false => {
                let why = why.unwrap_or_else(|| format!("it is defined at {at} of {places} placements"));
                Err(Error::new(ErrorKind::NoMatch, why).into())
            }
        }
    })
}
