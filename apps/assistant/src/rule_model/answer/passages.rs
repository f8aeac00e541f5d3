//! Answers from passages of documents: selects and quotes sentences.
//!
//! A sentence is quoted only if the sentence and its headings have nearly all words of the question, and a number
//! if the question requests one. A passage that is merely similar is not an answer, and neither is a passage that
//! states what the question negates.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::classify::{ClassifiedQuestion, QuestionKind};
use super::super::tokens::{QuestionToken, is_negation, is_question_word, stem, tokenize};
use crate::prompt::{TaskPrompt, ToolResult};

/// Groups of words that documents use as synonyms.
const SYNONYMS: [&[&str]; 16] = [
    &["vacation", "holiday"],
    &["guarantee", "warranty"],
    &["trip", "travel", "journey"],
    &["ship", "send", "dispatch", "post"],
    &["return", "back"],
    &["colleague", "employee", "staff"],
    &["customer", "client", "buyer"],
    &["mail", "email", "e-mail"],
    &["member", "membership", "club", "loyalty"],
    &["device", "laptop", "phone", "computer"],
    &["supplier", "vendor"],
    &["valid", "expire", "expiry"],
    &["ill", "illness", "sick"],
    &["discount", "off", "reduction", "rebate"],
    &["cost", "price", "fee", "charge", "pay", "euro"],
    &["value", "euro", "percent", "worth"],
];

/// Minimum share of the question's words that sentence and headings must cover.
const MIN_COVERAGE: f64 = 0.8;
/// Minimum share of the question's words that the sentence itself must cover.
const MIN_SENTENCE_COVERAGE: f64 = 0.5;

/// Returns the search words of a question, and synonyms for them. Negations do not help a search, and hyphenated
/// words are split because their parts match more documents.
pub(crate) fn search_words(question: &str) -> (Vec<String>, Vec<String>) {
    let mut words = content_words(&question.replace('-', " "));
    words.retain(|word| !is_negation(word));
    let synonyms = words.iter().flat_map(|word| synonyms(word)).filter(|word| !words.contains(word)).collect();
    (words, synonyms)
}

fn content_words(question: &str) -> Vec<String> {
    let mut seen = Vec::new();
    for word in tokenize(&question.replace('\'', " ")) {
        let is_question = is_question_word(&word.lower);
        if !is_question && !seen.contains(&word.lower) {
            seen.push(word.lower);
        }
    }
    seen
}

/// Returns the negated words: the first content word after each negation.
fn negated(all: &[QuestionToken]) -> Vec<String> {
    let negations = all.iter().enumerate().filter(|(_, word)| is_negation(&word.lower));
    let next = |index: usize| all[index + 1..].iter().find(|word| !is_question_word(&word.lower));
    negations.filter_map(|(index, _)| next(index)).map(|word| word.lower.clone()).collect()
}

fn synonyms(word: &str) -> Vec<String> {
    let target = stem(word);
    let groups = SYNONYMS.iter().filter(|group| group.iter().any(|other| stem(other) == target));
    groups.flat_map(|group| group.iter().map(|word| (*word).to_owned())).collect()
}

/// A sentence, list item or table row, with the words that count for the match.
struct PassageStatement {
    text: String,
    stemmed: StemmedText,
    has_number: bool,
}

/// Words of a text as stems, and the negated ones.
#[derive(Default)]
struct StemmedText {
    stems: BTreeSet<String>,
    negated: BTreeSet<String>,
}

impl StemmedText {
    /// Stems a text. A part of a word such as `full-time` counts only if the question contains all parts: a
    /// question about `part time` is not a question about `time`. A hyphenated word of the question also matches
    /// its form without a hyphen.
    fn new(text: &str, question_stems: &BTreeSet<String>) -> Self {
        let all = tokenize(text);
        let mut stems: BTreeSet<String> = all.iter().map(|word| stem(&word.lower)).collect();
        for word in all.iter().filter(|word| word.lower.contains('-')) {
            let parts: Vec<String> = word.lower.split('-').map(stem).collect();
            if parts.iter().all(|part| question_stems.contains(part)) {
                stems.extend(parts);
            }
        }
        stems.extend(all.windows(2).map(|pair| stem(&format!("{}-{}", pair[0].lower, pair[1].lower))));
        Self { stems, negated: negated(&all).iter().map(|word| stem(word)).collect() }
    }

    fn has(&self, forms: &[String]) -> bool {
        forms.iter().any(|form| self.stems.contains(form))
    }

    fn negates(&self, forms: &[String]) -> bool {
        forms.iter().any(|form| self.negated.contains(form))
    }
}

