//! `superstep config show`: all settings with their sources.

use serde_json::json;

use crate::args::{ConfigArgs, ConfigCommand, GlobalArgs};
use crate::cli_config::CliConfig;
use crate::error::CliError;
use crate::output::{Output, TextStyle, styled};
use crate::text::{columns, padded};

/// Prints every setting; secrets as `***`.
pub(crate) fn config(args: &ConfigArgs, global: &GlobalArgs, out: &Output) -> Result<u8, CliError> {
    let ConfigCommand::Show = args.command;
    let config = CliConfig::load(global)?;
    let rows = config.settings.explain();
    if !out.is_text() {
        let rows = rows.iter().map(|row| json!({ "key": row.key, "value": row.value, "from": row.origin.to_string() }));
        out.json_list(&rows.collect::<Vec<_>>());
        return Ok(0);
    }
    let key_width = rows.iter().map(|row| columns(&row.key)).max().unwrap_or(0);
    let value_width = rows.iter().map(|row| columns(&row.value)).max().unwrap_or(0).min(40);
    for row in rows {
        let origin = styled(TextStyle::Faint, &row.origin.to_string());
        out.print_result(format_args!(
            "{}  {}  {origin}",
            padded(&row.key, key_width),
            padded(&row.value, value_width)
        ));
    }
    out.print_note(format_args!("default location of threads: {}", crate::cli_config::DEFAULT_CHECKPOINTER_PATH));
    Ok(0)
}
