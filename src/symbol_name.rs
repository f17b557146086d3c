//! The meaning of symbol names by the conventions of the kernel and its linker scripts.

/// Whether a symbol in code bounds an area in the linker script (`__kprobes_text_end`, `_etext`) and is not code:
/// `arch/*/kernel/vmlinux.lds.S`. Function names may end in the same way (`__traceiter_ext4_write_end`).
pub fn is_area_mark(name: &[u8]) -> bool {
    const OTHERS: [&[u8]; 5] = [b"_text", b"_stext", b"_etext", b"_sinittext", b"_einittext"];
    const AREAS: [&[u8]; 7] = [
        b"init",
        b"inittext",
        b"exittext",
        b"indirect_thunk",
        b"relocate_new_kernel",
        b"trans_pgd_stub_vectors",
        b"ftrace_hotpatch_trampolines",
    ];
    let end = [&b"_start"[..], b"_begin", b"_end"].into_iter().find_map(|end| name.strip_suffix(end));
    let area = end.and_then(|n| n.strip_prefix(b"__"));
    OTHERS.contains(&name) || area.is_some_and(|area| area.ends_with(b"_text") || AREAS.contains(&area))
}

/// Whether a symbol is the padding before a function (`CONFIG_PREFIX_SYMBOLS`, kCFI): the kernel refuses probes there.
pub fn is_prefix(name: &[u8]) -> bool {
    name.starts_with(b"__pfx_") || name.starts_with(b"__cfi_")
}
