//! Tokenizer of questions: splits text into words and normalises singular and plural and a few verbs.

use std::sync::LazyLock;

use regex::Regex;

/// A word with its normalised forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QuestionToken {
    /// Original spelling.
    pub(super) text: String,
    /// Lower case.
    pub(super) lower: String,
    /// Without plural ending; for a few irregular verbs the infinitive.
    pub(super) lemma: String,
    /// Possible base forms of a comparative: `cheap` for `cheapest`.
    pub(super) bases: Vec<String>,
}

impl QuestionToken {
    fn new(text: &str) -> Self {
        let text = text.strip_suffix("'s").or_else(|| text.strip_suffix("’s")).unwrap_or(text);
        let lower = text.to_lowercase();
        Self { lemma: lemma(&lower), bases: bases(&lower), text: text.to_owned(), lower }
    }

    /// Returns true if the lower-case form is one of these words.
    pub(super) fn is_in(&self, words: &[&str]) -> bool {
        words.contains(&self.lower.as_str())
    }

    /// Returns true if the word starts with a capital letter.
    pub(super) fn is_capital(&self) -> bool {
        self.text.starts_with(char::is_uppercase)
    }

    /// Returns the numeric value of digits or a number word.
    pub(super) fn number(&self) -> Option<f64> {
        const NAMES: [&str; 13] =
            ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
        let index = NAMES.iter().position(|name| *name == self.lower);
        match index.and_then(|index| u32::try_from(index).ok()) {
            Some(number) => Some(f64::from(number)),
            None => self.lower.replace(',', "").parse().ok().filter(|number: &f64| number.is_finite()),
        }
    }
}

/// Splits a text into words.
pub(super) fn tokenize(text: &str) -> Vec<QuestionToken> {
    static WORD: LazyLock<Regex> = LazyLock::new(|| {
        let number = r"\d+(?:[.,]\d+)*(?:/\d+)?(?:\p{L}[\p{L}\p{N}]*)?";
        let date = r"\d{4}-\d{2}-\d{2}";
        Regex::new(&format!(r"{date}|{number}|[\p{{L}}_][\p{{L}}\p{{N}}_]*(?:[-'’][\p{{L}}\p{{N}}]+)*"))
            .expect("a pattern")
    });
    WORD.find_iter(text).map(|token| QuestionToken::new(token.as_str())).collect()
}

/// Removes the plural ending.
pub(super) fn lemma(lower: &str) -> String {
    const IRREGULAR: [(&str, &str); 16] = [
        ("paid", "pay"),
        ("sent", "send"),
        ("sold", "sell"),
        ("bought", "buy"),
        ("came", "come"),
        ("spent", "spend"),
        ("got", "get"),
        ("gave", "give"),
        ("given", "give"),
        ("took", "take"),
        ("taken", "take"),
        ("made", "make"),
        ("knives", "knife"),
        ("shelves", "shelf"),
        ("goods", "goods"),
        ("kept", "keep"),
    ];
    if let Some((_, base)) = IRREGULAR.iter().find(|(form, _)| *form == lower) {
        return (*base).to_owned();
    }
    let length = lower.chars().count();
    if let Some(base) = lower.strip_suffix("ies").filter(|_| length > 4) {
        return format!("{base}y");
    }
    let with_es = ["sses", "shes", "ches", "xes", "zes"].iter().any(|end| lower.ends_with(end));
    let is_plural = lower.ends_with('s') && !["ss", "us", "is"].iter().any(|end| lower.ends_with(end)) && length > 3;
    match (with_es, is_plural) {
        (true, _) => lower[..lower.len() - 2].to_owned(),
        (_, true) => lower[..lower.len() - 1].to_owned(),
        _ => lower.to_owned(),
    }
}

