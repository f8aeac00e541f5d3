//! W5: the prebuilt agent, whose model calls a tool a hundred times before it answers.

use serde_json::json;
use superstep::agents::{AgentState, react_agent};
use superstep::core::message::{Role, TokenUsage, ToolCall};
use superstep::models::{ChatRequest, ChatResponse, ChunkSender, Model, ModelInfo, ModelKind};
use superstep::prelude::*;
use superstep::{CompiledGraph, Result};

use super::CheckpointerKind;
use crate::measure::Report;
use crate::runtime::Runtime;

/// A model that calls the tool until it has this number of results.
struct ToolCallingModel(usize);

impl Model for ToolCallingModel {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("bench", "asker", ModelKind::Rules)
    }

    async fn generate(&self, request: &ChatRequest, _out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        let results = request.messages.iter().filter(|message| message.role == Role::Tool).count();
        let message = match results < self.0 {
            true => {
                let query = format!("{results:036}").repeat(100);
                let call = ToolCall::new(format!("call-{results}"), "lookup", json!({ "query": query }));
                Message::assistant("").with_tool_calls([call])
            }
            false => Message::assistant("answer".repeat(100)),
        };
        // Without reported usage the tokens would be estimated from all messages, which is not part of the loop.
        Ok(ChatResponse::new(message, self.info()).with_usage(TokenUsage::new(1, 1)))
    }
}

/// Looks up a query.
#[tool(read_only)]
async fn lookup(query: String) -> String {
    format!("result for query: {query}").repeat(10)
}

fn agent(rounds: usize) -> CompiledGraph<AgentState> {
    let max_iterations = u32::try_from(rounds + 2).expect("a bench has few rounds");
    react_agent(ToolCallingModel(rounds), [lookup()])
        .max_iterations(max_iterations)
        .compile()
        .expect("an agent compiles")
}

pub(crate) fn run(id: &str, runtime: &Runtime, rounds: usize, store: CheckpointerKind) {
    let agent = agent(rounds);
    let (times, outcome, bytes) = super::timed(runtime, store, || agent.invoke("look it up"));
    let messages = &outcome.state.messages;
    let results = messages.iter().filter(|message| message.role == Role::Tool);
    let result = json!({
        "messages": messages.len(),
        "tool_chars": results.map(|message| message.text().len()).sum::<usize>(),
        "final_chars": messages.last().map_or(0, |message| message.text().len()),
    });
    let params = json!({ "rounds": rounds, "store": store.name() });
    let extra = json!({ "cpu_us_per_round": times.min_cpu() / rounds as f64 * 1e6 });
    Report { bytes, extra, ..Report::new(params, result) }.print(id, runtime, &times);
}
