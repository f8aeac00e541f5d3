//! The three nodes of the graph: call the model, run its tool calls, format the response.

mod format_response;
mod llm_call;
mod tool_exec;

pub(crate) use format_response::format_response;
pub(crate) use llm_call::LlmCall;
pub(crate) use tool_exec::ToolExec;
