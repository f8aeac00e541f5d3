//! Encodes a debate as events for pages: agents, tokens, rounds, verdicts, approvals, the end.
//!
//! Processes all events from the beginning and sends those after the client's last event: the round of a turn
//! follows from the turns before it.

use serde_json::{Value, json};
use superstep::ErrorCode;
use superstep_server::{PublishedEvent, SseEncoder, SseMessage};

use crate::prompt::DebateAgent;

const STOPPED_EVENT: &str = "stopped";

/// Encoder of debate events.
pub(super) struct DebateSseEncoder {
    /// `{id, topic, maxRounds, model, …}`.
    header: Value,
    /// Number of the last event the client has.
    after: u64,
    /// Number of finished rounds.
    round: u64,
    has_started: bool,
    /// Event for a stopped debate, sent at the end of the run only: after a server shutdown the debate continues.
    stopped: Option<SseMessage>,
}

impl DebateSseEncoder {
    pub(super) fn new(header: Value, after: Option<u64>) -> Self {
        Self { header, after: after.unwrap_or(0), round: 0, has_started: false, stopped: None }
    }

    fn encode_event(&mut self, published: &PublishedEvent) -> Vec<SseMessage> {
        let event = published.event();
        let data = &event["data"];
        if event["parent_ids"].as_array().is_some_and(Vec::is_empty) {
            return self.on_graph_event(published.event_type(), data, &event["metadata"]);
        }
        let Some(node) = event["metadata"]["node"].as_str() else { return Vec::new() };
        let agent = DebateAgent::ALL.iter().find(|role| role.name() == node).map(|role| role.name());
        match (published.event_type(), agent) {
            ("on_chain_start" | "on_retry", Some(agent)) if event["name"] == node => {
                let round = self.current_round(agent);
                vec![sse_message(
                    "agent_start",
                    json!({ "agent": agent, "round": round, "timestamp": event["metadata"]["ts"] }),
                )]
            }
            ("on_chat_model_stream", Some(agent)) => match data["chunk"].as_str().filter(|text| !text.is_empty()) {
                Some(text) => vec![sse_message("token", json!({ "agent": agent, "content": text }))],
                None => Vec::new(),
            },
            ("on_chain_stream", Some(agent)) if event["name"] == node => self.on_agent_output(agent, &data["chunk"]),
            ("on_chain_stream", None) if node == "fact_check" && event["name"] == node => {
                fact_check_events(&data["chunk"])
            }
            _ => Vec::new(),
        }
    }

    /// Encodes an event of the graph itself.
    fn on_graph_event(&mut self, event_type: &str, data: &Value, metadata: &Value) -> Vec<SseMessage> {
        match event_type {
            "on_chain_start" if !self.has_started => {
                self.has_started = true;
                vec![sse_message("debate_start", self.header.clone())]
            }
            "on_interrupt" => approval_required_events(data),
            "on_chain_error" if data["error"]["code"] == ErrorCode::Cancelled.to_string() => {
                vec![self.stopped_message()]
            }
            "on_chain_error" => vec![sse_message("error", data["error"].clone())],
            "on_chain_end" if data["output"].get("__interrupt__").is_some() => Vec::new(),
            "on_chain_end" => match data["output"]["status"].as_str() {
                Some("completed") => vec![sse_message("debate_complete", completion_data(&data["output"], metadata))],
                Some("error") => vec![sse_message("error", error_data(&data["output"]))],
                _ => vec![self.stopped_message()],
            },
            _ => Vec::new(),
        }
    }

    /// Encodes the message of an agent, and the end of a round.
    fn on_agent_output(&mut self, agent: &str, update: &Value) -> Vec<SseMessage> {
        let Some(message) = update["messages"].as_array().and_then(|messages| messages.last()) else {
            return Vec::new();
        };
        let round = self.current_round(agent);
        let mut sse_messages = vec![sse_message(
            "agent_end",
            json!({ "agent": agent, "round": round, "message": message, "tokens": update["tokenUsage"] }),
        )];
        if let Some(round) = update["round"].as_u64() {
            self.round = round;
            sse_messages.push(sse_message(
                "round_complete",
                json!({ "round": round, "totalRounds": self.header["maxRounds"] }),
            ));
        }
        sse_messages
    }

    fn current_round(&self, agent: &str) -> u64 {
        if agent == DebateAgent::Moderator.name() { self.round } else { self.round + 1 }
    }

    fn stopped_message(&self) -> SseMessage {
        sse_message(STOPPED_EVENT, json!({ "round": self.round }))
    }
}

impl SseEncoder for DebateSseEncoder {
    fn encode(&mut self, published: &PublishedEvent) -> Vec<SseMessage> {
        let mut sse_messages = self.encode_event(published);
        if published.number() <= self.after {
            sse_messages.clear();
        }
        self.stopped = sse_messages.pop_if(|sse_message| sse_message.event == STOPPED_EVENT);
        sse_messages
    }

    fn finish(&mut self) -> Vec<SseMessage> {
        self.stopped.take().into_iter().collect()
    }
}

fn sse_message(event: &str, data: Value) -> SseMessage {
    SseMessage::new(event, data)
}

fn fact_check_events(update: &Value) -> Vec<SseMessage> {
    match update["factCheckResults"].as_array() {
        Some(results) if !results.is_empty() => vec![sse_message("fact_check", json!({ "results": results }))],
        _ => Vec::new(),
    }
}

fn approval_required_events(data: &Value) -> Vec<SseMessage> {
    let interrupts = data["interrupts"].as_array().into_iter().flatten();
    let payloads = interrupts.map(|interrupt| {
        let value = &interrupt["value"];
        json!({
            "interruptId": interrupt["id"], "question": value["question"], "round": value["round"], "last": value["last"],
        })
    });
    payloads.map(|payload| sse_message("approval_required", payload)).collect()
}

fn completion_data(state: &Value, metadata: &Value) -> Value {
    let messages: Vec<&Value> = state["messages"].as_array().into_iter().flatten().collect();
    let summary = messages.iter().rev().find(|message| message["name"] == DebateAgent::Moderator.name());
    let summary = summary.map_or(&Value::Null, |message| &message["content"]);
    let transcript = format!("/api/debate/{}/transcript", metadata["thread_id"].as_str().unwrap_or_default());
    json!({
        "summary": summary,
        "totalTokens": state["tokenUsage"],
        "durationMs": duration_ms(&state["startTime"], &state["endTime"]),
        "transcript": transcript,
    })
}

/// Returns the error of a debate that ended with status `error`: its last message has the reason.
fn error_data(state: &Value) -> Value {
    let last = state["messages"].as_array().and_then(|messages| messages.last());
    let message = last.map_or(&Value::Null, |message| &message["content"]);
    json!({ "code": ErrorCode::InputInvalid.to_string(), "message": message, "hint": null, "retryable": false })
}

fn duration_ms(from: &Value, to: &Value) -> Option<i64> {
    let micros =
        |time: &Value| superstep::core::time::Time::parse(time.as_str()?).ok().map(|time| time.as_unix_micros());
    Some((micros(to)? - micros(from)?) / 1000)
}
