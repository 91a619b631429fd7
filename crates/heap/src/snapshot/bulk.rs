//! Reading many objects at once.
//!
//! What is read of one object does not wait for what is read of another: first it is found out of all of them where to read, and then
//! all are read. Objects that have references in all of their slots, as most do, have their edges where their slots are, so that
//! nobody has to count.
//!
//! The slow twin is what [`Fields`] does of itself: object by object.

use std::ops::Range;

use super::{FAR, ObjectId, PlainPlace, Snapshot, bits_of};
use crate::class::{ClassId, Elements};
use crate::fields::{Column, LANES, Numbers, SnapshotField, each_lane, lanes};
use crate::value::PlainKind;
use crate::view::{HeapView, Place};

/// Where the objects of a class have a slot.
#[derive(Clone, Copy, Debug)]
pub struct SlotPlace {
    /// As the place of an edge.
    pub(crate) place: u32,
    /// How many slots are before it.
    nth: u32,
    /// How many edges an object has that refers to something with each slot; none if it may have others.
    all: u32,
    /// Whether one of them was cut.
    may_be_cut: bool,
}

impl Snapshot {
    /// Where the objects of a class have the slot with this index into the fields.
    pub(crate) fn slot_place(&self, class: ClassId, place: u32) -> SlotPlace {
        let may_be_cut = self.has_cut[class.0 as usize];
        let class = self.class(class);
        let slots = |fields: &[crate::class::FieldInfo]| {
            fields.iter().filter(|it| it.kind.is_slot()).count() as u32
        };
        SlotPlace {
            place,
            nth: slots(&class.fields[..place as usize]),
            all: match class.elements {
                Some(Elements::Refs) => u32::MAX,
                _ => slots(&class.fields),
            },
            may_be_cut,
        }
    }

    /// Which edge is that of a slot, among the edges of an object of its class.
    #[inline]
    fn edge_of(&self, edges: &Range<u64>, slot: SlotPlace) -> Option<usize> {
        if edges.end - edges.start == u64::from(slot.all) {
            return Some(edges.start as usize + slot.nth as usize);
        }
        let mut at = 0;
        for edge in edges.start as usize..edges.end as usize {
            at += match self.steps[edge] {
                FAR => self.far[&(edge as u64)],
                step => u32::from(step),
            };
            if at >= slot.place {
                return (at == slot.place).then_some(edge);
            }
        }
        None
    }

    /// The edges of objects.
    #[inline]
    fn edges_of_all(&self, objects: &[ObjectId; LANES]) -> [Range<u64>; LANES] {
        objects.map(|it| {
            let at = it.0 as usize;
            self.first_edge[at]..self.first_edge[at + 1]
        })
    }

    /// What slots hold: of objects of one class, if all have the same `slot`.
    #[inline]
    fn targets_of(
        &self,
        objects: &[ObjectId; LANES],
        there: u64,
        slot: impl Fn(usize) -> Option<SlotPlace>,
    ) -> Column<ObjectId> {
        let edges = self.edges_of_all(objects);
        let mut found = [0; LANES];
        let mut column = Column {
            objects: *objects,
            there: 0,
            absent: !there,
        };
        for lane in lanes(there) {
            let Some(slot) = slot(lane) else {
                column.absent |= 1 << lane;
                continue;
            };
            match self.edge_of(&edges[lane], slot) {
                Some(edge) => {
                    found[lane] = edge;
                    column.there |= 1 << lane;
                }
                None if slot.may_be_cut && self.is_cut(objects[lane], Place::Field(slot.place)) => {
                    column.absent |= 1 << lane;
                }
                None => {}
            }
        }
        if column.there == !0 {
            column.objects = found.map(|edge| ObjectId(self.targets[edge]));
        } else {
            for lane in lanes(column.there) {
                column.objects[lane] = ObjectId(self.targets[found[lane]]);
            }
        }
        column
    }

