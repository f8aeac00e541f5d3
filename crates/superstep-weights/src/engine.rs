//! One answer, from the conversation to its last token: reads, chooses, says.
//!
//! Runs on whatever thread it is called on and looks after every token, and after every few tokens of what it reads, whether
//! anybody still waits for the answer.

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
use crate::tokens::{Tokens, Turn};

/// How many tokens are read at once: rows of weights are then used for all of them while they are close.
const READ_AT_ONCE: usize = 32;

/// A model with its tokens.
pub(crate) struct Engine {
    llama: Llama,
    tokens: Tokens,
}

/// What is asked.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) turns: Vec<Turn>,
    pub(crate) sampler: Sampler,
    pub(crate) most_tokens: usize,
    pub(crate) stops: Vec<String>,
}

/// How an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) stop: StopReason,
    pub(crate) input_tokens: usize,
    pub(crate) output_tokens: usize,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Nobody waits for it.
    Unwanted,
    /// More was said than the model can have in view.
    TooLong { tokens: usize, context: usize },
    /// The model, or its tokens, made nothing of it.
    Broken(String),
    /// The file cannot be used.
    Unusable(String),
    /// A bug of ours.
    Panicked,
}

/// Whoever hears an answer.
pub(crate) trait Hearer {
    /// More text; false when nobody wants more.
    fn hear(&self, text: String) -> bool;
    /// Whether anybody still listens.
    fn listens(&self) -> bool;
}

impl Engine {
    /// Opens a file; gives the name that it has for its model, too.
    ///
    /// A file that passes our own checks and still makes what reads it panic must not take the program along.
    pub(crate) fn open(path: &Path) -> Result<(Self, Option<String>), String> {
        without_panic(|| Self::load(path))
    }

    /// The name that a file has for its model; reads only its head.
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

    /// Answers.
    pub(crate) fn answer(&self, question: Question, hearer: &impl Hearer) -> Result<End, Failure> {
        let prompt = self.tokens.conversation(&question.turns).map_err(Failure::Broken)?;
        let context = self.llama.context();
        if prompt.len() >= context {
            return Err(Failure::TooLong { tokens: prompt.len(), context });
        }
        let (mut past, mut weights) = (self.llama.begin(), Vec::new());
        for some in prompt.chunks(READ_AT_ONCE) {
            if !hearer.listens() {
                return Err(Failure::Unwanted);
            }
            weights = self.llama.read(&mut past, some);
        }
        let (mut sampler, mut outgoing, mut written) = (question.sampler, Outgoing::new(&question.stops), 0);
        let stop = loop {
            let chosen = sampler.choose(&weights);
            let token = chosen.ok_or_else(|| Failure::Broken("its numbers are no numbers".to_owned()))?;
            let Some(bytes) = self.tokens.bytes(token) else { break StopReason::End };
            written += 1;
            if !hearer.hear(outgoing.take(bytes)) {
                return Err(Failure::Unwanted);
            }
            if outgoing.has_stopped() {
                break StopReason::Sequence;
            }
            if written == question.most_tokens || past.length() + 1 > context {
                break StopReason::Length;
            }
            weights = self.llama.read(&mut past, &[token]);
        };
        hearer.hear(outgoing.finish());
        let stop = if outgoing.has_stopped() { StopReason::Sequence } else { stop };
        Ok(End { stop, input_tokens: prompt.len(), output_tokens: written })
    }
}

/// What a file says of itself, checked, and the file behind it.
fn head(path: &Path) -> Result<Source, String> {
    let mut file = File::open(path).map_err(|error| error.to_string())?;
    header::check(&mut file)?;
    let mut file = BufReader::new(file);
    std::io::Seek::rewind(&mut file).map_err(|error| error.to_string())?;
    let content = Content::read(&mut file).map_err(|error| error.to_string())?;
    Ok(Source { content, file })
}

fn without_panic<T>(read: impl FnOnce() -> Result<T, String> + std::panic::UnwindSafe) -> Result<T, String> {
    std::panic::catch_unwind(read).unwrap_or_else(|_| Err("what read it panicked".to_owned()))
}
