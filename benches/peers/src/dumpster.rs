//! dumpster: reference counting with detection of dead cycles, on top of the
//! system's `malloc`.
//!
//! There is no full collection in the sense of a tracing collector: `collect`
//! looks only at objects that lost a handle since the last time, and at what
//! they reach. For `mark`, every root is cloned and dropped first, which makes
//! it look at the whole graph.
//!
//! It follows references by recursion, so the programs run on a thread with a
//! very large stack.
//!
//! `dumpster` is the single-threaded variant; `dumpster-sync`, with atomic
//! counts, takes part only where two threads share a heap.

use std::cell::RefCell as Cell;

use ::dumpster::unsync::{Gc, collect};
use ::dumpster::{TraceWith, Visitor};

use crate::Competitor;
use crate::workload::{Job, Mode, Outcome, Workload};

pub const COMPETITORS: &[Competitor] = &[
    Competitor {
        name: "dumpster",
        about: "dumpster 2.1 unsync, default condition, system malloc; takes no heap size",
        supports: |job| job.collector_threads == 1 && job.workload != Workload::TwoMutators,
        run: |job| on_a_large_stack(|| run(job)),
    },
    Competitor {
        name: "dumpster-sync",
        about: "dumpster 2.1 sync, default condition, system malloc; takes no heap size",
        supports: |job| job.workload == Workload::TwoMutators,
        run: |job| sync::two_mutators(job.scale),
    },
];

fn run(job: &Job) -> Outcome {
    match (job.workload, job.mode) {
        (Workload::Mark, _) => programs::mark(job.scale, |directories| {
            for unit in directories.iter().flatten() {
                drop(unit.clone());
            }
            collect();
        }),
        (Workload::BinaryTrees, Mode::Total) => programs::binary_trees::<false>(job.scale),
        (Workload::BinaryTrees, Mode::Pause) => programs::binary_trees::<true>(job.scale),
        (Workload::GarbageOnly, _) => programs::garbage_only(job.scale),
        (Workload::Mutation, _) => programs::mutation(job.scale),
        (Workload::HalfLost, _) => programs::half_lost(job.scale, collect),
        (Workload::TwoMutators, _) => unreachable!("a heap belongs to one thread"),
    }
}

fn on_a_large_stack(run: impl FnOnce() -> Outcome + Send) -> Outcome {
    // Address space only; pages are taken when the recursion reaches them.
    const STACK_BYTES: usize = 4 << 30;
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || {
                let outcome = run();
                crate::print_outcome_and_exit(&outcome)
            })
            .expect("there is address space for the stack")
            .join()
            .expect("the thread ends the process")
    })
}

/// An object without slots.
struct Blob<const WORDS: usize>([u64; WORDS]);

// SAFETY: there are no handles inside.
unsafe impl<V: Visitor, const WORDS: usize> TraceWith<V> for Blob<WORDS> {
    fn accept(&self, _: &mut V) -> Result<(), ()> {
        Ok(())
    }
}

/// Tells the collector which fields hold slots, as the derive would.
macro_rules! trace_slots {
    ($type:ty { $($field:ident),* }) => {
        // SAFETY: the fields named are all that hold handles.
        unsafe impl<V: ::dumpster::Visitor> ::dumpster::TraceWith<V> for $type {
            #[inline]
            fn accept(&self, _visitor: &mut V) -> Result<(), ()> {
                $(::dumpster::TraceWith::accept(&self.$field, _visitor)?;)*
                Ok(())
            }
        }
    };
}

#[path = "counted.rs"]
mod programs;

mod sync {
    use ::dumpster::Trace;
    use ::dumpster::sync::Gc;

    use crate::workload::{self, Digest, Figure, Outcome, Scale, Stopwatch};

    #[derive(Trace)]
    struct Node {
        left: Option<Gc<Node>>,
        right: Option<Gc<Node>>,
        payload: u64,
    }

    impl Node {
        fn tree(depth: u32) -> Gc<Node> {
            let (left, right) = match depth.checked_sub(1) {
                Some(depth) => (Some(Node::tree(depth)), Some(Node::tree(depth))),
                None => (None, None),
            };
            Gc::new(Node {
                left,
                right,
                payload: u64::from(depth) + 1,
            })
        }

        fn sum(&self) -> u64 {
            match (&self.left, &self.right) {
                (Some(left), Some(right)) => self.payload + left.sum() + right.sum(),
                _ => self.payload,
            }
        }
    }

    pub fn two_mutators(scale: Scale) -> Outcome {
        let mutator = || {
            let depth = workload::tree_depth_of_two(scale);
            let mut digest = Digest::default();
            digest.add(1, Node::tree(depth + 1).sum());
            let kept = Node::tree(depth);
            for (depth, trees) in workload::short_trees(depth) {
                let sum = (0..trees).map(|_| Node::tree(depth).sum()).sum();
                digest.add(u64::from(depth), sum);
            }
            digest.add(2, kept.sum());
            for payload in 0..workload::garbage_objects_of_two(scale) {
                let node = Gc::new(Node {
                    left: None,
                    right: None,
                    payload,
                });
                digest.add(0, std::hint::black_box(&node).payload);
            }
            digest
        };
        let start = Stopwatch::start();
        let mut digest = Digest::default();
        std::thread::scope(|scope| {
            let threads = [scope.spawn(mutator), scope.spawn(mutator)];
            for (slot, thread) in (1..).zip(threads) {
                digest.add(slot, thread.join().expect("no thread panics").0);
            }
        });
        Outcome::new(digest).with_time(Figure::TotalMs, start.elapsed())
    }
}
