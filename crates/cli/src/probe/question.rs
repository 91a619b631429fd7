//! The questions: PHALANX's probes and primitives, as the command line spells them.

use clap::Subcommand;
use heaphound_heap::root::Part;

use super::{Asking, Outcome, sets, truth};
use crate::problem::Problem;

#[derive(Subcommand)]
pub enum Question {
    /// Does some reachable object refer to O?
    IsHeap { o: String },

    /// Do two or more reachable objects refer to O? Two slots of one object are one.
    IsShared { o: String },

    /// Is B reachable from A?
    IsReachable { a: String, b: String },

    /// Is nothing reachable from both A and B?
    IsDisjoint { a: String, b: String },

    /// Does O dominate everything that it reaches?
    IsUniqueOwner { o: String },

    /// Does every path from A to B meet one of the cut, at its ends or between?
    ReachThrough {
        a: String,
        b: String,
        /// Objects, separated by commas.
        #[arg(long, value_name = "OBJECTS", required = true)]
        cut: Vec<String>,
    },

    /// Does A own B? The same as dom.
    IsObjectOwned { a: String, b: String },

    /// Does A reach B, and pass every path from a root to B through A?
    Dom { a: String, b: String },

    /// Does only the asking thread reach O? Needs --as.
    IsThreadOwned {
        o: String,
        #[command(flatten)]
        part: PartArgs,
    },

    /// Does only the asking thread's stack reach O? Needs --as.
    IsThreadStackOwned { o: String },

    /// Does the asking thread's thread object dominate O? Needs --as.
    IsThreadObjectOwned { o: String },

    /// Which threads reach O?
    ThreadReach {
        o: String,
        /// Objects that are not on a path, separated by commas.
        #[arg(long, value_name = "OBJECTS")]
        avoid: Vec<String>,
        #[command(flatten)]
        part: PartArgs,
    },

    /// Which references would `unique` invalidate? All slots and roots that refer to O, but
    /// for one on the asking thread's stack.
    Unique { o: String },

    /// The thread objects of all running threads.
    Running,

    /// What the stack of a thread refers to.
    Stack { thread: String },

    /// What the stack of a thread refers to, and its thread object.
    Roots { thread: String },

    /// What is reachable from some objects, or else from the roots.
    Reach {
        o: Vec<String>,
        /// Objects that are not on a path, separated by commas.
        #[arg(long, value_name = "OBJECTS")]
        avoid: Vec<String>,
    },

    /// The reachable objects that refer to O.
    Pred { o: String },
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

impl PartArgs {
    fn part(&self) -> Part {
        match (self.stack_only, self.object_only) {
            (true, _) => Part::Stack,
            (_, true) => Part::Object,
            _ => Part::Both,
        }
    }
}

impl Question {
    /// Asks it.
    pub fn ask(&self, asking: &Asking<'_>) -> Result<Outcome, Problem> {
        let object = |name: &str| asking.names.object(name);
        let truth = match self {
            Self::IsHeap { o } => truth::is_heap(asking, object(o)?),
            Self::IsShared { o } => truth::is_shared(asking, object(o)?),
            Self::IsReachable { a, b } => truth::is_reachable(asking, object(a)?, object(b)?),
            Self::IsDisjoint { a, b } => truth::is_disjoint(asking, object(a)?, object(b)?),
            Self::IsUniqueOwner { o } => truth::is_unique_owner(asking, object(o)?),
            Self::ReachThrough { a, b, cut } => {
                let cut = asking.names.list(cut)?;
                truth::reach_through(asking, object(a)?, &cut, object(b)?)
            }
            Self::IsObjectOwned { a, b } => {
                truth::dom(asking, object(a)?, object(b)?, "object-owned")
            }
            Self::Dom { a, b } => truth::dom(asking, object(a)?, object(b)?, "dominated"),
            Self::IsThreadOwned { o, part } => {
                truth::is_thread_owned(asking, object(o)?, part.part())?
            }
            Self::IsThreadStackOwned { o } => {
                truth::is_thread_owned(asking, object(o)?, Part::Stack)?
            }
            Self::IsThreadObjectOwned { o } => {
                truth::is_thread_owned(asking, object(o)?, Part::Object)?
            }
            _ => return self.ask_for_set(asking).map(Outcome::Set),
        };
        Ok(Outcome::Truth(truth))
    }

