//! Looking into the objects of a stopped heap from the threads that trace it.

use std::marker::PhantomData;

use heaphound_heap::class::Elements;
use heaphound_heap::fields::{
    Batch, Column, Fields, Held, LANES, Numbers, Readable, each_lane, lanes,
};
use heaphound_heap::{ClassId, FieldKind, PlainKind, Value};

use crate::classes::Classes;
use crate::raw::memory::address::{Base, Raw, Reach};
use crate::raw::objects::header::Word;
use crate::raw::objects::layout::{ELEMENTS_OFFSET, array_len, slot_at};
use crate::raw::views::stopped::{Brand, ObjectId, StoppedHeap, text_at, value_at};

/// What looks into the objects of a stopped heap.
#[derive(Clone, Copy)]
pub struct StoppedFields<'a, 'v> {
    base: Base,
    reach: Reach,
    classes: &'a Classes,
    brand: Brand<'v>,
}

/// Where the classes of a stopped heap have a field, by class id.
pub struct FieldReader<'v>(Vec<Place>, Brand<'v>);

/// Where a class has a field: the offset in the upper bits, the width of plain data in the lower
/// ones, where a slot has 0. An offset is never 0, unless the class has no such field.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place(u32);

impl Place {
    const NOWHERE: Self = Self(0);
    /// Bits of the width.
    const WIDTH: u32 = 4;

    fn new(offset: u32, width: u32) -> Self {
        Self(offset << Self::WIDTH | width)
    }

    #[inline]
    fn offset(self) -> usize {
        (self.0 >> Self::WIDTH) as usize
    }

    #[inline]
    fn width(self) -> u32 {
        self.0 & ((1 << Self::WIDTH) - 1)
    }

    #[inline]
    fn is_slot(self) -> bool {
        self.0 != 0 && self.width() == 0
    }
}

impl FieldReader<'_> {
    #[inline]
    fn place(&self, class: ClassId) -> Place {
        // A class that is newer than the reader is not asked about.
        self.0
            .get(class.0 as usize)
            .copied()
            .unwrap_or(Place::NOWHERE)
    }
}

/// Objects of one class in all lanes.
struct Aligned<'v> {
    class: ClassId,
    objects: [ObjectId<'v>; LANES],
    /// Lanes whose object has another class, and was put aside.
    odd: u64,
}

/// An integer that 64 bits hold, if only as bits.
trait Widen {
    fn widen(self) -> i64;
}

macro_rules! widen {
    ($($integer:ty),*) => {$(
        impl Widen for $integer {
            #[inline]
            fn widen(self) -> i64 {
                self.into()
            }
        }
    )*};
}
widen!(u8, i8, u16, i16, u32, i32, i64);

/// Reads plain data of some bytes, zero-extended; nothing, if there are none.
///
/// # Safety
/// So many bytes of plain data are there, and nobody writes to them.
#[inline]
unsafe fn read_bits(at: *const u8, width: u32) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        match width {
            1 => at.read() as u64,
            2 => at.cast::<u16>().read_unaligned() as u64,
            4 => at.cast::<u32>().read_unaligned() as u64,
            8 => at.cast::<u64>().read_unaligned(),
            _ => 0,
        }
    }
}

impl<'v, S> Readable for StoppedHeap<'v, S> {
    type Fields<'a>
        = StoppedFields<'a, 'v>
    where
        Self: 'a;

    fn fields(&self) -> StoppedFields<'_, 'v> {
        StoppedFields {
            base: self.heap.base,
            reach: self.heap.reach,
            classes: &self.heap.classes,
            brand: self.brand,
        }
    }
}

