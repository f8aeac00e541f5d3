//! A question as it is understood: what its words mean, which days it is about, what it wants done, and what is left over.

use jiff::civil::Date;

use super::days::{Period, periods};
use super::lexicon::{Item, Lexicon, Meaning};
use super::signs::{self, Signs};
use super::words::{Word, words};

/// A question as it is understood.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reading {
    pub(super) words: Vec<Word>,
    pub(super) items: Vec<Item>,
    pub(super) periods: Vec<Period>,
    pub(super) signs: Signs,
    /// `order 50897`: a table and the number of a row.
    pub(super) keys: Vec<(String, String)>,
    /// The places of words that mean nothing here. A question that has any is not answered from the data.
    pub(super) unknown: Vec<usize>,
}

impl Reading {
    pub(super) fn new(lexicon: &Lexicon, text: &str, today: Date) -> Self {
        let words = words(text);
        let mut used = vec![false; words.len()];
        let periods = periods(&words, today);
        for period in &periods {
            used[period.start..period.end].iter_mut().for_each(|used| *used = true);
        }
        let mut signs = signs::phrases(&words, &mut used);
        let mut items = lexicon.items(&words, &mut used);
        as_verbs(lexicon, &words, &mut items, &mut used);
        let keys = keys(&words, &items, &mut used);
        superlatives(lexicon, &words, &items, &mut signs);
        let unknown = signs::rest(&words, &mut used, &mut signs);
        signs.is_future |= !periods.is_empty() && periods.iter().all(|period| period.from > today);
        Self { words, items, periods, signs, keys, unknown }
    }

    /// The words that are not understood.
    pub(super) fn unknown_words(&self) -> Vec<&str> {
        self.unknown.iter().map(|at| self.words[*at].shown.as_str()).collect()
    }

    pub(super) fn has_word(&self, wanted: &[&str]) -> bool {
        self.words.iter().any(|word| word.is_in(wanted))
    }
}

/// `what does it cost` is what it costs, and `did we ship` what was shipped: after `does`, behind the one it is about, a
/// word is a verb; and so it is behind a plural, as in `products cost`.
fn as_verbs(lexicon: &Lexicon, words: &[Word], items: &mut Vec<Item>, used: &mut [bool]) {
    let does = words.iter().position(|word| word.is_in(&["do", "does", "did"])).unwrap_or(words.len());
    for at in 1..words.len() {
        let before = &words[at - 1];
        let behind_item = items.iter().any(|item| item.end == at);
        let behind_plural = items.iter().any(|item| {
            item.end == at && matches!(item.meanings.first(), Some(Meaning::Table(_))) && before.lower != before.lemma
        });
        let behind_pronoun = before.is_in(&["it", "they", "we", "you", "i", "one"]);
        if !(behind_plural || (at > does && (behind_item || behind_pronoun))) {
            continue;
        }
        let own = items.iter().position(|item| item.start == at && item.end == at + 1);
        let meant = verb(lexicon, &words[at].lower);
        match own {
            _ if meant.is_empty() => {}
            Some(place) => items[place].meanings = meant,
            None if !used[at] => {
                used[at] = true;
                items.push(Item { start: at, end: at + 1, meanings: meant, dates: Vec::new() });
                items.sort_by_key(|item| item.start);
            }
            None => {}
        }
    }
}

/// What a verb means whose other forms are known: `costs`, `placed`, `shipped`.
fn verb(lexicon: &Lexicon, lower: &str) -> Vec<Meaning> {
    let doubled = lower.chars().last().map(|last| format!("{lower}{last}ed")).unwrap_or_default();
    let forms = [format!("{lower}s"), format!("{lower}d"), format!("{lower}ed"), doubled];
    let is_column = |meaning: &Meaning| matches!(meaning, Meaning::Column(_));
    let columns = |form: &String| -> Vec<Meaning> { lexicon.exactly(form).into_iter().filter(is_column).collect() };
    forms.iter().map(columns).find(|columns| !columns.is_empty()).unwrap_or_default()
}

/// Numbers that name a row of a table.
fn keys(words: &[Word], items: &[Item], used: &mut [bool]) -> Vec<(String, String)> {
    let mut keys = Vec::new();
    for item in items {
        let Some(Meaning::Table(table)) = item.meanings.first() else { continue };
        let mut at = item.end;
        while words.get(at).is_some_and(|word| word.is_in(&["number", "no", "nr", "id"])) {
            at += 1;
        }
        let Some(word) = words.get(at).filter(|_| !used[at]) else { continue };
        if !word.lower.is_empty() && word.lower.chars().all(|letter| letter.is_ascii_digit()) {
            used[item.end..=at].iter_mut().for_each(|used| *used = true);
            keys.push((table.clone(), word.lower.clone()));
        }
    }
    keys
}

/// `cheapest` and `heavier` mean a column and want something done as well.
fn superlatives(lexicon: &Lexicon, words: &[Word], items: &[Item], signs: &mut Signs) {
    let is_column = |item: &&Item| matches!(item.meanings.first(), Some(Meaning::Column(_)));
    for item in items.iter().filter(|item| item.end == item.start + 1).filter(is_column) {
        let (word, at) = (&words[item.start], item.start);
        let is_small = word.bases.iter().any(|base| ["cheap", "light"].contains(&base.as_str()));
        // `turnover` is no form of another word.
        let is_itself = [&word.lower, &word.lemma].iter().any(|form| !lexicon.exactly(form).is_empty());
        match (word.bases.is_empty() || is_itself, word.lower.ends_with("est")) {
            (true, _) => {}
            (false, true) => signs.most = signs.most.or(Some(signs::Most { at, descends: !is_small })),
            (false, false) => signs.compares = true,
        }
    }
}