    fn ask_for_set(&self, asking: &Asking<'_>) -> Result<super::Set, Problem> {
        let object = |name: &str| asking.names.object(name);
        Ok(match self {
            Self::ThreadReach { o, avoid, part } => {
                let avoid = asking.names.list(avoid)?;
                sets::thread_reach(asking, object(o)?, &avoid, part.part())
            }
            Self::Unique { o } => sets::unique(asking, object(o)?),
            Self::Stack { thread } => {
                sets::thread_roots(asking, asking.names.thread(thread)?, Part::Stack)?
            }
            Self::Roots { thread } => {
                sets::thread_roots(asking, asking.names.thread(thread)?, Part::Both)?
            }
            Self::Reach { o, avoid } => {
                let from: Result<Vec<_>, _> = o.iter().map(|name| object(name)).collect();
                sets::reach(asking, &from?, &asking.names.list(avoid)?)
            }
            Self::Pred { o } => sets::pred(asking, object(o)?),
            _ => sets::running(asking),
        })
    }

    /// Whether the answer is yes or no.
    pub fn is_of_truth(&self) -> bool {
        !matches!(
            self,
            Self::ThreadReach { .. }
                | Self::Unique { .. }
                | Self::Running
                | Self::Stack { .. }
                | Self::Roots { .. }
                | Self::Reach { .. }
                | Self::Pred { .. }
        )
    }

    /// As the command line spells it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::IsHeap { .. } => "is-heap",
            Self::IsShared { .. } => "is-shared",
            Self::IsReachable { .. } => "is-reachable",
            Self::IsDisjoint { .. } => "is-disjoint",
            Self::IsUniqueOwner { .. } => "is-unique-owner",
            Self::ReachThrough { .. } => "reach-through",
            Self::IsObjectOwned { .. } => "is-object-owned",
            Self::Dom { .. } => "dom",
            Self::IsThreadOwned { .. } => "is-thread-owned",
            Self::IsThreadStackOwned { .. } => "is-thread-stack-owned",
            Self::IsThreadObjectOwned { .. } => "is-thread-object-owned",
            Self::ThreadReach { .. } => "thread-reach",
            Self::Unique { .. } => "unique",
            Self::Running => "running",
            Self::Stack { .. } => "stack",
            Self::Roots { .. } => "roots",
            Self::Reach { .. } => "reach",
            Self::Pred { .. } => "pred",
        }
    }

    /// What it is about, as the command line had it.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        let option = |name: &str, values: &[String]| -> Vec<String> {
            let pairs = values.iter().map(|it| [format!("--{name}"), it.clone()]);
            pairs.flatten().collect()
        };
        match self {
            Self::IsHeap { o }
            | Self::IsShared { o }
            | Self::IsUniqueOwner { o }
            | Self::IsThreadStackOwned { o }
            | Self::IsThreadObjectOwned { o }
            | Self::Unique { o }
            | Self::Pred { o } => arguments.push(o.clone()),
            Self::IsReachable { a, b }
            | Self::IsDisjoint { a, b }
            | Self::IsObjectOwned { a, b }
            | Self::Dom { a, b } => arguments.extend([a.clone(), b.clone()]),
            Self::ReachThrough { a, b, cut } => {
                arguments.extend([a.clone(), b.clone()]);
                arguments.extend(option("cut", cut));
            }
            Self::IsThreadOwned { o, part } => {
                arguments.push(o.clone());
                arguments.extend(part.arguments());
            }
            Self::ThreadReach { o, avoid, part } => {
                arguments.push(o.clone());
                arguments.extend(option("avoid", avoid));
                arguments.extend(part.arguments());
            }
            Self::Running => {}
            Self::Stack { thread } | Self::Roots { thread } => arguments.push(thread.clone()),
            Self::Reach { o, avoid } => {
                arguments.extend(o.clone());
                arguments.extend(option("avoid", avoid));
            }
        }
        arguments
    }
}

impl PartArgs {
    fn arguments(&self) -> Option<String> {
        match self.part() {
            Part::Stack => Some("--stack-only".into()),
            Part::Object => Some("--object-only".into()),
            Part::Both => None,
        }
    }
}
