//! Managed objects as Rust types: what a class says of itself, how an instance
//! is made, and the reference type for an object of any class.

use std::any::TypeId;
use std::fmt;

use heaphound_heap::{ClassId, ClassInfo, FieldKind, PlainKind};

use crate::casts::{self, Row, TypeNumber};
use crate::heap::HeapInner;
use crate::interface::{Interface, InterfaceDescriptor};
use crate::raw::memory::address::{Base, Raw};
use crate::raw::mutators::mutator::Local;
use crate::raw::objects::header::{HashState, Header};
use crate::raw::objects::layout::MAX_FIXED_BYTES;

/// A type whose values live in a managed heap and are reached through references.
///
/// `#[managed]` is the way in. A managed struct is `#[repr(C)]`, begins with a
/// [`Header`] (or with its superclass), both of which the attribute adds, and is only ever seen as `&T`, borrowed from
/// the [`Mutator`](crate::Mutator): valid until that mutator is next borrowed
/// mutably, to allocate or to pass a safepoint.
///
/// # Safety
/// 1. A value begins with a [`Header`] and cannot be made outside the heap: there
///    is no safe way to a `Self` but through [`Init`], for anyone.
/// 2. [`Descriptor`] tells the truth: every slot is in `fields`, with its offset and
///    kind; the size is right; `drop` drops the owned fields and nothing else.
/// 3. `from_object` gives a reference to the very object it is given.
/// 4. Nothing that is dropped with the object can reach a managed reference.
/// 5. The alignment is at most 8.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a managed class",
    note = "add `#[managed]` to the struct"
)]
pub unsafe trait Managed: Send + Sync + 'static {
    /// What the heap must know of the class.
    const DESCRIPTOR: &'static Descriptor;

    /// The object at an address, seen as `Self`.
    ///
    /// # Safety
    /// `object` points to the header of a live object of this class or of a
    /// subclass, and nothing moves or frees it during `'m`.
    #[doc(hidden)]
    unsafe fn from_object<'m>(object: *const u8) -> &'m Self;

    /// Whether this is the same object as another, be it seen as one of another class.
    #[inline]
    fn ptr_eq<T: Managed + ?Sized>(&self, other: &T) -> bool {
        std::ptr::eq(self.as_object(), other.as_object())
    }

    /// This object, its class forgotten.
    #[inline]
    fn as_object(&self) -> &Object {
        // SAFETY: a managed value begins with a header (duty 1), and `Object` is
        // no more than that.
        unsafe { &*(&raw const *self).cast::<Object>() }
    }
}

/// The values from which an instance is made; `#[managed]` writes one for
/// each class (`NodeInit` for `Node`): references as [`Local`]s, everything else as
/// itself.
///
/// # Safety
/// `build` puts `header` at the start of the value and makes slots only with `filler`.
pub unsafe trait Init {
    /// The class of the instance.
    type Class: Managed + Sized;

    /// Makes the value that is then moved into the heap.
    #[doc(hidden)]
    fn build(self, header: Header, filler: &Filler<'_>) -> Self::Class;
}

/// A class whose instances are made from an [`Init`]: every derived one.
pub trait Create: Managed + Sized {
    /// The values from which an instance is made.
    type Init<'s>: Init<Class = Self>;
}

/// The right to make slots, which only an allocation in progress has.
pub struct Filler<'m> {
    pub(crate) mutator: &'m crate::raw::mutators::mutator::MutatorShared,
}

impl Filler<'_> {
    #[inline]
    pub(crate) fn raw<T: Managed + ?Sized>(&self, local: Local<'_, T>) -> Raw {
        self.mutator.local_raw(local)
    }
}

/// The type of a managed struct's field: tells how it is stored and from what it
/// is filled.
///
/// # Safety
/// `KIND` and `COUNT`, or `PARTS`, tell what lies in memory: four-byte slots made by the filler,
/// plain data of that kind in place, or owned memory that holds no slots. `PARTS` tells the same each time, and of all slots.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a managed struct as it stands",
    note = "a reference is a `Ref`, `Slot` or `WeakSlot`; plain data that changes is a `Var`",
    note = "ordinary Rust memory that the object owns is marked `#[managed(owned)]`"
)]
pub unsafe trait Field: Send + Sync + 'static {
    /// How it is stored.
    const KIND: FieldKind;
    /// How many of that kind lie behind one another.
    const COUNT: usize = 1;
    /// Calls its argument with each part, if they are not all of one kind. Then this counts, and not `KIND` and `COUNT`.
    const PARTS: Option<ForEach<Part>> = None;
    /// What an instance's maker gives for it.
    type Init<'s>;
    /// Makes the field.
    #[doc(hidden)]
    fn fill(init: Self::Init<'_>, filler: &Filler<'_>) -> Self;
}

/// Calls its argument with each part of something.
pub type ForEach<P> = fn(&mut dyn FnMut(P));

