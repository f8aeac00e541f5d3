//! Dimensions of the model from the metadata of a file, checked for consistency.

use candle_core::quantized::gguf_file::{Content, Value};

/// Dimensions of a model.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) layers: usize,
    pub(crate) width: usize,
    pub(crate) inner: usize,
    pub(crate) heads: usize,
    pub(crate) kv_heads: usize,
    pub(crate) context: usize,
    pub(crate) epsilon: f32,
    pub(crate) rope_base: f32,
}

impl Shape {
    /// Reads the dimensions from the metadata of a file.
    pub(crate) fn read(content: &Content) -> Result<Self, String> {
        match text(content, "general.architecture") {
            Some("llama") => {}
            other => {
                return Err(format!(
                    "unsupported architecture `{}`; only `llama` is supported",
                    other.unwrap_or_default()
                ));
            }
        }
        if let Some(scaling) = text(content, "llama.rope.scaling.type").filter(|kind| *kind != "none") {
            return Err(format!("unsupported RoPE scaling `{scaling}`"));
        }
        let heads = number(content, "llama.attention.head_count", 1..=1024)?;
        let shape = Self {
            layers: number(content, "llama.block_count", 1..=1024)?,
            width: number(content, "llama.embedding_length", 32..=65_536)?,
            inner: number(content, "llama.feed_forward_length", 32..=262_144)?,
            heads,
            kv_heads: match content.metadata.contains_key("llama.attention.head_count_kv") {
                true => number(content, "llama.attention.head_count_kv", 1..=heads)?,
                false => heads,
            },
            context: number(content, "llama.context_length", 1..=1 << 20)?,
            epsilon: fraction(content, "llama.attention.layer_norm_rms_epsilon", None)?,
            rope_base: fraction(content, "llama.rope.freq_base", Some(10_000.0))?,
        };
        shape.validate(content)?;
        Ok(shape)
    }

    /// Returns the number of elements of one head.
    pub(crate) fn head(&self) -> usize {
        self.width / self.heads
    }

    /// Returns the number of elements cached per token: its keys, or its values.
    pub(crate) fn kv_width(&self) -> usize {
        self.kv_heads * self.head()
    }

    fn validate(&self, content: &Content) -> Result<(), String> {
        let check_multiple = |label: &str, number: usize, part: usize| {
            if number.is_multiple_of(part) {
                Ok(())
            } else {
                Err(format!("{label} {number} is not a multiple of {part}"))
            }
        };
        check_multiple("the width", self.width, self.heads)?;
        check_multiple("the head width", self.head(), 2)?;
        check_multiple("the number of heads", self.heads, self.kv_heads)?;
        // The kernels multiply blocks of 32.
        for (label, number) in [("the width", self.width), ("the inner width", self.inner)] {
            check_multiple(label, number, 32)?;
        }
        if content.metadata.contains_key("llama.rope.dimension_count") {
            let rotated = number(content, "llama.rope.dimension_count", 1..=65_536)?;
            if rotated != self.head() {
                return Err(format!(
                    "partial RoPE ({rotated} of {} dimensions of a head) is not supported",
                    self.head()
                ));
            }
        }
        Ok(())
    }
}

/// Returns the name of the model.
pub(crate) fn name(content: &Content) -> Option<String> {
    let parts = text(content, "general.basename").zip(text(content, "general.size_label"));
    let name = parts.map(|(base, size)| format!("{base}-{size}"));
    let name = name.or_else(|| text(content, "general.name").map(str::to_owned))?;
    // The name is shown to users, and the file may come from an untrusted source.
    let name: String = name.chars().filter(|letter| !letter.is_control()).take(80).collect();
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// Returns a string of the metadata.
pub(crate) fn text<'a>(content: &'a Content, key: &str) -> Option<&'a str> {
    content.metadata.get(key)?.to_string().ok().map(String::as_str)
}

/// Returns an array of the metadata.
pub(crate) fn array<'a>(content: &'a Content, key: &str) -> Result<&'a [Value], String> {
    let value = content.metadata.get(key).ok_or_else(|| format!("`{key}` is missing"))?;
    value.to_vec().map(Vec::as_slice).map_err(|_| format!("`{key}` is not an array"))
}

fn number(content: &Content, key: &str, range: std::ops::RangeInclusive<usize>) -> Result<usize, String> {
    let value = content.metadata.get(key).ok_or_else(|| format!("`{key}` is missing"))?;
    let number = value.to_u64().ok().and_then(|number| usize::try_from(number).ok());
    let number = number.filter(|number| range.contains(number));
    number.ok_or_else(|| format!("`{key}` is not a number from {} to {}", range.start(), range.end()))
}

fn fraction(content: &Content, key: &str, default: Option<f32>) -> Result<f32, String> {
    let Some(value) = content.metadata.get(key) else {
        return default.ok_or_else(|| format!("`{key}` is missing"));
    };
    let number = value.to_f32().ok().filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| format!("`{key}` is not a number above 0"))
}
