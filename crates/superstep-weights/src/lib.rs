//! Language models that run inside of the process, out of a GGUF file that you have: [`Weights`].
//!
//! A package of its own, which nothing of superstep depends on: what it takes to read GGUF files is a tree of its own, and who
//! does not want it must not build it. Understood are files of the `llama` architecture with byte-pair tokens that were taught
//! to talk in ChatML, such as SmolLM2; every other file is refused with its reason. Nothing is ever downloaded.
//!
//! ```no_run
//! use superstep_core::message::Message;
//! use superstep_core::model::Request;
//! use superstep_core::port::SharedModel;
//! use superstep_weights::Weights;
//!
//! # async fn example() -> superstep_core::error::Result<()> {
//! let model = SharedModel::from(Weights::open("SmolLM2-135M-Instruct.Q4_1.gguf")?);
//! let answer = model.complete(Request::new([Message::user("What is a graph?")]).max_tokens(60)).await?;
//! println!("{}: {}", answer.model, answer.message.text());
//! # Ok(())
//! # }
//! ```
//!
//! The way of a request: [`Weights`] checks it → `worker` puts it in the queue of the one thread → `engine` reads the messages
//! (`tokens`) and writes one token after the other (`llama`, `sampler`) → `outgoing` makes text of them. A file is checked by
//! `header` before anything else looks at it.

mod engine;
mod header;
mod llama;
mod matrix;
mod outgoing;
mod sampler;
mod shape;
mod tokens;
mod weights;
mod worker;

pub use weights::{VARIABLE, Weights};

/// The page of the book, so that its example is compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../book/src/guides/weights.md")]
mod guide {}
