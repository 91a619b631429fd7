//! Panics of the program's own code, where the heap must go on.

use std::any::Any;
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What a panic left behind.
type Payload = Box<dyn Any + Send>;

/// The first panic of several calls. The others are dropped; to drop what they panicked with may panic again,
/// and what that one panicked with is leaked.
#[derive(Default)]
pub(crate) struct FirstPanic(Option<Payload>);

impl FirstPanic {
    /// Runs `f`.
    pub(crate) fn catch(&mut self, f: impl FnOnce()) {
        let Err(payload) = catch_unwind(AssertUnwindSafe(f)) else {
            return;
        };
        match self.0 {
            None => self.0 = Some(payload),
            Some(_) => drop_quietly(payload),
        }
    }

    /// Goes on with the panic, if there was one.
    pub(crate) fn resume(self) {
        if let Some(payload) = self.0 {
            resume_unwind(payload);
        }
    }
}

/// Runs `f` and returns whether it panicked.
pub(crate) fn panics(f: impl FnOnce()) -> bool {
    let caught = catch_unwind(AssertUnwindSafe(f));
    caught.map_err(drop_quietly).is_err()
}

fn drop_quietly(payload: Payload) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        forget(again);
    }
}
