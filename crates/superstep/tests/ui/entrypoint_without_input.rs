//! Entry points that take no input, or no context.
use superstep::entrypoint;

#[entrypoint]
async fn takes_nothing() -> Result<u64, superstep::NodeError> {
    Ok(1)
}

#[entrypoint]
async fn takes_no_context(n: u64) -> Result<u64, superstep::NodeError> {
    Ok(n)
}

fn main() {}
