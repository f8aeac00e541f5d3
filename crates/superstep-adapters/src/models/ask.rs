//! A request of ours as the library takes it: settings, tools, the form of the answer. What was said is in `parts`.
//!
//! A service that has no such setting refuses it; nothing that was asked for is left out unsaid.

use genai::chat::{ChatOptions, ChatRequest, JsonSpec, ReasoningEffort, ToolChoice as TheirChoice};
use serde_json::{Value, json};
use superstep_core::error::{Error, Result};
use superstep_core::model::{ModelInfo, Request, ToolChoice, Trouble};
use superstep_core::suggest::known_names;

use super::parts;
use super::service::{Dialect, Service};

/// What is asked of whom.
pub(super) struct Ask<'a> {
    pub(super) service: &'a Service,
    pub(super) name: &'a str,
    pub(super) info: &'a ModelInfo,
    pub(super) request: &'a Request,
}

impl Ask<'_> {
    /// What was said so far.
    ///
    /// # Errors
    /// When something was said that the service cannot be told.
    pub(super) fn chat(&self) -> Result<ChatRequest> {
        if self.request.messages.is_empty() {
            return Err(self.refuse("there is nothing to answer").help("give the request at least one message"));
        }
        Ok(ChatRequest::new(parts::messages(self)?))
    }

    /// Everything else.
    ///
    /// # Errors
    /// When the service has no such setting.
    pub(super) fn options(&self) -> Result<ChatOptions> {
        let request = self.request;
        if request.seed.is_some() && *self.service == Service::Anthropic {
            return Err(self.refuse("Anthropic takes no seed").help("leave the seed out"));
        }
        Ok(ChatOptions {
            temperature: request.temperature,
            top_p: request.top_p,
            max_tokens: request.max_tokens,
            stop_sequences: request.stop.clone(),
            seed: request.seed,
            response_format: request
                .format
                .as_ref()
                .map(|format| JsonSpec::new(&format.name, format.schema.as_ref().clone()).into()),
            tool_choice: self.tool_choice()?,
            reasoning_effort: self.effort()?,
            extra_body: Some(self.extra_body()),
            // Calls are not captured: the library makes room for as many as the provider numbers, up to four billion.
            capture_usage: Some(true),
            capture_raw_body: Some(true),
            // Anthropic's thoughts are needed whole, to be sent back; of others this would ask for thoughts.
            capture_reasoning_content: Some(self.service.dialect() == Dialect::Anthropic),
            ..ChatOptions::default()
        })
    }

    /// The library takes a last word such as `-max` in a model's name for an effort, cuts it off and asks for that effort.
    /// An effort that says nothing in the service's dialect keeps the name whole.
    fn effort(&self) -> Result<Option<ReasoningEffort>> {
        match self.service.dialect() {
            Dialect::OpenAi => Ok(Some(ReasoningEffort::Budget(0))),
            Dialect::Google => Ok(Some(ReasoningEffort::Zero)),
            Dialect::Anthropic => match ReasoningEffort::from_model_name(self.name) {
                (None, _) => Ok(None),
                (Some(effort), _) => {
                    let fact = format!("no model of Anthropic has a name that ends in `-{effort}`");
                    Err(self.refuse(fact).help("look at the name of the model"))
                }
            },
        }
    }

    /// What replaces the library's own: the name of the model as it was given, and the tools. The library takes tools of
    /// some names, such as `web_search`, for those of the provider.
    fn extra_body(&self) -> Value {
        let mut body = serde_json::Map::new();
        if self.service.dialect() != Dialect::Google {
            body.insert("model".to_owned(), self.name.into());
        }
        if !self.sends_no_tools() {
            body.insert("tools".to_owned(), self.tools());
        }
        Value::Object(body)
    }

    fn tools(&self) -> Value {
        let tools = self.request.tools.iter();
        match self.service.dialect() {
            Dialect::OpenAi => tools
                .map(|tool| {
                    let (name, said, schema) = (&tool.name, &tool.description, &*tool.input_schema);
                    json!({"type": "function", "function": {"name": name, "description": said, "parameters": schema}})
                })
                .collect(),
            Dialect::Anthropic => tools
                .map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}))
                .collect(),
            Dialect::Google => {
                let declared: Value = tools
                    .map(|tool| {
                        let (name, said, schema) = (&tool.name, &tool.description, &*tool.input_schema);
                        json!({"name": name, "description": said, "parametersJsonSchema": schema})
                    })
                    .collect();
                json!([{ "functionDeclarations": declared }])
            }
        }
    }

    /// Ollama does not know that tools may be forbidden, so it is not told of any.
    fn sends_no_tools(&self) -> bool {
        let forbidden = *self.service == Service::Ollama && self.request.tool_choice == ToolChoice::None;
        self.request.tools.is_empty() || forbidden
    }

    fn tool_choice(&self) -> Result<Option<TheirChoice>> {
        let names: Vec<&str> = self.request.tools.iter().map(|tool| tool.name.as_str()).collect();
        let choice = match &self.request.tool_choice {
            ToolChoice::Auto => return Ok(None),
            ToolChoice::None if self.sends_no_tools() => return Ok(None),
            ToolChoice::None => return Ok(Some(TheirChoice::None)),
            ToolChoice::Required if names.is_empty() => {
                return Err(self.refuse("a tool must be asked for, and there is none").help("give the request tools"));
            }
            ToolChoice::Required => TheirChoice::Required,
            ToolChoice::Named(name) if !names.contains(&name.as_str()) => {
                let fact = format!("the tool `{name}` must be asked for, and there is no such tool");
                return Err(self.refuse(fact).help(known_names(name, &names)));
            }
            ToolChoice::Named(name) => TheirChoice::tool(name),
        };
        if *self.service == Service::Ollama {
            let refused = self.refuse("Ollama cannot be made to ask for a tool");
            return Err(refused.help("let the model decide, with `ToolChoice::Auto`"));
        }
        Ok(Some(choice))
    }

    /// Something that this service cannot be asked.
    pub(super) fn refuse(&self, fact: impl std::fmt::Display) -> Error {
        Trouble::BadRequest.error(self.info, fact)
    }
}
