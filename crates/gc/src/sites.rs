//! Where in the program objects are allocated, and how long what is allocated there lives.
//!
//! The fast path of allocation does not know its site. The slow path does, and it takes samples: of one in every so
//! many bytes (`raw/mutators/sampler.rs`). The header of a sample has the number of its site, which it keeps when it
//! moves. And where a mutator meets a class, for the first time or again after a full collection that made a
//! summary, the site is noted, so that the first site of a class is exact.
//!
//! A *site* is a place in the program and a class: what a generic function allocates there is told apart by
//! its type. This table counts for each what was allocated, what survived its first collection, what lives, and for
//! how long it had lived when it died.
//!
//! Where samples are:
//!
//! - young ones are nowhere but in the nursery. If they survive, the evacuation meets them;
//! - old ones are in *cohorts*: those that became old between the same two full collections. After marking, each
//!   is looked at; those that are not marked then, nor later for the sake of a finalizer, are counted and
//!   forgotten. So the age of a sample is that of its cohort.

pub(crate) mod context;
mod pprof;
mod report;
pub(crate) mod samples;

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::panic::Location;
use std::sync::atomic::Ordering::Relaxed;

use heaphound_heap::ClassId;
use heaphound_heap::sync::Mutex;

use crate::heap::{Heap, HeapInner};
use crate::pretenuring::SiteState;
use crate::raw::marking::mark::Ground;
use crate::raw::marking::weak::is_marked;
use crate::raw::mutators::mutator::MutatorShared;
use crate::raw::mutators::sampler::{Interval, Promoted, Weights};
use crate::raw::objects::header::SiteId;
use crate::raw::{Raw, StoppedHeap};
use crate::sites::context::Context;
use crate::sites::samples::{Lane, Samples};

/// A place in the program that allocates, as the slow path of allocation gets it.
pub(crate) type Site = &'static Location<'static>;

/// A place in a program that a language runtime runs, made by [`Heap::define_site`]. While it is
/// [set](crate::Mutator::set_site), it is where a mutator allocates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ProgramSite {
    heap: u64,
    /// From 1.
    number: u32,
}

impl ProgramSite {
    /// What a mutator of a heap keeps of it.
    ///
    /// # Panics
    /// If it is another heap's.
    #[track_caller]
    pub(crate) fn number_in(self, heap: &HeapInner) -> u32 {
        assert!(self.heap == heap.id, "a site of another heap");
        self.number
    }
}

/// A file, a line, a column.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct SourcePlace {
    file: Cow<'static, str>,
    line: u32,
    column: u32,
}

/// A place in the program where objects of a class are allocated, and what became of them. All but the place is
/// estimated from samples; see [`Sampling`](crate::Sampling). Bytes are those of cells: what objects take up.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct AllocationSite {
    /// The file, as the compiler was told it, or the runtime.
    pub file: Cow<'static, str>,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The class.
    pub class: String,
    /// The functions that were called up to here, the innermost first, if sites are told apart by them
    /// (`Sampling::contexts`). A site without any may be one of which no sample has been taken yet.
    pub context: Vec<String>,
    /// Objects that became samples.
    pub samples: u64,
    /// Bytes that were allocated.
    pub allocated_bytes: u64,
    /// Of these, the bytes of objects that have seen their first collection: in a generational heap, one of the
    /// nursery.
    pub settled_bytes: u64,
    /// Of these, the bytes of objects that survived it.
    pub survived_bytes: u64,
    /// The same of the last time between two such collections.
    pub transient: SitePhase,
    /// Samples that live: at the last full collection, or promoted since.
    pub live_samples: u64,
    /// Bytes that live.
    pub live_bytes: u64,
    /// Of these, the bytes of objects that became old after the fourth-last full collection.
    pub recent_bytes: u64,
    /// Bytes that have died, by how many collections they had survived: none, 1, 2 or 3, 4 to 7, and so on. To be
    /// promoted from the nursery is one; then full ones count.
    pub lifetimes: Vec<u64>,
    /// Bytes that were allocated in the mature space because the site is pretenured.
    pub pretenured_bytes: u64,
    /// Whether the site is pretenured now.
    pub is_pretenured: bool,
    /// Whether the first object of the class was allocated there.
    pub first: bool,
    /// Whether no other site of the class has been seen. Sites that allocate little may have
    /// been missed.
    pub only: bool,
}

