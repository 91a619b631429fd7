//! The questions, as the command line spells them: PHALANX's probes and primitives.
//!
//! To add a question: a variant of [`TruthQuestion`] or [`SetQuestion`] with its help, a line in
//! `spelling` and a line in `ask` below it, and a function in `truth.rs` or `sets.rs`.

use clap::Subcommand;
use heaphound_heap::root::Part;

use super::asking::Asking;
use super::outcome::{Outcome, Set, Truth};
use super::{sets, truth};
use crate::problem::Problem;

#[derive(Subcommand)]
pub enum Question {
    #[command(flatten)]
    Truth(TruthQuestion),
    #[command(flatten)]
    Set(SetQuestion),
}

/// A question whose answer is yes or no.
#[derive(Subcommand)]
pub enum TruthQuestion {
    /// Does some reachable object refer to O?
    IsHeap(One),

    /// Do two or more reachable objects refer to O? Two slots of one object count once.
    IsShared(One),

    /// Is B reachable from A?
    IsReachable(Two),

    /// Is nothing reachable from both A and B?
    IsDisjoint(Two),

    /// Does O dominate everything that it reaches?
    IsUniqueOwner(One),

    /// Does every path from A to B pass one of the objects of --cut? A and B are on the path.
    ReachThrough {
        #[command(flatten)]
        two: Two,
        /// Objects, separated by commas.
        #[arg(long, value_name = "OBJECTS", required = true)]
        cut: Vec<String>,
    },

    /// Does A own B? The same as dom.
    IsObjectOwned(Two),

    /// Does A reach B, and does every path from a root to B pass A?
    Dom(Two),

    /// Does the asking thread reach O, and no other thread or root? Needs --as.
    IsThreadOwned {
        #[command(flatten)]
        one: One,
        #[command(flatten)]
        part: PartArgs,
    },

    /// Does the stack of the asking thread reach O, and nothing else? Needs --as.
    IsThreadStackOwned(One),

    /// Does the thread object of the asking thread dominate O? Needs --as.
    IsThreadObjectOwned(One),
}

/// A question whose answer is a set.
#[derive(Subcommand)]
pub enum SetQuestion {
    /// Which threads reach O?
    ThreadReach {
        #[command(flatten)]
        one: One,
        /// Objects that paths must not pass, separated by commas.
        #[arg(long, value_name = "OBJECTS")]
        avoid: Vec<String>,
        #[command(flatten)]
        part: PartArgs,
    },

    /// Which references would `unique` invalidate? All slots and roots that refer to O, except
    /// one on the stack of the asking thread.
    Unique(One),

    /// The thread objects of all running threads.
    Running,

    /// The objects to which the stack of a thread refers.
    Stack(Thread),

    /// The objects to which the stack of a thread refers, and its thread object.
    Roots(Thread),

    /// The objects that are reachable from the given objects; without any, from the roots.
    Reach {
        /// Objects.
        o: Vec<String>,
        /// Objects that paths must not pass, separated by commas.
        #[arg(long, value_name = "OBJECTS")]
        avoid: Vec<String>,
    },

    /// The reachable objects that refer to O.
    Pred(One),
}

// The arguments below have no documentation of their own: clap would show it in the place of
// the question's.

#[derive(clap::Args)]
pub struct One {
    /// An object.
    o: String,
}

#[derive(clap::Args)]
pub struct Two {
    /// An object.
    a: String,
    /// Another object.
    b: String,
}

#[derive(clap::Args)]
pub struct Thread {
    /// A thread: `thread:main` or `main`.
    thread: String,
}

#[derive(clap::Args)]
#[group(multiple = false)]
pub struct PartArgs {
    /// Only the stacks of threads count, not their thread objects.
    #[arg(long)]
    stack_only: bool,

    /// Only the thread objects count, not their stacks.
    #[arg(long)]
    object_only: bool,
}

/// A question as the command line spells it.
pub struct Spelling {
    pub name: &'static str,
    pub arguments: Vec<String>,
}

impl Question {
    /// Asks the question.
    pub fn ask(&self, asking: &Asking<'_>) -> Result<Outcome, Problem> {
        match self {
            Self::Truth(question) => question.ask(asking).map(Outcome::Truth),
            Self::Set(question) => question.ask(asking).map(Outcome::Set),
        }
    }

    pub fn spelling(&self) -> Spelling {
        let (name, arguments) = match self {
            Self::Truth(question) => question.spelling(),
            Self::Set(question) => question.spelling(),
        };
        Spelling { name, arguments }
    }
}

