//! A person's word before tools run, in a node of its own: an answer never asks the model again.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use serde::Deserialize;

use super::Middleware;
use super::decision::{Decision, EditedAction, schema, schema_together, shown, shown_together};
use crate::agent::hook::{Effect, Hook, Hooks};
use crate::agent::route::{open_calls, refusal};
use crate::core::message::{MessageEdit, MessageEdits, ToolCall};
use crate::core::port::BoxFuture;
use crate::core::suggest::known_names;
use crate::tool::{Policy, ToolSpec};
use crate::{Cx, Message, NodeError};

/// Asks a person before tools run: about all calls of a message in one question, or about each in its own.
///
/// The answer to one question about all is `{"decisions": [..]}`, in the order of the calls; to a question about one call,
/// a [`Decision`]. Which tools are asked about says the [`Policy`]: destructive ones unless told. A tool that the policy
/// forbids, or that is not there, is refused without a question.
///
/// ```
/// use superstep::agent::{HumanApproval, react_agent};
/// use superstep::model::{Reply, Scripted};
/// use superstep::prelude::*;
///
/// /// Deletes a file.
/// #[tool(destructive)]
/// async fn delete(path: String) -> String { format!("{path} is gone") }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> superstep::Result<()> {
/// # let asks = Reply::call("delete", serde_json::json!({ "path": "a.txt" }));
/// # let model = Scripted::new([asks, Reply::from("Done.")]);
/// let agent = react_agent(model, [delete()]).middleware(HumanApproval::new()).checkpointer(Memory::new()).compile()?;
/// let paused = agent.run("Delete a.txt").thread("t").await?;
/// assert_eq!(paused.questions()[0].value["action_requests"][0]["args"]["path"], "a.txt");
/// let done = agent.resume("t", serde_json::json!({ "decisions": [{ "type": "approve" }] })).await?;
/// assert_eq!(done.state.messages.get(2).unwrap().text(), "a.txt is gone");
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
#[must_use = "give it to an agent"]
pub struct HumanApproval {
    policy: Policy,
    together: bool,
}

impl Default for HumanApproval {
    fn default() -> Self {
        Self { policy: Policy::default(), together: true }
    }
}

impl HumanApproval {
    /// Asks about destructive tools, all of a message in one question.
    pub fn new() -> Self {
        Self::default()
    }

    /// Which tools are asked about, which run unasked, which never run.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Asks about each call in a question of its own; all are asked at once.
    pub fn each(mut self) -> Self {
        self.together = false;
        self
    }

    async fn ask(&self, cx: &Cx, calls: &[(&ToolCall, &ToolSpec)]) -> Result<Vec<Decision>, NodeError> {
        if calls.is_empty() {
            return Ok(Vec::new());
        }
        match self.together {
            true => ask_together(cx, calls).await,
            false => ask_each(cx, calls).await,
        }
    }
}

impl Middleware for HumanApproval {
    fn hooks(&self) -> Hooks {
        Hooks::none().after_model().judges_tools()
    }

    async fn after_model(&self, hook: Hook) -> Result<Effect, NodeError> {
        let Some((message, open)) = open_calls(hook.messages()).filter(|(_, open)| !open.is_empty()) else {
            return Ok(Effect::none());
        };
        let tools = Judged { specs: hook.tools().await?, policy: &self.policy };
        let asks = |call: &&&ToolCall| tools.spec(&call.name).is_some_and(|spec| self.policy.asks(spec));
        let doubtful: Vec<String> = open.iter().filter(asks).map(|call| call.id.clone()).collect();
        // Kept, because tools may have changed when the answer comes, and answers are told apart by their order.
        let doubtful: Vec<String> = hook.cx().once("asked about", async { Ok::<_, NodeError>(doubtful) }).await?;
        let (asked, others): (Vec<&ToolCall>, Vec<&ToolCall>) =
            open.into_iter().partition(|call| doubtful.contains(&call.id));
        let gone = ToolSpec::new("", "");
        let shown: Vec<(&ToolCall, &ToolSpec)> =
            asked.iter().map(|call| (*call, tools.spec(&call.name).unwrap_or(&gone))).collect();
        let decisions = self.ask(hook.cx(), &shown).await?;
        let mut edits = tools.decided(message, asked.into_iter().zip(decisions));
        let refused = others.into_iter().filter_map(|call| Some(refusal(call, &tools.problem(&call.name)?)));
        edits.0.extend(refused.map(MessageEdit::Put));
        Ok(Effect::none().messages(edits))
    }
}

