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
pub fn main(extensions: Extensions) -> ExitCode {
    let mut cli = match usage::parse_args(std::env::args_os().collect()) {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    cli.global.extensions = extensions;
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
        Some(Command::Explain(args)) => explain::explain(&args, out),
        Some(Command::Completions(args)) => completions::print_script(&args, out),
        Some(Command::Man(args)) => man::write_man_pages(&args, out),
        Some(Command::Config(args)) => config::config(&args, global, out),
        Some(Command::Graph(args)) => graph::print_graph(&args, global, out),
        Some(Command::Names(args)) => completions::names(&args, global, out),
        Some(Command::Doctor) => doctor::doctor(global, out),
        Some(Command::Run(args)) => runtime::block_on(run::run(&args, global, out)),
        Some(Command::Resume(args)) => runtime::block_on(resume::resume(&args, global, out)),
        Some(Command::Threads(args)) => runtime::block_on(threads::threads(&args, global, out)),
        Some(Command::State(args)) => runtime::block_on(threads::state(&args, global, out)),
        Some(Command::History(args)) => runtime::block_on(threads::history(&args, global, out)),
        Some(Command::Demo(args)) => runtime::block_on(demo::demo(&args, global, out)),
        Some(Command::Eval(args)) => runtime::block_on(eval::eval(&args, global, out)),
        Some(Command::Mcp(args)) => runtime::block_on(mcp::mcp(&args, global, out)),
        Some(Command::Serve(args)) => runtime::block_on(serve::serve(&args, global, out)),
    }
}
