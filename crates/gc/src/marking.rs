//! Marking everything that lives, in the one form of the loop that serves all checks.
//!
//! A full collection's marking is a list of phases, each a start set for the same drain loop
//! (`raw/marking/mark.rs`): first those that checks run before the roots (surveys, probes that
//! ride along), then the roots with what those have set aside. Each is followed by the values of
//! ephemerons whose keys it has reached, until there are none.
//!
//! What all checks need is merged into one [`Needs`]; [`HeapInner::mark`] chooses the form of the loop
//! for it. With no needs that is the plain loop, which knows of no check.
//!
//! Elsewhere: what is counted (`raw/marking/counters.rs`), and why a collection would mark a second time
//! (`collect.rs`).

use std::cell::RefCell;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use heaphound_heap::root::RootSet;
use heaphound_heap::trace::{Examiner, Filter, Phase, Showing, Traced, Visit};

use crate::check::{Graph, Instances, Needs, RunningChecks, Sift, Stale};
use crate::heap::HeapInner;
use crate::raw::marking::counters::{Beside, ClassCounter, Counter, Counts, Setup, Shown};
use crate::raw::marking::mark::{Ground, Marked, Start, Visitor, mark};
use crate::raw::marking::marker::{Ageing, Doom, Marker, SeriesMark, tags_matter};
use crate::raw::marking::sieve::{self, Frontier, Mesh, NEVER, Revived, Sieve, Sifting};
use crate::raw::marking::stale_counter::StaleCounter;
use crate::raw::marking::summary_counter::Summing;
use crate::raw::marking::weak::{self, Waiting};
use crate::raw::mutators::mutator::MutatorShared;
use crate::raw::objects::header::Epoch;
use crate::raw::views::asked::{Owed, Ridden, shown_traces, watched_traces};
use crate::raw::{EdgeType, ObjectId, Raw};

/// What lives, and what was counted of it.
pub(crate) struct Marking<'h> {
    pub(crate) marked: Marked,
    pub(crate) counts: Counts<'h>,
    /// Objects asserted unshared that were started from, as often as they were.
    pub(crate) started: Vec<Raw>,
    /// Whether a trace of a check that looked before was cut short, and marking began anew.
    pub(crate) begun_anew: bool,
    /// How many objects checks had marked before the roots were.
    pub(crate) marked_by_checks: usize,
    /// How long it took, without what checks did before.
    pub(crate) time: Duration,
    /// The stale references, if anybody looked for them.
    pub(crate) sifted: Option<Sifted>,
}

/// The stale references of a heap, by their types, in order.
#[derive(Debug, Default)]
pub(crate) struct Sifted {
    pub(crate) types: Vec<SiftedType>,
    /// The greatest staleness of any object that a reference leads to; 0 if they were only weighed.
    pub(crate) stalest: u8,
}

/// The stale references of one type.
#[derive(Debug)]
pub(crate) struct SiftedType {
    pub(crate) edge: EdgeType,
    /// From which staleness on they were looked for.
    pub(crate) from: u8,
    /// How stale the stalest target is, unless they were only weighed.
    pub(crate) stalest: Option<u8>,
    /// All of them; if they were only weighed, those that were met before their targets were marked.
    pub(crate) references: usize,
    /// Objects that hang on them alone, or on them and on types that come later.
    pub(crate) objects: usize,
    /// Their bytes.
    pub(crate) bytes: usize,
    /// Bytes of the objects that they lead to, unless they were only weighed.
    pub(crate) own_bytes: Option<usize>,
    /// An object that has one of the references, and where in it the slot is; unless they were only weighed.
    pub(crate) sample: Option<(Raw, usize)>,
}

/// Who looks before the roots are marked: the checks, and whoever asked for the collection.
pub(crate) type Before<'b, 'h, 'r> =
    Option<(&'b mut RunningChecks<'h, 'r>, Option<&'b MutatorShared>)>;

