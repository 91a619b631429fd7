//! What `#[derive(Managed)]` and `#[derive(Plain)]` become.
//!
//! The derives read a struct and pass what they have read to the macros here; all `unsafe` is in
//! these. A derive can name this crate only as the program calls it, `::heaphound`, and the program may call anything
//! so: its own module, with a trait `Field` that takes a slot for plain data. A macro by example names its crate
//! by `$crate`, which nobody can redirect. So either the name leads here, and what is said about a
//! class is what the traits of this crate say; or it leads to a macro of the program's own, which has no `unsafe` but
//! what the program wrote.
//!
//! Everything is named by `$crate`: `Option`, `u8`, `core` and `assert!` may be the program's, too.
//!
//! The macros are public, for derived code must reach them, and hold for whatever they are given:
//!
//! - That no field is left out follows from `build`, which makes the whole struct from the very same list; that each has the
//!   type that is said, from a pointer to it, where it is said.
//! - That the header comes first, and nobody else's, follows from `build` and from an offset of 0.
//! - That a struct of plain data has the fields that are named, of the types by which they are shown, from pointers to them.
//! - That an enum has the variants that are named, and no other, follows from a `match`; that it has nothing
//!   else, from its size.

pub use ::core;
pub use ::std;

pub use super::plain::parts_of;

use super::object::{Field, Part};
use super::plain::{Plain, PlainCell};
use crate::words::FieldKind;

/// Where the two cells of a pair are.
pub const fn pair<A, B>() -> (usize, usize) {
    (
        core::mem::offset_of!((A, B), 0),
        core::mem::offset_of!((A, B), 1),
    )
}

/// Writes a value behind others. Returns where the next one goes.
pub fn put<T: Plain>(value: T, words: &mut [u64], at: usize) -> usize {
    <T::Cell as PlainCell>::put(value.to_bits(), &mut words[at..]);
    at + <T::Cell as PlainCell>::WORDS
}

/// Reads a value among others. Returns where the next one is.
pub fn take<T: Plain>(words: &[u64], at: usize) -> (T, usize) {
    let bits = <T::Cell as PlainCell>::take(&words[at..]);
    (T::from_bits(bits), at + <T::Cell as PlainCell>::WORDS)
}

/// Calls `f` with the parts of a field, which is a part of another one: what that adds to names, and where it is. Its type is what the
/// struct says, whatever the derive has read.
pub fn field_parts<S, F: Field>(
    _: fn(&S) -> *const F,
    name: &str,
    offset: usize,
    f: &mut dyn FnMut(Part),
) {
    if let Some(parts) = F::PARTS {
        return parts(&mut |part| {
            f(Part {
                name: format!("{name}{}", part.name),
                offset: offset + part.offset,
                kind: part.kind,
            })
        });
    }
    for at in 0..F::COUNT {
        let bytes = match F::KIND {
            FieldKind::Plain(kind) => kind.bytes(),
            _ => 4,
        };
        f(Part {
            name: match F::COUNT {
                1 => name.into(),
                _ => format!("{name}[{at}]"),
            },
            offset: offset + at * bytes,
            kind: F::KIND,
        });
    }
}

/// Drops what an object owns.
///
/// # Safety
/// It is an object of that class, without a `Drop` of its own, that nobody else sees.
pub unsafe fn drop_owned<T>(object: *mut u8) {
    // SAFETY: as above. Headers and slots drop nothing.
    unsafe { core::ptr::drop_in_place(object.cast::<T>()) };
}

/// The place of the field that is shown beside an object's name in reports, if it can be.
pub const fn caption<F: Field>(place: usize) -> usize {
    assert!(
        F::COUNT == 1 && F::PARTS.is_none() && !matches!(F::KIND, FieldKind::Owned),
        "a caption is plain data, or a reference to a string"
    );
    place
}

