//! A sentence in the form that is compared: words with meaning, numbers, and small words that reverse or limit the
//! meaning.

use super::quantity::Quantity;

/// A word or a number of a sentence.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Word(String),
    Number(Quantity),
}

/// A parsed sentence.
#[derive(Debug, Default)]
pub(super) struct Statement {
    /// Tokens in their order.
    pub(super) tokens: Vec<Token>,
    /// Number of tokens before each comma, semicolon or colon.
    pub(super) breaks: Vec<usize>,
    /// True if the sentence contains a negation.
    pub(super) is_negative: bool,
    /// Words that limit the statement: `some`, `may`, `if`.
    pub(super) limits: Vec<String>,
    /// Past (`was`) or present (`is`), if an auxiliary verb shows the tense.
    pub(super) is_past: Option<bool>,
    /// True for a question, and for a sentence whose subject is named elsewhere (`It grew`).
    pub(super) is_open: bool,
}

const NEGATIONS: &str = " not no never none neither nor cannot nobody nothing without hardly rarely seldom ";
const LIMITING_WORDS: &str = " all always any argue argued argues around believe believed believes can claim claimed claims could \
every exclusively expect expected expects fear feared few fewer if less likely many may mainly might more most mostly must \
often only partly perhaps possibly probably report reported reports said say says should some sometimes suggest suggested \
suggests than think thinks unless until usually warn warned when where whether while would according supposedly \
allegedly almost either or but except about unlike because although least ";
const STOP_WORDS: &str = " a an the of in on at as and is are was were be been being has have had do does did \
it its this that these those there their who which also too very just then so ";

const PRONOUNS: &str = " it they he she this these those we that such both others i you ";

impl Statement {
    /// Parses a sentence.
    pub(super) fn parse(sentence: &str) -> Self {
        let mut statement = Self::default();
        let text = sentence.to_lowercase().replace('’', "'");
        let words: Vec<&str> = text.split_whitespace().collect();
        let bare: Vec<&str> = words.iter().map(|word| word.trim_matches(is_punctuation)).collect();
        statement.is_open = text.ends_with('?') || bare.first().is_none_or(|first| contains_word(PRONOUNS, first));
        let mut index = 0;
        while index < words.len() {
            index += statement.parse_word(&bare, index);
            if words[(index - 1).min(words.len() - 1)].ends_with([',', ';', ':']) {
                statement.breaks.push(statement.tokens.len());
            }
        }
        statement.move_leading_date();
        statement
    }

    /// Parses the word at an index, or the number that starts there; returns the number of words used.
    fn parse_word(&mut self, words: &[&str], index: usize) -> usize {
        let word = words[index];
        if let Some(value) = Quantity::parse(word) {
            return self.parse_number(words, index, value);
        }
        if word.ends_with("n't") || contains_word(NEGATIONS, word) {
            self.is_negative = !self.is_negative;
        } else if contains_word(LIMITING_WORDS, word) {
            self.limits.push(word.to_owned());
        } else if !word.is_empty() && !contains_word(STOP_WORDS, word) {
            self.tokens.push(Token::Word(stem(word)));
        }
        match word {
            "was" | "were" | "had" | "did" => self.is_past = self.is_past.or(Some(true)),
            "is" | "are" | "has" | "does" => self.is_past = self.is_past.or(Some(false)),
            _ => {}
        }
        1
    }

    fn parse_number(&mut self, words: &[&str], index: usize, value: f64) -> usize {
        let (mut value, mut used) = (value, 1);
        while let Some(scale) = words.get(index + used).and_then(|word| Quantity::scale(word)) {
            value *= scale;
            used += 1;
        }
        let is_four_digits =
            used == 1 && words[index].len() == 4 && words[index].bytes().all(|byte| byte.is_ascii_digit());
        let is_preposition =
            |word: &&str| matches!(*word, "in" | "since" | "until" | "by" | "of" | "after" | "before" | "and");
        let is_year = is_four_digits
            && (1500.0..2200.0).contains(&value)
            && index.checked_sub(1).and_then(|before| words.get(before)).is_some_and(is_preposition);
        // Words that qualify a number belong to the number and limit nothing else.
        let before = &words[index.saturating_sub(2)..index];
        let quantity = Quantity::new(value, before, is_year);
        while self.limits.last().is_some_and(|limit| is_modifier(limit, before)) {
            self.limits.pop();
        }
        while matches!(self.tokens.last(), Some(Token::Word(word)) if is_modifier(word, before)) {
            self.tokens.pop();
        }
        self.tokens.push(Token::Number(quantity));
        if words[index].ends_with('%') {
            self.tokens.push(Token::Word("percent".to_owned()));
        } else if let Some((_, unit)) = [('$', "dollar"), ('€', "euro"), ('£', "pound")]
            .into_iter()
            .find(|(sign, _)| words[index].starts_with(*sign))
        {
            self.tokens.push(Token::Word(unit.to_owned()));
        }
        used
    }

    /// Moves a leading date to the end: `In 2024, the law came` becomes `The law came in 2024`.
    fn move_leading_date(&mut self) {
        let starts_with_year = matches!(self.tokens.first(), Some(Token::Number(number)) if number.is_year);
        if starts_with_year && self.breaks.first() == Some(&1) {
            self.tokens.rotate_left(1);
            self.breaks.remove(0);
            self.breaks.iter_mut().for_each(|position| *position -= 1);
        }
    }
}

/// Returns true if a word before a number only qualifies the number.
fn is_modifier(word: &str, before: &[&str]) -> bool {
    const MODIFIERS: &str = " about almost around fewer least less more most some than over above exceeding under below nearly roughly approximately circa larger higher longer greater \
    lower shorter smaller ";
    before.contains(&word) && contains_word(MODIFIERS, word) || before == ["up", "to"] && matches!(word, "up" | "to")
}

fn is_punctuation(letter: char) -> bool {
    !letter.is_alphanumeric() && !"%$€£".contains(letter)
}

fn contains_word(list: &str, word: &str) -> bool {
    !word.is_empty() && list.contains(&format!(" {word} "))
}

/// Removes the plural ending of a word; no more, so that different words stay different.
fn stem(word: &str) -> String {
    let word = word.trim_end_matches("'s").trim_end_matches('\'');
    match word.strip_suffix("ies") {
        Some(stem) if stem.len() > 2 => format!("{stem}y"),
        _ if word.len() > 3 && !word.ends_with("ss") && !word.ends_with("us") && !word.ends_with("is") => {
            let stem = word.strip_suffix('s').unwrap_or(word);
            let is_long = ["ches", "shes", "xes", "sses"].iter().any(|end| word.ends_with(end));
            if is_long { stem.strip_suffix('e').unwrap_or(stem).to_owned() } else { stem.to_owned() }
        }
        _ => word.to_owned(),
    }
}
