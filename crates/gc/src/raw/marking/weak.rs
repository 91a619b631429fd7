//! What becomes of weak slots and ephemerons when the strong trace is done.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use heaphound_heap::{ClassId, FieldKind};

use crate::raw::marking::mark::{Ground, Marked, Start, Visitor, word_behind};
use crate::raw::marking::marker::Marker;
use crate::raw::memory::address::Raw;
use crate::raw::objects::layout::slot_at;

/// Ephemerons that wait for their keys to be marked.
///
/// The first round looks at each ephemeron once. Those whose key is still white
/// are then filed under the key, whose header gets a flag, so that marking tells
/// when a key turns live: a chain of ephemerons costs no more than its length.
#[derive(Default)]
pub(crate) struct Waiting {
    by_key: HashMap<Raw, Vec<Raw>>,
}

impl Waiting {
    /// Takes what marking found. Returns where the values that are live now have to be
    /// traced from, and keeps the ephemerons that still wait. The visitor sees the edges to
    /// the values, as any others.
    pub(crate) fn advance<M: Marker, V: Visitor>(
        &mut self,
        ground: Ground<'_>,
        marker: M,
        marked: &mut Marked,
        visitor: &mut V,
    ) -> Vec<Start<V::Tag>> {
        let mut values = Vec::new();
        for key in marked.woken.drain(..) {
            // SAFETY: a marked object.
            let header = unsafe { ground.base.header(key) };
            header.update(|word| word.with_awaited_key(false));
            for ephemeron in self.by_key.remove(&key).unwrap_or_default() {
                dependents(ground, ephemeron, visitor, &mut values);
            }
        }
        for ephemeron in marked.ephemerons.drain(..) {
            match key(ground, ephemeron) {
                Raw::NULL => {}
                key => {
                    // SAFETY: a weak slot refers to an object that has not been freed.
                    let header = unsafe { ground.base.header(key) };
                    if marker.is_marked(header.load()) {
                        dependents(ground, ephemeron, visitor, &mut values);
                        continue;
                    }
                    header.update(|word| word.with_awaited_key(true));
                    self.by_key.entry(key).or_default().push(ephemeron);
                }
            }
        }
        values
    }

    /// The ephemerons that still wait.
    pub(crate) fn left(&self) -> impl Iterator<Item = Raw> + '_ {
        self.by_key.values().flatten().copied()
    }

    /// No key can be marked any more in this collection.
    pub(crate) fn finish(self, ground: Ground<'_>) {
        for key in self.by_key.into_keys() {
            // SAFETY: not freed before the sweep.
            let header = unsafe { ground.base.header(key) };
            header.update(|word| word.with_awaited_key(false));
        }
    }
}

/// Clears the weak slots of an object whose targets are dead, and with them the
/// slots that depend on them. What is doomed is not said to be dead, if there is a reference to write for it.
pub(crate) fn clear_dead(ground: Ground<'_>, holder: Raw, pruned: Option<Raw>) {
    let mut key = None;
    for_each_slot(ground, holder, |_, slot, kind| {
        if kind != FieldKind::Weak {
            return;
        }
        let target = ground.reach.read(slot);
        if ground.refers(target) && !is_marked(ground, target) {
            slot.store(instead(ground, target, pruned).0, Relaxed);
        }
        key.get_or_insert(ground.reach.read(slot));
    });
    // A key that was pruned takes its values with it.
    let key = key.unwrap_or(Raw::NULL);
    if !ground.refers(key) {
        for_each_slot(ground, holder, |_, slot, kind| {
            if kind == FieldKind::Dependent {
                slot.store(key.0, Relaxed);
            }
        });
    }
}

/// What a weak reference becomes whose target was not marked.
pub(crate) fn instead(ground: Ground<'_>, target: Raw, pruned: Option<Raw>) -> Raw {
    match pruned {
        Some(pruned) if is_doomed(ground, target) => pruned,
        _ => Raw::NULL,
    }
}

/// Whether an object is dead only because references were pruned in this collection.
pub(crate) fn is_doomed(ground: Ground<'_>, raw: Raw) -> bool {
    // SAFETY: as in `is_marked`.
    let word = unsafe { ground.base.header(raw) }.load();
    word.is_doomed() && !word.is_marked(ground.epoch)
}

/// Whether an object has been marked in this epoch.
pub(crate) fn is_marked(ground: Ground<'_>, raw: Raw) -> bool {
    // SAFETY: callers pass references that were live at the last collection, and
    // nothing is freed before the sweep.
    unsafe { ground.base.header(raw) }
        .load()
        .is_marked(ground.epoch)
}

/// The target of an object's first weak slot, null if that is invalid.
pub(crate) fn key(ground: Ground<'_>, holder: Raw) -> Raw {
    let mut key = None;
    for_each_slot(ground, holder, |_, slot, kind| {
        if kind == FieldKind::Weak {
            key.get_or_insert(ground.reach.read(slot));
        }
    });
    key.filter(|&key| ground.refers(key)).unwrap_or(Raw::NULL)
}

/// Lists the values of an ephemeron as starts, once the visitor has seen the edges.
pub(crate) fn dependents<V: Visitor>(
    ground: Ground<'_>,
    holder: Raw,
    visitor: &mut V,
    values: &mut Vec<Start<V::Tag>>,
) {
    // SAFETY: a live object.
    let word = unsafe { ground.base.header(holder) }.load();
    for_each_slot(ground, holder, |offset, slot, kind| {
        let to = ground.reach.read(slot);
        if kind == FieldKind::Dependent && ground.refers(to) {
            let tag = match V::READS {
                true => visitor.edge_read(visitor.source(holder, word), word_behind(offset), to),
                false => V::Tag::default(),
            };
            values.push(Start { to, tag });
        }
    });
}

/// Calls `f` with the slots of an object whose class lists them.
pub(crate) fn for_each_slot(
    ground: Ground<'_>,
    holder: Raw,
    mut f: impl FnMut(usize, &AtomicU32, FieldKind),
) {
    // SAFETY: a live object.
    let word = unsafe { ground.base.header(holder) }.load();
    let class = ground.classes.get(ClassId(word.class()));
    let object = ground.base.object(holder);
    for &(offset, kind) in &class.slots {
        // SAFETY: the class says that a slot is there.
        let slot = unsafe { slot_at(object, offset as usize) };
        f(offset as usize, slot, kind);
    }
}
