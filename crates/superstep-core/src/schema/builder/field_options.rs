//! The data form of a field: a map of options, each of which is parsed or rejected.

use serde_json::{Map, Value};

use super::{FieldBuilder, field};
use crate::dynamic_state::DefaultValue;
use crate::field::ConflictPolicy;
use crate::schema::pointer;
use crate::suggest::did_you_mean_or_list;
use crate::types::{FieldType, kind};
use crate::validation_error::ValidationError;

const OPTIONS: [&str; 11] = [
    "type",
    "reducer",
    "default",
    "private",
    "set_once",
    "untracked",
    "ephemeral",
    "required",
    "on_conflict",
    "min",
    "max",
];

impl FieldBuilder {
    pub(super) fn from_options(name: &str, options: &Map<String, Value>) -> Self {
        let mut built = field(name);
        let (mut min, mut max) = (None, None);
        for (key, value) in options {
            let Self { flags, field_type, .. } = &mut built;
            let parsed = match key.as_str() {
                "type" => FieldType::parse(value).map(|parsed_type| *field_type = parsed_type),
                "reducer" => {
                    built = built.reducer_value(value);
                    continue;
                }
                "default" => {
                    built.default = Some(DefaultValue::Value(value.clone()));
                    continue;
                }
                "private" => flag(value).map(|is_set| flags.private = is_set),
                "set_once" => flag(value).map(|is_set| flags.set_once |= is_set),
                "untracked" => flag(value).map(|is_set| flags.untracked = is_set),
                "ephemeral" => flag(value).map(|is_set| flags.ephemeral = is_set),
                "required" => flag(value).map(|is_set| flags.required = is_set),
                "on_conflict" => conflict(value).map(|conflict| built.conflict = Some(conflict)),
                "min" => bound(value).map(|bound| min = Some(bound)),
                "max" => bound(value).map(|bound| max = Some(bound)),
                unknown => Err(unknown_option(unknown)),
            };
            if let Err(error) = parsed {
                let path = format!("{}{}", pointer(key), error.pointer);
                built.diagnostics.push(error.with_pointer(path));
            }
        }
        if min.is_some() || max.is_some() { built.range(min, max) } else { built }
    }
}

fn flag(value: &Value) -> Result<bool, ValidationError> {
    value.as_bool().ok_or_else(|| ValidationError::new(format!("expected boolean, found {}", kind(value))))
}

fn bound(value: &Value) -> Result<f64, ValidationError> {
    value.as_f64().ok_or_else(|| ValidationError::new(format!("expected number, found {}", kind(value))))
}

fn conflict(value: &Value) -> Result<ConflictPolicy, ValidationError> {
    match value.as_str() {
        Some("last_wins") => Ok(ConflictPolicy::LastWins),
        Some("reject") => Ok(ConflictPolicy::Reject),
        _ => Err(ValidationError::new("`on_conflict` must be `reject` or `last_wins`")),
    }
}

fn unknown_option(name: &str) -> ValidationError {
    ValidationError::new(format!("unknown option `{name}`")).with_help(did_you_mean_or_list(name, &OPTIONS))
}
