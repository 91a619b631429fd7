//! Finds the known name that a misspelt one was probably meant to be.
//!
//! Names are compared by edit distance, without regard to case. A name without its package
//! (`HashMap` for `java.util.HashMap`) or without its index (`main` for `main[2]`) counts as
//! near as well. Names can come from hostile files, so the work is limited.

/// Longer names are not compared: nobody types them by hand.
const LONGEST_NAME: usize = 200;

/// The most pairs of characters that one search compares. Candidates after that are ignored.
const MOST_WORK: usize = 1 << 24;

/// Returns the known name that is nearest to `name`, if it is near enough to be meant.
///
/// ```
/// use heaphound_heap::nearest::nearest;
///
/// let known = ["java.util.HashMap", "java.util.List"];
/// assert_eq!(nearest("HashMpa", known.into_iter()), Some("java.util.HashMap"));
/// assert_eq!(nearest("Socket", known.into_iter()), None);
/// ```
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    near(name, known.map(|it| (it, it)), 1).pop()
}

/// Returns what belongs to the names that are near enough to `name`: the nearest first, at
/// most `limit`.
pub fn near<'a, T: Ord>(
    name: &str,
    known: impl Iterator<Item = (&'a str, T)>,
    limit: usize,
) -> Vec<T> {
    let wanted: Vec<char> = name.to_lowercase().chars().collect();
    if wanted.len() > LONGEST_NAME {
        return Vec::new();
    }
    let enough = 1 + wanted.len() / 4;
    let mut work = 0;
    let mut found: Vec<(usize, T)> = Vec::new();
    for (candidate, value) in known {
        let candidate = candidate.to_lowercase();
        let part = candidate.rsplit(['.', ':', '$', '/']).next();
        let part = part.and_then(|it| it.split('[').next()).unwrap_or_default();
        let mut distance = usize::MAX;
        for name in [candidate.as_str(), part] {
            let name: Vec<char> = name.chars().collect();
            // The distance is at least the difference of the lengths.
            if !name.is_empty() && name.len().abs_diff(wanted.len()) <= enough {
                work += name.len() * wanted.len();
                distance = distance.min(edit_distance(&wanted, &name));
            }
        }
        if distance <= enough {
            found.push((distance, value));
        }
        if work > MOST_WORK {
            break;
        }
    }
    found.sort();
    found.dedup();
    found.into_iter().map(|it| it.1).take(limit).collect()
}

/// Returns how many characters must be inserted, deleted, replaced or swapped with the next
/// one to turn `a` into `b`.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    // Rows of the usual table: the one before the last, the last, and this one.
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + (a[i - 1] != b[j - 1]) as usize;
            let mut least = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (a, b, expected) in [
            ("", "abc", 3),
            ("abc", "abc", 0),
            ("abc", "acb", 1),
            ("abcd", "abd", 1),
            ("kitten", "sitting", 3),
            ("abcdef", "badcfe", 3),
        ] {
            let [a, b] = [a, b].map(|it| it.chars().collect::<Vec<char>>());
            assert_eq!(edit_distance(&a, &b), expected);
            assert_eq!(edit_distance(&b, &a), expected);
        }
    }

    #[test]
    fn the_nearest_come_first_and_others_do_not() {
        let known = ["node", "nodes", "mode", "list"];
        let all = || known.iter().map(|it| (*it, *it));
        assert_eq!(near("Node", all(), 3), ["node", "mode", "nodes"]);
        assert_eq!(near("Node", all(), 1), ["node"]);
        assert_eq!(nearest("lsit", known.into_iter()), Some("list"));
        assert_eq!(nearest("socket", known.into_iter()), None);
        assert_eq!(nearest("main", ["main[2]"].into_iter()), Some("main[2]"));
    }

    #[test]
    fn long_and_many_names_take_little_time() {
        let long = "x".repeat(LONGEST_NAME + 1);
        assert_eq!(nearest(&long, [long.as_str()].into_iter()), None);
        let name = "x".repeat(LONGEST_NAME);
        let other = "y".repeat(LONGEST_NAME);
        let hostile = std::iter::repeat(other.as_str());
        assert_eq!(nearest(&name, hostile), None);
    }
}