/// A class of managed objects, and the struct of values that one is made from.
#[doc(hidden)]
#[macro_export]
macro_rules! managed {
    (
        docs: $docs:literal, $vis:vis class: $class:ident, init: $init:ident,
        impls: [$($impls:tt)*], types: [$($types:tt)*],
        bounds: [$($bounds:tt)*],
        above: [$above:ident, $up:ident, $($above_impls:tt)*], above_bounds: [$($above_bounds:tt)*], init_impls: [$($init_impls:tt)*], init_types: [$($init_types:tt)*],
        name: $name:literal, arguments: [$(($sort:ident $argument:ident))*],
        first: $first:ident, superclass: [$($superclass:ty)?], interfaces: [$($interface:ty),*],
        caption: [$($caption:literal $caption_type:ty)?],
        fields: [$({
            docs: [$($field_docs:tt)*], $field_vis:vis name: $field:ident, text: $text:literal,
            stored: $stored:ident, type: $type:ty
        })*]
    ) => {
        #[doc = $docs]
        $vis struct $init $($init_impls)* $($bounds)* {
            $(
                /// The superclass's part.
                $vis $first: <$superclass as $crate::Create>::Init<'managed>,
            )?
            $(
                $($field_docs)*
                $field_vis $field:
                    <$crate::managed!(@stored $stored $type) as $crate::Field>::Init<'managed>,
            )*
        }

        const _: () = {
            impl $($impls)* $crate::Create for $class $($types)* $($bounds)* {
                type Init<'managed> = $init $($init_types)*;
            }

            // SAFETY: the header comes first, and every slot is made by the filler.
            unsafe impl $($init_impls)* $crate::Init for $init $($init_types)* $($bounds)* {
                type Class = $class $($types)*;

                #[inline]
                fn build(
                    self,
                    header: $crate::Header,
                    filler: &$crate::Filler<'_>,
                ) -> $class $($types)* {
                    let _ = filler;
                    $class {
                        $first: $crate::managed!(@first header, filler $(, self.$first, $superclass)?),
                        $($field: $crate::managed!(@fill $stored $type, self.$field, filler),)*
                    }
                }
            }

            // SAFETY: an object of the class begins with one of its superclass, and every object is an `Object`; so it is
            // whatever these can be seen as.
            #[diagnostic::do_not_recommend]
            unsafe impl $($above_impls)* $crate::Extends<$above, $crate::Above<$up>> for $class $($types)*
            where
                $above: ?$crate::derived::core::marker::Sized,
                $crate::managed!(@above $($superclass)?): $crate::Extends<$above, $up>,
                $($above_bounds)*
            {
                fn begins_with_superclass() {
                    // The bounds are others here: the name of a type may mean another one.
                    $(
                        let _ = |object: &Self| {
                            let _: *const $superclass = &raw const object.$first;
                        };
                    )?
                }
            }

            // A user's `Drop` would see references to objects that are gone.
            trait MustNotImplementDrop {}
            #[allow(drop_bounds)]
            impl<T: $crate::derived::core::ops::Drop> MustNotImplementDrop for T {}
            impl $($impls)* MustNotImplementDrop for $class $($types)* $($bounds)* {}

            // SAFETY: the header (or the superclass, which begins with one) comes first and
            // nobody can make one, the compiler gives the offsets, and each field's type
            // says how it is stored.
            unsafe impl $($impls)* $crate::Managed for $class $($types)* $($bounds)* {
                const DESCRIPTOR: &'static $crate::Descriptor = {
                    $crate::derived::core::assert!(
                        $crate::derived::core::mem::offset_of!(Self, $first) == 0
                    );
                    // A type can mean one thing here and another in `build`: `Self` does. It is a field's own
                    // type here, too, for pointers to other types are other types.
                    let _ = |object: &Self| {
                        let _: *const $crate::managed!(@first_type $($superclass)?) = &raw const object.$first;
                        $(
                            let _: *const $type = &raw const object.$field;
                        )*
                    };
                    &$crate::Descriptor {
                        name: || $crate::class_name(
                            $name,
                            &[$($crate::managed!(@name $sort $argument)),*],
                        ),
                        path: || $crate::class_path(
                            $crate::derived::core::any::type_name::<Self>(),
                            &[$($crate::managed!(@path $sort $argument)),*],
                        ),
                        type_id: $crate::derived::core::any::TypeId::of::<Self>,
                        shape: $crate::Shape::of_struct::<Self>(),
                        superclass: $crate::managed!(@superclass $($superclass)?),
                        interfaces: &[$($crate::InterfaceDescriptor::of::<$interface>()),*],
                        fields: &[$(
                            $crate::FieldDescriptor {
                                name: $text,
                                offset: $crate::derived::core::mem::offset_of!(Self, $field),
                                kind: <$crate::managed!(@stored $stored $type) as $crate::Field>::KIND,
                                count: <$crate::managed!(@stored $stored $type) as $crate::Field>::COUNT,
                                parts: <$crate::managed!(@stored $stored $type) as $crate::Field>::PARTS,
                                type_name: $crate::derived::core::any::type_name::<$type>,
                            }
                        ),*],
                        caption: $crate::managed!(@caption $($caption $caption_type)?),
                        drop: if $crate::derived::core::mem::needs_drop::<Self>() {
                            $crate::derived::core::option::Option::Some($crate::derived::drop_owned::<Self>)
                        } else {
                            $crate::derived::core::option::Option::None
                        },
                        number: $crate::managed!(@number $($impls)*),
                    }
                };

                #[inline]
                unsafe fn from_object<'managed>(
                    object: *const $crate::derived::core::primitive::u8,
                ) -> &'managed Self {
                    // SAFETY: the caller gives a live object of this class.
                    unsafe { &*object.cast::<Self>() }
                }
            }
        };
    };
    // All types with the same parameters would share the static.
    (@number) => {
        || {
            static NUMBER: $crate::TypeNumber = $crate::TypeNumber::new();
            $crate::derived::core::option::Option::Some(&NUMBER)
        }
    };
    (@number $($impls:tt)+) => { || $crate::derived::core::option::Option::None };
    (@above) => { $crate::Object };
    (@above $superclass:ty) => { $superclass };
    (@first_type) => { $crate::Header };
    (@first_type $superclass:ty) => { $superclass };
    (@stored owned $type:ty) => { $crate::Owned<$type> };
    (@stored itself $type:ty) => { $type };
    (@fill owned $type:ty, $value:expr, $filler:ident) => { $value };
    (@fill itself $type:ty, $value:expr, $filler:ident) => {
        <$type as $crate::Field>::fill($value, $filler)
    };
    (@first $header:ident, $filler:ident) => { $header };
    (@first $header:ident, $filler:ident, $value:expr, $superclass:ty) => {
        <<$superclass as $crate::Create>::Init<'managed> as $crate::Init>::build($value, $header, $filler)
    };
    (@superclass) => { $crate::derived::core::option::Option::None };
    (@superclass $superclass:ty) => {
        $crate::derived::core::option::Option::Some(<$superclass as $crate::Managed>::DESCRIPTOR)
    };
    (@caption) => { $crate::derived::core::option::Option::None };
    (@caption $place:literal $type:ty) => {
        $crate::derived::core::option::Option::Some($crate::derived::caption::<$type>($place))
    };
    (@name constant $name:ident) => { $crate::derived::std::format!("{:?}", $name) };
    (@path constant $name:ident) => { $crate::derived::std::format!("{:?}", $name) };
    (@name class $name:ident) => { (<$name as $crate::Managed>::DESCRIPTOR.name)() };
    (@path class $name:ident) => { (<$name as $crate::Managed>::DESCRIPTOR.path)() };
    (@name other $name:ident) => { $crate::type_name::<$name>() };
    (@path other $name:ident) => {
        $crate::derived::std::string::String::from($crate::derived::core::any::type_name::<$name>())
    };
}

