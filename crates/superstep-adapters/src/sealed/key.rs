//! Keys, and the sealed form of bytes: version, number of the key, nonce, what the cipher made.
//!
//! Knows nothing of checkpoints. A number tells keys apart and says nothing about them.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};

/// The version of the sealed form. A number is never reused.
const VERSION: u8 = 1;
const NUMBER: usize = 4;
const NONCE: usize = 24;
const HEAD: usize = 1 + NUMBER + NONCE;

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

/// The keys of a store: one to seal with, and all to open with.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    pub(super) newest: Key,
    pub(super) old: Vec<Key>,
}

impl Ring {
    /// Seals bytes for a place. `None` when there is no randomness to be had.
    pub(super) fn seal(&self, plain: &[u8], place: &[u8]) -> Option<String> {
        let mut sealed = vec![VERSION; HEAD];
        sealed[1..=NUMBER].copy_from_slice(&self.newest.number);
        getrandom::fill(&mut sealed[1 + NUMBER..]).ok()?;
        let nonce = XNonce::from_slice(&sealed[1 + NUMBER..]);
        let made = self.newest.cipher.encrypt(nonce, Payload { msg: plain, aad: place }).ok()?;
        sealed.extend(made);
        Some(BASE64.encode(sealed))
    }

    /// Opens what was sealed for this place.
    pub(super) fn open(&self, text: &str, place: &[u8]) -> Result<Vec<u8>, Unopened> {
        let bytes = BASE64.decode(text).map_err(|_| Unopened::Malformed)?;
        match bytes.first() {
            Some(&VERSION) if bytes.len() >= HEAD => {}
            Some(&version) if version > VERSION => return Err(Unopened::Newer(version)),
            _ => return Err(Unopened::Malformed),
        }
        let (head, made) = bytes.split_at(HEAD);
        let (number, nonce) = head[1..].split_at(NUMBER);
        // Two keys may have one number by chance, so each that has it is tried.
        let mut keys = self.old.iter().chain([&self.newest]).filter(|key| key.number == number).peekable();
        if keys.peek().is_none() {
            return Err(Unopened::NoKey(hex(number)));
        }
        let payload = || Payload { msg: made, aad: place };
        keys.find_map(|key| key.cipher.decrypt(XNonce::from_slice(nonce), payload()).ok()).ok_or(Unopened::Changed)
    }
}
