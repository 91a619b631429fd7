//! The ten programs of *Leak Pruning*, section 6: most leak, each in its own way, and die of it unless
//! what they have leaked is pruned.
//!
//! The unit of work is the *iteration*. A program runs in a heap of about twice the size that it would need
//! without its leak, until it dies, has had enough iterations, or, as one does, ends. It reads
//! references by `try_get`, so that it dies of one that was pruned as it dies of refused memory. What it does depends
//! on its heap's size and on its seed alone.

mod delaunay;
mod dual_leak;
mod eclipse_cp;
mod eclipse_diff;
mod jbb_mod;
mod list_leak;
mod mckoi;
mod mysql;
mod spec_jbb;
mod swap_leak;

use heaphound::{
    Bytes, Header, Heap, Invalidated, Local, Managed, Mutator, OutOfMemory, Ref, RefArray,
};

use super::{Random, Size};

/// A program that leaks.
pub struct Leaking {
    /// What it is known by in reports.
    pub id: &'static str,
    /// What the paper calls it.
    pub name: &'static str,
    /// What it leaks.
    pub about: &'static str,
    /// What the paper says.
    pub paper: Paper,
    /// Whether what it has not read for long is never read again.
    pub dead_is_dead: bool,
    pub(super) run: fn(&mut Mutator<'_>, &Work<'_>, Each<'_>) -> Result<(), Death>,
}

/// The paper's iterations until death, and how many times as many pruning allows, as far as it tells.
pub struct Paper {
    /// Without pruning.
    pub base: Option<f64>,
    /// All that is most stale.
    pub most_stale: Option<f64>,
    /// Individual references.
    pub individual: Option<f64>,
    /// The paper's own policy.
    pub default: Option<f64>,
    /// How many times as many.
    pub factor: f64,
    /// How table 1 sums it up.
    pub effect: Effect,
}

/// What pruning does for a program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Effect {
    /// Nothing: it dies, or ends, when it would have.
    NoHelp,
    /// It dies later.
    Longer,
    /// It did not die in 200 times the iterations.
    Indefinite,
}

/// Why a program ended before its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Death {
    /// Memory was refused.
    OutOfMemory,
    /// It read a reference that had been pruned.
    PrunedThenUsed,
}

impl From<OutOfMemory> for Death {
    fn from(_: OutOfMemory) -> Self {
        Self::OutOfMemory
    }
}

impl From<Invalidated> for Death {
    fn from(_: Invalidated) -> Self {
        Self::PrunedThenUsed
    }
}

/// Called after each iteration. Returns whether there is to be another one.
pub type Each<'e> = &'e mut dyn FnMut() -> bool;

/// What a program is to do.
pub struct Work<'h> {
    /// Where.
    pub heap: &'h Heap,
    /// The size of the heap.
    pub heap_bytes: usize,
    /// Whether it leaks.
    pub leak: bool,
    /// Of its random choices.
    pub seed: u64,
}

impl Work<'_> {
    /// Returns how many things of some bytes make a part of the heap; at least one.
    fn part(&self, nth: usize, bytes: usize) -> usize {
        (self.heap_bytes / nth / bytes).max(1)
    }

    fn random(&self) -> Random {
        Random::new(self.seed)
    }
}

impl Leaking {
    /// Runs it.
    ///
    /// # Errors
    /// Why it died.
    pub fn run(&self, m: &mut Mutator<'_>, work: &Work<'_>, each: Each<'_>) -> Result<(), Death> {
        (self.run)(m, work, each)
    }

    /// The size of its heap.
    pub fn heap_bytes(&self, size: Size) -> usize {
        match size {
            Size::Small => 4 << 20,
            Size::Large => 16 << 20,
        }
    }
}

/// What a program works with all the time: about three eighths of its heap.
#[derive(Managed)]
#[repr(C)]
struct WorkingSet {
    header: Header,
    records: Ref<RefArray<Record>>,
}

#[derive(Managed)]
#[repr(C)]
struct Record {
    header: Header,
    data: Ref<Bytes>,
}

/// Bytes of a record.
const RECORD: usize = 4000;

impl WorkingSet {
    fn new<'a>(m: &mut Mutator<'a>, work: &Work<'_>) -> Result<Local<'a, WorkingSet>, Death> {
        let count = work.part(8, RECORD) * 3;
        m.scoped(|m| {
            let records = m.alloc_refs::<Record>(count)?;
            for place in 0..count {
                let mut m = m.scope();
                let data = m.alloc_bytes(&[0; RECORD])?;
                let record = m.alloc(RecordInit { data })?;
                m[records][place].set(Some(&m[record]));
            }
            Ok(m.alloc(WorkingSetInit { records })?)
        })
    }

