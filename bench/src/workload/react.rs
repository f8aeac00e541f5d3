//! W5: the ready-made agent, whose model asks for a tool a hundred times before it answers.

use serde_json::json;
use superstep::agent::{AgentState, react_agent};
use superstep::core::message::{Role, ToolCall, Usage};
use superstep::model::{Answer, Model, ModelInfo, ModelKind, Pieces, Request};
use superstep::prelude::*;
use superstep::{Compiled, Result};

use super::Store;
use crate::measure::Report;
use crate::runtime::Runtime;

/// Asks for the tool until it has been given so many results.
struct Asker(usize);

impl Model for Asker {
    fn info(&self) -> ModelInfo {
        ModelInfo::new("bench", "asker", ModelKind::Rules)
    }

    async fn answer(&self, request: &Request, _out: &mut Pieces<'_>) -> Result<Answer> {
        let results = request.messages.iter().filter(|message| message.role == Role::Tool).count();
        let message = match results < self.0 {
            true => {
                let query = format!("{results:036}").repeat(100);
                let call = ToolCall::new(format!("call-{results}"), "lookup", json!({ "query": query }));
                Message::assistant("").with_tool_calls([call])
            }
            false => Message::assistant("answer".repeat(100)),
        };
        // Whoever does not count has its tokens estimated from all that was said, which is no part of the loop.
        Ok(Answer::new(message, self.info()).with_usage(Usage::new(1, 1)))
    }
}

/// Looks something up.
#[tool(read_only)]
async fn lookup(query: String) -> String {
    format!("result for query: {query}").repeat(10)
}

fn agent(rounds: usize) -> Compiled<AgentState> {
    let most = u32::try_from(rounds + 2).expect("a bench has few rounds");
    react_agent(Asker(rounds), [lookup()]).max_rounds(most).compile().expect("an agent compiles")
}

pub(crate) fn run(id: &str, runtime: &Runtime, rounds: usize, store: Store) {
    let agent = agent(rounds);
    let (times, done, bytes) = super::timed(runtime, store, || agent.run("look it up"));
    let messages = &done.state.messages;
    let results = messages.iter().filter(|message| message.role == Role::Tool);
    let result = json!({
        "messages": messages.len(),
        "tool_chars": results.map(|message| message.text().len()).sum::<usize>(),
        "final_chars": messages.last().map_or(0, |message| message.text().len()),
    });
    let params = json!({ "rounds": rounds, "store": store.name() });
    let extra = json!({ "cpu_us_per_round": times.least_cpu() / rounds as f64 * 1e6 });
    Report { bytes, extra, ..Report::new(params, result) }.print(id, runtime, &times);
}
