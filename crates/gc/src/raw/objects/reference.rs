//! What a slot can be set to: an object, or a local or root that refers to one.
//!
//! A slot knows its heap, by its address, and no mutator. A local is a place on the stack of a mutator. So each
//! thread knows which mutators are attached on it: a local that is none of theirs is refused.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr;

use crate::heap::HeapInner;
use crate::raw::memory::address::{Base, Raw};
use crate::raw::mutators::mutator::{Local, Mutator, MutatorShared, foreign_local};
use crate::raw::objects::array::{ArrayName, PlainArray, RefArray, Str};
use crate::raw::objects::handle::Root;
use crate::raw::objects::instance::Instance;
use crate::raw::objects::invalid;
use crate::raw::objects::object::{Managed, Object};
use crate::raw::objects::plain::Plain;
use crate::raw::objects::slot::foreign_reference;

/// The objects of this class are objects of `T`, too: it is `T`, or extends it. `#[managed]` says so of each class. How far above `T`
/// is, the compiler finds out by itself.
///
/// # Safety
/// Every object of this class can be seen as a `T`.
#[diagnostic::on_unimplemented(
    message = "a `{Self}` is not a `{T}`",
    label = "`{Self}` does not extend `{T}`",
    note = "a place for objects of a class takes those of that class and of the classes that extend it; `downcast` looks \
            whether an object is of a narrower class"
)]
pub unsafe trait Extends<T: ?Sized, Up> {
    /// Where `#[managed]` shows that the superclass comes first. Never called.
    #[doc(hidden)]
    fn begins_with_superclass() {}
}

/// How far a class is above itself.
pub struct Itself;

/// How far a class is above another: one further than a third one, which the other extends.
pub struct Above<Up>(PhantomData<Up>);

// SAFETY: the same class.
unsafe impl<T: Managed + ?Sized> Extends<T, Itself> for T {}

/// Says of classes that they extend `Object` and no other.
macro_rules! extend_object {
    ($([$($generics:tt)*] $class:ty),*) => {$(
        // SAFETY: every object is an `Object`, and so whatever that can be seen as.
        #[diagnostic::do_not_recommend]
        unsafe impl<$($generics)* Class: ?Sized, Up>
            $crate::Extends<Class, $crate::Above<Up>> for $class
        where
            $crate::Object: $crate::Extends<Class, Up>,
        {
        }
    )*};
}
pub(in crate::raw) use extend_object;

extend_object!(
    [T: Managed + ?Sized, N: ArrayName,] RefArray<T, N>,
    [T: Plain,] PlainArray<T>,
    [] Str,
    [] Instance
);

#[allow(private_bounds)] // Sealed.
/// What refers to an object of class `T`, or of one that extends it: `&T`, a [`Local`] of this thread, or a `&`[`Root`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not refer to an object of class `{T}`",
    note = "a `&T`, a `Local<T>` or a `&Root<T>` does"
)]
pub trait Reference<T: ?Sized, Up = Itself>: Refers<T, Up> {
    /// The object.
    ///
    /// # Panics
    /// If it is another heap's or another mutator's, or the reference was invalidated.
    #[doc(hidden)]
    fn object<'m>(self, m: &'m Mutator<'_>) -> &'m T;
}

#[allow(private_bounds)] // Sealed.
/// A [`Reference`], or an option of one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not refer to an object of class `{T}`",
    note = "a `&T`, a `Local<T>`, a `&Root<T>` or an `Option` of one does; `clear()` sets a slot to null"
)]
pub trait OptionalReference<T: ?Sized, Up = Itself>: MayRefer<T, Up> {}

impl<T: ?Sized, Up, R: MayRefer<T, Up>> OptionalReference<T, Up> for R {}

/// What refers to an object. Nobody else can implement it.
pub(crate) trait Refers<T: ?Sized, Up>: Copy {
    /// The reference, for a slot of the heap with that base.
    ///
    /// # Panics
    /// If it is another heap's, another thread's or invalid.
    ///
    /// # Safety
    /// The heap exists, and a mutator of it on this thread is at no safepoint before the reference is stored.
    unsafe fn raw_in(self, base: Base) -> Raw;
}

/// What refers to an object, or to none. Nobody else can implement it.
pub(crate) trait MayRefer<T: ?Sized, Up> {
    /// As [`Refers::raw_in`]; null if it refers to none.
    ///
    /// # Safety
    /// As for [`Refers::raw_in`].
    unsafe fn raw_in(self, base: Base) -> Raw;
}

impl<T: ?Sized, Up, C: Managed + Extends<T, Up> + ?Sized> Refers<T, Up> for &C {
    #[inline]
    #[track_caller]
    unsafe fn raw_in(self, base: Base) -> Raw {
        let object = self.as_object();
        if Base::of(object) != base {
            foreign_reference();
        }
        object.raw()
    }
}

