//! What the three nodes do: ask the model, run what it asks for, make the response.

mod format_response;
mod llm_call;
mod tool_exec;

pub(crate) use format_response::format_response;
pub(crate) use llm_call::LlmCall;
pub(crate) use tool_exec::ToolExec;
