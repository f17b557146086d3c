//! Functions of programs whose returns cannot be probed. A uretprobe replaces the return address on the stack
//! (`arch_uretprobe_hijack_return_addr`), and the runtimes of some languages read it there, or never return by it:
//!
//! | language | with a uretprobe | seen |
//! | --- | --- | --- |
//! | Go | the runtime walks and moves stacks; at an address that is not of its code it ends the program: "unexpected return pc" | Go 1.19 on the booted 6.1 |
//! | OCaml | the garbage collector looks up what each return address keeps alive; the program ends with SIGSEGV | OCaml 4.13 on the booted 6.1 |
//! | Haskell | functions jump to one another, with a stack of their own: no return is ever reported | GHC 9.0 on the booted 6.1 |
//!
//! Functions in C of the same program are not among them: they have the system's stack.
use crate::query::index::functions;
use crate::query::index::language::Language;
use crate::query::index::symbols;
use probeidx_format::View;
use probeidx_format::id::ObjectId;

/// Whether the function at an entry is one of those: by the language of its unit, else by symbols. Cost: some searches.
pub(super) fn is_of_runtime(view: &View<'_>, object: ObjectId, entry: u32) -> bool {
    let of_unit = functions::entry_at(view, object, entry).map(|placed| Language::of_place(view, placed.id));
    of_unit.is_some_and(Language::has_own_stack) || by_symbols(view, object, entry)
}

/// Whether symbols say so: those of the runtimes, which every program of the language has, and the names that its compiler makes.
fn by_symbols(view: &View<'_>, object: ObjectId, entry: u32) -> bool {
    let start = |name: &[u8]| {
        let named = functions::symbols_named(view, object, view.name(name)?).next()?;
        Some(functions::symbol(view, named)?.pc.get())
    };
    // Go's linker puts all of its code between these two (cmd/link/internal/ld/data.go).
    if let (Some(first), Some(end)) = (start(b"runtime.text"), start(b"runtime.etext"))
        && (first..end).contains(&entry)
    {
        return true;
    }
    let Some(held) = symbols::holding(view, object, entry) else { return false };
    let name = view.string(held.record.name);
    let is_of_ocaml = name.strip_prefix(b"caml").and_then(<[u8]>::first).is_some_and(u8::is_ascii_uppercase);
    is_of_ocaml && start(b"caml_call_gc").is_some() || name.ends_with(b"_info") && start(b"StgRun").is_some()
}
