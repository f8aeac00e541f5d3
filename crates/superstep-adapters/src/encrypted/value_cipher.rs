//! Encryption and decryption of a single value, which is bound to its location.
//!
//! The list of values of a checkpoint is in `crate::value_visitor`.

use serde_json::{Map, Value};
use superstep_core::change::Change;
use superstep_core::checkpoint::CheckpointNamespace;
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::value::AnyValue;

use super::key::{DecryptError, KeyRing};
use crate::value_visitor::{ValueSlot, ValueVisitor};

/// The only key of an object that represents an encrypted value.
const ENCRYPTED_KEY: &str = "__sealed__";
/// Prefix of an encrypted text.
const TEXT_PREFIX: &str = "__sealed__:";

/// Direction of a conversion.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CipherDirection {
    /// Encrypts on the way to the store.
    Encrypt,
    /// Decrypts on the way from the store.
    Decrypt {
        /// True if plaintext values are accepted.
        plain: bool,
    },
}

/// A conversion with its keys and the thread of its values.
#[derive(Clone, Copy)]
pub(super) struct ValueCipher<'a> {
    pub(super) ring: &'a KeyRing,
    pub(super) direction: CipherDirection,
    pub(super) thread: &'a ThreadId,
    pub(super) namespace: &'a CheckpointNamespace,
    /// Checkpoint of the values, if it is known.
    pub(super) checkpoint: Option<CheckpointId>,
}

impl ValueVisitor for ValueCipher<'_> {
    fn is_writing(&self) -> bool {
        self.direction == CipherDirection::Encrypt
    }

    fn any_value(&self, any_value: &mut AnyValue, slot: &ValueSlot<'_>) -> Result<()> {
        if self.direction == CipherDirection::Encrypt {
            let mut text = Vec::new();
            any_value.write_json(&mut text).map_err(|error| self.serialize_error(slot, &error.message))?;
            *any_value = AnyValue::json(wrap(self.encrypt(&text, slot)?));
            return Ok(());
        }
        let encrypted = match &*any_value {
            AnyValue::Json(value) => encrypted_text(value),
            AnyValue::Native(_) => None,
        };
        match encrypted {
            Some(text) => *any_value = AnyValue::json(self.decrypt_json(text, slot)?),
            None => self.check_plaintext_allowed(slot)?,
        }
        Ok(())
    }

    fn value(&self, value: &mut Value, slot: &ValueSlot<'_>) -> Result<()> {
        if self.direction == CipherDirection::Encrypt {
            let text = serde_json::to_vec(value).map_err(|error| self.serialize_error(slot, &error.to_string()))?;
            *value = wrap(self.encrypt(&text, slot)?);
            return Ok(());
        }
        match encrypted_text(value) {
            Some(text) => *value = self.decrypt_json(text, slot)?,
            None => self.check_plaintext_allowed(slot)?,
        }
        Ok(())
    }

    fn text(&self, text: &mut String, slot: &ValueSlot<'_>) -> Result<()> {
        if self.direction == CipherDirection::Encrypt {
            *text = format!("{TEXT_PREFIX}{}", self.encrypt(text.as_bytes(), slot)?);
            return Ok(());
        }
        match text.strip_prefix(TEXT_PREFIX) {
            Some(encrypted) => {
                let decrypted = String::from_utf8(self.decrypt(encrypted, slot)?);
                *text = decrypted.map_err(|_| self.decrypt_error(slot, DecryptError::Changed))?;
            }
            None => self.check_plaintext_allowed(slot)?,
        }
        Ok(())
    }

    /// Converts the keys of a map, which are encrypted as one text; other changes contain no values.
    fn change(&self, change: &mut Change, slot: &ValueSlot<'_>) -> Result<()> {
        let Change::Merged { set, removed } = change else { return Ok(()) };
        if self.direction == CipherDirection::Encrypt {
            let keys = serde_json::to_vec(&(&set, &removed));
            let keys = keys.map_err(|error| self.serialize_error(slot, &error.to_string()))?;
            (*set, *removed) = (vec![format!("{TEXT_PREFIX}{}", self.encrypt(&keys, slot)?)], Vec::new());
            return Ok(());
        }
        let encrypted = match (&set[..], removed.is_empty()) {
            ([only], true) => only.strip_prefix(TEXT_PREFIX),
            _ => None,
        };
        match encrypted {
            Some(text) => {
                let keys = serde_json::from_slice(&self.decrypt(text, slot)?);
                (*set, *removed) = keys.map_err(|_| self.decrypt_error(slot, DecryptError::Changed))?;
            }
            None => self.check_plaintext_allowed(slot)?,
        }
        Ok(())
    }
}

