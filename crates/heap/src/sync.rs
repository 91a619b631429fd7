//! The locks that Heaphound uses, so that other ones can stand in for them.
//!
//! loom explores schedules with locks of its own. ThreadSanitizer sees only what is
//! compiled with it, which the standard library is not; under `--cfg tsan` the locks are
//! parking_lot's, which are.

#[cfg(loom)]
pub use loom::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicUsize, Ordering},
};
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicUsize, Ordering};
#[cfg(not(any(loom, tsan)))]
pub use std::sync::{Condvar, Mutex, MutexGuard};
#[cfg(tsan)]
pub use visible::{Condvar, Mutex, MutexGuard};

#[cfg(tsan)]
#[allow(missing_docs)]
mod visible {
    //! parking_lot's locks with the standard library's interface.

    use std::convert::Infallible;
    use std::time::Duration;

    pub use parking_lot::MutexGuard;

    #[derive(Default)]
    pub struct Mutex<T>(parking_lot::Mutex<T>);

    #[derive(Default)]
    pub struct Condvar(parking_lot::Condvar);

    impl<T> Mutex<T> {
        pub fn new(value: T) -> Self {
            Self(parking_lot::Mutex::new(value))
        }

        pub fn lock(&self) -> Result<MutexGuard<'_, T>, Infallible> {
            Ok(self.0.lock())
        }

        pub fn into_inner(self) -> Result<T, Infallible> {
            Ok(self.0.into_inner())
        }

        pub fn get_mut(&mut self) -> Result<&mut T, Infallible> {
            Ok(self.0.get_mut())
        }
    }

    impl Condvar {
        pub fn new() -> Self {
            Self::default()
        }

        pub fn wait<'a, T>(
            &self,
            mut guard: MutexGuard<'a, T>,
        ) -> Result<MutexGuard<'a, T>, Infallible> {
            self.0.wait(&mut guard);
            Ok(guard)
        }

        pub fn wait_timeout<'a, T>(
            &self,
            mut guard: MutexGuard<'a, T>,
            timeout: Duration,
        ) -> Result<(MutexGuard<'a, T>, bool), Infallible> {
            let result = self.0.wait_for(&mut guard, timeout);
            Ok((guard, result.timed_out()))
        }

        pub fn notify_one(&self) {
            self.0.notify_one();
        }

        pub fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}
