//! What a class retains: its instances taken together, as one set.
//!
//! The exact answer needs a trace for each class: what lives, less what would live if no trace
//! entered an instance. The *least* that it can be comes from the dominators of a heap for all classes at
//! once: what each instance retains alone, where no other instance above it does already. It leaves out
//! what several instances keep alive together and none of them alone.

use heaphound_heap::ClassId;
use heaphound_heap::root::RootSet;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::trace::{Filter, Phase, Traceable, Visitor, Visits};
use heaphound_heap::view::HeapView;

use crate::dominator::{DominatorTree, Step};

/// What lives of a class.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct OfClass {
    /// Its instances.
    pub objects: usize,
    /// The least that they retain together.
    pub retained_bytes: u64,
}

/// Returns what lives of each class and the least that it retains, in the order of class ids.
pub fn least_by_class(heap: &Snapshot, tree: &DominatorTree<'_>) -> Vec<OfClass> {
    let mut classes = vec![OfClass::default(); heap.classes().len()];
    // How many instances of each class there are on the way down from the virtual root.
    let mut open = vec![0_u32; heap.classes().len()];
    tree.walk(None, |step| match step {
        Step::Enter(object) => {
            let place = heap.class_of(object).0 as usize - 1;
            let class = &mut classes[place];
            class.objects += 1;
            if open[place] == 0 {
                let bytes = tree.dominators().retained_bytes(object);
                class.retained_bytes = class.retained_bytes.saturating_add(bytes);
            }
            open[place] += 1;
        }
        Step::Leave(object) => open[heap.class_of(object).0 as usize - 1] -= 1,
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
