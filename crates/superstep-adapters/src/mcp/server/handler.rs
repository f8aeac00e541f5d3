//! The session of a server with one client: handles the requests of the protocol.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
    Implementation, ListPromptsResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams, PromptMessage,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;
use superstep_core::error::Error;
use superstep_core::message::{Content, Message, Role};
use superstep_core::tool::ToolSpec;

use super::call_tool::{ProgressReporter, run};
use super::{McpServer, OfferedTool};
use crate::mcp::content;

/// Handler of one session of a [`McpServer`](super::McpServer).
#[derive(Debug, Clone)]
pub struct SessionHandler(pub(super) McpServer);

impl ServerHandler for SessionHandler {
    fn get_info(&self) -> ServerConfig {
        let catalog = self.0.catalog();
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed();
        let mut capabilities = capabilities.build();
        capabilities.resources = (!catalog.resources.is_empty()).then(Default::default);
        capabilities.prompts = (!catalog.prompts.is_empty()).then(Default::default);
        let mut config = ServerConfig::new(capabilities);
        config.server_info = Implementation::new(&self.0.0.name, &self.0.0.version);
        config.instructions.clone_from(&catalog.instructions);
        config
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let mut clients = self.0.clients();
        clients.retain(|client| !client.is_transport_closed());
        clients.push(context.peer);
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let catalog = self.0.catalog();
        let (page, next) = page(&catalog.tools, catalog.page_size, request)?;
        let tools = page.iter().map(|offer| tool(offer.tool.spec())).collect();
        Ok(ListToolsResult { next_cursor: next, ..ListToolsResult::with_all_items(tools) })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let has_name = |offer: &&OfferedTool| offer.tool.spec().name == request.name;
        let matching = self.0.catalog().tools.iter().find(has_name).cloned();
        let Some(offer) = matching else {
            return Err(ErrorData::invalid_params(format!("unknown tool `{}`", request.name), None));
        };
        let progress = ProgressReporter::to(context.peer.clone(), context.meta.get_progress_token());
        let args = request.arguments.unwrap_or_default();
        tokio::select! {
            result = run(&offer, context.id.to_string(), args, progress) => Ok(result.into()),
            // The client has cancelled the call, so the tool is dropped at its await point; the client ignores this
            // error.
            () = context.ct.cancelled() => Err(ErrorData::internal_error("cancelled", None)),
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let catalog = self.0.catalog();
        let (page, next) = page(&catalog.resources, catalog.page_size, request)?;
        let resources = page.iter().map(|(resource, _)| resource.to_rmcp()).collect();
        Ok(ListResourcesResult { next_cursor: next, ..ListResourcesResult::with_all_items(resources) })
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let matching = self.0.catalog().resources.iter().find(|(resource, _)| resource.uri == request.uri).cloned();
        let Some((resource, read)) = matching else {
            return Err(ErrorData::resource_not_found(format!("unknown resource `{}`", request.uri), None));
        };
        let parts = read().await.map_err(|error| to_error_data(&error))?;
        let mime_type = resource.mime_type.as_deref();
        let contents = parts.iter().map(|part| content::contents(&resource.uri, mime_type, part)).collect();
        Ok(ReadResourceResult::new(contents).into())
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let catalog = self.0.catalog();
        let (page, next) = page(&catalog.prompts, catalog.page_size, request)?;
        let prompts = page.iter().map(|(prompt, _)| prompt.to_rmcp()).collect();
        Ok(ListPromptsResult { next_cursor: next, ..ListPromptsResult::with_all_items(prompts) })
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let matching = self.0.catalog().prompts.iter().find(|(prompt, _)| prompt.name == request.name).cloned();
        let Some((prompt, fill)) = matching else {
            return Err(ErrorData::invalid_params(format!("unknown prompt `{}`", request.name), None));
        };
        let args = request.arguments.unwrap_or_default();
        let missing =
            prompt.arguments.iter().find(|argument| argument.is_required && !args.contains_key(&argument.name));
        if let Some(missing) = missing {
            let message = format!("the prompt `{}` requires the argument `{}`", prompt.name, missing.name);
            return Err(ErrorData::invalid_params(message, None));
        }
        let messages = fill(args).await.map_err(|error| to_error_data(&error))?;
        let mut result = GetPromptResult::new(messages.iter().flat_map(to_prompt_messages).collect());
        result.description = prompt.description;
        Ok(result.into())
    }
}

/// Returns one page of a list and the cursor of the next one.
fn page<T>(
    all: &[T],
    size: usize,
    request: Option<PaginatedRequestParams>,
) -> Result<(&[T], Option<String>), ErrorData> {
    let cursor = request.and_then(|request| request.cursor);
    let start = match &cursor {
        None => 0,
        Some(cursor) => {
            let start = cursor.parse().ok().filter(|start| *start <= all.len());
            start.ok_or_else(|| ErrorData::invalid_params(format!("invalid cursor `{cursor}`"), None))?
        }
    };
    let end = all.len().min(start + size);
    Ok((&all[start..end], (end < all.len()).then(|| end.to_string())))
}

fn tool(spec: &ToolSpec) -> Tool {
    let object = |schema: &Value| schema.as_object().cloned().unwrap_or_default();
    let mut tool = Tool::new(spec.name.clone(), spec.description.clone(), object(&spec.input_schema));
    tool.output_schema =
        spec.output_schema.as_deref().filter(|schema| schema.is_object()).map(|schema| object(schema).into());
    let annotations = spec.annotations;
    let hints = ToolAnnotations::new().read_only(annotations.read_only).idempotent(annotations.idempotent);
    tool.with_annotations(hints.destructive(annotations.destructive))
}

/// Converts a message: the protocol has two roles and one block per message.
fn to_prompt_messages(message: &Message) -> Vec<PromptMessage> {
    let role = match message.role {
        Role::Assistant => rmcp::model::Role::Assistant,
        _ => rmcp::model::Role::User,
    };
    let blocks = match &message.content {
        Content::Text(_) => content::blocks(&message.content),
        Content::Parts(parts) => parts.iter().map(content::block).collect(),
    };
    blocks.into_iter().map(|block| PromptMessage::new(role.clone(), block)).collect()
}

/// Converts an error for a client: its message without its causes.
fn to_error_data(error: &Error) -> ErrorData {
    ErrorData::internal_error(error.message().to_owned(), None)
}
