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
//! The slow twin is [`trace::survey`](crate::trace::survey), which is also used where overlaps are wanted, where objects carry the mark
//! already, and where a phase is not one of a plan.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering::Relaxed};

use super::{Hold, ObjectId, Snapshot, SnapshotVisits};
use crate::crew;
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

impl Snapshot {
    /// [`Traceable::survey`](crate::trace::Traceable::survey).
    pub(super) fn survey_in_order(
        &self,
        visits: &mut SnapshotVisits,
        phase: &Phase<ObjectId>,
        examiners: Vec<&mut dyn Examiner<ObjectId>>,
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
        marking.run(&phase.starts, examiners.len());
        marking.show(examiners)
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
            let mut showing = Showing::new(self.heap, examiner.expect("each is taken once"));
            while !stop.load(Relaxed) {
                let start = next.fetch_add(PIECE, Relaxed);
                let Some(marks) = self.marks.get(start..) else {
                    break;
                };
                if marks.is_empty() {
                    break;
                }
                let marks = marks.iter().take(PIECE);
                for (object, mark) in (start as u32..).zip(marks) {
                    if mark.load(Relaxed) == self.mark {
                        showing.object(object);
                    }
                }
                if showing.examiner.is_done() {
                    stop.store(true, Relaxed);
                }
            }
            showing.finish()
        };
        let shown = crew::run(workers, work, || ());
        Traced {
            objects: shown.into_iter().sum(),
        }
    }
}

/// Shows objects to an examiner, those of a class together.
struct Showing<'s> {
    heap: &'s Snapshot,
    examiner: &'s mut dyn Examiner<ObjectId>,
    /// By class id: 0 if it is not wanted, else the place behind it in `batches`.
    places: Vec<u32>,
    batches: Vec<Vec<ObjectId>>,
    objects: usize,
}

impl<'s> Showing<'s> {
    fn new(heap: &'s Snapshot, examiner: &'s mut dyn Examiner<ObjectId>) -> Self {
        let mut places = vec![0];
        let mut wanted = 0;
        for class in &heap.classes {
            let wants = examiner.wants(class.id);
            wanted += u32::from(wants);
            places.push(if wants { wanted } else { 0 });
        }
        Self {
            heap,
            examiner,
            places,
            batches: (0..wanted).map(|_| Vec::with_capacity(BATCH)).collect(),
            objects: 0,
        }
    }

    #[inline]
    fn object(&mut self, object: u32) {
        let class = self.heap.class_of[object as usize];
        let Some(place) = self.places[class as usize].checked_sub(1) else {
            return;
        };
        let batch = &mut self.batches[place as usize];
        batch.push(ObjectId(object));
        if batch.len() == BATCH {
            self.examiner.examine(batch);
            batch.clear();
            self.objects += BATCH;
        }
    }

    /// Shows what is left. Returns how many objects were shown.
    fn finish(mut self) -> usize {
        for batch in self.batches.iter().filter(|it| !it.is_empty()) {
            self.examiner.examine(batch);
            self.objects += batch.len();
        }
        self.objects
    }
}
