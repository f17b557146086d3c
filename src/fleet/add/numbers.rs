//! From the numbers of a kernel to the shared ones, as far as they are known.
use super::lines::Lines;
use super::pieces::Pieces;
use probeidx_format::store::kernel::END;
use probeidx_format::store::segment::Space;
use probeidx_format::store::translate::Translate;
use rustc_hash::FxHashMap;
use std::cell::Cell;

/// What is known of the shared numbers so far.
pub struct Numbers {
    /// By the number of a string's first byte.
    pub strings: Vec<u32>,
    /// By space.
    spaces: Vec<Vec<u32>>,
    /// By object.
    pub pieces: Vec<Pieces>,
    /// By file.
    pub lines: Lines,
    /// The first file of each unit.
    pub first_files: Vec<u32>,
    /// Strings that are none of the index.
    others: FxHashMap<Vec<u8>, u32>,
    /// The object whose addresses are meant.
    object: Cell<usize>,
    /// How many numbers were not known.
    unknown: Cell<u32>,
}

impl Numbers {
    /// Only strings.
    pub fn new(strings: Vec<u32>, others: FxHashMap<Vec<u8>, u32>) -> Self {
        let spaces = vec![vec![]; Space::ALL.len()];
        Self {
            strings,
            spaces,
            pieces: vec![],
            lines: Lines::default(),
            first_files: vec![],
            others,
            object: Cell::new(0),
            unknown: Cell::new(0),
        }
    }
    /// The shared numbers of a space, by those of the kernel.
    pub fn set(&mut self, space: Space, numbers: Vec<u32>) {
        self.spaces[space as usize] = numbers;
    }
    /// The addresses that follow are those of this object.
    pub fn of_object(&self, object: usize) {
        self.object.set(object);
    }
    /// How many numbers were asked for that are not known.
    pub fn unknown(&self) -> u32 {
        self.unknown.get()
    }
    /// A text that is no string of the index.
    pub fn text(&self, text: &[u8]) -> u32 {
        self.others.get(text).copied().unwrap_or_else(|| self.missing())
    }
    /// The shared address of an address of the object, if it has one.
    pub fn shared_pc(&self, pc: u32) -> Option<u32> {
        self.pieces.get(self.object.get())?.shared(pc)
    }
    /// Something has no shared number.
    pub fn lose(&self) {
        self.unknown.set(self.unknown.get() + 1);
    }
    fn missing(&self) -> u32 {
        self.lose();
        u32::MAX
    }
}

impl Translate for Numbers {
    fn string(&self, id: u32) -> u32 {
        match self.strings.get(id as usize) {
            Some(&number) if number != u32::MAX => number,
            _ => self.missing(),
        }
    }
    fn number(&self, space: Space, number: u32) -> u32 {
        let known = &self.spaces[space as usize];
        match known.get(number as usize) {
            Some(shared) => *shared,
            None if number as usize == known.len() => END,
            None => self.missing(),
        }
    }
    fn pc(&self, pc: u32) -> u32 {
        self.shared_pc(pc).unwrap_or_else(|| self.missing())
    }
    fn line(&self, file: u32, line: u32) -> u32 {
        self.lines.shared(file, line)
    }
}
