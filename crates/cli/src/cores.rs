//! How many threads work for a command that has no `--threads`.

/// Returns the number of cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
