//! Few tools out of many: a function or another model picks those that matter.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::Middleware;
use crate::agent::around::{ModelRequest, NextModel};
use crate::agent::hook::{Effect, Hook, Hooks};
use crate::agent::route::{open_calls, refusal};
use crate::core::message::{MessageEdits, Role};
use crate::model::{Answer, Request, SharedModel};
use crate::{JsonSchema, Message, NodeError};

/// Names, in an answer of the model, the tools that it calls and was not shown.
const HELD_BACK: &str = "held_back_tools";

type Pick = Arc<dyn Fn(&ModelRequest) -> Vec<String> + Send + Sync>;

/// Shows the model only the tools that matter for what was said last. A call of one that was held back is refused, and the
/// model is told so. Given behind [`super::HumanApproval`], it refuses before a person is asked.
///
/// ```
/// use superstep::agent::SelectTools;
/// use superstep::model::Scripted;
///
/// let by_model = SelectTools::by(Scripted::new([r#"{"tools": ["search"]}"#]), 3).always(["ask_person"]);
/// let by_function = SelectTools::with(|request| vec![format!("tool_{}", request.state.messages.len())]);
/// ```
#[derive(Clone)]
#[must_use = "give it to an agent"]
pub struct SelectTools {
    pick: How,
    always: Vec<String>,
}

#[derive(Clone)]
enum How {
    With(Pick),
    By(SharedModel, usize),
}

/// What a model picks.
#[derive(Deserialize, JsonSchema)]
struct Picked {
    /// The names of the tools that matter, the most important first.
    tools: Vec<String>,
}

impl SelectTools {
    /// A function names the tools.
    pub fn with(pick: impl Fn(&ModelRequest) -> Vec<String> + Send + Sync + 'static) -> Self {
        Self { pick: How::With(Arc::new(pick)), always: Vec::new() }
    }

    /// A model names at most so many tools, each time before the agent's own is asked; it is not asked where there are
    /// no more.
    pub fn by(model: impl Into<SharedModel>, at_most: usize) -> Self {
        Self { pick: How::By(model.into(), at_most), always: Vec::new() }
    }

    /// These are shown always, and do not count.
    pub fn always(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.always.extend(tools.into_iter().map(Into::into));
        self
    }

    fn is_always_shown(&self, request: &ModelRequest, tool: &str) -> bool {
        request.answer_tool.as_deref() == Some(tool) || self.always.iter().any(|name| name == tool)
    }

    async fn picked(&self, request: &ModelRequest) -> Result<Option<Vec<String>>, NodeError> {
        let (model, at_most) = match &self.pick {
            How::With(pick) => return Ok(Some(pick(request))),
            How::By(model, at_most) => (model, *at_most),
        };
        let tools = request.request.tools.iter();
        let open: Vec<_> = tools.filter(|tool| !self.is_always_shown(request, &tool.name)).collect();
        if open.len() <= at_most {
            return Ok(None);
        }
        let mut said = request.state.messages.iter().rev();
        let said = said.find(|message| message.role == Role::User).map(|message| message.text().into_owned());
        let tools: Vec<String> = open.iter().map(|tool| format!("- {}: {}", tool.name, tool.description)).collect();
        let task = format!(
            "Choose at most {at_most} of these tools that matter most for what the user says.\n{}",
            tools.join("\n")
        );
        let asks = Request::new([Message::system(task), Message::user(said.unwrap_or_default())]);
        let picked: Picked = request.cx.model(model).request(asks).tag("nostream").structured().await?;
        let known = picked.tools.into_iter().filter(|name| open.iter().any(|tool| tool.name == *name));
        Ok(Some(known.take(at_most).collect()))
    }
}

impl Middleware for SelectTools {
    fn hooks(&self) -> Hooks {
        Hooks::none().wrap_model().after_model()
    }

    async fn wrap_model(&self, mut request: ModelRequest, next: NextModel) -> Result<Answer, NodeError> {
        let Some(picked) = self.picked(&request).await? else { return next.run(request).await };
        let tools = std::mem::take(&mut request.request.tools);
        let is_shown = |name: &String| picked.contains(name) || self.is_always_shown(&request, name);
        let (shown, held_back): (Vec<_>, Vec<_>) = tools.into_iter().partition(|tool| is_shown(&tool.name));
        request.request.tools = shown;
        let mut answer = next.run(request).await?;
        let called = |name: &str| answer.message.tool_calls.iter().any(|call| call.name == name);
        let called: Vec<Value> =
            held_back.iter().filter(|tool| called(&tool.name)).map(|tool| tool.name.as_str().into()).collect();
        if !called.is_empty() {
            answer.message.metadata.insert(HELD_BACK.to_owned(), called.into());
        }
        Ok(answer)
    }

    async fn after_model(&self, hook: Hook) -> Result<Effect, NodeError> {
        let Some((message, open)) = open_calls(hook.messages()) else { return Ok(Effect::none()) };
        let Some(Value::Array(held_back)) = message.metadata.get(HELD_BACK) else { return Ok(Effect::none()) };
        let refused = open.into_iter().filter(|call| held_back.iter().any(|name| *name == call.name));
        let refused: MessageEdits =
            refused.map(|call| refusal(call, &format!("`{}` is not offered now", call.name))).collect();
        Ok(Effect::none().messages(refused))
    }
}
