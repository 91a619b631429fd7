//! What is measured: the workloads, their sizes, and the result of one run.
//!
//! A workload is a pure function of its parameters and a seed. It is written
//! down here as data (which object is born next, which edge goes where, which
//! operation comes next), and each competitor carries it out in its own idiom.
//! Identical work is then checked, not assumed: every run ends in a checksum
//! read back from the heap, and the parent process compares them.
//!
//! Sizes are counted in a *nominal* layout that belongs to no competitor: an
//! 8-byte header, 8 bytes per slot, 8 bytes per payload word.
//!
//! Elsewhere: the object graph of `mark` (`graph.rs`), the operations of
//! `mutation` (`script.rs`), the size classes of `half-lost` (`sizes.rs`); how
//! runs are interleaved and reported (`main.rs`).

pub mod graph;
pub mod script;
pub mod sizes;

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::pages::Pages;

/// One thing to measure.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// A full collection of millions of linked objects.
    Mark,
    /// The benchmarks-game shape: one long-lived tree and many short ones.
    BinaryTrees,
    /// Objects that die at once.
    GarbageOnly,
    /// Pointer writes into old objects: a hash map and a linked list.
    Mutation,
    /// Two threads allocating in one heap.
    TwoMutators,
    /// Half of every size class dies; how much memory is left?
    HalfLost,
}

impl Workload {
    pub const ALL: [Workload; 6] = [
        Workload::Mark,
        Workload::BinaryTrees,
        Workload::GarbageOnly,
        Workload::Mutation,
        Workload::TwoMutators,
        Workload::HalfLost,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Workload::Mark => "mark",
            Workload::BinaryTrees => "binary-trees",
            Workload::GarbageOnly => "garbage-only",
            Workload::Mutation => "mutation",
            Workload::TwoMutators => "two-mutators",
            Workload::HalfLost => "half-lost",
        }
    }

    /// How many collector threads a run may use, one run for each.
    ///
    /// Most peers collect on one thread only, so the throughput workloads give
    /// everyone one; `mark` shows what a second one brings, and the pauses of `binary-trees` what it brings a nursery.
    pub fn collector_threads(self, mode: Mode) -> &'static [usize] {
        match (self, mode) {
            (Workload::Mark, _) | (Workload::BinaryTrees, Mode::Pause) => &[1, 2],
            (Workload::TwoMutators, _) => &[2],
            _ => &[1],
        }
    }

    /// The heap size given to every competitor that takes one: about twice the
    /// largest live size, with two exceptions. `half-lost` needs room for both
    /// halves at once. `mutation` gets nearly four times: with twice, MMTk's
    /// Immix runs out of memory and GenImmix hardly does anything but collect,
    /// because objects that die at random leave few whole lines free. That is
    /// worth knowing, but it would not be a measurement of writing references.
    pub fn heap_bytes(self, scale: Scale) -> usize {
        const MIB: usize = 1 << 20;
        match (self, scale) {
            (Workload::Mark, Scale::Full) => 512 * MIB,
            (Workload::Mark, Scale::Quick) => 64 * MIB,
            (Workload::BinaryTrees, Scale::Full) => 80 * MIB,
            (Workload::BinaryTrees, Scale::Quick) => 20 * MIB,
            (Workload::GarbageOnly, _) => 64 * MIB,
            (Workload::Mutation, Scale::Full) => 192 * MIB,
            (Workload::Mutation, Scale::Quick) => 32 * MIB,
            (Workload::TwoMutators, Scale::Full) => 48 * MIB,
            (Workload::TwoMutators, Scale::Quick) => 32 * MIB,
            (Workload::HalfLost, Scale::Full) => 384 * MIB,
            (Workload::HalfLost, Scale::Quick) => 64 * MIB,
        }
    }

    /// One line on what a run does at this scale.
    pub fn describe(self, scale: Scale) -> String {
        match self {
            Workload::Mark => {
                let graph = graph::Graph::new(scale);
                format!(
                    "full collections of {} objects, {:.2} edges each, {} MiB nominal",
                    graph.objects(),
                    graph.edges() as f64 / graph.objects() as f64,
                    graph.nominal_bytes() >> 20
                )
            }
            Workload::BinaryTrees => {
                format!(
                    "one tree of depth {} kept, many short-lived",
                    tree_depth(scale)
                )
            }
            Workload::GarbageOnly => {
                format!("{} objects of 32 bytes, none kept", garbage_objects(scale))
            }
            Workload::Mutation => {
                let size = script::Size::new(scale);
                format!(
                    "{} operations on a map of up to {} keys and a list of {} nodes",
                    size.operations, size.keys, size.list_nodes
                )
            }
            Workload::TwoMutators => format!(
                "two threads, each: trees of depth {}, then {} objects that die at once",
                tree_depth_of_two(scale),
                garbage_objects_of_two(scale)
            ),
            Workload::HalfLost => format!(
                "{} size classes of {} MiB each, a random half dropped",
                sizes::SIZES.len(),
                sizes::class_bytes(scale) >> 20
            ),
        }
    }
}