/// What a site has allocated between two collections.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub struct SitePhase {
    /// Samples.
    pub samples: u64,
    /// Bytes.
    pub allocated_bytes: u64,
    /// Samples that survived.
    pub survived_samples: u64,
    /// Bytes that survived.
    pub survived_bytes: u64,
}

impl AllocationSite {
    /// The part of what is allocated, from 0 to 1, that survives its first collection. None if nothing has seen it yet.
    pub fn survival(&self) -> Option<f64> {
        let settled = self.settled_bytes;
        (settled > 0).then(|| (self.survived_bytes as f64 / settled as f64).min(1.0))
    }
}

impl fmt::Display for AllocationSite {
    /// `src/shop.rs:12:9`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

impl Heap {
    /// Where objects are allocated, and what becomes of them: the site whose objects take most memory first.
    pub fn sites(&self) -> Vec<AllocationSite> {
        self.inner().allocation_sites(|_| true)
    }

    /// As [`Heap::sites`], of one class: the site of most that came lately and lives first, then that of most
    /// samples. None before the first object. What the program calls is its site; a function that is
    /// `#[track_caller]` passes on its own caller's.
    ///
    /// ```
    /// # use heaphound_gc::{Bytes, Heap};
    /// let heap = Heap::builder().build()?;
    /// let mut m = heap.attach("main")?;
    /// let bytes = m.alloc_bytes(b"read me")?;
    /// let sites = heap.allocation_sites_of("u8[]");
    /// assert!(sites[0].file == file!() && sites[0].only);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn allocation_sites(&self, class: ClassId) -> Vec<AllocationSite> {
        self.inner().allocation_sites(|it| it == class)
    }

    /// As [`Heap::allocation_sites`], of the class of that name that was made first.
    pub fn allocation_sites_of(&self, class: &str) -> Vec<AllocationSite> {
        let mut classes = self.inner().classes.iter();
        match classes.find(|it| it.info.name == class) {
            Some(class) => self.allocation_sites(class.info.id),
            None => Vec::new(),
        }
    }

    /// Bytes of memory that it takes to know of samples and sites. Headers have room for the rest.
    pub fn sampling_bytes(&self) -> usize {
        self.inner().sites.0.lock().unwrap().memory_bytes()
    }

    /// Makes known a place in a program that a language runtime runs, so that what is allocated there is not all said
    /// to be allocated in the interpreter. The same place gives the same site.
    pub fn define_site(&self, file: impl Into<String>, line: u32, column: u32) -> ProgramSite {
        let place = SourcePlace {
            file: Cow::Owned(file.into()),
            line,
            column,
        };
        let table = &mut *self.inner().sites.0.lock().unwrap();
        let next = table.programs.len() as u32 + 1;
        let number = *table.by_program.entry(place.clone()).or_insert(next);
        if number == next {
            table.programs.push(place);
        }
        ProgramSite {
            heap: self.inner().id,
            number,
        }
    }
}

impl<S> StoppedHeap<'_, S> {
    /// As [`Heap::allocation_sites`].
    pub fn allocation_sites(&self, class: ClassId) -> Vec<AllocationSite> {
        self.heap().allocation_sites(|it| it == class)
    }
}

/// The sites of a heap.
pub(crate) struct Sites(pub(crate) Mutex<Table>);

impl Sites {
    /// Of a heap that takes samples at such intervals.
    pub(crate) fn new(interval: Interval) -> Self {
        Self(Mutex::new(Table {
            weights: Weights::new(interval),
            rows: Vec::new(),
            by_place: HashMap::new(),
            programs: Vec::new(),
            by_program: HashMap::new(),
            cohorts: VecDeque::new(),
            born_old: Vec::new(),
            dying: Vec::new(),
        }))
    }
}

