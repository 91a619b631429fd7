//! Labels: names that a program puts on objects, to speak of them in rules.
//!
//! A label is a set of objects, which follows them when they move and forgets them when they
//! die; an object pays nothing for it.

use std::collections::{BTreeMap, HashSet};

use crate::raw::{Mutator, ObjectId, Raw, StoppedHeap, Subject};

/// The labels of a heap. None is without an object.
#[derive(Default)]
pub(crate) struct Labels(BTreeMap<String, Labelled>);

impl Labels {
    /// A nursery collection has taken place.
    pub(crate) fn settle(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) {
        self.0.retain(|_, labelled| {
            let survivors = labelled.young.drain().filter_map(&mut *now);
            labelled.old.extend(survivors);
            !labelled.old.is_empty()
        });
    }

    /// Objects have moved, or all that are dead are known.
    pub(crate) fn follow(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) {
        self.0.retain(|_, labelled| {
            labelled.follow(now);
            !labelled.is_empty()
        });
    }
}

/// The objects with one label; the young ones apart, so that a nursery collection need not look
/// at all.
#[derive(Default)]
struct Labelled {
    young: HashSet<Raw>,
    old: HashSet<Raw>,
}

/// A set gives memory back when it has this many times the room that it needs.
const ROOMY: usize = 8;

impl Labelled {
    /// Where an object belongs.
    fn part(&mut self, raw: Raw) -> &mut HashSet<Raw> {
        match raw.is_young() {
            true => &mut self.young,
            false => &mut self.old,
        }
    }

    fn contains(&self, raw: Raw) -> bool {
        match raw.is_young() {
            true => self.young.contains(&raw),
            false => self.old.contains(&raw),
        }
    }

    fn iter(&self) -> impl Iterator<Item = Raw> {
        self.young.iter().chain(&self.old).copied()
    }

    fn is_empty(&self) -> bool {
        self.young.is_empty() && self.old.is_empty()
    }

    fn follow(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) {
        // What has moved may lie where a dead one lay that is still in the set: add it last.
        let mut moved = Vec::new();
        self.old.retain(|&raw| match now(raw) {
            Some(same) if same == raw => true,
            other => {
                moved.extend(other);
                false
            }
        });
        self.old.extend(moved);
        if self.old.capacity() / ROOMY > self.old.len() {
            self.old.shrink_to_fit();
        }
    }
}

impl Mutator<'_> {
    /// Puts a label on an object, for as long as it lives: in rules, `x is label` then holds of
    /// it. Nothing happens to null.
    ///
    /// # Panics
    /// If it belongs to another heap or mutator.
    #[track_caller]
    pub fn label(&self, object: impl Subject, label: &str) {
        let Some(raw) = self.subject_raw(&object) else {
            return;
        };
        let mut labels = self.heap.labels.lock().unwrap();
        if !labels.0.contains_key(label) {
            labels.0.insert(label.into(), Labelled::default());
        }
        let labelled = labels.0.get_mut(label).expect("it was just added");
        labelled.part(raw).insert(raw);
    }

    /// Takes a label off an object.
    ///
    /// # Panics
    /// If it belongs to another heap or mutator.
    #[track_caller]
    pub fn unlabel(&self, object: impl Subject, label: &str) {
        let Some(raw) = self.subject_raw(&object) else {
            return;
        };
        let mut labels = self.heap.labels.lock().unwrap();
        let Some(labelled) = labels.0.get_mut(label) else {
            return;
        };
        labelled.part(raw).remove(&raw);
        if labelled.is_empty() {
            labels.0.remove(label);
        }
    }

    /// Whether an object has a label.
    ///
    /// # Panics
    /// If it belongs to another heap or mutator.
    #[track_caller]
    pub fn has_label(&self, object: impl Subject, label: &str) -> bool {
        let raw = self.subject_raw(&object);
        let labels = self.heap.labels.lock().unwrap();
        let labelled = labels.0.get(label).zip(raw);
        labelled.is_some_and(|(labelled, raw)| labelled.contains(raw))
    }
}

impl<'v, S> StoppedHeap<'v, S> {
    /// The objects with a label, in order.
    pub fn labelled(&self, label: &str) -> Vec<ObjectId<'v>> {
        let labels = self.heap().labels.lock().unwrap();
        let raws = labels.0.get(label).into_iter().flat_map(Labelled::iter);
        let mut objects: Vec<ObjectId<'v>> = raws.map(|raw| self.object(raw)).collect();
        objects.sort_unstable();
        objects
    }
}
