//! Keeps what an answer points to.
use std::any::Any;

/// Lists and structs that do not move until the answer has been given.
#[derive(Default)]
pub struct Kept(Vec<Box<dyn Any>>);

impl Kept {
    /// Keeps a struct, and returns its address.
    pub fn one<T: 'static>(&mut self, value: T) -> *const T {
        self.list(vec![value]).0
    }
    /// Keeps a list, and returns its address and length.
    pub fn list<T: 'static>(&mut self, list: Vec<T>) -> (*const T, usize) {
        let place = (list.as_ptr(), list.len());
        self.0.push(Box::new(list));
        place
    }
    /// Keeps structs, and returns a list of pointers to them.
    pub fn pointers<T: 'static>(&mut self, all: Vec<T>) -> (*const *const T, usize) {
        let (first, count) = self.list(all);
        self.list((0..count).map(|at| first.wrapping_add(at)).collect())
    }
}
