//! Showing examiners what a trace of a snapshot enters: first everything is marked, then what carries the mark is shown
//! in the order of the heap.
//!
//! To look into objects as they are entered waits for memory at each of them, for a trace goes to and fro. In order, the
//! fields of an object lie behind those of the one before, and objects that refer to one another are often neighbours.
//! Objects of a class are shown together, as many as are looked into at a time.
//!
//! Marking waits as well. So it takes several objects from its stack at once: nothing that is read of one waits for what is read of
//! another, while the first child of an object would wait for the object. An object that two threads meet at the same
//! time may be entered by both, which costs time and changes nothing: what is shown is found by the marks.
//!
//! Where a phase enters all that lives, examiners are asked first which objects they would take note of, dead or alive
//! ([`Examiner::sift`]). Rules that hold on all objects there are need no marking; and if some objects break one, only those are shown, when
//! it is known which of them live. Where too many would be noted, nothing is won, and all is done as always.
//!
//! The slow twin is [`trace::survey`](crate::trace::survey), which is also used where overlaps are wanted, where objects carry the mark
//! already, and where a phase is not one of a plan.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering::Relaxed};

use super::{Hold, ObjectId, Snapshot, SnapshotVisits};
use crate::crew;
use crate::fields::lanes;
use crate::pool::Pool;
use crate::sync::Mutex;
use crate::trace::{BATCH, Examiner, Filter, Phase, Traced, survey};
use crate::view::HeapView;

/// How many objects are taken from the stack at once.
const AHEAD: usize = 16;
/// A worker keeps at least this much to itself.
const SHARE_ABOVE: usize = 128;
/// How many objects a worker looks at before it takes others.
const PIECE: usize = 1 << 14;
/// How many objects may be of interest, and one of how many more, for only those to be shown.
const MOST_OF_INTEREST: usize = 4096;
const MOST_OF_ALL: usize = 64;

impl Snapshot {
    /// [`Traceable::survey`](crate::trace::Traceable::survey).
    pub(super) fn survey_in_order(
        &self,
        visits: &mut SnapshotVisits,
        phase: &Phase<ObjectId>,
        mut examiners: Vec<&mut dyn Examiner<ObjectId>>,
    ) -> Traced {
        let (since, avoid) = match phase.filter {
            Filter::Once { since, avoid } => (since, avoid),
            // A series by itself: nothing is avoided, for nobody has marked yet.
            Filter::Alone => (phase.mark, phase.mark),
            _ => return survey(self, visits, phase, examiners),
        };
        let is_new = visits.is_first(phase.mark);
        if !is_new || examiners.iter().any(|it| it.wants_overlaps()) {
            return survey(self, visits, phase, examiners);
        }
        let marking = Marking {
            heap: self,
            marks: visits.marks(),
            since: since.0,
            mark: phase.mark.0,
            avoid: avoid.0,
        };
        let of_interest = match self.enters_all(phase) {
            true => marking.sift(&mut examiners),
            false => None,
        };
        if of_interest.as_ref().is_none_or(|it| !it.is_empty()) {
            marking.run(&phase.starts, examiners.len());
        }
        match of_interest {
            Some(objects) => marking.show_some(&objects, examiners),
            None => marking.show(examiners),
        }
    }

    /// Whether a phase enters whatever lives, and nobody else needs its marks.
    fn enters_all(&self, phase: &Phase<ObjectId>) -> bool {
        phase.filter == Filter::Alone
            && phase.starts.len() == self.roots.len()
            && phase
                .starts
                .iter()
                .zip(&self.roots)
                .all(|(a, (_, b))| a == b)
    }
}

struct Marking<'m> {
    heap: &'m Snapshot,
    marks: &'m [AtomicU8],
    /// The first mark of the series.
    since: u8,
    mark: u8,
    /// What is neither entered nor marked.
    avoid: u8,
}

