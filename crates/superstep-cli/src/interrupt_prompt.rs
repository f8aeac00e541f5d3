//! Prompts for open interrupts at the terminal: a form derived from the JSON Schema of the resume value.
//!
//! The form only helps to enter a resume value; the engine validates it.

use std::io::Write;

use serde_json::{Map, Value};
use superstep::{ErrorCode, ResumeValues};
use superstep_server::ThreadInterrupt;

use crate::error::CliError;
use crate::output::{Output, TextStyle, styled};
use crate::signals::ShutdownSignals;
use crate::text::{one_line, truncate, width};

/// Kind of input that a schema requires.
#[derive(Debug, Clone, PartialEq)]
enum InputForm {
    YesNo,
    Choice(Vec<Value>),
    Text,
    Integer,
    Number,
    /// Fields in order: name, form, and whether the field is required.
    Fields(Vec<(String, InputForm, bool)>),
    Json,
}

impl InputForm {
    fn from_schema(schema: Option<&Value>) -> Self {
        let Some(schema) = schema else { return Self::Json };
        if let Some(options) = schema["enum"].as_array().filter(|options| !options.is_empty()) {
            return Self::Choice(options.clone());
        }
        let first_type = schema["type"].as_array().and_then(|types| types.iter().find(|name| *name != "null"));
        match first_type.unwrap_or(&schema["type"]).as_str() {
            Some("boolean") => Self::YesNo,
            Some("string") => Self::Text,
            Some("integer") => Self::Integer,
            Some("number") => Self::Number,
            Some("object") => Self::fields(schema),
            _ => Self::Json,
        }
    }

    fn fields(schema: &Value) -> Self {
        let Some(fields) = schema["properties"].as_object().filter(|fields| !fields.is_empty()) else {
            return Self::Json;
        };
        let is_required =
            |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|it| it == name));
        let field =
            |(name, schema): (&String, &Value)| (name.clone(), Self::from_schema(Some(schema)), is_required(name));
        let mut fields: Vec<_> = fields.iter().map(field).collect();
        fields.sort_by_key(|(_, _, is_required)| !is_required);
        Self::Fields(fields)
    }

    /// Describes the accepted input.
    fn hint(&self) -> String {
        match self {
            Self::YesNo => "yes or no [y/n]".to_owned(),
            Self::Choice(options) => format!("choose [1-{}]", options.len()),
            Self::Text => "text".to_owned(),
            Self::Integer => "a whole number".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Fields(_) | Self::Json => "JSON".to_owned(),
        }
    }

    /// Parses input as a value.
    fn parse(&self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        let json = || serde_json::from_str::<Value>(text);
        match self {
            Self::YesNo => match text.to_lowercase().as_str() {
                "y" | "yes" | "true" => Ok(true.into()),
                "n" | "no" | "false" => Ok(false.into()),
                _ => Err("expected yes or no".to_owned()),
            },
            Self::Choice(options) => {
                let is_match = |option: &&Value| option.as_str() == Some(text) || json().is_ok_and(|it| it == **option);
                let by_index = || options.get(text.parse::<usize>().ok()?.checked_sub(1)?);
                let choice = options.iter().find(is_match).or_else(by_index);
                choice.cloned().ok_or_else(|| format!("expected one of {}", join_options(options)))
            }
            Self::Text => Ok(json().ok().filter(Value::is_string).unwrap_or_else(|| text.into())),
            Self::Integer => text.parse::<i64>().map(Value::from).map_err(|_| "expected a whole number".to_owned()),
            Self::Number => json().ok().filter(Value::is_number).ok_or_else(|| "expected a number".to_owned()),
            Self::Fields(_) | Self::Json => json().map_err(|error| format!("expected JSON: {error}")),
        }
    }
}

fn join_options(options: &[Value]) -> String {
    options.iter().map(display_text).collect::<Vec<_>>().join(", ")
}

fn display_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), one_line)
}