/// A part of a field that has several.
pub struct Part {
    /// What is added to the field's name: `.x`, `[3]`, or nothing.
    pub name: String,
    /// Bytes from the start of the field.
    pub offset: usize,
    /// How it is stored.
    pub kind: FieldKind,
}

macro_rules! plain_fields {
    ($($type:ty => $kind:ident),*) => {$(
        // SAFETY: the type is stored as itself.
        unsafe impl Field for $type {
            const KIND: FieldKind = FieldKind::Plain(PlainKind::$kind);
            type Init<'s> = $type;
            #[inline]
            fn fill(init: $type, _: &Filler<'_>) -> $type { init }
        }
    )*};
}
plain_fields!(bool => Bool, char => Char, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    usize => U64, i8 => I8, i16 => I16, i32 => I32, i64 => I64, isize => I64,
    f32 => F32, f64 => F64);

macro_rules! owned_fields {
    ($([$($generics:tt)*] $type:ty),*) => {$(
        // SAFETY: the type can hold no slot, for nobody can make one outside a heap.
        unsafe impl<$($generics)*> Field for $type {
            const KIND: FieldKind = FieldKind::Owned;
            type Init<'s> = $type;
            #[inline]
            fn fill(init: $type, _: &Filler<'_>) -> $type { init }
        }
    )*};
}
owned_fields!([] String, [T: Send + Sync + 'static] Vec<T>, [T: Send + Sync + 'static] Box<T>,
    [T: Send + Sync + 'static] std::sync::Arc<T>, [T: Send + Sync + 'static] std::sync::Mutex<T>,
    [T: Send + Sync + 'static] Option<T>, [] &'static str);

// SAFETY: as many as `COUNT` says lie behind one another, each as wide as its kind is, which is checked; or owned memory
// that holds no slots.
unsafe impl<F: Field, const N: usize> Field for [F; N] {
    const KIND: FieldKind = F::KIND;
    const COUNT: usize = match F::KIND {
        _ if F::PARTS.is_some() => 1,
        FieldKind::Owned => 1,
        kind => {
            let bytes = match kind {
                FieldKind::Plain(kind) => kind.bytes(),
                _ => size_of::<u32>(),
            };
            assert!(size_of::<F>() == F::COUNT * bytes);
            N * F::COUNT
        }
    };
    const PARTS: Option<fn(&mut dyn FnMut(Part))> = match F::PARTS {
        None => None,
        Some(_) => Some(|f| {
            for at in 0..N {
                let parts = F::PARTS.expect("it was there");
                parts(&mut |part| {
                    f(Part {
                        name: format!("[{at}]{}", part.name),
                        offset: at * size_of::<F>() + part.offset,
                        kind: part.kind,
                    })
                });
            }
        }),
    };
    type Init<'s> = [F::Init<'s>; N];

    #[inline]
    fn fill(init: Self::Init<'_>, filler: &Filler<'_>) -> Self {
        init.map(|it| F::fill(it, filler))
    }
}

/// Stands for a field marked `#[managed(owned)]`: Rust memory of any type.
pub struct Owned<T>(std::marker::PhantomData<T>, std::convert::Infallible);

// SAFETY: only ever used as a description; the field itself is a `T`, which can hold
// no slot, for nobody can make one outside a heap.
unsafe impl<T: Send + Sync + 'static> Field for Owned<T> {
    const KIND: FieldKind = FieldKind::Owned;
    type Init<'s> = T;

    fn fill(_: T, _: &Filler<'_>) -> Self {
        unreachable!("an owned field is moved as it is")
    }
}

/// What the heap must know of a class, known when the program is compiled.
pub struct Descriptor {
    /// Its name in reports.
    pub name: fn() -> String,
    /// Its name with the modules that it is in, for when another class has the same name.
    pub path: fn() -> String,
    /// The Rust type.
    pub type_id: fn() -> TypeId,
    /// How its instances are sized and traced.
    pub shape: Shape,
    /// The class that it extends: the type of its first field.
    pub superclass: Option<&'static Descriptor>,
    /// The interfaces that it implements itself.
    pub interfaces: &'static [InterfaceDescriptor],
    /// Its own fields, in declaration order.
    pub fields: &'static [FieldDescriptor],
    /// The field that reports show beside the names of instances, an index into `fields`.
    pub caption: Option<usize>,
    /// Drops the owned fields, its own and inherited.
    pub drop: Option<unsafe fn(*mut u8)>,
    /// Where its number is, if the type has no parameters.
    pub number: fn() -> Option<&'static TypeNumber>,
}

/// A field as the compiler laid it out.
pub struct FieldDescriptor {
    /// The name as the program spells it.
    pub name: &'static str,
    /// Bytes from the start of the object.
    pub offset: usize,
    /// How it is stored.
    pub kind: FieldKind,
    /// How many of that kind lie behind one another.
    pub count: usize,
    /// Its parts, if they are not of one kind.
    pub parts: Option<ForEach<Part>>,
    /// The name of its Rust type.
    pub type_name: fn() -> &'static str,
}

/// How the instances of a class are sized and traced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// All instances have this many bytes.
    Fixed(usize),
    /// A length, then that many slots, then plain words.
    Refs,
    /// A length, then that many plain values.
    Plain(PlainKind),
    /// A length, then that many bytes of UTF-8.
    Text,
}

