//! How two heaps of one program differ: class by class, and object by object where names are stable.

use std::collections::{BTreeMap, HashMap, HashSet};

use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;

use crate::dominator::{DominatorTree, Dominators};
use crate::retained::least_by_class;

/// Live objects of a class, or of a heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Amount {
    /// How many.
    pub objects: u64,
    /// The bytes that they take.
    pub bytes: u64,
    /// The least that they retain together.
    pub retained_bytes: u64,
}

/// A class in two heaps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Its name.
    pub class: String,
    /// In the earlier heap.
    pub before: Amount,
    /// In the later one.
    pub after: Amount,
}

/// What a heap has of each class, by name, for a comparison.
#[derive(Debug, Default)]
pub struct Counts {
    /// Everything.
    pub total: Amount,
    classes: BTreeMap<String, Amount>,
}

impl Counts {
    /// Counts what lives in a heap.
    pub fn of(heap: &Snapshot, dominators: &Dominators) -> Self {
        let tree = DominatorTree::of(dominators);
        let mut amounts: Vec<Amount> = least_by_class(heap, &tree, 1)
            .into_iter()
            .map(|it| Amount {
                objects: it.objects as u64,
                retained_bytes: it.retained_bytes,
                ..Amount::default()
            })
            .collect();
        for object in dominators.objects() {
            let amount = &mut amounts[heap.class_of(object).0 as usize - 1];
            amount.bytes = amount.bytes.saturating_add(heap.bytes_of(object) as u64);
        }
        let mut classes: BTreeMap<String, Amount> = BTreeMap::new();
        // Two class loaders may each have a class of one name.
        for (class, amount) in heap.classes().iter().zip(amounts) {
            if amount.objects > 0 {
                let all = classes.entry(class.name.clone()).or_default();
                all.objects += amount.objects;
                all.bytes = all.bytes.saturating_add(amount.bytes);
                all.retained_bytes = all.retained_bytes.saturating_add(amount.retained_bytes);
            }
        }
        let bytes = dominators.reached_bytes();
        Self {
            total: Amount {
                objects: dominators.reached() as u64,
                bytes,
                retained_bytes: bytes,
            },
            classes,
        }
    }

    /// Returns how many classes both have, and how many the one with fewer has.
    pub fn in_common(&self, other: &Self) -> (usize, usize) {
        let common = self
            .classes
            .keys()
            .filter(|it| other.classes.contains_key(*it));
        (common.count(), self.classes.len().min(other.classes.len()))
    }

    /// Returns the classes that differ from an earlier heap, in the order of their names.
    pub fn since(&self, before: &Self) -> Vec<Difference> {
        let names: HashSet<&String> = self.classes.keys().chain(before.classes.keys()).collect();
        let of =
            |counts: &Self, class: &String| counts.classes.get(class).copied().unwrap_or_default();
        let differences = names.into_iter().map(|class| Difference {
            class: class.clone(),
            before: of(before, class),
            after: of(self, class),
        });
        let mut differences: Vec<Difference> =
            differences.filter(|it| it.before != it.after).collect();
        differences.sort_by(|a, b| a.class.cmp(&b.class));
        differences
    }
}

/// The names of a heap's live objects, for a comparison with a later one.
#[derive(Debug)]
pub struct Known {
    /// The numbers in names, by class.
    numbers: HashMap<String, HashSet<u64>>,
    count: usize,
}

/// Names are taken for stable if at least one in this many objects that lived before is found again.
const FEWEST_KEPT: usize = 4;

impl Known {
    /// Remembers the names of a heap whose objects have numbers of their own; None if they are
    /// simply counted, so that a number says nothing about another heap.
    pub fn of(heap: &Snapshot, dominators: &Dominators) -> Option<Self> {
        if heap.numbers().is_empty() {
            return None;
        }
        let mut numbers: HashMap<String, HashSet<u64>> = HashMap::new();
        for object in dominators.objects() {
            let class = &heap.class(heap.class_of(object)).name;
            if !numbers.contains_key(class) {
                numbers.insert(class.clone(), HashSet::new());
            }
            if let Some(of_class) = numbers.get_mut(class) {
                of_class.insert(heap.number_of(object));
            }
        }
        Some(Self {
            numbers,
            count: dominators.reached(),
        })
    }

    /// Returns the live objects of a later heap that were not there before. None if too few are found again
    /// for names to be stable.
    pub fn new_in(&self, heap: &Snapshot, dominators: &Dominators) -> Option<Vec<ObjectId>> {
        if heap.numbers().is_empty() {
            return None;
        }
        let is_known = |object: &ObjectId| {
            let class = &heap.class(heap.class_of(*object)).name;
            let numbers = self.numbers.get(class);
            numbers.is_some_and(|it| it.contains(&heap.number_of(*object)))
        };
        let (kept, new): (Vec<ObjectId>, Vec<ObjectId>) = dominators.objects().partition(is_known);
        let fewest = self.count.min(dominators.reached());
        (kept.len() * FEWEST_KEPT >= fewest).then_some(new)
    }
}
