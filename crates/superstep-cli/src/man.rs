//! `superstep man FOLDER`: man pages for packagers.

use clap::CommandFactory;
use superstep::ErrorCode;

use crate::args::{Cli, ManArgs};
use crate::error::CliError;
use crate::output::Output;

/// Writes one page per command.
pub(crate) fn write_man_pages(args: &ManArgs, out: &Output) -> Result<u8, CliError> {
    let result =
        std::fs::create_dir_all(&args.folder).and_then(|()| clap_mangen::generate_to(Cli::command(), &args.folder));
    result.map_err(|error| {
        let message = format!("cannot write man pages to `{}`: {}", args.folder.display(), error.kind());
        CliError::new(ErrorCode::StoreUnavailable, message)
    })?;
    out.print_note(format_args!("wrote man pages to {}", args.folder.display()));
    Ok(0)
}
