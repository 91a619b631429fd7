//! Tracing a snapshot, on several threads.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

use super::{Hold, ObjectId, Snapshot};
use crate::class::ClassId;
use crate::crew;
use crate::pool::Pool;
use crate::sync::Mutex;
use crate::trace::{Examiner, Filter, MAX_MARKS, Phase, Traceable, Traced, Visit, Visitor, Visits};
use crate::view::HeapView;

/// The visited marks of a snapshot: a byte an object.
pub struct SnapshotVisits {
    marks: Box<[AtomicU8]>,
    last: u8,
    /// The first mark that no object carries so far.
    unused: u8,
}

impl SnapshotVisits {
    pub(super) fn marks(&self) -> &[AtomicU8] {
        &self.marks
    }

    /// Whether no object carries a mark; from now on some may. Marks are given out in order, and used in order.
    pub(super) fn is_first(&mut self, mark: Visit) -> bool {
        let is_first = mark.0 >= self.unused;
        self.unused = self.unused.max(mark.0.saturating_add(1));
        is_first
    }
}

impl Visits for SnapshotVisits {
    type Object = ObjectId;

    fn reserve(&mut self, marks: usize) {
        assert!(marks <= MAX_MARKS, "{marks} marks at once are too many");
        if self.last as usize + marks > u8::MAX as usize {
            for mark in &mut self.marks {
                *mark.get_mut() = 0;
            }
            self.last = 0;
            self.unused = 0;
        }
    }

    fn fresh(&mut self) -> Visit {
        self.last = self.last.checked_add(1).expect("marks are reserved first");
        Visit(self.last)
    }

    fn set(&mut self, object: ObjectId, mark: Visit) -> bool {
        self.is_first(mark);
        let before = self.marks[object.0 as usize].get_mut();
        std::mem::replace(before, mark.0) != mark.0
    }

    fn get(&self, object: ObjectId) -> Visit {
        Visit(self.marks[object.0 as usize].load(Relaxed))
    }
}

impl Traceable for Snapshot {
    type Visits<'a> = SnapshotVisits;

    fn visits(&self) -> SnapshotVisits {
        SnapshotVisits {
            marks: (0..self.len()).map(|_| AtomicU8::new(0)).collect(),
            last: 0,
            unused: 0,
        }
    }

    /// Nothing that is read of an object waits for what is read of one before it.
    fn for_each_target_of(&self, objects: &[ObjectId], mut f: impl FnMut(usize, ObjectId)) {
        let mut edges = [const { 0..0 }; TOGETHER];
        for (number, objects) in objects.chunks(TOGETHER).enumerate() {
            for (edges, object) in edges.iter_mut().zip(objects) {
                *edges = self.edge_range(*object);
            }
            for (at, (edges, object)) in edges.iter().zip(objects).enumerate() {
                let at = number * TOGETHER + at;
                match self.holds[self.class_of[object.0 as usize] as usize] {
                    Hold::Strong => {
                        let targets = self.targets[edges.clone()].iter();
                        targets.for_each(|to| f(at, ObjectId(*to)));
                    }
                    Hold::Mixed => self.for_each_strong_edge(*object, |_, to| f(at, to)),
                }
            }
        }
    }

    fn in_order(
        &self,
        visits: &SnapshotVisits,
        mark: Visit,
        mut objects: Vec<ObjectId>,
    ) -> Vec<ObjectId> {
        // To look at all marks takes less than to sort many objects.
        match objects.len() > self.len() / LISTED {
            true => {
                objects.clear();
                let marks = visits.marks.iter().zip(0..);
                let marked = marks.filter(|(it, _)| it.load(Relaxed) == mark.0);
                objects.extend(marked.map(|(_, object)| ObjectId(object)));
            }
            false => objects.sort_unstable(),
        }
        objects
    }

    fn survey(
        &self,
        visits: &mut SnapshotVisits,
        phase: &Phase<ObjectId>,
        examiners: Vec<&mut dyn Examiner<ObjectId>>,
    ) -> Traced {
        self.survey_in_order(visits, phase, examiners)
    }

