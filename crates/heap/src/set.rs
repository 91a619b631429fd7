//! Sets of objects, as values.

/// A set of objects of one view.
///
/// A sorted list: a probe's answer is made once and then asked, and four bytes an object
/// is the least that it can take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectSet<O> {
    objects: Vec<O>,
}

impl<O> Default for ObjectSet<O> {
    fn default() -> Self {
        Self {
            objects: Vec::new(),
        }
    }
}

impl<O: Copy + Ord> ObjectSet<O> {
    /// The set of these objects, which are in order, each once.
    pub fn sorted(objects: Vec<O>) -> Self {
        debug_assert!(objects.is_sorted_by(|a, b| a < b), "they are in order");
        Self { objects }
    }

    /// Whether an object is in the set.
    pub fn contains(&self, object: O) -> bool {
        self.objects.binary_search(&object).is_ok()
    }

    /// How many objects the set has.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The objects, in the order of the view.
    pub fn iter(&self) -> impl Iterator<Item = O> + '_ {
        self.objects.iter().copied()
    }

    /// The objects, in the order of the view.
    pub fn as_slice(&self) -> &[O] {
        &self.objects
    }

    /// What is in either set.
    pub fn union(&self, other: &Self) -> Self {
        self.iter().chain(other.iter()).collect()
    }

    /// What is in both.
    pub fn intersection(&self, other: &Self) -> Self {
        let (few, many) = if self.len() < other.len() {
            (self, other)
        } else {
            (other, self)
        };
        let objects = few.iter().filter(|&object| many.contains(object)).collect();
        Self { objects }
    }

    /// What is in this set and not in the other.
    pub fn difference(&self, other: &Self) -> Self {
        let objects = self
            .iter()
            .filter(|&object| !other.contains(object))
            .collect();
        Self { objects }
    }

    /// Whether nothing is in both.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.intersection(other).is_empty()
    }

    /// Whether everything in this set is in the other.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.iter().all(|object| other.contains(object))
    }
}

impl<O: Ord> FromIterator<O> for ObjectSet<O> {
    fn from_iter<I: IntoIterator<Item = O>>(objects: I) -> Self {
        let mut objects: Vec<O> = objects.into_iter().collect();
        objects.sort_unstable();
        objects.dedup();
        Self { objects }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_behave_like_the_standard_librarys() {
        use std::collections::BTreeSet;
        let sets: [&[u32]; 5] = [&[], &[1], &[3, 1, 2, 2], &[2, 9, 4], &[7, 8]];
        for a in sets {
            for b in sets {
                let (x, y): (ObjectSet<_>, ObjectSet<_>) =
                    (a.iter().copied().collect(), b.iter().copied().collect());
                let (p, q): (BTreeSet<_>, BTreeSet<_>) =
                    (a.iter().copied().collect(), b.iter().copied().collect());
                assert!(x.union(&y).iter().eq(p.union(&q).copied()));
                assert!(x.intersection(&y).iter().eq(p.intersection(&q).copied()));
                assert!(x.difference(&y).iter().eq(p.difference(&q).copied()));
                assert_eq!(x.is_disjoint(&y), p.is_disjoint(&q));
                assert_eq!(x.is_subset(&y), p.is_subset(&q));
                assert_eq!(x.len(), p.len());
                assert!((0..10).all(|i| x.contains(i) == p.contains(&i)));
            }
        }
    }
}