/// Quotes the passages that answer the question; `None` if none does.
pub(super) fn quote_passages(
    classified: &ClassifiedQuestion,
    output: &ToolResult,
    number: usize,
    prompt: &TaskPrompt,
) -> Option<String> {
    if matches!(classified.kind, QuestionKind::Future) || is_about_records(classified) {
        return None;
    }
    let criteria = AnswerCriteria::new(classified);
    if criteria.words.is_empty() {
        return None;
    }
    let value = output.value();
    let mut best: Option<(f64, &Value, Vec<String>)> = None;
    for passage in value["passages"].as_array()? {
        let text = |name: &str| passage[name].as_str().unwrap_or_default();
        let headings = StemmedText::new(&format!("{} {}", text("title"), text("heading")), &criteria.question_stems);
        let scored: Vec<(f64, PassageStatement)> = statements(text("text"), &criteria.question_stems)
            .into_iter()
            .filter_map(|statement| Some((criteria.score(&statement, &headings)?, statement)))
            .collect();
        let Some(top) = scored.iter().map(|(score, _)| *score).max_by(f64::total_cmp) else { continue };
        if best.as_ref().is_none_or(|(score, ..)| top > *score) {
            let is_short = prompt.preferences["length"] == "short";
            let near = if is_short { top } else { top * 0.8 };
            let quoted = scored.into_iter().filter(|(score, _)| *score >= near).map(|(_, statement)| statement.text);
            best = Some((top, passage, quoted.take(if is_short { 1 } else { 3 }).collect()));
        }
    }
    let (_, passage, quoted) = best?;
    let (title, source) =
        (passage["title"].as_str().unwrap_or_default(), passage["source"].as_str().unwrap_or_default());
    let lines: Vec<String> = quoted.iter().map(|line| format!("> {line}")).collect();
    Some(format!("{title} ({source}) says [{number}]:\n\n{}", lines.join("\n")))
}

/// Returns true if the question asks for an amount in a period: documents contain rules and no records.
fn is_about_records(classified: &ClassifiedQuestion) -> bool {
    let cues = &classified.parsed.cues;
    let is_measured =
        cues.counts.is_some() || cues.how_much || cues.sums || cues.averages || cues.date_prefix.is_some();
    is_measured && !classified.parsed.periods.is_empty()
}

struct AnswerCriteria {
    /// Each word of the question with its synonyms, as stems.
    words: Vec<Vec<String>>,
    /// Negated words with their synonyms; an answer must negate all of them as well.
    negated: Vec<Vec<String>>,
    /// Every word of the question and every part of a hyphenated word, as stems.
    question_stems: BTreeSet<String>,
    needs_number: bool,
    /// Counted unit, which must stand beside the number.
    unit: Option<String>,
    defines: bool,
    /// True if the question asks for a maximum, which a sentence about all items does not name.
    asks_for_maximum: bool,
}

impl AnswerCriteria {
    fn new(classified: &ClassifiedQuestion) -> Self {
        let question = &classified.question;
        let same =
            |word: &String| std::iter::once(stem(word)).chain(synonyms(word).iter().map(|word| stem(word))).collect();
        let all = tokenize(question);
        let cues = &classified.parsed.cues;
        let counted = all.windows(3).find(|three| three[0].lower == "how" && three[1].lower == "many");
        let unit = counted.map(|three| stem(&three[2].lower));
        let lower = question.to_lowercase();
        let is_percent = lower.contains("percent") || lower.contains("share of");
        let defines =
            [" mean", "call", "definition", "define", "what is a", "what are"].iter().any(|part| lower.contains(part));
        let needs_number =
            cues.how_much || cues.how_long || unit.is_some() || is_percent || lower.contains("up to what");
        Self {
            words: content_words(question).iter().filter(|word| !is_negation(word)).map(same).collect(),
            negated: negated(&all).iter().map(same).collect(),
            question_stems: all.iter().flat_map(|word| word.lower.split('-').map(stem)).collect(),
            needs_number,
            unit,
            defines,
            asks_for_maximum: cues.superlative.is_some(),
        }
    }

    /// Scores a statement; `None` if it does not answer the question.
    fn score(&self, statement: &PassageStatement, headings: &StemmedText) -> Option<f64> {
        let stemmed = &statement.stemmed;
        if self.needs_number && !statement.has_number {
            return None;
        }
        if self.unit.as_ref().is_some_and(|unit| !stemmed.stems.contains(unit)) {
            return None;
        }
        if !self.negated.iter().all(|word| stemmed.negates(word) || headings.negates(word)) {
            return None;
        }
        let in_sentence = self.words.iter().filter(|word| stemmed.has(word)).count();
        let exact = self.words.iter().filter(|word| stemmed.stems.contains(&word[0])).count();
        let in_headings = self.words.iter().filter(|word| headings.has(word)).count();
        let covered = self.words.iter().filter(|word| stemmed.has(word) || headings.has(word)).count();
        #[expect(clippy::cast_precision_loss, reason = "a question has few words")]
        let [in_sentence, exact, in_headings, covered, all] =
            [in_sentence, exact, in_headings, covered, self.words.len()].map(|count| count as f64);
        let min_coverage = if self.asks_for_maximum { 1.0 } else { MIN_COVERAGE };
        let is_enough = covered / all >= min_coverage && in_sentence / all >= MIN_SENTENCE_COVERAGE;
        // One matching word is weak evidence, so the headings must match as well.
        let is_enough = is_enough && (self.words.len() > 1 || in_headings > 0.0);
        let defines = if self.defines && in_headings > 0.0 { 1.0 } else { 0.0 };
        is_enough.then_some(2.0 * covered + in_sentence + 0.5 * exact + 0.5 * in_headings + defines)
    }
}

