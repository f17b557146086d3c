//! Listings, as SystemTap prints them.
use crate::border::{ErrorOut, text};
use crate::each::{EachFn, answers};
use crate::handle::Handle;
use crate::text::{Text, Texts};
use probeidx::query::answer;
use probeidx::query::spec::Point;
use probeidx::query::systemtap::alias;
use probeidx::query::systemtap::listing::listed::listed;
use probeidx::query::systemtap::listing::{Lines, Lister};
use probeidx::tapset::Definitions;
use std::ffi::{c_char, c_void};

/// Calls `each` with the lines that `probeidx find` prints or, with `flags` 1, `find --args`.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_find(
    index: *const Handle,
    pattern: *const c_char,
    flags: u32,
    each: EachFn<Text>,
    context: *mut c_void,
    error: *mut ErrorOut,
) -> i32 {
    const ARGS: u32 = 1;
    answers(index, (each, context), error, Some("nothing matches"), |open, each| {
        let view = open.lookup().view();
        let mut lister = Lister::new(view, flags & ARGS != 0);
        let mut lines = Lines::default();
        let specs = answer::parse(view, text(pattern)?)?;
        let points = alias::asked(&specs);
        if !points.is_empty() {
            let definitions = Definitions::of_index(view)?;
            alias::list(view, &definitions, &points, flags & ARGS != 0, false, &mut lines)?;
        }
        for spec in specs.iter().filter(|s| !matches!(s.point, Point::Alias(_))) {
            lister.list(&listed(view, spec)?, spec.spelled, &mut lines)?;
        }
        lines.sort();
        for line in lines.iter() {
            let mut texts = Texts::default();
            each.call(&texts.of(line))?;
        }
        Ok(())
    })
}
