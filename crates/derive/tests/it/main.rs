//! What must not compile, and what the compiler says about it.
//!
//! One file a mistake. `TRYBUILD=overwrite` writes the answers of the installed
//! compiler. They are here and not beside the other tests of the heap, because trybuild checks all that the
//! tests of a crate depend on once more, and those of this crate need little.

#[test]
fn misuse_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/compile_fail/*.rs");
}