/// Parses the resume values of `--answer`. If several interrupts are open, the text must be a JSON object with their
/// names.
pub(crate) fn parse_resume_values(interrupts: &[ThreadInterrupt], text: &str) -> Result<ResumeValues, CliError> {
    let invalid_resume_value = |message: String| CliError::new(ErrorCode::InvalidResume, message);
    if let [interrupt] = interrupts {
        let resume_value =
            InputForm::from_schema(interrupt.schema.as_ref()).parse(text).map_err(invalid_resume_value)?;
        return Ok(ResumeValues::from([(interrupt.id, resume_value)]));
    }
    let values_by_name: Map<String, Value> = serde_json::from_str(text).map_err(|_| {
        let example = interrupts.iter().map(|interrupt| format!("\"{}\": …", interrupt.name)).collect::<Vec<_>>();
        invalid_resume_value(format!("{} interrupts are open, but one value was given", interrupts.len()))
            .help(format!("resume by name: --answer '{{{}}}'", example.join(", ")))
    })?;
    let mut resume_values = ResumeValues::new();
    for (name, resume_value) in values_by_name {
        let is_match = |interrupt: &&ThreadInterrupt| interrupt.name == name || interrupt.id.to_string() == name;
        let interrupt = interrupts.iter().find(is_match).ok_or_else(|| {
            let names: Vec<&str> = interrupts.iter().map(|interrupt| interrupt.name.as_str()).collect();
            invalid_resume_value(format!("unknown interrupt `{name}`"))
                .help(superstep::core::suggest::did_you_mean_or_list(&name, &names))
        })?;
        resume_values.insert(interrupt.id, resume_value);
    }
    Ok(resume_values)
}

/// Prints an interrupt: its text and its value.
pub(crate) fn print_interrupt(interrupt: &ThreadInterrupt, out: &Output) {
    out.print_note(format_args!(" {} {}", styled(TextStyle::Prompt, "?"), one_line(prompt_text(interrupt))));
    let max = width().saturating_sub(5);
    match &interrupt.value {
        Value::Null => {}
        Value::Object(fields) => {
            // The question itself is printed above.
            for (name, value) in fields.iter().filter(|(name, _)| *name != "question") {
                out.print_note(format_args!("   {}", truncate(&format!("{name}: {}", display_text(value)), max)));
            }
        }
        other => out.print_note(format_args!("   {}", truncate(&display_text(other), max))),
    }
}

/// Returns the text of an interrupt for the user.
pub(crate) fn prompt_text(interrupt: &ThreadInterrupt) -> &str {
    interrupt.text.as_deref().or_else(|| interrupt.value["question"].as_str()).unwrap_or(&interrupt.name)
}

/// Prompts for the resume values of all interrupts; `None` if the user aborted.
pub(crate) async fn prompt_resume_values(
    interrupts: &[ThreadInterrupt],
    out: &Output,
) -> Result<Option<ResumeValues>, CliError> {
    let mut signals = ShutdownSignals::new()?;
    let mut resume_values = ResumeValues::new();
    for interrupt in interrupts {
        print_interrupt(interrupt, out);
        let Some(resume_value) =
            prompt_form(&InputForm::from_schema(interrupt.schema.as_ref()), "", out, &mut signals).await
        else {
            return Ok(None);
        };
        resume_values.insert(interrupt.id, resume_value);
    }
    Ok(Some(resume_values))
}

/// Prompts for the fields of a form in order.
async fn prompt_form(form: &InputForm, name: &str, out: &Output, signals: &mut ShutdownSignals) -> Option<Value> {
    let InputForm::Fields(fields) = form else {
        return prompt_field(form, name, true, (out, signals)).await.flatten();
    };
    let mut object = Map::new();
    for (name, form, is_required) in fields {
        if let Some(value) = prompt_field(form, name, *is_required, (out, signals)).await? {
            object.insert(name.clone(), value);
        }
    }
    Some(Value::Object(object))
}

