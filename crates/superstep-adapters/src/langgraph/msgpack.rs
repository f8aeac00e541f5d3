//! Reader of LangGraph's MessagePack that returns plain data.
//!
//! Values that Python would construct are converted and never constructed (see `python_values`). Lengths are not
//! trusted: each one is checked against the remaining bytes, and the nesting depth is limited.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmp::Marker;
use serde_json::{Map, Number, Value};

use super::python_values::decode_extension;

/// Maximum nesting of values that is read; stores accept slightly more.
pub(super) const MAX_DEPTH: usize = 100;

/// A decoded value, or the reason why it cannot be read.
pub(super) type DecodeResult<T> = Result<T, String>;

/// Decodes one value that uses all of the bytes.
pub(super) fn read(bytes: &[u8]) -> DecodeResult<Value> {
    read_at(bytes, 0)
}

/// Decodes like [`read`], for a value at a nesting depth.
pub(super) fn read_at(bytes: &[u8], depth: usize) -> DecodeResult<Value> {
    let mut reader = MsgpackReader { bytes };
    let value = reader.value(depth)?;
    if reader.bytes.is_empty() {
        Ok(value)
    } else {
        Err(format!("{} unexpected bytes after the value", reader.bytes.len()))
    }
}

/// Converts bytes to plain data.
pub(super) fn plain_bytes(bytes: &[u8]) -> Value {
    Value::Object(Map::from_iter([("__bytes__".to_owned(), STANDARD.encode(bytes).into())]))
}

/// Returns the bytes of a value created by [`plain_bytes`].
pub(super) fn as_bytes(value: &Value) -> Option<Vec<u8>> {
    STANDARD.decode(value.get("__bytes__")?.as_str()?).ok()
}

struct MsgpackReader<'a> {
    bytes: &'a [u8],
}

impl<'a> MsgpackReader<'a> {
    fn take(&mut self, length: usize) -> DecodeResult<&'a [u8]> {
        let (bytes, rest) = self.bytes.split_at_checked(length).ok_or("unexpected end of data")?;
        self.bytes = rest;
        Ok(bytes)
    }

    fn number<const N: usize>(&mut self) -> DecodeResult<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| "unexpected end of data".to_owned())
    }

    /// Reads a length of one, two or four bytes.
    fn length(&mut self, width: usize) -> DecodeResult<usize> {
        Ok(self.take(width)?.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)))
    }

    fn value(&mut self, depth: usize) -> DecodeResult<Value> {
        if depth > MAX_DEPTH {
            return Err(format!("values exceed the maximum depth of {MAX_DEPTH}"));
        }
        let [byte] = self.number()?;
        Ok(match Marker::from_u8(byte) {
            Marker::Null => Value::Null,
            Marker::True => true.into(),
            Marker::False => false.into(),
            Marker::FixPos(number) => number.into(),
            Marker::FixNeg(number) => number.into(),
            Marker::U8 => u8::from_be_bytes(self.number()?).into(),
            Marker::U16 => u16::from_be_bytes(self.number()?).into(),
            Marker::U32 => u32::from_be_bytes(self.number()?).into(),
            Marker::U64 => u64::from_be_bytes(self.number()?).into(),
            Marker::I8 => i8::from_be_bytes(self.number()?).into(),
            Marker::I16 => i16::from_be_bytes(self.number()?).into(),
            Marker::I32 => i32::from_be_bytes(self.number()?).into(),
            Marker::I64 => i64::from_be_bytes(self.number()?).into(),
            Marker::F32 => float(f32::from_be_bytes(self.number()?).into()),
            Marker::F64 => float(f64::from_be_bytes(self.number()?)),
            marker => return self.compound(marker, depth),
        })
    }

    fn compound(&mut self, marker: Marker, depth: usize) -> DecodeResult<Value> {
        match marker {
            Marker::FixStr(length) => self.text(usize::from(length)),
            Marker::Str8 => self.length(1).and_then(|length| self.text(length)),
            Marker::Str16 => self.length(2).and_then(|length| self.text(length)),
            Marker::Str32 => self.length(4).and_then(|length| self.text(length)),
            Marker::Bin8 => self.length(1).and_then(|length| self.take(length)).map(plain_bytes),
            Marker::Bin16 => self.length(2).and_then(|length| self.take(length)).map(plain_bytes),
            Marker::Bin32 => self.length(4).and_then(|length| self.take(length)).map(plain_bytes),
            Marker::FixArray(length) => self.list(usize::from(length), depth),
            Marker::Array16 => self.length(2).and_then(|length| self.list(length, depth)),
            Marker::Array32 => self.length(4).and_then(|length| self.list(length, depth)),
            Marker::FixMap(length) => self.map(usize::from(length), depth),
            Marker::Map16 => self.length(2).and_then(|length| self.map(length, depth)),
            Marker::Map32 => self.length(4).and_then(|length| self.map(length, depth)),
            Marker::FixExt1 => self.extension(1, depth),
            Marker::FixExt2 => self.extension(2, depth),
            Marker::FixExt4 => self.extension(4, depth),
            Marker::FixExt8 => self.extension(8, depth),
            Marker::FixExt16 => self.extension(16, depth),
            Marker::Ext8 => self.length(1).and_then(|length| self.extension(length, depth)),
            Marker::Ext16 => self.length(2).and_then(|length| self.extension(length, depth)),
            Marker::Ext32 => self.length(4).and_then(|length| self.extension(length, depth)),
            other => Err(format!("unexpected marker {other:?}")),
        }
    }

    fn text(&mut self, length: usize) -> DecodeResult<Value> {
        let text = std::str::from_utf8(self.take(length)?).map_err(|_| "a string is not valid UTF-8")?;
        Ok(text.into())
    }

    fn list(&mut self, length: usize, depth: usize) -> DecodeResult<Value> {
        // No capacity is reserved: the length may be wrong.
        let mut items = Vec::new();
        for _ in 0..length {
            items.push(self.value(depth + 1)?);
        }
        Ok(Value::Array(items))
    }

    fn map(&mut self, length: usize, depth: usize) -> DecodeResult<Value> {
        let mut map = Map::new();
        for _ in 0..length {
            let key = key(self.value(depth + 1)?)?;
            if map.contains_key(&key) {
                return Err(format!("duplicate map key `{key}`"));
            }
            map.insert(key, self.value(depth + 1)?);
        }
        Ok(Value::Object(map))
    }

    fn extension(&mut self, length: usize, depth: usize) -> DecodeResult<Value> {
        let [code] = self.number()?;
        decode_extension(code.cast_signed(), self.take(length)?, depth + 1)
    }
}

/// Converts a map key to text: Python accepts any hashable key, JSON only text. Maps inside a key are rejected; they
/// are not hashable in Python, and as text their length would double with each level.
fn key(value: Value) -> DecodeResult<String> {
    fn has_map(value: &Value) -> bool {
        match value {
            Value::Object(_) => true,
            Value::Array(items) => items.iter().any(has_map),
            _ => false,
        }
    }
    match value {
        Value::String(text) => Ok(text),
        other if has_map(&other) => Err("a map key is a map or contains one".to_owned()),
        other => Ok(other.to_string()),
    }
}

/// Converts a float; NaN and infinity become null because JSON cannot express them.
fn float(number: f64) -> Value {
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests;
