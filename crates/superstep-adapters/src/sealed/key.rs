//! Keys, and the sealed form of bytes: version, number of the key, nonce, what the cipher made. What it made it from
//! begins with a byte that says whether the rest was squeezed before.
//!
//! Knows nothing of checkpoints. A number tells keys apart and says nothing about them.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD as BASE64};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use superstep_core::error::{Code, Error, Result};

use crate::squeeze::{squeeze, unsqueeze};

/// The version of the sealed form. A number is never reused. 1: not bound to a thread, and never squeezed.
const VERSION: u8 = 2;
/// The first version, which is opened and not made.
const FIRST: u8 = 1;
const NUMBER: usize = 4;
const NONCE: usize = 24;
const HEAD: usize = 1 + NUMBER + NONCE;
const AS_IT_IS: u8 = 0;
const SQUEEZED: u8 = 1;

/// A secret key for [`Sealed`](super::Sealed): 32 bytes from a good source of randomness, not a password.
///
/// What it is cannot be printed, and its bytes in here are wiped from memory when it is dropped.
///
/// ```
/// use superstep_adapters::sealed::Key;
/// assert!(format!("{:?}", Key::from_bytes([7; 32])).starts_with("Key(number "));
/// ```
#[derive(Clone)]
pub struct Key {
    cipher: XChaCha20Poly1305,
    number: [u8; NUMBER],
}

impl Key {
    /// The key with these bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        let cipher = XChaCha20Poly1305::new(&bytes.into());
        // The proof of an empty text under a nonce that is never drawn: a one-way mark of the key. A cipher that could
        // not seal nothing would seal nothing else either, so the number it has then does not matter.
        let empty = Payload { msg: &[], aad: b"superstep: number of a key" };
        let proof = cipher.encrypt(&XNonce::default(), empty).unwrap_or_default();
        let mut number = [0; NUMBER];
        number.iter_mut().zip(proof).for_each(|(to, from)| *to = from);
        Self { cipher, number }
    }

    /// The key whose 32 bytes a text holds, in base64 or in hexadecimal digits: `openssl rand -base64 32` makes one.
    ///
    /// # Errors
    ///
    /// `InputInvalid` when the text holds anything else. It is not repeated in the error.
    pub fn from_text(text: &str) -> Result<Self> {
        let text = text.trim();
        let bytes = match text.len() {
            64 => (0..32).map(|at| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()).collect(),
            _ => STANDARD.decode(text).or_else(|_| BASE64.decode(text)).ok(),
        };
        let bytes: Option<[u8; 32]> = bytes.and_then(|bytes: Vec<u8>| bytes.try_into().ok());
        bytes.map(Self::from_bytes).ok_or_else(|| {
            Error::new(Code::InputInvalid, "a key has 32 bytes, in base64 or hexadecimal digits; this text has not")
                .help("`openssl rand -base64 32` makes one")
        })
    }

    /// The key in a variable of the environment, as [`Key::from_text`] reads it.
    ///
    /// # Errors
    ///
    /// `InputInvalid` when there is no such variable, or no key in it.
    pub fn from_env(variable: &str) -> Result<Self> {
        let text = std::env::var(variable).map_err(|_| {
            Error::new(Code::InputInvalid, format!("the environment has no `{variable}`"))
                .help(format!("put the key there: {variable}=$(openssl rand -base64 32)"))
        })?;
        Self::from_text(&text).map_err(|error| {
            Error::new(error.code(), format!("`{variable}`: {}", error.message()))
                .help(error.advice().unwrap_or_default())
        })
    }

    /// What tells it apart from other keys, and says nothing about it.
    #[must_use]
    pub fn number(&self) -> String {
        hex(&self.number)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key(number {})", hex(&self.number))
    }
}

fn hex(number: &[u8]) -> String {
    number.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Why something could not be opened.
pub(super) enum Unopened {
    /// It is not of the sealed form.
    Malformed,
    /// It is of a version that this program does not know.
    Newer(u8),
    /// No key of the ring has this number.
    NoKey(String),
    /// The key is there, but not one byte may differ, nor the place.
    Changed,
}

/// Asks somebody for the key with a number.
type Find = dyn Fn(&str) -> Option<Key> + Send + Sync;

/// The keys of a store: one to seal with, and all to open with.
#[derive(Clone)]
pub(super) struct Ring {
    pub(super) newest: Key,
    pub(super) old: Vec<Key>,
    /// Who knows keys that are not here.
    pub(super) find: Option<Arc<Find>>,
    /// Those that were found.
    found: Arc<Mutex<Vec<Key>>>,
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring").field("newest", &self.newest).field("old", &self.old).finish_non_exhaustive()
    }
}

impl Ring {
    pub(super) fn new(newest: Key) -> Self {
        Self { newest, old: Vec::new(), find: None, found: Arc::default() }
    }

