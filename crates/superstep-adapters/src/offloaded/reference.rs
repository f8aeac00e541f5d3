//! References to offloaded values, and the conversion between values and references.
//!
//! Each conversion takes two passes: the first one collects the values or references, the second one replaces them
//! after they have been stored or fetched. No I/O happens here.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use superstep_core::change::Change;
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::value::AnyValue;

use crate::compression::decompress;
use crate::value_visitor::{ValueSlot, ValueVisitor};

/// The only key of an object that represents an offloaded value.
const REFERENCE_KEY: &str = "__spilled__";
/// The only key of an object that escapes a value which looks like one of these two objects.
const LITERAL_KEY: &str = "__kept__";

/// Prefix of the keys of values.
pub(super) const VALUES_PREFIX: &str = "superstep/value/";
/// Prefix of the keys of marks for removal.
pub(super) const DELETION_MARKS_PREFIX: &str = "superstep/doomed/";
/// Prefix of keys that exist until the waiting time of a mark is over.
pub(super) const GRACE_PERIOD_PREFIX: &str = "superstep/waiting/";

/// A reference: the SHA-256 of a value and the number of its copy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct ValueReference {
    sha256: String,
    copy: u32,
}

impl ValueReference {
    fn of_value(value: &[u8]) -> Self {
        let sha256 = Sha256::digest(value).iter().map(|byte| format!("{byte:02x}")).collect();
        Self { sha256, copy: 0 }
    }

    /// Parses the reference in a key.
    pub(super) fn from_key(key: &str) -> Option<Self> {
        let (_, name) = key.rsplit_once('/')?;
        let (sha256, copy) = name.split_once('.')?;
        Some(Self { sha256: sha256.to_owned(), copy: copy.parse().ok()? })
    }

    pub(super) fn next_copy(&self) -> Self {
        Self { sha256: self.sha256.clone(), copy: self.copy + 1 }
    }

    pub(super) fn key(&self) -> String {
        format!("{VALUES_PREFIX}{}.{}", self.sha256, self.copy)
    }

    pub(super) fn deletion_mark_key(&self) -> String {
        format!("{DELETION_MARKS_PREFIX}{}.{}", self.sha256, self.copy)
    }

    pub(super) fn grace_period_key(&self) -> String {
        format!("{GRACE_PERIOD_PREFIX}{}.{}", self.sha256, self.copy)
    }

    fn to_json(&self) -> Value {
        json!({ REFERENCE_KEY: self })
    }

    /// Returns the reference that a value represents, if it is one.
    fn read(value: &Value) -> Option<Self> {
        let body = single_entry(value, REFERENCE_KEY)?;
        // The hash must be hexadecimal, so that it cannot form another key.
        let reference = Self::deserialize(body).ok()?;
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (reference.sha256.len() == 64 && reference.sha256.bytes().all(is_digit)).then_some(reference)
    }
}

/// Returns the value of the only key of an object.
fn single_entry<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Object(map) if map.len() == 1 => map.get(key),
        _ => None,
    }
}

/// Returns true if a value has the form of a reference or an escaped value.
fn resembles_reference(json: &[u8]) -> bool {
    [REFERENCE_KEY, LITERAL_KEY].iter().any(|marker| {
        json.strip_prefix(b"{\"")
            .and_then(|json| json.strip_prefix(marker.as_bytes()))
            .is_some_and(|json| json.starts_with(b"\""))
    })
}

/// Returns true if a value passes unchanged.
pub(super) fn is_short_and_plain(part: &AnyValue, threshold: usize) -> bool {
    let mut json = Vec::new();
    part.write_json(&mut json).is_ok() && json.len() <= threshold && !resembles_reference(&json)
}

/// Conversion of values to references.
pub(super) struct OffloadPass {
    threshold: usize,
    /// Values above the threshold.
    large_values: RefCell<BTreeMap<ValueReference, Vec<u8>>>,
    /// True if a value has to be replaced.
    needs_replacement: Cell<bool>,
    /// Stored copy of each large value; `None` in the first pass.
    copies: Option<BTreeMap<ValueReference, ValueReference>>,
}

impl OffloadPass {
    /// Creates the first pass, which collects large values.
    pub(super) fn find(threshold: usize) -> Self {
        Self { threshold, large_values: RefCell::default(), needs_replacement: Cell::new(false), copies: None }
    }

    /// Creates the second pass, which replaces values with references.
    pub(super) fn replace(threshold: usize, copies: BTreeMap<ValueReference, ValueReference>) -> Self {
        Self { copies: Some(copies), ..Self::find(threshold) }
    }

    pub(super) fn is_first_pass(&self) -> bool {
        self.copies.is_none()
    }

    /// Returns the large values; `None` if all values pass unchanged.
    pub(super) fn into_large_values(self) -> Option<BTreeMap<ValueReference, Vec<u8>>> {
        self.needs_replacement.get().then(|| self.large_values.into_inner())
    }

