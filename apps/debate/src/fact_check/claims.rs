//! Selection of the sentences that can be checked.

use super::sentences;

/// Maximum number of claims taken from one turn.
const MAX_CLAIMS: usize = 3;

/// Returns the sentences of a text that make a claim: with a number, a date, a named thing or a causal verb; at
/// most three, unchanged and in their order. If there are more, those with numbers come first, then those with
/// names.
///
/// ```
/// use superstep_debate::fact_check::claims;
///
/// let text = "I like this. The law came in 2024. It causes delays. Why not?";
/// assert_eq!(claims(text), ["The law came in 2024.", "It causes delays."]);
/// ```
#[must_use]
pub fn claims(text: &str) -> Vec<String> {
    let sentences = sentences(text);
    let ranked = sentences.iter().enumerate().filter_map(|(index, sentence)| Some((rank(sentence)?, index)));
    let mut best: Vec<(u8, usize)> = ranked.collect();
    best.sort_unstable();
    best.truncate(MAX_CLAIMS);
    best.sort_unstable_by_key(|(_, index)| *index);
    best.into_iter().map(|(_, index)| sentences[index].to_owned()).collect()
}

/// Ranks a sentence by how well it can be checked; 0 is the best rank. Returns `None` if the sentence makes no claim.
fn rank(sentence: &str) -> Option<u8> {
    if sentence.ends_with(['?', '？']) {
        return None;
    }
    let words: Vec<&str> = sentence
        .split(|letter: char| !letter.is_alphanumeric() && !"-'’".contains(letter))
        .filter(|word| !word.is_empty())
        .collect();
    if has_number(&words) {
        Some(0)
    } else if has_name(sentence) {
        Some(1)
    } else {
        words.iter().any(|word| is_causal(word)).then_some(2)
    }
}

fn has_number(words: &[&str]) -> bool {
    const NUMBER_WORDS: [&str; 16] = [
        "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "dozen", "hundred",
        "thousand", "million", "billion", "percent",
    ];
    const DATE_WORDS: [&str; 11] = [
        "january",
        "february",
        "april",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "century",
    ];
    words.iter().any(|word| {
        let lower = word.to_lowercase();
        let lower = lower.trim_end_matches('s');
        word.chars().any(char::is_numeric) || NUMBER_WORDS.contains(&lower) || DATE_WORDS.contains(&lower)
    })
}

/// Returns true if a word inside the sentence is a name: capitalized where no sentence starts.
fn has_name(sentence: &str) -> bool {
    let mut is_start = true;
    for word in sentence.split_whitespace() {
        let bare = word.trim_matches(|letter: char| !letter.is_alphanumeric());
        let capitals = bare.chars().filter(|letter| letter.is_uppercase()).count();
        let opens = word.starts_with(['“', '‘', '"', '(']);
        let is_i = matches!(bare.replace('’', "'").as_str(), "I" | "I'm" | "I'd" | "I'll" | "I've");
        let is_capital = bare.chars().next().is_some_and(char::is_uppercase) && !is_i;
        if capitals > 1 && !is_i || is_capital && !is_start && !opens {
            return true;
        }
        // After a colon or a quotation mark a capital letter proves nothing.
        is_start = word.ends_with([':', '“']) || bare.is_empty() && is_start;
    }
    false
}

fn is_causal(word: &str) -> bool {
    const STEMS: [&str; 16] = [
        "cause", "lead", "result", "reduce", "increase", "raise", "lower", "prevent", "produce", "trigger", "improve",
        "worsen", "create", "kill", "harm", "destroy",
    ];
    let word = word.to_lowercase();
    let is_form = |stem: &str| {
        let open = stem.trim_end_matches('e');
        word == stem || word == format!("{stem}s") || word == format!("{open}ed") || word == format!("{open}ing")
    };
    word == "led" || STEMS.iter().any(|stem| is_form(stem))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-DEB-26: a number, a date, a named thing or a causal verb makes a claim; an opinion or a question does not.
    #[test]
    fn claims_are_detected() {
        for (sentence, is_claim) in [
            ("Fines can reach 7 percent of turnover.", true),
            ("Two thirds of it is nuclear.", true),
            ("It began in March and ended in October.", true),
            ("Many pupils in Japan wear them.", true),
            ("The rules of NASA are strict.", true),
            ("Smoking causes cancer.", true),
            ("Speed kills.", true),
            ("This is a fine idea.", false),
            ("I think that I’d rather wait.", false),
            ("Is it 2024 already?", false),
            ("Let me say it: This is good.", false),
            ("“Nobody knows” is what they say.", false),
        ] {
            assert_eq!(!claims(sentence).is_empty(), is_claim, "{sentence}");
        }
    }

    /// R-DEB-26: at most three claims are taken, those that can be checked best, unchanged and in their order.
    #[test]
    fn at_most_three_claims_are_selected() {
        let text = "It causes harm. Paris is in France. It cost 3 euros. Rome is in Italy. It took 5 days.";
        assert_eq!(claims(text), ["Paris is in France.", "It cost 3 euros.", "It took 5 days."]);
        assert!(claims(text).iter().all(|claim| text.contains(claim.as_str())));
        assert!(claims("").is_empty());
    }
}
