//! Tokenizer: text to tokens, tokens to bytes, and a conversation to ChatML.
//!
//! The control tokens between messages cannot result from text, so a message cannot end itself or start another
//! one.

use candle_core::quantized::gguf_file::{Content, Value};
use candle_core::quantized::tokenizer::TokenizerFromGguf;
use tokenizers::Tokenizer;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;

use crate::shape;

/// Token type of control tokens in a GGUF file.
const CONTROL_TOKEN_TYPE: i64 = 3;

/// Vocabulary of a model.
pub(crate) struct Tokens {
    tokenizer: Tokenizer,
    /// Bytes of each token; `None` for a control token.
    bytes: Vec<Option<Box<[u8]>>>,
    begin: u32,
    end: u32,
    /// Default system message.
    system: Option<String>,
}

/// One message of a conversation: its ChatML role and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChatMlMessage {
    pub(crate) role: &'static str,
    pub(crate) text: String,
}

impl Tokens {
    /// Reads the vocabulary of a file.
    pub(crate) fn read(content: &Content) -> Result<Self, String> {
        let tokenizer = tokenizer(content)?;
        let texts = shape::array(content, "tokenizer.ggml.tokens")?;
        let texts: Vec<&str> = texts
            .iter()
            .map(|text| text.to_string().map(String::as_str))
            .collect::<Result<_, _>>()
            .map_err(|_| "a token is not a string".to_owned())?;
        let control_token = |name: &str| {
            let index = texts.iter().position(|text| *text == name).and_then(|index| u32::try_from(index).ok());
            index.ok_or_else(|| format!("missing token `{name}`; the model must be trained on ChatML"))
        };
        let (begin, end) = (control_token("<|im_start|>")?, control_token("<|im_end|>")?);
        let token_types = shape::array(content, "tokenizer.ggml.token_type").unwrap_or_default();
        let mut bytes: Vec<Option<Box<[u8]>>> = texts.iter().map(|text| Some(token_bytes(text))).collect();
        for (token, bytes) in bytes.iter_mut().enumerate() {
            let is_control = token_types.get(token).is_some_and(|kind| integer(kind) == Some(CONTROL_TOKEN_TYPE));
            if is_control || [begin, end].iter().any(|control_token| *control_token as usize == token) {
                *bytes = None;
            }
        }
        let system = shape::text(content, "tokenizer.chat_template").and_then(default_system);
        Ok(Self { tokenizer, bytes, begin, end, system })
    }

    /// Returns the size of the vocabulary.
    pub(crate) fn count(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the bytes of a token; `None` for a control token, at which a response ends.
    pub(crate) fn bytes(&self, token: u32) -> Option<&[u8]> {
        self.bytes.get(token as usize)?.as_deref()
    }

    /// Encodes the conversation, up to the start of the model's response.
    pub(crate) fn conversation(&self, messages: &[ChatMlMessage]) -> Result<Vec<u32>, String> {
        let mut tokens = Vec::new();
        let has_system = messages.first().is_some_and(|message| message.role == "system");
        let implicit_system = self.system.iter().filter(|_| !has_system).map(|system| ("system", system.as_str()));
        for (role, text) in implicit_system.chain(messages.iter().map(|message| (message.role, message.text.as_str())))
        {
            tokens.push(self.begin);
            tokens.extend(self.encode(&format!("{role}\n{text}"))?);
            tokens.push(self.end);
            tokens.extend(self.encode("\n")?);
        }
        tokens.push(self.begin);
        tokens.extend(self.encode("assistant\n")?);
        Ok(tokens)
    }

    fn encode(&self, text: &str) -> Result<Vec<u32>, String> {
        let encoding = self.tokenizer.encode_fast(text, false).map_err(|error| error.to_string())?;
        Ok(encoding.get_ids().to_vec())
    }
}

fn tokenizer(content: &Content) -> Result<Tokenizer, String> {
    let kind = shape::text(content, "tokenizer.ggml.model").unwrap_or_default();
    if kind != "gpt2" {
        return Err(format!("unsupported tokenizer `{kind}`; only byte pairs (`gpt2`) are supported"));
    }
    // candle's pre-tokenizer for `smollm` adds a space before every text and does not split numbers; the model was
    // trained otherwise.
    let split = match shape::text(content, "tokenizer.ggml.pre") {
        Some("smollm") => Some(Sequence::new(vec![Digits::new(true).into(), ByteLevel::new(false, true, true).into()])),
        Some("gpt-2") => Some(Sequence::new(vec![ByteLevel::new(false, true, true).into()])),
        Some("qwen2" | "llama3" | "smaug-bpe") => None,
        other => return Err(format!("unsupported pre-tokenizer `{}`", other.unwrap_or_default())),
    };
    let mut tokenizer = Tokenizer::from_gguf(content).map_err(|error| format!("invalid tokenizer: {error}"))?;
    if let Some(split) = split {
        tokenizer.with_pre_tokenizer(Some(split));
    }
    // Control tokens spelled in a message are encoded as plain text.
    tokenizer.set_encode_special_tokens(true);
    Ok(tokenizer)
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::I32(number) => Some(i64::from(*number)),
        other => other.to_u64().ok().and_then(|number| i64::try_from(number).ok()),
    }
}

/// Decodes the bytes of a token: tokens are stored as printable characters, one for each byte.
fn token_bytes(text: &str) -> Box<[u8]> {
    let mut bytes = Vec::new();
    for letter in text.chars() {
        match byte(letter) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend(letter.to_string().bytes()),
        }
    }
    bytes.into()
}

/// Returns the byte of a character. Printable characters represent themselves, the others are numbered from 256.
fn byte(letter: char) -> Option<u8> {
    let code = u32::from(letter);
    let is_plain = |code: u32| matches!(code, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF);
    if is_plain(code) {
        return u8::try_from(code).ok();
    }
    let index = usize::try_from(code.checked_sub(256)?).ok()?;
    (0..=u8::MAX).filter(|byte| !is_plain(u32::from(*byte))).nth(index)
}

/// Returns the default system message of the chat template, if it is plain text.
fn default_system(template: &str) -> Option<String> {
    let template = template.replace("\\n", "\n");
    let (_, rest) = template.split_once("<|im_start|>system\n")?;
    let (text, _) = rest.split_once("<|im_end|>")?;
    (!text.contains(['\'', '"', '{', '}', '+'])).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_byte_level_alphabet_covers_every_byte() {
        let alphabet = ByteLevel::alphabet();
        let mut bytes: Vec<u8> = alphabet.into_iter().filter_map(byte).collect();
        bytes.sort_unstable();
        assert_eq!(bytes, (0..=u8::MAX).collect::<Vec<_>>());
        assert_eq!(&*token_bytes("Ġhé"), b" h\xe9");
    }

    #[test]
    fn the_default_system_prompt_is_read_from_the_template() {
        let template = "{% if x %}{{ '<|im_start|>system\nBe kind.<|im_end|>\n' }}{% endif %}";
        assert_eq!(default_system(template).as_deref(), Some("Be kind."));
        assert_eq!(default_system("{{ '<|im_start|>system\\nBe kind.<|im_end|>' }}").as_deref(), Some("Be kind."));
        assert_eq!(default_system("{{ '<|im_start|>system\n' + text + '<|im_end|>' }}"), None);
        assert_eq!(default_system(""), None);
    }
}