/// A fieldless enum of one byte as plain data.
#[doc(hidden)]
#[macro_export]
macro_rules! plain_enum {
    ($name:ident: $first:ident, $($variant:ident $text:literal $number:literal),*) => {
        const _: () = {
            $crate::derived::core::assert!($crate::derived::core::mem::size_of::<$name>() == 1);

            impl $crate::Plain for $name {
                type Cell = $crate::derived::core::sync::atomic::AtomicU8;
                const KIND: $crate::words::PlainKind = $crate::words::PlainKind::Enum {
                    variants: &[$($text),*],
                };

                #[inline]
                fn to_bits(self) -> $crate::derived::core::primitive::u8 {
                    match self {
                        $($name::$variant => $number,)*
                    }
                }

                #[inline]
                fn from_bits(bits: $crate::derived::core::primitive::u8) -> Self {
                    match bits {
                        $($number => $name::$variant,)*
                        _ => $name::$first,
                    }
                }
            }

            // SAFETY: one byte, which is always initialized: the enum has these variants only, without fields.
            unsafe impl $crate::Field for $name {
                const KIND: $crate::words::FieldKind =
                    $crate::words::FieldKind::Plain(<Self as $crate::Plain>::KIND);
                type Init<'s> = Self;

                #[inline]
                fn fill(init: Self, _: &$crate::Filler<'_>) -> Self {
                    init
                }
            }
        };
    };
}

