//! Answers to questions about a heap, with their reasons.

use std::fmt;

use heaphound_heap::finding::{Evidence, Named};

/// The answer to a question about a heap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The question: `is-shared`.
    pub question: String,
    /// The objects and threads that it was about.
    pub arguments: Vec<String>,
    /// The thread that asked.
    pub asker: Option<String>,
    /// The answer.
    pub verdict: Verdict,
    /// The same, in a sentence.
    pub message: String,
    /// The paths that prove it.
    pub evidence: Vec<Evidence>,
    /// Remarks: what was left out, what the answer depends on.
    pub notes: Vec<String>,
}

/// An answer, in short.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Of a question of yes or no.
    Truth {
        /// Whether it is so.
        yes: bool,
        /// Whether it should be.
        expected: bool,
    },
    /// Of a question for a set.
    Set {
        /// What was found.
        members: Members,
        /// Whether there should be something, if that was said.
        expected: Option<Amount>,
    },
    /// Of a question for a value, which is the message. No value is expected.
    Value,
}

impl Verdict {
    /// Returns whether the answer is what was expected.
    pub fn is_expected(&self) -> bool {
        match self {
            Self::Truth { yes, expected } => yes == expected,
            Self::Set { members, expected } => match expected {
                None => true,
                Some(Amount::Empty) => members.count == 0,
                Some(Amount::Nonempty) => members.count > 0,
            },
            Self::Value => true,
        }
    }
}

/// What was found, as far as it is listed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Members {
    /// What they are.
    pub of: Kind,
    /// How many there are.
    pub count: usize,
    /// The first of them.
    pub listed: Vec<Member>,
}

/// A member of a set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// What tells an object from others of its class for a person, where that is known.
    pub caption: Option<String>,
}

impl From<String> for Member {
    fn from(name: String) -> Self {
        let caption = None;
        Self { name, caption }
    }
}

impl From<Named> for Member {
    fn from(Named { name, caption, .. }: Named) -> Self {
        Self { name, caption }
    }
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.caption {
            None => f.write_str(&self.name),
            Some(caption) => write!(f, "{} ({caption})", self.name),
        }
    }
}

impl Members {
    /// Returns how many are not listed. Paths are not listed, but shown as evidence.
    pub fn left_out(&self) -> usize {
        match self.of {
            Kind::Paths => 0,
            _ => self.count - self.listed.len(),
        }
    }
}

/// What members of a set are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Objects, by name.
    Objects,
    /// Threads, by name. How each reaches what was asked about is in the evidence.
    Threads,
    /// Slots and roots.
    References,
    /// Paths: they are the evidence.
    Paths,
}

impl Kind {
    /// As JSON spells it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Objects => "objects",
            Self::Threads => "threads",
            Self::References => "references",
            Self::Paths => "paths",
        }
    }
}

/// How much one may expect to find.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// Nothing.
    Empty,
    /// Something.
    Nonempty,
}

impl Amount {
    /// As the command line spells it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Nonempty => "nonempty",
        }
    }
}
