//! `superstep version`.

use serde_json::json;

use crate::output::Output;

/// Version of this program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Prints the version.
pub(crate) fn print_version(out: &Output) -> u8 {
    match out.is_text() {
        true => out.print_result(format_args!("superstep {VERSION}")),
        false => out.json(&json!({ "name": "superstep", "version": VERSION, "platform": platform() })),
    }
    0
}

/// Returns the platform of this build.
pub(crate) fn platform() -> String {
    format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH)
}
