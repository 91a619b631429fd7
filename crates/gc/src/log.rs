//! What a heap says about its collections: statistics, `tracing` events, lines on standard error.

use std::fmt;
use std::io::Write;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tracing::dispatcher;

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

    /// Names the mutators that a collection has been waiting for. A thread of its own says it: whoever listens
    /// may take his time, and use heaps, and this thread has a world half stopped. Nothing is said while
    /// the last `report` has not come to its end.
    pub(crate) fn report_stall(&self, waited: Duration, report: &mut Option<JoinHandle<()>>) {
        if report.as_ref().is_some_and(|it| !it.is_finished()) {
            return;
        }
        let mutators = self.mutators.lock().unwrap();
        let running = mutators.iter().filter(|it| it.runs.load(Relaxed));
        let names: Vec<_> = running.map(|it| it.name.as_str()).collect();
        let names = names.join(", ");
        drop(mutators);
        let (heap, log) = (self.id, self.config.log);
        let waited_ms = waited.as_millis() as u64;
        let say = move || {
            tracing::warn!(heap, waited_ms, mutators = %names, "mutators stall a collection");
            if log {
                log_line(format_args!(
                    "a collection has waited {waited_ms} ms for: {names}"
                ));
            }
        };
        // To those who listen to this thread.
        let listener = dispatcher::get_default(Clone::clone);
        let say = move || dispatcher::with_default(&listener, say);
        // Without a thread nothing is said: that must not end a collection.
        *report = thread::Builder::new().spawn(say).ok();
    }
}

/// Writes to standard error, and does not mind if nobody listens.
pub(crate) fn log_line(line: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "heaphound: {line}");
}
