//! Who was asserted what of: entries for asserted objects, which follow them when they move and
//! are forgotten when they die. No other object pays.

use crate::raw::Raw;

/// Where and how an assertion was made, by its place in the list.
pub(crate) type SiteId = u32;

/// An asserted object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Entry {
    pub(crate) site: SiteId,
    pub(crate) raw: Raw,
}

/// An object and the one that is to own it; null once that has died.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Pair {
    pub(crate) owner: Raw,
    pub(crate) ownee: Raw,
    pub(crate) site: SiteId,
}

/// What refers to objects without keeping them.
pub(crate) trait Follows {
    fn is_young(&self) -> bool;

    /// Follows its objects to where they are now. Returns whether it is still of use.
    fn follow(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) -> bool;

    /// Takes out of a list what is there twice.
    fn dedup(list: &mut Vec<Self>)
    where
        Self: Ord + Sized,
    {
        list.sort_unstable();
        list.dedup();
    }
}

impl Follows for Raw {
    fn is_young(&self) -> bool {
        Raw::is_young(*self)
    }

    fn follow(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) -> bool {
        match now(*self) {
            Some(raw) => *self = raw,
            None => return false,
        }
        true
    }
}

impl Follows for Entry {
    fn is_young(&self) -> bool {
        self.raw.is_young()
    }

    fn follow(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) -> bool {
        self.raw.follow(now)
    }
}

impl Follows for Pair {
    fn is_young(&self) -> bool {
        self.owner.is_young() || self.ownee.is_young()
    }

    fn follow(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) -> bool {
        if !self.owner.is_null() {
            self.owner = now(self.owner).unwrap_or(Raw::NULL);
        }
        self.ownee.follow(now)
    }

    fn dedup(list: &mut Vec<Self>) {
        resolve(list);
    }
}

/// Entries; the young ones apart, so that a nursery collection need not look at all.
pub(crate) struct Table<E> {
    young: Vec<E>,
    pub(crate) old: Vec<E>,
    /// Something was added to the old ones, or they have moved, since they were last sorted.
    changed: bool,
}

impl<E> Default for Table<E> {
    fn default() -> Self {
        Self {
            young: Vec::new(),
            old: Vec::new(),
            changed: false,
        }
    }
}

impl<E: Follows + Ord> Table<E> {
    /// As [`push`](Self::push); what is said again and again is kept a few times at most.
    pub(crate) fn add(&mut self, entry: E) {
        let list = match entry.is_young() {
            true => &mut self.young,
            false => &mut self.old,
        };
        if list.len() == list.capacity() {
            make_room(list);
        }
        self.push(entry);
    }

    pub(crate) fn push(&mut self, entry: E) {
        match entry.is_young() {
            true => self.young.push(entry),
            false => {
                self.old.push(entry);
                self.changed = true;
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &E> {
        self.young.iter().chain(&self.old)
    }

    /// After a nursery collection: nothing is young any more.
    pub(crate) fn settle(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) {
        let survivors = self.young.drain(..).filter_map(|mut entry| {
            let kept = entry.follow(now);
            kept.then_some(entry)
        });
        self.old.extend(survivors);
        self.changed = true;
    }

    /// When all objects may have died or moved.
    pub(crate) fn follow(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) {
        self.old.retain_mut(|entry| entry.follow(now));
        self.changed = true;
    }
}

/// Forgets what is there twice; then half of the list is free, so that this is seldom needed.
#[cold]
fn make_room<E: Follows + Ord>(list: &mut Vec<E>) {
    E::dedup(list);
    list.reserve(list.len().max(8));
}

impl Table<Pair> {
    /// After a nursery collection, as other tables; but what was taken back is gone before
    /// it cannot be told any more by whom it was owned.
    pub(crate) fn settle_pairs(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) {
        resolve(&mut self.young);
        self.settle(now);
    }

    /// The pairs that were not taken back.
    pub(crate) fn in_force(&self) -> Vec<Pair> {
        // What was said first comes first.
        let mut pairs: Vec<Pair> = self.old.iter().chain(&self.young).copied().collect();
        resolve(&mut pairs);
        pairs
    }

    /// Before they are checked: sorted by owner, each once, without what was taken back, and
    /// without the dead.
    pub(crate) fn prepare(&mut self, is_live: impl Fn(Raw) -> bool) {
        // First, for most that were added since the last time may be dead.
        self.old.retain(|pair| is_live(pair.ownee));
        if std::mem::take(&mut self.changed) {
            resolve(&mut self.old);
        }
        let mut orphans = false;
        for group in self.old.chunk_by_mut(|a, b| a.owner == b.owner) {
            if !group[0].owner.is_null() && !is_live(group[0].owner) {
                // The dead own nothing.
                group.iter_mut().for_each(|pair| pair.owner = Raw::NULL);
                orphans = true;
            }
        }
        if orphans {
            sort_pairs(&mut self.old);
        }
    }
}

/// The site of a pair that takes back what was asserted of the same two before.
pub(crate) const TAKEN_BACK: SiteId = SiteId::MAX;

fn sort_pairs(pairs: &mut [Pair]) {
    let key = |pair: &Pair| (pair.owner, pair.ownee);
    if !pairs.is_sorted_by_key(key) {
        // Stable: what was said later comes later.
        pairs.sort_by_key(key);
    }
}

/// Turns all that was ever said about pairs into what holds: each once, with its first site.
fn resolve(pairs: &mut Vec<Pair>) {
    sort_pairs(pairs);
    let mut kept: usize = 0;
    for next in 0..pairs.len() {
        let pair = pairs[next];
        let same = kept
            .checked_sub(1)
            .filter(|&last| (pairs[last].owner, pairs[last].ownee) == (pair.owner, pair.ownee));
        match same {
            Some(last) if pair.site == TAKEN_BACK => pairs[last].site = TAKEN_BACK,
            Some(last) if pairs[last].site == TAKEN_BACK => pairs[last] = pair,
            Some(_) => {}
            None => {
                pairs[kept] = pair;
                kept += 1;
            }
        }
    }
    pairs.truncate(kept);
    pairs.retain(|pair| pair.site != TAKEN_BACK);
}
