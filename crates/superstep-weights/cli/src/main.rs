//! `superstep` with language models from GGUF files: the same commands, and the provider `local/weights`.
//!
//! This binary only adds the function that opens such a model; everything else is `superstep-cli`.

use std::process::ExitCode;

use superstep_cli::Extensions;
use superstep_weights::Weights;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    superstep_cli::main(Extensions::new().weights(|file| {
        // Loaded on first use: most commands call no model.
        Ok(match file {
            Some(file) => Weights::lazy(file)?,
            None => Weights::lazy_from_env()?,
        }
        .into())
    }))
}
