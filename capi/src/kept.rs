//! What an answer points to.
use std::any::Any;

/// Lists and structs that stay where they are until the answer was given.
#[derive(Default)]
pub struct Kept(Vec<Box<dyn Any>>);

impl Kept {
    /// Keeps a struct, and says where it is.
    pub fn one<T: 'static>(&mut self, value: T) -> *const T {
        self.list(vec![value]).0
    }
    /// Keeps a list, and says where it is and how long.
    pub fn list<T: 'static>(&mut self, list: Vec<T>) -> (*const T, usize) {
        let place = (list.as_ptr(), list.len());
        self.0.push(Box::new(list));
        place
    }
    /// Keeps structs, and gives a list of pointers to them.
    pub fn pointers<T: 'static>(&mut self, all: Vec<T>) -> (*const *const T, usize) {
        let (first, count) = self.list(all);
        self.list((0..count).map(|at| first.wrapping_add(at)).collect())
    }
}
