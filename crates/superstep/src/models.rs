//! Chat models: wrappers, test models, rules, prompts.
//!
//! The port is [`Model`]; providers are adapters in another crate. Everything here works inside and outside of runs,
//! and every response names the model that created it. Start with [`ModelExt`].
//!
//! ```
//! use superstep::models::{ModelExt, ScriptedModel, ModelErrorKind};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> superstep::Result<()> {
//! let first = ScriptedModel::new([ModelErrorKind::Connection]);
//! let second = ScriptedModel::new(["Noon."]).with_name("spare");
//! let answer = first.with_fallback(second).complete("How late is it?").await?;
//! assert_eq!(answer.message.text(), "Noon.");
//! assert_eq!(answer.model.to_string(), "scripted/spare (rules)");
//! # Ok(()) }
//! ```

mod budget;
mod call;
mod evaluation;
mod extension;
mod fallback;
mod prices;
mod prompt;
mod recording_format;
mod recording_model;
mod redacted;
mod replay;
mod request_matchers;
mod response_stream;
mod retrying;
mod rule_based;
mod scripted;
mod scripted_reply;
mod seeded_rng;

pub use budget::{BudgetedModel, CallBudget};
pub use call::ModelCallBuilder;
pub use evaluation::{EvaluationResult, EvaluationScore, ModelCandidate, evaluate_candidate};
pub use extension::ModelExt;
pub use fallback::FallbackModel;
pub use prices::{Price, Prices};
pub use prompt::Prompt;
pub use recording_model::RecordingModel;
pub use redacted::RedactedModel;
pub use replay::ReplayModel;
pub use request_matchers::{last_message_is_tool_result, user_message_contains};
pub use response_stream::ResponseStream;
pub use retrying::RetryingModel;
pub use rule_based::RuleBasedModel;
pub use scripted::ScriptedModel;
pub use scripted_reply::ScriptedReply;
pub use seeded_rng::SeededRng;

pub use superstep_core::model::*;
pub use superstep_core::port::{ChunkListener, ChunkSender, Model, SharedModel};
