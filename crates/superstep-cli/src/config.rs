//! `superstep config show`: what is set, and where.

use serde_json::json;

use crate::args::{Config, ConfigWhat, Global};
use crate::failure::Failure;
use crate::out::{Out, Tone, toned};
use crate::setup::Setup;
use crate::words::{columns, padded};

/// Shows every setting; secrets as `***`.
pub(crate) fn config(asked: &Config, global: &Global, out: &Out) -> Result<u8, Failure> {
    let ConfigWhat::Show = asked.what;
    let setup = Setup::load(global)?;
    let rows = setup.settings.explain();
    if !out.is_text() {
        let rows = rows.iter().map(|row| json!({ "key": row.key, "value": row.value, "from": row.origin.to_string() }));
        out.json_list(&rows.collect::<Vec<_>>());
        return Ok(0);
    }
    let keys = rows.iter().map(|row| columns(&row.key)).max().unwrap_or(0);
    let values = rows.iter().map(|row| columns(&row.value)).max().unwrap_or(0).min(40);
    for row in rows {
        let origin = toned(Tone::Faint, &row.origin.to_string());
        out.result(format_args!("{}  {}  {origin}", padded(&row.key, keys), padded(&row.value, values)));
    }
    out.note(format_args!("without another setting, `run` keeps threads in {}", crate::setup::USUAL_STORE));
    Ok(0)
}
