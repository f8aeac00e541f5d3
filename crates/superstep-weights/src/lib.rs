//! Language models that run in the process, from a local GGUF file: [`Weights`].
//!
//! This is a package of its own, and no other superstep crate depends on it: reading GGUF files needs a large
//! dependency tree, which users without local models must not build. Supported are files of the `llama`
//! architecture with byte-pair tokens that were trained on ChatML, such as SmolLM2; every other file is rejected
//! with the reason. Nothing is ever downloaded.
//!
//! ```no_run
//! use superstep_core::message::Message;
//! use superstep_core::model::ChatRequest;
//! use superstep_core::port::SharedModel;
//! use superstep_weights::Weights;
//!
//! # async fn example() -> superstep_core::error::Result<()> {
//! let model = SharedModel::from(Weights::open("SmolLM2-135M-Instruct.Q4_1.gguf")?);
//! let response = model.complete(ChatRequest::new([Message::user("What is a graph?")]).max_tokens(60)).await?;
//! println!("{}: {}", response.model, response.message.text());
//! # Ok(())
//! # }
//! ```
//!
//! A request takes this path: [`Weights`] validates it → `worker` queues it for the single inference thread →
//! `engine` processes the messages (`tokens`) and generates one token after the other (`llama`, `sampler`) →
//! `text_decoder` decodes them to text. `header` validates a file before it is parsed.

mod engine;
mod header;
mod llama;
mod matrix;
mod sampler;
mod shape;
mod text_decoder;
mod tokens;
mod weights;
mod worker;

pub use weights::{VARIABLE, Weights};

/// Page of the book, included so that its example is compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../book/src/guides/local-models.md")]
mod guide {}
