//! Answers from passages of documents: selects and quotes sentences.
//!
//! A sentence is quoted only if the sentence and its headings have nearly all words of the question, and a number
//! if the question requests one. A passage that is merely similar is not an answer, and neither is a passage that
//! states what the question negates.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::classify::{ClassifiedQuestion, QuestionKind};
use super::super::tokens::{QuestionToken, is_denial, is_question_word, stem, tokenize};
use crate::prompt::{TaskPrompt, ToolResult};

/// Groups of words that documents use as synonyms.
const ALIKE: [&[&str]; 16] = [
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
const ENOUGH_IN_SENTENCE: f64 = 0.5;

/// Returns the search words of a question, and synonyms for them. Negations do not help a search, and hyphenated
/// words are split because their parts match more documents.
pub(crate) fn search_words(question: &str) -> (Vec<String>, Vec<String>) {
    let mut own = content(&question.replace('-', " "));
    own.retain(|word| !is_denial(word));
    let others = own.iter().flat_map(|word| alike(word)).filter(|word| !own.contains(word)).collect();
    (own, others)
}

fn content(question: &str) -> Vec<String> {
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
fn denied(all: &[QuestionToken]) -> Vec<String> {
    let denials = all.iter().enumerate().filter(|(_, word)| is_denial(&word.lower));
    let next = |index: usize| all[index + 1..].iter().find(|word| !is_question_word(&word.lower));
    denials.filter_map(|(index, _)| next(index)).map(|word| word.lower.clone()).collect()
}

fn alike(word: &str) -> Vec<String> {
    let target = stem(word);
    let groups = ALIKE.iter().filter(|group| group.iter().any(|other| stem(other) == target));
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
    denied: BTreeSet<String>,
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
        Self { stems, denied: denied(&all).iter().map(|word| stem(word)).collect() }
    }

    fn has(&self, forms: &[String]) -> bool {
        forms.iter().any(|form| self.stems.contains(form))
    }

    fn denies(&self, forms: &[String]) -> bool {
        forms.iter().any(|form| self.denied.contains(form))
    }
}

/// Quotes the passages that answer the question; `None` if none does.
pub(super) fn quote_passages(
    classified: &ClassifiedQuestion,
    output: &ToolResult,
    number: usize,
    prompt: &TaskPrompt,
) -> Option<String> {
    if matches!(classified.topic, QuestionKind::Future) || is_about_records(classified) {
        return None;
    }
    let criteria = AnswerCriteria::of(classified);
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
    let signs = &classified.reading.signs;
    let is_measured = signs.counts.is_some() || signs.how_much || signs.sums || signs.averages || signs.every.is_some();
    is_measured && !classified.reading.periods.is_empty()
}

struct AnswerCriteria {
    /// Each word of the question with its synonyms, as stems.
    words: Vec<Vec<String>>,
    /// Negated words with their synonyms; an answer must negate all of them as well.
    denied: Vec<Vec<String>>,
    /// Every word of the question and every part of a hyphenated word, as stems.
    question_stems: BTreeSet<String>,
    needs_number: bool,
    /// Counted unit, which must stand beside the number.
    unit: Option<String>,
    defines: bool,
    /// True if the question asks for a maximum, which a sentence about all items does not name.
    wants_most: bool,
}

impl AnswerCriteria {
    fn of(classified: &ClassifiedQuestion) -> Self {
        let question = &classified.question;
        let same =
            |word: &String| std::iter::once(stem(word)).chain(alike(word).iter().map(|word| stem(word))).collect();
        let all = tokenize(question);
        let signs = &classified.reading.signs;
        let counted = all.windows(3).find(|three| three[0].lower == "how" && three[1].lower == "many");
        let unit = counted.map(|three| stem(&three[2].lower));
        let lower = question.to_lowercase();
        let is_percent = lower.contains("percent") || lower.contains("share of");
        let defines =
            [" mean", "call", "definition", "define", "what is a", "what are"].iter().any(|part| lower.contains(part));
        let needs_number =
            signs.how_much || signs.how_long || unit.is_some() || is_percent || lower.contains("up to what");
        Self {
            words: content(question).iter().filter(|word| !is_denial(word)).map(same).collect(),
            denied: denied(&all).iter().map(same).collect(),
            question_stems: all.iter().flat_map(|word| word.lower.split('-').map(stem)).collect(),
            needs_number,
            unit,
            defines,
            wants_most: signs.most.is_some(),
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
        if !self.denied.iter().all(|word| stemmed.denies(word) || headings.denies(word)) {
            return None;
        }
        let in_sentence = self.words.iter().filter(|word| stemmed.has(word)).count();
        let exact = self.words.iter().filter(|word| stemmed.stems.contains(&word[0])).count();
        let above = self.words.iter().filter(|word| headings.has(word)).count();
        let covered = self.words.iter().filter(|word| stemmed.has(word) || headings.has(word)).count();
        #[expect(clippy::cast_precision_loss, reason = "a question has few words")]
        let [in_sentence, exact, above, covered, all] =
            [in_sentence, exact, above, covered, self.words.len()].map(|count| count as f64);
        let enough = if self.wants_most { 1.0 } else { MIN_COVERAGE };
        let is_enough = covered / all >= enough && in_sentence / all >= ENOUGH_IN_SENTENCE;
        // One matching word is weak evidence, so the headings must match as well.
        let is_enough = is_enough && (self.words.len() > 1 || above > 0.0);
        let defines = if self.defines && above > 0.0 { 1.0 } else { 0.0 };
        is_enough.then_some(2.0 * covered + in_sentence + 0.5 * exact + 0.5 * above + defines)
    }
}

/// Splits a passage into sentences, list items and table rows.
fn statements(text: &str, question_stems: &BTreeSet<String>) -> Vec<PassageStatement> {
    let mut all = Vec::new();
    for paragraph in text.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty()) {
        let lines = rows(paragraph).unwrap_or_else(|| sentences(paragraph));
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
fn rows(paragraph: &str) -> Option<Vec<String>> {
    let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let rule = line.find("|---").or_else(|| line.find("| ---"))?;
    let cells = |text: &str| -> Vec<String> {
        text.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let start = line.find('|')?;
    let head = cells(line[start..rule].trim());
    let body = line[rule..].trim_start_matches(['|', '-', ' ', ':']);
    let flat: Vec<String> = body.split('|').map(|cell| cell.trim().to_owned()).collect();
    let mut all: Vec<String> = Vec::new();
    // On one line, two rows are separated by an empty cell.
    for row in flat.chunks(head.len() + 1).map(|row| &row[..row.len().min(head.len())]) {
        if row.len() == head.len() {
            let pairs: Vec<String> = head.iter().zip(row).map(|(name, cell)| format!("{name}: {cell}")).collect();
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
        for (text, word, denies) in [
            ("The order has no payment yet.", "order", false),
            ("The order has no payment yet.", "payment", true),
            ("It is not to be opened.", "opened", true),
        ] {
            assert_eq!(stemmed(text, "").denies(&[stem(word)]), denies, "{text}: {word}");
        }
    }
}