impl Marking<'_> {
    /// Whether an object is new.
    #[inline]
    fn is_new(&self, object: u32) -> bool {
        let before = self.marks[object as usize].load(Relaxed);
        before != self.avoid && !(self.since..=self.mark).contains(&before)
    }

    /// Marks what can be reached.
    fn run(&self, starts: &[ObjectId], workers: usize) {
        let pool = Pool::new(workers);
        for index in 0..workers {
            let some = starts.iter().skip(index).step_by(workers);
            pool.give(some.map(|it| it.0).collect());
        }
        let work = |_| {
            let _guard = pool.guard();
            while let Some(stack) = pool.take() {
                self.drain(stack, &pool);
            }
        };
        crew::run(workers, work, || pool.do_without_one());
    }

    fn drain(&self, mut stack: Vec<u32>, pool: &Pool<Vec<u32>>) {
        let heap = self.heap;
        let mut entered = [(0, 0, 0); AHEAD];
        while !stack.is_empty() {
            let from = stack.len().saturating_sub(AHEAD);
            let mut count = 0;
            for &object in &stack[from..] {
                if self.is_new(object) {
                    self.marks[object as usize].store(self.mark, Relaxed);
                    let edges = heap.edge_range(ObjectId(object));
                    entered[count] = (object, edges.start, edges.end);
                    count += 1;
                }
            }
            stack.truncate(from);
            for &(object, start, end) in &entered[..count] {
                if start == end {
                    continue;
                }
                match heap.holds[heap.class_of[object as usize] as usize] {
                    Hold::Strong => {
                        let targets = heap.targets[start..end].iter();
                        stack.extend(targets.filter(|it| self.is_new(**it)));
                    }
                    Hold::Mixed => heap.for_each_strong_edge(ObjectId(object), |_, to| {
                        if self.is_new(to.0) {
                            stack.push(to.0);
                        }
                    }),
                }
            }
            if stack.len() > SHARE_ABOVE && pool.is_hungry() {
                let newer = stack.split_off(stack.len() / 2);
                pool.give(std::mem::replace(&mut stack, newer));
            }
        }
    }

    /// Returns which objects of the heap are of interest to examiners, in any order. None if these are too many.
    fn sift(&self, examiners: &mut [&mut dyn Examiner<ObjectId>]) -> Option<Vec<ObjectId>> {
        let most = MOST_OF_INTEREST + self.heap.len() / MOST_OF_ALL;
        let (next, found) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let workers = examiners.len();
        let examiners: Vec<_> = examiners.iter_mut().map(Mutex::new).collect();
        let work = |index: usize| {
            let mut examiner = examiners[index].lock().unwrap();
            let mut batches = Batches::new(self.heap, &***examiner);
            let mut of_interest = Vec::new();
            let mut sift = |batch: &[ObjectId]| {
                let before = of_interest.len();
                let all = !0 >> (BATCH - batch.len());
                let sifted = lanes(examiner.sift(batch) & all);
                of_interest.extend(sifted.map(|lane| batch[lane]));
                found.fetch_add(of_interest.len() - before, Relaxed);
            };
            while found.load(Relaxed) <= most {
                let start = next.fetch_add(PIECE, Relaxed);
                let piece = self.heap.class_of.iter().skip(start).take(PIECE);
                if piece.len() == 0 {
                    break;
                }
                for (object, &class) in (start as u32..).zip(piece) {
                    batches.add(ObjectId(object), class, &mut sift);
                }
            }
            batches.finish(sift);
            of_interest
        };
        let parts = crew::run(workers, work, || ());
        (found.into_inner() <= most).then(|| parts.concat())
    }

    /// Shows those of some objects that carry the mark.
    fn show_some(
        &self,
        objects: &[ObjectId],
        mut examiners: Vec<&mut dyn Examiner<ObjectId>>,
    ) -> Traced {
        let examiner = &mut *examiners[0];
        let mut batches = Batches::new(self.heap, examiner);
        let mut shown = 0;
        let mut show = |batch: &[ObjectId]| {
            examiner.examine(batch);
            shown += batch.len();
        };
        for &object in objects {
            if self.marks[object.0 as usize].load(Relaxed) == self.mark {
                let class = self.heap.class_of[object.0 as usize];
                batches.add(object, class, &mut show);
            }
        }
        batches.finish(show);
        Traced { objects: shown }
    }

    /// Shows what carries the mark.
    fn show(&self, examiners: Vec<&mut dyn Examiner<ObjectId>>) -> Traced {
        let next = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        let workers = examiners.len();
        let examiners: Vec<_> = examiners
            .into_iter()
            .map(|it| Mutex::new(Some(it)))
            .collect();
        let work = |index: usize| {
            let examiner = examiners[index].lock().unwrap().take();
            let examiner = examiner.expect("each is taken once");
            let mut batches = Batches::new(self.heap, examiner);
            let mut shown = 0;
            while !stop.load(Relaxed) {
                let start = next.fetch_add(PIECE, Relaxed);
                let Some(marks) = self.marks.get(start..) else {
                    break;
                };
                if marks.is_empty() {
                    break;
                }
                let marks = marks.iter().take(PIECE);
                let mut show = |batch: &[ObjectId]| {
                    examiner.examine(batch);
                    shown += batch.len();
                };
                for (object, mark) in (start as u32..).zip(marks) {
                    if mark.load(Relaxed) == self.mark {
                        let class = self.heap.class_of[object as usize];
                        batches.add(ObjectId(object), class, &mut show);
                    }
                }
                if examiner.is_done() {
                    stop.store(true, Relaxed);
                }
            }
            batches.finish(|batch| {
                examiner.examine(batch);
                shown += batch.len();
            });
            shown
        };
        let shown = crew::run(workers, work, || ());
        Traced {
            objects: shown.into_iter().sum(),
        }
    }
}

/// Puts objects of a class together.
struct Batches {
    /// By class id: 0 if it is not wanted, else the place behind it in `batches`.
    places: Vec<u32>,
    batches: Vec<Vec<ObjectId>>,
}

impl Batches {
    fn new(heap: &Snapshot, examiner: &dyn Examiner<ObjectId>) -> Self {
        let mut places = vec![0];
        let mut wanted = 0;
        for class in &heap.classes {
            let wants = examiner.wants(class.id);
            wanted += u32::from(wants);
            places.push(if wants { wanted } else { 0 });
        }
        Self {
            places,
            batches: (0..wanted).map(|_| Vec::with_capacity(BATCH)).collect(),
        }
    }

    /// Takes an object of a class, if that is wanted, and gives a full batch away.
    #[inline]
    fn add(&mut self, object: ObjectId, class: u32, full: &mut impl FnMut(&[ObjectId])) {
        let Some(place) = self.places[class as usize].checked_sub(1) else {
            return;
        };
        let batch = &mut self.batches[place as usize];
        batch.push(object);
        if batch.len() == BATCH {
            full(batch);
            batch.clear();
        }
    }

    /// Gives away what is left.
    fn finish(self, full: impl FnMut(&[ObjectId])) {
        let left = self.batches.iter().filter(|it| !it.is_empty());
        left.map(|it| &it[..]).for_each(full);
    }
}
