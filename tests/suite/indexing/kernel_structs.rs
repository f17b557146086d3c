//! What a table's entry is, the kernel's own types say; where they do not, only a table that makes sense is read.
use crate::support::image::Image;
use crate::support::tables::{Kernel, NEW, OLD, OLDEST, index, try_index};

/// As kernels from 6.19 on.
const FORMATS: Kernel = Kernel { release: "7.2.0-formats", bug: 16, structs: 1, ..NEW };

#[test]
fn a_warning_by_format_is_refused_where_its_entry_says() {
    for structs in [0, 1] {
        let indexed = Kernel { structs, ..FORMATS }.index();
        let says = |place: &str| indexed.says(place, "kprobe");
        assert_eq!(says("warns_by_format+5"), "ok", "{structs}");
        assert_eq!(says("warns_by_format+12"), "bug-site", "{structs}");
        assert_eq!(says("bugs+10"), "bug-site", "{structs}");
    }
}

/// Without types an entry that names no trap and nothing behind a `lea` of its own makes no sense.
#[test]
fn without_types_an_entry_has_to_make_sense() {
    let tree = Kernel { structs: 0, ..FORMATS }.compile();
    let path = FORMATS.vmlinux(&tree);
    let mut vmlinux = Image::read(&path);
    let bytes = vmlinux.between("__start___bug_table", "__stop___bug_table");
    let last = bytes.end - 16;
    let distance = vmlinux.number::<4>(last) as u32;
    vmlinux.put(last, &(distance + 3).to_le_bytes());
    vmlinux.write(&path);
    let (indexed, built) = try_index(tree);
    assert!(built.err.contains("section __bug_table"), "{built:?}");
    // Traps are refused as such.
    assert_eq!(indexed.says("bugs+5", "kprobe"), "unsupported-instruction");
    assert_eq!(indexed.says("warns_by_format+12", "kprobe"), "undecided");
    assert_eq!(indexed.says("warns_by_format+5", "kprobe"), "ok");
}

/// A struct that was never seen leaves open what may be in its table, and nothing else.
#[test]
fn a_struct_that_was_never_seen() {
    let (indexed, built) = try_index(Kernel { structs: 2, ..OLD }.compile());
    assert_eq!(built.code, 0, "{built:?}");
    assert!(
        built.err.contains("struct bug_entry of this kernel has no member bug_addr_disp or bug_addr"),
        "{built:?}"
    );
    let of = |place: &str| indexed.place(place)["because"].clone();
    assert_eq!(indexed.says("bugs+5", "kprobe"), "undecided");
    assert_eq!(of("bugs+5"), serde_json::json!(["__bug_table"]));
    assert_eq!(indexed.says("jump_labels+5", "kprobe"), "jump-label");
    assert_eq!(indexed.says("vmlinux:plain", "kprobe"), "ok");
    assert!(of("vmlinux:plain").is_null());
}

/// The types decide, not the length of the table: as many bytes are entries of 12 and of 14.
#[test]
fn types_tell_entries_of_equal_tables_apart() {
    for alternative in [12, 14] {
        let indexed = index(Kernel { alternative, structs: 1, ..OLD }.compile());
        assert_eq!(indexed.says("alternatives+5", "kprobe"), "ok");
        assert_eq!(indexed.says("alternatives+6", "kprobe"), "patched");
        assert_eq!(indexed.says("alternatives+13", "kprobe"), "ok");
    }
}

/// 5.10 does not pad the last site of a hypervisor's calls (`_paravirt_alt`).
#[test]
fn the_last_entry_may_lack_its_padding() {
    for structs in [0, 1] {
        let tree = Kernel { structs, ..OLD }.compile();
        let path = OLD.vmlinux(&tree);
        let mut vmlinux = Image::read(&path);
        vmlinux.set_value("__parainstructions_end", vmlinux.value("__parainstructions_end") - 4);
        vmlinux.write(&path);
        let indexed = index(tree);
        assert_eq!(indexed.says("paravirt_calls+5", "kprobe"), "ok");
        assert_eq!(indexed.says("paravirt_calls+6", "kprobe"), "patched");
    }
}

/// Until 5.7 the entries of interrupts are closed; what must not be instrumented is so since 5.8, whatever sections a kernel has.
#[test]
fn areas_are_closed_by_what_the_kernel_says_of_them() {
    let indexed = OLDEST.index();
    for (place, is) in [
        ("in_irqentry+5", "entry-text"),
        ("in_entry", "entry-text"),
        ("in_kprobes_text+5", "kprobes-text"),
        ("in_noinstr", "ok"),
        ("module_noinstr", "ok"),
        // A place that is patched, though its replacement is nowhere.
        ("module_static_cpu_has+5", "ok"),
        ("module_static_cpu_has+6", "patched"),
    ] {
        assert_eq!(indexed.says(place, "kprobe"), is, "{place}");
    }
    let indexed = OLD.index();
    assert_eq!(indexed.says("in_noinstr", "kprobe"), indexed.says("module_noinstr", "kprobe"));
    assert_ne!(indexed.says("in_noinstr", "kprobe"), "ok");
}
