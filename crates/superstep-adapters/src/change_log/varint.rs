//! Variable-length integers: seven bits per byte, the lowest bits first.

/// Appends a number.
pub(crate) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reader of numbers and byte strings; methods return `None` at the end of the input.
pub(crate) struct VarintReader<'a>(pub(crate) &'a [u8]);

impl<'a> VarintReader<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    pub(crate) fn piece(&mut self, length: u64) -> Option<&'a [u8]> {
        let (piece, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_size_round_trip() {
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX];
        let mut out = Vec::new();
        numbers.iter().for_each(|number| put(&mut out, *number));
        let mut bytes = VarintReader(&out);
        assert!(numbers.iter().all(|number| bytes.number() == Some(*number)));
        assert!(bytes.is_empty() && bytes.number().is_none());
        assert!(VarintReader(&[0xff; 12]).number().is_none(), "a number without an end is invalid");
        assert!(VarintReader(&[1, 2]).piece(3).is_none());
    }
}
