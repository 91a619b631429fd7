//! Arrays and strings: objects whose length is chosen when they are made.
//!
//! A reference to one is a wide reference: the address with the length, which also
//! stands in the object. So elements are indexed, iterated and bounds-checked as in
//! any slice.

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::panic::Location;
use std::ptr;

use crate::casts::TypeNumber;
use crate::classes::type_name;
use crate::error::OutOfMemory;
use crate::raw::memory::address::Base;
use crate::raw::mutators::mutator::{Local, Mutator};
use crate::raw::objects::header::Header;
use crate::raw::objects::layout::{
    ELEMENTS_OFFSET, LENGTH_OFFSET, array_len, plain_array, refs_bytes,
};
use crate::raw::objects::object::{Descriptor, Managed, Shape};
use crate::raw::objects::plain::{Plain, PlainCell, Var, kind_of};
use crate::raw::objects::slot::{Slot, foreign_reference, record};
use crate::sites::Site;

/// An array of optional references. Dereferences to a slice of [`Slot`]s. `N` says what reports call it: an array that is part of a
/// collection has a name of its own.
#[repr(C)]
pub struct RefArray<T: Managed + ?Sized, N: ArrayName = Own> {
    header: Header,
    len: u32,
    name: PhantomData<fn(N)>,
    slots: [Slot<T>],
}

/// What reports call a class of arrays.
pub trait ArrayName: 'static {
    /// The name, given that of the elements' class.
    fn name(element: &str) -> String;
}

/// An array is called after its elements: `Node[]`.
pub struct Own;

impl ArrayName for Own {
    fn name(element: &str) -> String {
        format!("{element}[]")
    }
}

/// An array of plain data. Dereferences to a slice of [`Var`]s.
#[repr(C)]
pub struct PlainArray<T: Plain> {
    header: Header,
    len: u32,
    items: [Var<T>],
}

/// An array of bytes.
pub type Bytes = PlainArray<u8>;

/// Immutable text. Dereferences to `str`.
#[repr(C)]
pub struct Str {
    header: Header,
    len: u32,
    text: str,
}

/// The longest array: its length is four bytes, and all lengths below this fit.
const MAX_LEN: usize = (1 << 31) - 1;

// SAFETY: begins with a header; every slot follows from the length, which never
// changes; no owned fields; alignment 8.
unsafe impl<T: Managed + ?Sized, N: ArrayName> Managed for RefArray<T, N> {
    const DESCRIPTOR: &'static Descriptor = &Descriptor {
        name: || N::name(&(T::DESCRIPTOR.name)()),
        path: || N::name(&(T::DESCRIPTOR.path)()),
        type_id: TypeId::of::<Self>,
        shape: Shape::Refs,
        superclass: None,
        interfaces: &[],
        fields: &[],
        caption: None,
        drop: None,
        number: || None,
    };

    #[inline]
    unsafe fn from_object<'m>(object: *const u8) -> &'m Self {
        // SAFETY: the caller's promise that this is a live array; the length it
        // was made with is behind its header, and that many slots follow.
        unsafe {
            let len = array_len(object);
            &*(ptr::slice_from_raw_parts(object, len) as *const Self)
        }
    }
}

// SAFETY: as above; plain data has no slots.
unsafe impl<T: Plain> Managed for PlainArray<T> {
    const DESCRIPTOR: &'static Descriptor = &Descriptor {
        name: || format!("{}[]", type_name::<T>()),
        path: || format!("{}[]", std::any::type_name::<T>()),
        type_id: TypeId::of::<Self>,
        shape: Shape::Plain(kind_of::<T>()),
        superclass: None,
        interfaces: &[],
        fields: &[],
        caption: None,
        drop: None,
        number: || None,
    };

    #[inline]
    unsafe fn from_object<'m>(object: *const u8) -> &'m Self {
        // SAFETY: as for `RefArray`.
        unsafe {
            let len = array_len(object);
            &*(ptr::slice_from_raw_parts(object, len) as *const Self)
        }
    }
}

