//! Output of the language model: its JSON form, and the resolution of names.
//!
//! A value that violates the form is rejected with its JSON pointer (`TypeMismatch`). An unknown name is valid: the
//! name is kept, and the user is asked about it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::core::error::Diagnostic;
use superstep::core::time::Time;
use superstep::models::ResponseFormat;
use superstep::{Error, ErrorCode, Result};

use super::name_mentions::near;
use super::token::fold;
use super::{EventEdit, SeriesScope, UnknownName};
use crate::calendar::{CalendarSnapshot, Flexibility, Priority};
use crate::models::{self, Confidence, EventType, QueryType};
use crate::time_zone::NamedTimeZone;

/// Parsed content of the message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelParse {
    /// Intent: `create` a new event, `modify` or `cancel` an existing one, `query` the calendar.
    pub event_type: EventType,
    /// Kind of the query; null unless `event_type` is `query`.
    #[serde(default)]
    pub query_type: Option<QueryType>,
    /// Title of the event, without people, resources and times.
    #[serde(default)]
    pub title: Option<String>,
    /// Local start such as `2026-01-10T14:00`; null unless both day and time were given.
    #[serde(default)]
    pub start_time: Option<String>,
    /// Local end; null unless an end or a duration was given.
    #[serde(default)]
    pub end_time: Option<String>,
    /// Start of the time range if only a range was given, such as `Saturday afternoon`.
    #[serde(default)]
    pub earliest: Option<String>,
    /// End of that time range.
    #[serde(default)]
    pub latest: Option<String>,
    /// True if the event lasts whole days.
    #[serde(default)]
    pub is_all_day: bool,
    /// Ids of members; names that are in no list, as they were written.
    #[serde(default)]
    pub participants: Vec<String>,
    /// Ids of resources; names that are in no list, as they were written.
    #[serde(default)]
    pub resources: Vec<String>,
    /// Recurrence as a value of RRULE.
    #[serde(default)]
    pub recurrence_rule: Option<String>,
    /// Priority of the event, if it was given.
    #[serde(default)]
    pub priority: Option<Priority>,
    /// Flexibility of the event, if it was given.
    #[serde(default)]
    pub flexibility: Option<Flexibility>,
    /// Ids of all events that match the request, for `modify` and `cancel`.
    #[serde(default)]
    pub events: Vec<String>,
    /// Start of the selected instance of a series, if it was given.
    #[serde(default)]
    pub occurrence: Option<String>,
    /// Instances of a series to change, if they were given.
    #[serde(default)]
    pub scope: Option<SeriesScope>,
    /// Changes of the event other than its time.
    #[serde(default)]
    pub edit: EventEdit,
    /// Confidence of this parse, from 0 to 1.
    pub confidence: Confidence,
}

impl ModelParse {
    /// Parses the output of a model.
    ///
    /// # Errors
    /// Returns `TypeMismatch` with the JSON pointer of the invalid value.
    pub fn from_json(output: Value) -> Result<Self> {
        models::from_json(output).map_err(|error| match error.diagnostics().first() {
            Some(problem) => invalid_model_output(&problem.pointer, &problem.message),
            None => error,
        })
    }
}

/// Returns the JSON Schema for the model output. Every field is required, because some providers accept no optional
/// fields.
pub(super) fn answer_format() -> ResponseFormat {
    let mut form = ResponseFormat::for_type::<ModelParse>();
    let schema = Arc::make_mut(&mut form.schema);
    require_all(schema);
    schema["$defs"].as_object_mut().into_iter().flat_map(|parts| parts.values_mut()).for_each(require_all);
    form
}

fn require_all(schema: &mut Value) {
    let Some(fields) = schema["properties"].as_object_mut() else { return };
    for field in fields.values_mut().filter_map(Value::as_object_mut) {
        field.remove("default");
    }
    let names: Vec<String> = fields.keys().cloned().collect();
    schema["required"] = json!(names);
}

/// Creates the error for invalid model output.
pub(super) fn invalid_model_output(pointer: &str, reason: &str) -> Error {
    let problem = Diagnostic { pointer: pointer.to_owned(), message: reason.to_owned(), help: None };
    let message = format!("the answer of the language model is invalid at `{pointer}`: {reason}");
    Error::with_diagnostics(ErrorCode::TypeMismatch, message, vec![problem])
}

/// Parses a time in the model output: `None` if the field is empty, an error text if the local time does not exist.
///
/// # Errors
/// Returns `TypeMismatch` if the text is not formatted as a time.
pub(super) fn time(text: Option<&String>, pointer: &str, zone: &NamedTimeZone) -> Result<Option<Result<Time, String>>> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let is_shaped = text.len() >= 16
        && text.bytes().zip(*b"0000-00-00T00:00").all(|(byte, shape)| match shape {
            b'0' => byte.is_ascii_digit(),
            b'T' => matches!(byte, b'T' | b't' | b' '),
            shape => byte == shape,
        });
    if !is_shaped {
        return Err(invalid_model_output(pointer, &format!("`{text}` is not a time such as `2026-01-10T14:00`")));
    }
    let time = Time::parse_event(text, zone.name()).map_err(|_| format!("The time {} does not exist.", &text[..16]));
    Ok(Some(time.map(|time| zone.with_local_offset(time).unwrap_or(time))))
}

