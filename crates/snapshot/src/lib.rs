//! Heaps as files.
//!
//! [Heap text](read_text) is for people: tests, bug reports, heaps made by scripts. The
//! [binary form](read_binary) is for size and speed. [Dumps of JVMs](read_hprof) and [snapshots of V8](read_v8) come from programs that know nothing of us.
//! [`read_file`] recognizes which one it is. All give
//! a [`Snapshot`] or an error with a place; no input makes them panic, and none makes them
//! take much more memory than its own size allows.
//!
//! ```
//! use heaphound_heap::view::live_objects;
//!
//! let heap = heaphound_snapshot::read(
//!     b"root main -> List#1
//!       List#1.head -> Node#1
//!       Node#1.next -> Node#2",
//!     "list.heap",
//!     &mut |_, _| {},
//! )
//! .unwrap();
//! assert_eq!(live_objects(&heap).len(), 3);
//! ```
//!
//! Elsewhere: what a snapshot is (`heaphound_heap::snapshot`).
#![forbid(unsafe_code)]

mod binary;
mod budget;
mod bytes;
mod file;
mod hprof;
mod input;
mod memory;
mod replace;
mod text;
mod v8;
mod variants;

#[doc(hidden)]
pub use binary::checksum;
pub use binary::{BinaryError, MAGIC, read_binary, write_binary};
pub use bytes::{most_heap_bytes, read_at_most, read_heap_bytes};
pub use file::{Format, ReadError, ReadOptions, read, read_file, read_input, write_file};
pub use heaphound_heap::snapshot::Snapshot;
pub use hprof::{HprofError, memory_for as hprof_memory, read_hprof};
pub use input::{Input, InputReader};
pub use memory::free_memory;
pub use replace::{abandon_files, replace_file};
pub use text::{Mistake, TextErrors, read_text, write_text};
pub use v8::{V8Error, is_v8, read_v8, write_v8};

/// Called from time to time with how much is done, and how much there is to do.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);