/// How big a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    Full,
    Quick,
}

/// What a run measures. The pause is taken in a run of its own, because a
/// clock around every call distorts the total.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    Total,
    Pause,
}

/// One run: what a child process is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub workload: Workload,
    pub scale: Scale,
    pub mode: Mode,
    pub collector_threads: usize,
    pub pages: Pages,
}

impl Job {
    pub fn heap_bytes(&self) -> usize {
        self.workload.heap_bytes(self.scale)
    }
}

/// One number that a run reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// A forced full collection when everything is live, sweep included.
    FullMs,
    /// The same when a quarter is garbage.
    QuarterGarbageMs,
    /// The whole workload.
    TotalMs,
    /// Processor time of all threads during each of these.
    FullCpuMs,
    QuarterGarbageCpuMs,
    TotalCpuMs,
    /// The longest time that the program was held up.
    LongestPauseMs,
    /// The longest collection of a nursery, where it can be told from others.
    NurseryPauseMs,
    /// Resident memory when the workload's data is still live, after a full
    /// collection where one can be asked for.
    RssMib,
    /// The live data in the nominal layout.
    NominalLiveMib,
}

impl Figure {
    pub fn title(self) -> &'static str {
        match self {
            Figure::FullMs => "full collection, nothing is garbage, ms",
            Figure::QuarterGarbageMs => "full collection, a quarter is garbage, ms",
            Figure::TotalMs => "total, ms",
            Figure::FullCpuMs | Figure::QuarterGarbageCpuMs | Figure::TotalCpuMs => {
                "processor time, ms"
            }
            Figure::LongestPauseMs => "longest pause, ms",
            Figure::NurseryPauseMs => "longest nursery pause, ms",
            Figure::RssMib => "resident memory at the end, MiB",
            Figure::NominalLiveMib => "nominal live data, MiB",
        }
    }

    /// The processor time that belongs to a time by the clock.
    pub fn cpu(self) -> Option<Figure> {
        match self {
            Figure::FullMs => Some(Figure::FullCpuMs),
            Figure::QuarterGarbageMs => Some(Figure::QuarterGarbageCpuMs),
            Figure::TotalMs => Some(Figure::TotalCpuMs),
            _ => None,
        }
    }
}

/// The result of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    pub checksum: u64,
    pub figures: Vec<(Figure, f64)>,
}

impl Outcome {
    pub fn new(checksum: Digest) -> Self {
        Outcome {
            checksum: checksum.0,
            figures: Vec::new(),
        }
    }

    #[must_use]
    pub fn with(mut self, figure: Figure, value: f64) -> Self {
        self.figures.push((figure, value));
        self
    }

    #[must_use]
    pub fn with_time(self, figure: Figure, time: impl Into<Lap>) -> Self {
        let Lap { clock, cpu } = time.into();
        let with_clock = self.with(figure, clock.as_secs_f64() * 1e3);
        match (figure.cpu(), cpu) {
            (Some(figure), Some(cpu)) => with_clock.with(figure, cpu.as_secs_f64() * 1e3),
            _ => with_clock,
        }
    }

    #[must_use]
    pub fn with_memory(self, resident_bytes: u64, nominal_live_bytes: u64) -> Self {
        const MIB: f64 = (1 << 20) as f64;
        self.with(Figure::RssMib, resident_bytes as f64 / MIB)
            .with(Figure::NominalLiveMib, nominal_live_bytes as f64 / MIB)
    }
}

/// A checksum over values read from the heap. The order does not matter, the
/// slot a value was found in does.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Digest(pub u64);

impl Digest {
    #[inline]
    pub fn add(&mut self, slot: u64, value: u64) {
        self.0 = self
            .0
            .wrapping_add(value.wrapping_mul(slot.wrapping_mul(2).wrapping_add(1)));
    }
}

