//! A checksum over everything a row says, its own place in the line included: a row that was damaged or moved to
//! another number is noticed. Not against somebody who means harm: that is what sealing is for.

use xxhash_rust::xxh3::Xxh3Default;

/// Adds up the parts of a row.
pub(super) struct Sum(Xxh3Default);

impl Sum {
    pub(super) fn new() -> Self {
        Self(Xxh3Default::new())
    }

    pub(super) fn number(mut self, number: u64) -> Self {
        self.0.update(&number.to_le_bytes());
        self
    }

    pub(super) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    pub(super) fn id(mut self, id: u128) -> Self {
        self.0.update(&id.to_le_bytes());
        self
    }

    /// 32 bits: one damage in four thousand million goes unnoticed, and a row stays short.
    pub(super) fn end(self) -> u32 {
        self.0.digest() as u32
    }
}
