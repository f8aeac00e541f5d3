//! Phrases around a calculation: "what is", "add 19 % to", "convert .. to ..", currencies.

use superstep::ToolError;

use super::arithmetic::Arithmetic;
use super::tokens::{CalculatorToken, tokens};
use super::{CalculationResult, expression, units};
use crate::tools::error::invalid;

/// Maximum length of a calculation in characters.
const MAX_CHARS: usize = 1_000;

/// Evaluates a sentence.
pub(super) fn calculate(text: &str) -> Result<CalculationResult, ToolError> {
    if text.chars().count() > MAX_CHARS {
        return Err(invalid(format_args!("a calculation can have at most {MAX_CHARS} characters")));
    }
    let text = text.trim().trim_end_matches(['?', '=', '.', '!', ' ']);
    let mut tokens = tokens(text)?;
    let currency = take_currency(&mut tokens)?;
    let tokens = strip_lead_in(&tokens);
    if tokens.is_empty() {
        return Err(invalid("there is nothing to calculate"));
    }
    let mut arithmetic = Arithmetic::default();
    if let Some((quantity, unit, target)) = conversion(tokens) {
        let value = expression::evaluate(quantity, &mut arithmetic)?;
        let (value, unit) = units::convert(value, unit, target, &mut arithmetic)?;
        return Ok(CalculationResult { value, unit: Some(unit.to_owned()), is_rounded: arithmetic.is_rounded });
    }
    let value = expression::evaluate(&rewrite_phrase(tokens), &mut arithmetic)?;
    Ok(CalculationResult { value, unit: currency.map(str::to_owned), is_rounded: arithmetic.is_rounded })
}

/// Removes the currency; two different currencies are an error.
fn take_currency(tokens: &mut Vec<CalculatorToken>) -> Result<Option<&'static str>, ToolError> {
    let mut detected = None;
    let mut is_mixed = false;
    tokens.retain(|token| {
        let Some(currency) = currency(token) else { return true };
        is_mixed |= detected.is_some_and(|previous| previous != currency);
        detected = Some(currency);
        false
    });
    if is_mixed { Err(invalid("exchange rates are not available")) } else { Ok(detected) }
}

fn currency(token: &CalculatorToken) -> Option<&'static str> {
    let CalculatorToken::Word(word) = token else { return None };
    match word.to_lowercase().as_str() {
        "€" | "euro" | "euros" | "eur" => Some("EUR"),
        "$" | "dollar" | "dollars" | "usd" => Some("USD"),
        "£" | "gbp" => Some("GBP"),
        _ => None,
    }
}

/// Removes leading words without a meaning for the calculation.
fn strip_lead_in(tokens: &[CalculatorToken]) -> &[CalculatorToken] {
    const LEAD_IN_WORDS: [&str; 19] = [
        "what",
        "whats",
        "is",
        "s",
        "do",
        "does",
        "i",
        "get",
        "if",
        "we",
        "you",
        "calculate",
        "compute",
        "please",
        "how",
        "much",
        "convert",
        "the",
        "result",
    ];
    let is_lead_in = |token: &CalculatorToken| LEAD_IN_WORDS.iter().any(|word| token.is(word));
    let start = tokens.iter().position(|token| !is_lead_in(token)).unwrap_or(tokens.len());
    &tokens[start..]
}

/// Splits a conversion into quantity, unit and target unit: `12 miles to km`, `many grams are 2.5 lb`.
fn conversion(tokens: &[CalculatorToken]) -> Option<(&[CalculatorToken], &str, &str)> {
    if let [many, CalculatorToken::Word(target), preposition, quantity @ .., CalculatorToken::Word(unit)] = tokens
        && many.is("many")
        && ["are", "is", "in", "make"].iter().any(|word| preposition.is(word))
    {
        return Some((quantity, unit, target));
    }
    match tokens {
        [quantity @ .., CalculatorToken::Word(unit), preposition, CalculatorToken::Word(target)]
            if !quantity.is_empty() && ["to", "in", "into", "as"].iter().any(|word| preposition.is(word)) =>
        {
            Some((quantity, unit, target))
        }
        _ => None,
    }
}

/// Rewrites `add a to b`, `increase b by a` and similar phrases as expressions.
fn rewrite_phrase(tokens: &[CalculatorToken]) -> Vec<CalculatorToken> {
    let forms = [
        (&["add"][..], "to", '+', true),
        (&["subtract", "take", "deduct"][..], "from", '-', true),
        (&["increase", "raise"][..], "by", '+', false),
        (&["decrease", "reduce", "lower"][..], "by", '-', false),
    ];
    for (verbs, preposition, sign, is_reversed) in forms {
        let (Some(first), Some(index)) = (tokens.first(), tokens.iter().position(|token| token.is(preposition))) else {
            continue;
        };
        if verbs.iter().any(|verb| first.is(verb)) {
            let (left, right) = (&tokens[1..index], &tokens[index + 1..]);
            let (left, right) = if is_reversed { (right, left) } else { (left, right) };
            return in_brackets(left)
                .into_iter()
                .chain([CalculatorToken::Sign(sign)])
                .chain(right.iter().cloned())
                .collect();
        }
    }
    tokens.to_vec()
}

fn in_brackets(tokens: &[CalculatorToken]) -> Vec<CalculatorToken> {
    let mut all = vec![CalculatorToken::Sign('(')];
    all.extend_from_slice(tokens);
    all.push(CalculatorToken::Sign(')'));
    all
}
