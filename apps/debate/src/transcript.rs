//! A debate for people: Markdown, plain text, JSON. Each says who spoke, and whether that was a language model.
//!
//! Topics and turns are shown as text: what looks like markup in them is escaped where markup means something.

use serde_json::{Value, json};
use superstep::Message;
use superstep::model::{ModelInfo, ModelKind};

use crate::fact::Verdict;
use crate::prompt::Role;
use crate::state::Debate;

/// What readers are told about the kind of thing that answers.
#[must_use]
pub const fn label(kind: ModelKind) -> &'static str {
    match kind {
        ModelKind::Rules => "rule-based voices, no language model",
        ModelKind::Weights => "language model on this machine",
        ModelKind::Remote => "language model",
    }
}

/// As Markdown.
#[must_use]
pub fn markdown(debate: &Debate) -> String {
    let title = format!("# {}\n\n", escaped(&debate.topic));
    let fact = |line: &str| format!("- {}\n", escaped(line));
    written(debate, title, fact, |part| match part {
        Part::Heading(heading) => format!("\n## {heading}\n"),
        Part::Said(name, said) => format!("\n**{name}:** {}\n", escaped(&said)),
        Part::Found(found) => format!("\n- {}\n", escaped(&found)),
    })
}

/// As plain text.
#[must_use]
pub fn plain(debate: &Debate) -> String {
    let title = format!("{}\n\n", debate.topic);
    written(
        debate,
        title,
        |line| format!("{line}\n"),
        |part| match part {
            Part::Heading(heading) => format!("\n{}\n", heading.to_uppercase()),
            Part::Said(name, said) => format!("\n{name}: {said}\n"),
            Part::Found(found) => format!("\n{found}\n"),
        },
    )
}

/// As HTML, without a head or a body around it.
#[must_use]
pub fn html(debate: &Debate) -> String {
    let title = format!("<h1>{}</h1>", entities(&debate.topic));
    let fact = |line: &str| format!("<p>{}</p>", entities(line));
    written(debate, title, fact, |part| match part {
        Part::Heading(heading) => format!("<h2>{heading}</h2>"),
        Part::Said(name, said) => format!("<p><b>{name}:</b> {}</p>", entities(&said)),
        Part::Found(found) => format!("<p>{}</p>", entities(&found)),
    })
}

/// The title, the facts, then what was said, each in the words of a form.
fn written(debate: &Debate, title: String, fact: impl Fn(&str) -> String, part: impl Fn(Part) -> String) -> String {
    let facts = facts(debate).into_iter().map(|line| fact(&line));
    [title].into_iter().chain(facts).chain(parts(debate).into_iter().map(part)).collect()
}

/// As JSON.
#[must_use]
pub fn json(debate: &Debate) -> Value {
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
        "model": model(debate).map(|info| described(&info)),
        "messages": debate.messages.iter().map(message).collect::<Vec<_>>(),
        "factCheckResults": debate.fact_check_results,
        "userApproved": debate.user_approved,
        "tokenUsage": debate.token_usage,
        "tokenUsageEstimated": debate.is_usage_estimated(),
        "startTime": debate.start_time,
        "endTime": debate.end_time,
    })
}

/// Who spoke last, as its messages say.
#[must_use]
pub fn model(debate: &Debate) -> Option<ModelInfo> {
    let infos = debate.messages.iter().rev().filter_map(|message| message.metadata.get("model"));
    infos.filter_map(|info| serde_json::from_value(info.clone()).ok()).next()
}

/// `{name, kind, label}` of who speaks.
#[must_use]
pub fn described(info: &ModelInfo) -> Value {
    json!({ "name": format!("{}/{}", info.provider, info.name), "kind": info.kind, "label": label(info.kind) })
}

enum Part {
    Heading(String),
    Said(&'static str, String),
    Found(String),
}

/// What stands above what was said.
fn facts(debate: &Debate) -> Vec<String> {
    let voices = model(debate).map(|info| match info.kind {
        ModelKind::Weights => format!("Voices: {info}, {}", label(info.kind)),
        kind => format!("Voices: {}/{} ({})", info.provider, info.name, label(kind)),
    });
    let state = format!("Status: {}, round {} of {}", debate.status.name(), debate.round, debate.max_rounds);
    let times = [("Began", debate.start_time), ("Ended", debate.end_time)];
    let times = times.into_iter().filter_map(|(what, time)| Some(format!("{what}: {}", time?)));
    let marked = if debate.is_usage_estimated() { " (estimated)" } else { "" };
    let tokens = format!("Tokens: {}{marked}", debate.token_usage);
    voices.into_iter().chain([state]).chain(times).chain([tokens]).collect()
}

fn parts(debate: &Debate) -> Vec<Part> {
    let (mut parts, mut last_round) = (Vec::new(), 0);
    // The user's first line repeats the topic.
    let repeats = |message: &Message| message.name.is_none() && round(message).is_none();
    for message in debate.messages.iter() {
        let role = Role::ALL.into_iter().find(|role| message.name.as_deref() == Some(role.name()));
        let speaker = match role {
            Some(Role::Optimist) => "Optimist",
            Some(Role::Skeptic) => "Skeptic",
            Some(Role::Moderator) => "Moderator",
            None if repeats(message) && message.text().starts_with("Debate topic: ") => continue,
            None if message.role == superstep::core::message::Role::User => "User",
            None => "Debate",
        };
        match (role, round(message)) {
            (Some(Role::Moderator), _) => parts.push(Part::Heading("Summary".to_owned())),
            (Some(_), Some(round)) if round != last_round => {
                last_round = round;
                parts.push(Part::Heading(format!("Round {round}")));
            }
            _ => {}
        }
        parts.push(Part::Said(speaker, message.text().into_owned()));
    }
    if !debate.fact_check_results.is_empty() {
        parts.push(Part::Heading("Fact check".to_owned()));
    }
    parts.extend(debate.fact_check_results.iter().map(|result| {
        let verdict = match result.verdict {
            Verdict::True => "True",
            Verdict::False => "False",
            Verdict::Unverifiable => "Unverifiable",
        };
        let sources =
            if result.sources.is_empty() { String::new() } else { format!(" ({})", result.sources.join(", ")) };
        Part::Found(format!("{verdict}: {}{sources}", result.claim))
    }));
    parts
}

fn round(message: &Message) -> Option<u64> {
    message.metadata.get("round").and_then(Value::as_u64)
}

/// Text that Markdown shows as it is.
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

/// Text that HTML shows as it is.
fn entities(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