impl TruthQuestion {
    fn spelling(&self) -> (&'static str, Vec<String>) {
        match self {
            Self::IsHeap(one) => ("is-heap", one.words()),
            Self::IsShared(one) => ("is-shared", one.words()),
            Self::IsReachable(two) => ("is-reachable", two.words()),
            Self::IsDisjoint(two) => ("is-disjoint", two.words()),
            Self::IsUniqueOwner(one) => ("is-unique-owner", one.words()),
            Self::ReachThrough { two, cut } => {
                ("reach-through", [two.words(), option("cut", cut)].concat())
            }
            Self::IsObjectOwned(two) => ("is-object-owned", two.words()),
            Self::Dom(two) => ("dom", two.words()),
            Self::IsThreadOwned { one, part } => {
                ("is-thread-owned", [one.words(), part.words()].concat())
            }
            Self::IsThreadStackOwned(one) => ("is-thread-stack-owned", one.words()),
            Self::IsThreadObjectOwned(one) => ("is-thread-object-owned", one.words()),
        }
    }

    fn ask(&self, asking: &Asking<'_>) -> Result<Truth, Problem> {
        let one = |one: &One| asking.names.object(&one.o);
        let two = |two: &Two| -> Result<_, Problem> {
            Ok([asking.names.object(&two.a)?, asking.names.object(&two.b)?])
        };
        Ok(match self {
            Self::IsHeap(o) => truth::is_heap(asking, one(o)?),
            Self::IsShared(o) => truth::is_shared(asking, one(o)?),
            Self::IsReachable(ab) => truth::is_reachable(asking, two(ab)?),
            Self::IsDisjoint(ab) => truth::is_disjoint(asking, two(ab)?),
            Self::IsUniqueOwner(o) => truth::is_unique_owner(asking, one(o)?),
            Self::ReachThrough { two: ab, cut } => {
                let cut = asking.names.list(cut)?;
                truth::reach_through(asking, two(ab)?, &cut)
            }
            Self::IsObjectOwned(ab) => truth::dom(asking, two(ab)?, "object-owned"),
            Self::Dom(ab) => truth::dom(asking, two(ab)?, "dominated"),
            Self::IsThreadOwned { one: o, part } => {
                truth::is_thread_owned(asking, one(o)?, part.part())?
            }
            Self::IsThreadStackOwned(o) => truth::is_thread_owned(asking, one(o)?, Part::Stack)?,
            Self::IsThreadObjectOwned(o) => truth::is_thread_owned(asking, one(o)?, Part::Object)?,
        })
    }
}

impl SetQuestion {
    fn spelling(&self) -> (&'static str, Vec<String>) {
        match self {
            Self::ThreadReach { one, avoid, part } => {
                let words = [one.words(), option("avoid", avoid), part.words()];
                ("thread-reach", words.concat())
            }
            Self::Unique(one) => ("unique", one.words()),
            Self::Running => ("running", Vec::new()),
            Self::Stack(thread) => ("stack", thread.words()),
            Self::Roots(thread) => ("roots", thread.words()),
            Self::Reach { o, avoid } => ("reach", [o.clone(), option("avoid", avoid)].concat()),
            Self::Pred(one) => ("pred", one.words()),
        }
    }

    fn ask(&self, asking: &Asking<'_>) -> Result<Set, Problem> {
        let object = |name: &String| asking.names.object(name);
        let thread = |thread: &Thread| asking.names.thread(&thread.thread);
        Ok(match self {
            Self::ThreadReach { one, avoid, part } => {
                let avoid = asking.names.list(avoid)?;
                sets::thread_reach(asking, object(&one.o)?, &avoid, part.part())
            }
            Self::Unique(one) => sets::unique(asking, object(&one.o)?),
            Self::Running => sets::running(asking),
            Self::Stack(name) => sets::thread_roots(asking, thread(name)?, Part::Stack)?,
            Self::Roots(name) => sets::thread_roots(asking, thread(name)?, Part::Both)?,
            Self::Reach { o, avoid } => {
                let from: Result<Vec<_>, _> = o.iter().map(object).collect();
                sets::reach(asking, &from?, &asking.names.list(avoid)?)
            }
            Self::Pred(one) => sets::pred(asking, object(&one.o)?),
        })
    }
}

impl One {
    fn words(&self) -> Vec<String> {
        vec![self.o.clone()]
    }
}

impl Two {
    fn words(&self) -> Vec<String> {
        vec![self.a.clone(), self.b.clone()]
    }
}

impl Thread {
    fn words(&self) -> Vec<String> {
        vec![self.thread.clone()]
    }
}

impl PartArgs {
    fn part(&self) -> Part {
        match (self.stack_only, self.object_only) {
            (true, _) => Part::Stack,
            (_, true) => Part::Object,
            _ => Part::Both,
        }
    }

    fn words(&self) -> Vec<String> {
        match self.part() {
            Part::Stack => vec!["--stack-only".into()],
            Part::Object => vec!["--object-only".into()],
            Part::Both => Vec::new(),
        }
    }
}

/// Returns an option that may be given several times, as it was given.
fn option(name: &str, values: &[String]) -> Vec<String> {
    let pairs = values.iter().map(|it| [format!("--{name}"), it.clone()]);
    pairs.flatten().collect()
}
