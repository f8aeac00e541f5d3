//! Generator node: writes the answer from the tool results and streams it.
//!
//! Refusals of the policy need no model. If the model cannot be reached, rules write the answer and say so.

use serde_json::{Value, json};
use superstep::models::{ChatRequest, ChatResponse, ChunkSender, Model, ModelErrorKind, ModelInfo, SharedModel};
use superstep::{Error, Message, NodeError, RunContext, TaskContext, View};

use super::{can_judge, tokens};
use crate::context::{AssistantContext, ModelUnavailablePolicy};
use crate::current_turn::{RULE, previous_calls, started_at_json, task_prompt, useful_outputs};
use crate::prompt::{ModelTask, TaskPrompt, ToolResult};
use crate::scratchpad;
use crate::state::{AgentState, AgentStateUpdate, Phase};
use crate::verdict::VerdictStatus;

/// Prefix of an answer that rules wrote because the model was unavailable.
const BY_RULES: &str = "(The language model could not be reached. This answer was put together by rules.)\n\n";
/// Suffix of an answer that refers to none of the tool results.
const UNBACKED: &str = "\n\n(Nothing that was looked up backs this answer: it is the model's own knowledge.)";
/// Maximum number of characters per tool result in an answer without a model.
const MAX_OUTPUT_CHARS: usize = 600;

/// Writes the answer.
pub(crate) async fn generator(
    state: View<AgentState>,
    context: RunContext<AssistantContext>,
    cx: TaskContext,
) -> Result<AgentStateUpdate, NodeError> {
    let update = AgentState::update().phase(Phase::Generate);
    if state.safety_check == Some(false) {
        return Ok(update.messages(rejection(&state)));
    }
    let mut prompt = task_prompt(ModelTask::Answer, &state, &context, &cx).await?;
    prompt.outputs = useful_outputs(&state);
    // A reference number is the position in this list, so outputs that cannot be referenced come last.
    prompt.outputs.sort_by_key(|output| !output.is_good());
    prompt.previous_calls = previous_calls(&state);
    let message = generate_answer(&prompt, &context, &cx).await?;
    let spent = tokens(&message);
    let message = message
        .with_metadata("references", references(&prompt.outputs))
        .with_metadata("retries", state.retry_count)
        .with_metadata("start_time", started_at_json(&state));
    Ok(update.messages(message).tokens_used(spent))
}

/// Returns the refusal of the policy with the name of the rule.
fn rejection(state: &AgentState) -> Message {
    let note: Value = scratchpad::read(state, scratchpad::REJECTION);
    let (name, answer) = (note["name"].as_str().unwrap_or_default(), note["answer"].as_str().unwrap_or_default());
    Message::assistant(format!("{answer} (rule `{name}`)"))
        .with_metadata(RULE, name)
        .with_metadata("needs_person", note["needs_person"].clone())
        .with_metadata("start_time", started_at_json(state))
}

async fn generate_answer(
    prompt: &TaskPrompt,
    context: &AssistantContext,
    cx: &TaskContext,
) -> Result<Message, NodeError> {
    let error = match with_model(prompt, &context.model, prefix(prompt), cx).await {
        Ok(message) => return Ok(message),
        Err(error) => error,
    };
    if ModelErrorKind::from_error(&error).is_none() || context.without_model == ModelUnavailablePolicy::Fail {
        return Err(error.into());
    }
    let by_rules = match &context.fallback_model {
        Some(spare) => with_model(prompt, spare, BY_RULES.to_owned(), cx).await?,
        None => Message::assistant(format!("{BY_RULES}{}", answer_without_model(prompt))),
    };
    Ok(by_rules.with_metadata("assembled", true).with_metadata("because", error.message()))
}

async fn with_model(
    prompt: &TaskPrompt,
    model: &SharedModel,
    prefix: String,
    cx: &TaskContext,
) -> Result<Message, Error> {
    // The rule model names gaps and sources by itself; a language model may omit them.
    let outputs = prompt.outputs.iter().filter(|output| output.is_good() && can_judge(model)).count();
    let model = match prefix == BY_RULES || can_judge(model) {
        true => WrappedModel { model: model.clone(), prefix, outputs }.into(),
        false => model.clone(),
    };
    let answer = cx.model(&model).request(prompt.request()).await?;
    match answer.message.text().trim().is_empty() {
        true => Err(ModelErrorKind::InvalidResponse.error(&answer.model, "the answer has no text")),
        false => Ok(answer.message),
    }
}

/// Returns the prefix that names what is missing after the verifier gave up.
fn prefix(prompt: &TaskPrompt) -> String {
    match &prompt.verdict {
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
    let all = good.map(|(index, output)| {
        json!({ "number": index + 1, "tool": output.tool, "call": output.id, "source": source(output) })
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
    let from_output = ["sql", "path", "table", "expression", "url"].iter().find_map(|key| value.get(*key)?.as_str());
    let from_args = || output.args.values().find_map(Value::as_str);
    from_output.or_else(from_args).unwrap_or_default().to_owned()
}

/// Writes an answer from the tool results, for contexts without a rule model.
fn answer_without_model(prompt: &TaskPrompt) -> String {
    let good = prompt.outputs.iter().filter(|output| output.is_good()).enumerate();
    let lines: Vec<String> = good
        .map(|(index, output)| {
            let excerpt: String = output.content.chars().take(MAX_OUTPUT_CHARS).collect();
            format!("[{}] {}: {excerpt}", index + 1, output.tool)
        })
        .collect();
    let missing = prefix(prompt);
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
