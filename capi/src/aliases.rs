//! The tapset aliases in an index.
use crate::border::{ErrorOut, text};
use crate::each::{EachFn, answers};
use crate::handle::Handle;
use crate::text::{Text, Texts};
use probeidx::tapset::Definitions;
use probeidx::tapset::name::NamePattern;
use std::ffi::{c_char, c_void};

/// Calls `each` with the names of the aliases that match a pattern.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_aliases(
    index: *const Handle,
    pattern: *const c_char,
    each: EachFn<Text>,
    context: *mut c_void,
    error: *mut ErrorOut,
) -> i32 {
    answers(index, (each, context), error, Some("there is no such alias"), |open, each| {
        let lookup = open.lookup();
        let asked = NamePattern::new(if pattern.is_null() { "**" } else { text(pattern)? })?;
        let definitions = Definitions::of_index(lookup.view())?;
        // Like SystemTap's dump: aliases not meant for scripts are only listed if the pattern asks for them.
        let is_meant = |name: &str| !name.starts_with('_') || asked.asks_for_hidden();
        let names =
            definitions.alias_names().into_iter().filter(|name| is_meant(name) && asked.matches(name));
        Ok(names.into_iter().try_for_each(|name| {
            let mut texts = Texts::default();
            each.call(&texts.of(name))
        })?)
    })
}
