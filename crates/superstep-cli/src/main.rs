//! The binary `superstep`: the command line with nothing more in it.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    superstep_cli::main(superstep_cli::Extras::new())
}