    /// Reads all of it.
    fn read(&self) -> Result<(), Invalidated> {
        for record in self.records.try_get()?.iter() {
            if let Some(record) = record.try_get()? {
                record.data.try_get()?;
            }
        }
        Ok(())
    }
}

/// A text with its characters apart, as Java's are.
#[derive(Managed)]
#[managed(name = "String")]
#[repr(C)]
struct Text {
    header: Header,
    chars: Ref<Bytes>,
}

impl Text {
    fn new<'a>(m: &mut Mutator<'a>, bytes: usize) -> Result<Local<'a, Text>, OutOfMemory> {
        m.scoped(|m| {
            let chars = m.alloc_bytes(&vec![b'x'; bytes])?;
            m.alloc(TextInit { chars })
        })
    }
}

/// The programs, in the order of the paper's table 1.
pub const LEAKING: &[Leaking] = &[
    Leaking {
        id: "eclipsediff",
        name: "EclipseDiff",
        about: "a navigation history that is read, whose entries hold large results that are not",
        paper: Paper::indefinite(259.0, 228.0, 3_380.0, 55_780.0),
        dead_is_dead: true,
        run: eclipse_diff::run,
    },
    Leaking {
        id: "listleak",
        name: "ListLeak",
        about: "a list that nobody reads",
        paper: Paper::indefinite(110.0, 108.0, 2.7e6, 2.7e6),
        dead_is_dead: true,
        run: list_leak::run,
    },
    Leaking {
        id: "swapleak",
        name: "SwapLeak",
        about: "inner objects that refer to the objects that they were made in",
        paper: Paper::indefinite(5.0, 5.0, 11.0, 11_368.0),
        dead_is_dead: true,
        run: swap_leak::run,
    },
    Leaking {
        id: "eclipsecp",
        name: "EclipseCP",
        about: "commands that can be undone hold large texts; a cache grows and is read",
        paper: Paper {
            most_stale: None,
            ..Paper::longer(12.0, 0.0, 41.0, 971.0, 81.0)
        },
        dead_is_dead: false,
        run: eclipse_cp::run,
    },
    Leaking {
        id: "mysql",
        name: "MySQL",
        about: "a table of statements, read when it grows; each holds results that are not read",
        paper: Paper {
            base: None,
            most_stale: None,
            individual: None,
            default: None,
            ..Paper::longer(0.0, 0.0, 0.0, 0.0, 35.0)
        },
        dead_is_dead: false,
        run: mysql::run,
    },
    Leaking {
        id: "specjbb2000",
        name: "SPECjbb2000",
        about: "orders stay in a list that is processed; what some of them hold is not read",
        paper: Paper::longer(135.0, 97.0, 625.0, 632.0, 4.7),
        dead_is_dead: false,
        run: spec_jbb::run,
    },
    Leaking {
        id: "jbbmod",
        name: "JbbMod",
        about: "orders that reports read after a long time, and one day no report is made any more",
        paper: Paper::longer(204.0, 41.0, 911.0, 4_267.0, 21.0),
        dead_is_dead: true,
        run: jbb_mod::run,
    },
    Leaking {
        id: "mckoi",
        name: "Mckoi",
        about: "threads that never end, and what hangs on their stacks",
        paper: Paper::longer(44.0, 47.0, 71.0, 72.0, 1.6),
        dead_is_dead: true,
        run: mckoi::run,
    },
    Leaking {
        id: "dualleak",
        name: "DualLeak",
        about: "two collections that grow and are read from end to end",
        paper: Paper {
            effect: Effect::NoHelp,
            ..Paper::longer(145.0, 149.0, 144.0, 143.0, 1.0)
        },
        dead_is_dead: true,
        run: dual_leak::run,
    },
    Leaking {
        id: "delaunay",
        name: "Delaunay",
        about: "a mesh that is finished before memory is short",
        paper: Paper {
            base: None,
            most_stale: None,
            individual: None,
            default: None,
            effect: Effect::NoHelp,
            ..Paper::longer(0.0, 0.0, 0.0, 0.0, 1.0)
        },
        dead_is_dead: true,
        run: delaunay::run,
    },
];

impl Paper {
    const fn longer(
        base: f64,
        most_stale: f64,
        individual: f64,
        default: f64,
        factor: f64,
    ) -> Self {
        Self {
            base: Some(base),
            most_stale: Some(most_stale),
            individual: Some(individual),
            default: Some(default),
            factor,
            effect: Effect::Longer,
        }
    }

    const fn indefinite(base: f64, most_stale: f64, individual: f64, default: f64) -> Self {
        Self {
            effect: Effect::Indefinite,
            ..Self::longer(base, most_stale, individual, default, default / base)
        }
    }
}
