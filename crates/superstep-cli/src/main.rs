//! The command line: `superstep`.
//!
//! What can be asked for is in `args`; each command has a file of its own. Results go to stdout, everything else to
//! stderr (`out`); what goes wrong becomes a `Failure`, which knows how it is shown and how the process ends. Only
//! commands that run something start a runtime, and only those that need settings or stores read them.

use std::process::ExitCode;

mod apps;
mod args;
mod ask;
mod completions;
mod config;
mod demo;
mod doctor;
mod drive;
mod explain;
mod failure;
mod graph;
mod graphs;
mod interrupts;
mod local;
mod log;
mod man;
mod models;
mod out;
mod resume;
mod run;
mod screen;
mod serve;
mod setup;
mod threads;
mod usage;
mod version;
mod words;

use args::{Cli, Command};
use failure::Failure;
use out::Out;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = match usage::read(std::env::args_os().collect()) {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    let out = Out::new(&cli.global);
    match act(cli, &out) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.show(&out);
            ExitCode::from(failure.exit())
        }
    }
}

/// Does what was asked; gives the exit code.
fn act(cli: Cli, out: &Out) -> Result<u8, Failure> {
    let global = &cli.global;
    match cli.command {
        None => Ok(usage::start(out)),
        Some(Command::Version) => Ok(version::show(out)),
        Some(Command::Explain(asked)) => explain::explain(&asked, out),
        Some(Command::Completions(asked)) => completions::write(&asked, out),
        Some(Command::Man(asked)) => man::write(&asked, out),
        Some(Command::Config(asked)) => config::config(&asked, global, out),
        Some(Command::Graph(asked)) => graph::draw(&asked, global, out),
        Some(Command::Names(asked)) => completions::names(&asked, global, out),
        Some(Command::Doctor) => doctor::doctor(global, out),
        Some(Command::Run(asked)) => local::block_on(run::run(&asked, global, out)),
        Some(Command::Resume(asked)) => local::block_on(resume::resume(&asked, global, out)),
        Some(Command::Threads(asked)) => local::block_on(threads::threads(&asked, global, out)),
        Some(Command::State(asked)) => local::block_on(threads::state(&asked, global, out)),
        Some(Command::History(asked)) => local::block_on(threads::history(&asked, global, out)),
        Some(Command::Demo(asked)) => local::block_on(demo::demo(&asked, global, out)),
        Some(Command::Serve(asked)) => local::block_on(serve::serve(&asked, global, out)),
    }
}