/// Rows are numbered from 1.
pub(crate) struct Table {
    weights: Weights,
    pub(crate) rows: Vec<Row>,
    by_place: HashMap<(SourcePlace, ClassId, Context), SiteId>,
    /// Places of programs that a runtime runs.
    programs: Vec<SourcePlace>,
    by_program: HashMap<SourcePlace, u32>,
    /// Old samples, the youngest cohort first.
    cohorts: VecDeque<Cohort>,
    /// Samples that have been old from the beginning, and have not seen a full collection.
    born_old: Vec<Raw>,
    /// Samples that were not marked, with the cohort that they are of.
    dying: Vec<(Raw, u64)>,
}

/// What is known of a site.
pub(crate) struct Row {
    place: SourcePlace,
    pub(crate) class: ClassId,
    context: Context,
    is_first: bool,
    total: Sum,
    /// Since the last collection.
    pub(crate) young: Sum,
    old: Sum,
    settled: Sum,
    survived: Sum,
    pub(crate) transient: SitePhase,
    live: Sum,
    recent: Sum,
    lifetimes: [u64; LIFETIMES],
    pub(crate) pretenured: Sum,
    /// What was old from the beginning, between the last two full collections.
    pub(crate) born_old: SitePhase,
    pub(crate) is_pretenured: bool,
    pub(crate) state: SiteState,
}

/// Samples, and the bytes that they stand for.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sum {
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
}

impl Sum {
    fn add(&mut self, (samples, bytes): (u32, u64)) {
        self.samples += u64::from(samples);
        self.bytes += bytes;
    }

    fn plus(self, other: Self) -> Self {
        Self {
            samples: self.samples + other.samples,
            bytes: self.bytes + other.bytes,
        }
    }

    /// One more sample, which stands for that many bytes.
    #[inline]
    fn note(&mut self, bytes: u64) {
        self.samples += 1;
        self.bytes += bytes;
    }
}

/// Samples that became old after the same full collection.
struct Cohort {
    /// How many full collections there had been.
    since: u64,
    objects: Samples,
}

/// How many cohorts are told apart. Older ones are one.
const COHORTS: usize = 32;

/// Ages at death that are told apart.
const LIFETIMES: usize = 8;

/// Cohorts whose samples are recent.
const RECENT: u64 = 4;

/// The place of an age in a list of lifetimes.
fn lifetime(survived: u64) -> usize {
    let place = survived.checked_ilog2().map_or(0, |log| log as usize + 1);
    place.min(LIFETIMES - 1)
}

impl Table {
    fn row(&mut self, id: SiteId) -> &mut Row {
        &mut self.rows[id.0 as usize - 1]
    }

    /// The number of a site, which gets one now if it has none. Where there are too many, those that come late share the
    /// last number.
    fn find(
        &mut self,
        program: u32,
        context: Context,
        site: Site,
        class: ClassId,
        is_first: bool,
    ) -> SiteId {
        let place = match program.checked_sub(1) {
            Some(number) => self.programs[number as usize].clone(),
            None => SourcePlace {
                file: Cow::Borrowed(site.file()),
                line: site.line(),
                column: site.column(),
            },
        };
        let key = (place.clone(), class, context.clone());
        if let Some(&id) = self.by_place.get(&key) {
            return id;
        }
        if self.rows.len() >= SiteId::MOST {
            return SiteId(SiteId::MOST as u16);
        }
        self.rows.push(Row::new(place, class, context, is_first));
        let id = SiteId(self.rows.len() as u16);
        self.by_place.insert(key, id);
        id
    }

