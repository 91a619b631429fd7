//! What a class retains: its instances taken together, as one set.
//!
//! The exact answer needs a trace for each class: what lives, less what would live if no trace
//! entered an instance. The *least* that it can be comes from the dominators of a heap for all classes at
//! once: what each instance retains alone, where no other instance above it does already. It leaves out
//! what several instances keep alive together and none of them alone.

use std::ops::Range;

use heaphound_heap::ClassId;
use heaphound_heap::root::RootSet;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::trace::{Filter, Phase, Traceable, Visitor, Visits};
use heaphound_heap::view::HeapView;

use crate::dominator::DominatorTree;

/// What lives of a class.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct OfClass {
    /// Its instances.
    pub objects: usize,
    /// The least that they retain together.
    pub retained_bytes: u64,
}

/// Returns what lives of each class and the least that it retains, in the order of class ids, with the help of up
/// to that number of threads.
pub fn least_by_class(heap: &Snapshot, tree: &DominatorTree<'_>, threads: usize) -> Vec<OfClass> {
    let Range { start, end } = tree.places();
    let share = (end - start).div_ceil(threads.max(1)).max(1);
    let mut parts = (start..end).step_by(share);
    let part = |start: usize| least_in(heap, tree, start..end.min(start + share));
    std::thread::scope(|scope| {
        let first = parts.next();
        let others: Vec<_> = parts.map(|it| scope.spawn(move || part(it))).collect();
        let none = vec![OfClass::default(); heap.classes().len()];
        let mut all = first.map_or(none, part);
        for other in others {
            let other = other
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            for (class, more) in all.iter_mut().zip(other) {
                class.objects += more.objects;
                class.retained_bytes = class.retained_bytes.saturating_add(more.retained_bytes);
            }
        }
        all
    })
}

/// The same for a part of the order of the tree.
fn least_in(heap: &Snapshot, tree: &DominatorTree<'_>, part: Range<usize>) -> Vec<OfClass> {
    let mut classes = vec![OfClass::default(); heap.classes().len()];
    // Which classes have an instance on the way down from the virtual root, and where what the topmost one of each
    // dominates ends.
    let mut is_open = vec![false; heap.classes().len()];
    let mut open: Vec<(usize, usize)> = Vec::new();
    let class_of = |object| heap.class_of(object).0 as usize - 1;
    for (end, object) in tree.above(part.start) {
        let class = class_of(object);
        if !std::mem::replace(&mut is_open[class], true) {
            open.push((end, class));
        }
    }
    tree.for_each_in(part, |at, object, retained, end| {
        while let Some((_, class)) = open.pop_if(|it| it.0 <= at) {
            is_open[class] = false;
        }
        let place = class_of(object);
        let class = &mut classes[place];
        class.objects += 1;
        if !is_open[place] {
            class.retained_bytes = class.retained_bytes.saturating_add(retained);
            // What dominates nothing is left at once.
            if end > at + 1 {
                is_open[place] = true;
                open.push((end, place));
            }
        }
    });
    classes
}

/// Returns what the instances of a class retain together, by a trace that enters none of them.
/// `live_bytes` is what all that the roots reach takes.
pub fn exactly(heap: &Snapshot, class: ClassId, live_bytes: u64, threads: usize) -> u64 {
    let mut visits = heap.visits();
    visits.reserve(2);
    let (avoided, mark) = (visits.fresh(), visits.fresh());
    for object in heap.objects() {
        if heap.class_of(object) == class {
            visits.set(object, avoided);
        }
    }
    let mut starts = Vec::new();
    heap.for_each_root_target(RootSet::All, |object| starts.push(object));
    let phase = Phase {
        starts,
        filter: Filter::StopAt(avoided),
        mark,
    };
    let visitors = (0..threads.max(1))
        .map(|_| Sum { heap, bytes: 0 })
        .collect();
    let (_, visitors) = heap.trace(&mut visits, &phase, visitors);
    let without = visitors.iter().map(|it| it.bytes);
    live_bytes.saturating_sub(without.fold(0, u64::saturating_add))
}

/// Adds up the bytes of what a trace enters.
struct Sum<'h> {
    heap: &'h Snapshot,
    bytes: u64,
}

impl Visitor<ObjectId> for Sum<'_> {
    type Tag = ();

    fn object(&mut self, object: ObjectId) {
        let bytes = self.heap.bytes_of(object) as u64;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}
