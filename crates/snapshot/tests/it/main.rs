//! Heaps as files: both forms, mistakes in them, and the files themselves.

mod binary;
mod files;
mod hostile;
mod round_trips;
mod text;
