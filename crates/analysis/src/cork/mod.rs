//! Cork: which classes grow without end, and which data structure holds them.
//!
//! A [`Cork`] is fed the summary of each full collection, and of no other: a nursery
//! collection sees young objects alone, so that every old class would appear to shrink.
//! It compares volumes with those of the collection before and ranks classes and the edges of
//! the points-from graph by how likely they grow for ever. A class with a high rank is a
//! **candidate**; the **slice** from it along growing edges names the data structure.
//!
//! Only volumes of the last collection are kept, beside ranks; slope ranking keeps a
//! window of them.
//!
//! That is cheap, and knows classes only. When a class is about to be reported, a **census** counts what the
//! containers of the heap hold of it, at this collection and at the two before, so that the container
//! that has grown is known, and not only the one that holds most. Classes that grow in one container have
//! one **cause**, which is one finding.
//!
//! Elsewhere: the arithmetic of ranks (`rank.rs`), why a class is not reported (`hidden.rs`), slices
//! (`slice.rs`); censuses (`census.rs`), what has grown between them (`growth.rs`), causes (`cause.rs`);
//! findings (`finding.rs`).

mod cause;
mod census;
mod finding;
mod growth;
mod hidden;
mod rank;
mod slice;

use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};

use heaphound_heap::ClassId;

pub use self::cause::{CENSUSES, Cause, Causes};
pub use self::census::{Census, Container, Containers, Step, Walk, Wanted};
pub use self::finding::finding;
pub use self::growth::{courses, growth, matched, monotone};
pub use self::hidden::{Close, Hidden};
use self::rank::{Change, DECAY, History, Rank, Time};
pub use self::slice::{NamedEdge, Slice, SliceEdge};
use crate::slot::SlotIds;
use crate::summary::{PointsFrom, Summary};

/// How ranks are made and when a class is reported.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// Ratio or slope.
    pub ranking: Ranking,
    /// A class is reported when its rank is above this.
    pub threshold: f64,
    /// It must have been potentially growing in this many collections, since most programs
    /// grow while they start. Never less than 2.
    pub patience: u32,
    /// Whether a class that has stopped growing is forgotten.
    pub forget: bool,
    /// What it has grown by must be this part of the heap's volume.
    pub significance: f64,
}

/// How a volume's growth becomes a rank.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Ranking {
    /// By its own growth, in percent. A volume that falls by more than `decay` (0.15) starts
    /// again.
    Ratio {
        /// The part of its volume that a class may lose and still be growing.
        decay: f64,
    },
    /// By its share of the heap's growth since `window` collections ago.
    Slope {
        /// How many collections to look back.
        window: usize,
    },
}

impl Default for Options {
    /// Ratio ranking, with the published decay and threshold, that forgets.
    fn default() -> Self {
        Self {
            ranking: Ranking::Ratio { decay: DECAY },
            threshold: 100.0,
            patience: 5,
            forget: true,
            significance: 0.001,
        }
    }
}

impl Options {
    /// Ratio ranking as it was published: early, and nothing is forgotten.
    pub fn published() -> Self {
        Self {
            patience: 2,
            forget: false,
            significance: 0.0,
            ..Self::default()
        }
    }

    /// Slope ranking as it was published: any rank above 0 is reported.
    pub fn slope(window: usize) -> Self {
        Self {
            ranking: Ranking::Slope {
                window: window.max(1),
            },
            threshold: 0.0,
            ..Self::default()
        }
    }

    /// Returns why a class does not belong in the report, in a heap of that volume; none if it does.
    fn keeps_out(&self, rank: &Rank, history: &History, heap_bytes: u64) -> Option<Hidden> {
        let grown = rank.volume_bytes.saturating_sub(history.base_bytes);
        let patience = self.patience.max(2);
        let needed = (self.significance * heap_bytes as f64).ceil().max(1.0) as u64;
        let hidden = match (self.forget, history.reported) {
            (true, false) => history.keeps_out(rank, patience),
            (true, true) if history.stays() => None,
            (true, true) => Some(Hidden::SlowsDown),
            (false, _) if u32::from(rank.phases) < patience => Some(Hidden::FewSteps {
                steps: history.steps.into(),
                phases: rank.phases.into(),
                needed: 1,
                patience,
            }),
            (false, _) => None,
        };
        if hidden.is_some() {
            return hidden;
        }
        if rank.rank as f64 <= self.threshold {
            return Some(Hidden::Rank {
                rank: rank.rank as f64,
                threshold: self.threshold,
            });
        }
        (grown < needed).then_some(Hidden::Insignificant {
            needed_bytes: needed,
        })
    }
}

