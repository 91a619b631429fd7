//! Locals that leave the scope that made them: `Mutator::scoped_with`.
//!
//! A closure that runs in a scope of its own may return locals of that scope. What it returns depends on the scope, which
//! the types of Rust can say of one local, but not of "whatever has locals in it". So it wraps them, `keep((a, b))`,
//! in a [`Kept`], whose parameter says which locals they are without saying of which scope.

use std::collections::VecDeque;
use std::marker::PhantomData;

use crate::raw::memory::address::Raw;
use crate::raw::mutators::mutator::{Local, Mutator, MutatorShared};
use crate::raw::objects::object::{Managed, Object};
use crate::raw::objects::value::LocalValue;

/// What a scope returns, wrapped to leave it; see [`keep`].
pub struct Kept<'s, S: Keep>(S::Locals<'s>);

/// Wraps what leaves its scope through [`Mutator::scoped_with`]: a local, a [`LocalValue`], a number or a text beside them; an
/// option, a tuple, an array or a vector of such.
pub fn keep<'s, L: Keepable<'s>>(locals: L) -> Kept<'s, L::Shape> {
    Kept(locals)
}

/// What [`keep`] can wrap.
pub trait Keepable<'s>: Sized {
    /// What they are, but for their scope.
    type Shape: Keep<Locals<'s> = Self>;
}

#[allow(private_bounds)] // Sealed.
/// What locals are, but for their scope.
pub trait Keep: Sealed {
    /// The locals in a scope.
    type Locals<'s>;

    /// Adds what the locals refer to.
    ///
    /// # Panics
    /// If one is not that mutator's.
    #[doc(hidden)]
    fn read(locals: &Self::Locals<'_>, m: &Stack<'_>, raws: &mut Raws);

    /// Makes locals like those, which refer to what comes next.
    #[doc(hidden)]
    fn push<'a>(locals: &Self::Locals<'_>, m: &Stack<'_>, raws: &mut Raws) -> Self::Locals<'a>;
}

/// Nobody else says how locals move.
trait Sealed {}

/// Where locals are read and made.
#[doc(hidden)]
pub struct Stack<'m>(&'m MutatorShared);

/// What locals refer to while they are moved from one scope to another, first in, first out.
#[doc(hidden)]
#[derive(Default)]
pub struct Raws(VecDeque<Raw>);

/// One local, for an object of this class.
pub struct One<T: ?Sized>(PhantomData<fn(*const T) -> *const T>);

impl<'s, T: Managed + ?Sized> Keepable<'s> for Local<'s, T> {
    type Shape = One<T>;
}

impl<T: ?Sized> Sealed for One<T> {}
impl<T: Managed + ?Sized> Keep for One<T> {
    type Locals<'s> = Local<'s, T>;

    fn read(local: &Local<'_, T>, m: &Stack<'_>, raws: &mut Raws) {
        raws.0.push_back(m.0.local_raw(*local));
    }

    fn push<'a>(_: &Local<'_, T>, m: &Stack<'_>, raws: &mut Raws) -> Local<'a, T> {
        m.0.push(raws.0.pop_front().expect("as many as were read"))
    }
}

impl<'s, L: Keepable<'s>> Keepable<'s> for Option<L> {
    type Shape = Option<L::Shape>;
}

impl<S> Sealed for Option<S> {}
impl<S: Keep> Keep for Option<S> {
    type Locals<'s> = Option<S::Locals<'s>>;

    fn read(locals: &Self::Locals<'_>, m: &Stack<'_>, raws: &mut Raws) {
        locals.iter().for_each(|it| S::read(it, m, raws));
    }

    fn push<'a>(locals: &Self::Locals<'_>, m: &Stack<'_>, raws: &mut Raws) -> Self::Locals<'a> {
        locals.as_ref().map(|it| S::push(it, m, raws))
    }
}

impl<'s, L: Keepable<'s>> Keepable<'s> for Vec<L> {
    type Shape = Vec<L::Shape>;
}

impl<S> Sealed for Vec<S> {}
impl<S: Keep> Keep for Vec<S> {
    type Locals<'s> = Vec<S::Locals<'s>>;

    fn read(locals: &Self::Locals<'_>, m: &Stack<'_>, raws: &mut Raws) {
        locals.iter().for_each(|it| S::read(it, m, raws));
    }

    fn push<'a>(locals: &Self::Locals<'_>, m: &Stack<'_>, raws: &mut Raws) -> Self::Locals<'a> {
        locals.iter().map(|it| S::push(it, m, raws)).collect()
    }
}

impl<'s, L: Keepable<'s>, const N: usize> Keepable<'s> for [L; N] {
    type Shape = [L::Shape; N];
}

