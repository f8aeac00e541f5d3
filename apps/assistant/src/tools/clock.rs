//! `now`: the current time, in UTC and in the time zone of the user.

use std::sync::Arc;

use serde_json::json;
use superstep::core::port::Clock;
use superstep::core::time::Time;
use superstep::tools::{Tool, ToolInvocation, ToolSpec};
use superstep::{ToolError, ToolOutput};

use super::arguments::optional;
use super::caller::Caller;
use super::error::{invalid, unavailable};

/// The `now` tool.
pub(super) struct Now(pub(super) Arc<dyn Clock>);

impl Tool for Now {
    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object", "additionalProperties": false, "properties": {
            "zone": {"type": "string", "description": "An IANA time zone, such as Europe/Berlin (default: the user's time zone)."},
        }});
        ToolSpec::new("now", "Returns the date and the time.")
            .with_input_schema(schema)
            .read_only()
            .timeout(super::CALL_TIMEOUT)
    }

    async fn call(&self, call: ToolInvocation) -> Result<ToolOutput, ToolError> {
        let user_zone = Caller::from_invocation(&call).map_or_else(|_| "UTC".to_owned(), |caller| caller.zone.clone());
        let zone = optional(&call, "zone")?.map(str::trim).filter(|zone| !zone.is_empty()).unwrap_or(&user_zone);
        // Cut to full seconds: fractions of a second are noise for a person.
        let micros = self.0.now().div_euclid(1_000_000) * 1_000_000;
        let utc = Time::from_unix_micros(micros).map_err(|error| unavailable(error.to_string()))?;
        let local = utc.in_zone(zone).map_err(|error| invalid(error.to_string()))?;
        Ok(json!({"utc": utc.to_string(), "local": local.to_string(), "zone": zone}).into())
    }
}
