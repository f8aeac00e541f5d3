//! Questions of a run at the terminal: a form made of the schema of the answer.
//!
//! What an answer must look like is decided by the engine; a form only helps to write one.

use std::io::Write;

use serde_json::{Map, Value};
use superstep::{Answers, Code};
use superstep_server::ShownQuestion;

use crate::failure::Failure;
use crate::interrupts::Interrupts;
use crate::out::{Out, Tone, toned};
use crate::words::{cut, one_line, width};

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
enum Form {
    YesNo,
    Choice(Vec<Value>),
    Text,
    Whole,
    Number,
    /// A field after the other; those that are not required may be left out.
    Fields(Vec<(String, Form, bool)>),
    Json,
}

impl Form {
    fn of(schema: Option<&Value>) -> Self {
        let Some(schema) = schema else { return Self::Json };
        if let Some(options) = schema["enum"].as_array().filter(|options| !options.is_empty()) {
            return Self::Choice(options.clone());
        }
        let kinds = schema["type"].as_array().and_then(|kinds| kinds.iter().find(|kind| *kind != "null"));
        match kinds.unwrap_or(&schema["type"]).as_str() {
            Some("boolean") => Self::YesNo,
            Some("string") => Self::Text,
            Some("integer") => Self::Whole,
            Some("number") => Self::Number,
            Some("object") => Self::fields(schema),
            _ => Self::Json,
        }
    }

    fn fields(schema: &Value) -> Self {
        let Some(fields) = schema["properties"].as_object().filter(|fields| !fields.is_empty()) else {
            return Self::Json;
        };
        let is_required = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|it| it == name));
        let field = |(name, of): (&String, &Value)| (name.clone(), Self::of(Some(of)), is_required(name));
        let mut fields: Vec<_> = fields.iter().map(field).collect();
        fields.sort_by_key(|(_, _, is_required)| !is_required);
        Self::Fields(fields)
    }

    /// What may be typed.
    fn hint(&self) -> String {
        match self {
            Self::YesNo => "yes or no [y/n]".to_owned(),
            Self::Choice(options) => format!("choose [1-{}]", options.len()),
            Self::Text => "text".to_owned(),
            Self::Whole => "a whole number".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Fields(_) | Self::Json => "JSON".to_owned(),
        }
    }

    /// What was typed, as an answer.
    fn read(&self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        let json = || serde_json::from_str::<Value>(text);
        match self {
            Self::YesNo => match text.to_lowercase().as_str() {
                "y" | "yes" | "true" => Ok(true.into()),
                "n" | "no" | "false" => Ok(false.into()),
                _ => Err("expected yes or no".to_owned()),
            },
            Self::Choice(options) => {
                let is_named = |option: &&Value| option.as_str() == Some(text) || json().is_ok_and(|it| it == **option);
                let at = || options.get(text.parse::<usize>().ok()?.checked_sub(1)?);
                let found = options.iter().find(is_named).or_else(at);
                found.cloned().ok_or_else(|| format!("expected one of {}", listed(options)))
            }
            Self::Text => Ok(json().ok().filter(Value::is_string).unwrap_or_else(|| text.into())),
            Self::Whole => text.parse::<i64>().map(Value::from).map_err(|_| "expected a whole number".to_owned()),
            Self::Number => json().ok().filter(Value::is_number).ok_or_else(|| "expected a number".to_owned()),
            Self::Fields(_) | Self::Json => json().map_err(|error| format!("expected JSON: {error}")),
        }
    }
}

fn listed(options: &[Value]) -> String {
    options.iter().map(shown).collect::<Vec<_>>().join(", ")
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), one_line)
}

/// The answers that a flag gives. With several questions it names them.
pub(crate) fn answers(questions: &[ShownQuestion], text: &str) -> Result<Answers, Failure> {
    let refuse = |message: String| Failure::new(Code::InvalidResume, message);
    if let [question] = questions {
        let answer = Form::of(question.schema.as_ref()).read(text).map_err(refuse)?;
        return Ok(Answers::from([(question.id, answer)]));
    }
    let named: Map<String, Value> = serde_json::from_str(text).map_err(|_| {
        let example = questions.iter().map(|question| format!("\"{}\": …", question.name)).collect::<Vec<_>>();
        refuse(format!("{} questions are open, and one answer was given", questions.len()))
            .help(format!("name them: --answer '{{{}}}'", example.join(", ")))
    })?;
    let mut answers = Answers::new();
    for (name, answer) in named {
        let is_meant = |question: &&ShownQuestion| question.name == name || question.id.to_string() == name;
        let question = questions.iter().find(is_meant).ok_or_else(|| {
            let known: Vec<&str> = questions.iter().map(|question| question.name.as_str()).collect();
            refuse(format!("no question `{name}`")).help(superstep::core::suggest::known_names(&name, &known))
        })?;
        answers.insert(question.id, answer);
    }
    Ok(answers)
}

