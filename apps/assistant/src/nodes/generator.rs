//! Generator node: writes the answer from the tool results and streams it.
//!
//! Refusals of the policy need no model. If the model cannot be reached, rules write the answer and say so.

use serde_json::{Value, json};
use superstep::models::{ChatRequest, ChatResponse, ChunkSender, Model, ModelErrorKind, ModelInfo, SharedModel};
use superstep::{Error, Message, NodeError, RunContext, TaskContext, View};

use super::{can_judge, tokens};
use crate::context::{AssistantContext, ModelUnavailablePolicy};
use crate::prompt::{ModelTask, TaskPrompt, ToolResult};
use crate::scratchpad;
use crate::state::{AgentState, AgentStateUpdate, Phase};
use crate::turn::{RULE, started_at_json, task_prompt, tried, useful_outputs};
use crate::verdict::VerdictStatus;

/// Prefix of an answer that rules wrote because the model was unavailable.
const BY_RULES: &str = "(The language model could not be reached. This answer was put together by rules.)\n\n";
/// Suffix of an answer that refers to none of the tool results.
const UNBACKED: &str = "\n\n(Nothing that was looked up backs this answer: it is the model's own knowledge.)";
/// Maximum number of characters per tool result in an answer without a model.
const SHOWN: usize = 600;

/// Writes the answer.
pub(crate) async fn generator(
    state: View<AgentState>,
    desk: RunContext<AssistantContext>,
    cx: TaskContext,
) -> Result<AgentStateUpdate, NodeError> {
    let update = AgentState::update().phase(Phase::Generate);
    if state.safety_check == Some(false) {
        return Ok(update.messages(refusal(&state)));
    }
    let mut ask = task_prompt(ModelTask::Answer, &state, &desk, &cx).await?;
    ask.outputs = useful_outputs(&state);
    // A reference number is the position in this list, so outputs that cannot be referenced come last.
    ask.outputs.sort_by_key(|output| !output.is_good());
    ask.previous_calls = tried(&state);
    let said = generate_answer(&ask, &desk, &cx).await?;
    let spent = tokens(&said);
    let said = said
        .with_metadata("references", references(&ask.outputs))
        .with_metadata("retries", state.retry_count)
        .with_metadata("start_time", started_at_json(&state));
    Ok(update.messages(said).tokens_used(spent))
}

/// Returns the refusal of the policy with the name of the rule.
fn refusal(state: &AgentState) -> Message {
    let note: Value = scratchpad::read(state, scratchpad::REFUSAL);
    let (name, answer) = (note["name"].as_str().unwrap_or_default(), note["answer"].as_str().unwrap_or_default());
    Message::assistant(format!("{answer} (rule `{name}`)"))
        .with_metadata(RULE, name)
        .with_metadata("needs_person", note["needs_person"].clone())
        .with_metadata("start_time", started_at_json(state))
}

async fn generate_answer(ask: &TaskPrompt, desk: &AssistantContext, cx: &TaskContext) -> Result<Message, NodeError> {
    let error = match with_model(ask, &desk.model, prefix(ask), cx).await {
        Ok(message) => return Ok(message),
        Err(error) => error,
    };
    if ModelErrorKind::from_error(&error).is_none() || desk.without_model == ModelUnavailablePolicy::Fail {
        return Err(error.into());
    }
    let by_rules = match &desk.fallback_model {
        Some(spare) => with_model(ask, spare, BY_RULES.to_owned(), cx).await?,
        None => Message::assistant(format!("{BY_RULES}{}", answer_without_model(ask))),
    };
    Ok(by_rules.with_metadata("assembled", true).with_metadata("because", error.message()))
}

