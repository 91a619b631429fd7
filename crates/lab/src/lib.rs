//! The lab: the papers' experiments on our heap, their figures beside ours.
//!
//! An experiment measures ratios inside one run: what is compared is interleaved, and the
//! median of many rounds counts. Where the noise of the machine may be larger than the
//! difference, instructions are counted as well ([`callgrind`]).
//!
//! To add an experiment: a file, and an entry in [`EXPERIMENTS`].
#![forbid(unsafe_code)]

pub mod assertions;
pub mod builds;
pub mod callgrind;
mod cork;
mod deal;
mod files;
mod judge;
mod lifetimes;
pub mod measure;
pub mod overview;
pub mod page;
mod pretenure;
mod probes;
pub mod programs;
#[cfg(feature = "barrier")]
mod prune;
mod reasons;
pub mod recording;
pub mod report;
mod runs;
mod sampling;
mod shapeup;
mod structures;
mod summaries;

pub use report::{Better, Report, Row};

/// How an experiment is run.
#[derive(Clone, Default, Debug)]
pub struct Options {
    /// Takes less than a minute, with smaller heaps and fewer rounds.
    pub quick: bool,
    /// Measures only what it costs, if the experiment has other parts.
    pub costs: bool,
    /// Where to draw a plot, if the experiment has one.
    pub svg: Option<std::path::PathBuf>,
    /// Whether to make pictures for a page.
    pub pictures: bool,
}

/// An experiment.
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    /// Runs it.
    pub run: fn(&Options, Progress<'_>) -> Result<Report, Failed>,
    /// Does a piece of its work, by name, this many times, for a process whose instructions are
    /// counted. Returns false if it has no work of that name. `None` if it counts none.
    pub count: Option<fn(&str, usize) -> bool>,
}

/// Why an experiment could not be run, for example because memory ran out.
pub type Failed = Box<dyn std::error::Error>;

/// Called with what an experiment is doing.
pub type Progress<'a> = &'a mut dyn FnMut(&str);

/// All experiments, in the order of the papers.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "assertions",
        about: "GC assertions, section 3: the bugs that they find, and what checking costs",
        run: assertions::run,
        count: Some(assertions::count),
    },
    Experiment {
        name: "probes",
        about: "PHALANX, figures 9 to 11: a probe that walks the whole heap, and a capture of it",
        run: probes::run,
        count: Some(probes::count),
    },
    Experiment {
        name: "deal",
        about: "DeAL, section 5: what evaluating its assertions costs a collection, and the bug that one finds",
        run: deal::run,
        count: Some(deal::count),
    },
    Experiment {
        name: "files",
        about: "rules about heaps in files: what checking five takes, in times of loading the heap",
        run: files::run,
        count: None,
    },
    Experiment {
        name: "summaries",
        about: "heap summaries, chapters 3.3, 5 and 6: what counting them costs a collection, a run, and memory",
        run: summaries::run,
        count: Some(summaries::count),
    },
    Experiment {
        name: "cork",
        about: "Cork, chapter 5: growth that is found, in which structure, and what is said of programs that do not grow",
        run: cork::run,
        count: None,
    },
    Experiment {
        name: "shapeup",
        about: "ShapeUp, section 6.4: errors in recursive structures that are noticed, and false alarms",
        run: shapeup::run,
        count: None,
    },
    #[cfg(feature = "barrier")]
    Experiment {
        name: "prune",
        about: "leak pruning, sections 5 and 6: how much longer programs live that leak, and what it costs others",
        run: prune::run,
        count: None,
    },
    Experiment {
        name: "sampling",
        about: "object sampling, sections 3.2 and 4.2: what it costs, and how right what it says of sites is",
        run: sampling::run,
        count: Some(sampling::count),
    },
    Experiment {
        name: "pretenure",
        about: "pretenuring, section 4.3: what it saves where objects live long, and costs where they do not",
        run: pretenure::run,
        count: Some(pretenure::count),
    },
];

/// Returns the experiment of that name.
pub fn find(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|it| it.name == name)
}

/// Does work whose instructions are counted, in a process of its own. Returns whether the work
/// is known.
pub fn count(what: &str, times: usize) -> bool {
    let mut all = EXPERIMENTS.iter().filter_map(|it| it.count);
    all.any(|count| count(what, times))
}
