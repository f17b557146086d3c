//! The layouts of the structs in the kernel's tables, from the kernel's own types.

/// The wanted structs, sorted by name.
pub const STRUCTS: [&str; 14] = [
    "alt_entry",
    "alt_instr",
    "bug_entry",
    "exception_table_entry",
    "fixup_entry",
    "jump_entry",
    "paravirt_patch_site",
    "static_call_site",
    "syscall_metadata",
    "trace_entry",
    "trace_event_call",
    "trace_event_class",
    "trace_event_fields",
    "tracepoint",
];

/// The layout of a struct: its size and members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// In bytes.
    pub size: u32,
    /// Names and offsets in bytes, including members of anonymous structs and unions.
    members: Vec<(Box<[u8]>, u32)>,
}

impl Shape {
    /// A struct of this size with these members.
    pub fn new<N: AsRef<[u8]>>(size: u32, members: impl IntoIterator<Item = (N, u32)>) -> Self {
        let members = members.into_iter().map(|(name, at)| (name.as_ref().into(), at)).collect();
        Self { size, members }
    }
    /// One past the start of the last member.
    pub fn end(&self) -> u32 {
        self.members.iter().map(|(_, at)| at + 1).max().unwrap_or(0).min(self.size)
    }
    /// The offset of a member in bytes.
    pub fn offset(&self, member: &str) -> Option<u32> {
        self.members.iter().find(|(name, _)| **name == *member.as_bytes()).map(|(_, at)| *at)
    }
}

/// The structs of [`STRUCTS`] that a kernel has. Declarations, and structs of no size, do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shapes {
    found: [Option<Shape>; STRUCTS.len()],
}

impl Shapes {
    /// The position of a struct in [`STRUCTS`]; `None` if it is not among them.
    pub fn place(name: &[u8]) -> Option<usize> {
        STRUCTS.binary_search_by(|known| known.as_bytes().cmp(name)).ok()
    }
    /// Adds a struct unless one of its name is known: the first counts.
    pub fn add(&mut self, place: usize, shape: impl FnOnce() -> Shape) {
        if self.found[place].is_none() {
            self.found[place] = Some(shape()).filter(|shape| shape.size > 0);
        }
    }
    /// The struct of this name.
    pub fn get(&self, name: &str) -> Option<&Shape> {
        self.found[Self::place(name.as_bytes())?].as_ref()
    }
    /// Whether no struct is known.
    pub fn is_empty(&self) -> bool {
        self.found.iter().all(Option::is_none)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_are_found_by_name() {
        assert!(STRUCTS.is_sorted());
        let mut shapes = Shapes::default();
        let place = Shapes::place(b"bug_entry").unwrap();
        shapes.add(place, || Shape::new(16, [("bug_addr_disp", 0), ("format_disp", 4)]));
        shapes.add(place, || Shape::new(12, [("bug_addr_disp", 0)]));
        let bug = shapes.get("bug_entry").unwrap();
        assert_eq!((bug.size, bug.offset("format_disp"), bug.offset("line")), (16, Some(4), None));
        assert_eq!((shapes.get("alt_instr"), Shapes::place(b"bug")), (None, None));
    }
}
