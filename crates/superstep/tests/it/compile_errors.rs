//! What the compiler says is part of the API: each mistake is answered at the user's own line.

#[test]
fn mistakes_are_answered_at_the_users_line() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
