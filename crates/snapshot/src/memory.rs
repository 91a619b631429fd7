//! Whether there is enough memory to read a heap, asked before the reading starts.

use std::fs;

use crate::file::{ReadError, ReadOptions};

/// Returns an error if reading takes more memory than the options allow.
pub fn check(name: &str, need: u64, options: &ReadOptions) -> Result<(), ReadError> {
    match need <= options.most_memory {
        true => Ok(()),
        false => Err(ReadError::TooLarge {
            name: name.into(),
            need,
            free: options.most_memory,
        }),
    }
}

/// Where the system does not say how much memory is free.
const UNKNOWN: u64 = 16 << 30;

/// Returns how many bytes of memory are free: for this machine, for this container, and for this process.
pub fn free_memory() -> u64 {
    let number = |text: &str| text.split_whitespace().next()?.parse::<u64>().ok();
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let memory = read("/proc/meminfo");
    let free = memory
        .lines()
        .find_map(|it| it.strip_prefix("MemAvailable:"));
    let free = free
        .and_then(number)
        .map_or(UNKNOWN, |kibibytes| kibibytes << 10);
    // A container may have less than the machine.
    let limit = number(&read("/sys/fs/cgroup/memory.max"));
    let used = number(&read("/sys/fs/cgroup/memory.current")).unwrap_or(0);
    // What a container has read counts as used, though it is given back when need be.
    let read = read("/sys/fs/cgroup/memory.stat");
    let cache = read
        .lines()
        .find_map(|it| it.strip_prefix("inactive_file "));
    let used = used.saturating_sub(cache.and_then(number).unwrap_or(0));
    let left = limit.map_or(u64::MAX, |limit| limit.saturating_sub(used));
    free.min(left).min(free_addresses())
}

/// Returns how many bytes a process that was limited (`ulimit -v`) may still ask for.
fn free_addresses() -> u64 {
    let field = |file: &str, name: &str| {
        let text = fs::read_to_string(file).ok()?;
        let line = text.lines().find_map(|it| it.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let Some(limit) = field("/proc/self/limits", "Max address space") else {
        return u64::MAX;
    };
    let used = field("/proc/self/status", "VmSize:").unwrap_or(0) << 10;
    limit.saturating_sub(used)
}