impl<'v> StoppedFields<'_, 'v> {
    /// Makes all lanes objects of one class, that of the first that is there, if any is: those
    /// that are not there, and others, which it answers, hold that first one then.
    #[inline]
    fn align(self, column: &Column<ObjectId<'v>>) -> Option<Aligned<'v>> {
        // SAFETY: objects of the stopped heap (H1).
        let word = |object: ObjectId<'v>| unsafe { self.base.header(object.0) }.load();
        let mut objects = column.objects;
        let lead = *objects.get(column.there.trailing_zeros() as usize)?;
        let class = word(lead).class();
        // Nothing here waits for anything, so that whatever is not in the cache arrives at once.
        let bits = objects
            .iter()
            .fold(0, |bits, &it| bits | word(it).0 ^ word(lead).0);
        let mut odd = 0;
        if Word(bits).class() != 0 {
            odd = each_lane(|lane| word(objects[lane]).class() != class);
            lanes(odd).for_each(|lane| objects[lane] = lead);
        }
        Some(Aligned {
            class: ClassId(class),
            objects,
            odd: odd & column.there,
        })
    }

    /// What slots at a place hold.
    ///
    /// # Safety
    /// The place is that of the class of all of the objects.
    #[inline]
    unsafe fn slots_at(
        self,
        place: Place,
        objects: &[ObjectId<'v>; LANES],
    ) -> Column<ObjectId<'v>> {
        if !place.is_slot() {
            return Column {
                objects: *objects,
                there: 0,
                absent: !0,
            };
        }
        // One step after the other, so that each is a short loop without a branch: whether a slot
        // is null cannot be predicted.
        let held = objects.map(|object| {
            let at = self.base.object(object.0);
            // SAFETY: the object's class has a slot at that offset; the world is stopped.
            self.reach.read(unsafe { slot_at(at, place.offset()) }).0
        });
        let refers = |lane: usize| self.reach.covers(Raw(held[lane]));
        let there = each_lane(refers);
        let absent = match self.reach.tags() {
            true => each_lane(|lane| self.reach.is_cut(Raw(held[lane]))),
            false => 0,
        };
        let mut objects = *objects;
        for (lane, object) in objects.iter_mut().enumerate() {
            object.0.0 = if refers(lane) { held[lane] } else { object.0.0 };
        }
        Column {
            objects,
            there,
            absent,
        }
    }

    /// Plain data at a place.
    ///
    /// # Safety
    /// The place is that of the class of all of the objects.
    #[inline]
    unsafe fn numbers_at(
        self,
        place: Place,
        kind: PlainKind,
        objects: &[ObjectId<'v>; LANES],
    ) -> Numbers {
        if place.width() as usize != kind.bytes() {
            return Numbers {
                values: [0; LANES],
                known: 0,
                absent: 0,
            };
        }
        // SAFETY: the objects' class has plain data of that width there; any bits are an
        // integer. Nobody writes to it while the world is stopped.
        unsafe {
            match (kind.bytes(), kind.is_signed()) {
                (1, false) => self.read_all::<u8>(place, objects),
                (1, true) => self.read_all::<i8>(place, objects),
                (2, false) => self.read_all::<u16>(place, objects),
                (2, true) => self.read_all::<i16>(place, objects),
                (4, false) => self.read_all::<u32>(place, objects),
                (4, true) => self.read_all::<i32>(place, objects),
                _ => self.read_all::<i64>(place, objects),
            }
        }
    }

    /// Reads integers.
    ///
    /// # Safety
    /// The place is that of the class of all of the objects, and a `T` is there.
    #[inline]
    unsafe fn read_all<T: Widen>(self, place: Place, objects: &[ObjectId<'v>; LANES]) -> Numbers {
        let values = objects.map(|object| {
            let at = self.base.object(object.0).wrapping_add(place.offset());
            // SAFETY: the caller's promise.
            unsafe { at.cast::<T>().read_unaligned() }.widen()
        });
        Numbers {
            values,
            known: !0,
            absent: 0,
        }
    }

    #[inline]
    fn held(self, raw: Raw) -> Held<ObjectId<'v>> {
        match self.reach.covers(raw) {
            true => Held::Object(ObjectId(raw, self.brand)),
            false if self.reach.is_cut(raw) => Held::Cut,
            false => Held::Null,
        }
    }
}

impl<'v> Fields for StoppedFields<'_, 'v> {
    type Object = ObjectId<'v>;
    type Reader = FieldReader<'v>;

    #[inline]
    fn class_of(self, object: ObjectId<'v>) -> ClassId {
        // SAFETY: an id is an object of the stopped heap (H1).
        ClassId(unsafe { self.base.header(object.0) }.load().class())
    }

    fn bytes_of(self, object: ObjectId<'v>) -> usize {
        let trace = self.classes.get(self.class_of(object)).trace;
        // SAFETY: an object of that class in the stopped heap (H1).
        unsafe { trace.bytes(self.base.object(object.0)) }
    }

    fn reader(self, places: &[Option<u32>]) -> FieldReader<'v> {
        let known = places.iter().zip(self.classes.iter());
        let entries = known.map(|(&place, class)| {
            let field = place.and_then(|place| class.info.fields.get(place as usize));
            field.map_or(Place::NOWHERE, |field| match field.kind {
                FieldKind::Owned => Place::NOWHERE,
                FieldKind::Plain(kind) => Place::new(field.offset, kind.bytes() as u32),
                _ => Place::new(field.offset, 0),
            })
        });
        let entries = std::iter::once(Place::NOWHERE).chain(entries);
        FieldReader(entries.collect(), PhantomData)
    }

    #[inline]
    fn slot(self, reader: &FieldReader<'v>, object: ObjectId<'v>) -> Held<ObjectId<'v>> {
        let place = reader.place(Fields::class_of(self, object));
        if !place.is_slot() {
            return Held::Absent;
        }
        let at = self.base.object(object.0);
        // SAFETY: the object's class has a slot at that offset; the world is stopped.
        let raw = self.reach.read(unsafe { slot_at(at, place.offset()) });
        self.held(raw)
    }

    #[inline]
    fn bits(self, reader: &FieldReader<'v>, object: ObjectId<'v>) -> Option<u64> {
        let place = reader.place(Fields::class_of(self, object));
        let at = self.base.object(object.0).wrapping_add(place.offset());
        // SAFETY: the object's class has plain data of that width at that offset; nobody writes to
        // it while the world is stopped.
        (place.width() != 0).then(|| unsafe { read_bits(at, place.width()) })
    }

    fn element(self, object: ObjectId<'v>, index: usize) -> Held<ObjectId<'v>> {
        let class = self.classes.get(Fields::class_of(self, object));
        if class.info.elements != Some(Elements::Refs) {
            return Held::Absent;
        }
        let at = self.base.object(object.0);
        // SAFETY: an array of the stopped heap, with as many slots as its length says.
        unsafe {
            match index < array_len(at) {
                true => self.held(self.reach.read(slot_at(at, ELEMENTS_OFFSET + 4 * index))),
                false => Held::Null,
            }
        }
    }

    fn plain_element(self, object: ObjectId<'v>, index: usize) -> Option<Value> {
        let class = self.classes.get(Fields::class_of(self, object));
        // SAFETY: an object of that class in the stopped heap.
        unsafe { value_at(self.base, object.0, &class.info, index) }
    }

    fn length_of(self, object: ObjectId<'v>) -> Option<usize> {
        let class = self.classes.get(Fields::class_of(self, object));
        class.info.elements?;
        // SAFETY: an array of the stopped heap.
        Some(unsafe { array_len(self.base.object(object.0)) })
    }

    fn text_of(self, object: ObjectId<'v>) -> Option<String> {
        let class = self.classes.get(Fields::class_of(self, object));
        // SAFETY: an object of that class in the stopped heap.
        unsafe { text_at(self.base, object.0, &class.info) }
    }

    fn slots(self, reader: &FieldReader<'v>, batch: &Batch<'_, Self>) -> Column<ObjectId<'v>> {
        // SAFETY: all objects of a batch have its class.
        unsafe { self.slots_at(reader.place(batch.class()), batch.objects()) }
    }

    fn slots_behind(
        self,
        reader: &FieldReader<'v>,
        column: &Column<ObjectId<'v>>,
    ) -> Column<ObjectId<'v>> {
        let Some(aligned) = self.align(column) else {
            return Column {
                absent: !0,
                ..*column
            };
        };
        // SAFETY: they all have that class.
        let mut held = unsafe { self.slots_at(reader.place(aligned.class), &aligned.objects) };
        for lane in lanes(aligned.odd) {
            let bit = 1 << lane;
            held.there &= !bit;
            held.absent &= !bit;
            match self.slot(reader, column.objects[lane]) {
                Held::Object(object) => {
                    held.objects[lane] = object;
                    held.there |= bit;
                }
                Held::Null => {}
                Held::Absent | Held::Cut => held.absent |= bit,
            }
        }
        held.there &= column.there;
        held.absent |= !column.there;
        held
    }

    fn numbers(
        self,
        reader: &FieldReader<'v>,
        kind: PlainKind,
        batch: &Batch<'_, Self>,
    ) -> Numbers {
        // SAFETY: all objects of a batch have its class.
        unsafe { self.numbers_at(reader.place(batch.class()), kind, batch.objects()) }
    }

    fn numbers_behind(
        self,
        reader: &FieldReader<'v>,
        kind: PlainKind,
        column: &Column<ObjectId<'v>>,
    ) -> Numbers {
        let Some(aligned) = self.align(column) else {
            return Numbers {
                values: [0; LANES],
                known: 0,
                absent: !0,
            };
        };
        let place = reader.place(aligned.class);
        // SAFETY: they all have that class.
        let mut found = unsafe { self.numbers_at(place, kind, &aligned.objects) };
        for lane in lanes(aligned.odd) {
            let bits = self.bits(reader, column.objects[lane]);
            found.values[lane] = kind.extend(bits.unwrap_or(0));
            found.known = found.known & !(1 << lane) | (bits.is_some() as u64) << lane;
        }
        found.known &= column.there;
        found.absent = !column.there;
        found
    }
}
