//! Keys, and the format of encrypted bytes: version, key id, nonce, ciphertext. The first byte of the plaintext is a
//! flag for compression.
//!
//! Independent of checkpoints. A key id distinguishes keys and reveals nothing about them.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD as BASE64};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use superstep_core::error::{Error, ErrorCode, Result};

use crate::compression::{compress, decompress};

/// Version of the format. A version is never reused. 1: not bound to a thread and never compressed.
const VERSION: u8 = 2;
/// First version, which is decrypted but no longer written.
const FIRST_VERSION: u8 = 1;
const KEY_ID_BYTES: usize = 4;
const NONCE_BYTES: usize = 24;
const HEADER_BYTES: usize = 1 + KEY_ID_BYTES + NONCE_BYTES;
const UNCOMPRESSED: u8 = 0;
const COMPRESSED: u8 = 1;

/// A secret key for [`EncryptedCheckpointer`](super::EncryptedCheckpointer): 32 bytes from a secure random source, not
/// a password.
///
/// The key is never printed, and its bytes in this value are erased from memory when it is dropped.
///
/// ```
/// use superstep_adapters::encrypted::EncryptionKey;
/// assert!(format!("{:?}", EncryptionKey::from_bytes([7; 32])).starts_with("EncryptionKey(id "));
/// ```
#[derive(Clone)]
pub struct EncryptionKey {
    cipher: XChaCha20Poly1305,
    key_id: [u8; KEY_ID_BYTES],
}

impl EncryptionKey {
    /// Creates a key from its bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        let cipher = XChaCha20Poly1305::new(&bytes.into());
        // The id is taken from the authentication tag of an empty text under a nonce that is never generated, which
        // does not reveal the key. A cipher that fails here could not encrypt anything else either, so the id is then
        // irrelevant.
        let empty = Payload { msg: &[], aad: b"superstep: number of a key" };
        let tag = cipher.encrypt(&XNonce::default(), empty).unwrap_or_default();
        let mut key_id = [0; KEY_ID_BYTES];
        key_id.iter_mut().zip(tag).for_each(|(to, from)| *to = from);
        Self { cipher, key_id }
    }

    /// Parses the 32 bytes of a key from base64 or hexadecimal text: `openssl rand -base64 32` generates one.
    ///
    /// # Errors
    ///
    /// Returns `InputInvalid` if the text is anything else. The error does not contain the text.
    pub fn from_base64_or_hex(text: &str) -> Result<Self> {
        let text = text.trim();
        let bytes = match text.len() {
            64 => (0..32).map(|at| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()).collect(),
            _ => STANDARD.decode(text).or_else(|_| BASE64.decode(text)).ok(),
        };
        let bytes: Option<[u8; 32]> = bytes.and_then(|bytes: Vec<u8>| bytes.try_into().ok());
        bytes.map(Self::from_bytes).ok_or_else(|| {
            Error::new(ErrorCode::InputInvalid, "the text is not a key of 32 bytes in base64 or hexadecimal digits")
                .with_help("generate a key with `openssl rand -base64 32`")
        })
    }

    /// Reads a key from an environment variable with [`EncryptionKey::from_base64_or_hex`].
    ///
    /// # Errors
    ///
    /// Returns `InputInvalid` if the variable is not set or contains no key.
    pub fn from_env(variable: &str) -> Result<Self> {
        let text = std::env::var(variable).map_err(|_| {
            Error::new(ErrorCode::InputInvalid, format!("environment variable `{variable}` is not set"))
                .with_help(format!("set it to a key: {variable}=$(openssl rand -base64 32)"))
        })?;
        Self::from_base64_or_hex(&text).map_err(|error| {
            Error::new(error.code(), format!("`{variable}`: {}", error.message()))
                .with_help(error.help().unwrap_or_default())
        })
    }

    /// Returns the id of the key, which reveals nothing about the key.
    #[must_use]
    pub fn key_id(&self) -> String {
        hex(&self.key_id)
    }
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EncryptionKey(id {})", hex(&self.key_id))
    }
}

fn hex(key_id: &[u8]) -> String {
    key_id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reason why a value could not be decrypted.
pub(super) enum DecryptError {
    /// The value does not have the encrypted format.
    Malformed,
    /// The version is newer than this program.
    Newer(u8),
    /// The key ring has no key with this id.
    NoKey(String),
    /// The key exists, but the ciphertext or its associated data was changed.
    Changed,
}

/// Lookup function for keys by id.
type KeyLookupFn = dyn Fn(&str) -> Option<EncryptionKey> + Send + Sync;

/// The keys of a checkpointer: one for encryption, all for decryption.
#[derive(Clone)]
pub(super) struct KeyRing {
    pub(super) encryption_key: EncryptionKey,
    pub(super) decryption_keys: Vec<EncryptionKey>,
    /// Lookup of further keys.
    pub(super) find: Option<Arc<KeyLookupFn>>,
    /// Keys returned by the lookup.
    lookup_keys: Arc<Mutex<Vec<EncryptionKey>>>,
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing")
            .field("newest", &self.encryption_key)
            .field("old", &self.decryption_keys)
            .finish_non_exhaustive()
    }
}

impl KeyRing {
    pub(super) fn new(encryption_key: EncryptionKey) -> Self {
        Self { encryption_key, decryption_keys: Vec::new(), find: None, lookup_keys: Arc::default() }
    }

