//! A parsed question: meanings of its words, periods, query cues, and the words that are not understood.

use jiff::civil::Date;

use super::lexicon::{Lexicon, LexiconMatch, Meaning};
use super::periods::{Period, periods};
use super::query_cues::{self, QueryCues};
use super::tokens::{QuestionToken, tokenize};

/// A parsed question.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ParsedQuestion {
    pub(super) words: Vec<QuestionToken>,
    pub(super) items: Vec<LexiconMatch>,
    pub(super) periods: Vec<Period>,
    pub(super) cues: QueryCues,
    /// Rows addressed by number, such as `order 50897`: table and key.
    pub(super) keys: Vec<(String, String)>,
    /// Indexes of unknown words. A question with unknown words is not answered from the data.
    pub(super) unknown: Vec<usize>,
}

impl ParsedQuestion {
    pub(super) fn new(lexicon: &Lexicon, text: &str, today: Date) -> Self {
        let words = tokenize(text);
        let mut used = vec![false; words.len()];
        let periods = periods(&words, today);
        for period in &periods {
            used[period.start..period.end].iter_mut().for_each(|used| *used = true);
        }
        let mut cues = query_cues::phrase_cues(&words, &mut used);
        let mut items = lexicon.items(&words, &mut used);
        detect_verbs(lexicon, &words, &mut items, &mut used);
        let keys = keys(&words, &items, &mut used);
        detect_superlatives(lexicon, &words, &items, &mut cues);
        let unknown = query_cues::single_word_cues(&words, &mut used, &mut cues);
        cues.is_future |= !periods.is_empty() && periods.iter().all(|period| period.from > today);
        Self { words, items, periods, cues, keys, unknown }
    }

    /// Returns the unknown words.
    pub(super) fn unknown_words(&self) -> Vec<&str> {
        self.unknown.iter().map(|index| self.words[*index].text.as_str()).collect()
    }

    pub(super) fn has_word(&self, candidates: &[&str]) -> bool {
        self.words.iter().any(|word| word.is_in(candidates))
    }
}

/// Detects verbs: `what does it cost` is equivalent to what it costs, and `did we ship` to what was shipped. A word
/// after `does` and its subject is a verb, and so is a word after a plural, as in `products cost`.
fn detect_verbs(lexicon: &Lexicon, words: &[QuestionToken], items: &mut Vec<LexiconMatch>, used: &mut [bool]) {
    let does = words.iter().position(|word| word.is_in(&["do", "does", "did"])).unwrap_or(words.len());
    for index in 1..words.len() {
        let before = &words[index - 1];
        let after_item = items.iter().any(|item| item.end == index);
        let after_plural = items.iter().any(|item| {
            item.end == index
                && matches!(item.meanings.first(), Some(Meaning::Table(_)))
                && before.lower != before.lemma
        });
        let after_pronoun = before.is_in(&["it", "they", "we", "you", "i", "one"]);
        if !(after_plural || (index > does && (after_item || after_pronoun))) {
            continue;
        }
        let existing = items.iter().position(|item| item.start == index && item.end == index + 1);
        let meanings = verb_meanings(lexicon, &words[index].lower);
        match existing {
            _ if meanings.is_empty() => {}
            Some(index) => items[index].meanings = meanings,
            None if !used[index] => {
                used[index] = true;
                items.push(LexiconMatch { start: index, end: index + 1, meanings, dates: Vec::new() });
                items.sort_by_key(|item| item.start);
            }
            None => {}
        }
    }
}

/// Returns the meaning of a verb that is known in another form: `costs`, `placed`, `shipped`.
fn verb_meanings(lexicon: &Lexicon, lower: &str) -> Vec<Meaning> {
    let doubled = lower.chars().last().map(|last| format!("{lower}{last}ed")).unwrap_or_default();
    let forms = [format!("{lower}s"), format!("{lower}d"), format!("{lower}ed"), doubled];
    let is_column = |meaning: &Meaning| matches!(meaning, Meaning::Column(_));
    let columns = |form: &String| -> Vec<Meaning> { lexicon.exactly(form).into_iter().filter(is_column).collect() };
    forms.iter().map(columns).find(|columns| !columns.is_empty()).unwrap_or_default()
}

/// Returns the numbers that are keys of table rows.
fn keys(words: &[QuestionToken], items: &[LexiconMatch], used: &mut [bool]) -> Vec<(String, String)> {
    let mut keys = Vec::new();
    for item in items {
        let Some(Meaning::Table(table)) = item.meanings.first() else { continue };
        let mut index = item.end;
        while words.get(index).is_some_and(|word| word.is_in(&["number", "no", "nr", "id"])) {
            index += 1;
        }
        let Some(word) = words.get(index).filter(|_| !used[index]) else { continue };
        if !word.lower.is_empty() && word.lower.chars().all(|letter| letter.is_ascii_digit()) {
            used[item.end..=index].iter_mut().for_each(|used| *used = true);
            keys.push((table.clone(), word.lower.clone()));
        }
    }
    keys
}

/// Detects comparatives and superlatives of columns: `cheapest` and `heavier` denote a column and an operation.
fn detect_superlatives(lexicon: &Lexicon, words: &[QuestionToken], items: &[LexiconMatch], cues: &mut QueryCues) {
    let is_column = |item: &&LexiconMatch| matches!(item.meanings.first(), Some(Meaning::Column(_)));
    for item in items.iter().filter(|item| item.end == item.start + 1).filter(is_column) {
        let (word, index) = (&words[item.start], item.start);
        let is_ascending = word.bases.iter().any(|base| ["cheap", "light"].contains(&base.as_str()));
        // A word such as `turnover` is not a comparative.
        let has_own_meaning = [&word.lower, &word.lemma].iter().any(|form| !lexicon.exactly(form).is_empty());
        match (word.bases.is_empty() || has_own_meaning, word.lower.ends_with("est")) {
            (true, _) => {}
            (false, true) => {
                cues.superlative = cues.superlative.or(Some(query_cues::Superlative { index, descends: !is_ascending }))
            }
            (false, false) => cues.compares = true,
        }
    }
}