/// A struct as plain data, part by part.
#[doc(hidden)]
#[macro_export]
macro_rules! plain_struct {
    ($name:ident { $($field:tt: $type:ty, $text:literal;)* }) => {
        const _: () = {
            impl $crate::Plain for $name {
                type Cell = $crate::plain_struct!(@cell $($type,)*);
                const KIND: $crate::words::PlainKind = $crate::plain_struct!(@kind $($type,)*);
                const PARTS: $crate::derived::core::option::Option<
                    fn(&mut dyn $crate::derived::core::ops::FnMut($crate::PlainPart)),
                > = $crate::derived::core::option::Option::Some(|f| {
                    let _ = &f;
                    $crate::plain_struct!(@parts f, 0; $($type, $text;)*);
                });

                #[inline]
                fn to_bits(self) -> <Self::Cell as $crate::PlainCell>::Bits {
                    $crate::plain_struct!(@to self; $($field: $type,)*)
                }

                #[inline]
                fn from_bits(bits: <Self::Cell as $crate::PlainCell>::Bits) -> Self {
                    let _ = bits;
                    $crate::plain_struct!(@from $name, bits; [] $($field: $type,)*)
                }
            }

            // SAFETY: it is `Copy`, and no slot is; each part is a field, where the compiler says that it is, of a type
            // that says how it is stored.
            unsafe impl $crate::Field for $name {
                const KIND: $crate::words::FieldKind = $crate::words::FieldKind::Owned;
                const PARTS: $crate::derived::core::option::Option<
                    fn(&mut dyn $crate::derived::core::ops::FnMut($crate::Part)),
                > = $crate::derived::core::option::Option::Some(|f| {
                    let _ = &f;
                    $(
                        $crate::derived::field_parts(
                            |it: &$name| &raw const it.$field,
                            $text,
                            $crate::derived::core::mem::offset_of!($name, $field),
                            f,
                        );
                    )*
                });
                type Init<'s> = Self;

                #[inline]
                fn fill(init: Self, _: &$crate::Filler<'_>) -> Self {
                    init
                }
            }
        };
    };
    (@cell) => { () };
    (@cell $type:ty, $($rest:ty,)*) => {
        (<$type as $crate::Plain>::Cell, $crate::plain_struct!(@cell $($rest,)*))
    };
    (@kind) => { $crate::words::PlainKind::U8 };
    (@kind $type:ty, $($rest:ty,)*) => { <$type as $crate::Plain>::KIND };
    (@parts $f:ident, $at:expr;) => {};
    (@parts $f:ident, $at:expr; $type:ty, $text:literal; $($rest:ty, $texts:literal;)*) => {
        let at = $at;
        let (here, behind) = $crate::derived::pair::<
            <$type as $crate::Plain>::Cell,
            $crate::plain_struct!(@cell $($rest,)*),
        >();
        let (here, behind) = (at + here, at + behind);
        let _ = behind;
        $crate::derived::parts_of::<$type>($text, here, $f);
        $crate::plain_struct!(@parts $f, behind; $($rest, $texts;)*);
    };
    (@to $this:ident;) => { () };
    (@to $this:ident; $field:tt: $type:ty, $($rest:tt: $types:ty,)*) => {
        (
            <$type as $crate::Plain>::to_bits($this.$field),
            $crate::plain_struct!(@to $this; $($rest: $types,)*),
        )
    };
    (@from $name:ident, $bits:expr; [$($done:tt: $value:expr,)*]) => { $name { $($done: $value),* } };
    (@from $name:ident, $bits:expr; [$($done:tt: $value:expr,)*] $field:tt: $type:ty, $($rest:tt: $types:ty,)*) => {
        $crate::plain_struct!(
            @from $name, $bits.1;
            [$($done: $value,)* $field: <$type as $crate::Plain>::from_bits($bits.0),]
            $($rest: $types,)*
        )
    };
}

