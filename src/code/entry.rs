//! Instructions at function entries that change no value.
//!
//! clang inserts these instructions after it has assigned locations, so its location lists start after them. A
//! location valid after them is valid at the entry, where kprobes, fprobes and trampolines are.
use super::arm64;
use super::table::Tables;
use super::text::Text;
use super::x86::ENDBR64;
use crate::load::elf::Elf;
use crate::load::symbols;
use object::elf::{EM_AARCH64, EM_X86_64, Machine};
use rustc_hash::FxHashMap;

/// The length of an ftrace site on x86-64: a call of `__fentry__`, or the no-op that objtool or the kernel makes of
/// it. The callee preserves all registers (`__fentry__`, arch/x86/kernel/ftrace_64.S).
const X86_SITE: u32 = 5;

/// Maps the address after such instructions to the start of the function. On x86-64 they are `endbr64` and an ftrace
/// site right after it; other no-ops may be replaced by instructions that change values. On arm64 it is `bti`;
/// functions with ftrace's no-ops are in [`bodies`]. A damaged table yields no sites. Empty on other architectures.
pub fn untouched(object: &Elf<'_>, is_module: bool) -> FxHashMap<u32, u32> {
    let text = Text::new(object);
    let functions = || symbols::functions(object).into_iter().map(|function| function.pc);
    match Machine(object.machine) {
        EM_X86_64 => {
            let bounds = match is_module {
                true => vec![],
                false => symbols::symbols_where(object, Tables::bounds_ftrace),
            };
            let traced = Tables::new(object, &bounds, is_module).ftrace().unwrap_or_default();
            functions().flat_map(|start| x86(&text, &traced, start)).collect()
        }
        EM_AARCH64 => functions()
            .filter_map(|start| Some((arm64::entry::behind_landing(&text, start)?, start)))
            .collect(),
        _ => FxHashMap::default(),
    }
}

fn x86(text: &Text<'_>, traced: &[u32], start: u32) -> impl Iterator<Item = (u32, u32)> + use<> {
    let has_landing = text.at(start).is_some_and(|code| code.starts_with(&ENDBR64));
    let behind_landing = if has_landing { start.saturating_add(ENDBR64.len() as u32) } else { start };
    let behind_site =
        traced.binary_search(&behind_landing).is_ok().then(|| behind_landing.saturating_add(X86_SITE));
    let behind = [has_landing.then_some(behind_landing), behind_site];
    behind.into_iter().flatten().map(move |behind| (behind, start))
}