/// Measures a time by the clock and in processor time. On a machine with other
/// work the second is the steadier one.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    clock: Instant,
    cpu: Duration,
}

/// A measured time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lap {
    pub clock: Duration,
    pub cpu: Option<Duration>,
}

impl Stopwatch {
    pub fn start() -> Self {
        Stopwatch {
            cpu: cpu_time(),
            clock: Instant::now(),
        }
    }

    pub fn elapsed(&self) -> Lap {
        Lap {
            clock: self.clock.elapsed(),
            cpu: Some(cpu_time().saturating_sub(self.cpu)),
        }
    }
}

impl From<Duration> for Lap {
    fn from(clock: Duration) -> Self {
        Lap { clock, cpu: None }
    }
}

/// Processor time of all threads of this process so far.
fn cpu_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock exists on every Linux, and `time` is ours to fill in.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The longest of many short times.
#[derive(Clone, Copy, Default, Debug)]
pub struct Longest(pub Duration);

impl Longest {
    /// Calls `f`; if `TIMED`, also times it. Without, nothing is left of this
    /// in the machine code.
    #[inline(always)]
    pub fn time<const TIMED: bool, R>(&mut self, f: impl FnOnce() -> R) -> R {
        if !TIMED {
            return f();
        }
        let start = Instant::now();
        let result = f();
        self.0 = self.0.max(start.elapsed());
        result
    }
}

/// SplitMix64: fast, seedable, and the same everywhere.
#[derive(Clone, Debug)]
pub struct Prng(u64);

impl Prng {
    pub fn new(seed: u64) -> Self {
        Prng(seed)
    }

    #[inline]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `bound`, which is far below 2³²; the bias does not matter.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        below(self.next(), bound)
    }
}

/// SplitMix64's finalizer, as a hash of one word.
#[inline]
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Maps random bits to a number below `bound`.
#[inline]
pub fn below(bits: u64, bound: u32) -> u32 {
    (((bits >> 32) * u64::from(bound)) >> 32) as u32
}

/// The depth of the long-lived tree of `binary-trees`.
pub fn tree_depth(scale: Scale) -> u32 {
    match scale {
        Scale::Full => 18,
        Scale::Quick => 14,
    }
}

/// The depth of the long-lived tree of each of `two-mutators`.
pub fn tree_depth_of_two(scale: Scale) -> u32 {
    match scale {
        Scale::Full => 16,
        Scale::Quick => 13,
    }
}

pub fn garbage_objects(scale: Scale) -> u64 {
    match scale {
        Scale::Full => 50_000_000,
        Scale::Quick => 5_000_000,
    }
}

pub fn garbage_objects_of_two(scale: Scale) -> u64 {
    match scale {
        Scale::Full => 10_000_000,
        Scale::Quick => 1_000_000,
    }
}

/// The benchmarks-game schedule: depths and how many trees of each, for a
/// long-lived tree of `max_depth`.
pub fn short_trees(max_depth: u32) -> impl Iterator<Item = (u32, u64)> {
    const MIN_DEPTH: u32 = 4;
    (MIN_DEPTH..=max_depth)
        .step_by(2)
        .map(move |depth| (depth, 1 << (max_depth - depth + MIN_DEPTH)))
}

/// Nodes in a full binary tree: a leaf has depth 0.
pub fn tree_nodes(depth: u32) -> u64 {
    (2 << depth) - 1
}

/// Two slots, a payload word and a header.
pub const TREE_NODE_NOMINAL_BYTES: u64 = 32;

/// Full collections in one process: one to warm up, then the median of up to
/// five, fewer when they take very long.
pub fn median_collection(collect: impl FnMut()) -> Lap {
    median_prepared(|| (), collect)
}

/// The same, where something is done before each collection that is not part of it.
pub fn median_prepared(mut prepare: impl FnMut(), mut collect: impl FnMut()) -> Lap {
    const MOST: usize = 5;
    const ENOUGH: Duration = Duration::from_secs(8);
    prepare();
    collect();
    let mut times: Vec<Lap> = Vec::with_capacity(MOST);
    while times.len() < MOST && times.iter().map(|lap| lap.clock).sum::<Duration>() < ENOUGH {
        prepare();
        let start = Stopwatch::start();
        collect();
        times.push(start.elapsed());
    }
    times.sort();
    times[times.len() / 2]
}

/// `VmRSS` of this process.
pub fn resident_bytes() -> u64 {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
            let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
            Some(kib << 10)
        })
        .unwrap_or(0)
}
