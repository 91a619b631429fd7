//! Reading what objects hold while a heap is traced, from any of its threads.
//!
//! A view of a live heap stays on its thread; what a visitor needs to look into the objects
//! that it sees does not have to.

use crate::class::{ClassId, ClassInfo};
use crate::snapshot::{ObjectId, PlainPlace, SlotPlace, Snapshot};
use crate::trace::Traceable;
use crate::value::{PlainKind, Value};
use crate::view::{HeapView, Place};

/// What a slot holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held<O> {
    /// The object has no such slot.
    Absent,
    /// Nothing.
    Null,
    /// A reference that was pruned or invalidated: it is not null, and nobody knows where it led.
    Cut,
    /// A reference to that object.
    Object(O),
}

/// How many objects are looked into at a time: one for each bit of a word.
pub const LANES: usize = 64;

/// Objects of one class that are looked into together. All lanes hold one; the last batch of
/// many has some twice.
pub struct Batch<'b, F: Fields> {
    class: ClassId,
    objects: &'b [F::Object; LANES],
}

impl<'b, F: Fields> Batch<'b, F> {
    /// None if they are not all of one class: whoever reads them relies on it.
    pub fn new(fields: F, objects: &'b [F::Object; LANES]) -> Option<Self> {
        let class = fields.class_of(objects[0]);
        let differ = objects.iter().fold(0, |bits, &object| {
            bits | (fields.class_of(object).0 ^ class.0)
        });
        (differ == 0).then_some(Self { class, objects })
    }

    /// The class of all of them.
    pub fn class(&self) -> ClassId {
        self.class
    }

    /// The objects.
    pub fn objects(&self) -> &'b [F::Object; LANES] {
        self.objects
    }
}

/// What slots hold, lane by lane.
#[derive(Clone, Copy, Debug)]
pub struct Column<O> {
    /// What they refer to; where they do not, any object.
    pub objects: [O; LANES],
    /// Lanes whose slot refers to an object.
    pub there: u64,
    /// Lanes that have no such slot, or whose slot cannot be read: it was cut.
    pub absent: u64,
}

/// Plain data of one kind, lane by lane.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// Their bits; integers with their sign. Where they are not known, any.
    pub values: [i64; LANES],
    /// Lanes where they are known.
    pub known: u64,
    /// Lanes that have no object to look into.
    pub absent: u64,
}

