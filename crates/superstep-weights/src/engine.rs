//! Generation of one response, from the conversation to the last token: prompt processing, sampling, output.
//!
//! Runs on the calling thread, and checks after every output token, and after every few prompt tokens, if the
//! response is still wanted.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use candle_core::quantized::gguf_file::Content;
use superstep_core::model::StopReason;

use crate::header;
use crate::llama::Llama;
use crate::matrix::Source;
use crate::outgoing::Outgoing;
use crate::sampler::Sampler;
use crate::shape::{self, Shape};
use crate::tokens::{ChatMlMessage, Tokens};

/// Number of prompt tokens per batch: each row of weights is then used for all of them while it is in the CPU
/// cache.
const PROMPT_BATCH_TOKENS: usize = 32;

/// A model with its tokenizer.
pub(crate) struct Engine {
    llama: Llama,
    tokens: Tokens,
}

/// Input of one response.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) turns: Vec<ChatMlMessage>,
    pub(crate) sampler: Sampler,
    pub(crate) max_output_tokens: usize,
    pub(crate) stops: Vec<String>,
}

/// Result of one response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) stop: StopReason,
    pub(crate) input_tokens: usize,
    pub(crate) output_tokens: usize,
}

/// Reason for a missing response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The caller has dropped the response.
    Cancelled,
    /// The prompt is longer than the context of the model.
    TooLong { tokens: usize, context: usize },
    /// The tokenizer or the model returned an error.
    Model(String),
    /// The file cannot be used.
    Unusable(String),
    /// A panic, which is a bug.
    Panicked,
}

/// Receiver of generated text.
pub(crate) trait TextReceiver {
    /// Receives text; returns false if no more text is wanted.
    fn receive(&self, text: String) -> bool;
    /// Returns true if the response is still wanted.
    fn is_open(&self) -> bool;
}

impl Engine {
    /// Opens a file; also returns the model name in the file.
    ///
    /// Catches panics: a file that passes the checks of this crate may still make a dependency panic.
    pub(crate) fn open(path: &Path) -> Result<(Self, Option<String>), String> {
        without_panic(|| Self::load(path))
    }

    /// Returns the model name in a file; reads only the header.
    pub(crate) fn name(path: &Path) -> Result<Option<String>, String> {
        without_panic(|| {
            let Source { content, .. } = head(path)?;
            Shape::read(&content).map(|_| shape::name(&content))
        })
    }

    fn load(path: &Path) -> Result<(Self, Option<String>), String> {
        let Source { content, file } = head(path)?;
        let (name, shape, tokens) = (shape::name(&content), Shape::read(&content)?, Tokens::read(&content)?);
        let llama = Llama::load(&mut Source { content, file }, shape, tokens.count())?;
        Ok((Self { llama, tokens }, name))
    }

    /// Generates a response.
    pub(crate) fn answer(&self, question: Question, receiver: &impl TextReceiver) -> Result<End, Failure> {
        let prompt = self.tokens.conversation(&question.turns).map_err(Failure::Model)?;
        let context = self.llama.context();
        if prompt.len() >= context {
            return Err(Failure::TooLong { tokens: prompt.len(), context });
        }
        let (mut past, mut weights) = (self.llama.begin(), Vec::new());
        for some in prompt.chunks(PROMPT_BATCH_TOKENS) {
            if !receiver.is_open() {
                return Err(Failure::Cancelled);
            }
            weights = self.llama.read(&mut past, some);
        }
        let (mut sampler, mut outgoing, mut written) = (question.sampler, Outgoing::new(&question.stops), 0);
        let stop = loop {
            let chosen = sampler.choose(&weights);
            let token = chosen.ok_or_else(|| Failure::Model("the model returned no finite logits".to_owned()))?;
            let Some(bytes) = self.tokens.bytes(token) else { break StopReason::End };
            written += 1;
            if !receiver.receive(outgoing.take(bytes)) {
                return Err(Failure::Cancelled);
            }
            if outgoing.has_stopped() {
                break StopReason::Sequence;
            }
            if written == question.max_output_tokens || past.length() + 1 > context {
                break StopReason::Length;
            }
            weights = self.llama.read(&mut past, &[token]);
        };
        receiver.receive(outgoing.finish());
        let stop = if outgoing.has_stopped() { StopReason::Sequence } else { stop };
        Ok(End { stop, input_tokens: prompt.len(), output_tokens: written })
    }
}

/// Reads and checks the header of a file, and returns it with the open file.
fn head(path: &Path) -> Result<Source, String> {
    let mut file = File::open(path).map_err(|error| error.to_string())?;
    header::check(&mut file)?;
    let mut file = BufReader::new(file);
    std::io::Seek::rewind(&mut file).map_err(|error| error.to_string())?;
    let content = Content::read(&mut file).map_err(|error| error.to_string())?;
    Ok(Source { content, file })
}

fn without_panic<T>(read: impl FnOnce() -> Result<T, String> + std::panic::UnwindSafe) -> Result<T, String> {
    std::panic::catch_unwind(read).unwrap_or_else(|_| Err("reading the file panicked".to_owned()))
}
