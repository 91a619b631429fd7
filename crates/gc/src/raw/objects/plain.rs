//! Plain data that changes: values without references, shared between threads
//! without data races because they are stored in atomics.
//!
//! What has several parts (a struct, an enum with data, an option, an array) is stored part by part, each an atomic of
//! its own. Whatever bits are found make a value, so that a race gives a value of mixed parts and nothing worse.

use std::mem::offset_of;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use heaphound_heap::{FieldKind, PlainKind};

use crate::raw::objects::object::{Field, Filler, ForEach, Part};

/// A type of plain data: a number, a truth value, a character; options, arrays and tuples of plain data; structs and
/// enums with `#[derive(Plain)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data",
    note = "numbers, `bool`, `char`, and options, arrays and tuples of them are; so is a struct or an enum of those, with \
            `#[derive(Clone, Copy, Plain)]`",
    note = "a reference to an object is a `Slot`, a `Ref` or a `ValueSlot`"
)]
pub trait Plain: Copy + Send + Sync + 'static {
    /// The atomics that store it.
    type Cell: PlainCell;
    /// How reports read it, if it is one value; else see `PARTS`.
    const KIND: PlainKind;
    /// Calls its argument with each part that reports show, if it has parts.
    const PARTS: Option<ForEach<PlainPart>> = None;
    /// The bits to store.
    fn to_bits(self) -> <Self::Cell as PlainCell>::Bits;
    /// The value of stored bits.
    fn from_bits(bits: <Self::Cell as PlainCell>::Bits) -> Self;
}

/// A part of plain data that has several.
pub struct PlainPart {
    /// What is added to the field's name: `.x`, `[3]`, or nothing.
    pub name: String,
    /// Bytes from the start of the cell.
    pub offset: usize,
    /// How reports read it.
    pub kind: PlainKind,
}

/// Calls `f` with the parts of a type, which is a part of another: what that adds to names, and where it is.
#[doc(hidden)]
pub fn parts_of<T: Plain>(name: &str, offset: usize, f: &mut dyn FnMut(PlainPart)) {
    match T::PARTS {
        None => f(PlainPart {
            name: name.into(),
            offset,
            kind: T::KIND,
        }),
        Some(parts) => parts(&mut |part| {
            f(PlainPart {
                name: format!("{name}{}", part.name),
                offset: offset + part.offset,
                kind: part.kind,
            })
        }),
    }
}

/// The kind of plain data, once it is sure that it takes as much room as it says:
/// anybody can implement [`Plain`], and sizes are computed from the kind.
pub(crate) const fn kind_of<T: Plain>() -> PlainKind {
    assert!(
        T::PARTS.is_none(),
        "an array object holds numbers, `bool`s, `char`s or fieldless enums: of data with several parts make an array \
         for each, or objects"
    );
    assert!(
        size_of::<T::Cell>() == T::KIND.bytes(),
        "`Plain::KIND` and `Plain::Cell` have different widths"
    );
    T::KIND
}

mod sealed {
    pub trait Sealed {}
}

/// Atomic integers that store plain data: one, or a tuple or an array of them.
pub trait PlainCell: sealed::Sealed + Send + Sync + 'static {
    /// Unsigned integers of the same widths.
    type Bits: Copy;
    #[doc(hidden)]
    const ZERO: Self::Bits;
    /// How many words the bits take where they stand beside those of other types.
    #[doc(hidden)]
    const WORDS: usize;
    #[doc(hidden)]
    fn new(bits: Self::Bits) -> Self;
    #[doc(hidden)]
    fn load(&self) -> Self::Bits;
    #[doc(hidden)]
    fn store(&self, bits: Self::Bits);
    #[doc(hidden)]
    fn put(bits: Self::Bits, words: &mut [u64]);
    #[doc(hidden)]
    fn take(words: &[u64]) -> Self::Bits;
}

/// One atomic integer.
pub trait WholeCell: PlainCell {
    #[doc(hidden)]
    fn compare_exchange(&self, current: Self::Bits, new: Self::Bits) -> Result<(), Self::Bits>;
}

macro_rules! plain_cells {
    ($($atomic:ty => $bits:ty),*) => {$(
        impl sealed::Sealed for $atomic {}
        impl PlainCell for $atomic {
            type Bits = $bits;
            const ZERO: $bits = 0;
            const WORDS: usize = 1;
            #[inline]
            fn new(bits: $bits) -> Self { Self::new(bits) }
            #[inline]
            fn load(&self) -> $bits { self.load(Relaxed) }
            #[inline]
            fn store(&self, bits: $bits) { self.store(bits, Relaxed) }
            #[inline]
            fn put(bits: $bits, words: &mut [u64]) { words[0] = bits as u64; }
            #[inline]
            fn take(words: &[u64]) -> $bits { words[0] as $bits }
        }
        impl WholeCell for $atomic {
            #[inline]
            fn compare_exchange(&self, current: $bits, new: $bits) -> Result<(), $bits> {
                self.compare_exchange(current, new, Relaxed, Relaxed).map(|_| ())
            }
        }
    )*};
}
plain_cells!(AtomicU8 => u8, AtomicU16 => u16, AtomicU32 => u32, AtomicU64 => u64);

