//! `superstep version`.

use serde_json::json;

use crate::out::Out;

/// The version of this program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Shows the version.
pub(crate) fn show(out: &Out) -> u8 {
    match out.is_text() {
        true => out.result(format_args!("superstep {VERSION}")),
        false => out.json(&json!({ "name": "superstep", "version": VERSION, "platform": platform() })),
    }
    0
}

/// What it was built for.
pub(crate) fn platform() -> String {
    format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH)
}
