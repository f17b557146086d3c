//! Answers by callback: what every function does that gives them so.
use crate::border::{Answer, ErrorOut, Failure, NULL, ask};
use crate::handle::{Handle, Open};
use probeidx::{Error, ErrorKind};
use std::ffi::c_void;

/// Asks an index for answers that a callback gets. Where there is none, that fails with `nothing`, if it is given.
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
    /// It wanted no more.
    stopped: bool,
    /// How often it was called.
    count: usize,
}

/// As C declares it.
pub type EachFn<T> = Option<extern "C" fn(*mut c_void, *const T) -> i32>;

impl<T> Each<T> {
    /// With what the caller gives.
    pub fn new(call: EachFn<T>, context: *mut c_void) -> Answer<Self> {
        Ok(Self { call: call.ok_or(NULL)?, context, stopped: false, count: 0 })
    }
    /// Calls it. What comes back as an error ends the question, and is no error.
    ///
    /// # Errors
    /// It wants no more.
    pub fn call(&mut self, value: &T) -> probeidx::Result<()> {
        self.count += 1;
        if (self.call)(self.context, value) != 0 {
            self.stopped = true;
            return Err(Error::new(ErrorKind::Usage, "stopped"));
        }
        Ok(())
    }
    /// What became of a question; `nothing` is what to say where there was no answer, if that is a failure.
    pub fn end(&self, answer: Answer, nothing: Option<&str>) -> Answer {
        match (answer, nothing) {
            (Err(_), _) if self.stopped => Err(Failure::Stopped),
            (Ok(()), Some(nothing)) if self.count == 0 => Err(Error::new(ErrorKind::NoMatch, nothing).into()),
            (answer, _) => answer,
        }
    }
}