    /// Takes over what a mutator has counted. With the world stopped, or by the mutator itself.
    fn gather(&mut self, shared: &MutatorShared) {
        shared.sampler.settle_quick();
        for (row, number) in self.rows.iter_mut().zip(1..) {
            let tally = shared.sampler.tally(SiteId(number));
            let (young, old) = (tally.young.take(), tally.old.take());
            row.young.add(young);
            row.old.add(old);
            row.total.add(young);
            row.total.add(old);
            row.pretenured.add(tally.pretenured.take());
            row.state.detours += u64::from(tally.detours.swap(0, Relaxed));
        }
        self.born_old
            .append(&mut shared.sampler.born_old.borrow_mut());
    }

    /// Those of what became old since the last full collection, the `full`-th.
    fn newest(&mut self, full: u64) -> &mut Samples {
        if self.cohorts.front().is_none_or(|it| it.since != full) {
            self.cohorts.push_front(Cohort {
                since: full,
                objects: Samples::new(),
            });
        }
        &mut self.cohorts[0].objects
    }

    /// The nursery was evacuated: these samples have survived. There have been so many full collections.
    fn promoted(&mut self, survivors: &[Promoted], full: u64) {
        let mut survived = vec![Sum::default(); self.rows.len() + 1];
        for sample in survivors {
            let weight = self.weights.of(sample.size_class);
            survived[sample.site.0 as usize].note(weight);
        }
        let newest = self.newest(full);
        for sample in survivors {
            newest.push(Lane::of(sample.size_class), sample.raw);
        }
        for (row, survived) in self.rows.iter_mut().zip(survived.into_iter().skip(1)) {
            let young = std::mem::take(&mut row.young);
            row.settled = row.settled.plus(young);
            row.transient = SitePhase {
                samples: young.samples,
                allocated_bytes: young.bytes,
                survived_samples: survived.samples,
                survived_bytes: survived.bytes,
            };
            for sum in [&mut row.live, &mut row.recent, &mut row.survived] {
                *sum = sum.plus(survived);
            }
            row.lifetimes[0] += young.bytes.saturating_sub(survived.bytes);
        }
    }

    /// All that lives is marked, by the `full`-th full collection. In a `repeat`, some of what was marked before is not, for it was forced to
    /// die.
    fn marked(&mut self, ground: Ground<'_>, full: u64, generational: bool, repeat: bool) {
        let (rows, dying, weights) = (&mut self.rows, &mut self.dying, &self.weights);
        for row in rows.iter_mut() {
            if repeat {
                continue;
            }
            let old = std::mem::take(&mut row.old);
            let phase = SitePhase {
                samples: old.samples,
                allocated_bytes: old.bytes,
                ..SitePhase::default()
            };
            if generational {
                row.born_old = phase;
            } else {
                row.transient = phase;
                row.settled = row.settled.plus(old);
            }
        }
        let mut survived = vec![Sum::default(); rows.len() + 1];
        let mut born = Vec::new();
        for raw in self.born_old.drain(..) {
            if !is_marked(ground, raw) {
                // What it dies of, it has survived nothing before.
                dying.push((raw, full));
                continue;
            }
            let sample = weights.weigh(ground, raw);
            survived[sample.site.0 as usize].note(sample.weight);
            born.push((sample.lane, raw));
        }
        for (row, survived) in rows.iter_mut().zip(survived.into_iter().skip(1)) {
            let phase = match generational {
                true => &mut row.born_old,
                false => {
                    row.survived = row.survived.plus(survived);
                    &mut row.transient
                }
            };
            phase.survived_samples += survived.samples;
            phase.survived_bytes += survived.bytes;
        }
        let newest = self.newest(full - 1);
        for (lane, raw) in born {
            newest.push(lane, raw);
        }
        let (rows, dying, weights) = (&mut self.rows, &mut self.dying, &self.weights);
        let mut live = vec![Sum::default(); rows.len() + 1];
        let mut recent = Vec::new();
        // The youngest come first.
        for cohort in &mut self.cohorts {
            if cohort.since + RECENT < full && recent.is_empty() {
                recent = live.clone();
            }
            // In a heap of one generation: it had survived what is repeated now.
            let has_survived = repeat && !generational && cohort.since == full - 1;
            cohort.objects.retain(ground, |raw| {
                let sample = weights.weigh(ground, raw);
                if is_marked(ground, raw) {
                    live[sample.site.0 as usize].note(sample.weight);
                    return true;
                }
                if has_survived {
                    let row = &mut rows[sample.site.0 as usize - 1];
                    row.survived.samples -= 1;
                    row.survived.bytes -= sample.weight;
                    row.transient.survived_samples -= 1;
                    row.transient.survived_bytes -= sample.weight;
                }
                dying.push((raw, cohort.since));
                false
            });
        }
        if recent.is_empty() {
            recent = live.clone();
        }
        let sums = live.into_iter().zip(recent).skip(1);
        for (row, (live, recent)) in rows.iter_mut().zip(sums) {
            (row.live, row.recent) = (live, recent);
        }
        self.cohorts.retain(|it| !it.objects.is_empty());
        while self.cohorts.len() > COHORTS {
            let oldest = self.cohorts.pop_back().expect("there are too many");
            let last = self.cohorts.back_mut().expect("there are others");
            last.objects.append(&oldest.objects);
        }
    }