impl HeapInner {
    /// Marks everything that lives, in the form that serves what is needed. The trace words of the
    /// classes in [`Instances::Of`] say that they are watched.
    pub(crate) fn mark<'h>(
        &'h self,
        ground: Ground<'h>,
        setup: &'h Setup,
        needs: &'h Needs,
        before: Before<'_, '_, '_>,
    ) -> Marking<'h> {
        let shapes = needs.graph == Graph::Shapes && setup.assumed.is_some();
        if let Some(stale) = &needs.stale {
            return self.mark_stale(ground, setup, needs, stale, shapes, before);
        }
        // Where examiners look on, fewer forms are compiled: see `Counter::RIDDEN`.
        let sharing = needs.sharing || needs.survey;
        let run = match (needs.graph, &needs.instances, needs.sharing) {
            (Graph::Nothing, Instances::OfNone, false) => Self::mark_as::<(), Epoch>,
            (Graph::Nothing, ..) if needs.survey => {
                Self::mark_as::<ClassCounter<true, true>, Epoch>
            }
            (Graph::Nothing, Instances::OfAll, true) => {
                Self::mark_as::<ClassCounter<true, true>, Epoch>
            }
            (Graph::Nothing, Instances::OfAll, false) => {
                Self::mark_as::<ClassCounter<true, false>, Epoch>
            }
            (Graph::Nothing, _, true) => Self::mark_as::<ClassCounter<false, true>, Epoch>,
            (Graph::Nothing, _, false) => Self::mark_as::<ClassCounter<false, false>, Epoch>,
            _ => match (sharing, shapes) {
                (true, true) => Self::mark_as::<Summing<'h, true, true>, Epoch>,
                (true, false) => Self::mark_as::<Summing<'h, true, false>, Epoch>,
                (false, true) => Self::mark_as::<Summing<'h, false, true>, Epoch>,
                (false, false) => Self::mark_as::<Summing<'h, false, false>, Epoch>,
            },
        };
        run(self, ground, ground.epoch, setup, before)
    }

    /// As [`mark`](Self::mark), for leak pruning. It has fewer forms: one that counts nothing, and else
    /// those that count most.
    fn mark_stale<'h>(
        &'h self,
        ground: Ground<'h>,
        setup: &'h Setup,
        needs: &Needs,
        stale: &'h Stale,
        shapes: bool,
        before: Before<'_, '_, '_>,
    ) -> Marking<'h> {
        let tags = tags_matter(stale.nth);
        let counts = needs.graph != Graph::Nothing || needs.instances != Instances::OfNone;
        if let Some((Sift::Weigh, mesh)) = &stale.sift
            && !counts
            && !needs.sharing
        {
            let run = match tags {
                true => Self::weigh::<true>,
                false => Self::weigh::<false>,
            };
            return run(self, ground, stale.nth, setup, before, mesh);
        }
        // The rarer forms tag always: one too many costs a little time.
        let marker = Ageing::<true>::new(ground.epoch, stale.nth);
        if let Some((sift, mesh)) = &stale.sift {
            let run = match (needs.graph, shapes) {
                (Graph::Nothing, _) => Self::sift_as::<ClassCounter<true, true>>,
                (_, true) => Self::sift_as::<Summing<'h, true, true>>,
                (_, false) => Self::sift_as::<Summing<'h, true, false>>,
            };
            return run(self, ground, marker, setup, before, *sift, mesh);
        }
        let run = match (needs.graph, &needs.instances, needs.sharing) {
            (Graph::Nothing, Instances::OfNone, false) if !tags => {
                let marker = Ageing::<false>::new(ground.epoch, stale.nth);
                return self.mark_as::<(), Ageing<false>>(ground, marker, setup, before);
            }
            (Graph::Nothing, Instances::OfNone, false) => Self::mark_as::<(), Ageing<true>>,
            (Graph::Nothing, ..) => Self::mark_as::<ClassCounter<true, true>, Ageing<true>>,
            _ if shapes => Self::mark_as::<Summing<'h, true, true>, Ageing<true>>,
            _ => Self::mark_as::<Summing<'h, true, false>, Ageing<true>>,
        };
        run(self, ground, marker, setup, before)
    }

    fn mark_as<'h, C: Counter<'h>, M: CollectionMarker>(
        &'h self,
        ground: Ground<'h>,
        marker: M,
        setup: &'h Setup,
        before: Before<'_, '_, '_>,
    ) -> Marking<'h> {
        let mut phases = Phases::<C, M>::new(self, ground, marker, setup);
        phases = phases.before_roots(setup, before);
        phases.mark_roots();
        phases.finish()
    }

    /// Sets stale references aside while all else is marked: the closure of what is in use. Then what hangs on them
    /// is marked, too, type by type. The quick form of [`sift_as`](Self::sift_as), for [`Sift::Weigh`].
    fn weigh<'h, const TAGS: bool>(
        &'h self,
        ground: Ground<'h>,
        nth: Option<u64>,
        setup: &'h Setup,
        before: Before<'_, '_, '_>,
        mesh: &'h Mesh,
    ) -> Marking<'h> {
        let marker = Ageing::<TAGS>::new(ground.epoch, nth);
        let mut phases = Phases::<StaleCounter<'h>, _>::new(self, ground, marker, setup);
        phases = phases.before_roots(setup, before);
        let classes = ground.classes.count();
        let workers = phases.counters.iter_mut();
        workers.for_each(|it| it.begin(mesh, classes));
        phases.mark_roots();
        let stale = StaleCounter::end(&mut phases.counters);
        let mut sifted = Sifted::default();
        for it in stale {
            let references = it.targets.len();
            let starts = it.targets.into_iter().map(Start::from).collect();
            let (objects, bytes) = phases.drain(starts);
            // Whether references are met whose targets live all the same is a matter of order.
            if objects > 0 {
                sifted.types.push(SiftedType {
                    edge: it.edge,
                    from: it.from,
                    stalest: None,
                    references,
                    objects,
                    bytes,
                    own_bytes: None,
                    sample: None,
                });
            }
        }
        let mut marking = phases.finish();
        marking.sifted = Some(sifted);
        marking
    }

    /// Sets stale references aside while all else is marked: the closure of what is in use. Then either what
    /// hangs on them is marked, too, type by type; or they are cut, and what hung on them is doomed.
    fn sift_as<'h, C: Counter<'h>>(
        &'h self,
        ground: Ground<'h>,
        marker: Ageing<true>,
        setup: &'h Setup,
        before: Before<'_, '_, '_>,
        sift: Sift,
        mesh: &'h Mesh,
    ) -> Marking<'h> {
        let mut phases = Phases::<Sieve<'h, C, Ageing<true>>, _>::new(self, ground, marker, setup);
        phases = phases.before_roots(setup, before);
        let (ground, marker) = (phases.ground, phases.marker);
        for sieve in &mut phases.counters {
            sieve.sifting = Some(Sifting { mesh, marker });
        }
        phases.mark_roots();
        for sieve in &mut phases.counters {
            sieve.sifting = None;
        }
        let stalest = phases.counters.iter().map(|it| it.stalest).max();
        let mut aside = sieve::sort(ground, std::mem::take(&mut phases.aside));
        let mut types = Vec::new();
        for it in &mut aside {
            let offset = it.edges[0].tag.1.offset();
            let holder = self.space.object_around(offset);
            let mut sifted = SiftedType {
                edge: it.edge,
                from: mesh.from(it.edge).unwrap_or(NEVER),
                stalest: Some(it.stalest(ground, marker)),
                references: it.edges.len(),
                objects: 0,
                bytes: 0,
                own_bytes: (sift == Sift::Measure).then(|| it.own_bytes(ground)),
                sample: Some((holder, offset - holder.offset())),
            };
            let marked = match sift {
                Sift::Weigh | Sift::Measure => phases.drain(std::mem::take(&mut it.edges)),
                Sift::Cut => phases.doom(it.edges.iter().map(|it| it.to.into()).collect()),
            };
            (sifted.objects, sifted.bytes) = marked;
            types.push(sifted);
        }
        if sift == Sift::Cut && !aside.is_empty() {
            // Only objects that live have slots that are cut, so that nothing that is doomed depends on it.
            self.note_asserted_on_cuts(|raw| weak::is_doomed(ground, raw));
            for it in &aside {
                let record = self.pruning.record(self, it.edge);
                it.cut(ground, Raw::invalid(record));
            }
        }
        let mut marking = phases.finish();
        marking.sifted = Some(Sifted {
            types,
            stalest: stalest.unwrap_or(0),
        });
        marking
    }

    /// Marks what has another life until its finalizer has run. Nobody counts.
    pub(crate) fn mark_finalizable(&self, ground: Ground<'_>, objects: Vec<Raw>) -> Marked {
        match self.config.pruning {
            None => self.mark_revived::<(), _>(ground, ground.epoch, objects).0,
            Some(_) => {
                // A finalizer uses its object, and may keep it; what hangs on it has its tags as all else.
                objects.iter().for_each(|&raw| self.refresh(raw));
                let marker = Ageing::<true>::new(ground.epoch, None);
                if self.pruned_instead_of_dead().is_none() {
                    return self.mark_revived::<(), _>(ground, marker, objects).0;
                }
                let (marked, met) = self.mark_revived::<Revived, _>(ground, marker, objects);
                // Without pruning they could be reached from elsewhere, too, and would outlive whoever has led to them.
                let pruned = met.into_iter().flat_map(|it| it.pruned);
                self.pruning.add_tainted(sieve::taint(ground, pruned));
                marked
            }
        }
    }

    /// Returns what was marked, and who has watched.
    fn mark_revived<C: for<'h> Counter<'h>, M: CollectionMarker>(
        &self,
        ground: Ground<'_>,
        marker: M,
        objects: Vec<Raw>,
    ) -> (Marked, Vec<C>) {
        let setup = Setup::default();
        let mut phases = Phases::<C, M>::new(self, ground, marker, &setup);
        phases.drain(objects.into_iter().map(Start::from).collect());
        phases.waiting.finish(ground);
        (phases.marked, phases.counters)
    }
}

