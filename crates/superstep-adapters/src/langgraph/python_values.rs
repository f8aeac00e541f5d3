//! Conversion of values that Python would construct from a module, a name and arguments: here they become plain data.
//!
//! No name is resolved and nothing is called. The name only decides how the arguments are represented:
//! `datetime.timedelta(1, 2, 0)` becomes a duration, `os.system("..")` becomes the text of its argument.

use serde_json::{Map, Number, Value};
use superstep_core::json_reducer::overwrite_marker;
use superstep_core::message::Message;

use super::msgpack::{DecodeResult, MAX_DEPTH, as_bytes, read_at};

/// Converts a MessagePack extension of LangGraph to plain data.
pub(super) fn decode_extension(code: i8, payload: &[u8], depth: usize) -> DecodeResult<Value> {
    match code {
        7 => read_at(payload, depth),
        6 => array(read_at(payload, depth)?, depth),
        0..=5 => {
            let parts = read_at(payload, depth)?;
            let (Some(module), Some(name), Some(argument)) = (text(&parts, 0), text(&parts, 1), parts.get(2).cloned())
            else {
                return Err(format!("extension {code} has no module, name and argument"));
            };
            Ok(match code {
                0 => from_single_arg(name, argument),
                1 => from_args(module, name, argument),
                2 => from_kwargs(module, name, argument),
                3 => argument,
                _ => from_pydantic(module, argument),
            })
        }
        _ => Err(format!("unknown extension {code}")),
    }
}

fn text(parts: &Value, index: usize) -> Option<&str> {
    parts.get(index)?.as_str()
}

/// Converts a type with one argument, such as a set, an enum or a decimal: the result is the argument.
fn from_single_arg(name: &str, argument: Value) -> Value {
    match argument.as_str() {
        Some(hex) if name == "UUID" && hex.len() == 32 && hex.is_ascii() => {
            [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-").into()
        }
        _ => argument,
    }
}

fn from_args(module: &str, name: &str, arguments: Value) -> Value {
    let number = |index: usize| arguments.get(index).and_then(Value::as_i64);
    let converted = match (module, name) {
        ("datetime", "timedelta") => number(0).zip(number(1)).zip(number(2)).and_then(duration),
        ("datetime", "date") => number(0)
            .zip(number(1))
            .zip(number(2))
            .map(|((year, month), day)| format!("{year:04}-{month:02}-{day:02}").into()),
        ("datetime", "timezone") | ("re", "compile") => arguments.get(0).cloned(),
        (module, _) if module.starts_with("pathlib") => path(&arguments),
        ("langgraph.types", "Send") => send(&arguments),
        _ => None,
    };
    converted.unwrap_or(arguments)
}

/// Formats a duration as ISO 8601 in seconds.
fn duration(((days, seconds), micros): ((i64, i64), i64)) -> Option<Value> {
    let seconds = days.checked_mul(86_400)?.checked_add(seconds)?;
    let micros = i128::from(seconds) * 1_000_000 + i128::from(micros);
    let (sign, micros) = (if micros < 0 { "-" } else { "" }, micros.unsigned_abs());
    let fraction = format!(".{:06}", micros % 1_000_000);
    let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
    Some(format!("{sign}PT{}{fraction}S", micros / 1_000_000).into())
}

fn path(parts: &Value) -> Option<Value> {
    let parts: Option<Vec<&str>> = parts.as_array()?.iter().map(Value::as_str).collect();
    let joined = parts?.join("/");
    // The first part of an absolute path is its root.
    Some(joined.strip_prefix("//").map_or(joined.clone(), |rest| format!("/{rest}")).into())
}

fn send(arguments: &Value) -> Option<Value> {
    let mut send = Map::new();
    send.insert("node".to_owned(), arguments.get(0)?.clone());
    send.insert("arg".to_owned(), arguments.get(1)?.clone());
    if let Some(timeout) = arguments.get(2) {
        send.insert("timeout".to_owned(), timeout.clone());
    }
    Some(Value::Object(send))
}

fn from_kwargs(module: &str, name: &str, arguments: Value) -> Value {
    match (module, name) {
        ("datetime", "time") => time(&arguments).unwrap_or(arguments),
        ("langgraph.types", "Overwrite") => match arguments.get("value") {
            Some(value) => overwrite_marker(value.clone()),
            None => arguments,
        },
        _ => arguments,
    }
}

fn time(arguments: &Value) -> Option<Value> {
    let number = |name: &str| arguments.get(name)?.as_u64();
    let (hour, minute, second) = (number("hour")?, number("minute")?, number("second")?);
    if !arguments.get("tzinfo").is_none_or(Value::is_null) {
        return None;
    }
    let fraction = number("microsecond").filter(|micros| *micros > 0).map_or_else(String::new, |n| format!(".{n:06}"));
    Some(format!("{hour:02}:{minute:02}:{second:02}{fraction}").into())
}

/// Converts a Pydantic model: a LangChain message becomes a [`Message`], any other model the object of its fields.
fn from_pydantic(module: &str, fields: Value) -> Value {
    if module.starts_with("langchain_core.messages") || module.starts_with("langchain.schema") {
        message(fields)
    } else {
        fields
    }
}

/// Converts the fields of a message; returns the fields unchanged if they are not a known message.
pub(super) fn message(fields: Value) -> Value {
    let Value::Object(mut map) = fields.clone() else { return fields };
    // LangChain writes all keys, most of them without a value.
    let has_no_value = |key: &str, value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => key == "invalid_tool_calls" && items.is_empty(),
        _ => false,
    };
    map.retain(|key, value| !has_no_value(key, value));
    let parsed = Message::try_from(Value::Object(map)).ok();
    parsed.and_then(|message| serde_json::to_value(message).ok()).unwrap_or(fields)
}

