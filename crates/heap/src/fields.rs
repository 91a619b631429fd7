//! Reading what objects hold while a heap is traced, from any of its threads.
//!
//! A view of a live heap stays on its thread; what a visitor needs to look into the objects
//! that it sees does not have to.

use crate::class::ClassId;
use crate::snapshot::{ObjectId, Snapshot};
use crate::trace::Traceable;
use crate::value::Value;
use crate::view::HeapView;

/// What a slot holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held<O> {
    /// The object has no such slot.
    Absent,
    /// Nothing.
    Null,
    /// A reference to that object.
    Object(O),
}

/// Looks into the objects of a stopped heap.
pub trait Fields: Copy + Send + Sync {
    /// An object of the heap.
    type Object: Copy + Eq + Ord + std::hash::Hash + Send + Sync;
    /// Where the classes of the heap have a field.
    type Reader: Send + Sync;

    /// The class of an object.
    fn class_of(self, object: Self::Object) -> ClassId;

    /// Where to read a field: `places[class.0 - 1]` is an index into the class's `fields`, if
    /// the class has it.
    fn reader(self, places: &[Option<u32>]) -> Self::Reader;

    /// What the slot of that name holds.
    fn slot(self, reader: &Self::Reader, object: Self::Object) -> Held<Self::Object>;

    /// The bits of the plain data of that name, zero-extended, where they are known.
    fn bits(self, reader: &Self::Reader, object: Self::Object) -> Option<u64>;

    /// What an element of a reference array holds: null beyond its end.
    fn element(self, object: Self::Object, index: usize) -> Held<Self::Object>;

    /// An element of an array of plain data, where it is known.
    fn plain_element(self, object: Self::Object, index: usize) -> Option<Value>;

    /// How many elements an array has, where it is known.
    fn length_of(self, object: Self::Object) -> Option<usize>;

    /// The text of a string object, where all of it is known.
    fn text_of(self, object: Self::Object) -> Option<String>;

    /// Says that the object will be looked into soon.
    #[inline]
    fn prefetch(self, object: Self::Object) {
        let _ = object;
    }
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

/// A snapshot can be read from any thread as it is.
impl Fields for &Snapshot {
    type Object = ObjectId;
    type Reader = Vec<Option<u32>>;

    #[inline]
    fn class_of(self, object: ObjectId) -> ClassId {
        HeapView::class_of(self, object)
    }

    fn reader(self, places: &[Option<u32>]) -> Vec<Option<u32>> {
        places.to_vec()
    }

    fn slot(self, reader: &Vec<Option<u32>>, object: ObjectId) -> Held<ObjectId> {
        let class = HeapView::class_of(self, object);
        let place = reader.get(class.0 as usize - 1).copied().flatten();
        let kind = |place: u32| self.class(class).fields.get(place as usize);
        match place {
            Some(place) if kind(place).is_some_and(|field| field.kind.is_slot()) => {
                HeapView::slot(self, object, place as usize).map_or(Held::Null, Held::Object)
            }
            _ => Held::Absent,
        }
    }

    fn bits(self, reader: &Vec<Option<u32>>, object: ObjectId) -> Option<u64> {
        let class = HeapView::class_of(self, object);
        let place = (*reader.get(class.0 as usize - 1)?)?;
        self.plain_bits(object, place as usize)
    }

    fn element(self, object: ObjectId, index: usize) -> Held<ObjectId> {
        let class = self.class(HeapView::class_of(self, object));
        match class.elements {
            Some(crate::class::Elements::Refs) => {
                HeapView::element(self, object, index).map_or(Held::Null, Held::Object)
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
}
