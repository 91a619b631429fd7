//! Labels: names that a program puts on objects, to speak of them in rules.
//!
//! A label is a list of objects, which follows them when they move and forgets them when they
//! die; an object pays nothing for it.

use std::collections::BTreeMap;

use crate::raw::check::Table;
use crate::raw::{Mutator, ObjectId, Raw, StoppedHeap, Subject};

/// The labels of a heap.
#[derive(Default)]
pub(crate) struct Labels(BTreeMap<String, Table<Raw>>);

impl Labels {
    /// A nursery collection has taken place.
    pub(crate) fn settle(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) {
        self.0.values_mut().for_each(|table| table.settle(now));
    }

    /// Objects have moved, or all that are dead are known.
    pub(crate) fn follow(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) {
        self.0.retain(|_, table| {
            table.follow(now);
            table.old.sort_unstable();
            table.old.dedup();
            table.len() > 0
        });
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
        match labels.0.get_mut(label) {
            Some(table) => table.add(raw),
            None => labels.0.entry(label.into()).or_default().add(raw),
        }
    }

    /// Takes a label off an object.
    ///
    /// # Panics
    /// If it belongs to another heap or mutator.
    #[track_caller]
    pub fn unlabel(&self, object: impl Subject, label: &str) {
        let raw = self.subject_raw(&object);
        let mut labels = self.heap.labels.lock().unwrap();
        if let Some(table) = labels.0.get_mut(label) {
            table.retain(|it| Some(*it) != raw);
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
        let table = labels.0.get(label);
        table.is_some_and(|table| table.iter().any(|it| Some(*it) == raw))
    }
}

impl<'v> StoppedHeap<'v> {
    /// The objects with a label, in order.
    pub fn labelled(&self, label: &str) -> Vec<ObjectId<'v>> {
        let labels = self.heap().labels.lock().unwrap();
        let raws = labels.0.get(label).into_iter().flat_map(Table::iter);
        let mut objects: Vec<ObjectId<'v>> = raws.map(|&raw| self.object(raw)).collect();
        objects.sort_unstable();
        objects.dedup();
        objects
    }
}