/// Converts a numpy array to nested lists.
fn array(parts: Value, depth: usize) -> DecodeResult<Value> {
    let bytes = parts.get(3).and_then(as_bytes).ok_or("a numpy array has no bytes")?;
    let (Some(kind), Some(order)) = (text(&parts, 0), text(&parts, 2)) else {
        return Err("a numpy array has no type and order".to_owned());
    };
    let shape = parts.get(1).and_then(Value::as_array).ok_or("a numpy array has no shape")?;
    let shape: Option<Vec<usize>> =
        shape.iter().map(|length| length.as_u64().and_then(|length| length.try_into().ok())).collect();
    let shape = shape.ok_or("a numpy array has no shape")?;
    if depth + shape.len() > MAX_DEPTH {
        return Err(format!("a numpy array has {} dimensions", shape.len()));
    }
    let width = kind.get(2..).and_then(|width| width.parse().ok()).unwrap_or(0_usize);
    let expected_bytes = shape.iter().try_fold(width, |length, dimension| length.checked_mul(*dimension));
    if width == 0 || number(kind, &[0; 16][..width.min(16)]).is_none() {
        return Err(format!("a numpy array has the unsupported element type `{kind}`"));
    }
    // An array without elements could have sides of any length, which would all be written.
    let dimension_product =
        shape.iter().try_fold(1_usize, |product, dimension| product.checked_mul((*dimension).max(1)));
    if dimension_product.is_none_or(|dimension_product| dimension_product > bytes.len().max(1 << 16)) {
        return Err("the dimensions of a numpy array exceed its data".to_owned());
    }
    if expected_bytes != Some(bytes.len()) {
        let expected_bytes = expected_bytes
            .map_or_else(|| "more than the maximum".to_owned(), |expected_bytes| expected_bytes.to_string());
        return Err(format!("a numpy array has {} bytes, but its shape requires {expected_bytes}", bytes.len()));
    }
    let mut strides = vec![width; shape.len()];
    let axes: Vec<usize> = if order == "F" { (0..shape.len()).collect() } else { (0..shape.len()).rev().collect() };
    for pair in axes.windows(2) {
        strides[pair[1]] = strides[pair[0]] * shape[pair[0]];
    }
    Ok(nested_list(&shape, &strides, 0, &|offset| number(kind, bytes.get(offset..offset + width)?)))
}

fn nested_list(shape: &[usize], strides: &[usize], offset: usize, element: &dyn Fn(usize) -> Option<Value>) -> Value {
    match (shape.split_first(), strides.split_first()) {
        (Some((length, shape)), Some((stride, strides))) => {
            (0..*length).map(|index| nested_list(shape, strides, offset + index * stride, element)).collect()
        }
        _ => element(offset).unwrap_or(Value::Null),
    }
}

/// Decodes one element by numpy's type string: byte order, kind, width.
fn number(kind: &str, bytes: &[u8]) -> Option<Value> {
    let is_big_endian = kind.starts_with('>');
    let mut ordered = [0_u8; 8];
    let length = bytes.len();
    let target = ordered.get_mut(8 - length.min(8)..).filter(|_| length <= 8)?;
    target.copy_from_slice(bytes);
    if !is_big_endian {
        target.reverse();
    }
    let bits = u64::from_be_bytes(ordered);
    let shift = 64 - 8 * length as u32;
    match (kind.get(1..2)?, length) {
        ("b", 1) => Some((bits != 0).into()),
        ("u", 1 | 2 | 4 | 8) => Some(bits.into()),
        ("i", 1 | 2 | 4 | 8) => Some(((bits << shift).cast_signed() >> shift).into()),
        ("f", 4) => Some(float(f32::from_bits(bits as u32).into())),
        ("f", 8) => Some(float(f64::from_bits(bits))),
        _ => None,
    }
}

fn float(number: f64) -> Value {
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}