/// Prompts for one field until the input is valid: `None` if the user aborted, `Some(None)` if the field was left
/// out.
async fn prompt_field(
    form: &InputForm,
    name: &str,
    is_required: bool,
    (out, signals): (&Output, &mut ShutdownSignals),
) -> Option<Option<Value>> {
    if let InputForm::Choice(options) = form {
        for (number, option) in options.iter().enumerate() {
            out.print_note(format_args!("   {}  {}", number + 1, display_text(option)));
        }
    }
    let name = if name.is_empty() { String::new() } else { format!("{name}, ") };
    let optional = if is_required { "" } else { ", optional" };
    loop {
        let mut stderr = anstream::stderr();
        // If the terminal is gone, reading the next line returns `None`.
        let _ = write!(stderr, "   {name}{}{optional}: ", form.hint()).and_then(|()| stderr.flush());
        let typed = tokio::select! {
            typed = read_line() => typed?,
            () = signals.next() => {
                out.print_note("");
                return None;
            }
        };
        if typed.trim().is_empty() && !is_required {
            return Some(None);
        }
        match form.parse(&typed) {
            Ok(value) => return Some(Some(value)),
            Err(message) => out.print_note(format_args!("   {message}")),
        }
    }
}

/// Reads a line from the keyboard on a thread of its own: a blocking read cannot be cancelled, and the runtime
/// would wait for it at shutdown.
async fn read_line() -> Option<String> {
    let (line_tx, line_rx) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let byte_count = std::io::stdin().read_line(&mut line).unwrap_or_default();
        line_tx.send((byte_count > 0).then_some(line))
    });
    line_rx.await.ok().flatten()
}

/// Prompts for confirmation.
pub(crate) async fn confirm(question: &str, out: &Output) -> Result<bool, CliError> {
    out.print_note(format_args!(" {} {question}", styled(TextStyle::Prompt, "?")));
    let confirmed = prompt_form(&InputForm::YesNo, "", out, &mut ShutdownSignals::new()?).await;
    Ok(confirmed == Some(Value::Bool(true)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// R-CLI-16: the schema of a resume value becomes a form.
    #[test]
    fn typed_input_is_parsed_by_schema() {
        let rows = [
            (json!({ "type": "boolean" }), "Yes", Ok(json!(true))),
            (json!({ "type": "boolean" }), "maybe", Err("expected yes or no")),
            (json!({ "enum": ["a", "b"] }), "2", Ok(json!("b"))),
            (json!({ "enum": ["a", "b"] }), "a", Ok(json!("a"))),
            (json!({ "enum": ["a", "b"] }), "3", Err("expected one of a, b")),
            (json!({ "enum": [10, 20] }), "20", Ok(json!(20))),
            (json!({ "type": "string" }), "true", Ok(json!("true"))),
            (json!({ "type": ["string", "null"] }), "\"a b\"", Ok(json!("a b"))),
            (json!({ "type": "integer" }), "1.5", Err("expected a whole number")),
            (json!({ "type": "number" }), "1.5", Ok(json!(1.5))),
            (json!({ "type": "array" }), "[1]", Ok(json!([1]))),
        ];
        for (schema, typed, expected) in rows {
            let parsed = InputForm::from_schema(Some(&schema)).parse(typed);
            assert_eq!(parsed, expected.map_err(str::to_owned), "{schema} {typed}");
        }
    }

    #[test]
    fn an_object_is_prompted_field_by_field_with_required_ones_first() {
        let schema = json!({
            "type": "object", "required": ["ok"],
            "properties": { "note": { "type": "string" }, "ok": { "type": "boolean" } },
        });
        let fields = vec![("ok".to_owned(), InputForm::YesNo, true), ("note".to_owned(), InputForm::Text, false)];
        assert_eq!(InputForm::from_schema(Some(&schema)), InputForm::Fields(fields));
    }
}
