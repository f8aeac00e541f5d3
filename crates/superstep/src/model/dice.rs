//! Chance that repeats itself: numbers out of a seed, the same on every machine.

/// Numbers out of a seed (SplitMix64). For rules and waits; not for secrets.
///
/// ```
/// use superstep::model::Dice;
///
/// let (mut one, mut same) = (Dice::new(7), Dice::new(7));
/// assert_eq!(one.below(6), same.below(6));
/// assert!(Dice::new(7).pick(&["a", "b"]).is_some());
/// ```
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Dice that fall as this seed says.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to but without `end`; 0 where there is none.
    pub fn below(&mut self, end: u64) -> u64 {
        // The high half of the product is even enough for ends far below 2^64, and needs no second roll.
        ((u128::from(self.roll()) * u128::from(end)) >> 64) as u64
    }

    /// A number from 0 up to but without 1.
    pub fn share(&mut self) -> f64 {
        (self.roll() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// One of several; nothing out of nothing.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(usize::try_from(self.below(from.len() as u64)).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-73: the numbers of a seed are those of SplitMix64, on every machine.
    #[test]
    fn a_seed_gives_the_numbers_of_splitmix() {
        let mut dice = Dice::new(1_234_567);
        let rolled: Vec<u64> = (0..3).map(|_| dice.roll()).collect();
        assert_eq!(rolled, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
        assert!((0..1_000).all(|_| dice.below(6) < 6 && (0.0..1.0).contains(&dice.share())));
        assert_eq!((dice.below(0), dice.pick::<u8>(&[])), (0, None));
    }
}