    fn trace<V: Visitor<ObjectId>>(
        &self,
        visits: &mut SnapshotVisits,
        phase: &Phase<ObjectId>,
        visitors: Vec<V>,
    ) -> (Traced, Vec<V>) {
        visits.is_first(phase.mark);
        let count = visitors.len();
        let pool = Pool::new(count);
        for index in 0..count {
            let starts = phase.starts.iter().skip(index).step_by(count);
            pool.give(starts.map(|&to| (to, V::Tag::default())).collect());
        }
        let stop = AtomicBool::new(false);
        let visitors: Vec<_> = visitors
            .into_iter()
            .map(|it| Mutex::new(Some(it)))
            .collect();
        let work = |index: usize| {
            let _guard = pool.guard();
            let visitor = visitors[index].lock().unwrap().take();
            let visitor = visitor.expect("each is taken once");
            // A table: to ask a visitor may be a call through a pointer.
            let classes = (0..=self.classes().len() as u32).map(ClassId);
            let wanted = classes.map(|class| !V::FEW || class.0 > 0 && visitor.wants(class));
            let mut worker = Worker {
                heap: self,
                marks: &visits.marks,
                phase,
                wanted: wanted.collect(),
                visitor,
                stop: &stop,
                objects: 0,
                seen: 0,
            };
            while let Some(bundle) = pool.take() {
                worker.drain(bundle, &pool);
            }
            *visitors[index].lock().unwrap() = Some(worker.visitor);
            worker.objects
        };
        let done = crew::run(count, work, || pool.do_without_one());
        let objects = done.into_iter().sum();
        let back = |it: Mutex<Option<V>>| it.into_inner().unwrap().expect("it was put back");
        let visitors = visitors.into_iter().map(back).collect();
        (Traced { objects }, visitors)
    }
}

struct Worker<'a, V> {
    heap: &'a Snapshot,
    marks: &'a [AtomicU8],
    phase: &'a Phase<ObjectId>,
    /// By class: whether the visitor is told of its objects.
    wanted: Vec<bool>,
    visitor: V,
    stop: &'a AtomicBool,
    objects: usize,
    /// Edges that were looked at.
    seen: usize,
}

/// Whoever looks at few of the objects is asked this seldom whether it has seen enough.
const SELDOM: usize = 64;

/// Of how many objects one must carry a mark, that all marks are looked at.
const LISTED: usize = 64;

/// Of how many objects it is found out at once where their edges are.
const TOGETHER: usize = 16;

/// A worker keeps at least this much to itself.
const SHARE_ABOVE: usize = 128;

impl<V: Visitor<ObjectId>> Worker<'_, V> {
    fn drain(&mut self, mut stack: Vec<(ObjectId, V::Tag)>, pool: &Pool<Vec<(ObjectId, V::Tag)>>) {
        while let Some((object, tag)) = stack.pop() {
            if V::STOPS && self.stop.load(Relaxed) {
                return;
            }
            self.visit(object, tag, &mut stack);
            self.seen += 1;
            let asks = V::STOPS && (!V::FEW || self.seen.is_multiple_of(SELDOM));
            if asks && self.visitor.is_done() {
                self.stop.store(true, Relaxed);
                return;
            }
            if stack.len() > SHARE_ABOVE && pool.is_hungry() {
                let newer = stack.split_off(stack.len() / 2);
                pool.give(std::mem::replace(&mut stack, newer));
            }
        }
    }

    #[inline]
    fn visit(&mut self, object: ObjectId, tag: V::Tag, stack: &mut Vec<(ObjectId, V::Tag)>) {
        let Phase { filter, mark, .. } = *self.phase;
        let place = &self.marks[object.0 as usize];
        let before = Visit(place.load(Relaxed));
        if V::ARRIVALS {
            self.visitor.edge_arrived(tag, object, before);
        }
        let enters = match filter {
            Filter::StopAt(label) => before != label,
            Filter::Once { since, avoid } => {
                before != avoid && !(since.0..=mark.0).contains(&before.0)
            }
            _ => true,
        };
        // A swap tells exactly one worker that the object was new.
        if !enters || before == mark || place.swap(mark.0, Relaxed) == mark.0 {
            if V::MEETS {
                self.visitor.met(object, Visit(place.load(Relaxed)));
            }
            return;
        }
        let class = self.heap.class_of(object);
        if !V::FEW || self.wanted[class.0 as usize] {
            self.objects += 1;
            self.visitor.enter(object, class);
        }
        let Self { heap, visitor, .. } = self;
        heap.for_each_target(object, |to| {
            let tag = match V::READS {
                true => visitor.edge_read(object, to),
                false => V::Tag::default(),
            };
            stack.push((to, tag));
        });
    }
}