    /// Those that were marked after all, because their finalizers are to run, go on; the others are dead.
    fn bury(&mut self, ground: Ground<'_>, full: u64, generational: bool) {
        for (raw, since) in std::mem::take(&mut self.dying) {
            let sample = self.weights.weigh(ground, raw);
            if is_marked(ground, raw) {
                self.newest(full - 1).push(sample.lane, raw);
                continue;
            }
            let survived = match full - since {
                0 => 0,
                more => more - 1 + generational as u64,
            };
            self.row(sample.site).lifetimes[lifetime(survived)] += sample.weight;
        }
    }

    /// Objects have moved.
    fn follow(&mut self, now: &mut dyn FnMut(Raw) -> Option<Raw>) {
        let mut now = |raw| now(raw).unwrap_or(raw);
        for cohort in &mut self.cohorts {
            cohort.objects.update(&mut now);
        }
        self.born_old.iter_mut().for_each(|raw| *raw = now(*raw));
    }

    /// Bytes of memory that it takes, to know of samples.
    fn memory_bytes(&self) -> usize {
        let cohorts = self.cohorts.iter().map(|it| it.objects.memory_bytes());
        let entry = size_of::<((SourcePlace, ClassId, Context), SiteId)>();
        cohorts.sum::<usize>()
            + self.born_old.capacity() * size_of::<Raw>()
            + self.rows.capacity() * size_of::<Row>()
            + self.by_place.capacity() * entry
    }
}

impl Row {
    fn new(place: SourcePlace, class: ClassId, context: Context, is_first: bool) -> Self {
        Self {
            place,
            class,
            context,
            is_first,
            total: Sum::default(),
            young: Sum::default(),
            old: Sum::default(),
            settled: Sum::default(),
            survived: Sum::default(),
            transient: SitePhase::default(),
            live: Sum::default(),
            recent: Sum::default(),
            lifetimes: [0; LIFETIMES],
            pretenured: Sum::default(),
            born_old: SitePhase::default(),
            is_pretenured: false,
            state: SiteState::default(),
        }
    }

    /// What is told of it, given its class, and what mutators have counted since the last collection.
    fn told(&self, class: String, new: Sum, pretenured_bytes: u64, only: bool) -> AllocationSite {
        let SourcePlace { file, line, column } = self.place.clone();
        AllocationSite {
            file,
            line,
            column,
            class,
            context: self.context.names(),
            samples: self.total.samples + new.samples,
            allocated_bytes: self.total.bytes + new.bytes,
            settled_bytes: self.settled.bytes,
            survived_bytes: self.survived.bytes,
            transient: self.transient,
            live_samples: self.live.samples,
            live_bytes: self.live.bytes,
            recent_bytes: self.recent.bytes,
            lifetimes: self.lifetimes.to_vec(),
            pretenured_bytes: self.pretenured.bytes + pretenured_bytes,
            is_pretenured: self.is_pretenured,
            first: self.is_first,
            only,
        }
    }
}

