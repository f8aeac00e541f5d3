//! `superstep man FOLDER`: the man pages, for whoever packs this program.

use clap::CommandFactory;
use superstep::Code;

use crate::args::{Cli, Man};
use crate::failure::Failure;
use crate::out::Out;

/// Writes a page for each command.
pub(crate) fn write(asked: &Man, out: &Out) -> Result<u8, Failure> {
    let written =
        std::fs::create_dir_all(&asked.folder).and_then(|()| clap_mangen::generate_to(Cli::command(), &asked.folder));
    written.map_err(|error| {
        let message = format!("man pages cannot be written to `{}`: {}", asked.folder.display(), error.kind());
        Failure::new(Code::StoreUnavailable, message)
    })?;
    out.note(format_args!("man pages are in {}", asked.folder.display()));
    Ok(0)
}
