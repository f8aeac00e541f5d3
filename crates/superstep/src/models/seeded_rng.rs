//! Reproducible random numbers from a seed, equal on every machine.

/// Random number generator with a seed (SplitMix64). For rules and delays; not suitable for secrets.
///
/// ```
/// use superstep::models::SeededRng;
///
/// let (mut one, mut same) = (SeededRng::new(7), SeededRng::new(7));
/// assert_eq!(one.below(6), same.below(6));
/// assert!(SeededRng::new(7).choose(&["a", "b"]).is_some());
/// ```
#[derive(Debug, Clone)]
pub struct SeededRng(u64);

impl SeededRng {
    /// Creates a generator from a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 up to but excluding `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        // The high half of the product is uniform enough for values of `end` far below 2^64, and needs no second
        // number.
        ((u128::from(self.next_u64()) * u128::from(end)) >> 64) as u64
    }

    /// Returns a number from 0 up to but excluding 1.
    pub fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a random element, or `None` for an empty slice.
    pub fn choose<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(usize::try_from(self.below(from.len() as u64)).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-73: the numbers of a seed are those of SplitMix64, on every machine.
    #[test]
    fn seeded_numbers_equal_splitmix64() {
        let mut rng = SeededRng::new(1_234_567);
        let numbers: Vec<u64> = (0..3).map(|_| rng.next_u64()).collect();
        assert_eq!(numbers, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
        assert!((0..1_000).all(|_| rng.below(6) < 6 && (0.0..1.0).contains(&rng.next_f64())));
        assert_eq!((rng.below(0), rng.choose::<u8>(&[])), (0, None));
    }
}
