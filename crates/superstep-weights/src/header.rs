//! Validates the header of a GGUF file before it is parsed.
//!
//! A file may come from an untrusted source, so every count, length and offset in it is checked against the size of
//! the file, with arithmetic that cannot overflow, and against limits. A valid file needs memory in proportion to
//! its size and no more. The result of reading is discarded: `candle` parses the file again.

use std::collections::BTreeSet;
use std::io::{BufReader, Read, Seek, SeekFrom};

/// Maximum number of metadata keys, and of tensors.
const MAX_ENTRIES: u64 = 100_000;
/// Maximum length of a string in bytes.
const MAX_TEXT_BYTES: u64 = 64 * 1024;
/// Maximum number of elements of all arrays together: a vocabulary has some hundred thousand.
const MAX_ARRAY_ELEMENTS: u64 = 1 << 23;
/// Maximum number of dimensions of a tensor.
const MAX_DIMENSIONS: u32 = 4;
/// Default alignment of tensors in bytes.
const ALIGNMENT: u64 = 32;

const STRING: u32 = 8;
const ARRAY: u32 = 9;

/// Checks the header of a file.
pub(crate) fn check<R: Read + Seek>(file: &mut R) -> Result<(), String> {
    let size = file.seek(SeekFrom::End(0)).map_err(|error| error.to_string())?;
    file.seek(SeekFrom::Start(0)).map_err(|error| error.to_string())?;
    let mut reader = HeaderReader { reader: BufReader::new(file), position: 0, size, elements: 0 };
    if reader.read_array::<4>()? != *b"GGUF" {
        return Err("it is not a GGUF file".to_owned());
    }
    match reader.read_u32()? {
        2 | 3 => {}
        version => return Err(format!("unsupported GGUF version {version}; 2 and 3 are supported")),
    }
    let (tensors, keys) = (reader.count("tensors")?, reader.count("keys")?);
    let alignment = reader.metadata(keys)?;
    reader.tensors(tensors, alignment)
}

/// A reader of the header that rejects lengths beyond the end of the file.
struct HeaderReader<R> {
    reader: R,
    position: u64,
    size: u64,
    elements: u64,
}

impl<R: Read + Seek> HeaderReader<BufReader<R>> {
    /// Reads the metadata; returns the alignment of the tensors.
    fn metadata(&mut self, keys: u64) -> Result<u64, String> {
        let (mut alignment, mut names) = (ALIGNMENT, BTreeSet::new());
        for _ in 0..keys {
            let key = self.read_string()?;
            let type_id = self.read_u32()?;
            if key == "general.alignment" {
                alignment = self.alignment(type_id)?;
            } else {
                self.skip_value(type_id).map_err(|reason| format!("key `{key}`: {reason}"))?;
            }
            if let Some(key) = names.replace(key) {
                return Err(format!("duplicate key `{key}`"));
            }
        }
        Ok(alignment)
    }

    fn alignment(&mut self, type_id: u32) -> Result<u64, String> {
        let value = if type_id == 4 { u64::from(self.read_u32()?) } else { 0 };
        let is_valid = value.is_power_of_two() && (8..=MAX_TEXT_BYTES).contains(&value);
        if is_valid { Ok(value) } else { Err("invalid value of `general.alignment`".to_owned()) }
    }

    /// Reads the list of tensors, and checks that all of them are inside the file.
    fn tensors(&mut self, count: u64, alignment: u64) -> Result<(), String> {
        let (mut names, mut ends, mut total) = (BTreeSet::new(), Vec::new(), 0_u64);
        for _ in 0..count {
            let name = self.read_string()?;
            let (offset, bytes) = self.tensor().map_err(|reason| format!("tensor `{name}`: {reason}"))?;
            if offset % alignment != 0 {
                return Err(format!("the offset {offset} of tensor `{name}` is not a multiple of {alignment}"));
            }
            // Overlapping tensors would need more memory than the file has bytes.
            total = total.checked_add(bytes).ok_or("the total size of the tensors is too large")?;
            ends.push((name.clone(), offset.checked_add(bytes)));
            if !names.insert(name.clone()) {
                return Err(format!("duplicate tensor `{name}`"));
            }
        }
        let data_offset = self.position.checked_next_multiple_of(alignment).ok_or("the header is too large")?;
        let available = self.size.saturating_sub(data_offset);
        if let Some((name, _)) = ends.iter().find(|(_, end)| end.is_none_or(|end| end > available)) {
            return Err(format!("tensor `{name}` exceeds the end of the file; the file may be truncated"));
        }
        if total > available { Err("tensors overlap".to_owned()) } else { Ok(()) }
    }

