//! How often the model may be asked.

use serde::{Deserialize, Serialize};

use super::Middleware;
use crate::agent::hook::{Effect, Hook, Hooks, Jump};
use crate::agent::state::ADDED_BY;
use crate::{Code, Error, Message, NodeError};

/// Limits how often the model is asked in a turn and on a thread. At the limit the agent ends, with a message that says
/// so, or fails.
///
/// [`super::super::ReactAgent::max_rounds`] is gentler: there the model answers with what it knows.
///
/// As a node of another graph, an agent begins anew with each visit, and so do these counts.
///
/// ```
/// use superstep::agent::ModelCallLimit;
/// let limit = ModelCallLimit::new().per_turn(5).per_thread(100).fail();
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "give it to an agent"]
pub struct ModelCallLimit {
    turn: Option<u32>,
    thread: Option<u32>,
    fails: bool,
}

impl ModelCallLimit {
    /// No limits yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The most calls between a message of the user and the answer to it.
    pub fn per_turn(mut self, calls: u32) -> Self {
        self.turn = Some(calls);
        self
    }

    /// The most calls on a thread.
    pub fn per_thread(mut self, calls: u32) -> Self {
        self.thread = Some(calls);
        self
    }

    /// The run fails at the limit, in place of an end.
    pub fn fail(mut self) -> Self {
        self.fails = true;
        self
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Made {
    turn: Option<String>,
    in_turn: u32,
    on_thread: u32,
}

impl Middleware for ModelCallLimit {
    fn hooks(&self) -> Hooks {
        Hooks::none().before_model().may_jump([Jump::End])
    }

    async fn before_model(&self, hook: Hook) -> Result<Effect, NodeError> {
        let mut made: Made = hook.kept()?;
        let turn = hook.turn().message().map(str::to_owned);
        if made.turn != turn {
            made = Made { turn, in_turn: 0, ..made };
        }
        let over = [(made.in_turn, self.turn, "in a turn"), (made.on_thread, self.thread, "on a thread")];
        let over = over.into_iter().find(|(made, most, _)| most.is_some_and(|most| *made >= most));
        if let Some((calls, _, what)) = over {
            return reached(
                &format!("the model was asked {calls} times, and may not be asked more often {what}"),
                self.fails,
            );
        }
        (made.in_turn, made.on_thread) = (made.in_turn + 1, made.on_thread + 1);
        Effect::none().keep(made)
    }
}

/// The end of an agent that has reached a limit.
pub(super) fn reached(fact: &str, fails: bool) -> Result<Effect, NodeError> {
    if fails {
        return Err(Error::new(Code::TooLarge, fact).help("raise the limit").into());
    }
    // The mark tells a program that this is no answer of the model.
    let message = Message::assistant(format!("Stopped: {fact}.")).with_metadata(ADDED_BY, "limit");
    Ok(Effect::jump(Jump::End).messages(message))
}
