//! A debate for pages: who speaks, words as they come, rounds, verdicts, questions, the end.
//!
//! Hears everything from the beginning and tells what comes after the reader's last event: the round of a turn is known
//! from the turns before it.

use serde_json::{Value, json};
use superstep::Code;
use superstep_server::{Line, Told, View};

use crate::prompt::Role;

const STOPPED: &str = "stopped";

/// The view of a page.
pub(super) struct Debating {
    /// `{id, topic, maxRounds, model, …}`.
    heading: Value,
    /// What the reader has.
    after: u64,
    /// How many rounds are over.
    round: u64,
    has_begun: bool,
    /// That it was stopped, once that is the last thing to tell: a server that stops goes on with it later.
    stopped: Option<Line>,
}

impl Debating {
    pub(super) fn new(heading: Value, after: Option<u64>) -> Self {
        Self { heading, after: after.unwrap_or(0), round: 0, has_begun: false, stopped: None }
    }

    fn lines(&mut self, told: &Told) -> Vec<Line> {
        let event = told.event();
        let data = &event["data"];
        if event["parent_ids"].as_array().is_some_and(Vec::is_empty) {
            return self.whole(told.kind(), data, &event["metadata"]);
        }
        let Some(node) = event["metadata"]["node"].as_str() else { return Vec::new() };
        let agent = Role::ALL.iter().find(|role| role.name() == node).map(|role| role.name());
        match (told.kind(), agent) {
            ("on_chain_start" | "on_retry", Some(agent)) if event["name"] == node => {
                let round = self.round_of(agent);
                vec![line(
                    "agent_start",
                    json!({ "agent": agent, "round": round, "timestamp": event["metadata"]["ts"] }),
                )]
            }
            ("on_chat_model_stream", Some(agent)) => match data["chunk"].as_str().filter(|text| !text.is_empty()) {
                Some(text) => vec![line("token", json!({ "agent": agent, "content": text }))],
                None => Vec::new(),
            },
            ("on_chain_stream", Some(agent)) if event["name"] == node => self.spoken(agent, &data["chunk"]),
            ("on_chain_stream", None) if node == "fact_check" && event["name"] == node => checked(&data["chunk"]),
            _ => Vec::new(),
        }
    }

    /// What the debate as a whole says.
    fn whole(&mut self, kind: &str, data: &Value, metadata: &Value) -> Vec<Line> {
        match kind {
            "on_chain_start" if !self.has_begun => {
                self.has_begun = true;
                vec![line("debate_start", self.heading.clone())]
            }
            "on_interrupt" => asked(data),
            "on_chain_error" if data["error"]["code"] == Code::Cancelled.to_string() => vec![self.stopped()],
            "on_chain_error" => vec![line("error", data["error"].clone())],
            "on_chain_end" if data["output"].get("__interrupt__").is_some() => Vec::new(),
            "on_chain_end" => match data["output"]["status"].as_str() {
                Some("completed") => vec![line("debate_complete", completed(&data["output"], metadata))],
                Some("error") => vec![line("error", failed(&data["output"]))],
                _ => vec![self.stopped()],
            },
            _ => Vec::new(),
        }
    }

    /// What somebody has said, and that a round is over.
    fn spoken(&mut self, agent: &str, update: &Value) -> Vec<Line> {
        let Some(message) = update["messages"].as_array().and_then(|messages| messages.last()) else {
            return Vec::new();
        };
        let round = self.round_of(agent);
        let mut lines = vec![line(
            "agent_end",
            json!({ "agent": agent, "round": round, "message": message, "tokens": update["tokenUsage"] }),
        )];
        if let Some(round) = update["round"].as_u64() {
            self.round = round;
            lines.push(line("round_complete", json!({ "round": round, "totalRounds": self.heading["maxRounds"] })));
        }
        lines
    }

    fn round_of(&self, agent: &str) -> u64 {
        if agent == Role::Moderator.name() { self.round } else { self.round + 1 }
    }

    fn stopped(&self) -> Line {
        line(STOPPED, json!({ "round": self.round }))
    }
}

impl View for Debating {
    fn tell(&mut self, told: &Told) -> Vec<Line> {
        let mut lines = self.lines(told);
        if told.number() <= self.after {
            lines.clear();
        }
        self.stopped = lines.pop_if(|line| line.event == STOPPED);
        lines
    }

    fn end(&mut self) -> Vec<Line> {
        self.stopped.take().into_iter().collect()
    }
}

fn line(event: &str, data: Value) -> Line {
    Line::new(event, data)
}

fn checked(update: &Value) -> Vec<Line> {
    match update["factCheckResults"].as_array() {
        Some(results) if !results.is_empty() => vec![line("fact_check", json!({ "results": results }))],
        _ => Vec::new(),
    }
}

fn asked(data: &Value) -> Vec<Line> {
    let questions = data["interrupts"].as_array().into_iter().flatten();
    let asked = questions.map(|question| {
        let value = &question["value"];
        json!({
            "interruptId": question["id"], "question": value["question"], "round": value["round"], "last": value["last"],
        })
    });
    asked.map(|question| line("approval_required", question)).collect()
}

fn completed(state: &Value, metadata: &Value) -> Value {
    let messages: Vec<&Value> = state["messages"].as_array().into_iter().flatten().collect();
    let summary = messages.iter().rev().find(|message| message["name"] == Role::Moderator.name());
    let summary = summary.map_or(&Value::Null, |message| &message["content"]);
    let transcript = format!("/api/debate/{}/transcript", metadata["thread_id"].as_str().unwrap_or_default());
    json!({
        "summary": summary,
        "totalTokens": state["tokenUsage"],
        "durationMs": duration(&state["startTime"], &state["endTime"]),
        "transcript": transcript,
    })
}

/// A debate that ended in `error` by itself: its last message says why.
fn failed(state: &Value) -> Value {
    let last = state["messages"].as_array().and_then(|messages| messages.last());
    let message = last.map_or(&Value::Null, |message| &message["content"]);
    json!({ "code": Code::InputInvalid.to_string(), "message": message, "hint": null, "retryable": false })
}

fn duration(from: &Value, to: &Value) -> Option<i64> {
    let micros =
        |time: &Value| superstep::core::time::Time::parse(time.as_str()?).ok().map(|time| time.as_unix_micros());
    Some((micros(to)? - micros(from)?) / 1000)
}
