//! Who answers, in a program: models around models, models for tests, rules, prompts.
//!
//! The port is [`Model`]; providers are adapters and not here. Everything here works inside of runs and outside of them,
//! and every answer names who gave it. Start with [`ModelExt`].
//!
//! ```
//! use superstep::model::{ModelExt, Scripted, Trouble};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> superstep::Result<()> {
//! let first = Scripted::new([Trouble::NoNetwork]);
//! let second = Scripted::new(["Noon."]).named("spare");
//! let answer = first.or(second).complete("How late is it?").await?;
//! assert_eq!(answer.message.text(), "Noon.");
//! assert_eq!(answer.model.to_string(), "scripted/spare (rules)");
//! # Ok(()) }
//! ```

mod answer_stream;
mod budget;
mod call;
mod dice;
mod extension;
mod fallback;
mod prices;
mod prompt;
mod recorder;
mod recording;
mod redacted;
mod replay;
mod reply;
mod retrying;
mod rules;
mod says;
mod scripted;
mod trial;

pub use answer_stream::AnswerStream;
pub use budget::{Budget, Budgeted};
pub use call::Asked;
pub use dice::Dice;
pub use extension::ModelExt;
pub use fallback::Fallback;
pub use prices::{Price, Prices};
pub use prompt::Prompt;
pub use recorder::Recorder;
pub use redacted::Redacted;
pub use replay::Replay;
pub use reply::Reply;
pub use retrying::Retrying;
pub use rules::Rules;
pub use says::{after_tool, says};
pub use scripted::Scripted;
pub use trial::{Candidate, Score, Verdict, put_to_test};

pub use superstep_core::model::*;
pub use superstep_core::port::{Listener, Model, Pieces, SharedModel};
