//! Running out of memory: the error that says what was asked for and what fills the heap.

use crate::check::{Check, Counted, Needs};
use crate::collect::{Cause, Kind, Request};
use crate::error::{ClassShare, OutOfMemory, Reason, Shortage};
use crate::findings::Found;
use crate::heap::HeapInner;
use crate::raw::{MarkedHeap, Mutator, PlainData};

/// Counts the live objects and bytes of each class, once.
#[derive(Default)]
struct Census {
    classes: Vec<ClassShare>,
    live_bytes: usize,
}

impl Check for Census {
    fn needs(&mut self) -> Needs {
        Needs::all_instances()
    }

    fn conclude(&mut self, heap: &MarkedHeap<'_>, counted: &Counted<'_>, found: &mut Found<'_>) {
        found.skip();
        self.live_bytes = counted.bytes;
        self.classes = heap.heap().largest_classes(counted);
    }
}

impl HeapInner {
    /// The error that says what memory was asked for and what holds it.
    pub(crate) fn out_of_memory(
        &self,
        mutator: &mut Mutator<'_>,
        asked_bytes: usize,
    ) -> OutOfMemory {
        let error = self.shortage(mutator, asked_bytes);
        tracing::error!(heap = self.id, "{error}");
        error
    }

    /// As [`out_of_memory`](Self::out_of_memory), without a word to anybody else.
    pub(crate) fn shortage(&self, mutator: &mut Mutator<'_>, asked_bytes: usize) -> OutOfMemory {
        let mut census = Census::default();
        let request = Request {
            check: Some(&mut census),
            ..Request::new(Kind::Full, Cause::OutOfMemory)
        };
        // If it is called off, the error has less to say.
        let _ = self.collect_with(mutator.shared, request);
        OutOfMemory(Box::new(Shortage {
            asked_bytes,
            live_bytes: census.live_bytes,
            external_bytes: self.space.external(),
            max_bytes: self.config.max_bytes,
            classes: census.classes,
            snapshot: self.write_snapshot(mutator),
            reason: None,
        }))
    }

    /// The error of an allocation for which a collection was needed that was called off.
    pub(crate) fn uncollected(&self, asked_bytes: usize) -> OutOfMemory {
        let reason = Reason::Uncollected;
        OutOfMemory::because(asked_bytes, self.config.max_bytes, reason)
    }

    /// The error for an array that no heap can hold.
    pub(crate) fn too_long(&self, length: usize, most: usize, asked_bytes: usize) -> OutOfMemory {
        let reason = Reason::TooLong { length, most };
        OutOfMemory::because(asked_bytes, self.config.max_bytes, reason)
    }

    fn write_snapshot(
        &self,
        mutator: &mut Mutator<'_>,
    ) -> Option<Result<std::path::PathBuf, String>> {
        let path = self.config.snapshot_on_oom.clone()?;
        let written = mutator.write_heap(&path, PlainData::All);
        Some(written.map(|()| path).map_err(|error| error.to_string()))
    }
}
