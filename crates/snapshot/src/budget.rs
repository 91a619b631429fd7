//! Limits the memory that a reader may take, in proportion to what it reads.
//!
//! A short file can ask for much: a name of a megabyte that a thousand roots share, a class
//! of ten thousand fields with ten thousand subclasses. A reader takes from the budget for all
//! that it copies more than once.

/// What is left to spend.
#[derive(Debug)]
pub struct Budget(u64);

impl Budget {
    /// The budget for an input of that many bytes: far more than an honest one needs.
    pub fn for_input(bytes: usize) -> Self {
        Self((bytes as u64).saturating_mul(64) + (16 << 20))
    }

    /// Takes some of it. Returns whether there is enough.
    #[must_use]
    pub fn spend(&mut self, bytes: usize) -> bool {
        match self.0.checked_sub(bytes as u64) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }
}
