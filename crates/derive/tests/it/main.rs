//! What must not compile, and what the compiler says about it; and programs whose names are not what they seem.
//!
//! One file a mistake. `TRYBUILD=overwrite` writes the answers of the installed
//! compiler. They are here and not beside the other tests of the heap, because trybuild checks all that the
//! tests of a crate depend on once more, and those of this crate need little.

// Derived code names `::heaphound`, which is this very crate here.
extern crate heaphound as real;
extern crate self as heaphound;

mod names;

/// What derived code finds where it looks for the heap.
pub mod support {
    pub use real::support::managed;
    pub use real::support::plain_enum;

    /// Takes slots for plain data.
    #[allow(missing_docs)]
    pub trait Field {
        const KIND: real::FieldKind;
        const COUNT: usize = 1;
    }

    impl<T> Field for T {
        const KIND: real::FieldKind = real::FieldKind::Plain(real::PlainKind::U32);
    }
}

#[test]
fn misuse_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/compile_fail/*.rs");
}