impl<T: Managed + ?Sized, Up, C: Managed + Extends<T, Up> + ?Sized> Reference<T, Up> for &C {
    #[inline]
    #[track_caller]
    fn object<'m>(self, m: &'m Mutator<'_>) -> &'m T {
        let raw = m.own(self);
        // SAFETY: the object lives now, and for as long as this mutator is borrowed (H2); what extends `T` is one.
        unsafe { T::from_object(m.shared.base.object(raw)) }
    }
}

impl<T: ?Sized, Up, C: Managed + Extends<T, Up> + ?Sized> Refers<T, Up> for Local<'_, C> {
    #[inline]
    #[track_caller]
    unsafe fn raw_in(self, base: Base) -> Raw {
        let mutator = owner(self);
        if mutator.base != base {
            foreign_reference();
        }
        // SAFETY: the caller's promise; the local is of that heap.
        unsafe { valid(base, mutator.local_raw(self)) }
    }
}

impl<T: Managed + ?Sized, Up, C: Managed + Extends<T, Up> + ?Sized> Reference<T, Up>
    for Local<'_, C>
{
    #[inline]
    #[track_caller]
    fn object<'m>(self, m: &'m Mutator<'_>) -> &'m T {
        // SAFETY: a local that is not invalid refers to a live object of its class (H3), which extends `T`.
        unsafe { m.target(m.shared.local_raw(self)) }
    }
}

impl<T: ?Sized, Up, C: Managed + Extends<T, Up> + ?Sized> Refers<T, Up> for &Root<C> {
    #[inline]
    #[track_caller]
    unsafe fn raw_in(self, base: Base) -> Raw {
        // SAFETY: the caller's promise; the root is of that heap, as `raw_in` checks.
        unsafe { valid(base, self.raw_in(HeapInner::of(base))) }
    }
}

impl<T: Managed + ?Sized, Up, C: Managed + Extends<T, Up> + ?Sized> Reference<T, Up> for &Root<C> {
    #[inline]
    #[track_caller]
    fn object<'m>(self, m: &'m Mutator<'_>) -> &'m T {
        // SAFETY: as for a local; the root is of this heap, as `raw_in` checks.
        unsafe { m.target(self.raw_in(m.heap)) }
    }
}

/// A reference that a local or root has, once it is sure that it was not invalidated.
///
/// # Safety
/// It was read in a local or root of the heap with that base; else as for [`Refers::raw_in`].
#[inline]
#[track_caller]
unsafe fn valid(base: Base, raw: Raw) -> Raw {
    if raw.is_tagged() {
        // SAFETY: every object is an `Object`; else the caller's promise (H2, H3).
        let _: &Object = unsafe { invalid::target(base.object(raw)) };
    }
    raw
}

macro_rules! may_refer {
    ($($reference:ty),*) => {$(
        impl<T: ?Sized, Up, C: Managed + Extends<T, Up> + ?Sized> MayRefer<T, Up> for $reference {
            #[inline]
            #[track_caller]
            unsafe fn raw_in(self, base: Base) -> Raw {
                // SAFETY: the caller's promise.
                unsafe { Refers::raw_in(self, base) }
            }
        }
    )*};
}
may_refer!(&C, Local<'_, C>, &Root<C>);

/// None is null.
impl<T: ?Sized, Up, R: Refers<T, Up>> MayRefer<T, Up> for Option<R> {
    #[inline]
    #[track_caller]
    unsafe fn raw_in(self, base: Base) -> Raw {
        match self {
            // SAFETY: the caller's promise.
            Some(it) => unsafe { it.raw_in(base) },
            None => Raw::NULL,
        }
    }
}

thread_local! {
    /// The mutator that was attached last on this thread and still is; each knows the one before it.
    static LAST: Cell<*const MutatorShared> = const { Cell::new(ptr::null()) };
}

/// Adds a mutator to those of this thread.
///
/// # Safety
/// It is attached on this thread and stays where it is until [`forget`] is called with it, on this thread.
pub(in crate::raw) unsafe fn remember(mutator: &MutatorShared) {
    mutator.attached_before.set(LAST.get());
    LAST.set(mutator);
}

/// Removes a mutator from those of this thread.
pub(in crate::raw) fn forget(mutator: &MutatorShared) {
    let before = mutator.attached_before.get();
    if ptr::eq(LAST.get(), mutator) {
        LAST.set(before);
    } else if let Some(next) = attached().find(|it| ptr::eq(it.attached_before.get(), mutator)) {
        next.attached_before.set(before);
    }
}

/// The mutators that are attached on this thread. None of them must be forgotten meanwhile.
#[inline]
fn attached<'m>() -> impl Iterator<Item = &'m MutatorShared> {
    // SAFETY: what is in the list stays where it is until it is taken out (`remember`).
    let at = |mutator: *const MutatorShared| unsafe { mutator.as_ref() };
    std::iter::successors(at(LAST.get()), move |it| at(it.attached_before.get()))
}

/// The mutator of this thread whose local it is.
#[inline]
#[track_caller]
fn owner<'m, T: ?Sized>(local: Local<'m, T>) -> &'m MutatorShared {
    match attached().find(|it| it.owns(local)) {
        Some(mutator) => mutator,
        None => foreign_local(),
    }
}