impl Shape {
    /// The shape of a managed struct.
    #[doc(hidden)]
    pub const fn of_struct<T>() -> Self {
        assert!(
            align_of::<T>() == 8,
            "a managed struct's alignment is that of its header"
        );
        assert!(
            size_of::<T>() <= MAX_FIXED_BYTES,
            "a managed struct has at most 65,528 bytes"
        );
        Self::Fixed(size_of::<T>())
    }
}

/// An object of any class.
#[repr(C)]
pub struct Object {
    header: Header,
}

impl Object {
    #[inline]
    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    #[inline]
    pub(crate) fn raw(&self) -> Raw {
        Raw::of((&raw const *self).cast())
    }

    #[inline]
    pub(crate) fn heap(&self) -> &HeapInner {
        // SAFETY: an object lies in a region whose heap is alive, since the
        // reference to the object is borrowed from one of its mutators (H2).
        unsafe { HeapInner::of(Base::of(self)) }
    }

    #[inline]
    pub(crate) fn class_id(&self) -> ClassId {
        ClassId(self.header.low().class())
    }

    /// What is known of the object's class.
    pub fn class(&self) -> &ClassInfo {
        &self.heap().classes.get(self.class_id()).info
    }

    /// This object as a `T`, if its class is `T` or extends it.
    #[inline]
    pub fn downcast<T: Managed + ?Sized>(&self) -> Option<&T> {
        self.seen().downcast()
    }

    /// The object with what is known of its class, to ask several times.
    #[doc(hidden)]
    #[inline(always)]
    pub fn seen(&self) -> Seen<'_> {
        let row = self.heap().classes.row(self.class_id());
        Seen { object: self, row }
    }

    /// Whether the object's class implements an interface, itself or through its supertypes.
    #[inline]
    pub fn implements<I: Interface>(&self) -> bool {
        let interface = const { &InterfaceDescriptor::of::<I>() };
        self.heap().classes.implements(self.class_id(), interface)
    }

    /// A number that stays the same for as long as the object lives, wherever
    /// the collector moves it. Different objects may share one.
    pub fn identity_hash(&self) -> u32 {
        match self.header.flags().hash_state() {
            HashState::Stored => {
                // SAFETY: a stored hash lies in the granule behind the object (H7).
                unsafe { *self.hash_place() }
            }
            HashState::ByAddress => self.heap().address_hash(self.raw()),
            HashState::None => {
                self.header.update_flags(|word| match word.hash_state() {
                    HashState::None => word.with_hash_state(HashState::ByAddress),
                    _ => word,
                });
                self.heap().address_hash(self.raw())
            }
        }
    }

    fn hash_place(&self) -> *const u32 {
        let trace = self.heap().classes.get(self.class_id()).trace;
        let raw = self.raw();
        // SAFETY: the object is live (it is borrowed), so its class describes it.
        let bytes = unsafe { trace.bytes(Base::of(self).object(raw)) };
        Base::of(self).at(raw.offset() + bytes).cast()
    }
}

/// An object with what is known of its class.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Seen<'m> {
    object: &'m Object,
    row: &'m Row,
}

impl<'m> Seen<'m> {
    /// The object as a `T`, if its class is `T` or extends it.
    #[inline(always)]
    pub fn downcast<T: Managed + ?Sized>(self) -> Option<&'m T> {
        let is_one = TypeId::of::<T>() == TypeId::of::<Object>()
            || match casts::extends(
                self.row,
                const { casts::depth(T::DESCRIPTOR) },
                T::DESCRIPTOR,
            ) {
                Some(answer) => answer,
                None => self.ask(T::DESCRIPTOR),
            };
        // SAFETY: the class is right, and the borrowed object stays in place.
        is_one.then(|| unsafe { T::from_object((&raw const *self.object).cast()) })
    }

    /// Whether it is an object of a type that rows do not tell of.
    #[inline(never)]
    fn ask(self, descriptor: &'static Descriptor) -> bool {
        let classes = &self.object.heap().classes;
        classes.ask_extends(self.object.class_id(), descriptor)
    }
}

// SAFETY: `Object` is only a header, which every managed object begins with; it
// has no slots of its own and is never allocated.
unsafe impl Managed for Object {
    const DESCRIPTOR: &'static Descriptor = &Descriptor {
        name: || "Object".into(),
        path: || "heaphound::Object".into(),
        type_id: TypeId::of::<Object>,
        shape: Shape::Fixed(8),
        superclass: None,
        interfaces: &[],
        fields: &[],
        caption: None,
        drop: None,
        number: || None,
    };

    #[inline]
    unsafe fn from_object<'m>(object: *const u8) -> &'m Self {
        // SAFETY: the caller's promise.
        unsafe { &*object.cast() }
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.heap().names.number(self.raw());
        write!(f, "{}#{number}", self.class().name)
    }
}
