//! A checksum of the whole content of a row, including its number in the history: detects a row that was corrupted or
//! moved to another number. It gives no protection against deliberate changes; use encryption for that.

use xxhash_rust::xxh3::xxh3_64;

/// Collects the content of a row. Concatenating short rows is faster than incremental hashing.
pub(super) struct ChecksumBuilder(Vec<u8>);

impl ChecksumBuilder {
    pub(super) fn new() -> Self {
        Self(Vec::with_capacity(256))
    }

    pub(super) fn number(&mut self, number: u64) -> &mut Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// Adds bytes with their length; a long value is replaced by its hash.
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

    /// Returns 31 bits, which keeps rows short: one corruption in two billion is not detected.
    pub(super) fn finish(&self) -> u32 {
        xxh3_64(&self.0) as u32 >> 1
    }
}
