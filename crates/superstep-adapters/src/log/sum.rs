//! A checksum over everything a row says, its own place in the line included: a row that was damaged or moved to
//! another number is noticed. Not against somebody who means harm: that is what sealing is for.

use xxhash_rust::xxh3::xxh3_64;

/// Adds up the parts of a row. Short rows are put side by side: that is faster than a hash that is fed in steps.
pub(super) struct Sum(Vec<u8>);

impl Sum {
    pub(super) fn new() -> Self {
        Self(Vec::with_capacity(256))
    }

    pub(super) fn number(&mut self, number: u64) -> &mut Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// A long piece comes in as a hash of its own.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.number(bytes.len() as u64);
        if bytes.len() > 256 {
            return self.number(xxh3_64(bytes));
        }
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn id(&mut self, id: u128) -> &mut Self {
        self.0.extend_from_slice(&id.to_le_bytes());
        self
    }

    /// 31 bits: one damage in two thousand million goes unnoticed, and a row stays short.
    pub(super) fn end(&self) -> u32 {
        xxh3_64(&self.0) as u32 >> 1
    }
}
