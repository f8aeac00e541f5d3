//! The place where the answer is written, from what the tools gave; its words are streamed.
//!
//! The policy's answers need no model. Where the model cannot be reached, rules put the answer together, and say so.

use serde_json::{Value, json};
use superstep::model::{Answer, Model, ModelInfo, Pieces, Request, SharedModel, Trouble};
use superstep::{Ctx, Cx, Error, Message, NodeError, View};

use super::{can_judge, tokens};
use crate::desk::{Desk, WithoutModel};
use crate::prompt::{Ask, Output, Task};
use crate::scratch;
use crate::state::{Assistant, AssistantUpdate, Phase};
use crate::turn::{RULE, ask, began, tried, useful_outputs};
use crate::verdict::VerdictStatus;

/// What an answer begins with that no model wrote.
const BY_RULES: &str = "(The language model could not be reached. This answer was put together by rules.)\n\n";
/// What an answer ends with that refers to nothing of what was looked up.
const UNBACKED: &str = "\n\n(Nothing that was looked up backs this answer: it is the model's own knowledge.)";
/// How much of an output is shown where no model picks what matters, in characters.
const SHOWN: usize = 600;

/// Writes the answer.
pub(crate) async fn generator(state: View<Assistant>, desk: Ctx<Desk>, cx: Cx) -> Result<AssistantUpdate, NodeError> {
    let update = Assistant::update().phase(Phase::Generate);
    if state.safety_check == Some(false) {
        return Ok(update.messages(refusal(&state)));
    }
    let mut ask = ask(Task::Answer, &state, &desk, &cx).await?;
    ask.outputs = useful_outputs(&state);
    // A reference is the place among these, so what cannot be referred to comes last.
    ask.outputs.sort_by_key(|output| !output.is_good());
    ask.tried = tried(&state);
    let said = say(&ask, &desk, &cx).await?;
    let spent = tokens(&said);
    let said = said
        .with_metadata("references", references(&ask.outputs))
        .with_metadata("retries", state.retry_count)
        .with_metadata("start_time", began(&state));
    Ok(update.messages(said).tokens_used(spent))
}

/// What the policy says, with the name of the rule.
fn refusal(state: &Assistant) -> Message {
    let note: Value = scratch::read(state, scratch::REFUSAL);
    let (name, answer) = (note["name"].as_str().unwrap_or_default(), note["answer"].as_str().unwrap_or_default());
    Message::assistant(format!("{answer} (rule `{name}`)"))
        .with_metadata(RULE, name)
        .with_metadata("needs_person", note["needs_person"].clone())
        .with_metadata("start_time", began(state))
}

async fn say(ask: &Ask, desk: &Desk, cx: &Cx) -> Result<Message, NodeError> {
    let error = match with_model(ask, &desk.model, prefix(ask), cx).await {
        Ok(message) => return Ok(message),
        Err(error) => error,
    };
    if Trouble::of(&error).is_none() || desk.without_model == WithoutModel::Fail {
        return Err(error.into());
    }
    let by_rules = match &desk.spare {
        Some(spare) => with_model(ask, spare, BY_RULES.to_owned(), cx).await?,
        None => Message::assistant(format!("{BY_RULES}{}", assembled(ask))),
    };
    Ok(by_rules.with_metadata("assembled", true).with_metadata("because", error.message()))
}

async fn with_model(ask: &Ask, model: &SharedModel, prefix: String, cx: &Cx) -> Result<Message, Error> {
    // Rules say by themselves what they could not find and what they stand on; a language model may leave it out.
    let outputs = ask.outputs.iter().filter(|output| output.is_good() && can_judge(model)).count();
    let model = match prefix == BY_RULES || can_judge(model) {
        true => Framed { model: model.clone(), prefix, outputs }.into(),
        false => model.clone(),
    };
    let answer = cx.model(&model).request(ask.request()).await?;
    match answer.message.text().trim().is_empty() {
        true => Err(Trouble::BadAnswer.error(&answer.model, "the answer has no text")),
        false => Ok(answer.message),
    }
}

/// What is missing, which an answer begins with where the verifier gave up.
fn prefix(ask: &Ask) -> String {
    match &ask.verdict {
        Some(verdict) if verdict.status == VerdictStatus::GivingUp => {
            let missing = if verdict.missing.is_empty() { "an answer".to_owned() } else { verdict.missing.join("; ") };
            format!("I could not find everything: {missing}.\n\n")
        }
        _ => String::new(),
    }
}

/// What the numbers in an answer stand for: the outputs that went well, in order.
fn references(outputs: &[Output]) -> Value {
    let good = outputs.iter().filter(|output| output.is_good()).enumerate();
    let all = good.map(|(place, output)| {
        json!({ "number": place + 1, "tool": output.tool, "call": output.id, "source": source(output) })
    });
    all.collect()
}

/// Where an output comes from: the passages it holds, the query, the path; otherwise what was asked.
fn source(output: &Output) -> String {
    let value = output.value();
    if let Some(passages) = value.get("passages").and_then(Value::as_array) {
        let sources: Vec<&str> = passages.iter().filter_map(|passage| passage["source"].as_str()).collect();
        return sources.join(", ");
    }
    let told = ["sql", "path", "table", "expression", "url"].iter().find_map(|key| value.get(*key)?.as_str());
    let asked = || output.args.values().find_map(Value::as_str);
    told.or_else(asked).unwrap_or_default().to_owned()
}

/// An answer of what was found, for desks without rules that write better ones.
fn assembled(ask: &Ask) -> String {
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

/// Whether a text refers to one of so many outputs: `[1]`, `[1, 2]`.
fn refers(text: &str, outputs: usize) -> bool {
    let within = text.split('[').skip(1).filter_map(|rest| rest.split_once(']')).map(|(within, _)| within);
    let is_known = |number: &str| number.trim().parse().is_ok_and(|number: usize| (1..=outputs).contains(&number));
    within.flat_map(|numbers| numbers.split(',')).any(is_known)
}

/// A model whose answer is given what it must say and a model may leave out, also while it is streamed.
struct Framed {
    model: SharedModel,
    prefix: String,
    /// How many outputs the answer can refer to.
    outputs: usize,
}

impl Model for Framed {
    fn info(&self) -> ModelInfo {
        self.model.info()
    }

    async fn answer(&self, request: &Request, out: &mut Pieces<'_>) -> superstep::Result<Answer> {
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