    /// Seals bytes for a place. `None` when there is no randomness to be had.
    pub(super) fn seal(&self, plain: &[u8], place: &[u8]) -> Option<String> {
        let mut sealed = vec![VERSION; HEAD];
        sealed[1..=NUMBER].copy_from_slice(&self.newest.number);
        getrandom::fill(&mut sealed[1 + NUMBER..]).ok()?;
        let nonce = XNonce::from_slice(&sealed[1 + NUMBER..]);
        // What is sealed cannot be squeezed any more by the store below.
        let inside = match squeeze(plain, &[]) {
            Some(squeezed) => [&[SQUEEZED], &squeezed[..]].concat(),
            None => [&[AS_IT_IS], plain].concat(),
        };
        let made = self.newest.cipher.encrypt(nonce, Payload { msg: &inside, aad: place }).ok()?;
        sealed.extend(made);
        Some(BASE64.encode(sealed))
    }

    /// Opens what was sealed for this place; what was sealed in the first form is bound to `first`.
    pub(super) fn open(&self, text: &str, place: &[u8], first: &[u8]) -> std::result::Result<Vec<u8>, Unopened> {
        let bytes = BASE64.decode(text).map_err(|_| Unopened::Malformed)?;
        let place = match bytes.first() {
            Some(&VERSION) if bytes.len() >= HEAD => place,
            Some(&FIRST) if bytes.len() >= HEAD => first,
            Some(&version) if version > VERSION => return Err(Unopened::Newer(version)),
            _ => return Err(Unopened::Malformed),
        };
        let (head, made) = bytes.split_at(HEAD);
        let (number, nonce) = head[1..].split_at(NUMBER);
        let keys = self.with_number(number);
        if keys.is_empty() {
            return Err(Unopened::NoKey(hex(number)));
        }
        let payload = || Payload { msg: made, aad: place };
        let mut opened = keys.iter().filter_map(|key| key.cipher.decrypt(XNonce::from_slice(nonce), payload()).ok());
        let inside = opened.next().ok_or(Unopened::Changed)?;
        if bytes[0] == FIRST {
            return Ok(inside);
        }
        match inside.split_first() {
            Some((&AS_IT_IS, plain)) => Ok(plain.to_vec()),
            Some((&SQUEEZED, squeezed)) => unsqueeze(squeezed, &[]).map_err(|_| Unopened::Malformed),
            _ => Err(Unopened::Malformed),
        }
    }

    /// The keys with this number. Two may have one number by chance, so each that has it is tried.
    fn with_number(&self, number: &[u8]) -> Vec<Key> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let known = self.old.iter().chain([&self.newest]).chain(found.iter());
        let known: Vec<Key> = known.filter(|key| key.number == number).cloned().collect();
        if !known.is_empty() {
            return known;
        }
        // Whoever is asked may take long, and may ask this store.
        let asked = self.find.as_ref().and_then(|find| find(&hex(number))).filter(|key| key.number == number);
        self.found.lock().unwrap_or_else(PoisonError::into_inner).extend(asked.clone());
        asked.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-47, R-FWK-48: what was sealed in the first form opens at its place, and nowhere else.
    #[test]
    fn the_first_form_opens() {
        let ring = Ring::new(Key::from_bytes([7; 32]));
        let mut sealed = vec![FIRST];
        sealed.extend(ring.newest.number);
        sealed.extend([9; NONCE]);
        let payload = Payload { msg: b"\"plain\"", aad: b"first" };
        sealed.extend(ring.newest.cipher.encrypt(XNonce::from_slice(&[9; NONCE]), payload).unwrap());
        let text = BASE64.encode(sealed);
        assert_eq!(ring.open(&text, b"place", b"first").ok(), Some(b"\"plain\"".to_vec()));
        assert!(matches!(ring.open(&text, b"first", b"place"), Err(Unopened::Changed)));
        let new = ring.seal(b"\"plain\"", b"place").unwrap();
        assert_eq!(ring.open(&new, b"place", b"first").ok(), Some(b"\"plain\"".to_vec()));
        assert!(ring.open(&new, b"other", b"place").is_err());
    }

    /// R-FWK-48: a key comes from a text or the environment, and an error does not repeat it.
    #[test]
    fn keys_are_read_from_texts() {
        let same =
            [STANDARD.encode([7; 32]), BASE64.encode([7; 32]), "07".repeat(32), format!(" {}\n", "07".repeat(32))];
        for text in same {
            assert_eq!(Key::from_text(&text).unwrap().number, Key::from_bytes([7; 32]).number, "{text}");
        }
        for text in ["", "secret", &"0g".repeat(32), &STANDARD.encode([7; 31])] {
            let error = Key::from_text(text).unwrap_err();
            assert_eq!(error.code(), Code::InputInvalid);
            assert!(text.is_empty() || !error.to_string().contains(text), "{error}");
        }
        let error = Key::from_env("SUPERSTEP_TEST_NO_SUCH_KEY").unwrap_err();
        assert!(error.message().contains("SUPERSTEP_TEST_NO_SUCH_KEY"), "{error}");
    }
}
