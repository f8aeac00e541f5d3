//! Comparison of two sentences: one says the same as the other, the opposite, or neither.
//!
//! All words of the claim must occur in the evidence in the same order, with nothing in between. Then both sentences
//! are about the same subject, and a number or a `not` decides.

use super::statement::{Statement, Token};

/// Relation of an evidence sentence to a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    Supports,
    Contradicts,
    Neither,
}

/// Pairs of words that exclude each other.
const OPPOSITES: [(&str, &str); 24] = [
    ("safe", "unsafe"),
    ("safe", "dangerous"),
    ("safer", "dangerous"),
    ("legal", "illegal"),
    ("rise", "fall"),
    ("rose", "fell"),
    ("increase", "decrease"),
    ("increased", "decreased"),
    ("increase", "reduce"),
    ("raise", "lower"),
    ("higher", "lower"),
    ("harder", "easier"),
    ("better", "worse"),
    ("cheaper", "dearer"),
    ("common", "rare"),
    ("true", "untrue"),
    ("accepted", "rejected"),
    ("adopted", "rejected"),
    ("approved", "rejected"),
    ("first", "last"),
    ("larger", "smaller"),
    ("largest", "smallest"),
    ("faster", "slower"),
    ("possible", "impossible"),
];

/// Compares a claim with a sentence of the evidence.
pub(super) fn compare(claim: &Statement, evidence: &Statement) -> Relation {
    let words = claim.tokens.iter().filter(|token| matches!(token, Token::Word(_))).count();
    let has_enough_words = words >= 3 || (words == 2 && words < claim.tokens.len());
    if !has_enough_words || claim.is_open || evidence.is_open || claim.limits != evidence.limits {
        return Relation::Neither;
    }
    if claim.is_past.zip(evidence.is_past).is_some_and(|(claim, evidence)| claim != evidence) {
        return Relation::Neither;
    }
    let Some(rest) = evidence.tokens.get(claim.tokens.len()..) else { return Relation::Neither };
    if !is_aside(rest, claim, evidence) {
        return Relation::Neither;
    }
    compare_tokens(claim, evidence, rest)
}

/// Returns true if the additional words of the evidence do not limit the claim: they follow a comma, or are a date.
fn is_aside(rest: &[Token], claim: &Statement, evidence: &Statement) -> bool {
    let is_date = matches!(rest, [Token::Number(number)] if number.is_year);
    rest.is_empty() || is_date || evidence.breaks.contains(&claim.tokens.len())
}

fn compare_tokens(claim: &Statement, evidence: &Statement, rest: &[Token]) -> Relation {
    let (mut opposites, mut numbers) = (0, NumberComparison::default());
    for (claim_token, evidence_token) in claim.tokens.iter().zip(&evidence.tokens) {
        match (claim_token, evidence_token) {
            (Token::Word(claim_word), Token::Word(evidence_word)) if claim_word == evidence_word => {}
            (Token::Word(claim_word), Token::Word(evidence_word)) if are_opposites(claim_word, evidence_word) => {
                opposites += 1
            }
            (Token::Number(claim_number), Token::Number(evidence_number))
                if claim_number.is_year == evidence_number.is_year =>
            {
                numbers.count += 1;
                if claim_number.excludes(evidence_number) {
                    numbers.different += 1;
                    numbers.is_year = claim_number.is_year;
                } else if !evidence_number.is_within(claim_number) {
                    numbers.undecided += 1;
                }
            }
            _ => return Relation::Neither,
        }
    }
    let is_opposite = (opposites % 2 == 1) != (claim.is_negative != evidence.is_negative);
    let is_dated = rest.iter().any(|token| matches!(token, Token::Number(_)));
    match (is_opposite, numbers) {
        _ if opposites > 1 || numbers.undecided > 0 => Relation::Neither,
        // A fact of one year need not hold in another, and a `not` with a number may mean any other number.
        (_, NumberComparison { different: 0, .. }) if is_opposite && is_dated => Relation::Neither,
        (true, NumberComparison { different: 0, count: 0, .. }) => Relation::Contradicts,
        (false, NumberComparison { different: 0, .. }) if opposites == 0 => Relation::Supports,
        (false, NumberComparison { different: 1, count, is_year, .. })
            if opposites == 0 && !claim.is_negative && !is_dated =>
        {
            // In another year the same number may hold as well.
            if is_year && count > 1 { Relation::Neither } else { Relation::Contradicts }
        }
        _ => Relation::Neither,
    }
}

/// Comparison of the numbers of two sentences.
#[derive(Debug, Default, Clone, Copy)]
struct NumberComparison {
    count: usize,
    /// Numbers that exclude each other.
    different: usize,
    /// Ranges that overlap, so that neither sentence follows from the other.
    undecided: usize,
    /// True if the last different number is a year.
    is_year: bool,
}

fn are_opposites(one: &str, other: &str) -> bool {
    OPPOSITES.iter().any(|(first, second)| (one, other) == (*first, *second) || (other, one) == (*first, *second))
}