/// Finds growth in a series of summaries.
#[derive(Clone, Debug, Default)]
pub struct Cork {
    options: Options,
    /// By class id.
    classes: Vec<Rank>,
    /// Of the classes that change; most do not.
    histories: BTreeMap<ClassId, History>,
    /// Ordered by class, then by the class that points to it.
    edges: Vec<EdgeRank>,
    /// The last volumes, oldest first; only for slope ranking.
    window: VecDeque<Volumes>,
    occupancy: Occupancy,
    collections: u64,
    time: Time,
    knows_allocation: bool,
    volume_bytes: u64,
}

/// The rank of an edge. There are several times as many edges as classes, so they are kept
/// small: volumes have seven digits.
#[derive(Clone, Copy, Debug)]
struct EdgeRank {
    class: ClassId,
    from: ClassId,
    volume_bytes: f32,
    /// Its least volume since it began to grow.
    base_bytes: f32,
    rank: f32,
    phases: u16,
    quiet: u16,
}

impl EdgeRank {
    fn new(edge: &PointsFrom, rank: Rank, base_bytes: f32) -> Self {
        let volume_bytes = rank.volume_bytes as f32;
        Self {
            class: edge.class,
            from: edge.from,
            volume_bytes,
            base_bytes: base_bytes.min(volume_bytes),
            rank: rank.rank,
            phases: rank.phases,
            quiet: rank.quiet,
        }
    }

    fn rank(&self) -> Rank {
        Rank {
            volume_bytes: self.volume_bytes as u64,
            rank: self.rank,
            phases: self.phases,
            quiet: self.quiet,
        }
    }

    /// Returns what it has grown by.
    fn grown_bytes(&self) -> u64 {
        (self.volume_bytes - self.base_bytes) as u64
    }
}

/// The volumes of one collection.
#[derive(Clone, Debug)]
struct Volumes {
    heap: u64,
    classes: Vec<u64>,
    edges: Vec<(ClassId, ClassId, u64)>,
}

/// A class that grows.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    /// The class.
    pub class: ClassId,
    /// Its live objects.
    pub objects: u64,
    /// Its volume.
    pub volume_bytes: u64,
    /// How likely it grows without end; compare with [`Options::threshold`].
    pub rank: f64,
    /// Full collections for which it has been growing, of those that were taken in.
    pub phases: u32,
    /// In how many steps, each to a new height.
    pub steps: u32,
    /// What it has grown by in that time.
    pub grown_bytes: u64,
    /// Bytes that it grows by from one of these to the next, on average.
    pub bytes_per_collection: f64,
    /// Bytes that it grows by while the program allocates a million bytes; none if it is not
    /// known what was allocated.
    pub bytes_per_mb: Option<f64>,
    /// The growing edges that lead to what holds it.
    pub slice: Slice,
}

/// A collection is close to another if less than this part of the heap's volume was allocated
/// in between.
const CLOSE: u64 = 16;
/// For how many collections before a class is reported its containers are counted.
const AHEAD: u32 = 3;
/// The censuses that are enough before the one that shows a cause.
const ENOUGH: usize = 2;
/// Containers are counted that hold this part of what a class has grown by.
const FINENESS: u64 = 16;

