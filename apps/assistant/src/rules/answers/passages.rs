//! Passages of documents: the sentences that answer a question, quoted.
//!
//! A sentence is quoted only where it and its headings have nearly all words of the question, and a number where one is
//! asked for. A passage that is merely near is not an answer.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::topic::{Topic, Understood};
use super::super::words::{is_question_word, stem, words};
use crate::prompt::{Ask, Output};

/// Words that documents may use for each other.
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

/// How many of the words an answer must have.
const ENOUGH: f64 = 0.8;
/// How many of them the sentence itself must have.
const ENOUGH_IN_SENTENCE: f64 = 0.5;

/// The words of a question that documents are searched for, and others for the same.
pub(in super::super) fn search_words(question: &str) -> (Vec<String>, Vec<String>) {
    let own: Vec<String> = content(question);
    let others = own.iter().flat_map(|word| alike(word)).filter(|word| !own.contains(word)).collect();
    (own, others)
}

fn content(question: &str) -> Vec<String> {
    let mut seen = Vec::new();
    let text = question.replace(['-', '\''], " ");
    for word in words(&text) {
        let is_question = is_question_word(&word.lower);
        if !is_question && !seen.contains(&word.lower) {
            seen.push(word.lower);
        }
    }
    seen
}

fn alike(word: &str) -> Vec<String> {
    let wanted = stem(word);
    let groups = ALIKE.iter().filter(|group| group.iter().any(|other| stem(other) == wanted));
    groups.flat_map(|group| group.iter().map(|word| (*word).to_owned())).collect()
}

/// A sentence, an item of a list or a row of a table, with the words that count for it.
struct Statement {
    shown: String,
    stems: BTreeSet<String>,
    has_number: bool,
}

/// What the passages say, quoted; nothing where they do not answer the question.
pub(super) fn told(understood: &Understood, output: &Output, number: usize, ask: &Ask) -> Option<String> {
    if matches!(understood.topic, Topic::Future) || is_about_records(understood) {
        return None;
    }
    let wanted = Wanted::of(understood);
    if wanted.words.is_empty() {
        return None;
    }
    let value = output.value();
    let mut best: Option<(f64, &Value, Vec<String>)> = None;
    for passage in value["passages"].as_array()? {
        let text = |name: &str| passage[name].as_str().unwrap_or_default();
        let headings = stems(&format!("{} {}", text("title"), text("heading")));
        let scored: Vec<(f64, Statement)> = statements(text("text"))
            .into_iter()
            .filter_map(|statement| Some((wanted.score(&statement, &headings)?, statement)))
            .collect();
        let Some(top) = scored.iter().map(|(score, _)| *score).max_by(f64::total_cmp) else { continue };
        if best.as_ref().is_none_or(|(score, ..)| top > *score) {
            let is_short = ask.preferences["length"] == "short";
            let near = if is_short { top } else { top * 0.8 };
            let quoted = scored.into_iter().filter(|(score, _)| *score >= near).map(|(_, statement)| statement.shown);
            best = Some((top, passage, quoted.take(if is_short { 1 } else { 3 }).collect()));
        }
    }
    let (_, passage, quoted) = best?;
    let (title, source) =
        (passage["title"].as_str().unwrap_or_default(), passage["source"].as_str().unwrap_or_default());
    let lines: Vec<String> = quoted.iter().map(|line| format!("> {line}")).collect();
    Some(format!("{title} ({source}) says [{number}]:\n\n{}", lines.join("\n")))
}

/// How many or how much of something in certain days: documents have rules, and no records.
fn is_about_records(understood: &Understood) -> bool {
    let signs = &understood.reading.signs;
    let is_measured = signs.counts.is_some() || signs.how_much || signs.sums || signs.averages || signs.every.is_some();
    is_measured && !understood.reading.periods.is_empty()
}

struct Wanted {
    /// Each word of the question with the others that may stand for it, as stems.
    words: Vec<Vec<String>>,
    needs_number: bool,
    /// What is counted, which must stand beside its number.
    unit: Option<String>,
    defines: bool,
    /// The one with the most is wanted, which a sentence about all of them does not name.
    wants_most: bool,
}

impl Wanted {
    fn of(understood: &Understood) -> Self {
        let question = &understood.question;
        let same =
            |word: &String| std::iter::once(stem(word)).chain(alike(word).iter().map(|word| stem(word))).collect();
        let all = words(question);
        let signs = &understood.reading.signs;
        let counted = all.windows(3).find(|three| three[0].lower == "how" && three[1].lower == "many");
        let unit = counted.map(|three| stem(&three[2].lower));
        let lower = question.to_lowercase();
        let is_percent = lower.contains("percent") || lower.contains("share of");
        let defines =
            [" mean", "call", "definition", "define", "what is a", "what are"].iter().any(|part| lower.contains(part));
        let needs_number =
            signs.how_much || signs.how_long || unit.is_some() || is_percent || lower.contains("up to what");
        Self {
            words: content(question).iter().map(same).collect(),
            needs_number,
            unit,
            defines,
            wants_most: signs.most.is_some(),
        }
    }

