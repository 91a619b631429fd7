//! Linear algebra over the integers modulo a large prime: exact, and numbers do not grow.
//!
//! What holds for whole numbers also holds modulo a prime. The converse can fail only if the
//! prime divides some determinant, so callers check a result with the numbers themselves.

/// 2⁶¹ − 1.
const PRIME: i128 = (1 << 61) - 1;

/// A matrix in reduced row echelon form.
pub(super) struct Echelon {
    /// Rows that are not zero; each has a 1 in the column of its pivot, where the others have 0.
    rows: Vec<Vec<i128>>,
    pivots: Vec<usize>,
}

impl Echelon {
    pub(super) fn new(columns: usize, rows: impl Iterator<Item = Vec<i64>>) -> Self {
        let mut echelon = Self {
            rows: Vec::new(),
            pivots: Vec::new(),
        };
        for row in rows {
            debug_assert_eq!(row.len(), columns);
            echelon.add(&row);
        }
        echelon
    }

    /// Adds a row. Returns whether it was independent of those before.
    pub(super) fn add(&mut self, row: &[i64]) -> bool {
        let mut row: Vec<i128> = row.iter().map(|&it| reduced(it as i128)).collect();
        for (known, &pivot) in self.rows.iter().zip(&self.pivots) {
            subtract(&mut row, known, pivot);
        }
        let Some(pivot) = row.iter().position(|&it| it != 0) else {
            return false;
        };
        let inverse = inverse(row[pivot]);
        row.iter_mut().for_each(|it| *it = reduced(*it * inverse));
        for known in &mut self.rows {
            subtract(known, &row, pivot);
        }
        self.rows.push(row);
        self.pivots.push(pivot);
        true
    }

    /// Returns a column without a pivot as a sum of other columns: their fractions, which have
    /// small numerators and denominators. None if it has a pivot, or fractions are not small.
    pub(super) fn sum(&self, column: usize) -> Option<Vec<(usize, i64, i64)>> {
        if self.pivots.contains(&column) {
            return None;
        }
        let mut terms = Vec::new();
        for (row, &pivot) in self.rows.iter().zip(&self.pivots) {
            if row[column] != 0 {
                let (top, bottom) = small_fraction(row[column])?;
                terms.push((pivot, top, bottom));
            }
        }
        terms.sort_unstable();
        Some(terms)
    }
}

/// Larger numbers do not occur in relations that a person would write down.
const MOST: i128 = 8;

fn small_fraction(value: i128) -> Option<(i64, i64)> {
    (1..=MOST).find_map(|bottom| {
        let top = reduced(value * bottom);
        let top = match top > PRIME / 2 {
            true => top - PRIME,
            false => top,
        };
        (top.abs() <= MOST).then_some((top as i64, bottom as i64))
    })
}

fn subtract(row: &mut [i128], other: &[i128], pivot: usize) {
    let factor = row[pivot];
    if factor != 0 {
        for (it, other) in row.iter_mut().zip(other) {
            *it = reduced(*it - factor * other);
        }
    }
}

fn reduced(value: i128) -> i128 {
    value.rem_euclid(PRIME)
}

/// Returns the inverse, by Fermat's little theorem.
fn inverse(value: i128) -> i128 {
    let (mut base, mut exponent, mut result) = (value, PRIME - 2, 1);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = reduced(result * base);
        }
        base = reduced(base * base);
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_depends_on_the_rest_is_found_as_a_sum() {
        let rows = [vec![100, 1, 99], vec![250, 2, 248], vec![31_000, 7, 30_993]];
        let echelon = Echelon::new(3, rows.into_iter());
        assert_eq!(echelon.rows.len(), 2);
        assert_eq!(echelon.sum(2), Some(vec![(0, 1, 1), (1, -1, 1)]));
        assert_eq!(echelon.sum(0), None);
    }

    #[test]
    fn fractions_are_recognised() {
        let echelon = Echelon::new(2, [vec![6, 9]].into_iter());
        assert_eq!(echelon.sum(1), Some(vec![(0, 3, 2)]));
        let echelon = Echelon::new(2, [vec![1_000, 999]].into_iter());
        assert_eq!(echelon.sum(1), None);
    }
}
