//! What a heap says about its collections: statistics, `tracing` events, lines on standard error.

use std::fmt;
use std::io::Write;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::heap::HeapInner;
use crate::stats::CollectionStats;

impl HeapInner {
    /// Records a collection and tells whoever listens, with the world running and
    /// nothing locked: a listener may do as it likes.
    pub(crate) fn report(&self, stats: CollectionStats) {
        self.stats.lock().unwrap().record(stats.clone());
        tracing::info!(
            heap = self.id,
            number = stats.number,
            kind = %stats.kind,
            cause = %stats.cause,
            pause_us = stats.pause.as_micros() as u64,
            time_to_safepoint_us = stats.time_to_safepoint.as_micros() as u64,
            marked_objects = stats.marked_objects,
            marked_bytes = stats.marked_bytes,
            freed_bytes = stats.freed_bytes,
            used_bytes = stats.used_bytes,
            heap_bytes = stats.heap_bytes,
            allocated_bytes = stats.allocated_bytes,
            "collection"
        );
        if self.config.log {
            log_line(format_args!("{stats}"));
        }
    }

    /// Names the mutators that a collection has been waiting for.
    pub(crate) fn report_stall(&self, waited: Duration) {
        let mutators = self.mutators.lock().unwrap();
        let names: Vec<_> = mutators
            .iter()
            .filter(|shared| shared.runs.load(Relaxed))
            .map(|shared| shared.name.as_str())
            .collect();
        let names = names.join(", ");
        drop(mutators);
        let waited_ms = waited.as_millis() as u64;
        tracing::warn!(heap = self.id, waited_ms, mutators = %names, "mutators stall a collection");
        if self.config.log {
            log_line(format_args!(
                "a collection has waited {waited_ms} ms for: {names}"
            ));
        }
    }
}

/// Writes to standard error, and does not mind if nobody listens.
pub(crate) fn log_line(line: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "heaphound: {line}");
}
