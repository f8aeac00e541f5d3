//! The debate platform: an optimist and a skeptic argue about a topic, a moderator sums up, and everybody watches.
//!
//! The graph is [`graph()`], its state [`Debate`], and what a run needs beside it [`Hall`]:
//!
//! ```
//! use superstep::core::time::Time;
//! use superstep::model::Scripted;
//! use superstep::Memory;
//! use superstep_debate::{Debate, Hall, Status, graph};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> superstep::Result<()> {
//! let debates = graph(Memory::new())?;
//! let model = Scripted::new(["Rules build trust.", "Rules are slow.", "Trust stood against speed."]);
//! let now = Time::from_unix_micros(1_772_357_400_000_000).expect("a time");
//!
//! let opening = Debate::open("Should AI be regulated?", 1, now)?;
//! let done = debates.run(opening).thread("first").context(Hall::new(model)).await?;
//! assert_eq!(done.state.status, Status::Completed);
//! assert_eq!(done.state.summary().unwrap().text(), "Trust stood against speed.");
//! # Ok(()) }
//! ```
//!
//! With a model of a provider, or with rules, only the [`Hall`] is another.

mod app;
pub mod evidence;
pub mod fact;
pub mod facts;
mod graph;
mod hall;
mod http;
mod migration;
mod nodes;
pub mod prompt;
mod reader;
pub mod serial;
mod state;
pub mod transcript;
pub mod voices;

pub use app::{Settings, app};
pub use graph::{draw, graph};
pub use hall::{Approval, FactCheck, Hall};
pub use http::Options;
pub use migration::VERSIONS;
pub use nodes::Answer;
pub use reader::{Seen, bring_up_to_date, read};
pub use state::{Debate, DebateUpdate, LONGEST_TOPIC, MOST_ROUNDS, ROUNDS, Status};