/// An enum with data as plain data: the variant's number, and words for its fields.
#[doc(hidden)]
#[macro_export]
macro_rules! plain_data_enum {
    ($name:ident { $($variant:ident $text:literal $number:literal { $($field:tt: $local:ident $type:ty,)* })* }) => {
        const _: () = {
            const WORDS: $crate::derived::core::primitive::usize = {
                let mut most = 0;
                $(
                    let words = 0 $(+ <<$type as $crate::Plain>::Cell as $crate::PlainCell>::WORDS)*;
                    if words > most {
                        most = words;
                    }
                )*
                most
            };
            const KIND: $crate::words::PlainKind = $crate::words::PlainKind::Enum {
                variants: &[$($text),*],
            };
            type Cell = (
                $crate::derived::core::sync::atomic::AtomicU8,
                [$crate::derived::core::sync::atomic::AtomicU64; WORDS],
            );

            impl $crate::Plain for $name {
                type Cell = Cell;
                const KIND: $crate::words::PlainKind = KIND;
                const PARTS: $crate::derived::core::option::Option<
                    fn(&mut dyn $crate::derived::core::ops::FnMut($crate::PlainPart)),
                > = $crate::derived::core::option::Option::Some(|f| {
                    f($crate::PlainPart {
                        name: $crate::derived::std::string::String::new(),
                        offset: $crate::derived::core::mem::offset_of!(Cell, 0),
                        kind: KIND,
                    })
                });

                #[inline]
                fn to_bits(
                    self,
                ) -> (
                    $crate::derived::core::primitive::u8,
                    [$crate::derived::core::primitive::u64; WORDS],
                ) {
                    let mut words = [0; WORDS];
                    let number = match self {
                        $(
                            $name::$variant { $($field: $local),* } => {
                                let at = 0;
                                $(
                                    let at = $crate::derived::put::<$type>($local, &mut words, at);
                                )*
                                let _ = at;
                                $number
                            }
                        )*
                    };
                    (number, words)
                }

                #[inline]
                fn from_bits(
                    (number, words): (
                        $crate::derived::core::primitive::u8,
                        [$crate::derived::core::primitive::u64; WORDS],
                    ),
                ) -> Self {
                    // Nobody but a race of threads makes other numbers.
                    let number = if number < [$($number),*].len() as $crate::derived::core::primitive::u8 {
                        number
                    } else {
                        0
                    };
                    $(
                        if number == $number {
                            let at = 0;
                            $(
                                let ($local, at) = $crate::derived::take::<$type>(&words, at);
                            )*
                            let _ = at;
                            return $name::$variant { $($field: $local),* };
                        }
                    )*
                    $crate::derived::core::unreachable!()
                }
            }

            // SAFETY: it is `Copy`, and no slot is.
            unsafe impl $crate::Field for $name {
                const KIND: $crate::words::FieldKind = $crate::words::FieldKind::Owned;
                type Init<'s> = Self;

                #[inline]
                fn fill(init: Self, _: &$crate::Filler<'_>) -> Self {
                    init
                }
            }
        };
    };
}
