//! Edges counted by (source class, target class).

/// One row per source class, allocated when the class is first seen as a
/// source: with a million possible classes, few rows are ever needed.
pub struct PairCounts {
    rows: Vec<Box<[u32]>>,
    classes: usize,
}

impl PairCounts {
    pub fn new(classes: usize) -> Self {
        PairCounts {
            rows: (0..classes).map(|_| Box::default()).collect(),
            classes,
        }
    }

    #[inline(always)]
    pub fn count(&mut self, source: u32, target: u32) {
        let row = &mut self.rows[source as usize];
        if let Some(count) = row.get_mut(target as usize) {
            *count += 1;
        } else {
            Self::first_in_row(row, self.classes, target);
        }
    }

    #[cold]
    #[inline(never)]
    fn first_in_row(row: &mut Box<[u32]>, classes: usize, target: u32) {
        *row = vec![0; classes].into_boxed_slice();
        row[target as usize] = 1;
    }

    pub fn edges(&self) -> usize {
        self.rows
            .iter()
            .flatten()
            .map(|&count| count as usize)
            .sum()
    }
}
