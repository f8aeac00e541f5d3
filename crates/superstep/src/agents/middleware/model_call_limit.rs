//! Limit on the number of model calls.

use serde::{Deserialize, Serialize};

use super::Middleware;
use crate::agents::hooks::{HookContext, HookUpdate, Hooks, JumpTo};
use crate::agents::state::ADDED_BY;
use crate::{Error, ErrorCode, Message, NodeError};

/// Limits model calls per turn and per thread. At the limit the agent ends with a message that names the limit, or
/// the run fails.
///
/// [`super::super::ReactAgent::max_iterations`] is less strict: at that limit the model responds with the information
/// that it has.
///
/// Each visit of an agent that is a node of another graph starts with new counts.
///
/// ```
/// use superstep::agents::ModelCallLimit;
/// let limit = ModelCallLimit::new().per_turn(5).per_thread(100).fail();
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "middleware has no effect until it is added to an agent"]
pub struct ModelCallLimit {
    turn: Option<u32>,
    thread: Option<u32>,
    fails: bool,
}

impl ModelCallLimit {
    /// Creates a middleware without limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum number of model calls between a user message and its response.
    pub fn per_turn(mut self, calls: u32) -> Self {
        self.turn = Some(calls);
        self
    }

    /// Sets the maximum number of model calls on a thread.
    pub fn per_thread(mut self, calls: u32) -> Self {
        self.thread = Some(calls);
        self
    }

    /// Makes the run fail at the limit, instead of ending the agent.
    pub fn fail(mut self) -> Self {
        self.fails = true;
        self
    }
}

#[derive(Default, Serialize, Deserialize)]
struct CallCounts {
    turn: Option<String>,
    in_turn: u32,
    on_thread: u32,
}

impl Middleware for ModelCallLimit {
    fn hooks(&self) -> Hooks {
        Hooks::none().before_model().can_jump_to([JumpTo::End])
    }

    async fn before_model(&self, hook: HookContext) -> Result<HookUpdate, NodeError> {
        let mut counts: CallCounts = hook.middleware_state()?;
        let turn = hook.turn().message_id().map(str::to_owned);
        if counts.turn != turn {
            counts = CallCounts { turn, in_turn: 0, ..counts };
        }
        let over = [(counts.in_turn, self.turn, "in this turn"), (counts.on_thread, self.thread, "on this thread")];
        let over = over.into_iter().find(|(count, max, _)| max.is_some_and(|max| *count >= max));
        if let Some((calls, _, scope)) = over {
            return reached(&format!("model call limit of {calls} reached {scope}"), self.fails);
        }
        (counts.in_turn, counts.on_thread) = (counts.in_turn + 1, counts.on_thread + 1);
        HookUpdate::none().set_middleware_state(counts)
    }
}

/// Returns the hook result of an agent that has reached a limit.
pub(super) fn reached(fact: &str, fails: bool) -> Result<HookUpdate, NodeError> {
    if fails {
        return Err(Error::new(ErrorCode::TooLarge, fact).with_help("raise the limit").into());
    }
    // The metadata tells applications that no model wrote this message.
    let message = Message::assistant(format!("Stopped: {fact}.")).with_metadata(ADDED_BY, "limit");
    Ok(HookUpdate::jump(JumpTo::End).messages(message))
}
