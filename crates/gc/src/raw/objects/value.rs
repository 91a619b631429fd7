//! What a variable of a dynamically typed language holds, in eight bytes: a tag word and an ordinary slot.
//!
//! | slot | word, from its lowest bit | value |
//! |---|---|---|
//! | null | 1, then 31 bits | an integer |
//! | null | 01, then the upper 30 bits of an `f32` | a float that loses nothing so |
//! | null | 0: nil; 4, 12: false, true | |
//! | an object | 0 | the object |
//! | an array of one `i64` or `f64` | 16, 32 | a number that does not fit the word |
//!
//! The word never says what the slot's bits mean: they are always a reference or null, and so the collector knows
//! nothing of values. Threads that race may find the word of one value and the slot of another; that is some value, too.

use std::fmt;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use heaphound_heap::FieldKind;

use crate::error::{Invalidated, OutOfMemory};
use crate::raw::mutators::mutator::{Local, Mutator};
use crate::raw::objects::array::PlainArray;
use crate::raw::objects::object::{Field, Filler, Managed, Object, Part};
use crate::raw::objects::reference::Reference;
use crate::raw::objects::slot::Slot;

/// A field that holds any [`Value`], in eight bytes.
///
/// ```
/// # use heaphound_gc::{Heap, LocalValue, OutOfMemory, Value};
/// # let heap = Heap::builder().build().unwrap();
/// # let mut m = heap.attach("main").unwrap();
/// let (small, wide) = (m.int(42)?, m.int(i64::MAX)?);
/// let text = LocalValue::from(m.alloc_str("text")?);
/// assert!(matches!(small.get(&m), Value::Int(42)));
/// assert!(matches!(wide.get(&m), Value::Int(i64::MAX)));
/// assert!(matches!(text.get(&m), Value::Object(_)));
/// # Ok::<(), OutOfMemory>(())
/// ```
#[repr(C)]
pub struct ValueSlot {
    word: AtomicU32,
    slot: Slot<Object>,
}

/// What a variable of a language holds that is run on the heap. `R` is how objects are referred to.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Value<R> {
    /// Nothing.
    #[default]
    Nil,
    /// A truth value.
    Bool(bool),
    /// An integer. Those from −2³⁰ to 2³⁰ − 1 take no memory besides.
    Int(i64),
    /// A number. Those with no more than 22 bits behind the first, in the range of an `f32`, take no memory besides.
    Float(f64),
    /// An object.
    Object(R),
}

/// A [`Value`] that a scope keeps alive, as a [`Local`] is an object: what a [`ValueSlot`] is set to.
#[derive(Clone, Copy)]
pub struct LocalValue<'s> {
    word: u32,
    /// Not given out: it may be a local of a narrower class.
    object: Option<Local<'s, Object>>,
}

const NIL: u32 = 0;
const FALSE: u32 = 4;
const TRUE: u32 = 12;
const WIDE_INT: u32 = 16;
const WIDE_FLOAT: u32 = 32;

/// The word of an integer, if it fits.
#[inline]
fn word_of_int(value: i64) -> Option<u32> {
    let word = (value as i32) << 1 | 1;
    ((word >> 1) as i64 == value).then_some(word as u32)
}

/// The word of a float, if that loses nothing.
#[inline]
fn word_of_float(value: f64) -> Option<u32> {
    let bits = (value as f32).to_bits();
    let same = (f32::from_bits(bits) as f64).to_bits() == value.to_bits();
    (same && bits & 3 == 0).then_some(bits | 2)
}

impl<'m> Value<&'m Object> {
    /// The value of a word and what is in the slot beside it.
    #[doc(hidden)]
    #[inline]
    pub fn decode(word: u32, object: Option<&'m Object>) -> Self {
        let Some(object) = object else {
            return match word {
                _ if word & 1 == 1 => Self::Int((word as i32 >> 1) as i64),
                _ if word & 2 == 2 => Self::Float(f32::from_bits(word & !3) as f64),
                FALSE => Self::Bool(false),
                TRUE => Self::Bool(true),
                _ => Self::Nil,
            };
        };
        if word == NIL {
            return Self::Object(object);
        }
        wide(word, object).unwrap_or(Self::Object(object))
    }
}

