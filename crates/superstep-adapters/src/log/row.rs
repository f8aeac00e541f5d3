//! What is in a row of each kind, and its checksum.

use superstep_core::change::Change;
use superstep_core::checkpoint::{Ahead, Entry, Mark, Origin, Pending};
use superstep_core::datum::Datum;
use superstep_core::error::{Code, Error, Result};
use superstep_core::id::{CheckpointId, TaskId};

use super::bytes::{Bytes, put};
use super::head::Heads;
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
        serde_json::from_slice(&self.ahead).map_err(|error| damaged(self.mark.id, &error.to_string()))
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
    pub(crate) fn new(number: u64, origin: &Origin) -> Result<Self> {
        Ok(Self { number, body: to_json(origin)? })
    }

    pub(crate) fn read(body: &[u8], id: CheckpointId) -> Result<Origin> {
        serde_json::from_slice(body).map_err(|error| damaged(id, &error.to_string()))
    }
}

/// One change of one field.
#[derive(Debug, Clone)]
pub(crate) struct PartRow {
    pub(crate) field: u32,
    pub(crate) chain: u64,
    /// Its place in the chain.
    pub(crate) number: u64,
    pub(crate) link: Link,
    /// The piece of the value, as JSON.
    pub(crate) body: Vec<u8>,
}

/// What a link of a chain is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Link {
    /// A change.
    Change(Change),
    /// What another chain is up to one of its changes.
    To {
        /// The other chain.
        chain: u64,
        /// The last of its changes that counts.
        last: u64,
        /// As in [`super::head::Head`].
        is_inline: bool,
    },
}

impl Link {
    /// Short forms of the two most frequent changes; the others as JSON.
    pub(crate) fn text(&self) -> Result<String> {
        Ok(match self {
            Self::Change(Change::Set) => String::new(),
            Self::Change(Change::Appended { from }) => format!("+{from}"),
            Self::Change(change) => String::from_utf8_lossy(&to_json(change)?).into_owned(),
            Self::To { chain, last, is_inline } => format!("@{chain}.{last}{}", if *is_inline { "i" } else { "" }),
        })
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Some(match text.as_bytes().first() {
            None => Self::Change(Change::Set),
            Some(b'+') => Self::Change(Change::Appended { from: text[1..].parse().ok()? }),
            Some(b'@') => {
                let (chain, last) = text[1..].split_once('.')?;
                let is_inline = last.ends_with('i');
                let last = last.trim_end_matches('i').parse().ok()?;
                Self::To { chain: chain.parse().ok()?, last, is_inline }
            }
            Some(_) => Self::Change(serde_json::from_str(text).ok()?),
        })
    }
}

impl PartRow {
    pub(crate) fn sum(&self, link: &str) -> u32 {
        Sum::new()
            .number(u64::from(self.field))
            .number(self.chain)
            .number(self.number)
            .bytes(link.as_bytes())
            .bytes(&self.body)
            .end()
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
    pub(crate) fn new(checkpoint: u64, pending: &Pending) -> Result<Self> {
        let body = to_json(&(&pending.node, &pending.entry))?;
        Ok(Self { checkpoint, task: pending.task, slot: pending.entry.slot(), body })
    }

    pub(crate) fn sum(&self) -> u32 {
        Sum::new().number(self.checkpoint).id(self.task.bits()).bytes(self.slot.as_bytes()).bytes(&self.body).end()
    }

    pub(crate) fn read(&self, checkpoint: CheckpointId) -> Result<Pending> {
        let (node, entry): (_, Entry) =
            serde_json::from_slice(&self.body).map_err(|error| damaged(checkpoint, &error.to_string()))?;
        Ok(Pending { checkpoint, task: self.task, node, entry })
    }
}

/// The error of a row that is not what was written.
pub(crate) fn damaged(id: CheckpointId, how: &str) -> Error {
    Error::new(Code::CheckpointCorrupt, format!("checkpoint {id} is damaged in the store: {how}"))
        .help("the other checkpoints of the thread are not touched by this: open an earlier one")
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
fn check_depth(json: &[u8]) -> Result<()> {
    if json.len() <= 2 * DEEPEST {
        return Ok(());
    }
    let (mut depth, mut deepest, mut in_text, mut is_escaped) = (0_usize, 0, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_text => depth -= 1,
            _ => {}
        }
    }
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
    fn links_of_every_kind_come_back() {
        let merged = Change::Merged { set: vec!["@1.2".to_owned()], removed: vec![] };
        let rows = [
            Link::Change(Change::Set),
            Link::Change(Change::Appended { from: 12 }),
            Link::Change(merged),
            Link::To { chain: 3, last: 4, is_inline: true },
            Link::To { chain: 3, last: 4, is_inline: false },
        ];
        for link in rows {
            assert_eq!(Link::parse(&link.text().unwrap()), Some(link));
        }
        for text in ["+", "+x", "@3", "@.1", "nonsense"] {
            assert_eq!(Link::parse(text), None, "{text}");
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
