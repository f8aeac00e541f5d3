//! Selection of relevant tools by a function or by a model.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::Middleware;
use crate::agents::call_chain::{ModelRequest, NextModel};
use crate::agents::hooks::{HookContext, HookUpdate, Hooks};
use crate::agents::routing::{open_calls, rejected_tool_message};
use crate::core::message::{MessageUpdates, Role};
use crate::models::{ChatRequest, ChatResponse, SharedModel};
use crate::{JsonSchema, Message, NodeError};

/// Metadata key of a response: names of the tools that the model called although they were not in the request.
const EXCLUDED_TOOLS: &str = "held_back_tools";

type SelectFn = Arc<dyn Fn(&ModelRequest) -> Vec<String> + Send + Sync>;

/// Sends the model only the tools that are relevant to the last message. A call of an excluded tool is rejected, and
/// the model receives the reason. Added after [`super::HumanInTheLoop`], this middleware rejects such a call before
/// approval is requested.
///
/// ```
/// use superstep::agents::ToolSelector;
/// use superstep::models::ScriptedModel;
///
/// let by_model = ToolSelector::with_model(ScriptedModel::new([r#"{"tools": ["search"]}"#]), 3).always_include(["ask_person"]);
/// let by_function = ToolSelector::from_fn(|request| vec![format!("tool_{}", request.state.messages.len())]);
/// ```
#[derive(Clone)]
#[must_use = "middleware has no effect until it is added to an agent"]
pub struct ToolSelector {
    method: SelectionMethod,
    always_include: Vec<String>,
}

#[derive(Clone)]
enum SelectionMethod {
    Function(SelectFn),
    Model(SharedModel, usize),
}

/// Tools that a model selected.
#[derive(Deserialize, JsonSchema)]
struct SelectedTools {
    /// Names of the relevant tools, most important first.
    tools: Vec<String>,
}

impl ToolSelector {
    /// Selects tools with a function that returns their names.
    pub fn from_fn(select: impl Fn(&ModelRequest) -> Vec<String> + Send + Sync + 'static) -> Self {
        Self { method: SelectionMethod::Function(Arc::new(select)), always_include: Vec::new() }
    }

    /// Selects up to `max_tools` tools with a model, before each call of the agent's model. The model is not called if
    /// there are no more tools than that.
    pub fn with_model(model: impl Into<SharedModel>, max_tools: usize) -> Self {
        Self { method: SelectionMethod::Model(model.into(), max_tools), always_include: Vec::new() }
    }

    /// Names tools that are always sent and do not count.
    pub fn always_include(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.always_include.extend(tools.into_iter().map(Into::into));
        self
    }

    fn is_always_included(&self, request: &ModelRequest, tool: &str) -> bool {
        request.response_tool.as_deref() == Some(tool) || self.always_include.iter().any(|name| name == tool)
    }

    async fn selected(&self, request: &ModelRequest) -> Result<Option<Vec<String>>, NodeError> {
        let (model, max_tools) = match &self.method {
            SelectionMethod::Function(select) => return Ok(Some(select(request))),
            SelectionMethod::Model(model, max_tools) => (model, *max_tools),
        };
        let tools = request.request.tools.iter();
        let open: Vec<_> = tools.filter(|tool| !self.is_always_included(request, &tool.name)).collect();
        if open.len() <= max_tools {
            return Ok(None);
        }
        let mut messages = request.state.messages.iter().rev();
        let user_text = messages.find(|message| message.role == Role::User).map(|message| message.text().into_owned());
        let tools: Vec<String> = open.iter().map(|tool| format!("- {}: {}", tool.name, tool.description)).collect();
        let task = format!(
            "Select at most {max_tools} of these tools that are most relevant to the user's message.\n{}",
            tools.join("\n")
        );
        let selection_request = ChatRequest::new([Message::system(task), Message::user(user_text.unwrap_or_default())]);
        let selected: SelectedTools =
            request.task.model(model).request(selection_request).tag("nostream").structured_response().await?;
        let selected = selected.tools.into_iter().filter(|name| open.iter().any(|tool| tool.name == *name));
        Ok(Some(selected.take(max_tools).collect()))
    }
}

impl Middleware for ToolSelector {
    fn hooks(&self) -> Hooks {
        Hooks::none().wrap_model_call().after_model()
    }

    async fn wrap_model_call(&self, mut request: ModelRequest, next: NextModel) -> Result<ChatResponse, NodeError> {
        let Some(selected) = self.selected(&request).await? else { return next.run(request).await };
        let tools = std::mem::take(&mut request.request.tools);
        let is_included = |name: &String| selected.contains(name) || self.is_always_included(&request, name);
        let (included, excluded): (Vec<_>, Vec<_>) = tools.into_iter().partition(|tool| is_included(&tool.name));
        request.request.tools = included;
        let mut response = next.run(request).await?;
        let is_called = |name: &str| response.message.tool_calls.iter().any(|call| call.name == name);
        let called: Vec<Value> =
            excluded.iter().filter(|tool| is_called(&tool.name)).map(|tool| tool.name.as_str().into()).collect();
        if !called.is_empty() {
            response.message.metadata.insert(EXCLUDED_TOOLS.to_owned(), called.into());
        }
        Ok(response)
    }

    async fn after_model(&self, hook: HookContext) -> Result<HookUpdate, NodeError> {
        let Some((message, open)) = open_calls(hook.messages()) else { return Ok(HookUpdate::none()) };
        let Some(Value::Array(excluded)) = message.metadata.get(EXCLUDED_TOOLS) else { return Ok(HookUpdate::none()) };
        let rejected = open.into_iter().filter(|call| excluded.iter().any(|name| *name == call.name));
        let rejected: MessageUpdates = rejected
            .map(|call| rejected_tool_message(call, &format!("tool `{}` is not available in this turn", call.name)))
            .collect();
        Ok(HookUpdate::none().messages(rejected))
    }
}