/// A bit for each lane.
///
/// In two steps, each of which a compiler makes good code of: a byte for each lane, then eight
/// of them into a byte of bits.
#[inline]
pub fn each_lane(mut f: impl FnMut(usize) -> bool) -> u64 {
    let mut truths = [0; LANES];
    for (lane, truth) in truths.iter_mut().enumerate() {
        *truth = f(lane) as u8;
    }
    let (eights, _) = truths.as_chunks::<8>();
    let bits = eights.iter().map(|eight| {
        // Moves the bit of each byte to a place of its own in the highest one.
        (u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
    });
    let mut word = [0; LANES / 8];
    word.iter_mut().zip(bits).for_each(|(byte, it)| *byte = it);
    u64::from_le_bytes(word)
}

impl<O: Copy> Column<O> {
    /// The objects of a batch themselves.
    pub fn of<F: Fields<Object = O>>(batch: &Batch<'_, F>) -> Self {
        Self {
            objects: *batch.objects,
            there: !0,
            absent: 0,
        }
    }
}

/// Looks into the objects of a stopped heap.
pub trait Fields: Copy + Send + Sync {
    /// An object of the heap.
    type Object: Copy + Eq + Ord + std::hash::Hash + Send + Sync;
    /// Where the classes of the heap have a field.
    type Reader: Send + Sync;

    /// The class of an object.
    fn class_of(self, object: Self::Object) -> ClassId;

    /// Bytes that the object itself takes, header included.
    fn bytes_of(self, object: Self::Object) -> usize;

    /// Where to read a field: `places[class.0 - 1]` is an index into the class's `fields`, if
    /// the class has it.
    fn reader(self, places: &[Option<u32>]) -> Self::Reader;

    /// What the slot of that name holds.
    fn slot(self, reader: &Self::Reader, object: Self::Object) -> Held<Self::Object>;

    /// The bits of the plain data of that name, zero-extended, where they are known.
    fn bits(self, reader: &Self::Reader, object: Self::Object) -> Option<u64>;

    /// What the slots of that name hold.
    fn slots(self, reader: &Self::Reader, batch: &Batch<'_, Self>) -> Column<Self::Object> {
        self.slots_behind(reader, &Column::of(batch))
    }

    /// What the slots of that name hold of the objects that other slots refer to.
    fn slots_behind(
        self,
        reader: &Self::Reader,
        column: &Column<Self::Object>,
    ) -> Column<Self::Object> {
        let mut held = Column {
            objects: column.objects,
            there: 0,
            absent: !column.there,
        };
        for lane in lanes(column.there) {
            match self.slot(reader, column.objects[lane]) {
                Held::Object(object) => {
                    held.objects[lane] = object;
                    held.there |= 1 << lane;
                }
                Held::Null => {}
                Held::Absent | Held::Cut => held.absent |= 1 << lane,
            }
        }
        held
    }

    /// The plain data of that name, which is of that kind wherever it is.
    fn numbers(self, reader: &Self::Reader, kind: PlainKind, batch: &Batch<'_, Self>) -> Numbers {
        self.numbers_behind(reader, kind, &Column::of(batch))
    }

    /// The plain data of that name of the objects that slots refer to.
    fn numbers_behind(
        self,
        reader: &Self::Reader,
        kind: PlainKind,
        column: &Column<Self::Object>,
    ) -> Numbers {
        let (mut values, mut known) = ([0; LANES], 0);
        for lane in lanes(column.there) {
            if let Some(bits) = self.bits(reader, column.objects[lane]) {
                values[lane] = kind.extend(bits);
                known |= 1 << lane;
            }
        }
        Numbers {
            values,
            known,
            absent: !column.there,
        }
    }

    /// What an element of a reference array holds: null beyond its end.
    fn element(self, object: Self::Object, index: usize) -> Held<Self::Object>;

    /// An element of an array of plain data, where it is known.
    fn plain_element(self, object: Self::Object, index: usize) -> Option<Value>;

    /// How many elements an array has, where it is known.
    fn length_of(self, object: Self::Object) -> Option<usize>;

    /// The text of a string object, where all of it is known.
    fn text_of(self, object: Self::Object) -> Option<String>;

    /// Whether a slot that seems to be null may hold a number, because the heap does not have those.
    fn nulls_may_be_numbers(self) -> bool {
        false
    }
}

/// The lanes whose bits are set.
pub fn lanes(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = bits.trailing_zeros();
        bits &= bits.wrapping_sub(1);
        (lane < u64::BITS).then_some(lane as usize)
    })
}

/// A view whose objects can be looked into while it is traced.
pub trait Readable: Traceable {
    /// Looks into its objects.
    type Fields<'a>: Fields<Object = Self::Object>
    where
        Self: 'a;

    /// What looks into its objects.
    fn fields(&self) -> Self::Fields<'_>;
}

impl Readable for Snapshot {
    type Fields<'a> = &'a Snapshot;

    fn fields(&self) -> &Snapshot {
        self
    }
}

/// Where the objects of a class have a field.
#[derive(Clone, Copy, Debug)]
pub enum SnapshotField {
    /// It is a slot, the one at this place.
    #[doc(hidden)]
    Slot(SlotPlace),
    /// It is plain data; none of it is known if there is no place.
    #[doc(hidden)]
    Plain(Option<PlainPlace>),
}

/// A snapshot can be read from any thread as it is. Many objects are read at once (`snapshot/bulk.rs`).
impl Fields for &Snapshot {
    type Object = ObjectId;
    type Reader = Vec<Option<SnapshotField>>;

    #[inline]
    fn class_of(self, object: ObjectId) -> ClassId {
        HeapView::class_of(self, object)
    }

