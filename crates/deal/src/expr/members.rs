//! What is in a set.

use heaphound_heap::set::ObjectSet;

/// A set: objects, and threads that have no thread object of their own to stand for them.
///
/// PHALANX's sets of threads hold thread objects. A thread without one would be missing in
/// `thread_reach(o)`, and two threads with the same object would be one: what they share would seem
/// to be nobody's, or one thread's. So these are members, too: they count, and sets that differ in
/// them differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Members<O> {
    /// The objects.
    pub objects: ObjectSet<O>,
    /// The threads without an object that is theirs alone, by their places among the threads of the view, in order.
    pub threads: Vec<usize>,
}

impl<O> Default for Members<O> {
    fn default() -> Self {
        Self {
            objects: ObjectSet::default(),
            threads: Vec::new(),
        }
    }
}

impl<O> From<ObjectSet<O>> for Members<O> {
    fn from(objects: ObjectSet<O>) -> Self {
        let threads = Vec::new();
        Self { objects, threads }
    }
}

impl<O: Copy + Ord> Members<O> {
    /// Whether an object is in the set.
    pub fn contains(&self, object: O) -> bool {
        self.objects.contains(object)
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.objects.len() + self.threads.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The objects, in the order of the view.
    pub fn iter(&self) -> impl Iterator<Item = O> + '_ {
        self.objects.iter()
    }

    /// The objects, in the order of the view.
    pub fn as_slice(&self) -> &[O] {
        self.objects.as_slice()
    }

    /// What is in either set.
    pub fn union(&self, other: &Self) -> Self {
        let mut threads = [self.threads.as_slice(), &other.threads].concat();
        threads.sort_unstable();
        threads.dedup();
        Self {
            objects: self.objects.union(&other.objects),
            threads,
        }
    }

    /// What is in both.
    pub fn intersection(&self, other: &Self) -> Self {
        let objects = self.objects.intersection(&other.objects);
        self.with(objects, |it| other.threads.contains(it))
    }

    /// What is in this set and not in the other.
    pub fn difference(&self, other: &Self) -> Self {
        let objects = self.objects.difference(&other.objects);
        self.with(objects, |it| !other.threads.contains(it))
    }

    fn with(&self, objects: ObjectSet<O>, keep: impl Fn(&usize) -> bool) -> Self {
        let threads = self.threads.iter().copied().filter(keep).collect();
        Self { objects, threads }
    }
}