/// Returns possible base forms of comparatives such as `cheapest` and `heavier`.
fn bases(lower: &str) -> Vec<String> {
    const OTHERS: [&str; 8] = ["latest", "best", "rest", "west", "test", "interest", "request", "guest"];
    if OTHERS.contains(&lower) || lower.len() < 6 {
        return Vec::new();
    }
    let Some(base) = lower.strip_suffix("est").or_else(|| lower.strip_suffix("er")) else { return Vec::new() };
    let mut all = vec![base.to_owned(), format!("{base}e")];
    all.extend(base.strip_suffix('i').map(|base| format!("{base}y")));
    all
}

/// Returns the stem for matching documents: `shipping`, `shipped` and `ships` have the same stem.
pub(super) fn stem(lower: &str) -> String {
    let mut word = lemma(lower);
    for end in ["ment", "ing", "ed", "ly", "y", "e"] {
        if let Some(base) = word.strip_suffix(end).filter(|base| base.chars().count() >= 3) {
            word = base.to_owned();
            break;
        }
    }
    let last: Vec<char> = word.chars().rev().take(2).collect();
    if last.len() == 2 && last[0] == last[1] && !matches!(last[0], 'l' | 's' | 'e') {
        word.pop();
    }
    word.strip_suffix('e').map(str::to_owned).unwrap_or(word)
}

/// Words that may appear inside a phrase without changing its meaning.
pub(super) const SKIPPED: [&str; 22] = [
    "who", "that", "which", "the", "a", "an", "is", "are", "was", "were", "be", "been", "have", "has", "had", "do",
    "does", "did", "we", "our", "it", "they",
];

/// Returns true if the word does not change the meaning of a question about data.
pub(super) fn is_filler(lower: &str) -> bool {
    FILLERS.split_whitespace().any(|word| word == lower)
}

/// Returns true if a document need not contain this word of a question.
pub(super) fn is_question_word(lower: &str) -> bool {
    QUESTION_WORDS.split_whitespace().any(|word| word == lower)
}

/// Returns true for negations.
pub(super) fn is_negation(lower: &str) -> bool {
    ["no", "not", "never", "without"].contains(&lower)
}

/// Words that do not change the meaning of a question about data. Words that filter, compare or negate are not
/// among them.
const FILLERS: &str = "a an the this that those these our we us you me my i it its they their there is are was were be been being am do \
does did have has had can could would please of in on at to for from with by into through over and as what which \
who whose where how get got give gave show tell say let find see know want need come came make made bring placed \
currently now moment altogether overall all any some also just because something work works working called named \
belong belongs stand exist registered so far hello hi hey ok okay thanks company shop every list will together";

/// Words of a question that a document need not contain.
const QUESTION_WORDS: &str = "a an the this that those these our we us you me my i it its they them their there is are was were be been being \
am do does did have has had can could would should will may might must shall please of in on at to for from with \
by into through and or as so if than then what which who whom whose where when why how many much long often far \
fast soon quickly big get got give given take taken make made need needs want tell say says show know something \
someone somebody anything anyone thing call called mean means meaning definition define defined explain exactly \
own about up out any some all one ones your he she here now kind happens happen allowed rule rules count counts go \
goes company everybody stay stays remain";

#[cfg(test)]
mod tests {
    use super::*;

    /// R-PLN-56: words are recognised in natural spelling.
    #[test]
    fn words_are_brought_to_one_form() {
        let actual: Vec<String> = tokenize("What's the Cast Iron Pot 4L, Tarp 3x3; 1,249.90 on 2026-10-03?")
            .into_iter()
            .map(|w| w.lower)
            .collect();
        assert_eq!(actual, ["what", "the", "cast", "iron", "pot", "4l", "tarp", "3x3", "1,249.90", "on", "2026-10-03"]);
        for (word, base) in [("categories", "category"), ("knives", "knife"), ("boxes", "box"), ("status", "status")] {
            assert_eq!(lemma(word), base);
        }
        for (word, base) in
            [("shipping", "ship"), ("shipped", "ship"), ("passwords", "password"), ("delivery", "deliver")]
        {
            assert_eq!(stem(word), base);
        }
        assert!(tokenize("heaviest")[0].bases.contains(&"heavy".to_owned()));
        assert_eq!(tokenize("1,380")[0].number(), Some(1380.0));
    }
}