/// The phases of one marking, while they run.
struct Phases<'h, C: Visitor, M> {
    heap: &'h HeapInner,
    ground: Ground<'h>,
    marker: M,
    /// One for each worker.
    counters: Vec<C>,
    marked: Marked,
    /// Ephemerons whose keys have not been reached.
    waiting: Waiting,
    /// What others have marked before the roots are.
    owed: Owed,
    /// Edges that surveys have set aside.
    aside: Vec<Start<C::Tag>>,
    started: Vec<Raw>,
    begun_anew: bool,
    marked_by_checks: usize,
    begin: Instant,
}

/// A marker of collections, which can be made again for another epoch.
trait CollectionMarker: Marker {
    fn at(self, epoch: Epoch) -> Self;
}

impl CollectionMarker for Epoch {
    fn at(self, epoch: Epoch) -> Self {
        epoch
    }
}

impl<const TAGS: bool> CollectionMarker for Ageing<TAGS> {
    fn at(self, epoch: Epoch) -> Self {
        Ageing::at(self, epoch)
    }
}

impl<'h, C: Counter<'h>, M: CollectionMarker> Phases<'h, C, M> {
    fn new(heap: &'h HeapInner, ground: Ground<'h>, marker: M, setup: &'h Setup) -> Self {
        let threads = heap.config.collector_threads;
        Self {
            heap,
            ground,
            counters: (0..threads).map(|_| C::fresh(ground, setup)).collect(),
            marked: Marked::default(),
            waiting: Waiting::default(),
            owed: Owed::new(Vec::new()),
            aside: Vec::new(),
            started: Vec::new(),
            begun_anew: false,
            marked_by_checks: 0,
            begin: Instant::now(),
            marker,
        }
    }

    /// Lets checks look before the roots are marked.
    fn before_roots(mut self, setup: &'h Setup, before: Before<'_, '_, '_>) -> Self {
        if let Some((checks, asker)) = before
            && checks.look_before()
        {
            let (heap, ground, marker) = (self.heap, self.ground, self.marker);
            self.owed = Owed::new(self.root_targets());
            let ridden = RefCell::new(self);
            heap.look_before(&ridden, asker, checks);
            self = ridden.into_inner();
            if self.owed.broken {
                // What was marked cannot be told from what was merely on the way.
                self.waiting.finish(self.ground);
                heap.space.begin_epoch();
                let epoch = heap.space.epoch();
                self = Self::new(heap, Ground { epoch, ..ground }, marker.at(epoch), setup);
                self.begun_anew = true;
            }
        }
        self.marked_by_checks = self.marked.objects + self.owed.marked.objects;
        self.begin = Instant::now();
        self
    }

    fn finish(mut self) -> Marking<'h> {
        // What would still live, had nothing been pruned earlier.
        let ground = self.ground;
        let lives = |raw| weak::is_marked(ground, raw);
        let doomed = self.heap.pruning.take_dead_tainted(lives);
        self.doom(doomed.into_iter().map(Start::from).collect());
        if M::AGES {
            // It may be written somewhere before anybody reads it: see `tags_matter`.
            let roots = self.root_targets();
            roots.iter().for_each(|&raw| self.heap.refresh(raw));
        }
        self.waiting.finish(self.ground);
        Marking {
            marked_by_checks: self.marked_by_checks,
            time: self.begin.elapsed(),
            marked: self.marked,
            counts: C::merge(self.counters),
            started: self.started,
            begun_anew: self.begun_anew,
            sifted: None,
        }
    }

    /// The last phase: from the roots, and from what earlier ones have set aside.
    fn mark_roots(&mut self) {
        let mut starts = self.root_targets();
        if M::AGES {
            // What a root refers to is in use.
            starts.iter().for_each(|&raw| self.heap.refresh(raw));
        }
        self.note_starts(&starts);
        starts.append(&mut self.owed.starts);
        let mut starts: Vec<_> = starts.into_iter().map(Start::from).collect();
        starts.append(&mut self.aside);
        let owed = std::mem::take(&mut self.owed.marked);
        self.marked = std::mem::take(&mut self.marked).plus(owed);
        self.drain(starts);
    }

    fn root_targets(&self) -> Vec<Raw> {
        let mut targets = Vec::new();
        self.heap.for_each_root_cell(RootSet::All, |cell| {
            let raw = Raw(cell.load(Relaxed));
            if self.ground.refers(raw) {
                targets.push(raw);
            }
        });
        targets
    }

    /// Marks from starts, then from what ephemerons add, until nothing is added. Returns how many objects
    /// and bytes that were.
    fn drain(&mut self, mut starts: Vec<Start<C::Tag>>) -> (usize, usize) {
        let (ground, marker) = (self.ground, self.marker);
        let before = (self.marked.objects, self.marked.bytes);
        let mut counters = std::mem::take(&mut self.counters);
        let mut rest = Vec::new();
        loop {
            let drained = mark(ground, marker, &starts, counters);
            counters = drained.visitors;
            counters.append(&mut rest);
            self.aside.extend(drained.aside);
            let mut marked = drained.marked;
            // Those that were met before the roots were marked wait, too.
            marked.ephemerons.append(&mut self.marked.ephemerons);
            marked.woken.append(&mut self.marked.woken);
            starts = self
                .waiting
                .advance(ground, marker, &mut marked, &mut counters[0]);
            self.marked = std::mem::take(&mut self.marked).plus(marked);
            if starts.is_empty() {
                break;
            }
            // A chain of ephemerons comes link by link: not worth waking anybody.
            if starts.len() < 256 {
                rest = counters.split_off(1);
            }
        }
        self.counters = counters;
        (self.marked.objects - before.0, self.marked.bytes - before.1)
    }

    /// Dooms what is not marked and can be reached from starts; values of ephemerons whose keys are doomed
    /// included. Returns how many objects and bytes that are.
    fn doom(&mut self, mut starts: Vec<Start<()>>) -> (usize, usize) {
        let (ground, marker) = (self.ground, Doom(self.ground.epoch));
        let (mut objects, mut bytes) = (0, 0);
        while !starts.is_empty() {
            let visitors = self.counters.iter().map(|_| Frontier {
                epoch: ground.epoch,
                tainted: Vec::new(),
            });
            let drained = mark(ground, marker, &starts, visitors.collect());
            let (mut marked, mut frontiers) = (drained.marked, drained.visitors);
            (objects, bytes) = (objects + marked.objects, bytes + marked.bytes);
            starts = self
                .waiting
                .advance(ground, marker, &mut marked, &mut frontiers[0]);
            if self.heap.is_strict() {
                let met = frontiers.into_iter().flat_map(|it| it.tainted);
                self.heap.pruning.add_tainted(sieve::taint(ground, met));
            }
        }
        (objects, bytes)
    }

    /// Remembers which objects that were asserted unshared are arrived at from no slot.
    fn note_starts(&mut self, starts: &[Raw]) {
        if C::MEETS {
            let unshared = starts.iter().filter(|&&raw| self.heap.is_unshared(raw));
            self.started.extend(unshared);
        }
    }

    /// Runs a phase of a survey.
    fn show<'v, const OVERLAPS: bool>(
        &mut self,
        phase: &Phase<ObjectId<'v>>,
        avoid: Visit,
        holds_values: &dyn Fn(Raw) -> bool,
        examiners: &mut [&mut dyn Examiner<ObjectId<'v>>],
    ) -> Traced {
        let wants = |class| examiners.iter().any(|it| it.wants(class));
        let traces = shown_traces(self.ground.traces, wants);
        let ground = Ground {
            traces: &traces,
            ..self.ground
        };
        let marker = SeriesMark::new(phase.mark, avoid, ground.epoch);
        let starts: Vec<Raw> = phase.starts.iter().map(|it| it.raw()).collect();
        self.note_starts(&starts);
        let tag = C::no_edge();
        let mut starts: Vec<_> = starts.into_iter().map(|to| Start { to, tag }).collect();
        let counters = std::mem::take(&mut self.counters).into_iter();
        let visitors = counters.zip(examiners.iter_mut());
        let mut visitors: Vec<Beside<'_, 'v, C, OVERLAPS>> = visitors
            .map(|(counter, examiner)| Beside::new(counter, Showing::new(&mut **examiner, phase)))
            .collect();
        let before = self.marked.objects;
        while !starts.is_empty() {
            let drained = mark(ground, marker, &starts, visitors);
            visitors = drained.visitors;
            self.aside.extend(drained.aside);
            let mut marked = drained.marked;
            starts.clear();
            // Those whose keys are thought dead wait all the same: a check that looks later may keep
            // such a key.
            marked.ephemerons.retain(|&ephemeron| {
                let holds = holds_values(ephemeron);
                if holds {
                    weak::dependents(ground, ephemeron, &mut visitors[0], &mut starts);
                }
                !holds
            });
            self.marked = std::mem::take(&mut self.marked).plus(marked);
        }
        for Beside {
            counter, showing, ..
        } in visitors
        {
            showing.finish();
            self.counters.push(counter);
        }
        Traced {
            objects: self.marked.objects - before,
        }
    }

    /// As [`show`](Self::show), where nothing is counted.
    fn show_alone<'v, K: Marker, const FEW: bool, const OVERLAPS: bool>(
        &mut self,
        phase: &Phase<ObjectId<'v>>,
        marker: K,
        holds_values: &dyn Fn(Raw) -> bool,
        examiners: &mut [&mut dyn Examiner<ObjectId<'v>>],
    ) -> Traced {
        let wants = |class| examiners.iter().any(|it| it.wants(class));
        let traces = match FEW {
            true => watched_traces(self.ground.traces, wants),
            false => shown_traces(self.ground.traces, wants),
        };
        let ground = Ground {
            traces: &traces,
            ..self.ground
        };
        let starts = phase.starts.iter().map(|it| Start::from(it.raw()));
        let mut starts: Vec<Start<()>> = starts.collect();
        let mut visitors: Vec<Shown<'_, 'v, FEW, OVERLAPS>> = examiners
            .iter_mut()
            .map(|examiner| Shown::new(Showing::new(&mut **examiner, phase)))
            .collect();
        let before = self.marked.objects;
        while !starts.is_empty() {
            let drained = mark(ground, marker, &starts, visitors);
            visitors = drained.visitors;
            let aside = drained.aside.into_iter();
            self.aside.extend(aside.map(|it| Start::from(it.to)));
            let mut marked = drained.marked;
            starts.clear();
            // As above.
            marked.ephemerons.retain(|&ephemeron| {
                let holds = holds_values(ephemeron);
                if holds {
                    weak::dependents(ground, ephemeron, &mut visitors[0], &mut starts);
                }
                !holds
            });
            self.marked = std::mem::take(&mut self.marked).plus(marked);
        }
        let shown: usize = visitors.into_iter().map(|it| it.showing.finish()).sum();
        let objects = self.marked.objects - before;
        // A phase in which nothing is tested tells nothing of the others.
        if traces != self.ground.traces {
            let shows_many = shown > objects / MANY;
            self.heap.shows_many.store(shows_many, Relaxed);
        }
        Traced { objects }
    }
}

