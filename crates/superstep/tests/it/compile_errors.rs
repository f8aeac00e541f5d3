//! Compiler errors are part of the API: each error points to the user's line.

/// R-REF-8, R-REF-11, R-PRB-13, R-REF-139, R-REF-143: a reducer that does not take two values, a type that is not a
/// checkpointer, a misspelled reducer, a context of another type and an entry point without an input do not compile,
/// like all other errors in `tests/ui`.
#[test]
fn compile_errors_point_to_the_users_line() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
