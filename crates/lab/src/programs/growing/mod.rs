//! Programs whose heap grows, each with a twin that is repaired.
//!
//! A run is a number of rounds of work. How much is done in a round, and how much lives, depends
//! on the scale. After each round the caller may look at the heap. No collection is forced.

mod compare;
mod expert;
mod formatter;
mod orders;

use heaphound::Mutator;

use super::{Outcome, Size, jbb};

/// How much is done, and whether it is done right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Work {
    /// Rounds.
    pub rounds: usize,
    /// How much of everything there is.
    pub scale: usize,
    /// Whether the program keeps what it needs no longer.
    pub leak: bool,
}

impl Work {
    /// Returns the work of a program of that size.
    pub(super) fn new(rounds: usize, size: Size, leak: bool) -> Self {
        Self {
            rounds,
            scale: scale(size),
            leak,
        }
    }
}

/// Called after each round.
pub type Each<'e> = &'e mut dyn FnMut(&mut Mutator<'_>);

/// A program whose heap grows.
pub struct Growing {
    /// What it is called in reports.
    pub name: &'static str,
    /// What is wrong with it.
    pub about: &'static str,
    /// A class that grows without end.
    pub class: &'static str,
    /// What holds the growth: an edge that every slice must contain, as `Class.slot → Class`.
    pub holder: (&'static str, &'static str, &'static str),
    /// Rounds that give some dozens of full collections.
    pub rounds: usize,
    pub(super) run: fn(&mut Mutator<'_>, &Work, Each<'_>) -> Outcome,
}

impl Growing {
    /// Runs it.
    pub fn run(&self, m: &mut Mutator<'_>, size: Size, leak: bool, each: Each<'_>) -> Outcome {
        (self.run)(m, &Work::new(self.rounds, size, leak), each)
    }
}

/// Returns how much larger than the smallest a program is.
fn scale(size: Size) -> usize {
    match size {
        Size::Small => 1,
        Size::Large => 16,
    }
}

/// The programs of chapter 5.
pub const GROWING: &[Growing] = &[
    Growing {
        name: "orders",
        about: "figure 5.2: orders of people never leave allOrders",
        class: "Order",
        holder: ("OrderSystem", "allOrders", "HashTable"),
        rounds: 400,
        run: orders::run,
    },
    Growing {
        name: "jbb",
        about: "delivered orders stay in the order table",
        class: "Order",
        holder: ("District", "order_table", "LongBTree"),
        rounds: 200,
        run: company,
    },
    Growing {
        name: "formatter",
        about: "pages stay in the area tree when they have been printed",
        class: "Area",
        holder: ("AreaTree", "first", "Page"),
        rounds: 300,
        run: formatter::run,
    },
    Growing {
        name: "expert",
        about: "facts are asserted and never retracted",
        class: "Fact",
        holder: ("WorkingMemory", "facts", "Fact"),
        rounds: 300,
        run: expert::run,
    },
    Growing {
        name: "compare",
        about: "closing a comparison does not count down, so that the history keeps it",
        class: "DiffNode",
        holder: ("NavigationHistory", "editors", "EditorInfo"),
        rounds: 300,
        run: compare::run,
    },
];

/// Runs the jbb-like company.
fn company(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let per_round = 400 * work.scale;
    let options = jbb::Options {
        companies: 1,
        warehouses: 2,
        customers: 5 * work.scale,
        items: 40 * work.scale,
        transactions: per_round * work.rounds,
        clear_every: None,
        assertions: jbb::Assertions::NONE,
        bug: work.leak.then_some(jbb::Bug::OrderTable),
    };
    jbb::run_in_rounds(m, &options, per_round, each)
}
