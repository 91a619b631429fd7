//! Derived code says the same whatever the names around it mean: the crate's, the prelude's, those of macros and of
//! primitive types.

use real::Heap;

/// Everything that derived code could mean, and means something else here.
#[allow(dead_code, unused, non_camel_case_types)]
mod shadows {
    pub struct Option;
    pub struct Some;
    pub struct None;
    pub struct String;
    pub struct Box;
    pub struct Header;
    pub struct Field;
    pub struct Owned;
    pub struct Init;
    pub struct Shape;
    pub struct Descriptor;
    pub trait Copy {}
    pub trait Sized {}
    pub trait Send {}
    pub trait Drop {}
    pub trait Managed {}
    pub mod core {}
    pub mod std {}
    pub mod h {}
    pub mod real {}
    macro_rules! assert {
        ($($any:tt)*) => {
            compile_error!("not this one")
        };
    }
    macro_rules! format {
        ($($any:tt)*) => {
            compile_error!("not this one")
        };
    }
    macro_rules! offset_of {
        ($($any:tt)*) => {
            compile_error!("not this one")
        };
    }
    pub(crate) use {assert, format, offset_of};
}

#[allow(dead_code, non_camel_case_types)]
mod classes {
    #[allow(unused_imports)]
    use super::shadows::*;

    type Number = ::core::primitive::u64;

    #[derive(::real::Plain, Clone, PartialEq, Debug)]
    #[repr(u8)]
    pub enum Colour {
        Red,
        Green,
    }

    impl ::core::marker::Copy for Colour {}

    #[derive(::real::Managed)]
    #[repr(C)]
    pub struct Node<T: ::real::Managed + ?::core::marker::Sized, const N: ::core::primitive::usize> {
        header: ::real::Header,
        pub number: Number,
        pub colour: Colour,
        pub next: ::real::Slot<Node<T, N>>,
        pub other: ::real::Slot<T>,
        pub weak: ::real::WeakSlot<T>,
        #[managed(owned)]
        pub owned: ::std::sync::Arc<()>,
    }

    /// Primitive types, too.
    pub struct u8;
    pub struct usize;
    pub struct bool;
}

use classes::{Colour, Node, NodeInit};

#[test]
fn a_slot_is_a_slot_whatever_names_mean() {
    let owned = std::sync::Arc::new(());
    let heap = Heap::builder().zeal(1).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let mut last: Option<real::Local<'_, Node<real::Str, 3>>> = None;
    for number in 0..10 {
        let other = m.alloc_str(&number.to_string()).unwrap();
        let init = NodeInit {
            number,
            colour: Colour::Green,
            next: last,
            other: Some(other),
            weak: Some(other),
            owned: owned.clone(),
        };
        last = Some(m.alloc(init).unwrap());
    }
    let last = last.unwrap();
    m.collect();
    let mut node = Some(&m[last]);
    for number in (0..10).rev() {
        let it = node.unwrap();
        assert_eq!((it.number, it.colour), (number, Colour::Green));
        assert_eq!(&**it.other.get().unwrap(), number.to_string());
        assert!(it.weak.get().is_some());
        node = it.next.get();
    }
    let class = m.classes().into_iter().find(|it| it.name == "Node<Str, 3>");
    let slots: Vec<String> = class.unwrap().slots().map(|it| it.name.clone()).collect();
    assert_eq!(slots, ["next", "other", "weak"]);
    drop(m);
    drop(heap);
    assert_eq!(std::sync::Arc::strong_count(&owned), 1);
}
