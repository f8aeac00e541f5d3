//! What the compiler says is part of the API: each mistake is answered at the user's own line.

/// R-REF-8, R-REF-11: a reducer that does not take two values and a store that is none do not build, among others.
#[test]
fn mistakes_are_answered_at_the_users_line() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
