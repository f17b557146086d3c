//! The kernel's kprobe blacklist.
use crate::border::{ErrorOut, text};
use crate::each::{EachFn, answers};
use crate::handle::Handle;
use crate::names::verdict;
use crate::text::{Text, Texts};
use probeidx::pattern::Pattern;
use probeidx::query::index::functions::Scope;
use probeidx::query::spec::ModuleScope;
use probeidx::query::verdict::blacklist;
use probeidx::query::verdict::reason::Reason;
use std::ffi::{c_char, c_void};

/// `struct probeidx_refused`
#[repr(C)]
pub struct Refused {
    /// The size of the struct.
    pub size: usize,
    /// The name of the module; empty for vmlinux.
    pub module: Text,
    /// The symbol at its start.
    pub symbol: Text,
    /// The section that holds it.
    pub section: Text,
    /// The first address.
    pub start: u64,
    /// The first address after it.
    pub end: u64,
    /// See `probeidx_verdict_name`.
    pub reason: u32,
    /// 0.
    pub reserved32: u32,
    /// 0.
    pub reserved: [u64; 2],
}

/// Calls `each` with the blacklist ranges of vmlinux, or of the modules that match a pattern.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_blacklist(
    index: *const Handle,
    module: *const c_char,
    each: EachFn<Refused>,
    context: *mut c_void,
    error: *mut ErrorOut,
) -> i32 {
    answers(index, (each, context), error, Some("the list is empty"), |open, each| {
        let lookup = open.lookup();
        let scope = match module.is_null() {
            true => ModuleScope::Kernel,
            false => ModuleScope::Module(Pattern::new(&text(module)?.replace('-', "_"))?),
        };
        let asked = Scope::new(lookup.view(), &scope);
        Ok(blacklist::refused(lookup.view(), &asked).into_iter().try_for_each(|range| {
            let mut texts = Texts::default();
            each.call(&Refused {
                size: size_of::<Refused>(),
                module: texts.of_some(range.module),
                symbol: texts.of(range.name),
                section: texts.of(range.section),
                start: range.start,
                end: range.end,
                reason: verdict(Some(Reason::from(range.source))),
                reserved32: 0,
                reserved: [0; 2],
            })
        })?)
    })
}
