//! Generation of one response, from the conversation to the last token: prompt processing, sampling, output.
//!
//! Runs on the calling thread, and checks after every output token, and after every few prompt tokens, if the
//! caller still waits for the response.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use candle_core::quantized::gguf_file::Content;
use superstep_core::model::StopReason;

use crate::header;
use crate::llama::Llama;
use crate::matrix::WeightsFile;
use crate::sampler::Sampler;
use crate::shape::{self, Shape};
use crate::text_decoder::TextDecoder;
use crate::tokens::{ChatMlMessage, Tokens};

/// Number of prompt tokens per batch: each row of weights is then used for all of them while it is in the CPU
/// cache.
const PROMPT_BATCH_TOKENS: usize = 32;

/// A model with its tokenizer.
pub(crate) struct Engine {
    llama: Llama,
    tokens: Tokens,
}

/// A request to generate one response.
#[derive(Debug)]
pub(crate) struct GenerationRequest {
    pub(crate) messages: Vec<ChatMlMessage>,
    pub(crate) sampler: Sampler,
    pub(crate) max_output_tokens: usize,
    pub(crate) stop_sequences: Vec<String>,
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
    /// Receives text; returns false if the caller has stopped waiting.
    fn receive(&self, text: String) -> bool;
    /// Returns true if the caller still waits for the response.
    fn is_open(&self) -> bool;
}

impl Engine {
    /// Opens a file; also returns the model name in the file.
    ///
    /// Catches panics: a file that passes the checks of this crate may still make a dependency panic.
    pub(crate) fn open(path: &Path) -> Result<(Self, Option<String>), String> {
        catch_panic(|| Self::load(path))
    }

    /// Returns the model name in a file; reads only the header.
    pub(crate) fn name(path: &Path) -> Result<Option<String>, String> {
        catch_panic(|| {
            let WeightsFile { content, .. } = open_file(path)?;
            Shape::read(&content).map(|_| shape::name(&content))
        })
    }

    fn load(path: &Path) -> Result<(Self, Option<String>), String> {
        let WeightsFile { content, file } = open_file(path)?;
        let (name, shape, tokens) = (shape::name(&content), Shape::read(&content)?, Tokens::read(&content)?);
        let llama = Llama::load(&mut WeightsFile { content, file }, shape, tokens.count())?;
        Ok((Self { llama, tokens }, name))
    }

    /// Generates a response.
    pub(crate) fn generate(&self, request: GenerationRequest, receiver: &impl TextReceiver) -> Result<End, Failure> {
        let prompt = self.tokens.conversation(&request.messages).map_err(Failure::Model)?;
        let context = self.llama.context();
        if prompt.len() >= context {
            return Err(Failure::TooLong { tokens: prompt.len(), context });
        }
        let (mut cache, mut logits) = (self.llama.empty_cache(), Vec::new());
        for batch in prompt.chunks(PROMPT_BATCH_TOKENS) {
            if !receiver.is_open() {
                return Err(Failure::Cancelled);
            }
            logits = self.llama.forward(&mut cache, batch);
        }
        let (mut sampler, mut decoder, mut output_tokens) =
            (request.sampler, TextDecoder::new(&request.stop_sequences), 0);
        let stop = loop {
            let token = sampler
                .sample(&logits)
                .ok_or_else(|| Failure::Model("the model returned no finite logits".to_owned()))?;
            let Some(bytes) = self.tokens.bytes(token) else { break StopReason::End };
            output_tokens += 1;
            if !receiver.receive(decoder.take(bytes)) {
                return Err(Failure::Cancelled);
            }
            if decoder.has_stopped() {
                break StopReason::Sequence;
            }
            if output_tokens == request.max_output_tokens || cache.length() + 1 > context {
                break StopReason::Length;
            }
            logits = self.llama.forward(&mut cache, &[token]);
        };
        receiver.receive(decoder.finish());
        let stop = if decoder.has_stopped() { StopReason::Sequence } else { stop };
        Ok(End { stop, input_tokens: prompt.len(), output_tokens })
    }
}

/// Reads and checks the header of a file, and returns it with the open file.
fn open_file(path: &Path) -> Result<WeightsFile, String> {
    let mut file = File::open(path).map_err(|error| error.to_string())?;
    header::check(&mut file)?;
    let mut file = BufReader::new(file);
    std::io::Seek::rewind(&mut file).map_err(|error| error.to_string())?;
    let content = Content::read(&mut file).map_err(|error| error.to_string())?;
    Ok(WeightsFile { content, file })
}

fn catch_panic<T>(read: impl FnOnce() -> Result<T, String> + std::panic::UnwindSafe) -> Result<T, String> {
    std::panic::catch_unwind(read).unwrap_or_else(|_| Err("reading the file panicked".to_owned()))
}
