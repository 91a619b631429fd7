//! What a report is about.

/// What a report is about, as every form of it says.
#[derive(Clone, Copy, Debug, Default)]
pub struct About<'a> {
    /// The command that made it.
    pub command: &'a str,
    /// The file that it is about; empty if there is none.
    pub heap: &'a str,
    /// What is to be said of that file as a whole: that it was cut short, that parts of it were dropped.
    pub notes: &'a [String],
}

impl<'a> About<'a> {
    /// Of a file of which nothing is to be said.
    pub fn new(command: &'a str, heap: &'a str) -> Self {
        Self {
            command,
            heap,
            notes: &[],
        }
    }
}