// SAFETY: as above; the bytes were a `str` when the object was made and nobody can
// change them.
unsafe impl Managed for Str {
    const DESCRIPTOR: &'static Descriptor = &Descriptor {
        name: || "Str".into(),
        path: || "heaphound::Str".into(),
        type_id: TypeId::of::<Self>,
        shape: Shape::Text,
        superclass: None,
        interfaces: &[],
        fields: &[],
        caption: None,
        drop: None,
        number: || {
            static NUMBER: TypeNumber = TypeNumber::new();
            Some(&NUMBER)
        },
    };

    #[inline]
    unsafe fn from_object<'m>(object: *const u8) -> &'m Self {
        // SAFETY: as for `RefArray`.
        unsafe {
            let len = array_len(object);
            &*(ptr::slice_from_raw_parts(object, len) as *const Self)
        }
    }
}

impl<T: Managed + ?Sized, N: ArrayName> Deref for RefArray<T, N> {
    type Target = [Slot<T>];

    #[inline]
    fn deref(&self) -> &[Slot<T>] {
        &self.slots
    }
}

impl<T: Plain> Deref for PlainArray<T> {
    type Target = [Var<T>];

    #[inline]
    fn deref(&self) -> &[Var<T>] {
        &self.items
    }
}

impl Deref for Str {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: Managed + ?Sized, N: ArrayName> RefArray<T, N> {
    /// Copies a range of another array of this heap (or of this one; the ranges may
    /// overlap) to `at`. Invalidated references are copied as they are.
    ///
    /// # Panics
    /// If a range is out of bounds, or the arrays belong to different heaps.
    #[track_caller]
    pub fn copy_from(&self, at: usize, source: &Self, range: Range<usize>) {
        let (from, to) = (&source[range.clone()], &self[at..at + range.len()]);
        if Base::of(&self.header) != Base::of(&source.header) {
            foreign_reference();
        }
        let copy = |i: usize| {
            to[i].copy_unrecorded(&from[i]);
            let slot = to[i].raw_slot();
            record(
                slot,
                crate::raw::memory::address::Raw(slot.load(std::sync::atomic::Ordering::Relaxed)),
            );
        };
        // Towards higher indices where the target lies below, else towards lower ones.
        if to.as_ptr() <= from.as_ptr() {
            (0..to.len()).for_each(copy);
        } else {
            (0..to.len()).rev().for_each(copy);
        }
    }
}

impl<T: Plain> PlainArray<T> {
    /// Copies values into the array from `at` on.
    ///
    /// # Panics
    /// If they do not fit.
    #[track_caller]
    pub fn write(&self, at: usize, values: &[T]) {
        let to = &self[at..at + values.len()];
        for (to, &value) in to.iter().zip(values) {
            to.set(value);
        }
    }

    /// Copies values out of the array from `at` on.
    ///
    /// # Panics
    /// If there are not that many.
    #[track_caller]
    pub fn read(&self, at: usize, values: &mut [T]) {
        let from = &self[at..at + values.len()];
        for (from, value) in from.iter().zip(values) {
            *value = from.get();
        }
    }

    /// Copies a range of another array (or of this one; the ranges may overlap) to `at`.
    ///
    /// # Panics
    /// If a range is out of bounds.
    #[track_caller]
    pub fn copy_from(&self, at: usize, source: &Self, range: Range<usize>) {
        let (from, to) = (&source[range.clone()], &self[at..at + range.len()]);
        let copy = |i: usize| to[i].set(from[i].get());
        if to.as_ptr() <= from.as_ptr() {
            (0..to.len()).for_each(copy);
        } else {
            (0..to.len()).rev().for_each(copy);
        }
    }

