//! Tests of malicious files: each is an error with its reason, and never a panic, an abort or excessive memory use.

use candle_core::quantized::gguf_file::Value;
use superstep_core::error::{Error, ErrorCode};

use crate::support::{WIDTH, open, tiny, tiny_with};

/// Returns the end of the header: behind the entry of the last tensor.
fn header_end(file: &[u8]) -> usize {
    end_of(file, b"blk.1.ffn_down.weight") + 64
}

/// Returns the end of these bytes in a file.
fn end_of(file: &[u8], bytes: &[u8]) -> usize {
    let at = file.windows(bytes.len()).position(|window| window == bytes).unwrap();
    at + bytes.len()
}

fn open_error(bytes: &[u8]) -> Error {
    let error = open(bytes).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ConfigInvalid, "{error}");
    assert!(!error.message().contains("panicked"), "{error}");
    error
}

/// A file truncated at any position is an error.
#[test]
fn a_truncated_file_is_rejected() {
    let file = tiny();
    let header_end = header_end(&file);
    let lengths = (0..header_end).step_by(53).chain((header_end..file.len()).step_by(4_999)).chain([file.len() - 1]);
    for length in lengths {
        open_error(&file[..length]);
    }
    open(&file).unwrap();
}

/// Every wrong count, length and offset is an error before memory is allocated for it.
#[test]
fn invalid_numbers_are_rejected() {
    let file = tiny();
    let text = |key: &str| end_of(&file, key.as_bytes());
    let tensor = |name: &str| end_of(&file, name.as_bytes());
    let long = [u64::MAX, u64::MAX / 2, 1 << 40, 1 << 31, 1 << 24, 65_537];
    let offsets = [
        ("the number of tensors", 8),
        ("the number of keys", 16),
        ("the length of a key", 24),
        ("the length of a text", text("general.name") + 4),
        ("the length of an array of texts", text("tokenizer.ggml.tokens") + 8),
        ("the length of a text in an array", text("tokenizer.ggml.tokens") + 16),
        ("the length of an array of numbers", text("tokenizer.ggml.token_type") + 8),
        ("the length of an empty array", text("tokenizer.ggml.merges") + 8),
        ("the first dimension", tensor("token_embd.weight") + 4),
        ("the second dimension", tensor("token_embd.weight") + 12),
        ("the offset of a tensor", tensor("token_embd.weight") + 24),
    ];
    for (label, at) in offsets {
        for invalid in long {
            let mut file = file.clone();
            file[at..at + 8].copy_from_slice(&invalid.to_le_bytes());
            let error = open(&file).expect_err(&format!("{label}: {invalid}"));
            assert!(!error.message().contains("panicked"), "{label}: {invalid}: {error}");
        }
    }
    for (label, at) in [("the kind of a value", text("general.name")), ("dimensions", tensor("token_embd.weight"))] {
        for invalid in [9_u32, 13, u32::MAX] {
            let mut file = file.clone();
            file[at..at + 4].copy_from_slice(&invalid.to_le_bytes());
            let error = open(&file).expect_err(&format!("{label}: {invalid}"));
            assert!(!error.message().contains("panicked"), "{label}: {invalid}: {error}");
        }
    }
}

/// A file with any byte of its header changed opens or is an error, and nothing panics.
#[test]
fn mutated_headers_do_not_panic() {
    let file = tiny();
    let (mut opened, mut errors) = (0, 0);
    let tokens = text_range(&file);
    for at in 0..header_end(&file) {
        // The vocabulary is long and uniform, so only a part of it is tested.
        if tokens.contains(&at) && !at.is_multiple_of(41) {
            continue;
        }
        for change in [0x01, 0x80, 0xFF] {
            let mut file = file.clone();
            file[at] ^= change;
            match open(&file) {
                Ok(_) => opened += 1,
                Err(error) => {
                    assert_eq!(error.code(), ErrorCode::ConfigInvalid, "byte {at}: {error}");
                    assert!(!error.message().contains("panicked"), "byte {at}: {error}");
                    errors += 1;
                }
            }
        }
    }
    assert!(opened > 10 && errors > 1000, "{opened} opened, {errors} rejected");
}

/// Returns the range of the token types and texts.
fn text_range(file: &[u8]) -> std::ops::Range<usize> {
    end_of(file, b"tokenizer.ggml.token_type") + 16..end_of(file, b"tokenizer.ggml.merges") - 40
}

/// A model that would be executed wrongly is rejected: another architecture, other dimensions, unknown tensors.
#[test]
fn an_unsupported_model_is_rejected() {
    let text = |text: &str| Value::String(text.to_owned());
    let changed = [
        ("general.architecture", text("qwen2"), "`qwen2`"),
        ("general.alignment", Value::U32(0), "alignment"),
        ("tokenizer.ggml.model", text("llama"), "`llama`"),
        ("tokenizer.ggml.pre", text("klingon"), "`klingon`"),
        ("tokenizer.ggml.tokens", Value::Array(vec![text("a")]), "ChatML"),
        ("tokenizer.ggml.tokens", Value::U32(1), "tokens"),
        ("tokenizer.ggml.merges", Value::Array(vec![text("x")]), "merge"),
        ("llama.attention.head_count", Value::U32(0), "head_count"),
        ("llama.attention.head_count", Value::U32(5), "multiple"),
        ("llama.attention.head_count_kv", Value::U32(3), "head_count_kv"),
        ("llama.embedding_length", Value::U32(1 << 31), "embedding_length"),
        ("llama.embedding_length", Value::U32(2 * WIDTH as u32), "token_embd.weight"),
        ("llama.block_count", Value::U32(3), "blk.2."),
        ("llama.block_count", Value::U32(1), "blk.1."),
        ("llama.context_length", Value::I32(-1), "context_length"),
        ("llama.attention.layer_norm_rms_epsilon", Value::F32(f32::NAN), "epsilon"),
        ("llama.rope.dimension_count", Value::U32(8), "RoPE"),
        ("llama.rope.scaling.type", text("yarn"), "`yarn`"),
    ];
    for (key, value, expected) in changed {
        let error = open_error(&tiny_with(&[(key, value.clone())], &[]));
        assert!(error.message().contains(expected), "{key}: {error}");
    }
    let error = open_error(&tiny_with(&[], &[("blk.0.attn_q.bias", &[WIDTH])]));
    assert!(error.message().contains("`blk.0.attn_q.bias`"), "{error}");
    assert!(open_error(b"no weights at all").message().contains("not a GGUF file"));
}

/// Overlapping tensors would need more memory than the file has bytes.
#[test]
fn tensors_that_share_their_bytes_are_rejected() {
    let mut file = tiny();
    let layer_tensors =
        ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down", "attn_norm", "ffn_norm"];
    let layer_tensors = layer_tensors.iter().flat_map(|name| [format!("blk.0.{name}"), format!("blk.1.{name}")]);
    for name in layer_tensors.chain(["token_embd".to_owned(), "output_norm".to_owned()]) {
        // The number of dimensions, the dimensions, the type; then the offset.
        let at = end_of(&file, format!("{name}.weight").as_bytes());
        let at = at + 8 + 8 * usize::from(file[at]);
        file[at..at + 8].copy_from_slice(&0_u64.to_le_bytes());
    }
    // Leaves space for the largest tensor.
    file.truncate(header_end(&file) + 32 + 259 * WIDTH / 32 * 20);
    assert!(open_error(&file).message().contains("overlap"));
}