    /// Returns the stored form of a value; `None` if it passes unchanged.
    fn stored_form(&self, json: Vec<u8>, slot: &ValueSlot<'_>) -> Result<Option<Value>> {
        let is_large = json.len() > self.threshold;
        if !is_large && !resembles_reference(&json) {
            return Ok(None);
        }
        self.needs_replacement.set(true);
        let value_error = |reason: String| Error::internal(format!("{}: {reason}", slot_name(slot)));
        match (&self.copies, is_large) {
            (None, false) => Ok(None),
            (None, true) => {
                self.large_values.borrow_mut().insert(ValueReference::of_value(&json), json);
                Ok(None)
            }
            (Some(_), false) => {
                let value: Value = serde_json::from_slice(&json).map_err(|error| value_error(error.to_string()))?;
                Ok(Some(json!({ LITERAL_KEY: value })))
            }
            (Some(copies), true) => {
                let copy = copies.get(&ValueReference::of_value(&json));
                Ok(Some(copy.ok_or_else(|| value_error("a value changed while it was saved".to_owned()))?.to_json()))
            }
        }
    }
}

impl ValueVisitor for OffloadPass {
    fn is_writing(&self) -> bool {
        true
    }

    fn any_value(&self, any_value: &mut AnyValue, slot: &ValueSlot<'_>) -> Result<()> {
        let mut json = Vec::new();
        any_value.write_json(&mut json).map_err(|error| serialize_error(slot, &error.message))?;
        if let Some(stored_form) = self.stored_form(json, slot)? {
            *any_value = AnyValue::json(stored_form);
        }
        Ok(())
    }

    fn value(&self, value: &mut Value, slot: &ValueSlot<'_>) -> Result<()> {
        let json = serde_json::to_vec(value).map_err(|error| serialize_error(slot, &error.to_string()))?;
        if let Some(stored_form) = self.stored_form(json, slot)? {
            *value = stored_form;
        }
        Ok(())
    }

    fn text(&self, _: &mut String, _: &ValueSlot<'_>) -> Result<()> {
        Ok(())
    }

    fn change(&self, _: &mut Change, _: &ValueSlot<'_>) -> Result<()> {
        Ok(())
    }
}

/// Conversion of references to values.
pub(super) struct FetchPass {
    requested: RefCell<BTreeSet<ValueReference>>,
    needs_replacement: Cell<bool>,
    /// Fetched values as stored; `None` in the first pass.
    fetched: Option<BTreeMap<ValueReference, Vec<u8>>>,
}

impl FetchPass {
    /// Creates the first pass, which collects references.
    pub(super) fn find() -> Self {
        Self { requested: RefCell::default(), needs_replacement: Cell::new(false), fetched: None }
    }

    /// Creates the second pass, which replaces references with values.
    pub(super) fn replace(fetched: BTreeMap<ValueReference, Vec<u8>>) -> Self {
        Self { fetched: Some(fetched), ..Self::find() }
    }

    /// Returns the collected references; `None` if all values pass unchanged.
    pub(super) fn into_references(self) -> Option<BTreeSet<ValueReference>> {
        self.needs_replacement.get().then(|| self.requested.into_inner())
    }

    /// Returns the value that a stored form represents; `None` if it represents itself.
    fn stored_form(&self, value: &Value, slot: &ValueSlot<'_>) -> Result<Option<Value>> {
        if let Some(literal) = single_entry(value, LITERAL_KEY) {
            self.needs_replacement.set(true);
            return Ok(self.fetched.is_some().then(|| literal.clone()));
        }
        let Some(reference) = ValueReference::read(value) else { return Ok(None) };
        self.needs_replacement.set(true);
        let Some(fetched) = &self.fetched else {
            self.requested.borrow_mut().insert(reference);
            return Ok(None);
        };
        let value_error = |reason: &str| {
            Error::new(
                ErrorCode::CheckpointCorrupt,
                format!("{}: the offloaded value `{}` {reason}", slot_name(slot), reference.key()),
            )
        };
        let stored = fetched.get(&reference).ok_or_else(|| value_error("is missing"))?;
        let value = match stored.first() {
            Some(1..9) => decompress(stored, &[]).map_err(|_| value_error("was changed"))?,
            _ => stored.clone(),
        };
        if ValueReference::of_value(&value).sha256 != reference.sha256 {
            return Err(value_error("was changed"));
        }
        serde_json::from_slice(&value).map(Some).map_err(|_| value_error("is not JSON"))
    }
}

impl ValueVisitor for FetchPass {
    fn is_writing(&self) -> bool {
        false
    }

    fn any_value(&self, any_value: &mut AnyValue, slot: &ValueSlot<'_>) -> Result<()> {
        let AnyValue::Json(value) = &*any_value else { return Ok(()) };
        if let Some(stored_form) = self.stored_form(value, slot)? {
            *any_value = AnyValue::json(stored_form);
        }
        Ok(())
    }

    fn value(&self, value: &mut Value, slot: &ValueSlot<'_>) -> Result<()> {
        if let Some(stored_form) = self.stored_form(value, slot)? {
            *value = stored_form;
        }
        Ok(())
    }

    fn text(&self, _: &mut String, _: &ValueSlot<'_>) -> Result<()> {
        Ok(())
    }

    fn change(&self, _: &mut Change, _: &ValueSlot<'_>) -> Result<()> {
        Ok(())
    }
}

fn slot_name(slot: &ValueSlot<'_>) -> String {
    slot.names.iter().map(|(kind, name)| format!("{kind} `{name}`")).collect::<Vec<_>>().join(", ")
}

fn serialize_error(slot: &ValueSlot<'_>, reason: &str) -> Error {
    Error::new(ErrorCode::TypeMismatch, format!("failed to serialize {} as JSON: {reason}", slot_name(slot)))
}