impl ValueCipher<'_> {
    fn encrypt(&self, plain: &[u8], slot: &ValueSlot<'_>) -> Result<String> {
        let associated_data = self.associated_data(slot)?;
        self.ring.encrypt(plain, &associated_data).ok_or_else(|| {
            let message = format!("{} cannot be encrypted: the system returned no random bytes", self.name(slot));
            Error::new(ErrorCode::StoreUnavailable, message).with_thread(Some(self.thread))
        })
    }

    fn decrypt(&self, encrypted: &str, slot: &ValueSlot<'_>) -> Result<Vec<u8>> {
        let (associated_data, associated_data_v1) = (self.associated_data(slot)?, self.associated_data_v1(slot)?);
        self.ring
            .decrypt(encrypted, &associated_data, &associated_data_v1)
            .map_err(|error| self.decrypt_error(slot, error))
    }

    fn decrypt_json(&self, encrypted: &str, slot: &ValueSlot<'_>) -> Result<Value> {
        let plain = self.decrypt(encrypted, slot)?;
        serde_json::from_slice(&plain).map_err(|_| self.decrypt_error(slot, DecryptError::Changed))
    }

    /// Returns the associated data of a value.
    fn associated_data(&self, slot: &ValueSlot<'_>) -> Result<Vec<u8>> {
        let checkpoint = self.checkpoint.filter(|_| slot.is_checkpoint_scoped);
        let scope = (self.thread, self.namespace, checkpoint, slot.names, slot.change);
        serde_json::to_vec(&scope).map_err(|error| self.serialize_error(slot, &error.to_string()))
    }

    /// Returns the associated data of a value in the first format.
    fn associated_data_v1(&self, slot: &ValueSlot<'_>) -> Result<Vec<u8>> {
        let checkpoint = self.checkpoint.filter(|_| slot.is_checkpoint_scoped);
        let scope = (self.namespace, checkpoint, slot.names, slot.change);
        serde_json::to_vec(&scope).map_err(|error| self.serialize_error(slot, &error.to_string()))
    }

    fn check_plaintext_allowed(&self, slot: &ValueSlot<'_>) -> Result<()> {
        if self.direction == (CipherDirection::Decrypt { plain: true }) {
            return Ok(());
        }
        let help = "to read values saved before encryption was enabled, use `allow_plaintext(true)`";
        Err(self.corrupt_value_error(slot, "is not encrypted").with_help(help))
    }

    fn decrypt_error(&self, slot: &ValueSlot<'_>, error: DecryptError) -> Error {
        match error {
            DecryptError::Malformed => self.corrupt_value_error(slot, "does not have the format of an encrypted value"),
            DecryptError::Newer(version) => {
                let message = format!(
                    "{} has encryption format {version}, which is newer than the supported version 2",
                    self.name(slot)
                );
                Error::new(ErrorCode::CheckpointTooNew, message).with_thread(Some(self.thread))
            }
            DecryptError::NoKey(key_id) => self
                .corrupt_value_error(slot, &format!("is encrypted with key id `{key_id}`, which is not configured"))
                .with_help("add that key with `with_decryption_key`"),
            DecryptError::Changed => self
                .corrupt_value_error(slot, "cannot be decrypted: it was changed, or belongs to another location")
                .with_help(
                    "open an earlier checkpoint of the thread, and check which other programs write to the store",
                ),
        }
    }

    fn corrupt_value_error(&self, slot: &ValueSlot<'_>, reason: &str) -> Error {
        Error::new(ErrorCode::CheckpointCorrupt, format!("{} {reason}", self.name(slot))).with_thread(Some(self.thread))
    }

    fn serialize_error(&self, slot: &ValueSlot<'_>, reason: &str) -> Error {
        let message = format!("failed to serialize {} as JSON: {reason}", self.name(slot));
        Error::new(ErrorCode::TypeMismatch, message).with_thread(Some(self.thread))
    }

    fn name(&self, slot: &ValueSlot<'_>) -> String {
        let names = slot.names.iter().map(|(kind, name)| format!("{kind} `{name}`")).collect::<Vec<_>>().join(", ");
        match self.checkpoint {
            Some(id) => format!("thread `{}`, checkpoint {id}: {names}", self.thread),
            None => format!("thread `{}`: {names}", self.thread),
        }
    }
}

fn wrap(encrypted: String) -> Value {
    Value::Object(Map::from_iter([(ENCRYPTED_KEY.to_owned(), Value::String(encrypted))]))
}

fn encrypted_text(value: &Value) -> Option<&str> {
    match value {
        Value::Object(map) if map.len() == 1 => map.get(ENCRYPTED_KEY)?.as_str(),
        _ => None,
    }
}