impl HeapInner {
    fn allocation_sites(&self, is_wanted: impl Fn(ClassId) -> bool) -> Vec<AllocationSite> {
        // In this order, as a collection does.
        let mutators = self.mutators.lock().unwrap();
        let table = self.sites.0.lock().unwrap();
        let mut of_class: HashMap<ClassId, usize> = HashMap::new();
        for row in &table.rows {
            *of_class.entry(row.class).or_default() += 1;
        }
        // What mutators have counted since the last collection.
        let mut new = vec![Sum::default(); table.rows.len() + 1];
        for shared in mutators.iter() {
            // A site that has got its number since is not told of.
            shared.sampler.for_each_quick(|site, taken| {
                if let Some(sum) = new.get_mut(site.0 as usize) {
                    sum.add(taken);
                }
            });
        }
        let rows = table.rows.iter().zip(1..);
        let rows = rows.filter(|(row, _)| is_wanted(row.class));
        let mut told: Vec<_> = rows
            .map(|(row, number)| {
                let (mut new, mut pretenured) = (new[usize::from(number)], 0);
                for shared in mutators.iter() {
                    let tally = shared.sampler.tally(SiteId(number));
                    new.add(tally.young.get());
                    new.add(tally.old.get());
                    pretenured += tally.pretenured.get().1;
                }
                let class = self.classes.get(row.class).info.name.clone();
                row.told(class, new, pretenured, of_class[&row.class] == 1)
            })
            .collect();
        drop((table, mutators));
        told.sort_by_key(|it| {
            let weight = (it.recent_bytes, it.live_bytes, it.samples);
            std::cmp::Reverse(weight)
        });
        told
    }

    /// The number of a site of a class.
    #[cold]
    pub(crate) fn find_site(
        &self,
        program: u32,
        context: Context,
        site: Site,
        class: u32,
    ) -> SiteId {
        let context = context.of_program();
        let mut table = self.sites.0.lock().unwrap();
        table.find(program, context, site, ClassId(class), false)
    }

    /// An object is allocated there, which is no sample: what comes first after a collection
    /// need not be what comes often.
    #[cold]
    pub(crate) fn meet_site(&self, program: u32, site: Site, class: u32) {
        let is_first = self.classes.get(ClassId(class)).meet();
        let mut table = self.sites.0.lock().unwrap();
        table.find(program, Context::default(), site, ClassId(class), is_first);
    }

    /// Takes over what a mutator has counted. With the world stopped, or by the mutator itself.
    pub(crate) fn gather_samples(&self, shared: &MutatorShared) {
        self.sites.0.lock().unwrap().gather(shared);
    }

    /// The nursery was evacuated: these samples have survived.
    pub(crate) fn promote_samples(&self, survivors: &[Promoted]) {
        let mut table = self.sites.0.lock().unwrap();
        table.promoted(survivors, self.full_collections());
    }

    /// All that lives is marked; in a repeat, again.
    pub(crate) fn settle_samples(&self, ground: Ground<'_>, is_repeat: bool) {
        let mut table = self.sites.0.lock().unwrap();
        let generational = self.generations.nursery().is_some();
        table.marked(ground, self.full_collections(), generational, is_repeat);
    }

    /// What is not marked now is dead.
    pub(crate) fn bury_samples(&self, ground: Ground<'_>) {
        let mut table = self.sites.0.lock().unwrap();
        let generational = self.generations.nursery().is_some();
        table.bury(ground, self.full_collections(), generational);
    }

    /// Objects have moved.
    pub(crate) fn follow_samples(&self, now: &mut dyn FnMut(Raw) -> Option<Raw>) {
        self.sites.0.lock().unwrap().follow(now);
    }
}