/// A number in an object of its own.
#[cold]
fn wide(word: u32, object: &Object) -> Option<Value<&Object>> {
    match word {
        WIDE_INT => {
            let number = object.downcast::<PlainArray<i64>>()?.first()?;
            Some(Value::Int(number.get()))
        }
        WIDE_FLOAT => {
            let number = object.downcast::<PlainArray<f64>>()?.first()?;
            Some(Value::Float(number.get()))
        }
        _ => None,
    }
}

impl ValueSlot {
    /// The value.
    ///
    /// # Panics
    /// If it is a reference that was invalidated.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> Value<&Object> {
        Value::decode(self.word.load(Relaxed), self.slot.get())
    }

    /// As [`get`](Self::get), with an error if it is a reference that was invalidated.
    pub fn try_get(&self) -> Result<Value<&Object>, Invalidated> {
        Ok(Value::decode(self.word.load(Relaxed), self.slot.try_get()?))
    }

    /// Sets the value: to what `m.int(3)?`, `m.float(0.1)?`, `LocalValue::from(local)` or `true.into()` returns.
    ///
    /// # Panics
    /// If it is an object that belongs to another heap, or a local of another thread.
    #[inline]
    #[track_caller]
    pub fn set(&self, value: LocalValue<'_>) {
        // First what may panic.
        self.slot.set(value.object);
        self.word.store(value.word, Relaxed);
    }

    /// Makes it refer to an object.
    ///
    /// # Panics
    /// If the object belongs to another heap.
    #[inline]
    #[track_caller]
    pub fn set_object<Up>(&self, object: impl Reference<Object, Up>) {
        self.slot.set(Some(object));
        self.word.store(NIL, Relaxed);
    }

    /// Sets it to an integer, if that takes no memory besides. Returns whether it did.
    #[inline]
    pub fn set_small(&self, value: i64) -> bool {
        let word = word_of_int(value);
        if let Some(word) = word {
            self.slot.clear();
            self.word.store(word, Relaxed);
        }
        word.is_some()
    }

    /// Sets it to the value of another one.
    ///
    /// # Panics
    /// If that is in another heap and refers to an object, or its reference was invalidated.
    #[track_caller]
    pub fn copy_from(&self, other: &Self) {
        self.slot.set(other.slot.get());
        self.word.store(other.word.load(Relaxed), Relaxed);
    }

    /// Sets it to nil.
    #[inline]
    pub fn clear(&self) {
        self.slot.clear();
        self.word.store(NIL, Relaxed);
    }
}

impl fmt::Debug for ValueSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_get() {
            Ok(Value::Nil) => f.write_str("nil"),
            Ok(Value::Bool(it)) => it.fmt(f),
            Ok(Value::Int(it)) => it.fmt(f),
            Ok(Value::Float(it)) => it.fmt(f),
            Ok(Value::Object(it)) => it.fmt(f),
            Err(_) => f.write_str("invalid"),
        }
    }
}

// SAFETY: `repr(C)`: a word and, at the offset that is told, a slot.
unsafe impl Field for ValueSlot {
    const KIND: FieldKind = FieldKind::Opt;
    const PARTS: Option<fn(&mut dyn FnMut(Part))> = Some(|f| {
        f(Part {
            name: String::new(),
            offset: offset_of!(Self, slot),
            kind: FieldKind::Opt,
        })
    });
    type Init<'s> = LocalValue<'s>;

    #[inline]
    fn fill(init: LocalValue<'_>, filler: &Filler<'_>) -> Self {
        Self {
            word: AtomicU32::new(init.word),
            slot: Slot::fill(init.object, filler),
        }
    }
}

impl<'s> LocalValue<'s> {
    /// Nothing.
    pub const NIL: Self = Self {
        word: NIL,
        object: None,
    };

    /// The value.
    ///
    /// # Panics
    /// If it is an object of another mutator, or a reference that was invalidated.
    #[inline]
    #[track_caller]
    pub fn get<'m>(self, m: &'m Mutator<'_>) -> Value<&'m Object> {
        Value::decode(self.word, self.object.map(|it| &m[it]))
    }