    /// All values, copied.
    pub fn to_vec(&self) -> Vec<T> {
        self.iter().map(Var::get).collect()
    }
}

impl<'a> Mutator<'a> {
    /// Allocates an array of `len` null references.
    #[track_caller]
    pub fn alloc_refs<T: Managed + ?Sized>(
        &mut self,
        len: usize,
    ) -> Result<Local<'a, RefArray<T>>, OutOfMemory> {
        self.alloc_refs_named(len)
    }

    /// As [`alloc_refs`](Self::alloc_refs), for an array that reports call something else.
    #[track_caller]
    pub fn alloc_refs_named<T: Managed + ?Sized, N: ArrayName>(
        &mut self,
        len: usize,
    ) -> Result<Local<'a, RefArray<T, N>>, OutOfMemory> {
        let site = Location::caller();
        let class = self.class_of(RefArray::<T, N>::DESCRIPTOR, site);
        self.check_len(len, 4)?;
        let bytes = refs_bytes(len);
        self.alloc_with(class, bytes, site, |at, _| {
            // SAFETY: room for `bytes`; null is a slot's valid content.
            unsafe {
                at.write_bytes(0, bytes);
                at.add(LENGTH_OFFSET).cast::<u32>().write(len as u32);
            }
        })
    }

    /// Allocates an array of plain data, all set to `value`.
    #[track_caller]
    pub fn alloc_plain<T: Plain>(
        &mut self,
        len: usize,
        value: T,
    ) -> Result<Local<'a, PlainArray<T>>, OutOfMemory> {
        let site = Location::caller();
        let class = self.class_of(PlainArray::<T>::DESCRIPTOR, site);
        let (shift, offset) = const { plain_array(kind_of::<T>()) };
        self.check_len(len, 1 << shift)?;
        let bytes = offset + (len << shift);
        // The program's code, and so not in the middle of it (H11).
        let bits = value.to_bits();
        self.alloc_with(class, bytes, site, |at, _| {
            // SAFETY: room for `bytes`, of which the items take all behind `offset`.
            unsafe {
                at.add(LENGTH_OFFSET).cast::<u32>().write(len as u32);
                let items = at.add(offset).cast::<T::Cell>();
                for i in 0..len {
                    items.add(i).write(T::Cell::new(bits));
                }
            }
        })
    }

    /// Allocates an array of bytes with the given contents.
    #[track_caller]
    pub fn alloc_bytes(&mut self, bytes: &[u8]) -> Result<Local<'a, Bytes>, OutOfMemory> {
        let site = Location::caller();
        let class = self.class_of(Bytes::DESCRIPTOR, site);
        self.alloc_bytes_of(class, bytes, site)
    }

    /// Allocates text.
    #[track_caller]
    pub fn alloc_str(&mut self, text: &str) -> Result<Local<'a, Str>, OutOfMemory> {
        let site = Location::caller();
        let class = self.class_of(Str::DESCRIPTOR, site);
        self.alloc_bytes_of(class, text.as_bytes(), site)
    }

    fn alloc_bytes_of<T: ?Sized>(
        &mut self,
        class: u32,
        bytes: &[u8],
        site: Site,
    ) -> Result<Local<'a, T>, OutOfMemory> {
        self.check_len(bytes.len(), 1)?;
        self.alloc_with(class, ELEMENTS_OFFSET + bytes.len(), site, |at, _| {
            // SAFETY: room for the length and the bytes.
            unsafe {
                at.add(LENGTH_OFFSET)
                    .cast::<u32>()
                    .write(bytes.len() as u32);
                at.add(ELEMENTS_OFFSET)
                    .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            }
        })
    }

    fn check_len(&mut self, len: usize, each: usize) -> Result<(), OutOfMemory> {
        let bytes = len.saturating_mul(each);
        if len > MAX_LEN {
            return Err(self.heap.too_long(len, MAX_LEN, bytes));
        }
        if bytes > self.heap.space.limit() {
            return Err(self.heap.out_of_memory(self, bytes));
        }
        Ok(())
    }
}
