//! Transcript of a debate as Markdown, plain text, HTML or JSON. Each names the model, and states if it is a language
//! model.
//!
//! Topics and turns appear as text: markup in them is escaped.

use serde_json::{Value, json};
use superstep::Message;
use superstep::models::{ModelInfo, ModelKind};

use crate::fact_check::result::Verdict;
use crate::prompt::DebateAgent;
use crate::state::DebateState;

/// Returns the label of a kind of model for users.
#[must_use]
pub const fn label(kind: ModelKind) -> &'static str {
    match kind {
        ModelKind::Rules => "rule-based voices, no language model",
        ModelKind::Weights => "local language model",
        ModelKind::Remote => "language model",
    }
}

/// Renders the transcript as Markdown.
#[must_use]
pub fn markdown(debate: &DebateState) -> String {
    let title = format!("# {}\n\n", escaped(&debate.topic));
    let format_line = |line: &str| format!("- {}\n", escaped(line));
    render(debate, title, format_line, |part| match part {
        TranscriptPart::Heading(heading) => format!("\n## {heading}\n"),
        TranscriptPart::Message(name, text) => format!("\n**{name}:** {}\n", escaped(&text)),
        TranscriptPart::FactCheck(result) => format!("\n- {}\n", escaped(&result)),
    })
}

/// Renders the transcript as plain text.
#[must_use]
pub fn plain(debate: &DebateState) -> String {
    let title = format!("{}\n\n", debate.topic);
    render(
        debate,
        title,
        |line| format!("{line}\n"),
        |part| match part {
            TranscriptPart::Heading(heading) => format!("\n{}\n", heading.to_uppercase()),
            TranscriptPart::Message(name, text) => format!("\n{name}: {text}\n"),
            TranscriptPart::FactCheck(result) => format!("\n{result}\n"),
        },
    )
}

/// Renders the transcript as HTML, without head and body elements.
#[must_use]
pub fn html(debate: &DebateState) -> String {
    let title = format!("<h1>{}</h1>", entities(&debate.topic));
    let format_line = |line: &str| format!("<p>{}</p>", entities(line));
    render(debate, title, format_line, |part| match part {
        TranscriptPart::Heading(heading) => format!("<h2>{heading}</h2>"),
        TranscriptPart::Message(name, text) => format!("<p><b>{name}:</b> {}</p>", entities(&text)),
        TranscriptPart::FactCheck(result) => format!("<p>{}</p>", entities(&result)),
    })
}

/// Renders the title, the metadata, then the messages, in one format.
fn render(
    debate: &DebateState,
    title: String,
    format_line: impl Fn(&str) -> String,
    format_part: impl Fn(TranscriptPart) -> String,
) -> String {
    let metadata = metadata_lines(debate).into_iter().map(|line| format_line(&line));
    [title].into_iter().chain(metadata).chain(parts(debate).into_iter().map(format_part)).collect()
}

/// Renders the transcript as JSON.
#[must_use]
pub fn json(debate: &DebateState) -> Value {
    let message = |message: &Message| {
        json!({
            "id": message.id, "name": message.name, "role": message.role, "round": round(message),
            "content": message.text(),
        })
    };
    json!({
        "topic": debate.topic,
        "maxRounds": debate.max_rounds,
        "round": debate.round,
        "status": debate.status,
        "model": model(debate).map(|info| model_json(&info)),
        "messages": debate.messages.iter().map(message).collect::<Vec<_>>(),
        "factCheckResults": debate.fact_check_results,
        "userApproved": debate.user_approved,
        "tokenUsage": debate.token_usage,
        "tokenUsageEstimated": debate.is_usage_estimated(),
        "startTime": debate.start_time,
        "endTime": debate.end_time,
    })
}

/// Returns the model of the last message that names one.
#[must_use]
pub fn model(debate: &DebateState) -> Option<ModelInfo> {
    let infos = debate.messages.iter().rev().filter_map(|message| message.metadata.get("model"));
    infos.filter_map(|info| serde_json::from_value(info.clone()).ok()).next()
}

/// Returns `{name, kind, label}` of a model.
#[must_use]
pub fn model_json(info: &ModelInfo) -> Value {
    json!({ "name": format!("{}/{}", info.provider, info.name), "kind": info.kind, "label": label(info.kind) })
}

enum TranscriptPart {
    Heading(String),
    Message(&'static str, String),
    FactCheck(String),
}

/// Returns the metadata lines above the messages.
fn metadata_lines(debate: &DebateState) -> Vec<String> {
    let model_line = model(debate).map(|info| match info.kind {
        ModelKind::Weights => format!("Model: {info}, {}", label(info.kind)),
        kind => format!("Model: {}/{} ({})", info.provider, info.name, label(kind)),
    });
    let status = format!("Status: {}, round {} of {}", debate.status.name(), debate.round, debate.max_rounds);
    let times = [("Started", debate.start_time), ("Ended", debate.end_time)];
    let times = times.into_iter().filter_map(|(event, time)| Some(format!("{event}: {}", time?)));
    let suffix = if debate.is_usage_estimated() { " (estimated)" } else { "" };
    let tokens = format!("Tokens: {}{suffix}", debate.token_usage);
    model_line.into_iter().chain([status]).chain(times).chain([tokens]).collect()
}

fn parts(debate: &DebateState) -> Vec<TranscriptPart> {
    let (mut parts, mut last_round) = (Vec::new(), 0);
    // The first message of the user repeats the topic.
    let is_opening = |message: &Message| message.name.is_none() && round(message).is_none();
    for message in debate.messages.iter() {
        let role = DebateAgent::ALL.into_iter().find(|role| message.name.as_deref() == Some(role.name()));
        let speaker = match role {
            Some(DebateAgent::Optimist) => "Optimist",
            Some(DebateAgent::Skeptic) => "Skeptic",
            Some(DebateAgent::Moderator) => "Moderator",
            None if is_opening(message) && message.text().starts_with("Debate topic: ") => continue,
            None if message.role == superstep::core::message::Role::User => "User",
            None => "Debate",
        };
        match (role, round(message)) {
            (Some(DebateAgent::Moderator), _) => parts.push(TranscriptPart::Heading("Summary".to_owned())),
            (Some(_), Some(round)) if round != last_round => {
                last_round = round;
                parts.push(TranscriptPart::Heading(format!("Round {round}")));
            }
            _ => {}
        }
        parts.push(TranscriptPart::Message(speaker, message.text().into_owned()));
    }
    if !debate.fact_check_results.is_empty() {
        parts.push(TranscriptPart::Heading("Fact check".to_owned()));
    }
    parts.extend(debate.fact_check_results.iter().map(|result| {
        let verdict = match result.verdict {
            Verdict::True => "True",
            Verdict::False => "False",
            Verdict::Unverifiable => "Unverifiable",
        };
        let sources =
            if result.sources.is_empty() { String::new() } else { format!(" ({})", result.sources.join(", ")) };
        TranscriptPart::FactCheck(format!("{verdict}: {}{sources}", result.claim))
    }));
    parts
}

fn round(message: &Message) -> Option<u64> {
    message.metadata.get("round").and_then(Value::as_u64)
}

/// Escapes text for Markdown.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '&' | '|' | '~') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

/// Escapes text for HTML.
fn entities(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
