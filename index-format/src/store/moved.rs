//! Addresses in details of placements: as in an index, or shared by kernels and moved.
use super::kernel::Kernel;
use super::translate::Translate;
use crate::details::Range;
use crate::record::ObjectRecord;
use std::fmt;

/// How the addresses that details encode become those of a kernel.
#[derive(Clone, Copy, Default)]
pub struct Moved<'a>(Option<&'a Kernel<'a>>);

/// Added to shared addresses of memory, which tells them from others: no kernel has memory there.
const SHARED: u64 = 1 << 32;
/// The same of an object without base: a module.
const OF_MODULE: u64 = 2 << 32;

/// A shared address as details have it, given the base of its object.
pub fn encoded(pc: u32, base: u64) -> u64 {
    u64::from(pc) + if base == 0 { OF_MODULE } else { SHARED }
}

impl<'a> Moved<'a> {
    /// They are those of the kernel: an index.
    pub const NOT: Self = Self(None);

    /// They are shared addresses.
    pub fn by(kernel: &'a Kernel<'a>) -> Self {
        Self(Some(kernel))
    }
    /// A range: its end belongs to its start.
    #[inline]
    pub fn range(self, range: Range) -> Range {
        match self.0 {
            None => range,
            Some(kernel) => moved_range(kernel, range),
        }
    }
    /// An address of memory: a shared one as [`encoded`], or as it is.
    #[inline]
    pub fn address(self, address: u64) -> u64 {
        match self.0 {
            None => address,
            Some(kernel) => moved_address(kernel, address),
        }
    }
}

#[cold]
#[inline(never)]
fn moved_range(kernel: &Kernel<'_>, range: Range) -> Range {
    let start = kernel.pc(range.start);
    Range { start, end: start.wrapping_add(range.end.wrapping_sub(range.start)) }
}

#[cold]
#[inline(never)]
fn moved_address(kernel: &Kernel<'_>, address: u64) -> u64 {
    let pc = |of: u64| u32::try_from(address.wrapping_sub(of)).ok().map(|pc| u64::from(kernel.pc(pc)));
    let base = || kernel.records::<ObjectRecord>().first().map_or(0, |object| object.base.get());
    pc(SHARED).map(|pc| base().wrapping_add(pc)).or_else(|| pc(OF_MODULE)).unwrap_or(address)
}

impl fmt::Debug for Moved<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "moved" } else { "as they are" })
    }
}