/// Splits a passage into sentences, list items and table rows.
fn statements(text: &str, question_stems: &BTreeSet<String>) -> Vec<PassageStatement> {
    let mut all = Vec::new();
    for paragraph in text.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty()) {
        let lines = table_rows(paragraph).unwrap_or_else(|| sentences(paragraph));
        all.extend(lines.into_iter().map(|line| statement(line, question_stems)));
    }
    all
}

fn statement(text: String, question_stems: &BTreeSet<String>) -> PassageStatement {
    let names =
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "free", "half"];
    let has_number =
        text.chars().any(|letter| letter.is_ascii_digit()) || tokenize(&text).iter().any(|word| word.is_in(&names));
    PassageStatement { stemmed: StemmedText::new(&text, question_stems), has_number, text }
}

/// Splits a paragraph at full stops that end a sentence.
fn sentences(paragraph: &str) -> Vec<String> {
    let letters: Vec<(usize, char)> = paragraph.char_indices().collect();
    let mut all = Vec::new();
    let mut start = 0;
    for (index, (offset, letter)) in letters.iter().enumerate() {
        let next = letters.get(index + 1).map(|(_, letter)| *letter);
        let after = letters.get(index + 2).map(|(_, letter)| *letter);
        let before = index.checked_sub(1).and_then(|index| letters.get(index)).map(|(_, letter)| *letter);
        let is_number = before.is_some_and(|letter| letter.is_ascii_digit()) && after.is_some_and(char::is_lowercase);
        let ends = matches!(letter, '.' | '!' | '?') && next.is_none_or(char::is_whitespace) && !is_number;
        if ends || next.is_none() {
            let sentence = paragraph[start..offset + letter.len_utf8()].trim();
            if sentence.chars().any(char::is_alphabetic) {
                all.push(sentence.to_owned());
            }
            start = offset + letter.len_utf8();
        }
    }
    all
}

/// Splits a table on one line into rows, each with the names of the header.
fn table_rows(paragraph: &str) -> Option<Vec<String>> {
    let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let rule = line.find("|---").or_else(|| line.find("| ---"))?;
    let cells = |text: &str| -> Vec<String> {
        text.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let start = line.find('|')?;
    let header = cells(line[start..rule].trim());
    let body = line[rule..].trim_start_matches(['|', '-', ' ', ':']);
    let flat: Vec<String> = body.split('|').map(|cell| cell.trim().to_owned()).collect();
    let mut all: Vec<String> = Vec::new();
    // On one line, two rows are separated by an empty cell.
    for row in flat.chunks(header.len() + 1).map(|row| &row[..row.len().min(header.len())]) {
        if row.len() == header.len() {
            let pairs: Vec<String> = header.iter().zip(row).map(|(name, cell)| format!("{name}: {cell}")).collect();
            all.push(pairs.join("; "));
        }
    }
    (!all.is_empty()).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-PLN-56: sentences, list items and table rows are quoted separately.
    #[test]
    fn passages_are_cut_into_statements() {
        let texts = |text: &str| -> Vec<String> {
            statements(text, &BTreeSet::new()).into_iter().map(|statement| statement.text).collect()
        };
        assert_eq!(
            texts("We pay 0.35 euro. It is\nso.\n\nMail: within 24 hours"),
            ["We pay 0.35 euro.", "It is\nso.", "Mail: within 24 hours"]
        );
        assert_eq!(
            texts("For some:\n\n| goods | guarantee | |---|---| | Knives | 10 years | | Tents | 5 years |"),
            ["For some:", "goods: Knives; guarantee: 10 years", "goods: Tents; guarantee: 5 years"]
        );
    }

    /// R-PLN-56: parts of a hyphenated word count only if the question has all of them, and a negation
    /// belongs to its word.
    #[test]
    fn hyphenated_words_and_negations_match_only_completely() {
        let stemmed = |text: &str, question: &str| {
            let question_stems = tokenize(question).iter().flat_map(|word| word.lower.split('-').map(stem)).collect();
            StemmedText::new(text, &question_stems)
        };
        for (text, question, word, has) in [
            ("Full-time employees", "part time", "time", false),
            ("Full-time employees", "full time", "time", true),
            ("Part-time employees", "part-time", "part-time", true),
            ("who works part time", "part-time", "part-time", true),
        ] {
            assert_eq!(stemmed(text, question).has(&[stem(word)]), has, "{text}: {word}");
        }
        for (text, word, negates) in [
            ("The order has no payment yet.", "order", false),
            ("The order has no payment yet.", "payment", true),
            ("It is not to be opened.", "opened", true),
        ] {
            assert_eq!(stemmed(text, "").negates(&[stem(word)]), negates, "{text}: {word}");
        }
    }
}
