//! Plain data that changes: values without references, shared between threads
//! without data races because they are stored in atomics.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use heaphound_heap::{FieldKind, PlainKind};

use crate::raw::objects::object::{Field, Filler};

/// A type of plain data: a number, a truth value, a character, or a fieldless enum with
/// `#[derive(Plain)]`.
pub trait Plain: Copy + Send + Sync + 'static {
    /// The atomic that stores it.
    type Cell: PlainCell;
    /// How reports read it.
    const KIND: PlainKind;
    /// The bits to store.
    fn to_bits(self) -> <Self::Cell as PlainCell>::Bits;
    /// The value of stored bits.
    fn from_bits(bits: <Self::Cell as PlainCell>::Bits) -> Self;
}

/// The kind of plain data, once it is sure that it takes as much room as it says:
/// anybody can implement [`Plain`], and sizes are computed from the kind.
pub(crate) const fn kind_of<T: Plain>() -> PlainKind {
    assert!(
        size_of::<T::Cell>() == T::KIND.bytes(),
        "`Plain::KIND` and `Plain::Cell` have different widths"
    );
    T::KIND
}

mod sealed {
    pub trait Sealed {}
}

/// An atomic integer that stores plain data.
pub trait PlainCell: sealed::Sealed + Send + Sync + 'static {
    /// The unsigned integer of the same width.
    type Bits: Copy;
    #[doc(hidden)]
    fn new(bits: Self::Bits) -> Self;
    #[doc(hidden)]
    fn load(&self) -> Self::Bits;
    #[doc(hidden)]
    fn store(&self, bits: Self::Bits);
    #[doc(hidden)]
    fn compare_exchange(&self, current: Self::Bits, new: Self::Bits) -> Result<(), Self::Bits>;
}

macro_rules! plain_cells {
    ($($atomic:ty => $bits:ty),*) => {$(
        impl sealed::Sealed for $atomic {}
        impl PlainCell for $atomic {
            type Bits = $bits;
            #[inline]
            fn new(bits: $bits) -> Self { Self::new(bits) }
            #[inline]
            fn load(&self) -> $bits { self.load(Relaxed) }
            #[inline]
            fn store(&self, bits: $bits) { self.store(bits, Relaxed) }
            #[inline]
            fn compare_exchange(&self, current: $bits, new: $bits) -> Result<(), $bits> {
                self.compare_exchange(current, new, Relaxed, Relaxed).map(|_| ())
            }
        }
    )*};
}
plain_cells!(AtomicU8 => u8, AtomicU16 => u16, AtomicU32 => u32, AtomicU64 => u64);

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

/// Plain data in a managed object that can change. Threads may read and write it at
/// once; each access is one relaxed atomic operation.
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
    /// once, and gives the value before.
    pub fn update(&self, mut f: impl FnMut(T) -> T) -> T {
        let mut bits = self.0.load();
        loop {
            let value = T::from_bits(bits);
            match self.0.compare_exchange(bits, f(value).to_bits()) {
                Ok(()) => return value,
                Err(now) => bits = now,
            }
        }
    }
}

// SAFETY: transparently an atomic of the width that the kind has.
unsafe impl<T: Plain> Field for Var<T> {
    const KIND: FieldKind = FieldKind::Plain(kind_of::<T>());
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