/// Resolves names to ids and collects unknown names.
pub(super) struct NameResolver<'a> {
    snapshot: &'a CalendarSnapshot,
    pub(super) unknown: Vec<UnknownName>,
}

impl<'a> NameResolver<'a> {
    pub(super) fn new(snapshot: &'a CalendarSnapshot) -> Self {
        Self { snapshot, unknown: Vec::new() }
    }

    pub(super) fn resolve_members(&mut self, names: &[String]) -> Vec<String> {
        let candidates = self
            .snapshot
            .members
            .values()
            .map(|member| (member.id.as_str(), member.name.as_str(), member.aliases.as_slice()));
        let candidates: Vec<_> = candidates.collect();
        self.find(names, &candidates, false)
    }

    pub(super) fn resolve_resources(&mut self, names: &[String]) -> Vec<String> {
        let resources = self.snapshot.resources.values();
        let candidates: Vec<_> = resources
            .map(|resource| (resource.id.as_str(), resource.name.as_str(), resource.aliases.as_slice()))
            .collect();
        self.find(names, &candidates, true)
    }

    fn find(&mut self, names: &[String], candidates: &[(&str, &str, &[String])], is_resource: bool) -> Vec<String> {
        let mut ids: Vec<String> = Vec::new();
        for name in names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
            let folded = fold(name);
            let is_called = |candidate: &&(&str, &str, &[String])| {
                fold(candidate.1) == folded || candidate.2.iter().any(|alias| fold(alias) == folded)
            };
            let by_id = candidates.iter().find(|candidate| candidate.0 == name);
            match by_id.or_else(|| candidates.iter().find(is_called)) {
                Some((id, ..)) if ids.iter().any(|existing| existing == id) => {}
                Some((id, ..)) => ids.push((*id).to_owned()),
                None if self.unknown.iter().any(|unknown| unknown.text == name) => {}
                None => {
                    let near = near(self.snapshot, &folded, !is_resource);
                    self.unknown.push(UnknownName { text: name.to_owned(), near, is_resource_like: is_resource });
                }
            }
        }
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// R-FAM-110: all fields of the form are required and none has a default, so that every provider accepts it.
    #[test]
    fn the_form_requires_every_field() {
        let schema = answer_format().schema;
        let count = |object: &Value| (object["properties"].as_object().unwrap().len(), object["required"].clone());
        let (fields, required) = count(&schema);
        assert_eq!((fields, required.as_array().unwrap().len()), (18, 18), "{schema}");
        let (fields, required) = count(&schema["$defs"]["EventEdit"]);
        assert_eq!((fields, required.as_array().unwrap().len()), (5, 5), "{schema}");
        assert!(!schema.to_string().contains("\"default\""), "{schema}");
    }

    /// R-FAM-110, R-FAM-126: ids, names and aliases are resolved; other names are kept, with similar ones.
    #[test]
    fn names_resolve_to_ids_or_stay_unknown() {
        let snapshot = sample::empty_family();
        let mut resolver = NameResolver::new(&snapshot);
        let names = ["emma", "Mum", "Em", "Emmma", " "].map(str::to_owned);
        assert_eq!(resolver.resolve_members(&names), ["emma", "mom"]);
        assert_eq!(resolver.resolve_resources(&["Auto".to_owned(), "van".to_owned()]), ["car"]);
        let unknown: Vec<_> =
            resolver.unknown.iter().map(|unknown| (unknown.text.as_str(), unknown.is_resource_like)).collect();
        assert_eq!(unknown, [("Emmma", false), ("van", true)]);
        assert_eq!(resolver.unknown[0].near, ["emma"]);
    }

    /// R-FAM-130, R-FAM-124: text that is not a time violates the form; a date that does not exist is an error
    /// text.
    #[test]
    fn times_are_parsed_as_local_times() {
        let zone = NamedTimeZone::from_iana_name(sample::ZONE).unwrap();
        let read = |text: &str| time(Some(&text.to_owned()), "/start_time", &zone);
        let good = read("2026-01-10T14:00").unwrap().unwrap().unwrap();
        assert_eq!(good.to_string(), "2026-01-10T14:00:00-05:00");
        assert_eq!(read("2026-01-10T19:00:00Z").unwrap().unwrap().unwrap().to_string(), good.to_string());
        assert!(read("").unwrap().is_none());
        assert_eq!(
            read("2026-02-30T14:00").unwrap().unwrap().unwrap_err(),
            "The time 2026-02-30T14:00 does not exist."
        );
        let error = read("saturday at two pm").unwrap_err();
        assert_eq!((error.code(), error.diagnostics()[0].pointer.as_str()), (ErrorCode::TypeMismatch, "/start_time"));
    }
}
