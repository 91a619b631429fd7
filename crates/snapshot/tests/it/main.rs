//! Heaps as files: both forms, mistakes in them, and the files themselves.

mod binary;
mod files;
mod hostile;
mod hprof;
mod jvm;
mod redact;
mod round_trips;
mod text;
mod v8;
mod v8_node;
