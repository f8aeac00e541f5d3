//! What is in a row of each kind, and its checksum.

use superstep_core::change::Change;
use superstep_core::checkpoint::{Ahead, Entry, Mark, Namespace, Origin, Pending, json_depth};
use superstep_core::datum::Datum;
use superstep_core::error::{Code, Error, Result};
use superstep_core::id::{CheckpointId, TaskId, ThreadId};

use super::bytes::{Bytes, put};
use super::form::{Form, unpack};
use super::head::{End, Heads};
use super::sum::Sum;

/// The deepest nesting that can be read back.
const DEEPEST: usize = 127;

/// A checkpoint.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// Its place in the line; the first is 1.
    pub(crate) number: u64,
    pub(crate) mark: Mark,
    /// The number of the checkpoint that brought the origin they share.
    pub(crate) origin: u64,
    pub(crate) ahead: Vec<u8>,
    pub(crate) heads: Vec<u8>,
    /// Whole values that are short.
    pub(crate) values: Vec<u8>,
}

impl Row {
    pub(crate) fn sum(&self) -> u32 {
        let Mark { id, parent, step, source, time } = &self.mark;
        Sum::new()
            .number(self.number)
            .id(id.bits())
            .id(parent.map_or(0, CheckpointId::bits))
            .number(step.cast_unsigned())
            .number(u64::from(source.number()))
            .number(time.cast_unsigned())
            .number(self.origin)
            .bytes(&self.ahead)
            .bytes(&self.heads)
            .bytes(&self.values)
            .end()
    }

    pub(crate) fn ahead(&self) -> Result<Ahead> {
        from_stored(&self.ahead, self.mark.id)
    }

    pub(crate) fn heads(&self) -> Result<Heads> {
        let heads = Heads::from_bytes(&self.heads, self.number);
        heads.ok_or_else(|| damaged(self.mark.id, "its fields cannot be found"))
    }
}

/// What checkpoints of one run have in common.
#[derive(Debug, Clone)]
pub(crate) struct OriginRow {
    /// The number of the first of them.
    pub(crate) number: u64,
    pub(crate) body: Vec<u8>,
}

impl OriginRow {
    pub(crate) fn new(number: u64, origin: &Origin, form: Form) -> Result<Self> {
        Ok(Self { number, body: form.pack(to_json(origin)?) })
    }

    pub(crate) fn sum(&self) -> u32 {
        Sum::new().number(self.number).bytes(&self.body).end()
    }

    pub(crate) fn read(body: &[u8], id: CheckpointId) -> Result<Origin> {
        from_stored(body, id)
    }
}

/// The checksum of a line: whose it is, its path, and the names of its fields as they are stored.
pub(crate) fn line_sum(thread: &ThreadId, namespace: &Namespace, names: &str) -> u32 {
    let (thread, path) = (thread.as_str().as_bytes(), namespace.as_str().as_bytes());
    Sum::new().bytes(thread).bytes(path).bytes(names.as_bytes()).end()
}

/// The error of a line that is not what was written.
pub(crate) fn damaged_line(namespace: &Namespace, how: &str) -> Error {
    let path = namespace.as_str();
    let message = format!("the history of the graph at `{path}` is damaged in the store: {how}");
    Error::new(Code::CheckpointCorrupt, message)
        .help("other threads are not touched by this; restore the file from a copy")
}

/// One change of one field, or a whole value that is long.
#[derive(Debug, Clone)]
pub(crate) struct PartRow {
    /// Its place among the parts of the line; the first is 1.
    pub(crate) number: u64,
    pub(crate) field: u32,
    /// What it builds on; a whole value builds on nothing.
    pub(crate) before: Option<End>,
    pub(crate) change: Change,
    /// The piece of the value, as JSON that may be squeezed.
    pub(crate) body: Vec<u8>,
}

impl PartRow {
    /// The change as text: short forms of the two most frequent, the others as JSON.
    pub(crate) fn change_text(&self) -> Result<String> {
        change_text(&self.change)
    }

    pub(crate) fn sum(&self, change: &str) -> u32 {
        let before = End::to_number(self.before);
        Sum::new()
            .number(self.number)
            .number(u64::from(self.field))
            .number(before.cast_unsigned())
            .bytes(change.as_bytes())
            .bytes(&self.body)
            .end()
    }
}

pub(super) fn change_text(change: &Change) -> Result<String> {
    Ok(match change {
        Change::Set => String::new(),
        Change::Appended { from } => format!("+{from}"),
        change => String::from_utf8_lossy(&to_json(change)?).into_owned(),
    })
}

/// Reads a change; `None` when it is none.
pub(crate) fn read_change(text: &str) -> Option<Change> {
    Some(match text.as_bytes().first() {
        None => Change::Set,
        Some(b'+') => Change::Appended { from: text[1..].parse().ok()? },
        Some(_) => serde_json::from_str(text).ok()?,
    })
}

/// Short values of a checkpoint that was pruned, which others still have.
#[derive(Debug, Clone)]
pub(crate) struct RemnantRow {
    /// The number of that checkpoint.
    pub(crate) number: u64,
    pub(crate) values: Vec<u8>,
}

impl RemnantRow {
    pub(crate) fn sum(&self) -> u32 {
        Sum::new().number(self.number).bytes(&self.values).end()
    }
}

