//! The llama architecture: from tokens to the logits of the next token.
//!
//! Plain arithmetic on one thread, in a fixed order: the same tokens give the same numbers, bit for bit, on the
//! same kind of processor. A [`Past`] caches keys and values, so that a further token costs one pass over the
//! weights. This module does not handle text.

use crate::matrix::{Matrix, Source, Vectors};
use crate::shape::Shape;

/// A loaded model.
pub(crate) struct Llama {
    shape: Shape,
    embedding: Matrix,
    layers: Vec<Layer>,
    norm: Vec<f32>,
    /// Output projection; if the file has none, the transposed embedding is used.
    output: Option<Matrix>,
    /// Rotation per position of each pair of numbers of a head.
    turns: Vec<f32>,
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
pub(crate) struct Past {
    layers: Vec<(Vec<f32>, Vec<f32>)>,
    length: usize,
}

impl Past {
    /// Returns the number of processed tokens.
    pub(crate) fn length(&self) -> usize {
        self.length
    }
}

impl Llama {
    /// Loads a model with a vocabulary of this size.
    pub(crate) fn load(source: &mut Source, shape: Shape, vocabulary: usize) -> Result<Self, String> {
        reject_unknown(source, &shape)?;
        let embedding = source.matrix("token_embd.weight", vocabulary, shape.width)?;
        let layers = (0..shape.layers).map(|number| Layer::load(source, &shape, number)).collect::<Result<_, _>>()?;
        let norm = source.numbers("output_norm.weight", &[shape.width])?;
        let output = match source.has("output.weight") {
            true => Some(source.matrix("output.weight", vocabulary, shape.width)?),
            false => None,
        };
        let head = shape.head();
        let turns =
            (0..head / 2).map(|pair| shape.rope_base.powf(-2.0 * pair as f32 / head as f32)).collect::<Vec<_>>();
        Ok(Self { shape, embedding, layers, norm, output, turns })
    }

    /// Returns the maximum number of tokens in the context.
    pub(crate) fn context(&self) -> usize {
        self.shape.context
    }

    /// Returns an empty cache.
    pub(crate) fn begin(&self) -> Past {
        Past { layers: vec![(Vec::new(), Vec::new()); self.layers.len()], length: 0 }
    }

    /// Processes at least one token; returns the logits of the next token.
    pub(crate) fn read(&self, past: &mut Past, tokens: &[u32]) -> Vec<f32> {
        let width = self.shape.width;
        let mut state = vec![0.0; tokens.len() * width];
        for (token, state) in tokens.iter().zip(state.chunks_exact_mut(width)) {
            // The tokenizer returns no token outside the embedding, but an index out of range must not panic.
            let row = (*token as usize).min(self.embedding.rows() - 1);
            self.embedding.write_row(row, state);
        }
        for (layer, cache) in self.layers.iter().zip(&mut past.layers) {
            self.attend(layer, cache, past.length, &mut state);
            self.think(layer, &mut state);
        }
        past.length += tokens.len();
        let last = &state[state.len() - width..];
        let last = Vectors::new(&self.normed(last, &self.norm));
        self.output.as_ref().unwrap_or(&self.embedding).multiply(&last)
    }

    /// Computes self-attention: each token attends to itself and to the tokens before it.
    fn attend(&self, layer: &Layer, (keys, values): &mut (Vec<f32>, Vec<f32>), before: usize, state: &mut [f32]) {
        let input = Vectors::new(&self.normed(state, &layer.attention_norm));
        let mut queries = layer.query.multiply(&input);
        let mut new_keys = layer.key.multiply(&input);
        self.turn(&mut queries, self.shape.width, before);
        self.turn(&mut new_keys, self.shape.kv_width(), before);
        keys.extend(new_keys);
        values.extend(layer.value.multiply(&input));
        let mut seen = vec![0.0; queries.len()];
        let (width, head, share) = (self.shape.width, self.shape.head(), self.shape.heads / self.shape.key_heads);
        for (number, (query, seen)) in queries.chunks_exact(head).zip(seen.chunks_exact_mut(head)).enumerate() {
            let (position, offset) = (before + number * head / width, number % self.shape.heads / share * head);
            let view = View { keys, values, stride: self.shape.kv_width(), offset, length: position + 1 };
            view.add_attention(query, seen);
        }
        add(state, &layer.attention_output.multiply(&Vectors::new(&seen)));
    }

    /// Computes the feed-forward network, for each token on its own.
    fn think(&self, layer: &Layer, state: &mut [f32]) {
        let input = Vectors::new(&self.normed(state, &layer.inner_norm));
        let mut inner = layer.gate.multiply(&input);
        for (gate, up) in inner.iter_mut().zip(layer.up.multiply(&input)) {
            *gate = *gate / (1.0 + (-*gate).exp()) * up;
        }
        add(state, &layer.down.multiply(&Vectors::new(&inner)));
    }