impl Cork {
    /// Returns a detector that has seen no summary.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            ..Self::default()
        }
    }

    /// Takes in the summary of a full collection. `allocated_bytes` is what the program had
    /// allocated by then, since it began; 0 if that is not known.
    ///
    /// A collection is skipped if almost nothing was allocated since the one before, because it
    /// sees the same objects. If the allocation is not known, each collection counts.
    ///
    /// Returns whether it was looked at.
    pub fn observe(&mut self, summary: &Summary, ids: &SlotIds, allocated_bytes: u64) -> bool {
        let total = summary.volume_bytes();
        let since = allocated_bytes.saturating_sub(self.time.allocated_bytes);
        if allocated_bytes > 0 && self.collections > 0 && since < total / CLOSE {
            return false;
        }
        let points_from = summary.points_from(ids);
        let mut window = std::mem::take(&mut self.window);
        // Before the window is full, it is as long as there is something to look back at.
        let steps = Steps::new(self.options.ranking, window.front(), total);
        let now = self.time.next(allocated_bytes);
        // Snapshots are few, and someone chose them: what was not in the one before has grown. While a program runs,
        // classes come up all the time.
        let compares = allocated_bytes == 0 && self.collections > 0;
        self.rank_classes(&steps, summary, now, compares);
        self.rank_edges(&steps, &points_from);
        if let Ranking::Slope { window: length } = self.options.ranking {
            window.push_back(Volumes::of(summary, &points_from));
            while window.len() > length.max(1) {
                window.pop_front();
            }
        }
        self.window = window;
        self.occupancy.push(allocated_bytes, total);
        self.volume_bytes = total;
        self.collections += 1;
        self.time = now;
        self.knows_allocation = allocated_bytes > 0;
        true
    }

    /// `compares` says whether a class that was not there before has grown.
    fn rank_classes(&mut self, steps: &Steps<'_>, summary: &Summary, now: Time, compares: bool) {
        let then = self.time;
        let last = summary.classes().last().map_or(0, |(id, _)| id.0 as usize);
        let count = self.classes.len().max(last + 1);
        self.classes.resize(count, Rank::default());
        for (id, rank) in self.classes.iter_mut().enumerate() {
            let (before, phases) = (rank.volume_bytes, rank.phases);
            let class = ClassId(id as u32);
            let volume = summary.class(class).volume_bytes;
            let known = self.histories.get(&class).copied();
            if (before, volume) == (0, 0) && known.is_none() {
                continue;
            }
            let mut history = known.unwrap_or_else(|| History::new(before, then));
            let earlier = |old: &Volumes| old.classes.get(id).copied();
            match steps.step(rank, volume, earlier) {
                Change::New if volume == 0 => history.wait(),
                Change::New if compares && known.is_none() => {
                    rank.phases = 1;
                    history.follow(rank, 0, then, now);
                }
                Change::New | Change::Fell => history.restart(phases, volume, now),
                Change::Grew | Change::Held => {
                    let stands = history.follow(rank, before, then, now);
                    if !stands && self.options.forget {
                        *rank = Rank::new(volume);
                    }
                }
            }
            let hidden = self.options.keeps_out(rank, &history, steps.heap_bytes);
            history.reported = hidden.is_none();
            match history.is_idle(volume) {
                true => self.histories.remove(&class),
                false => self.histories.insert(class, history),
            };
        }
    }

    fn rank_edges(&mut self, steps: &Steps<'_>, points_from: &[PointsFrom]) {
        let mut known = std::mem::take(&mut self.edges).into_iter().peekable();
        let mut edges = Vec::with_capacity(points_from.len());
        for edge in points_from {
            let key = (edge.class, edge.from);
            // An edge that is skipped here has disappeared.
            while known.next_if(|it| (it.class, it.from) < key).is_some() {}
            let same = known.next_if(|it| (it.class, it.from) == key);
            let mut rank = same.map_or(Rank::default(), |it| it.rank());
            // Rounded as the last one was, so that an unchanged volume compares equal.
            let volume = edge.volume_bytes as f32;
            let change = steps.step(&mut rank, volume as u64, |old| old.edge(key));
            let begins = matches!(change, Change::New | Change::Fell);
            let forgotten = self.options.forget && rank.forget_if_quiet();
            let base = match same {
                Some(it) if !begins && !forgotten => it.base_bytes,
                _ => volume,
            };
            edges.push(EdgeRank::new(edge, rank, base));
        }
        self.edges = edges;
    }

    /// Returns the classes that grow, highest rank first, given the summary that was taken in
    /// last.
    pub fn candidates(&self, summary: &Summary, ids: &SlotIds) -> Vec<Candidate> {
        self.described(summary, ids, |_, history| history.reported)
    }

    /// Returns the classes that grow and that only their rank keeps out of the report. A container that has
    /// a high rank by itself shows that they belong there ([`Cause::rank`]).
    pub fn suspects(&self, summary: &Summary, ids: &SlotIds) -> Vec<Candidate> {
        let lenient = Options {
            threshold: 0.0,
            ..self.options
        };
        self.described(summary, ids, |rank, history| {
            !history.reported
                && lenient
                    .keeps_out(rank, history, self.volume_bytes)
                    .is_none()
        })
    }

    fn described(
        &self,
        summary: &Summary,
        ids: &SlotIds,
        which: impl Fn(&Rank, &History) -> bool,
    ) -> Vec<Candidate> {
        let ranked = self.histories.iter();
        let ranked = ranked.map(|(&id, history)| (id, self.classes[id.0 as usize], history));
        let mut growing: Vec<(ClassId, Rank, &History)> =
            ranked.filter(|it| which(&it.1, it.2)).collect();
        growing.sort_by(|(a, x, _), (b, y, _)| {
            let order = y.rank.partial_cmp(&x.rank).unwrap_or(Ordering::Equal);
            order.then(a.cmp(b))
        });
        if growing.is_empty() {
            return Vec::new();
        }
        let points_from = summary.points_from(ids);
        let candidate = |(class, rank, history): (ClassId, Rank, &History)| {
            let grown = history.grown_bytes(rank.volume_bytes);
            let began = history.base_time.allocated_bytes;
            let allocated = match self.knows_allocation {
                true => self.time.allocated_bytes.saturating_sub(began),
                false => 0,
            };
            Candidate {
                class,
                objects: summary.class(class).objects,
                volume_bytes: rank.volume_bytes,
                rank: rank.rank as f64,
                phases: rank.phases as u32,
                steps: history.steps.into(),
                grown_bytes: grown,
                bytes_per_collection: grown as f64 / rank.phases as f64,
                bytes_per_mb: (allocated > 0).then(|| grown as f64 * 1e6 / allocated as f64),
                slice: slice::slice(class, &points_from, summary, ids, |class, from| {
                    self.edge(class, from)
                        .map_or((0.0, 0), |it| (it.rank as f64, it.grown_bytes()))
                }),
            }
        };
        growing.into_iter().map(candidate).collect()
    }

    /// Returns the classes whose containers are to be counted now: what is reported, and what may be
    /// after two collections more, if it goes on as it does.
    pub fn wanted(&self) -> Vec<Wanted> {
        let soon = |hidden: Hidden| match hidden {
            Hidden::FewSteps {
                phases,
                patience,
                steps,
                needed,
            } => phases + AHEAD >= patience && steps + AHEAD >= needed,
            Hidden::Rank { rank, threshold } => rank >= threshold / 4.0,
            Hidden::NoNewHeight => true,
            _ => false,
        };
        let all = self.histories.iter().filter(|(id, history)| {
            let rank = &self.classes[id.0 as usize];
            let hidden = self.options.keeps_out(rank, history, self.volume_bytes);
            history.reported || history.is_growing() && hidden.is_some_and(soon)
        });
        let wanted = all.map(|(&class, history)| {
            let rank = &self.classes[class.0 as usize];
            let grown = rank.volume_bytes.saturating_sub(history.base_bytes);
            Wanted {
                class,
                least_bytes: grown / FINENESS,
                censuses: (self.options.patience.max(2) as usize - 1).min(ENOUGH),
                phases: rank.phases.into(),
            }
        });
        wanted.collect()
    }

    /// Returns the classes that have grown and are not reported, with what hides them; what has
    /// grown most first. What does not grow any more is not close, nor what has grown by a hundredth of its volume
    /// or less, unless it has grown each time.
    pub fn close(&self) -> Vec<Close> {
        let of = |(&class, history): (&ClassId, &History)| {
            let rank = &self.classes[class.0 as usize];
            let grown_bytes = history.grown_bytes(rank.volume_bytes);
            let why = match history.reported {
                true => None,
                false => self.options.keeps_out(rank, history, self.volume_bytes),
            };
            let steps = u32::from(history.steps);
            let each_time = steps >= rank::FEWEST_STEPS && history.steps == rank.phases;
            let enough = grown_bytes > rank.volume_bytes / 100 || each_time && grown_bytes > 0;
            let close = history.is_growing() && enough;
            close.then_some(Close {
                class,
                volume_bytes: rank.volume_bytes,
                grown_bytes,
                why: why?,
            })
        };
        let mut close: Vec<Close> = self.histories.iter().filter_map(of).collect();
        close.sort_by_key(|it| std::cmp::Reverse((it.grown_bytes, it.class)));
        close
    }

    /// Returns the rank of a class; 0 if it is not growing.
    pub fn class_rank(&self, class: ClassId) -> f64 {
        let found = self.classes.get(class.0 as usize);
        found.map_or(0.0, |rank| rank.rank as f64)
    }

    /// Returns the rank of an edge of the points-from graph: objects of `class`, pointed to by
    /// `from`.
    pub fn edge_rank(&self, class: ClassId, from: ClassId) -> f64 {
        self.edge(class, from).map_or(0.0, |it| it.rank as f64)
    }

    fn edge(&self, class: ClassId, from: ClassId) -> Option<&EdgeRank> {
        let key = (class, from);
        let found = self.edges.binary_search_by_key(&key, |e| (e.class, e.from));
        found.ok().map(|at| &self.edges[at])
    }

    /// Returns how many full collections have been taken in.
    pub fn collections(&self) -> u64 {
        self.collections
    }

    /// Live volume over bytes allocated, as far as it is remembered, oldest first.
    pub fn occupancy(&self) -> &[(u64, u64)] {
        &self.occupancy.points
    }

    /// Bytes of memory that ranks and volumes take.
    pub fn memory_bytes(&self) -> usize {
        let window = |it: &Volumes| it.classes.len() * 8 + it.edges.len() * 16;
        self.classes.capacity() * size_of::<Rank>()
            + self.histories.len() * (size_of::<ClassId>() + size_of::<History>())
            + self.edges.capacity() * size_of::<EdgeRank>()
            + self.window.iter().map(window).sum::<usize>()
            + self.occupancy.points.capacity() * 16
    }
}