impl sealed::Sealed for () {}
impl PlainCell for () {
    type Bits = ();
    const ZERO: () = ();
    const WORDS: usize = 0;
    fn new((): ()) -> Self {}
    fn load(&self) {}
    fn store(&self, (): ()) {}
    fn put((): (), _: &mut [u64]) {}
    fn take(_: &[u64]) {}
}

impl<A: PlainCell, B: PlainCell> sealed::Sealed for (A, B) {}
impl<A: PlainCell, B: PlainCell> PlainCell for (A, B) {
    type Bits = (A::Bits, B::Bits);
    const ZERO: Self::Bits = (A::ZERO, B::ZERO);
    const WORDS: usize = A::WORDS + B::WORDS;
    #[inline]
    fn new(bits: Self::Bits) -> Self {
        (A::new(bits.0), B::new(bits.1))
    }
    #[inline]
    fn load(&self) -> Self::Bits {
        (self.0.load(), self.1.load())
    }
    #[inline]
    fn store(&self, bits: Self::Bits) {
        self.0.store(bits.0);
        self.1.store(bits.1);
    }
    #[inline]
    fn put(bits: Self::Bits, words: &mut [u64]) {
        A::put(bits.0, words);
        B::put(bits.1, &mut words[A::WORDS..]);
    }
    #[inline]
    fn take(words: &[u64]) -> Self::Bits {
        (A::take(words), B::take(&words[A::WORDS..]))
    }
}

impl<C: PlainCell, const N: usize> sealed::Sealed for [C; N] {}
impl<C: PlainCell, const N: usize> PlainCell for [C; N] {
    type Bits = [C::Bits; N];
    const ZERO: Self::Bits = [C::ZERO; N];
    const WORDS: usize = N * C::WORDS;
    #[inline]
    fn new(bits: Self::Bits) -> Self {
        bits.map(C::new)
    }
    #[inline]
    fn load(&self) -> Self::Bits {
        self.each_ref().map(C::load)
    }
    #[inline]
    fn store(&self, bits: Self::Bits) {
        for (cell, bits) in self.iter().zip(bits) {
            cell.store(bits);
        }
    }
    fn put(bits: Self::Bits, words: &mut [u64]) {
        for (at, bits) in bits.into_iter().enumerate() {
            C::put(bits, &mut words[at * C::WORDS..]);
        }
    }
    fn take(words: &[u64]) -> Self::Bits {
        std::array::from_fn(|at| C::take(&words[at * C::WORDS..]))
    }
}

macro_rules! plain_integers {
    ($($type:ty, $cell:ty, $bits:ty => $kind:ident);*) => {$(
        impl Plain for $type {
            type Cell = $cell;
            const KIND: PlainKind = PlainKind::$kind;
            #[inline]
            fn to_bits(self) -> $bits { self as $bits }
            #[inline]
            fn from_bits(bits: $bits) -> Self { bits as $type }
        }
    )*};
}
plain_integers!(u8, AtomicU8, u8 => U8; i8, AtomicU8, u8 => I8;
    u16, AtomicU16, u16 => U16; i16, AtomicU16, u16 => I16;
    u32, AtomicU32, u32 => U32; i32, AtomicU32, u32 => I32;
    u64, AtomicU64, u64 => U64; i64, AtomicU64, u64 => I64;
    usize, AtomicU64, u64 => U64; isize, AtomicU64, u64 => I64);

impl Plain for bool {
    type Cell = AtomicU8;
    const KIND: PlainKind = PlainKind::Bool;
    #[inline]
    fn to_bits(self) -> u8 {
        self as u8
    }
    #[inline]
    fn from_bits(bits: u8) -> Self {
        bits != 0
    }
}

impl Plain for char {
    type Cell = AtomicU32;
    const KIND: PlainKind = PlainKind::Char;
    #[inline]
    fn to_bits(self) -> u32 {
        self as u32
    }
    #[inline]
    fn from_bits(bits: u32) -> Self {
        char::from_u32(bits).unwrap_or('\u{fffd}')
    }
}

impl Plain for f32 {
    type Cell = AtomicU32;
    const KIND: PlainKind = PlainKind::F32;
    #[inline]
    fn to_bits(self) -> u32 {
        self.to_bits()
    }
    #[inline]
    fn from_bits(bits: u32) -> Self {
        f32::from_bits(bits)
    }
}

impl Plain for f64 {
    type Cell = AtomicU64;
    const KIND: PlainKind = PlainKind::F64;
    #[inline]
    fn to_bits(self) -> u64 {
        self.to_bits()
    }
    #[inline]
    fn from_bits(bits: u64) -> Self {
        f64::from_bits(bits)
    }
}

