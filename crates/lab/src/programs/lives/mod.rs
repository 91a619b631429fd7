//! Programs by how long their objects live: five of those with which *Discovering Heap Anomalies in the Wild* measures
//! sampling and pretenuring, each with the behaviour that matters to them.
//!
//! What a program does depends on its scale alone, so that all runs have the same checksum, whatever the heap. At full
//! size each allocates more than the original, so that there are more nursery collections to learn from; how much of it survives
//! one is near table 2.2, and `jess` has as little alive as the original.

mod db;
mod javac;
mod jess;
mod mtrt;
mod pseudojbb;

use heaphound::{Mutator, OutOfMemory};

/// A program.
pub struct Program {
    /// What the thesis calls it.
    pub name: &'static str,
    /// How long its objects live.
    pub about: &'static str,
    /// The share of what it allocates that survives a nursery of 4 MB, in percent, by table 2.2.
    pub survival_pct: f64,
    run: fn(&mut Mutator<'_>, usize) -> Result<u64, OutOfMemory>,
}

impl Program {
    /// Runs it. At scale 100 it allocates 200 MB and more; what lives grows and shrinks with the scale.
    /// Returns a checksum of what it has computed.
    ///
    /// # Errors
    /// If the heap is too small.
    pub fn run(&self, m: &mut Mutator<'_>, scale: usize) -> Result<u64, OutOfMemory> {
        (self.run)(m, scale)
    }
}

/// The programs.
pub const PROGRAMS: &[Program] = &[
    Program {
        name: "javac",
        about: "a compiler, whose trees live until all files are compiled",
        survival_pct: 25.8,
        run: javac::run,
    },
    Program {
        name: "jess",
        about: "an expert system, whose facts and tokens die young",
        survival_pct: 1.1,
        run: jess::run,
    },
    Program {
        name: "db",
        about: "a database that is loaded at start, and then queried",
        survival_pct: 14.6,
        run: db::run,
    },
    Program {
        name: "pseudojbb",
        about: "a wholesale company, whose sites make what lives long and what does not",
        survival_pct: 31.3,
        run: pseudojbb::run,
    },
    Program {
        name: "mtrt",
        about: "a ray tracer, with a scene that stays and masses of small vectors",
        survival_pct: 6.6,
        run: mtrt::run,
    },
];

/// Of all that a program computes.
#[derive(Default)]
struct Checksum(u64);

impl Checksum {
    fn add(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn value(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use heaphound::{Collector, Heap};

    use super::*;

    #[test]
    fn what_a_program_computes_does_not_depend_on_the_heap() {
        for program in PROGRAMS {
            let run = |collector, max_bytes: usize, nursery_bytes| {
                let heap = Heap::builder()
                    .collector(collector)
                    .collector_threads(1)
                    .max_bytes(max_bytes)
                    .initial_bytes(max_bytes / 8)
                    .nursery_bytes(nursery_bytes);
                let heap = heap.build().unwrap();
                let mut m = heap.attach("main").unwrap();
                let checksum = program.run(&mut m, 4).expect("room");
                let stats = heap.stats();
                let collections = stats.full_collections + stats.nursery_collections;
                (checksum, collections)
            };
            let (expected, _) = run(Collector::MarkSweep, 1 << 30, 4 << 20);
            let others = [
                run(Collector::MarkSweep, 8 << 20, 4 << 20),
                run(Collector::Generational, 8 << 20, 256 << 10),
                run(Collector::Generational, 64 << 20, 1 << 20),
            ];
            for (checksum, collections) in others {
                assert_eq!(checksum, expected, "{}", program.name);
                assert!(collections > 0, "{}", program.name);
            }
        }
    }

    #[test]
    fn what_a_program_computes_depends_on_its_scale() {
        for program in PROGRAMS {
            let run = |scale| {
                let heap = Heap::builder().build().unwrap();
                let mut m = heap.attach("main").unwrap();
                program.run(&mut m, scale).expect("room")
            };
            assert_ne!(run(5), run(10), "{}", program.name);
        }
    }
}
