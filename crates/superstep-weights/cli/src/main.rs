//! `superstep` with language models out of GGUF files: the same commands, and the provider `local/weights`.
//!
//! Knows nothing but how such a model is opened; everything else is `superstep-cli`.

use std::process::ExitCode;

use superstep_cli::Extras;
use superstep_weights::Weights;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    superstep_cli::main(Extras::new().weights(|file| {
        // Read when it is asked: most commands ask no model.
        Ok(match file {
            Some(file) => Weights::lazy(file)?,
            None => Weights::lazy_from_env()?,
        }
        .into())
    }))
}
