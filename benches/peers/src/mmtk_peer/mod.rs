//! MMTk with its plans MarkSweep, Immix and GenImmix.
//!
//! MMTk is a library of collectors without a language; a virtual machine
//! provides the rest. The one here is as small as can be: objects with a
//! one-word header (`object.rs`), threads with a stack of roots and the
//! allocation and write-barrier fast paths inlined (`thread.rs`), and the
//! traits by which MMTk asks for all of it (`binding.rs`). The workloads
//! (`programs.rs`) are compiled once for each plan, as a JIT would do.
//!
//! MMTk sweeps a mark-sweep space lazily, when a free cell is needed. Where the
//! time of a collection is taken, sweeping is completed explicitly.

mod binding;
mod object;
mod programs;
mod thread;

use mmtk::util::options::PlanSelector;

use crate::Competitor;
use crate::workload::{Job, Mode, Outcome, Workload};

pub const COMPETITORS: &[Competitor] = &[
    Competitor {
        name: "mmtk-marksweep",
        about: "mmtk 0.33 MarkSweep, fixed heap size, side mark bits",
        supports: |_| true,
        run: run::<MarkSweep>,
    },
    Competitor {
        name: "mmtk-immix",
        about: "mmtk 0.33 Immix, fixed heap size, bump allocation inlined",
        supports: |_| true,
        run: run::<Immix>,
    },
    Competitor {
        name: "mmtk-genimmix",
        about: "mmtk 0.33 GenImmix, fixed heap size, bump allocation and object barrier inlined",
        supports: |_| true,
        run: run::<GenImmix>,
    },
];

/// What the mutator's code depends on in a plan.
pub trait Plan: 'static {
    const SELECTOR: PlanSelector;
    /// Allocates by bumping a pointer; otherwise from free lists.
    const BUMPS: bool;
    /// Remembers old objects that were written to.
    const REMEMBERS: bool;
    /// Leaves sweeping to allocation.
    const SWEEPS_LAZILY: bool;
}

struct MarkSweep;
struct Immix;
struct GenImmix;

impl Plan for MarkSweep {
    const SELECTOR: PlanSelector = PlanSelector::MarkSweep;
    const BUMPS: bool = false;
    const REMEMBERS: bool = false;
    const SWEEPS_LAZILY: bool = true;
}

impl Plan for Immix {
    const SELECTOR: PlanSelector = PlanSelector::Immix;
    const BUMPS: bool = true;
    const REMEMBERS: bool = false;
    const SWEEPS_LAZILY: bool = false;
}

impl Plan for GenImmix {
    const SELECTOR: PlanSelector = PlanSelector::GenImmix;
    const BUMPS: bool = true;
    const REMEMBERS: bool = true;
    const SWEEPS_LAZILY: bool = false;
}

fn run<P: Plan>(job: &Job) -> Outcome {
    binding::create_heap(P::SELECTOR, job);
    match (job.workload, job.mode) {
        (Workload::Mark, _) => programs::mark::<P>(job.scale),
        (Workload::BinaryTrees, Mode::Total) => programs::binary_trees::<P>(job.scale),
        (Workload::BinaryTrees, Mode::Pause) => programs::binary_trees_pause::<P>(job.scale),
        (Workload::GarbageOnly, _) => programs::garbage_only::<P>(job.scale),
        (Workload::Mutation, _) => programs::mutation::<P>(job.scale),
        (Workload::TwoMutators, _) => programs::two_mutators::<P>(job.scale),
        (Workload::HalfLost, _) => programs::half_lost::<P>(job.scale),
    }
}