    /// Applies the rotary position embedding: rotates the adjacent pairs of each head by the position of the token.
    fn turn(&self, vectors: &mut [f32], width: usize, before: usize) {
        for (number, vector) in vectors.chunks_exact_mut(width).enumerate() {
            let position = (before + number) as f32;
            for (pair, turn) in vector.chunks_exact_mut(2).zip(self.turns.iter().cycle()) {
                let (sine, cosine) = (position * turn).sin_cos();
                (pair[0], pair[1]) = (pair[0] * cosine - pair[1] * sine, pair[0] * sine + pair[1] * cosine);
            }
        }
    }

    fn normed(&self, state: &[f32], weights: &[f32]) -> Vec<f32> {
        let mut normed = Vec::with_capacity(state.len());
        for vector in state.chunks_exact(weights.len()) {
            let mean = dot(vector, vector) / vector.len() as f32;
            let scale = 1.0 / (mean + self.shape.epsilon).sqrt();
            normed.extend(vector.iter().zip(weights).map(|(number, weight)| number * scale * weight));
        }
        normed
    }
}

impl Layer {
    fn load(source: &mut Source, shape: &Shape, number: usize) -> Result<Self, String> {
        let (width, kv_width, inner) = (shape.width, shape.kv_width(), shape.inner);
        let name = |part: &str| format!("blk.{number}.{part}.weight");
        Ok(Self {
            attention_norm: source.numbers(&name("attn_norm"), &[width])?,
            query: source.matrix(&name("attn_q"), width, width)?,
            key: source.matrix(&name("attn_k"), kv_width, width)?,
            value: source.matrix(&name("attn_v"), kv_width, width)?,
            attention_output: source.matrix(&name("attn_output"), width, width)?,
            inner_norm: source.numbers(&name("ffn_norm"), &[width])?,
            gate: source.matrix(&name("ffn_gate"), inner, width)?,
            up: source.matrix(&name("ffn_up"), inner, width)?,
            down: source.matrix(&name("ffn_down"), width, inner)?,
        })
    }
}

/// Rejects a file with unknown tensors: ignoring one would change every response.
fn reject_unknown(source: &Source, shape: &Shape) -> Result<(), String> {
    const PARTS: [&str; 9] =
        ["attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_up", "ffn_down"];
    let is_known = |name: &str| {
        let part = |name: &str| {
            let (number, part) = name.strip_prefix("blk.")?.split_once('.')?;
            let is_layer = number.parse::<usize>().is_ok_and(|number| number < shape.layers);
            Some(is_layer && PARTS.contains(&part.strip_suffix(".weight")?))
        };
        ["token_embd.weight", "output_norm.weight", "output.weight"].contains(&name) || part(name).unwrap_or(false)
    };
    let mut unknown: Vec<&str> = source.content.tensor_infos.keys().map(String::as_str).collect();
    unknown.retain(|name| !is_known(name));
    match unknown.iter().min() {
        None => Ok(()),
        Some(name) => Err(format!("unexpected tensor `{name}` in a llama model")),
    }
}

/// Keys and values that one head attends to.
struct View<'a> {
    keys: &'a [f32],
    values: &'a [f32],
    stride: usize,
    offset: usize,
    length: usize,
}

impl View<'_> {
    /// Adds the values of the tokens, weighted by the attention of the query to their keys.
    fn add_attention(&self, query: &[f32], seen: &mut [f32]) {
        let scale = 1.0 / (query.len() as f32).sqrt();
        let of = |numbers: &'_ [f32], token: usize| {
            let from = token * self.stride + self.offset;
            from..(from + query.len()).min(numbers.len())
        };
        let mut weights: Vec<f32> =
            (0..self.length).map(|token| dot(query, &self.keys[of(self.keys, token)]) * scale).collect();
        let most = weights.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        weights.iter_mut().for_each(|weight| *weight = (*weight - most).exp());
        let sum: f32 = weights.iter().sum();
        for (token, weight) in weights.iter().enumerate() {
            let values = &self.values[of(self.values, token)];
            seen.iter_mut().zip(values).for_each(|(seen, value)| *seen += value * weight / sum);
        }
    }
}

/// Computes a dot product with eight parallel sums: a single sum must be added in order, which is slow on every
/// processor.
fn dot(left: &[f32], right: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 8];
    let (left, right) = (left.chunks_exact(8), right.chunks_exact(8));
    let rest: f32 = left.remainder().iter().zip(right.remainder()).map(|(left, right)| left * right).sum();
    for (left, right) in left.zip(right) {
        for ((sum, left), right) in sums.iter_mut().zip(left).zip(right) {
            *sum += left * right;
        }
    }
    sums.iter().sum::<f32>() + rest
}

fn add(state: &mut [f32], more: &[f32]) {
    state.iter_mut().zip(more).for_each(|(state, more)| *state += more);
}