    /// Returns the offset and size in bytes of a tensor.
    fn tensor(&mut self) -> Result<(u64, u64), String> {
        let dimensions = self.read_u32()?;
        if !(1..=MAX_DIMENSIONS).contains(&dimensions) {
            return Err(format!("{dimensions} dimensions; 1 to {MAX_DIMENSIONS} are supported"));
        }
        let (mut elements, mut row) = (1_u64, None);
        for _ in 0..dimensions {
            let length = self.read_u64()?;
            row.get_or_insert(length);
            elements = elements.checked_mul(length).filter(|elements| *elements > 0).ok_or("invalid size")?;
        }
        let type_id = self.read_u32()?;
        let (block, bytes) = block(type_id).ok_or_else(|| format!("unknown data type {type_id}"))?;
        if row.unwrap_or_default() % block != 0 {
            return Err(format!("the row length is not a multiple of the block size {block}"));
        }
        let bytes = (elements / block).checked_mul(bytes).ok_or("invalid size")?;
        Ok((self.read_u64()?, bytes))
    }

    fn skip_value(&mut self, type_id: u32) -> Result<(), String> {
        match type_id {
            STRING => self.read_string().map(drop),
            ARRAY => {
                let (type_id, count) = (self.read_u32()?, self.read_u64()?);
                self.elements = self.elements.saturating_add(count);
                if self.elements > MAX_ARRAY_ELEMENTS {
                    return Err(format!("the arrays have more than {MAX_ARRAY_ELEMENTS} elements"));
                }
                match type_id {
                    STRING => (0..count).try_for_each(|_| self.read_string().map(drop)),
                    _ => self.skip(count.checked_mul(width(type_id)?).ok_or("the array is too large")?),
                }
            }
            _ => self.skip(width(type_id)?),
        }
    }

    fn read_string(&mut self) -> Result<String, String> {
        let length = self.read_u64()?;
        if length > MAX_TEXT_BYTES {
            return Err(format!("a string has {length} bytes; the maximum is {MAX_TEXT_BYTES}"));
        }
        self.advance(length)?;
        let mut bytes = vec![0; usize::try_from(length).map_err(|error| error.to_string())?];
        self.reader.read_exact(&mut bytes).map_err(|error| error.to_string())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn count(&mut self, label: &str) -> Result<u64, String> {
        let count = self.read_u64()?;
        if count > MAX_ENTRIES { Err(format!("{count} {label}; the maximum is {MAX_ENTRIES}")) } else { Ok(count) }
    }

    fn read_u32(&mut self) -> Result<u32, String> {
        self.read_array().map(u32::from_le_bytes)
    }

    fn read_u64(&mut self) -> Result<u64, String> {
        self.read_array().map(u64::from_le_bytes)
    }

    fn read_array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        self.advance(N as u64)?;
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    fn skip(&mut self, length: u64) -> Result<(), String> {
        self.advance(length)?;
        let length = i64::try_from(length).map_err(|error| error.to_string())?;
        self.reader.seek_relative(length).map_err(|error| error.to_string())
    }

    /// Advances the position, unless that exceeds the file.
    fn advance(&mut self, length: u64) -> Result<(), String> {
        let position = self.position.checked_add(length).filter(|position| *position <= self.size);
        self.position =
            position.ok_or_else(|| format!("the file ends at byte {}, in the middle of its header", self.size))?;
        Ok(())
    }
}

/// Returns the size in bytes of a value of this type. Nested arrays are rejected.
fn width(type_id: u32) -> Result<u64, String> {
    match type_id {
        0 | 1 | 7 => Ok(1),
        2 | 3 => Ok(2),
        4..=6 => Ok(4),
        10..=12 => Ok(8),
        ARRAY => Err("nested arrays are not supported".to_owned()),
        _ => Err(format!("unknown value type {type_id}")),
    }
}

/// Returns the number of elements and the size in bytes of a block of this type.
fn block(type_id: u32) -> Option<(u64, u64)> {
    Some(match type_id {
        0 => (1, 4),
        1 | 30 => (1, 2),
        2 => (32, 18),
        3 => (32, 20),
        6 => (32, 22),
        7 => (32, 24),
        8 => (32, 34),
        10 => (256, 84),
        11 => (256, 110),
        12 => (256, 144),
        13 => (256, 176),
        14 => (256, 210),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use candle_core::quantized::GgmlDType;

    use super::*;

    /// A block size that is too small would let candle read past the file.
    #[test]
    fn blocks_are_as_large_as_candle_reads_them() {
        let type_ids = [
            (0, GgmlDType::F32),
            (1, GgmlDType::F16),
            (2, GgmlDType::Q4_0),
            (3, GgmlDType::Q4_1),
            (6, GgmlDType::Q5_0),
            (7, GgmlDType::Q5_1),
            (8, GgmlDType::Q8_0),
            (10, GgmlDType::Q2K),
            (11, GgmlDType::Q3K),
            (12, GgmlDType::Q4K),
            (13, GgmlDType::Q5K),
            (14, GgmlDType::Q6K),
            (30, GgmlDType::BF16),
        ];
        for (type_id, candle_type) in type_ids {
            assert_eq!(
                block(type_id),
                Some((candle_type.block_size() as u64, candle_type.type_size() as u64)),
                "{candle_type:?}"
            );
        }
    }
}
