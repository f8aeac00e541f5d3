//! A field in its data form: a map of options, each of which is read or refused.

use serde_json::{Map, Value};

use super::{FieldBuilder, field};
use crate::fault::Fault;
use crate::field::Conflict;
use crate::record::Default;
use crate::schema::pointer;
use crate::suggest::known_names;
use crate::types::{FieldType, kind};

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
            let Self { flags, kind, .. } = &mut built;
            let read = match key.as_str() {
                "type" => FieldType::parse(value).map(|parsed| *kind = parsed),
                "reducer" => {
                    built = built.reducer_value(value);
                    continue;
                }
                "default" => {
                    built.default = Some(Default::Value(value.clone()));
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
            if let Err(fault) = read {
                let place = format!("{}{}", pointer(key), fault.pointer);
                built.problems.push(fault.at(place));
            }
        }
        if min.is_some() || max.is_some() { built.range(min, max) } else { built }
    }
}

fn flag(value: &Value) -> Result<bool, Fault> {
    value.as_bool().ok_or_else(|| Fault::new(format!("expected boolean, found {}", kind(value))))
}

fn bound(value: &Value) -> Result<f64, Fault> {
    value.as_f64().ok_or_else(|| Fault::new(format!("expected number, found {}", kind(value))))
}

fn conflict(value: &Value) -> Result<Conflict, Fault> {
    match value.as_str() {
        Some("last_wins") => Ok(Conflict::LastWins),
        Some("refuse") => Ok(Conflict::Refuse),
        _ => Err(Fault::new("`on_conflict` is `refuse` or `last_wins`")),
    }
}

fn unknown_option(name: &str) -> Fault {
    Fault::new(format!("no option `{name}`")).help(known_names(name, &OPTIONS))
}
