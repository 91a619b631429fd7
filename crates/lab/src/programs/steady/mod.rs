//! Programs that do not leak, though what lives in them goes up and down: compilers, caches,
//! jobs, servers. None of them was written with the detector in mind, and two are older than it.

mod batch;
mod cache;
mod compiler;
mod editor;
mod interpreter;
mod raytracer;
mod sessions;
mod simulation;
mod warmup;

use heaphound::Mutator;

use super::growing::{Each, Work};
use super::{Outcome, Size, db, lusearch};

/// A program whose heap does not grow without end.
pub struct Steady {
    /// What it is called in reports.
    pub name: &'static str,
    /// What goes on in its heap.
    pub about: &'static str,
    /// Rounds that give some dozens of full collections.
    pub rounds: usize,
    pub(super) run: fn(&mut Mutator<'_>, &Work, Each<'_>) -> Outcome,
}

impl Steady {
    /// Runs it.
    pub fn run(&self, m: &mut Mutator<'_>, size: Size, each: Each<'_>) -> Outcome {
        (self.run)(m, &Work::new(self.rounds, size, false), each)
    }
}

/// Eleven of them, as in the paper.
pub const STEADY: &[Steady] = &[
    Steady {
        name: "compiler",
        about: "a tree and a scope for each file; names are interned for good",
        rounds: 300,
        run: compiler::run,
    },
    Steady {
        name: "cache",
        about: "a cache with bounds that forgets what was used least recently",
        rounds: 300,
        run: cache::run,
    },
    Steady {
        name: "raytracer",
        about: "an octree that is built once, and rays",
        rounds: 300,
        run: raytracer::run,
    },
    Steady {
        name: "interpreter",
        about: "lists, closures and environments of small programs",
        rounds: 300,
        run: interpreter::run,
    },
    Steady {
        name: "db",
        about: "a database whose entries are exchanged and sorted",
        rounds: 60,
        run: database,
    },
    Steady {
        name: "batch",
        about: "jobs of different sizes, each with a heap that it fills and leaves",
        rounds: 400,
        run: batch::run,
    },
    Steady {
        name: "warmup",
        about: "templates that are loaded when they are first used, some often, most rarely",
        rounds: 500,
        run: warmup::run,
    },
    Steady {
        name: "sessions",
        about: "a web server whose load goes up and down, and whose sessions expire",
        rounds: 500,
        run: sessions::run,
    },
    Steady {
        name: "simulation",
        about: "events in a heap-ordered tree, and a population that comes and goes",
        rounds: 300,
        run: simulation::run,
    },
    Steady {
        name: "editor",
        about: "a text that is edited, and what can be undone",
        rounds: 300,
        run: editor::run,
    },
    Steady {
        name: "lusearch",
        about: "an index that is searched",
        rounds: 1,
        run: search,
    },
];

/// Runs the database without assertions, for as long as `rounds` of it.
fn database(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let options = db::Options {
        entries: 200 * work.scale,
        operations: 4_000 * work.rounds * work.scale,
        recent: 64 * work.scale,
        exchange_every: 50,
        assertions: false,
        bug: false,
    };
    let outcome = db::run(m, &options);
    each(m);
    outcome
}

/// Runs the index search without assertions.
fn search(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let size = match work.scale {
        1 => Size::Small,
        _ => Size::Large,
    };
    let options = lusearch::Options::of(size, false);
    let options = lusearch::Options {
        assertions: false,
        ..options
    };
    let outcome = lusearch::run(m, &options);
    each(m);
    outcome
}