    /// How well a statement answers; nothing where it does not.
    fn score(&self, statement: &Statement, headings: &BTreeSet<String>) -> Option<f64> {
        if self.needs_number && !statement.has_number {
            return None;
        }
        if self.unit.as_ref().is_some_and(|unit| !statement.stems.contains(unit)) {
            return None;
        }
        let has = |stems: &BTreeSet<String>, word: &Vec<String>| word.iter().any(|form| stems.contains(form));
        let inside = self.words.iter().filter(|word| has(&statement.stems, word)).count();
        let exact = self.words.iter().filter(|word| statement.stems.contains(&word[0])).count();
        let above = self.words.iter().filter(|word| has(headings, word)).count();
        let covered = self.words.iter().filter(|word| has(&statement.stems, word) || has(headings, word)).count();
        #[expect(clippy::cast_precision_loss, reason = "a question has few words")]
        let [inside, exact, above, covered, all] =
            [inside, exact, above, covered, self.words.len()].map(|count| count as f64);
        let enough = if self.wants_most { 1.0 } else { ENOUGH };
        let is_enough = covered / all >= enough && inside / all >= ENOUGH_IN_SENTENCE;
        // A single word says little; the passage must be about it.
        let is_enough = is_enough && (self.words.len() > 1 || above > 0.0);
        let defines = if self.defines && above > 0.0 { 1.0 } else { 0.0 };
        is_enough.then_some(2.0 * covered + inside + 0.5 * exact + 0.5 * above + defines)
    }
}

fn stems(text: &str) -> BTreeSet<String> {
    words(&text.replace('-', " ")).iter().map(|word| stem(&word.lower)).collect()
}

/// The sentences, items and rows of a passage.
fn statements(text: &str) -> Vec<Statement> {
    let mut all = Vec::new();
    for paragraph in text.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty()) {
        match rows(paragraph) {
            Some(rows) => all.extend(rows),
            None => all.extend(sentences(paragraph).into_iter().map(|sentence| statement(sentence.clone(), &sentence))),
        }
    }
    all
}

fn statement(shown: String, counted: &str) -> Statement {
    let names =
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "free", "half"];
    let has_number =
        counted.chars().any(|letter| letter.is_ascii_digit()) || words(counted).iter().any(|word| word.is_in(&names));
    Statement { stems: stems(counted), has_number, shown }
}

/// Cut behind a full stop that ends a sentence.
fn sentences(paragraph: &str) -> Vec<String> {
    let letters: Vec<(usize, char)> = paragraph.char_indices().collect();
    let mut all = Vec::new();
    let mut start = 0;
    for (place, (at, letter)) in letters.iter().enumerate() {
        let next = letters.get(place + 1).map(|(_, letter)| *letter);
        let after = letters.get(place + 2).map(|(_, letter)| *letter);
        let before = place.checked_sub(1).and_then(|place| letters.get(place)).map(|(_, letter)| *letter);
        let is_number = before.is_some_and(|letter| letter.is_ascii_digit()) && after.is_some_and(char::is_lowercase);
        let ends = matches!(letter, '.' | '!' | '?') && next.is_none_or(char::is_whitespace) && !is_number;
        if ends || next.is_none() {
            let sentence = paragraph[start..at + letter.len_utf8()].trim();
            if sentence.chars().any(char::is_alphabetic) {
                all.push(sentence.to_owned());
            }
            start = at + letter.len_utf8();
        }
    }
    all
}

/// The rows of a table that lies in one line, each with the words of its head.
fn rows(paragraph: &str) -> Option<Vec<Statement>> {
    let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let rule = line.find("|---").or_else(|| line.find("| ---"))?;
    let cells = |text: &str| -> Vec<String> {
        text.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let start = line.find('|')?;
    let head = cells(line[start..rule].trim());
    let body = line[rule..].trim_start_matches(['|', '-', ' ', ':']);
    let flat: Vec<String> = body.split('|').map(|cell| cell.trim().to_owned()).collect();
    let mut all: Vec<Statement> = Vec::new();
    // Between two rows lies an empty cell.
    for row in flat.chunks(head.len() + 1).map(|row| &row[..row.len().min(head.len())]) {
        if row.len() == head.len() {
            let told: Vec<String> = head.iter().zip(row).map(|(name, cell)| format!("{name}: {cell}")).collect();
            let shown = told.join("; ");
            all.push(statement(shown.clone(), &shown));
        }
    }
    (!all.is_empty()).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-PLN-56: what can be quoted are sentences, items and rows, each by itself.
    #[test]
    fn passages_are_cut_into_statements() {
        let shown = |text: &str| -> Vec<String> { statements(text).into_iter().map(|one| one.shown).collect() };
        assert_eq!(
            shown("We pay 0.35 euro. It is\nso.\n\nMail: within 24 hours"),
            ["We pay 0.35 euro.", "It is\nso.", "Mail: within 24 hours"]
        );
        assert_eq!(
            shown("For some:\n\n| goods | guarantee | |---|---| | Knives | 10 years | | Tents | 5 years |"),
            ["For some:", "goods: Knives; guarantee: 10 years", "goods: Tents; guarantee: 5 years"]
        );
    }
}
