//! The llama architecture: from tokens to the logits of the next token.
//!
//! Plain arithmetic on one thread, in a fixed order: the same tokens give the same numbers, bit for bit, on the
//! same kind of processor. A [`KvCache`] caches keys and values, so that a further token costs one pass over the
//! weights. This module does not handle text.

use crate::matrix::{Matrix, Vectors, WeightsFile};
use crate::shape::Shape;

/// A loaded model.
pub(crate) struct Llama {
    shape: Shape,
    embedding: Matrix,
    layers: Vec<Layer>,
    norm: Vec<f32>,
    /// Output projection; if the file has none, the transposed embedding is used.
    output: Option<Matrix>,
    /// Rotary position embedding: rotation per position of each pair of numbers of a head.
    rope_frequencies: Vec<f32>,
}

struct Layer {
    attention_norm: Vec<f32>,
    query: Matrix,
    key: Matrix,
    value: Matrix,
    attention_output: Matrix,
    inner_norm: Vec<f32>,
    gate: Matrix,
    up: Matrix,
    down: Matrix,
}

/// Key-value cache: the keys and values of every processed token, layer by layer.
pub(crate) struct KvCache {
    layers: Vec<(Vec<f32>, Vec<f32>)>,
    length: usize,
}

impl KvCache {
    /// Returns the number of processed tokens.
    pub(crate) fn length(&self) -> usize {
        self.length
    }
}

impl Llama {
    /// Loads a model with a vocabulary of this size.
    pub(crate) fn load(file: &mut WeightsFile, shape: Shape, vocabulary: usize) -> Result<Self, String> {
        reject_unknown(file, &shape)?;
        let embedding = file.matrix("token_embd.weight", vocabulary, shape.width)?;
        let layers = (0..shape.layers).map(|number| Layer::load(file, &shape, number)).collect::<Result<_, _>>()?;
        let norm = file.numbers("output_norm.weight", &[shape.width])?;
        let output = match file.has("output.weight") {
            true => Some(file.matrix("output.weight", vocabulary, shape.width)?),
            false => None,
        };
        let head = shape.head();
        let rope_frequencies =
            (0..head / 2).map(|pair| shape.rope_base.powf(-2.0 * pair as f32 / head as f32)).collect::<Vec<_>>();
        Ok(Self { shape, embedding, layers, norm, output, rope_frequencies })
    }

    /// Returns the maximum number of tokens in the context.
    pub(crate) fn context(&self) -> usize {
        self.shape.context
    }

    /// Returns an empty cache.
    pub(crate) fn empty_cache(&self) -> KvCache {
        KvCache { layers: vec![(Vec::new(), Vec::new()); self.layers.len()], length: 0 }
    }

    /// Processes at least one token; returns the logits of the next token.
    pub(crate) fn forward(&self, cache: &mut KvCache, tokens: &[u32]) -> Vec<f32> {
        let width = self.shape.width;
        let mut state = vec![0.0; tokens.len() * width];
        for (token, state) in tokens.iter().zip(state.chunks_exact_mut(width)) {
            // The tokenizer returns no token outside the embedding, but an index out of range must not panic.
            let row = (*token as usize).min(self.embedding.rows() - 1);
            self.embedding.write_row(row, state);
        }
        for (layer, layer_cache) in self.layers.iter().zip(&mut cache.layers) {
            self.attention(layer, layer_cache, cache.length, &mut state);
            self.feed_forward(layer, &mut state);
        }
        cache.length += tokens.len();
        let last = &state[state.len() - width..];
        let last = Vectors::new(&self.rms_norm(last, &self.norm));
        self.output.as_ref().unwrap_or(&self.embedding).multiply(&last)
    }

    /// Computes self-attention: each token attends to itself and to the tokens before it.
    fn attention(
        &self,
        layer: &Layer,
        (keys, values): &mut (Vec<f32>, Vec<f32>),
        first_position: usize,
        state: &mut [f32],
    ) {
        let input = Vectors::new(&self.rms_norm(state, &layer.attention_norm));
        let mut queries = layer.query.multiply(&input);
        let mut new_keys = layer.key.multiply(&input);
        self.rotate(&mut queries, self.shape.width, first_position);
        self.rotate(&mut new_keys, self.shape.kv_width(), first_position);
        keys.extend(new_keys);
        values.extend(layer.value.multiply(&input));
        let mut output = vec![0.0; queries.len()];
        let (width, head, group_size) = (self.shape.width, self.shape.head(), self.shape.heads / self.shape.kv_heads);
        for (number, (query, output)) in queries.chunks_exact(head).zip(output.chunks_exact_mut(head)).enumerate() {
            let (position, offset) =
                (first_position + number * head / width, number % self.shape.heads / group_size * head);
            let head_cache = HeadCache { keys, values, stride: self.shape.kv_width(), offset, length: position + 1 };
            head_cache.add_attention(query, output);
        }
        add_assign(state, &layer.attention_output.multiply(&Vectors::new(&output)));
    }

    /// Computes the feed-forward network, for each token on its own.
    fn feed_forward(&self, layer: &Layer, state: &mut [f32]) {
        let input = Vectors::new(&self.rms_norm(state, &layer.inner_norm));
        let mut inner = layer.gate.multiply(&input);
        for (gate, up) in inner.iter_mut().zip(layer.up.multiply(&input)) {
            *gate = *gate / (1.0 + (-*gate).exp()) * up;
        }
        add_assign(state, &layer.down.multiply(&Vectors::new(&inner)));
    }