/// How ranks change from one collection to the next.
struct Steps<'a> {
    ranking: Ranking,
    old: Option<&'a Volumes>,
    heap_bytes: u64,
}

impl<'a> Steps<'a> {
    fn new(ranking: Ranking, old: Option<&'a Volumes>, heap_bytes: u64) -> Self {
        Self {
            ranking,
            old,
            heap_bytes,
        }
    }

    /// Takes a volume into a rank; `then` finds what it was at the start of the window.
    fn step(
        &self,
        rank: &mut Rank,
        volume_bytes: u64,
        then: impl Fn(&Volumes) -> Option<u64>,
    ) -> Change {
        match self.ranking {
            Ranking::Ratio { decay } => rank.ratio(volume_bytes, decay),
            Ranking::Slope { .. } => rank.slope(volume_bytes, self.share(volume_bytes, then)),
        }
    }

    /// Returns what part of the heap's growth is this one's.
    fn share(&self, volume_bytes: u64, then: impl Fn(&Volumes) -> Option<u64>) -> f64 {
        let share = |old: &Volumes| {
            let heap = self.heap_bytes as f64 - old.heap as f64;
            let own = volume_bytes as f64 - then(old)? as f64;
            // What shrinks has a negative share, whether or not the heap shrinks.
            (heap != 0.0).then(|| own / heap.abs())
        };
        self.old.and_then(share).unwrap_or(0.0)
    }
}