/// What is known of a task.
#[derive(Debug, Clone)]
pub(crate) struct PendingRow {
    /// The number of its checkpoint.
    pub(crate) checkpoint: u64,
    pub(crate) task: TaskId,
    pub(crate) slot: String,
    pub(crate) body: Vec<u8>,
}

impl PendingRow {
    pub(crate) fn new(checkpoint: u64, pending: &Pending, form: Form) -> Result<Self> {
        let body = form.pack(to_json(&(&pending.node, &pending.entry))?);
        Ok(Self { checkpoint, task: pending.task, slot: pending.entry.slot(), body })
    }

    pub(crate) fn sum(&self) -> u32 {
        Sum::new().number(self.checkpoint).id(self.task.bits()).bytes(self.slot.as_bytes()).bytes(&self.body).end()
    }

    pub(crate) fn read(&self, checkpoint: CheckpointId) -> Result<Pending> {
        let (node, entry): (_, Entry) = from_stored(&self.body, checkpoint)?;
        Ok(Pending { checkpoint, task: self.task, node, entry })
    }
}

/// The error of a row that is not what was written.
pub(crate) fn damaged(id: CheckpointId, how: &str) -> Error {
    Error::new(Code::CheckpointCorrupt, format!("checkpoint {id} is damaged in the store: {how}"))
        .help("the other checkpoints of the thread are not touched by this: open an earlier one")
}

/// What a row holds, of a checkpoint.
fn from_stored<T: serde::de::DeserializeOwned>(stored: &[u8], id: CheckpointId) -> Result<T> {
    let plain = unpack(stored).map_err(|error| of_checkpoint(error, id))?;
    serde_json::from_slice(&plain).map_err(|error| damaged(id, &error.to_string()))
}

/// The error of bytes that cannot be unpacked, with the checkpoint they are of.
pub(super) fn of_checkpoint(error: Error, id: CheckpointId) -> Error {
    match error.code() {
        Code::CheckpointCorrupt => damaged(id, error.message()),
        code => Error::new(code, format!("checkpoint {id}: {}", error.message())),
    }
}

/// Adds a whole value to those of a row.
pub(super) fn put_value(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    put(out, u64::from(field));
    put(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// Finds a whole value among those of a row.
pub(crate) fn value_of(values: &[u8], field: u32) -> Option<&[u8]> {
    let mut bytes = Bytes(values);
    while !bytes.is_empty() {
        let found = bytes.number()?;
        let length = bytes.number()?;
        let value = bytes.piece(length)?;
        if found == u64::from(field) {
            return Some(value);
        }
    }
    None
}

/// A value as JSON that can be read back.
pub(super) fn datum_to_json(datum: &Datum, field: &str) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    datum.write_json(&mut out).map_err(|fault| {
        Error::new(Code::TypeMismatch, format!("field `{field}` cannot be saved: {}", fault.message))
            .help("a state is plain data: maps need keys that are text")
    })?;
    check_depth(&out).map_err(|error| Error::new(error.code(), format!("field `{field}`: {}", error.message())))?;
    Ok(out)
}

pub(super) fn to_json(value: &impl serde::Serialize) -> Result<Vec<u8>> {
    let out = serde_json::to_vec(value).map_err(|error| {
        Error::new(Code::TypeMismatch, format!("it cannot be saved: {error}"))
            .help("what is saved is plain data: maps need keys that are text")
    })?;
    check_depth(&out)?;
    Ok(out)
}

/// What nests too deeply would be refused when it is read, so it is refused when it is written.
pub(super) fn check_depth(json: &[u8]) -> Result<()> {
    if json.len() <= 2 * DEEPEST {
        return Ok(());
    }
    let deepest = json_depth(json);
    if deepest <= DEEPEST {
        return Ok(());
    }
    Err(Error::new(Code::TooLarge, format!("a value nests {deepest} deep; what is saved may nest {DEEPEST} deep")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn changes_of_every_kind_come_back() {
        let merged = Change::Merged { set: vec!["+1".to_owned()], removed: vec![] };
        for change in [Change::Set, Change::Appended { from: 12 }, merged] {
            assert_eq!(read_change(&change_text(&change).unwrap()), Some(change));
        }
        for text in ["+", "+x", "@3", "nonsense"] {
            assert_eq!(read_change(text), None, "{text}");
        }
    }

    #[test]
    fn what_nests_too_deeply_is_refused_when_it_is_written() {
        let nested = |depth: usize| (0..depth).fold(json!("[[[[{{{{\\\""), |inner, _| json!([inner, "padding"]));
        for depth in [1, 100, 127] {
            let json = datum_to_json(&Datum::json(nested(depth)), "field").unwrap();
            assert!(serde_json::from_slice::<serde_json::Value>(&json).is_ok(), "{depth}");
        }
        let error = datum_to_json(&Datum::json(nested(128)), "field").unwrap_err();
        assert_eq!(
            (error.code(), error.message().starts_with("field `field`: a value nests 128")),
            (Code::TooLarge, true)
        );
    }

    #[test]
    fn values_are_found_by_their_field() {
        let mut values = Vec::new();
        put_value(&mut values, 1, b"true");
        put_value(&mut values, 300, b"\"x\"");
        assert_eq!((value_of(&values, 300), value_of(&values, 2)), (Some(&b"\"x\""[..]), None));
        assert_eq!(value_of(&values[..5], 1), None);
    }
}