async fn with_model(ask: &TaskPrompt, model: &SharedModel, prefix: String, cx: &TaskContext) -> Result<Message, Error> {
    // The rule model names gaps and sources by itself; a language model may omit them.
    let outputs = ask.outputs.iter().filter(|output| output.is_good() && can_judge(model)).count();
    let model = match prefix == BY_RULES || can_judge(model) {
        true => WrappedModel { model: model.clone(), prefix, outputs }.into(),
        false => model.clone(),
    };
    let answer = cx.model(&model).request(ask.request()).await?;
    match answer.message.text().trim().is_empty() {
        true => Err(ModelErrorKind::InvalidResponse.error(&answer.model, "the answer has no text")),
        false => Ok(answer.message),
    }
}

/// Returns the prefix that names what is missing after the verifier gave up.
fn prefix(ask: &TaskPrompt) -> String {
    match &ask.verdict {
        Some(verdict) if verdict.status == VerdictStatus::GivingUp => {
            let missing = if verdict.missing.is_empty() { "an answer".to_owned() } else { verdict.missing.join("; ") };
            format!("I could not find everything: {missing}.\n\n")
        }
        _ => String::new(),
    }
}

/// Returns the sources behind the reference numbers: the successful outputs, in order.
fn references(outputs: &[ToolResult]) -> Value {
    let good = outputs.iter().filter(|output| output.is_good()).enumerate();
    let all = good.map(|(place, output)| {
        json!({ "number": place + 1, "tool": output.tool, "call": output.id, "source": source(output) })
    });
    all.collect()
}

/// Returns the source of an output: its passages, its query or its path; otherwise the arguments of the call.
fn source(output: &ToolResult) -> String {
    let value = output.value();
    if let Some(passages) = value.get("passages").and_then(Value::as_array) {
        let sources: Vec<&str> = passages.iter().filter_map(|passage| passage["source"].as_str()).collect();
        return sources.join(", ");
    }
    let told = ["sql", "path", "table", "expression", "url"].iter().find_map(|key| value.get(*key)?.as_str());
    let asked = || output.args.values().find_map(Value::as_str);
    told.or_else(asked).unwrap_or_default().to_owned()
}

/// Writes an answer from the tool results, for contexts without a rule model.
fn answer_without_model(ask: &TaskPrompt) -> String {
    let good = ask.outputs.iter().filter(|output| output.is_good()).enumerate();
    let lines: Vec<String> = good
        .map(|(place, output)| {
            let shown: String = output.content.chars().take(SHOWN).collect();
            format!("[{}] {}: {shown}", place + 1, output.tool)
        })
        .collect();
    let missing = prefix(ask);
    match lines.is_empty() {
        true => format!("{missing}There is nothing from tools that answers this."),
        false => format!("{missing}This was found:\n{}", lines.join("\n")),
    }
}

/// Returns true if the text refers to one of this many outputs, such as `[1]` or `[1, 2]`.
fn refers(text: &str, outputs: usize) -> bool {
    let within = text.split('[').skip(1).filter_map(|rest| rest.split_once(']')).map(|(within, _)| within);
    let is_known = |number: &str| number.trim().parse().is_ok_and(|number: usize| (1..=outputs).contains(&number));
    within.flat_map(|numbers| numbers.split(',')).any(is_known)
}

/// Model wrapper that adds mandatory text, such as the prefix, to an answer, also while streaming.
struct WrappedModel {
    model: SharedModel,
    prefix: String,
    /// Number of outputs that the answer can refer to.
    outputs: usize,
}

impl Model for WrappedModel {
    fn info(&self) -> ModelInfo {
        self.model.info()
    }

    async fn generate(&self, request: &ChatRequest, out: &mut ChunkSender<'_>) -> superstep::Result<ChatResponse> {
        if !self.prefix.is_empty() {
            out.text(&self.prefix).await;
        }
        let mut answer = self.model.answer(request, out).await?;
        let text = answer.message.text().into_owned();
        let is_backed = self.outputs == 0 || text.trim().is_empty() || refers(&text, self.outputs);
        let suffix = if is_backed { "" } else { UNBACKED };
        if !suffix.is_empty() {
            out.text(suffix).await;
        }
        answer.message.content = format!("{}{text}{suffix}", self.prefix).into();
        Ok(answer)
    }
}
