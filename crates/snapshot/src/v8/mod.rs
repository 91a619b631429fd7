//! V8's heap snapshots: `.heapsnapshot`, which Node and Chrome write.
//!
//! Such a file is one JSON object: what a node's and an edge's numbers mean, all nodes, all edges, all strings. It is read
//! once, from the front to the end, into columns (`graph.rs`), from which a heap is made (`build.rs`).
//! `docs/dumps.md` says what of V8's becomes what of ours.

mod build;
mod classes;
mod graph;
mod joined;
// Without the feature it is never made.
#[cfg_attr(not(feature = "v8"), allow(dead_code))]
mod meta;
mod pairs;
mod roots;
mod slots;
mod tokens;
mod write;

use std::fmt;
use std::io::Read;

use heaphound_heap::snapshot::Snapshot;

use crate::{Progress, ReadOptions};
use tokens::{Failure, Tokens};
pub use write::write_v8;

/// What a snapshot begins with, blanks aside.
const FIRST_KEY: &[u8] = b"\"snapshot\"";

/// Why a text is not a heap snapshot, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct V8Error {
    /// What the text was called.
    pub name: String,
    /// The byte, counted from 0.
    pub at: u64,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for V8Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: at byte {}: {}", self.name, self.at, self.message)
    }
}

impl std::error::Error for V8Error {}

/// Whether bytes begin as a heap snapshot does: `{"snapshot":`.
pub fn is_v8(bytes: &[u8]) -> bool {
    let rest = bytes.trim_ascii_start().strip_prefix(b"{");
    let rest = rest.map(|it| it.trim_ascii_start());
    let rest = rest.and_then(|it| it.strip_prefix(FIRST_KEY));
    rest.is_some_and(|it| it.trim_ascii_start().starts_with(b":"))
}

/// Reads a heap snapshot of `bytes` bytes, of which `progress` is told. Errors call it `name`. The heap's notes say what a
/// person would not expect.
///
/// # Errors
/// If it is none, with the place of the first mistake.
pub fn read_v8(
    from: impl Read,
    bytes: u64,
    name: &str,
    options: &ReadOptions,
    progress: Progress<'_>,
) -> Result<Snapshot, V8Error> {
    let read = || {
        let mut tokens = Tokens::new(from, bytes, progress);
        let (meta, graph) = graph::read_graph(&mut tokens, bytes)?;
        let at = tokens.place();
        drop(tokens);
        let values = options.values;
        build::build(&meta, graph, at.max(bytes), values).map_err(|message| Failure { at, message })
    };
    read().map_err(|Failure { at, message }| V8Error {
        name: name.into(),
        at,
        message,
    })
}
