//! The peer `ours` of the workload suite: each workload, using only the public API of `superstep`.
//!
//! `superstep-bench WORKLOAD` prints one JSON line for each variant, each measured in a process of its own so that
//! peak memory is measured separately; `superstep-bench WORKLOAD VARIANT` measures one variant in this process. The
//! workloads are in `workload`, the measurement in `measure`.

mod checkpointer;
mod fixture_text;
mod measure;
mod runtime;
mod workload;

use std::process::{Command, ExitCode};

use crate::runtime::Runtime;
use crate::workload::Workload;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let id = arguments.next().unwrap_or_default();
    let Some(workload) = Workload::parse(&id) else {
        eprintln!("unknown workload `{id}`; known: {}", workload::WORKLOAD_IDS.join(", "));
        return ExitCode::from(2);
    };
    let variants = workload.variants();
    match arguments.next() {
        Some(variant) if !variants.contains(&&*variant) => {
            eprintln!("`{id}` has no variant `{variant}`; known: {}", variants.join(", "));
            ExitCode::from(2)
        }
        Some(variant) => {
            workload.measure(&id, &Runtime::new(&variant));
            ExitCode::SUCCESS
        }
        // This process is timed from outside, so a child process would be timed too.
        None if workload == Workload::Cold => {
            workload.measure(&id, &Runtime::new(runtime::INLINE));
            ExitCode::SUCCESS
        }
        None => run_variants_in_child_processes(&id, variants),
    }
}

fn run_variants_in_child_processes(id: &str, variants: &[&str]) -> ExitCode {
    for variant in variants {
        let program = std::env::current_exe().expect("a running program has a path");
        match Command::new(program).args([id, variant]).status() {
            Ok(status) if status.success() => {}
            Ok(status) => {
                eprintln!("variant `{variant}` of `{id}` ended with {status}");
                return ExitCode::FAILURE;
            }
            Err(error) => {
                eprintln!("variant `{variant}` of `{id}` did not start: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
