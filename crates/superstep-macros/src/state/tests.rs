//! What a wrong attribute is answered with.

use super::*;

fn problems(input: &str) -> Vec<String> {
    let input: DeriveInput = syn::parse_str(input).expect("Rust");
    let error = StateSpec::read(&input).err();
    error.into_iter().flatten().map(|error| error.to_string()).collect()
}
