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
//! - That an enum has the variants that are named, and no other, follows from a `match`; that it has nothing
//!   else, from its size.

pub use ::core;
pub use ::std;

use super::object::Field;
use crate::words::FieldKind;

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
        F::COUNT == 1 && !matches!(F::KIND, FieldKind::Owned),
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
        bounds: [$($bounds:tt)*], init_impls: [$($init_impls:tt)*], init_types: [$($init_types:tt)*],
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
                                type_name: $crate::derived::core::any::type_name::<$type>,
                            }
                        ),*],
                        caption: $crate::managed!(@caption $($caption $caption_type)?),
                        drop: if $crate::derived::core::mem::needs_drop::<Self>() {
                            $crate::derived::core::option::Option::Some($crate::derived::drop_owned::<Self>)
                        } else {
                            $crate::derived::core::option::Option::None
                        },
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
