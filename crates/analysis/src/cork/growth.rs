//! What has grown between censuses.
//!
//! Evidence is monotone: what something has grown by counts if it has not fallen in between.
//!
//! *Paths* are the same if their names are. *Containers* are matched from the roots on: below one that is
//! matched, by slot and class. Of several in the elements of one array, those with the same index belong together;
//! unless taking them by size explains the change with less, as after a hash table was rehashed or a
//! list has moved up.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::census::{Census, Container};

/// By how much something may fall and still be growing: this part of its growth.
const FALL: f64 = 0.125;

/// Returns what a volume has grown by, oldest first; 0 if it has fallen meanwhile.
pub fn monotone(volumes: &[u64]) -> u64 {
    let (Some(first), Some(last)) = (volumes.first(), volumes.last()) else {
        return 0;
    };
    let grown = last.saturating_sub(*first);
    let fell = |pair: &[u64]| pair[0].saturating_sub(pair[1]) as f64 > FALL * grown as f64;
    match volumes.windows(2).any(fell) {
        true => 0,
        false => grown,
    }
}

/// Returns for each path of the last census what was there at each, as objects and bytes, oldest first.
pub fn courses(censuses: &[&Census]) -> Vec<Vec<(u64, u64)>> {
    let Some((last, earlier)) = censuses.split_last() else {
        return Vec::new();
    };
    let mut courses = vec![Vec::with_capacity(censuses.len()); last.paths.len()];
    for before in earlier {
        let steps = before.paths.iter().zip(0..);
        let steps = steps.map(|(it, at)| ((it.within, it.slot.as_str(), it.class.as_str()), at));
        let known: HashMap<(Option<u32>, &str, &str), u32> = steps.collect();
        // For each path of the last census, the same one before. What a path prolongs comes before it.
        let mut same: Vec<Option<u32>> = Vec::with_capacity(last.paths.len());
        for (path, course) in last.paths.iter().zip(&mut courses) {
            let holder = path.within.map(|it| same[it as usize]);
            let found = match holder {
                Some(None) => None,
                holder => known.get(&(holder.flatten(), path.slot.as_str(), path.class.as_str())),
            };
            same.push(found.copied());
            let then = found.map(|&at| &before.paths[at as usize]);
            course.push(then.map_or((0, 0), |it| (it.objects, it.bytes)));
        }
    }
    for (path, course) in last.paths.iter().zip(&mut courses) {
        course.push((path.objects, path.bytes));
    }
    courses
}

/// Returns what each container of the last list has grown by, oldest list first. One that was in none
/// of the lists before has grown by nothing that can be compared, if there are several.
pub fn growth(lists: &[&[Container]]) -> Vec<u64> {
    let grown = |held: Vec<u64>| match (held.len(), lists.len()) {
        // It was not there, or held too little to be counted.
        (1, ..=2) => held[0],
        _ => monotone(&held),
    };
    held(lists).into_iter().map(grown).collect()
}

/// Returns what each container of the last list held at the censuses at which it was counted, without a gap, oldest
/// first.
pub(super) fn held(lists: &[&[Container]]) -> Vec<Vec<u64>> {
    let Some((last, earlier)) = lists.split_last() else {
        return Vec::new();
    };
    // For each container of the last list, what it held at each census, latest first.
    let mut held: Vec<Vec<u64>> = last.iter().map(|it| vec![it.bytes]).collect();
    let mut same: Vec<Option<u32>> = (0..last.len() as u32).map(Some).collect();
    let mut after: &[Container] = last;
    for before in earlier.iter().rev() {
        let matched = matched(before, after);
        for (it, held) in same.iter_mut().zip(&mut held) {
            *it = it.and_then(|it| matched[it as usize]);
            held.extend(it.map(|it| before[it as usize].bytes));
        }
        after = before;
    }
    held.iter_mut().for_each(|it| it.reverse());
    held
}

/// Returns for each container which one it was before.
pub fn matched(before: &[Container], after: &[Container]) -> Vec<Option<u32>> {
    let mut found: Vec<Option<u32>> = vec![None; after.len()];
    let (then, now) = (siblings(before), siblings(after));
    // Holders come before what they hold.
    let mut groups: Vec<(&Key<'_>, &Vec<u32>)> = now.iter().collect();
    groups.sort_by_key(|it| it.1[0]);
    for (&(within, slot, class), now) in groups {
        let holder = match within {
            None => None,
            Some(within) => match found[within as usize] {
                Some(holder) => Some(holder),
                None => continue,
            },
        };
        let Some(then) = then.get(&(holder, slot, class)) else {
            continue;
        };
        for (old, new) in pairs((before, then), (after, now)) {
            found[new as usize] = Some(old);
        }
    }
    found
}

/// Containers that only their index and their size tell apart: in what, through which slot, of which class.
type Key<'t> = (Option<u32>, &'t str, &'t str);

fn siblings(all: &[Container]) -> HashMap<Key<'_>, Vec<u32>> {
    let mut siblings: HashMap<Key<'_>, Vec<u32>> = HashMap::new();
    for (number, it) in (0..).zip(all) {
        let key = (it.within, it.slot.as_str(), it.class.as_str());
        siblings.entry(key).or_default().push(number);
    }
    siblings
}

/// Some of the containers of a list.
type Siblings<'t> = (&'t [Container], &'t [u32]);

/// Pairs siblings of two lists.
fn pairs(before: Siblings<'_>, after: Siblings<'_>) -> Vec<(u32, u32)> {
    let bytes = |all: &[Container], it: u32| all[it as usize].bytes;
    let index = |all: &[Container], it: u32| all[it as usize].index;
    let sorted = |(all, siblings): Siblings<'_>| {
        let mut sorted = siblings.to_vec();
        sorted.sort_by_key(|&it| Reverse(bytes(all, it)));
        sorted
    };
    let by_size: Vec<(u32, u32)> = sorted(before).into_iter().zip(sorted(after)).collect();
    let places = before.1.iter().map(|&it| (index(before.0, it), it));
    let mut places: HashMap<Option<u32>, u32> = places.collect();
    // Each once: what the objects of a list refer to has no index.
    let same_place = |&new: &u32| Some((places.remove(&index(after.0, new))?, new));
    let by_index: Vec<(u32, u32)> = after.1.iter().filter_map(same_place).collect();
    match unexplained(before, after, &by_index) <= unexplained(before, after, &by_size) {
        true => by_index,
        false => by_size,
    }
}

/// Returns what a pairing leaves to be explained: the changes of pairs, and all of what has no pair.
fn unexplained(before: Siblings<'_>, after: Siblings<'_>, pairs: &[(u32, u32)]) -> u64 {
    let bytes = |all: &[Container], it: u32| all[it as usize].bytes;
    let total =
        |(all, siblings): Siblings<'_>| -> u64 { siblings.iter().map(|&it| bytes(all, it)).sum() };
    let (mut paired, mut changed) = (0, 0);
    for &(old, new) in pairs {
        let (old, new) = (bytes(before.0, old), bytes(after.0, new));
        paired += old + new;
        changed += old.abs_diff(new);
    }
    changed + (total(before) + total(after) - paired)
}