/// The names of an option's variants.
const OPTION: PlainKind = PlainKind::Enum {
    variants: &["None", "Some"],
};

/// Reports show which variant it is.
impl<T: Plain> Plain for Option<T> {
    type Cell = (AtomicU8, T::Cell);
    const KIND: PlainKind = OPTION;
    const PARTS: Option<fn(&mut dyn FnMut(PlainPart))> = Some(|f| {
        f(PlainPart {
            name: String::new(),
            offset: offset_of!((AtomicU8, T::Cell), 0),
            kind: OPTION,
        })
    });
    #[inline]
    fn to_bits(self) -> (u8, <T::Cell as PlainCell>::Bits) {
        match self {
            None => (0, T::Cell::ZERO),
            Some(it) => (1, it.to_bits()),
        }
    }
    #[inline]
    fn from_bits((is_some, bits): (u8, <T::Cell as PlainCell>::Bits)) -> Self {
        (is_some != 0).then(|| T::from_bits(bits))
    }
}

impl<T: Plain, const N: usize> Plain for [T; N] {
    type Cell = [T::Cell; N];
    const KIND: PlainKind = T::KIND;
    const PARTS: Option<fn(&mut dyn FnMut(PlainPart))> = Some(|f| {
        for at in 0..N {
            parts_of::<T>(&format!("[{at}]"), at * size_of::<T::Cell>(), f);
        }
    });
    #[inline]
    fn to_bits(self) -> [<T::Cell as PlainCell>::Bits; N] {
        self.map(T::to_bits)
    }
    #[inline]
    fn from_bits(bits: [<T::Cell as PlainCell>::Bits; N]) -> Self {
        bits.map(T::from_bits)
    }
}

impl<A: Plain, B: Plain> Plain for (A, B) {
    type Cell = (A::Cell, B::Cell);
    const KIND: PlainKind = A::KIND;
    const PARTS: Option<fn(&mut dyn FnMut(PlainPart))> = Some(|f| {
        parts_of::<A>(".0", offset_of!((A::Cell, B::Cell), 0), f);
        parts_of::<B>(".1", offset_of!((A::Cell, B::Cell), 1), f);
    });
    #[inline]
    fn to_bits(self) -> <Self::Cell as PlainCell>::Bits {
        (self.0.to_bits(), self.1.to_bits())
    }
    #[inline]
    fn from_bits((a, b): <Self::Cell as PlainCell>::Bits) -> Self {
        (A::from_bits(a), B::from_bits(b))
    }
}

/// Plain data in a managed object that can change. Threads may read and write it at
/// once. What is one value is read and written by one relaxed atomic operation; of data with several parts, a
/// thread that reads while another one writes may see parts of two values.
#[repr(transparent)]
pub struct Var<T: Plain>(T::Cell);

impl<T: Plain> Var<T> {
    /// The value now.
    #[inline]
    pub fn get(&self) -> T {
        T::from_bits(self.0.load())
    }

    /// Sets the value.
    #[inline]
    pub fn set(&self, value: T) {
        self.0.store(value.to_bits());
    }

    /// Sets the value to what `f` makes of it, however many threads do so at
    /// once, and gives the value before. Not for data with several parts: get and set those.
    pub fn update(&self, mut f: impl FnMut(T) -> T) -> T
    where
        T::Cell: WholeCell,
    {
        let mut bits = self.0.load();
        loop {
            let value = T::from_bits(bits);
            match self.0.compare_exchange(bits, f(value).to_bits()) {
                Ok(()) => return value,
                Err(now) => bits = now,
            }
        }
    }

    /// Calls `f` with the parts of the data.
    ///
    /// # Panics
    /// If one is not inside the cell: anybody can implement [`Plain`].
    fn parts(f: &mut dyn FnMut(Part)) {
        parts_of::<T>("", 0, &mut |part| {
            let (offset, bytes) = (part.offset, part.kind.bytes());
            let end = offset.checked_add(bytes);
            assert!(
                offset % bytes == 0 && end.is_some_and(|end| end <= size_of::<T::Cell>()),
                "`Plain::PARTS` has a part outside of `Plain::Cell`"
            );
            f(Part {
                name: part.name,
                offset,
                kind: FieldKind::Plain(part.kind),
            });
        });
    }
}

// SAFETY: transparently an atomic of the width that the kind has, or atomics among which the parts are, which is
// checked.
unsafe impl<T: Plain> Field for Var<T> {
    const KIND: FieldKind = FieldKind::Plain(match T::PARTS {
        None => kind_of::<T>(),
        Some(_) => T::KIND,
    });
    const PARTS: Option<fn(&mut dyn FnMut(Part))> = match T::PARTS {
        None => None,
        Some(_) => Some(Self::parts),
    };
    type Init<'s> = T;

    #[inline]
    fn fill(init: T, _: &Filler<'_>) -> Self {
        Self(T::Cell::new(init.to_bits()))
    }
}

impl<T: Plain + std::fmt::Debug> std::fmt::Debug for Var<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}
