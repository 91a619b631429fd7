//! Looking into the objects of a stopped heap from the threads that trace it.

use std::marker::PhantomData;
use std::sync::atomic::Ordering::Relaxed;

use heaphound_heap::class::Elements;
use heaphound_heap::fields::{Fields, Held, Readable};
use heaphound_heap::{ClassId, FieldKind, Value};

use super::mark::prefetch;
use super::region::{Base, Raw, Reach};
use super::trace::{ELEMENTS_OFFSET, array_len, slot_at};
use super::view::{Brand, ObjectId, StoppedHeap, text_at, value_at};
use crate::classes::Classes;

/// What looks into the objects of a stopped heap.
#[derive(Clone, Copy)]
pub struct StoppedFields<'a, 'v> {
    base: Base,
    reach: Reach,
    classes: &'a Classes,
    brand: Brand<'v>,
}

/// Where the classes of a stopped heap have a field: by class id, the offset in the upper bits,
/// the width of plain data in the lower ones, where a slot has 0. An offset is never 0.
pub struct FieldReader<'v>(Vec<u32>, Brand<'v>);

/// Bits of the width.
const WIDTH: u32 = 4;

impl<'v> Readable for StoppedHeap<'v> {
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
    /// The place of a field in an object, if its class has it.
    #[inline]
    fn place(self, reader: &FieldReader<'v>, object: ObjectId<'v>) -> u32 {
        let class = Fields::class_of(self, object);
        reader.0.get(class.0 as usize).copied().unwrap_or(0)
    }

    #[inline]
    fn held(self, raw: Raw) -> Held<ObjectId<'v>> {
        match self.reach.covers(raw) {
            true => Held::Object(ObjectId(raw, self.brand)),
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

    fn reader(self, places: &[Option<u32>]) -> FieldReader<'v> {
        let known = places.iter().zip(self.classes.iter());
        let entries = known.map(|(&place, class)| {
            let field = place.and_then(|place| class.info.fields.get(place as usize));
            field.map_or(0, |field| match field.kind {
                FieldKind::Owned => 0,
                FieldKind::Plain(kind) => field.offset << WIDTH | kind.bytes() as u32,
                _ => field.offset << WIDTH,
            })
        });
        FieldReader(std::iter::once(0).chain(entries).collect(), PhantomData)
    }

    #[inline]
    fn slot(self, reader: &FieldReader<'v>, object: ObjectId<'v>) -> Held<ObjectId<'v>> {
        let place = self.place(reader, object);
        if place == 0 || place & ((1 << WIDTH) - 1) != 0 {
            return Held::Absent;
        }
        let at = self.base.object(object.0);
        // SAFETY: the object's class has a slot at that offset; the world is stopped.
        let raw = unsafe { slot_at(at, (place >> WIDTH) as usize) }.load(Relaxed);
        self.held(Raw(raw))
    }

    #[inline]
    fn bits(self, reader: &FieldReader<'v>, object: ObjectId<'v>) -> Option<u64> {
        let place = self.place(reader, object);
        let offset = (place >> WIDTH) as usize;
        let at = self.base.object(object.0).wrapping_add(offset);
        // SAFETY: the object's class has plain data of that width at that offset, aligned as
        // its type is; nobody writes to it while the world is stopped.
        unsafe {
            match place & ((1 << WIDTH) - 1) {
                1 => Some(at.read() as u64),
                2 => Some(at.cast::<u16>().read_unaligned() as u64),
                4 => Some(at.cast::<u32>().read_unaligned() as u64),
                8 => Some(at.cast::<u64>().read_unaligned()),
                _ => None,
            }
        }
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
                true => self.held(Raw(slot_at(at, ELEMENTS_OFFSET + 4 * index).load(Relaxed))),
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

    #[inline]
    fn prefetch(self, object: ObjectId<'v>) {
        prefetch(self.base.object(object.0));
    }
}