impl Volumes {
    fn of(summary: &Summary, points_from: &[PointsFrom]) -> Self {
        let last = summary.classes().last().map_or(0, |(id, _)| id.0);
        let volume = |id| summary.class(ClassId(id)).volume_bytes;
        let edge = |edge: &PointsFrom| (edge.class, edge.from, edge.volume_bytes);
        Self {
            heap: summary.volume_bytes(),
            classes: (0..=last).map(volume).collect(),
            edges: points_from.iter().map(edge).collect(),
        }
    }

    fn edge(&self, (class, from): (ClassId, ClassId)) -> Option<u64> {
        let found = self
            .edges
            .binary_search_by_key(&(class, from), |&(class, from, _)| (class, from));
        found.ok().map(|at| self.edges[at].2)
    }
}

/// Live volume over bytes allocated, for a plot: all collections, or every second, every
/// fourth, … once there have been many.
#[derive(Clone, Debug)]
struct Occupancy {
    points: Vec<(u64, u64)>,
    every: u64,
    seen: u64,
}

/// A plot shows no more.
const MAX_POINTS: usize = 512;

impl Default for Occupancy {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            every: 1,
            seen: 0,
        }
    }
}

impl Occupancy {
    fn push(&mut self, allocated_bytes: u64, volume_bytes: u64) {
        if self.seen.is_multiple_of(self.every) {
            if self.points.len() == MAX_POINTS {
                let mut keep = false;
                self.points.retain(|_| {
                    keep = !keep;
                    keep
                });
                self.every *= 2;
            }
            self.points.push((allocated_bytes, volume_bytes));
        }
        self.seen += 1;
    }
}
