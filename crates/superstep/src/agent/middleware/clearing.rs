//! Old results of tools that the model need not read again.

use std::sync::Arc;

use super::Middleware;
use crate::NodeError;
use crate::agent::around::{ModelRequest, NextModel};
use crate::agent::hook::Hooks;
use crate::core::message::{Content, Role};
use crate::model::{Answer, estimate_input};

/// How many results stay unless something else is said.
const KEEP: usize = 3;

/// Leaves out old results of tools when a request has become long. Only the model is spared them: the conversation keeps
/// everything.
///
/// ```
/// use superstep::agent::ClearToolResults;
/// let clearing = ClearToolResults::at_tokens(100_000).keep(5).except(["read_rules"]);
/// ```
#[derive(Debug, Clone)]
#[must_use = "give it to an agent"]
pub struct ClearToolResults {
    tokens: u64,
    keep: usize,
    except: Vec<String>,
}

impl ClearToolResults {
    /// When a request has this many tokens, by estimate.
    pub fn at_tokens(tokens: u64) -> Self {
        Self { tokens, keep: KEEP, except: Vec::new() }
    }

    /// How many of the last results stay; 3 unless told.
    pub fn keep(mut self, results: usize) -> Self {
        self.keep = results;
        self
    }

    /// Results of these tools stay.
    pub fn except(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.except.extend(tools.into_iter().map(Into::into));
        self
    }
}

impl Middleware for ClearToolResults {
    fn hooks(&self) -> Hooks {
        Hooks::none().wrap_model()
    }

    async fn wrap_model(&self, mut request: ModelRequest, next: NextModel) -> Result<Answer, NodeError> {
        if estimate_input(&request.request) >= self.tokens {
            let results = request.request.messages.iter_mut().rev().filter(|message| message.role == Role::Tool);
            for message in results.skip(self.keep) {
                let stays = message.name.as_ref().is_some_and(|name| self.except.contains(name));
                if !stays {
                    Arc::make_mut(message).content = Content::Text("[cleared]".to_owned());
                }
            }
        }
        next.run(request).await
    }
}
