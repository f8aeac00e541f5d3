//! The binary `superstep`: the command line without extensions.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    superstep_cli::main(superstep_cli::Extensions::new())
}