    /// The local of its object, or of the number that takes an object. Nobody may set it.
    pub(in crate::raw) fn object_local(self) -> Option<Local<'s, Object>> {
        self.object
    }

    /// The same value, its object held by another local.
    pub(in crate::raw) fn with_object<'a>(
        self,
        object: Option<Local<'a, Object>>,
    ) -> LocalValue<'a> {
        LocalValue {
            word: self.word,
            object,
        }
    }

    /// What stands in the tag word, and what in the slot.
    #[doc(hidden)]
    #[track_caller]
    pub fn encode<'m>(self, m: &'m Mutator<'_>) -> (u32, Option<&'m Object>) {
        (self.word, self.object.map(|it| &m[it]))
    }
}

impl Default for LocalValue<'_> {
    fn default() -> Self {
        Self::NIL
    }
}

impl From<bool> for LocalValue<'_> {
    fn from(value: bool) -> Self {
        Self {
            word: if value { TRUE } else { FALSE },
            object: None,
        }
    }
}

/// What the local refers to, also after it is set to something else.
impl<'s, T: Managed + ?Sized> From<Local<'s, T>> for LocalValue<'s> {
    #[inline]
    fn from(local: Local<'s, T>) -> Self {
        Self {
            word: NIL,
            object: Some(local.seen_as_object()),
        }
    }
}

impl<'a> Mutator<'a> {
    /// An integer as a value. One that is too wide for a slot is allocated.
    #[inline]
    #[track_caller]
    pub fn int(&mut self, value: i64) -> Result<LocalValue<'a>, OutOfMemory> {
        Ok(match word_of_int(value) {
            Some(word) => LocalValue { word, object: None },
            None => LocalValue {
                word: WIDE_INT,
                object: Some(self.alloc_plain(1, value)?.seen_as_object()),
            },
        })
    }

    /// A number as a value. One that is too precise for a slot is allocated.
    #[inline]
    #[track_caller]
    pub fn float(&mut self, value: f64) -> Result<LocalValue<'a>, OutOfMemory> {
        Ok(match word_of_float(value) {
            Some(word) => LocalValue { word, object: None },
            None => LocalValue {
                word: WIDE_FLOAT,
                object: Some(self.alloc_plain(1, value)?.seen_as_object()),
            },
        })
    }

    /// The value of a slot, kept alive by this scope.
    ///
    /// # Panics
    /// If the slot is in another heap and refers to an object, or its reference was invalidated.
    #[track_caller]
    pub fn local_value(&self, slot: &ValueSlot) -> LocalValue<'a> {
        self.decode_value(slot.word.load(Relaxed), slot.slot.get())
    }

    /// The value of a tag word and what is in the slot beside it.
    #[doc(hidden)]
    #[track_caller]
    pub fn decode_value(&self, word: u32, object: Option<&Object>) -> LocalValue<'a> {
        LocalValue {
            word,
            object: object.map(|it| self.local(it)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_fit_come_back_as_they_were() {
        let ints = [0, 1, -1, 42, (1 << 30) - 1, -(1 << 30)];
        for value in ints {
            let word = word_of_int(value).unwrap();
            assert!(matches!(Value::decode(word, None), Value::Int(it) if it == value));
        }
        for value in [
            1 << 30,
            -(1 << 30) - 1,
            i64::MAX,
            i64::MIN,
            1 << 32,
            1 << 31,
        ] {
            assert_eq!(word_of_int(value), None);
        }
        let floats = [
            0.0,
            -0.0,
            1.0,
            -2.5,
            1e20_f32 as f64,
            65536.0,
            f64::INFINITY,
            f64::NAN,
        ];
        for value in floats {
            let Some(word) = word_of_float(value) else {
                continue;
            };
            let Value::Float(back) = Value::decode(word, None) else {
                panic!("{value} became something else");
            };
            assert_eq!(back.to_bits(), value.to_bits());
        }
        assert!(
            [0.0, -0.0, 1.0, -2.5, f64::NAN]
                .iter()
                .all(|it| word_of_float(*it).is_some())
        );
        for value in [0.1, 1.0 + f32::EPSILON as f64, 1e300, f64::MIN_POSITIVE] {
            assert_eq!(word_of_float(value), None);
        }
    }

    #[test]
    fn any_word_is_some_value() {
        for word in (0..=u16::MAX as u32).chain([u32::MAX, 1 << 31]) {
            let _ = Value::decode(word, None);
        }
    }
}
