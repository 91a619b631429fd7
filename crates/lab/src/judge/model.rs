//! A heap as a judge sees it: objects with slots, without a collector. It becomes a snapshot, or
//! objects of a live heap.

use std::collections::BTreeSet;

use heaphound::root::{Root, RootKind};
use heaphound::snapshot::{ObjectId, Snapshot, SnapshotBuilder};
use heaphound::view::Place;
use heaphound::{Heap, Instance, Managed, Mutator, Object, RefArray};

/// What a slot holds.
pub(super) type Reference = Option<u32>;

/// A class of a kind of structure.
pub(super) struct Class {
    pub(super) name: &'static str,
    pub(super) slots: Slots,
}

/// What the slots of a class are.
#[derive(Clone, Copy)]
pub(super) enum Slots {
    /// Names, each with the classes that it may refer to.
    Fields(&'static [(&'static str, &'static [usize])]),
    /// Elements, all with the classes that they may refer to.
    Elements(&'static [usize]),
}

/// One object.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) class: usize,
    pub(super) slots: Vec<Reference>,
    /// Plain data: a key, a height, a letter.
    pub(super) key: u64,
}

/// Objects, and those that hold a structure each.
#[derive(Clone)]
pub(super) struct Model {
    pub(super) classes: &'static [Class],
    pub(super) cells: Vec<Cell>,
    pub(super) holders: Vec<u32>,
}

impl Model {
    pub(super) fn new(classes: &'static [Class]) -> Self {
        Self {
            classes,
            cells: Vec::new(),
            holders: Vec::new(),
        }
    }

    /// Adds an object of a class with fields, all of which are null.
    pub(super) fn add(&mut self, class: usize) -> u32 {
        let count = match self.classes[class].slots {
            Slots::Fields(slots) => slots.len(),
            Slots::Elements(_) => 0,
        };
        self.add_with(class, vec![None; count])
    }

    /// Adds an array.
    pub(super) fn add_array(&mut self, class: usize, length: usize) -> u32 {
        self.add_with(class, vec![None; length])
    }

    fn add_with(&mut self, class: usize, slots: Vec<Reference>) -> u32 {
        self.cells.push(Cell {
            class,
            slots,
            key: 0,
        });
        self.cells.len() as u32 - 1
    }

    pub(super) fn get(&self, object: u32, slot: usize) -> Reference {
        self.cells[object as usize].slots[slot]
    }

    pub(super) fn set(&mut self, object: u32, slot: usize, to: Reference) {
        self.cells[object as usize].slots[slot] = to;
    }

    pub(super) fn slots(&self, object: u32) -> &[Reference] {
        &self.cells[object as usize].slots
    }

    pub(super) fn class(&self, object: u32) -> usize {
        self.cells[object as usize].class
    }

    pub(super) fn is_array(&self, object: u32) -> bool {
        matches!(self.classes[self.class(object)].slots, Slots::Elements(_))
    }

    pub(super) fn key(&self, object: u32) -> u64 {
        self.cells[object as usize].key
    }

    pub(super) fn set_key(&mut self, object: u32, key: u64) {
        self.cells[object as usize].key = key;
    }

    /// Returns the classes that a slot of an object may refer to.
    pub(super) fn targets(&self, object: u32, slot: usize) -> &'static [usize] {
        match self.classes[self.class(object)].slots {
            Slots::Fields(slots) => slots[slot].1,
            Slots::Elements(targets) => targets,
        }
    }

    /// Returns all objects that the structures hold, in order.
    pub(super) fn reachable(&self) -> BTreeSet<u32> {
        let mut seen: BTreeSet<u32> = self.holders.iter().copied().collect();
        let mut open: Vec<u32> = self.holders.clone();
        while let Some(object) = open.pop() {
            for &to in self.slots(object).iter().flatten() {
                if seen.insert(to) {
                    open.push(to);
                }
            }
        }
        seen
    }

    /// Returns the heap. Objects have the same numbers in it.
    pub(super) fn snapshot(&self) -> Snapshot {
        let mut builder = SnapshotBuilder::default();
        let classes: Vec<_> = self
            .classes
            .iter()
            .map(|class| match class.slots {
                Slots::Fields(slots) => {
                    let names: Vec<&str> = slots.iter().map(|it| it.0).collect();
                    builder.add_class(class.name, None, &names)
                }
                Slots::Elements(_) => builder.add_array_class(class.name),
            })
            .collect();
        for cell in &self.cells {
            builder.add_object(classes[cell.class], 16 + 8 * cell.slots.len());
            let is_array = matches!(self.classes[cell.class].slots, Slots::Elements(_));
            if is_array {
                builder.set_length(cell.slots.len() as u32);
            }
            for (at, to) in (0..).zip(&cell.slots) {
                let place = match is_array {
                    true => Place::Element(at),
                    false => Place::Field(at),
                };
                if let Some(to) = to {
                    builder.add_edge(place, ObjectId(*to));
                }
            }
        }
        for &holder in &self.holders {
            builder.add_root(Root::new(RootKind::Static, "structures"), ObjectId(holder));
        }
        builder.finish().expect("all references are to objects")
    }

    /// Makes the objects live. All arrays of a live heap are of one class, as in a language without types of arrays.
    pub(super) fn load(&self, heap: &Heap, m: &mut Mutator<'_>) -> Result<(), NotLive> {
        let mut classes = Vec::new();
        for class in self.classes {
            classes.push(match class.slots {
                Slots::Fields(slots) => {
                    let builder = heap.define_class(class.name);
                    let builder = slots.iter().fold(builder, |it, slot| it.slot(slot.0));
                    Some(builder.define()?)
                }
                Slots::Elements(_) => None,
            });
        }
        let mut m = m.scope();
        let all = m.alloc_refs::<Object>(self.cells.len())?;
        for (at, cell) in self.cells.iter().enumerate() {
            let mut m = m.scope();
            let object = match &classes[cell.class] {
                Some(class) => {
                    let instance = m.alloc_instance(class)?;
                    m.local(m[instance].as_object())
                }
                None => {
                    let array = m.alloc_refs::<Object>(cell.slots.len())?;
                    m.local(m[array].as_object())
                }
            };
            m[all][at].set(Some(&m[object]));
        }
        let object = |at: u32| m[all][at as usize].get().expect("it was stored");
        for (at, cell) in (0..).zip(&self.cells) {
            let here = object(at);
            for (slot, to) in cell.slots.iter().enumerate() {
                let to = to.map(object);
                match here.downcast::<Instance>() {
                    Some(instance) => instance[slot].set(to),
                    None => here.downcast::<RefArray<Object>>().expect("an array")[slot].set(to),
                }
            }
        }
        for (at, &holder) in self.holders.iter().enumerate() {
            let root = m.static_root::<Object>(&format!("structure {at}"));
            root.set(&m, Some(object(holder)));
        }
        Ok(())
    }
}

/// Why a model could not be made live.
pub(super) type NotLive = Box<dyn std::error::Error>;
