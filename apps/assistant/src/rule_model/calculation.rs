//! Detects calculations in questions; the tool computes them.

use std::sync::LazyLock;

use regex::Regex;

/// Returns the calculation if the question is one.
pub(super) fn calculation(question: &str) -> Option<String> {
    static FORMS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
        let number = r"[€$£]?\s*\d[\d.,]*";
        let unit = "(?:mm|cm|m|km|met(?:re|er)s?|kilomet(?:re|er)s?|centimet(?:re|er)s?|mi|miles?|ft|foot|feet|yd|yards?|in|inch(?:es)?|mg|g|grams?|kg|kilos?|kilograms?|t|tons?|tonnes?|oz|ounces?|lbs?|pounds?|l|lit(?:re|er)s?|ml|gal(?:lons?)?|pints?|cups?|°?[cfk]|celsius|fahrenheit|kelvin|s|sec(?:onds?)?|min(?:utes?)?|h|hours?|d|days?|weeks?|[kmgt]i?b|bytes?|bits?|mbit|gbit|acres?|hectares?|ha|m2|m²|km2|km/h|mph|m/s|knots?)";
        let percent = r"(?:%|per ?cent)";
        let begin = r"(?i)^\s*(?:please\s+)?(?:what(?:'s| is| are| do i get if i| does)?|calculate|compute|how much (?:is|are))?\s*";
        let verbs = "(?:add|subtract|take|deduct|increase|raise|decrease|reduce|lower)";
        [
            format!(r"{begin}[\d\s.,()+\-−–*/×÷^%€$£]*\d\s*\)?\s*(?:[+\-−–*/×÷^%]|plus|minus|times|mod)[\d\s.,()+\-−–*/×÷^%€$£a-z]*?\d[\d\s.,()%]*(?:euros?|eur|dollars?)?[\s=?.!]*$"),
            format!(r"(?i)\b{number}\s*{percent}\s+of\s+{number}"),
            format!(r"{begin}{verbs}\s+{number}\s*(?:{percent}|euros?|eur)?\s*(?:to|from|by)\s+{number}"),
            format!(r"(?i)\bhow many {unit} (?:are|is|in|make|are in|are there in)\s+{number}\s*{unit}\b"),
            format!(r"(?i)^\s*(?:convert|what(?:'s| is)|how much is)?\s*-?{number}\s*{unit}\s+(?:to|in|into|as)\s+{unit}[\s?.!]*$"),
        ]
        .iter()
        .map(|form| Regex::new(form).expect("a pattern"))
        .collect()
    });
    FORMS.iter().any(|form| form.is_match(question)).then(|| question.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-PLN-56: calculations are distinguished from questions about the data.
    #[test]
    fn calculations_are_recognised() {
        for question in [
            "What is 17.5% of 1,249.90?",
            "0.1 + 0.2",
            "How many grams are 2.5 lb?",
            "(1250 - 399.50) * 3 / 4 = ?",
            "What do I get if I add 19 % to 1,380 euro?",
            "convert 12 miles to km",
            "12 mi in km",
            "what is 7 times 6?",
        ] {
            assert!(calculation(question).is_some(), "{question}");
        }
        for question in [
            "Add up the totals of all orders with status PAID.",
            "How many orders did we get in October 2026?",
            "How many days does an order take?",
            "What are our top 5 products by revenue?",
            "Show me revenue per month for July to September 2026.",
            "Orders from 2026-10-01 to 2026-10-31",
        ] {
            assert_eq!(calculation(question), None, "{question}");
        }
    }
}