/// If more than one of this many objects is shown, the loop tests each object for it.
const MANY: usize = 8;

impl<'h, C: Counter<'h>, M: CollectionMarker> Ridden for Phases<'h, C, M> {
    fn survey<'v>(
        &mut self,
        phase: &Phase<ObjectId<'v>>,
        holds_values: &dyn Fn(Raw) -> bool,
        examiners: &mut [&mut dyn Examiner<ObjectId<'v>>],
    ) -> Option<Traced> {
        let (since, avoid) = match phase.filter {
            Filter::Once { since, avoid } => (since, avoid),
            // Nothing is avoided, and no object carries that mark.
            Filter::Alone => (phase.mark, phase.mark),
            _ => return None,
        };
        let fits = examiners.len() == self.counters.len();
        // Nor does what a check marks grow staler.
        if !C::RIDDEN || M::AGES || !fits || !self.owed.admits(self.ground, phase) {
            // Nor may the phases behind it: they would not know what this one has entered.
            self.owed.forget_marks();
            return None;
        }
        if !self.owed.note_survey(since) {
            return None;
        }
        // Until the phase has come to its end.
        self.owed.broken = true;
        let overlaps = C::MEETS || examiners.iter().any(|it| it.wants_overlaps());
        let traced = if C::NOTHING {
            let few = !self.heap.shows_many.load(Relaxed);
            let (epoch, series) = (
                self.ground.epoch,
                SeriesMark::new(phase.mark, avoid, self.ground.epoch),
            );
            // With no other phase there is no second mark.
            let is_alone = phase.filter == Filter::Alone;
            match (is_alone, few, overlaps) {
                (true, true, _) => {
                    self.show_alone::<_, true, false>(phase, epoch, holds_values, examiners)
                }
                (true, false, _) => {
                    self.show_alone::<_, false, false>(phase, epoch, holds_values, examiners)
                }
                (false, true, true) => {
                    self.show_alone::<_, true, true>(phase, series, holds_values, examiners)
                }
                (false, true, false) => {
                    self.show_alone::<_, true, false>(phase, series, holds_values, examiners)
                }
                (false, false, true) => {
                    self.show_alone::<_, false, true>(phase, series, holds_values, examiners)
                }
                (false, false, false) => {
                    self.show_alone::<_, false, false>(phase, series, holds_values, examiners)
                }
            }
        } else {
            match overlaps {
                true => self.show::<true>(phase, avoid, holds_values, examiners),
                false => self.show::<false>(phase, avoid, holds_values, examiners),
            }
        };
        self.owed.broken = false;
        Some(traced)
    }

    fn owed(&mut self) -> Option<&mut Owed> {
        // What traces with visitors of their own mark is not counted.
        let counts = C::OBJECTS || C::WATCHES || C::MEETS || M::AGES;
        (!counts).then_some(&mut self.owed)
    }

    fn forget_marks(&mut self) {
        self.owed.forget_marks();
    }
}
