//! A walk over the sorted names of many kernels at once: memory is that of one name, whatever there is.
use probeidx::Result;
use std::cmp::Ordering;
use std::ops::Range;

/// Calls `each` with every name that some kernel has, in order, and with the kernels that have it: their numbers, and the
/// positions of the name in each.
///
/// # Errors
/// Any that `each` returns.
pub fn by_name<'a>(
    kernels: usize,
    name_at: impl Fn(usize, usize) -> Option<&'a [u8]>,
    mut each: impl FnMut(&'a [u8], &[(usize, Range<usize>)]) -> Result<()>,
) -> Result<()> {
    let mut next = vec![0; kernels];
    let mut names: Vec<Option<&[u8]>> = (0..kernels).map(|kernel| name_at(kernel, 0)).collect();
    let mut having = vec![];
    while let Some(least) = names.iter().flatten().min().copied() {
        having.clear();
        for kernel in 0..kernels {
            // A damaged index may not be sorted: what stands too late is taken when it is met.
            if names[kernel].is_none_or(|name| name.cmp(least) == Ordering::Greater) {
                continue;
            }
            let start = next[kernel];
            while names[kernel] == Some(least) {
                next[kernel] += 1;
                names[kernel] = name_at(kernel, next[kernel]);
            }
            having.push((kernel, start..next[kernel]));
        }
        each(least, &having)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_once_and_in_order() {
        let kernels = [&["a", "c", "c", "d"][..], &[], &["b", "c"]];
        let name_at = |kernel: usize, at: usize| kernels[kernel].get(at).map(|name| name.as_bytes());
        let mut seen = vec![];
        by_name(3, name_at, |name, having| {
            seen.push((String::from_utf8_lossy(name).into_owned(), having.to_vec()));
            Ok(())
        })
        .unwrap();
        let wanted = [
            ("a", vec![(0, 0..1)]),
            ("b", vec![(2, 0..1)]),
            ("c", vec![(0, 1..3), (2, 1..2)]),
            ("d", vec![(0, 3..4)]),
        ];
        assert_eq!(seen, wanted.map(|(name, having)| (name.to_owned(), having)));
    }
}
