//! Tool functions with missing, conflicting and unknown options, and with unsupported parameters.
use superstep::prelude::*;

#[tool]
async fn says_nothing(a: i64) -> i64 {
    a
}

/// Adds.
#[tool(readonly, timeout = "soon", retries = "two", name = "a b")]
async fn misspelt(a: i64) -> i64 {
    a
}

/// Reads and destroys.
#[tool(read_only, destructive)]
async fn both(a: i64) -> i64 {
    a
}

/// Borrows.
#[tool(blocking)]
async fn borrows(text: &str, #[defualt(1)] n: u8, (a, b): (u8, u8), #[default(1)] cx: TaskContext) -> i64 {
    1
}

/// Is of any type.
#[tool]
async fn generic<T>(a: T) -> i64 {
    1
}

struct Calculator;

impl Calculator {
    /// Is a method.
    #[tool]
    fn method(&self) -> i64 {
        1
    }
}

fn main() {}