    /// Applies the rotary position embedding: rotates the adjacent pairs of each head by the position of the token.
    fn rotate(&self, vectors: &mut [f32], width: usize, first_position: usize) {
        for (number, vector) in vectors.chunks_exact_mut(width).enumerate() {
            let position = (first_position + number) as f32;
            for (pair, frequency) in vector.chunks_exact_mut(2).zip(self.rope_frequencies.iter().cycle()) {
                let (sine, cosine) = (position * frequency).sin_cos();
                (pair[0], pair[1]) = (pair[0] * cosine - pair[1] * sine, pair[0] * sine + pair[1] * cosine);
            }
        }
    }

    fn rms_norm(&self, state: &[f32], weights: &[f32]) -> Vec<f32> {
        let mut normalized = Vec::with_capacity(state.len());
        for vector in state.chunks_exact(weights.len()) {
            let mean = dot(vector, vector) / vector.len() as f32;
            let scale = 1.0 / (mean + self.shape.epsilon).sqrt();
            normalized.extend(vector.iter().zip(weights).map(|(number, weight)| number * scale * weight));
        }
        normalized
    }
}

impl Layer {
    fn load(file: &mut WeightsFile, shape: &Shape, number: usize) -> Result<Self, String> {
        let (width, kv_width, inner) = (shape.width, shape.kv_width(), shape.inner);
        let name = |part: &str| format!("blk.{number}.{part}.weight");
        Ok(Self {
            attention_norm: file.numbers(&name("attn_norm"), &[width])?,
            query: file.matrix(&name("attn_q"), width, width)?,
            key: file.matrix(&name("attn_k"), kv_width, width)?,
            value: file.matrix(&name("attn_v"), kv_width, width)?,
            attention_output: file.matrix(&name("attn_output"), width, width)?,
            inner_norm: file.numbers(&name("ffn_norm"), &[width])?,
            gate: file.matrix(&name("ffn_gate"), inner, width)?,
            up: file.matrix(&name("ffn_up"), inner, width)?,
            down: file.matrix(&name("ffn_down"), width, inner)?,
        })
    }
}

/// Rejects a file with unknown tensors: ignoring one would change every response.
fn reject_unknown(file: &WeightsFile, shape: &Shape) -> Result<(), String> {
    const LAYER_TENSORS: [&str; 9] =
        ["attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_up", "ffn_down"];
    let is_known = |name: &str| {
        let part = |name: &str| {
            let (number, part) = name.strip_prefix("blk.")?.split_once('.')?;
            let is_layer = number.parse::<usize>().is_ok_and(|number| number < shape.layers);
            Some(is_layer && LAYER_TENSORS.contains(&part.strip_suffix(".weight")?))
        };
        ["token_embd.weight", "output_norm.weight", "output.weight"].contains(&name) || part(name).unwrap_or(false)
    };
    let mut unknown: Vec<&str> = file.content.tensor_infos.keys().map(String::as_str).collect();
    unknown.retain(|name| !is_known(name));
    match unknown.iter().min() {
        None => Ok(()),
        Some(name) => Err(format!("unexpected tensor `{name}` in a llama model")),
    }
}

/// Keys and values that one head attends to.
struct HeadCache<'a> {
    keys: &'a [f32],
    values: &'a [f32],
    stride: usize,
    offset: usize,
    length: usize,
}

impl HeadCache<'_> {
    /// Adds the values of the tokens, weighted by the attention of the query to their keys.
    fn add_attention(&self, query: &[f32], output: &mut [f32]) {
        let scale = 1.0 / (query.len() as f32).sqrt();
        let range_of = |numbers: &'_ [f32], token: usize| {
            let from = token * self.stride + self.offset;
            from..(from + query.len()).min(numbers.len())
        };
        let mut weights: Vec<f32> =
            (0..self.length).map(|token| dot(query, &self.keys[range_of(self.keys, token)]) * scale).collect();
        let max = weights.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        weights.iter_mut().for_each(|weight| *weight = (*weight - max).exp());
        let sum: f32 = weights.iter().sum();
        for (token, weight) in weights.iter().enumerate() {
            let values = &self.values[range_of(self.values, token)];
            output.iter_mut().zip(values).for_each(|(output, value)| *output += value * weight / sum);
        }
    }
}

/// Computes a dot product with eight parallel sums: a single sum must be added in order, which is slow on every
/// processor.
fn dot(left: &[f32], right: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 8];
    let (left, right) = (left.chunks_exact(8), right.chunks_exact(8));
    let remainder_sum: f32 = left.remainder().iter().zip(right.remainder()).map(|(left, right)| left * right).sum();
    for (left, right) in left.zip(right) {
        for ((sum, left), right) in sums.iter_mut().zip(left).zip(right) {
            *sum += left * right;
        }
    }
    sums.iter().sum::<f32>() + remainder_sum
}

fn add_assign(state: &mut [f32], addend: &[f32]) {
    state.iter_mut().zip(addend).for_each(|(state, addend)| *state += addend);
}
