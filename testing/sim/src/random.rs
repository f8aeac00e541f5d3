//! Random numbers from a seed, identical on every machine.

/// A random number generator (splitmix64).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// Creates a generator for one of several uses of a seed. Similar seeds and numbers result in independent
    /// streams.
    pub(crate) fn for_stream(seed: u64, number: u64) -> Self {
        let mut first = Self(seed ^ number.wrapping_mul(0xd6e8_feb8_6659_fd93));
        Self(first.next())
    }

    /// Returns the next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `limit`, which is not 0.
    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        // Multiplying the high half by the limit avoids a division; the bias is negligible for a small limit.
        (((self.next() >> 32) * u64::from(limit)) >> 32) as u32
    }

    /// Returns true once in `many` on average.
    pub(crate) fn one_in(&mut self, many: u32) -> bool {
        self.below(many) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_numbers() {
        let numbers = |seed| {
            let mut random = Random::for_stream(seed, 0);
            [(); 4].map(|()| random.next())
        };
        assert_eq!(numbers(1), numbers(1));
        assert_ne!(numbers(1), numbers(2));
        let mut random = Random::for_stream(7, 3);
        let mut counts = [0_u32; 4];
        (0..4_000).for_each(|_| counts[random.below(4) as usize] += 1);
        assert!(counts.iter().all(|count| (800..1_200).contains(count)), "{counts:?}");
    }
}
