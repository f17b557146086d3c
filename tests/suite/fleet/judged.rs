//! Verdicts that rest on the BTF of a kernel alone differ between kernels of one code, too.
use super::{file, same_differences, store_of};
use crate::answers::trampolines::{CONFIGURATION, indexed};
use crate::support::fixture::replace;
use crate::support::image::Image;
use crate::support::program::Indexed;
use crate::support::tables::{self, OLD};

/// The kernel and its configuration, with another build id and this name changed in its BTF.
fn renamed(whole: &Indexed, name: &str, other: &str) -> Indexed {
    let tree = whole.tree.copy();
    let path = OLD.vmlinux(&tree);
    let mut image = Image::read(&path);
    let [btf, note] = [".BTF", ".notes"].map(|section| image.section(section).bytes);
    replace(&mut image.0[btf], name.as_bytes(), other.as_bytes());
    image.0[note.end - 20] ^= 1;
    image.write(&path);
    tables::index(tree)
}

#[test]
fn functions_that_btf_describes_in_one_kernel_only_differ() {
    let Some(whole) = indexed(OLD, true, CONFIGURATION) else { return };
    let other = renamed(&whole, "takes_six", "takes_sim");
    let files = [file(&whole), file(&other)];
    for order in [[0, 1], [1, 0]] {
        let in_order = order.map(|at| files[at].clone());
        let folder = store_of(&in_order);
        let told = same_differences(folder.path(), in_order.each_ref());
        let verdicts = ["ok", "no-btf"];
        let [before, after] = order.map(|at| verdicts[at]);
        assert!(told.starts_with("~ function takes_six "), "{told}");
        assert!(told.contains(&format!("\n    trampoline: {before} -> {after}\n")), "{told}");
    }
}
