//! The lines of a function or file that can be probed.
use crate::border::{ErrorOut, text};
use crate::each::{EachFn, answers};
use crate::handle::Handle;
use crate::places::Place;
use crate::text::{Text, Texts};
use probeidx::query::index::symbols;
use probeidx::query::resolve::line_listing::{self, Point};
use probeidx::query::spec;
use probeidx::query::verdict::Judge;
use std::ffi::{c_char, c_void};

/// `struct probeidx_line`
#[repr(C)]
pub struct Line {
    /// The size of the struct.
    pub size: usize,
    /// The name of the module; empty for vmlinux.
    pub module: Text,
    /// The function, if the spec names functions.
    pub function: Text,
    /// The path as the line table has it.
    pub file: Text,
    /// Its addresses.
    pub places: *const Place,
    /// The length of `places`.
    pub place_count: usize,
    /// The line, from 1.
    pub line: u32,
    /// The position of the best address to probe.
    pub best: u32,
    /// Whether kprobes accept that address.
    pub is_reachable: u32,
    /// The line of the function's declaration; 0 if the spec names no function.
    pub declared_line: u32,
    /// 0.
    pub reserved: [u64; 2],
}

/// Calls `each` with the lines of the functions or files that a spec names.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_lines(
    index: *const Handle,
    spec: *const c_char,
    each: EachFn<Line>,
    context: *mut c_void,
    error: *mut ErrorOut,
) -> i32 {
    answers(index, (each, context), error, Some("there are no such lines"), |open, each| {
        let lookup = open.lookup();
        let view = lookup.view();
        let judge = Judge::new(view);
        for spec in spec::parse(text(spec)?)? {
            for listing in line_listing::lines(view, &line_listing::asked(&spec)?) {
                listing.lines.iter().filter(|l| !l.points.is_empty()).try_for_each(|line| {
                    let mut texts = Texts::default();
                    let place = |p: &Point| Place {
                        address: symbols::address(view, listing.object, p.row.pc),
                        object: listing.object.get(),
                        pc: p.row.pc,
                        place: p.placed.map_or(u32::MAX, |p| p.id.get()),
                        instance: 2,
                    };
                    let places: Vec<Place> = line.points.iter().map(place).collect();
                    let best = line_listing::best(view, &judge, listing.object, &line.points);
                    let is_best = |p: &Point| best.is_some_and(|best| std::ptr::eq(best, p));
                    each.call(&Line {
                        size: size_of::<Line>(),
                        module: texts.of(lookup.object_name(listing.object)),
                        function: texts.of_some(listing.function.map(|f| view.string(f.name))),
                        file: texts.of(view.string(listing.file)),
                        places: places.as_ptr(),
                        place_count: places.len(),
                        line: line.number,
                        best: line.points.iter().position(is_best).unwrap_or(0) as u32,
                        is_reachable: best
                            .is_some_and(|b| judge.kprobe(listing.object, b.row.pc).is_ok())
                            .into(),
                        declared_line: listing.function.map_or(0, |f| f.line),
                        reserved: [0; 2],
                    })
                })?;
            }
        }
        Ok(())
    })
}