    /// What the slots of objects of one class hold.
    pub(crate) fn slots_of_class(
        &self,
        objects: &[ObjectId; LANES],
        slot: SlotPlace,
    ) -> Column<ObjectId> {
        self.targets_of(objects, !0, |_| Some(slot))
    }

    /// What slots hold of the objects that other slots refer to.
    pub(crate) fn slots_of_all(
        &self,
        column: &Column<ObjectId>,
        reader: &[Option<SnapshotField>],
    ) -> Column<ObjectId> {
        let classes = self.classes_of_all(&column.objects);
        self.targets_of(&column.objects, column.there, |lane| {
            match reader.get(classes[lane] as usize - 1) {
                Some(Some(SnapshotField::Slot(slot))) => Some(*slot),
                _ => None,
            }
        })
    }

    #[inline]
    fn classes_of_all(&self, objects: &[ObjectId; LANES]) -> [u32; LANES] {
        objects.map(|it| self.class_of[it.0 as usize])
    }

    /// Where the values of objects start, and where they end.
    #[inline]
    fn values_of_all(&self, objects: &[ObjectId; LANES]) -> [Range<u64>; LANES] {
        let first = &self.values.first;
        objects.map(|it| {
            let at = it.0 as usize;
            first[at]..first[at + 1]
        })
    }

    /// The plain data of objects of one class.
    pub(crate) fn numbers_of_class(
        &self,
        objects: &[ObjectId; LANES],
        place: Option<PlainPlace>,
        kind: PlainKind,
    ) -> Numbers {
        self.numbers_at(objects, !0, kind, |_| place)
    }

    /// The plain data of the objects that slots refer to.
    pub(crate) fn numbers_of_all(
        &self,
        column: &Column<ObjectId>,
        reader: &[Option<SnapshotField>],
        kind: PlainKind,
    ) -> Numbers {
        let classes = self.classes_of_all(&column.objects);
        self.numbers_at(&column.objects, column.there, kind, |lane| {
            match reader.get(classes[lane] as usize - 1) {
                Some(Some(SnapshotField::Plain(place))) => *place,
                _ => None,
            }
        })
    }

    #[inline]
    fn numbers_at(
        &self,
        objects: &[ObjectId; LANES],
        there: u64,
        kind: PlainKind,
        place: impl Fn(usize) -> Option<PlainPlace>,
    ) -> Numbers {
        if self.values.first.is_empty() {
            return Numbers {
                values: [0; LANES],
                known: 0,
                absent: !there,
            };
        }
        match kind.bytes() {
            1 => self.numbers_as::<1>(objects, there, kind, place),
            2 => self.numbers_as::<2>(objects, there, kind, place),
            4 => self.numbers_as::<4>(objects, there, kind, place),
            _ => self.numbers_as::<8>(objects, there, kind, place),
        }
    }

    /// Plain data of `N` bytes.
    #[inline]
    fn numbers_as<const N: usize>(
        &self,
        objects: &[ObjectId; LANES],
        there: u64,
        kind: PlainKind,
        place: impl Fn(usize) -> Option<PlainPlace>,
    ) -> Numbers {
        let all = self.values_of_all(objects);
        let mut values = [0; LANES];
        let read = |lane: usize| {
            let place = place(lane).filter(|it| there >> lane & 1 == 1 && it.bytes == N)?;
            let own = &all[lane];
            let own = self
                .values
                .bytes
                .get(own.start as usize..own.end as usize)?;
            let is_known = own.get(place.nth / 8)? >> (place.nth % 8) & 1 == 1;
            let value = own.get(place.at..)?.first_chunk::<N>()?;
            is_known.then(|| kind.extend(bits_of(value)))
        };
        let known = each_lane(|lane| match read(lane) {
            Some(value) => {
                values[lane] = value;
                true
            }
            None => false,
        });
        Numbers {
            values,
            known,
            absent: !there,
        }
    }
}
