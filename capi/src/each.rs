//! Answers by callback: what all functions with a callback have in common.
use crate::border::{Answer, ErrorOut, Failure, NULL, ask};
use crate::handle::{Handle, Open};
use probeidx::{Error, ErrorKind};
use std::ffi::c_void;

/// Runs a question on an index and passes its answers to a callback. If there is none and `nothing` is given, fails
/// with that.
pub fn answers<T>(
    handle: *const Handle,
    (each, context): (EachFn<T>, *mut c_void),
    error: *mut ErrorOut,
    nothing: Option<&str>,
    question: impl FnOnce(&Open, &mut Each<T>) -> Answer,
) -> i32 {
    ask(handle, error, |open| {
        let mut each = Each::new(each, context)?;
        let answer = question(open, &mut each);
        each.end(answer, nothing)
    })
}

/// A callback with its context.
pub struct Each<T> {
    call: extern "C" fn(*mut c_void, *const T) -> i32,
    context: *mut c_void,
    /// Whether it ended the question.
    stopped: bool,
    /// The number of calls.
    count: usize,
}

/// The type in C.
pub type EachFn<T> = Option<extern "C" fn(*mut c_void, *const T) -> i32>;

impl<T> Each<T> {
    /// Takes the callback and context that the caller gave.
    pub fn new(call: EachFn<T>, context: *mut c_void) -> Answer<Self> {
        Ok(Self { call: call.ok_or(NULL)?, context, stopped: false, count: 0 })
    }
    /// Calls it. An error ends the question, but is not a failure.
    ///
    /// # Errors
    /// The callback ended the question.
    pub fn call(&mut self, value: &T) -> probeidx::Result<()> {
        self.count += 1;
        if (self.call)(self.context, value) != 0 {
            self.stopped = true;
            return Err(Error::new(ErrorKind::Usage, "stopped"));
        }
        Ok(())
    }
    /// The result of a question; `nothing` is the message if there was no answer and that is a failure.
    pub fn end(&self, answer: Answer, nothing: Option<&str>) -> Answer {
        match (answer, nothing) {
            (Err(_), _) if self.stopped => Err(Failure::Stopped),
            (Ok(()), Some(nothing)) if self.count == 0 => Err(Error::new(ErrorKind::NoMatch, nothing).into()),
            (answer, _) => answer,
        }
    }
}
