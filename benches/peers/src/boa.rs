//! boa_gc: the mark-and-sweep collector of the Boa JavaScript engine, on top of
//! the system's `malloc`.
//!
//! Handles are counted, so that the collector can tell roots (more handles than
//! it finds on the heap) without scanning stacks. It collects when a threshold
//! is passed that grows with what survives; neither it nor a heap size can be
//! set.
//!
//! The derive is not used because the programs are shared with another peer.
//! `trace_slots!` writes what it would with `unsafe_no_drop`, as in the engine
//! itself: no finalizer call for each dropped value.

use boa_gc::{Finalize, Gc, GcRefCell as Cell, Trace, empty_trace, force_collect};

use crate::Competitor;
use crate::workload::{Job, Mode, Outcome, Workload};

pub const COMPETITORS: &[Competitor] = &[Competitor {
    name: "boa",
    about: "boa_gc 0.22, its own threshold, system malloc; takes no heap size",
    supports: |job| job.collector_threads == 1,
    run,
}];

fn run(job: &Job) -> Outcome {
    match (job.workload, job.mode) {
        (Workload::Mark, _) => programs::mark(job.scale, |_| force_collect()),
        (Workload::BinaryTrees, Mode::Total) => programs::binary_trees::<false>(job.scale),
        (Workload::BinaryTrees, Mode::Pause) => programs::binary_trees::<true>(job.scale),
        (Workload::GarbageOnly, _) => programs::garbage_only(job.scale),
        (Workload::Mutation, _) => programs::mutation(job.scale),
        (Workload::HalfLost, _) => programs::half_lost(job.scale, force_collect),
        (Workload::TwoMutators, _) => unreachable!("a heap belongs to one thread"),
    }
}

/// An object without slots.
struct Blob<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Finalize for Blob<WORDS> {}

// SAFETY: there are no handles inside.
unsafe impl<const WORDS: usize> Trace for Blob<WORDS> {
    empty_trace!();
}

/// Tells the collector which fields hold slots.
macro_rules! trace_slots {
    ($type:ty { $($field:ident),* }) => {
        impl boa_gc::Finalize for $type {}

        // SAFETY: the fields named are all that hold handles.
        unsafe impl boa_gc::Trace for $type {
            #[inline]
            unsafe fn trace(&self, _tracer: &mut boa_gc::Tracer) {
                // SAFETY: the collector calls this; we pass its promises on.
                $(unsafe { boa_gc::Trace::trace(&self.$field, _tracer) };)*
            }

            #[inline]
            unsafe fn trace_non_roots(&self) {
                // SAFETY: as above.
                $(unsafe { boa_gc::Trace::trace_non_roots(&self.$field) };)*
            }

            #[inline]
            fn run_finalizer(&self) {
                boa_gc::Finalize::finalize(self);
                $(boa_gc::Trace::run_finalizer(&self.$field);)*
            }
        }
    };
}

#[path = "counted.rs"]
mod programs;
