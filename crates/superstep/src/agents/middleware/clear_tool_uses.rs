//! Removal of old tool results from long model requests.

use std::sync::Arc;

use super::Middleware;
use crate::NodeError;
use crate::agents::call_chain::{ModelRequest, NextModel};
use crate::agents::hooks::Hooks;
use crate::core::message::{Content, Role};
use crate::models::{ChatResponse, estimate_input};

/// Default number of tool results that stay in the request.
const DEFAULT_KEEP_LAST: usize = 3;

/// Removes old tool results from a request that has become long. The conversation in the state keeps all results.
///
/// ```
/// use superstep::agents::ClearToolUses;
/// let clearing = ClearToolUses::trigger_tokens(100_000).keep_last(5).exclude_tools(["read_rules"]);
/// ```
#[derive(Debug, Clone)]
#[must_use = "middleware has no effect until it is added to an agent"]
pub struct ClearToolUses {
    tokens: u64,
    keep_last: usize,
    exclude_tools: Vec<String>,
}

impl ClearToolUses {
    /// Sets the threshold: estimated input tokens of a request from which results are removed.
    pub fn trigger_tokens(tokens: u64) -> Self {
        Self { tokens, keep_last: DEFAULT_KEEP_LAST, exclude_tools: Vec::new() }
    }

    /// Sets the number of last results that stay in the request. Default: 3.
    pub fn keep_last(mut self, results: usize) -> Self {
        self.keep_last = results;
        self
    }

    /// Excludes tools whose results always stay in the request.
    pub fn exclude_tools(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.exclude_tools.extend(tools.into_iter().map(Into::into));
        self
    }
}

impl Middleware for ClearToolUses {
    fn hooks(&self) -> Hooks {
        Hooks::none().wrap_model_call()
    }

    async fn wrap_model_call(&self, mut request: ModelRequest, next: NextModel) -> Result<ChatResponse, NodeError> {
        if estimate_input(&request.request) >= self.tokens {
            let results = request.request.messages.iter_mut().rev().filter(|message| message.role == Role::Tool);
            for message in results.skip(self.keep_last) {
                let is_excluded = message.name.as_ref().is_some_and(|name| self.exclude_tools.contains(name));
                if !is_excluded {
                    Arc::make_mut(message).content = Content::Text("[cleared]".to_owned());
                }
            }
        }
        next.run(request).await
    }
}
