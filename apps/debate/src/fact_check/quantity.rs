//! Numbers in text: `about 7 percent`, `more than 2 million`, `two thirds`.

/// A range of numbers: `at least 5` is every number from 5.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Quantity {
    min: f64,
    max: f64,
    pub(super) is_year: bool,
}

impl Quantity {
    /// Parses the number of a single word, without regard to its context.
    pub(super) fn parse(word: &str) -> Option<f64> {
        const WORDS: [(&str, f64); 17] = [
            ("zero", 0.0),
            ("one", 1.0),
            ("two", 2.0),
            ("three", 3.0),
            ("four", 4.0),
            ("five", 5.0),
            ("six", 6.0),
            ("seven", 7.0),
            ("eight", 8.0),
            ("nine", 9.0),
            ("ten", 10.0),
            ("eleven", 11.0),
            ("twelve", 12.0),
            ("twenty", 20.0),
            ("thirty", 30.0),
            ("fifty", 50.0),
            ("ninety", 90.0),
        ];
        if let Some((_, value)) = WORDS.iter().find(|(name, _)| *name == word) {
            return Some(*value);
        }
        let digits: String = word.trim_start_matches(['$', '€', '£']).trim_end_matches('%').replace(',', "");
        let is_number = digits.starts_with(|letter: char| letter.is_ascii_digit())
            && digits.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
        if is_number { digits.trim_end_matches('.').parse().ok() } else { None }
    }

    /// Returns the factor by which a word multiplies the number before it.
    pub(super) fn scale(word: &str) -> Option<f64> {
        match word {
            "hundred" => Some(1e2),
            "thousand" => Some(1e3),
            "million" => Some(1e6),
            "billion" => Some(1e9),
            "trillion" => Some(1e12),
            _ => None,
        }
    }

    /// Creates a range from a number and the words before it, the nearest last.
    pub(super) fn new(value: f64, before: &[&str], is_year: bool) -> Self {
        let (mut min, mut max) = (value, value);
        match before {
            [.., "more" | "larger" | "higher" | "longer" | "greater", "than"]
            | [.., "at", "least"]
            | [.., "over" | "above" | "exceeding"] => max = f64::INFINITY,
            [.., "less" | "fewer" | "lower" | "shorter" | "smaller", "than"]
            | [.., "at", "most"]
            | [.., "up", "to"]
            | [.., "under" | "below" | "nearly" | "almost"] => min = f64::NEG_INFINITY,
            [.., "about" | "around" | "roughly" | "approximately" | "some" | "circa"] => {
                (min, max) = (value * 0.9, value * 1.1);
            }
            _ => {}
        }
        Self { min, max, is_year }
    }

    /// Returns true if every number of this range is in the other.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        self.min >= other.min && self.max <= other.max
    }

    /// Returns true if the ranges exclude each other. Numbers that differ only slightly may be the same number,
    /// rounded.
    pub(super) fn excludes(&self, other: &Self) -> bool {
        let slack = if self.is_year { 0.0 } else { 0.05 * self.min.abs().max(other.min.abs()) };
        let slack = if slack.is_finite() { slack } else { 0.0 };
        self.max + slack < other.min || other.max + slack < self.min
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-DEB-26: a number with a qualifying word is a range, and overlapping ranges do not contradict each other.
    #[test]
    fn qualified_numbers_are_ranges() {
        let exact = Quantity::new(7.0, &[], false);
        assert!(exact.is_within(&Quantity::new(5.0, &["more", "than"], false)));
        assert!(exact.excludes(&Quantity::new(5.0, &["at", "most"], false)));
        assert!(
            !exact.excludes(&Quantity::new(7.2, &["about"], false)) && !exact.excludes(&Quantity::new(7.1, &[], false))
        );
        assert!(Quantity::new(1986.0, &[], true).excludes(&Quantity::new(1987.0, &[], true)));
        assert_eq!(
            (Quantity::parse("2,000"), Quantity::parse("7%"), Quantity::parse("GPT-4")),
            (Some(2e3), Some(7.0), None)
        );
    }
}
