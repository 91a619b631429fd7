//! The differences between two summaries.

use heaphound_heap::ClassId;

use super::{ClassTotal, Summary};

/// A class that has grown or shrunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The class.
    pub class: ClassId,
    /// Its totals before.
    pub before: ClassTotal,
    /// Its totals after.
    pub after: ClassTotal,
}

impl Difference {
    /// Returns how many bytes there are more than before.
    pub fn volume_bytes(&self) -> i64 {
        difference(self.before.volume_bytes, self.after.volume_bytes)
    }

    /// Returns how many objects there are more than before.
    pub fn objects(&self) -> i64 {
        difference(self.before.objects, self.after.objects)
    }
}

fn difference(before: u64, after: u64) -> i64 {
    let by = i64::try_from(after.abs_diff(before)).unwrap_or(i64::MAX);
    match after >= before {
        true => by,
        false => -by,
    }
}

impl Summary {
    /// Returns the classes that have other volumes or numbers of objects in a later summary,
    /// what has grown most first. Both are of one heap, or of one
    /// [`Series`](crate::series::Series).
    pub fn differences(&self, later: &Self) -> Vec<Difference> {
        let count = self.classes.len().max(later.classes.len()) as u32;
        let all = (1..count).map(ClassId).map(|class| Difference {
            class,
            before: self.class(class),
            after: later.class(class),
        });
        let mut changed: Vec<Difference> = all
            .filter(|it| (it.volume_bytes(), it.objects()) != (0, 0))
            .collect();
        changed.sort_by_key(|it| std::cmp::Reverse((it.volume_bytes(), it.objects())));
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_grown_most_comes_first() {
        let summary = |volumes: &[u64]| {
            let total = |&bytes: &u64| ClassTotal {
                objects: bytes / 8,
                volume_bytes: bytes,
                roots: 0,
            };
            Summary::new(volumes.iter().map(total).collect(), Vec::new())
        };
        let before = summary(&[0, 80, 16, 24]);
        let after = summary(&[0, 8, 16, 32, 64]);
        let found = before.differences(&after);
        let found: Vec<_> = found
            .iter()
            .map(|it| (it.class.0, it.volume_bytes(), it.objects()))
            .collect();
        assert_eq!(found, [(4, 64, 8), (3, 8, 1), (1, -72, -9)]);
    }
}
