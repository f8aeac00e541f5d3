//! Conversion of a chat request to the types of `genai`: settings, tools, the format of the response. Messages are
//! converted in `messages`.
//!
//! A setting that the provider does not have is an error; no setting is dropped silently.

use genai::chat::{ChatOptions, JsonSpec, ReasoningEffort, ToolChoice as GenaiChoice};
use serde_json::{Value, json};
use superstep_core::error::{Error, Result};
use superstep_core::model::{ChatRequest, ModelErrorKind, ModelInfo, ToolChoice};
use superstep_core::suggest::did_you_mean_or_list;

use super::messages;
use super::provider_api::{ApiDialect, ProviderApi};

/// A request and the model it is for.
pub(super) struct RequestBuilder<'a> {
    pub(super) service: &'a ProviderApi,
    pub(super) name: &'a str,
    pub(super) info: &'a ModelInfo,
    pub(super) request: &'a ChatRequest,
}

impl RequestBuilder<'_> {
    /// Returns the messages of the request.
    ///
    /// # Errors
    /// Returns an error if there are no messages or a message cannot be sent to the provider.
    pub(super) fn chat(&self) -> Result<genai::chat::ChatRequest> {
        if self.request.messages.is_empty() {
            return Err(self.unsupported("the request has no messages").with_help("add at least one message"));
        }
        Ok(genai::chat::ChatRequest::new(messages::messages(self)?))
    }

    /// Returns the options of the request.
    ///
    /// # Errors
    /// Returns an error if the provider does not support a setting.
    pub(super) fn options(&self) -> Result<ChatOptions> {
        let request = self.request;
        if request.seed.is_some() && *self.service == ProviderApi::Anthropic {
            return Err(self.unsupported("Anthropic does not support a seed").with_help("omit the seed"));
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
            // Tool calls are not captured: the library allocates as many as the index from the provider, up to four
            // billion.
            capture_usage: Some(true),
            capture_raw_body: Some(true),
            // Anthropic's thinking blocks have to be sent back completely; with other providers this setting would
            // request reasoning.
            capture_reasoning_content: Some(self.service.dialect() == ApiDialect::Anthropic),
            ..ChatOptions::default()
        })
    }

    /// Returns a reasoning effort that has no effect. The library interprets a suffix such as `-max` of a model name
    /// as an effort and removes it from the name; with an explicit effort, it leaves the name unchanged.
    fn effort(&self) -> Result<Option<ReasoningEffort>> {
        match self.service.dialect() {
            ApiDialect::OpenAi => Ok(Some(ReasoningEffort::Budget(0))),
            ApiDialect::Google => Ok(Some(ReasoningEffort::Zero)),
            ApiDialect::Anthropic => match ReasoningEffort::from_model_name(self.name) {
                (None, _) => Ok(None),
                (Some(effort), _) => {
                    let reason = format!("no Anthropic model has a name that ends in `-{effort}`");
                    Err(self.unsupported(reason).with_help("check the name of the model"))
                }
            },
        }
    }

    /// Returns the fields that replace those of the library: the name of the model, and the tools. The library treats
    /// tools with some names, such as `web_search`, as built-in tools of the provider.
    fn extra_body(&self) -> Value {
        let mut body = serde_json::Map::new();
        if self.service.dialect() != ApiDialect::Google {
            body.insert("model".to_owned(), self.name.into());
        }
        if !self.omits_tools() {
            body.insert("tools".to_owned(), self.tools());
        }
        Value::Object(body)
    }

    fn tools(&self) -> Value {
        let tools = self.request.tools.iter();
        match self.service.dialect() {
            ApiDialect::OpenAi => tools
                .map(|tool| {
                    let (name, description, schema) = (&tool.name, &tool.description, &*tool.input_schema);
                    json!({"type": "function", "function": {"name": name, "description": description, "parameters": schema}})
                })
                .collect(),
            ApiDialect::Anthropic => tools
                .map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}))
                .collect(),
            ApiDialect::Google => {
                let declared: Value = tools
                    .map(|tool| {
                        let (name, description, schema) = (&tool.name, &tool.description, &*tool.input_schema);
                        json!({"name": name, "description": description, "parametersJsonSchema": schema})
                    })
                    .collect();
                json!([{ "functionDeclarations": declared }])
            }
        }
    }

    /// Returns true if no tools are sent. Ollama ignores a prohibition of tools, so the tools are left out.
    fn omits_tools(&self) -> bool {
        let forbidden = *self.service == ProviderApi::Ollama && self.request.tool_choice == ToolChoice::None;
        self.request.tools.is_empty() || forbidden
    }

    fn tool_choice(&self) -> Result<Option<GenaiChoice>> {
        let names: Vec<&str> = self.request.tools.iter().map(|tool| tool.name.as_str()).collect();
        let choice = match &self.request.tool_choice {
            ToolChoice::Auto => return Ok(None),
            ToolChoice::None if self.omits_tools() => return Ok(None),
            ToolChoice::None => return Ok(Some(GenaiChoice::None)),
            ToolChoice::Required if names.is_empty() => {
                return Err(self
                    .unsupported("the tool choice requires a tool call, but the request has no tools")
                    .with_help("add tools to the request, or use `ToolChoice::Auto`"));
            }
            ToolChoice::Required => GenaiChoice::Required,
            ToolChoice::Named(name) if !names.contains(&name.as_str()) => {
                let reason = format!("the tool choice names the unknown tool `{name}`");
                return Err(self.unsupported(reason).with_help(did_you_mean_or_list(name, &names)));
            }
            ToolChoice::Named(name) => GenaiChoice::tool(name),
        };
        if *self.service == ProviderApi::Ollama {
            let error = self.unsupported("Ollama does not support a required tool call");
            return Err(error.with_help("use `ToolChoice::Auto`"));
        }
        Ok(Some(choice))
    }

    /// Returns the error of a request that the provider does not support.
    pub(super) fn unsupported(&self, reason: impl std::fmt::Display) -> Error {
        ModelErrorKind::BadRequest.error(self.info, reason)
    }
}
