//! Fixtures: a tiny generated model, temporary files, and a listener.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use candle_core::quantized::gguf_file::{self, Value};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};
use superstep_core::error::Result;
use superstep_core::model::{ChatRequest, ChatResponse, MessageChunk};
use superstep_core::port::{BoxFuture, ChunkListener, ChunkSender, Model};
use superstep_weights::Weights;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;

pub(crate) const WIDTH: usize = 64;
pub(crate) const CONTEXT: u32 = 256;

/// Returns a file with a deterministic model of two layers, with a token for each byte.
pub(crate) fn tiny() -> Vec<u8> {
    tiny_with(&[], &[])
}

/// Returns the same file with changed metadata and added tensors.
pub(crate) fn tiny_with(changed: &[(&str, Value)], added: &[(&str, &[usize])]) -> Vec<u8> {
    let mut metadata = metadata();
    for (key, value) in changed {
        metadata.retain(|(existing, _)| existing != key);
        metadata.push((key.to_string(), value.clone()));
    }
    let mut tensors: Vec<(String, Vec<usize>)> = tensors();
    tensors.extend(added.iter().map(|(name, dimensions)| (name.to_string(), dimensions.to_vec())));
    let mut random = 7_u64;
    let tensors: Vec<(String, QTensor)> =
        tensors.into_iter().map(|(name, dimensions)| (name.clone(), tensor(&name, &dimensions, &mut random))).collect();
    let metadata: Vec<(&str, &Value)> = metadata.iter().map(|(key, value)| (key.as_str(), value)).collect();
    let tensors: Vec<(&str, &QTensor)> = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    let mut file = Cursor::new(Vec::new());
    gguf_file::write(&mut file, &metadata, &tensors).unwrap();
    file.into_inner()
}

fn metadata() -> Vec<(String, Value)> {
    let text = |text: &str| Value::String(text.to_owned());
    let mut letters: Vec<char> = ByteLevel::alphabet().into_iter().collect();
    letters.sort_unstable();
    let control_tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];
    let tokens: Vec<Value> =
        control_tokens.iter().map(|token| text(token)).chain(letters.iter().map(|l| text(&l.to_string()))).collect();
    let token_types = (0..tokens.len()).map(|token| Value::I32(if token < control_tokens.len() { 3 } else { 1 }));
    [
        ("general.architecture", text("llama")),
        ("general.name", text("tiny")),
        ("llama.block_count", Value::U32(2)),
        ("llama.context_length", Value::U32(CONTEXT)),
        ("llama.embedding_length", Value::U32(WIDTH as u32)),
        ("llama.feed_forward_length", Value::U32(96)),
        ("llama.attention.head_count", Value::U32(2)),
        ("llama.attention.head_count_kv", Value::U32(1)),
        ("llama.attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
        ("llama.rope.freq_base", Value::F32(10_000.0)),
        ("tokenizer.ggml.model", text("gpt2")),
        ("tokenizer.ggml.pre", text("smollm")),
        ("tokenizer.ggml.token_type", Value::Array(token_types.collect())),
        ("tokenizer.ggml.tokens", Value::Array(tokens)),
        ("tokenizer.ggml.merges", Value::Array(Vec::new())),
        ("tokenizer.ggml.eos_token_id", Value::U32(2)),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .to_vec()
}

fn tensors() -> Vec<(String, Vec<usize>)> {
    let (kv_width, inner) = (WIDTH / 2, 96);
    let mut tensors =
        vec![("token_embd.weight".to_owned(), vec![259, WIDTH]), ("output_norm.weight".to_owned(), vec![WIDTH])];
    for layer in 0..2 {
        let layer_tensors = [
            ("attn_norm", vec![WIDTH]),
            ("attn_q", vec![WIDTH, WIDTH]),
            ("attn_k", vec![kv_width, WIDTH]),
            ("attn_v", vec![kv_width, WIDTH]),
            ("attn_output", vec![WIDTH, WIDTH]),
            ("ffn_norm", vec![WIDTH]),
            ("ffn_gate", vec![inner, WIDTH]),
            ("ffn_up", vec![inner, WIDTH]),
            ("ffn_down", vec![WIDTH, inner]),
        ];
        tensors.extend(layer_tensors.into_iter().map(|(name, shape)| (format!("blk.{layer}.{name}.weight"), shape)));
    }
    tensors
}

/// Generates a tensor from a seed: around 1 for a norm, around 0 for a matrix, which has blocks of 4 bits as in
/// real files.
fn tensor(name: &str, dimensions: &[usize], random: &mut u64) -> QTensor {
    let mut number = || {
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*random >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    let is_norm = dimensions.len() == 1;
    let count = dimensions.iter().product();
    let mut numbers: Vec<f32> = (0..count).map(|_| if is_norm { 1.0 + number() / 8.0 } else { number() }).collect();
    if name == "token_embd.weight" {
        // Zero logits for the three control tokens, so that no response ends by itself.
        numbers[..3 * WIDTH].fill(0.0);
    }
    let tensor = Tensor::from_vec(numbers, dimensions, &Device::Cpu).unwrap();
    QTensor::quantize(&tensor, if is_norm { GgmlDType::F32 } else { GgmlDType::Q4_1 }).unwrap()
}

/// A temporary file, removed when dropped.
pub(crate) struct Temporary(PathBuf);

impl Temporary {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("superstep-weights-{}-{number}.gguf", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

/// Opens a file of these bytes.
pub(crate) fn open(bytes: &[u8]) -> Result<Weights> {
    Weights::open(Temporary::new(bytes).path())
}

/// A listener that records text chunks.
#[derive(Default)]
pub(crate) struct TextRecorder(pub(crate) Vec<String>);

impl ChunkListener for TextRecorder {
    fn on_chunk(&mut self, chunk: MessageChunk) -> Option<BoxFuture<'_, ()>> {
        if let MessageChunk::Text(text) = chunk {
            self.0.push(text);
        }
        None
    }
}

/// Sends a request; also returns the chunks.
pub(crate) async fn generate(model: &Weights, request: &ChatRequest) -> Result<(ChatResponse, Vec<String>)> {
    let mut recorder = TextRecorder::default();
    let response = model.generate(request, &mut ChunkSender::new(&mut recorder)).await?;
    Ok((response, recorder.0))
}