/// The tools there are, with what the policy says of them.
struct Judged<'a> {
    specs: Vec<Arc<ToolSpec>>,
    policy: &'a Policy,
}

impl Judged<'_> {
    fn spec(&self, tool: &str) -> Option<&ToolSpec> {
        self.specs.iter().find(|spec| spec.name == tool).map(|spec| &**spec)
    }

    /// Why a tool cannot run. One that is not there is refused here: it may be there again when nobody asks any more.
    fn problem(&self, tool: &str) -> Option<String> {
        match self.spec(tool) {
            Some(spec) => self.policy.forbids(spec).then(|| format!("the policy forbids `{tool}`")),
            None => {
                let names: Vec<&str> = self.specs.iter().map(|spec| spec.name.as_str()).collect();
                let name: String = tool.chars().take(64).collect();
                Some(format!("no tool `{name}`; {}", known_names(&name, &names)))
            }
        }
    }

    /// What decisions make of a message and its calls.
    fn decided<'a>(
        &self,
        message: &Message,
        decisions: impl Iterator<Item = (&'a ToolCall, Decision)>,
    ) -> MessageEdits {
        let (mut edited, mut answers) = (message.clone(), Vec::new());
        for (call, decision) in decisions {
            match decision {
                Decision::Approve => {}
                Decision::Edit { edited_action: EditedAction { name, args } } => {
                    let name = name.unwrap_or_else(|| call.name.clone());
                    answers.extend(self.problem(&name).map(|problem| refusal(call, &problem)));
                    let calls = edited.tool_calls.iter_mut();
                    calls.filter(|known| known.id == call.id).for_each(|known| {
                        (known.name, known.args) = (name.clone(), args.clone().into());
                    });
                }
                Decision::Reject { message } => {
                    let reason = message.filter(|reason| !reason.is_empty());
                    answers.push(refusal(call, reason.as_deref().unwrap_or("it was rejected")));
                }
                Decision::Respond { message } => {
                    answers.push(Message::tool(&call.id, message).with_name(&call.name));
                }
            }
        }
        let edited = Some(edited).filter(|edited| edited != message);
        edited.into_iter().chain(answers).collect()
    }
}

#[derive(Deserialize)]
struct Together {
    decisions: Vec<Decision>,
}

async fn ask_together(cx: &Cx, calls: &[(&ToolCall, &ToolSpec)]) -> Result<Vec<Decision>, NodeError> {
    let schema = schema_together(calls.len());
    let text = "May these tools be run?";
    let answer = cx.ask().with("approve tool calls", shown_together(calls), text, Some(schema)).await?;
    let Together { decisions } = serde_json::from_value(answer)?;
    match decisions.len() == calls.len() {
        true => Ok(decisions),
        // The form of the question refuses it before; nothing may run on half a word.
        false => Ok(vec![Decision::reject("the decisions do not match the calls"); calls.len()]),
    }
}

async fn ask_each(cx: &Cx, calls: &[(&ToolCall, &ToolSpec)]) -> Result<Vec<Decision>, NodeError> {
    let asked = calls.iter().map(|(call, spec)| -> BoxFuture<'_, Result<Decision, NodeError>> {
        let ask = cx.ask();
        Box::pin(async move {
            let text = format!("May `{}` be run?", call.name);
            let schema = schema(Some(&call.name));
            let answer = ask.with("approve tool call", shown(call, spec), &text, Some(schema)).await?;
            Ok(serde_json::from_value(answer)?)
        })
    });
    all(asked.collect()).await
}

/// All results, in order. Every question is asked before any is waited for.
async fn all<T: Send>(mut futures: Vec<BoxFuture<'_, Result<T, NodeError>>>) -> Result<Vec<T>, NodeError> {
    let mut results: Vec<Option<Result<T, NodeError>>> = futures.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, result) in futures.iter_mut().zip(&mut results) {
            if result.is_none()
                && let Poll::Ready(ready) = future.as_mut().poll(context)
            {
                *result = Some(ready);
            }
        }
        if results.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    results.into_iter().flatten().collect()
}
