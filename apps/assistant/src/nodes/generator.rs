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
use crate::turn::{ask, began, tried, useful_outputs};
use crate::verdict::VerdictStatus;

/// What an answer begins with that no model wrote.
const BY_RULES: &str = "(The language model could not be reached. This answer was put together by rules.)\n\n";
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
        .with_metadata("rule", name)
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
    // Rules say by themselves what they could not find; a language model may leave it out.
    let model = match prefix.is_empty() || (prefix != BY_RULES && !can_judge(model)) {
        true => model.clone(),
        false => Prefixed { model: model.clone(), prefix }.into(),
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

/// A model whose answer begins with something that it did not write, also while it is streamed.
struct Prefixed {
    model: SharedModel,
    prefix: String,
}

impl Model for Prefixed {
    fn info(&self) -> ModelInfo {
        self.model.info()
    }

    async fn answer(&self, request: &Request, out: &mut Pieces<'_>) -> superstep::Result<Answer> {
        out.text(&self.prefix).await;
        let mut answer = self.model.answer(request, out).await?;
        answer.message.content = format!("{}{}", self.prefix, answer.message.text()).into();
        Ok(answer)
    }
}