    /// Encrypts bytes with associated data. Returns `None` if there is no randomness.
    pub(super) fn encrypt(&self, plain: &[u8], associated_data: &[u8]) -> Option<String> {
        let mut encrypted = vec![VERSION; HEADER_BYTES];
        encrypted[1..=KEY_ID_BYTES].copy_from_slice(&self.encryption_key.key_id);
        getrandom::fill(&mut encrypted[1 + KEY_ID_BYTES..]).ok()?;
        let nonce = XNonce::from_slice(&encrypted[1 + KEY_ID_BYTES..]);
        // Compress before encrypting: the wrapped checkpointer cannot compress ciphertext.
        let message = match compress(plain, &[]) {
            Some(compressed) => [&[COMPRESSED], &compressed[..]].concat(),
            None => [&[UNCOMPRESSED], plain].concat(),
        };
        let ciphertext =
            self.encryption_key.cipher.encrypt(nonce, Payload { msg: &message, aad: associated_data }).ok()?;
        encrypted.extend(ciphertext);
        Some(BASE64.encode(encrypted))
    }

    /// Decrypts a value with its associated data; `associated_data_v1` is the one for the first version of the format.
    pub(super) fn decrypt(
        &self,
        text: &str,
        associated_data: &[u8],
        associated_data_v1: &[u8],
    ) -> std::result::Result<Vec<u8>, DecryptError> {
        let bytes = BASE64.decode(text).map_err(|_| DecryptError::Malformed)?;
        let associated_data = match bytes.first() {
            Some(&VERSION) if bytes.len() >= HEADER_BYTES => associated_data,
            Some(&FIRST_VERSION) if bytes.len() >= HEADER_BYTES => associated_data_v1,
            Some(&version) if version > VERSION => return Err(DecryptError::Newer(version)),
            _ => return Err(DecryptError::Malformed),
        };
        let (header, ciphertext) = bytes.split_at(HEADER_BYTES);
        let (key_id, nonce) = header[1..].split_at(KEY_ID_BYTES);
        let keys = self.keys_with_id(key_id);
        if keys.is_empty() {
            return Err(DecryptError::NoKey(hex(key_id)));
        }
        let payload = || Payload { msg: ciphertext, aad: associated_data };
        let mut decrypted = keys.iter().filter_map(|key| key.cipher.decrypt(XNonce::from_slice(nonce), payload()).ok());
        let message = decrypted.next().ok_or(DecryptError::Changed)?;
        if bytes[0] == FIRST_VERSION {
            return Ok(message);
        }
        match message.split_first() {
            Some((&UNCOMPRESSED, plain)) => Ok(plain.to_vec()),
            Some((&COMPRESSED, compressed)) => decompress(compressed, &[]).map_err(|_| DecryptError::Malformed),
            _ => Err(DecryptError::Malformed),
        }
    }

    /// Returns the keys with an id. Two keys may have the same id by chance, so all of them are tried.
    fn keys_with_id(&self, key_id: &[u8]) -> Vec<EncryptionKey> {
        let lookup_keys = self.lookup_keys.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let all_keys = self.decryption_keys.iter().chain([&self.encryption_key]).chain(lookup_keys.iter());
        let matching: Vec<EncryptionKey> = all_keys.filter(|key| key.key_id == key_id).cloned().collect();
        if !matching.is_empty() {
            return matching;
        }
        // Call the lookup without holding the lock: it may take long and may use this checkpointer.
        let looked_up = self.find.as_ref().and_then(|find| find(&hex(key_id))).filter(|key| key.key_id == key_id);
        self.lookup_keys.lock().unwrap_or_else(PoisonError::into_inner).extend(looked_up.clone());
        looked_up.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-47, R-FWK-48: a value in the first format is decrypted with its own associated data only.
    #[test]
    fn the_first_format_is_decrypted() {
        let ring = KeyRing::new(EncryptionKey::from_bytes([7; 32]));
        let mut encrypted = vec![FIRST_VERSION];
        encrypted.extend(ring.encryption_key.key_id);
        encrypted.extend([9; NONCE_BYTES]);
        let payload = Payload { msg: b"\"plain\"", aad: b"first" };
        encrypted.extend(ring.encryption_key.cipher.encrypt(XNonce::from_slice(&[9; NONCE_BYTES]), payload).unwrap());
        let text = BASE64.encode(encrypted);
        assert_eq!(ring.decrypt(&text, b"place", b"first").ok(), Some(b"\"plain\"".to_vec()));
        assert!(matches!(ring.decrypt(&text, b"first", b"place"), Err(DecryptError::Changed)));
        let new = ring.encrypt(b"\"plain\"", b"place").unwrap();
        assert_eq!(ring.decrypt(&new, b"place", b"first").ok(), Some(b"\"plain\"".to_vec()));
        assert!(ring.decrypt(&new, b"other", b"place").is_err());
    }

    /// R-FWK-48: a key is read from a text or the environment, and an error does not repeat it.
    #[test]
    fn keys_are_parsed_from_text_and_environment() {
        let same =
            [STANDARD.encode([7; 32]), BASE64.encode([7; 32]), "07".repeat(32), format!(" {}\n", "07".repeat(32))];
        for text in same {
            assert_eq!(
                EncryptionKey::from_base64_or_hex(&text).unwrap().key_id,
                EncryptionKey::from_bytes([7; 32]).key_id,
                "{text}"
            );
        }
        for text in ["", "secret", &"0g".repeat(32), &STANDARD.encode([7; 31])] {
            let error = EncryptionKey::from_base64_or_hex(text).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InputInvalid);
            assert!(text.is_empty() || !error.to_string().contains(text), "{error}");
        }
        let error = EncryptionKey::from_env("SUPERSTEP_TEST_NO_SUCH_KEY").unwrap_err();
        assert!(error.message().contains("SUPERSTEP_TEST_NO_SUCH_KEY"), "{error}");
    }
}
