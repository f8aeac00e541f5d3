//! From the words of the command line to how the process ends.

use std::process::ExitCode;

use crate::args::{Cli, Command};
use crate::extras::Extras;
use crate::failure::Failure;
use crate::out::Out;
use crate::{
    completions, config, demo, doctor, eval, explain, graph, local, man, mcp, resume, run, serve, threads, usage,
    version,
};

/// Does what this process was asked to do.
pub fn main(extras: Extras) -> ExitCode {
    let mut cli = match usage::read(std::env::args_os().collect()) {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    cli.global.extras = extras;
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
        Some(Command::Eval(asked)) => local::block_on(eval::eval(&asked, global, out)),
        Some(Command::Mcp(asked)) => local::block_on(mcp::mcp(&asked, global, out)),
        Some(Command::Serve(asked)) => local::block_on(serve::serve(&asked, global, out)),
    }
}