impl<S, const N: usize> Sealed for [S; N] {}
impl<S: Keep, const N: usize> Keep for [S; N] {
    type Locals<'s> = [S::Locals<'s>; N];

    fn read(locals: &Self::Locals<'_>, m: &Stack<'_>, raws: &mut Raws) {
        locals.iter().for_each(|it| S::read(it, m, raws));
    }

    fn push<'a>(locals: &Self::Locals<'_>, m: &Stack<'_>, raws: &mut Raws) -> Self::Locals<'a> {
        std::array::from_fn(|i| S::push(&locals[i], m, raws))
    }
}

/// A value of a language, its object with it.
impl<'s> Keepable<'s> for LocalValue<'s> {
    type Shape = LocalValue<'static>;
}

impl Sealed for LocalValue<'_> {}
impl Keep for LocalValue<'static> {
    type Locals<'s> = LocalValue<'s>;

    fn read(value: &LocalValue<'_>, m: &Stack<'_>, raws: &mut Raws) {
        let object = value.object_local();
        object
            .iter()
            .for_each(|it| One::<Object>::read(it, m, raws));
    }

    fn push<'a>(value: &LocalValue<'_>, m: &Stack<'_>, raws: &mut Raws) -> LocalValue<'a> {
        let object = value.object_local();
        value.with_object(object.map(|it| One::<Object>::push(&it, m, raws)))
    }
}

/// What refers to nothing leaves as it is.
macro_rules! plain {
    ($($type:ty),*) => {$(
        impl Keepable<'_> for $type {
            type Shape = $type;
        }

        impl Sealed for $type {}
        impl Keep for $type {
            type Locals<'s> = $type;

            fn read(_: &$type, _: &Stack<'_>, _: &mut Raws) {}

            #[allow(clippy::clone_on_copy)] // A text is not.
            fn push<'a>(it: &$type, _: &Stack<'_>, _: &mut Raws) -> Self::Locals<'a> {
                it.clone()
            }
        }
    )*};
}
plain!(
    (),
    bool,
    char,
    u8,
    u16,
    u32,
    u64,
    u128,
    usize,
    i8,
    i16,
    i32,
    i64,
    i128,
    isize,
    f32,
    f64,
    String,
    &'static str
);

macro_rules! tuples {
    ($(($($shape:ident $local:ident $place:tt),*))*) => {$(
        impl<'s, $($local: Keepable<'s>),*> Keepable<'s> for ($($local,)*) {
            type Shape = ($($local::Shape,)*);
        }

        impl<$($shape),*> Sealed for ($($shape,)*) {}
        impl<$($shape: Keep),*> Keep for ($($shape,)*) {
            type Locals<'s> = ($($shape::Locals<'s>,)*);

            fn read(locals: &Self::Locals<'_>, m: &Stack<'_>, raws: &mut Raws) {
                $($shape::read(&locals.$place, m, raws);)*
            }

            fn push<'a>(
                locals: &Self::Locals<'_>,
                m: &Stack<'_>,
                raws: &mut Raws,
            ) -> Self::Locals<'a> {
                ($($shape::push(&locals.$place, m, raws),)*)
            }
        }
    )*};
}
tuples!(
    (S0 L0 0, S1 L1 1)
    (S0 L0 0, S1 L1 1, S2 L2 2)
    (S0 L0 0, S1 L1 1, S2 L2 2, S3 L3 3)
);

impl<'a> Mutator<'a> {
    /// Runs `f` in a scope of its own and keeps the objects that it returns, as locals of this scope. All
    /// other locals of `f` go.
    ///
    /// ```
    /// # use heaphound_gc::{Heap, OutOfMemory, Str, keep};
    /// # let heap = Heap::builder().build().unwrap();
    /// # let mut m = heap.attach("main").unwrap();
    /// let (name, all) = m.scoped_with(|m| {
    ///     let name = m.alloc_str("first")?;
    ///     let all = m.alloc_refs::<Str>(10)?;
    ///     m[all][0].set(name);
    ///     Ok::<_, OutOfMemory>(keep((name, all)))
    /// })?;
    /// assert_eq!(&m[all][0].get().unwrap()[..], &m[name][..]);
    /// # Ok::<(), OutOfMemory>(())
    /// ```
    ///
    /// # Panics
    /// If a local that is returned belongs to another mutator.
    #[track_caller]
    pub fn scoped_with<S: Keep, E>(
        &mut self,
        f: impl for<'b> FnOnce(&mut Mutator<'b>) -> Result<Kept<'b, S>, E>,
    ) -> Result<S::Locals<'a>, E> {
        // Asked of this mutator and not of `scope`, in whose place the closure may
        // have put another one.
        let stack = Stack(self.shared);
        let mut raws = Raws::default();
        let locals = {
            let mut scope = self.scope();
            let Kept(locals) = f(&mut scope)?;
            S::read(&locals, &stack, &mut raws);
            locals
        };
        Ok(S::push(&locals, &stack, &mut raws))
    }
}
