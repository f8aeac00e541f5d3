//! Dispatch: from the command line arguments to the exit code.

use std::process::ExitCode;

use crate::args::{Cli, Command};
use crate::error::CliError;
use crate::extensions::Extensions;
use crate::output::Output;
use crate::{
    completions, config, demo, doctor, eval, explain, graph, man, mcp, resume, run, runtime, serve, threads, usage,
    version,
};

/// Runs the command line of this process.
pub fn main(extras: Extensions) -> ExitCode {
    let mut cli = match usage::read(std::env::args_os().collect()) {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    cli.global.extras = extras;
    let out = Output::new(&cli.global);
    match dispatch(cli, &out) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.print(&out);
            ExitCode::from(failure.exit())
        }
    }
}

/// Runs a command; returns the exit code.
fn dispatch(cli: Cli, out: &Output) -> Result<u8, CliError> {
    let global = &cli.global;
    match cli.command {
        None => Ok(usage::print_welcome(out)),
        Some(Command::Version) => Ok(version::print_version(out)),
        Some(Command::Explain(asked)) => explain::explain(&asked, out),
        Some(Command::Completions(asked)) => completions::print_script(&asked, out),
        Some(Command::Man(asked)) => man::write_man_pages(&asked, out),
        Some(Command::Config(asked)) => config::config(&asked, global, out),
        Some(Command::Graph(asked)) => graph::print_graph(&asked, global, out),
        Some(Command::Names(asked)) => completions::names(&asked, global, out),
        Some(Command::Doctor) => doctor::doctor(global, out),
        Some(Command::Run(asked)) => runtime::block_on(run::run(&asked, global, out)),
        Some(Command::Resume(asked)) => runtime::block_on(resume::resume(&asked, global, out)),
        Some(Command::Threads(asked)) => runtime::block_on(threads::threads(&asked, global, out)),
        Some(Command::State(asked)) => runtime::block_on(threads::state(&asked, global, out)),
        Some(Command::History(asked)) => runtime::block_on(threads::history(&asked, global, out)),
        Some(Command::Demo(asked)) => runtime::block_on(demo::demo(&asked, global, out)),
        Some(Command::Eval(asked)) => runtime::block_on(eval::eval(&asked, global, out)),
        Some(Command::Mcp(asked)) => runtime::block_on(mcp::mcp(&asked, global, out)),
        Some(Command::Serve(asked)) => runtime::block_on(serve::serve(&asked, global, out)),
    }
}