/// Shows what is asked.
pub(crate) fn show(question: &ShownQuestion, out: &Out) {
    out.note(format_args!(" {} {}", toned(Tone::Asks, "?"), one_line(text(question))));
    let most = width().saturating_sub(5);
    match &question.value {
        Value::Null => {}
        Value::Object(fields) => {
            // The question itself stands above.
            for (name, value) in fields.iter().filter(|(name, _)| *name != "question") {
                out.note(format_args!("   {}", cut(&format!("{name}: {}", shown(value)), most)));
            }
        }
        other => out.note(format_args!("   {}", cut(&shown(other), most))),
    }
}

/// The sentence for the person.
pub(crate) fn text(question: &ShownQuestion) -> &str {
    question.text.as_deref().or_else(|| question.value["question"].as_str()).unwrap_or(&question.name)
}

/// Asks a person at the terminal; nothing when they left.
pub(crate) async fn ask(questions: &[ShownQuestion], out: &Out) -> Result<Option<Answers>, Failure> {
    let mut interrupts = Interrupts::new()?;
    let mut answers = Answers::new();
    for question in questions {
        show(question, out);
        let Some(answer) = fill(&Form::of(question.schema.as_ref()), "", out, &mut interrupts).await else {
            return Ok(None);
        };
        answers.insert(question.id, answer);
    }
    Ok(Some(answers))
}

/// Fills a form, a line after the other.
async fn fill(form: &Form, name: &str, out: &Out, interrupts: &mut Interrupts) -> Option<Value> {
    let Form::Fields(fields) = form else { return line(form, name, true, (out, interrupts)).await.flatten() };
    let mut answer = Map::new();
    for (name, form, is_required) in fields {
        if let Some(value) = line(form, name, *is_required, (out, interrupts)).await? {
            answer.insert(name.clone(), value);
        }
    }
    Some(Value::Object(answer))
}

/// One line of a form, asked for until it fits: nothing when the person left, `Some(None)` when they left it out.
async fn line(
    form: &Form,
    name: &str,
    is_required: bool,
    (out, interrupts): (&Out, &mut Interrupts),
) -> Option<Option<Value>> {
    if let Form::Choice(options) = form {
        for (number, option) in options.iter().enumerate() {
            out.note(format_args!("   {}  {}", number + 1, shown(option)));
        }
    }
    let name = if name.is_empty() { String::new() } else { format!("{name}, ") };
    let leave = if is_required { "" } else { ", or nothing" };
    loop {
        let mut stderr = anstream::stderr();
        // A terminal that is gone shows itself when a line is read.
        let _ = write!(stderr, "   {name}{}{leave}: ", form.hint()).and_then(|()| stderr.flush());
        let typed = tokio::select! {
            typed = read_line() => typed?,
            () = interrupts.next() => {
                out.note("");
                return None;
            }
        };
        if typed.trim().is_empty() && !is_required {
            return Some(None);
        }
        match form.read(&typed) {
            Ok(answer) => return Some(Some(answer)),
            Err(wrong) => out.note(format_args!("   {wrong}")),
        }
    }
}

/// A line from the keyboard, read by a thread of its own: nothing can stop it, and the runtime would wait for it at its end.
async fn read_line() -> Option<String> {
    let (typed, is_typed) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line).unwrap_or_default();
        typed.send((read > 0).then_some(line))
    });
    is_typed.await.ok().flatten()
}

/// Asks whether to go on.
pub(crate) async fn confirm(question: &str, out: &Out) -> Result<bool, Failure> {
    out.note(format_args!(" {} {question}", toned(Tone::Asks, "?")));
    let answer = fill(&Form::YesNo, "", out, &mut Interrupts::new()?).await;
    Ok(answer == Some(Value::Bool(true)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// R-CLI-16: the schema of an answer becomes a form.
    #[test]
    fn what_is_typed_is_read_as_the_schema_says() {
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
            let read = Form::of(Some(&schema)).read(typed);
            assert_eq!(read, expected.map_err(str::to_owned), "{schema} {typed}");
        }
    }

    #[test]
    fn an_object_is_asked_for_field_by_field_with_required_ones_first() {
        let schema = json!({
            "type": "object", "required": ["ok"],
            "properties": { "note": { "type": "string" }, "ok": { "type": "boolean" } },
        });
        let fields = vec![("ok".to_owned(), Form::YesNo, true), ("note".to_owned(), Form::Text, false)];
        assert_eq!(Form::of(Some(&schema)), Form::Fields(fields));
    }
}
