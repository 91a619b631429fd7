//! What must not compile, and what the compiler says about it.
//!
//! One file a mistake. `TRYBUILD=overwrite` writes the answers of the installed
//! compiler.

#[test]
fn misuse_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/compile_fail/*.rs");
}