    fn bytes_of(self, object: ObjectId) -> usize {
        HeapView::bytes_of(self, object)
    }

    fn reader(self, places: &[Option<u32>]) -> Self::Reader {
        let field = |(place, class): (&Option<u32>, &ClassInfo)| {
            let place = (*place)?;
            let field = class.fields.get(place as usize)?;
            Some(match field.kind.is_slot() {
                true => SnapshotField::Slot(self.slot_place(class.id, place)),
                false => SnapshotField::Plain(self.plain_place(class.id, place as usize)),
            })
        };
        places.iter().zip(self.classes()).map(field).collect()
    }

    fn slot(self, reader: &Self::Reader, object: ObjectId) -> Held<ObjectId> {
        let class = HeapView::class_of(self, object);
        match reader.get(class.0 as usize - 1) {
            Some(Some(SnapshotField::Slot(slot))) => {
                match HeapView::slot(self, object, slot.place as usize) {
                    Some(object) => Held::Object(object),
                    None if self.is_cut(object, Place::Field(slot.place)) => Held::Cut,
                    None => Held::Null,
                }
            }
            _ => Held::Absent,
        }
    }

    fn bits(self, reader: &Self::Reader, object: ObjectId) -> Option<u64> {
        let class = HeapView::class_of(self, object);
        match reader.get(class.0 as usize - 1)? {
            Some(SnapshotField::Plain(place)) => self.bits_at(object, (*place)?),
            _ => None,
        }
    }

    fn slots(self, reader: &Self::Reader, batch: &Batch<'_, Self>) -> Column<ObjectId> {
        match reader.get(batch.class().0 as usize - 1) {
            Some(Some(SnapshotField::Slot(slot))) => self.slots_of_class(batch.objects(), *slot),
            _ => Column {
                objects: *batch.objects(),
                there: 0,
                absent: !0,
            },
        }
    }

    fn slots_behind(self, reader: &Self::Reader, column: &Column<ObjectId>) -> Column<ObjectId> {
        self.slots_of_all(column, reader)
    }

    fn numbers(self, reader: &Self::Reader, kind: PlainKind, batch: &Batch<'_, Self>) -> Numbers {
        let place = match reader.get(batch.class().0 as usize - 1) {
            Some(Some(SnapshotField::Plain(place))) => *place,
            _ => None,
        };
        self.numbers_of_class(batch.objects(), place, kind)
    }

    fn numbers_behind(
        self,
        reader: &Self::Reader,
        kind: PlainKind,
        column: &Column<ObjectId>,
    ) -> Numbers {
        self.numbers_of_all(column, reader, kind)
    }

    fn element(self, object: ObjectId, index: usize) -> Held<ObjectId> {
        let class = self.class(HeapView::class_of(self, object));
        match class.elements {
            Some(crate::class::Elements::Refs) => {
                let is_cut = |index| self.is_cut(object, Place::Element(index));
                match HeapView::element(self, object, index) {
                    Some(object) => Held::Object(object),
                    None if u32::try_from(index).is_ok_and(is_cut) => Held::Cut,
                    None => Held::Null,
                }
            }
            _ => Held::Absent,
        }
    }

    fn plain_element(self, object: ObjectId, index: usize) -> Option<Value> {
        HeapView::plain_element(self, object, index)
    }

    fn length_of(self, object: ObjectId) -> Option<usize> {
        HeapView::length_of(self, object)
    }

    fn text_of(self, object: ObjectId) -> Option<String> {
        HeapView::whole_text_of(self, object)
    }

    fn nulls_may_be_numbers(self) -> bool {
        self.lacks().numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_and_bits() {
        for bits in [
            0,
            1,
            !0,
            1 << 63,
            0x8040_2010_0804_0201,
            0x1234_5678_9abc_def0,
        ] {
            assert_eq!(each_lane(|lane| bits >> lane & 1 == 1), bits);
            let there: Vec<usize> = (0..LANES).filter(|lane| bits >> lane & 1 == 1).collect();
            assert_eq!(lanes(bits).collect::<Vec<_>>(), there);
        }
    }
}
