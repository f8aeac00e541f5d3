//! Topic parser: converts any line to a phrase that fits into a sentence.
//!
//! `Should AI be regulated?` becomes `regulating AI`, `Does money buy happiness?` the view that money buys
//! happiness. A line that cannot be parsed is quoted, never guessed at.

mod clause_split;
mod normalize;
mod nouns;
mod statement;
mod verbs;
mod wh_question;
mod word_classes;
mod yes_no_question;

use word_classes::{is_auxiliary, is_determiner, is_interrogative, is_personal_pronoun, positive};

/// A topic, in the forms that sentences need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Topic {
    /// Noun phrase: a thing, an action, or a belief.
    pub(super) noun_phrase: String,
    /// Statement of the belief, if the topic is something that may be true or not.
    pub(super) belief: Option<String>,
    /// True if the topic is a proposed change, which does not exist yet.
    pub(super) is_change: bool,
    /// True if the topic is a single past event.
    pub(super) is_past: bool,
    /// True if the phrase needs a plural verb.
    pub(super) is_plural: bool,
    /// Words of the line with meaning.
    pub(super) words: Vec<String>,
    /// A shorter phrase with its number, for use after the full phrase.
    short: Option<(String, bool)>,
}

/// Maximum length of a quoted line in characters.
const MAX_QUOTE_CHARS: usize = 90;
/// Maximum length of a quoted line that was quoted before.
const MAX_REPEATED_QUOTE_CHARS: usize = 45;

impl Topic {
    /// Parses a line.
    pub(super) fn parse(line: &str) -> Self {
        let text = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = normalize::normalized_words(&text);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let parsed = if is_supported(&text, &words) { parse(&words) } else { None };
        let mut topic = parsed.unwrap_or_else(|| Self::unparsed(&text, &words));
        topic.words = content_words(&text);
        topic
    }

    /// Creates a topic for a thing, or for an action.
    fn from_noun_phrase(noun_phrase: String, is_plural: bool) -> Self {
        Self { noun_phrase, belief: None, is_change: false, is_past: false, is_plural, words: Vec::new(), short: None }
    }

    /// Creates a topic for a proposed change.
    fn change(noun_phrase: String) -> Self {
        Self { is_change: true, ..Self::from_noun_phrase(noun_phrase, false) }
    }

    /// Creates a topic for a belief.
    fn belief(claim: String) -> Self {
        Self { belief: Some(claim.clone()), ..Self::from_noun_phrase(format!("the view that {claim}"), false) }
    }

    fn choice(first: &[&str], second: &[&str]) -> Self {
        let is_small = second.first().is_some_and(|word| word.starts_with(char::is_lowercase));
        let is_plural = nouns::is_plural(first);
        let is_action = first[0].len() > 5 && first[0].ends_with("ing");
        let first = match first {
            // One capitalized word is a name, unless the second alternative shows that only the start of the line
            // was capitalized.
            [word] if is_small => nouns::lowered(word),
            words => nouns::in_sentence(words),
        };
        let second = nouns::in_sentence(second);
        let noun_phrase = match is_action {
            true => format!("{first} rather than {second}"),
            false => format!("choosing {first} over {second}"),
        };
        Self::from_noun_phrase(noun_phrase, false).or_short(first, is_plural)
    }

    fn or_short(self, short: String, is_plural: bool) -> Self {
        Self { short: Some((short, is_plural)), ..self }
    }

    fn past(self, is_past: bool) -> Self {
        Self { is_past, ..self }
    }

    /// Adds a condition.
    fn with_condition(self, condition: &str) -> Self {
        let is_past = self.is_past;
        match self.belief {
            Some(claim) => Self::belief(format!("{claim} {condition}")).past(is_past),
            None => Self { noun_phrase: format!("{} {condition}", self.noun_phrase), short: None, ..self },
        }
    }

    /// Quotes the line itself, in a phrase that fits its kind.
    fn unparsed(text: &str, words: &[&str]) -> Self {
        let first = words.first().map(|word| word.to_lowercase()).unwrap_or_default();
        let is_question = text.ends_with('?') && !text.trim_end_matches('?').contains(['?', '!']);
        let is_yes_or_no = starts_question(&first) || has_question(words);
        if is_foreign(text, words) || !(is_question || starts_question(&first)) {
            if first == "i" && words.len() > 2 && !is_foreign(text, words) {
                let claim = format!("there is something to {}", quote(text, MAX_QUOTE_CHARS));
                return Self { belief: Some(claim), ..Self::quoted("the sentence", text) };
            }
            return Self::quoted("the idea behind", text);
        }
        if words.is_empty() {
            return Self::quoted("the idea behind", text);
        }
        if is_interrogative(&first) || words.contains(&"or") || !is_yes_or_no {
            return Self { is_change: true, ..Self::quoted("settling the question", text) };
        }
        let claim = format!("the answer to {} is yes", quote(text, MAX_QUOTE_CHARS));
        Self { belief: Some(claim), ..Self::quoted("a yes to", text) }
    }

    fn quoted(kind: &str, text: &str) -> Self {
        let short = format!("{kind} {}", quote(text, MAX_REPEATED_QUOTE_CHARS));
        Self::from_noun_phrase(format!("{kind} {}", quote(text, MAX_QUOTE_CHARS)), false).or_short(short, false)
    }

    /// Returns the short form, for use after the full phrase.
    pub(super) fn short_form(&self) -> Self {
        let Some((noun_phrase, is_plural)) = self.short.clone() else { return self.clone() };
        Self { noun_phrase, is_plural, ..self.clone() }
    }

    /// Returns a pronoun form, for use right after the full phrase. Only if one pronoun fits at every position of a
    /// sentence.
    pub(super) fn pronoun_form(&self) -> Self {
        if self.is_plural {
            return self.clone();
        }
        let belief = self.belief.as_ref().map(|_| "this is so".to_owned());
        Self { noun_phrase: "it".to_owned(), belief, ..self.clone() }
    }

    /// Returns the statement of the belief; for any other topic, the statement that the topic has value.
    pub(super) fn claim(&self) -> String {
        self.belief.clone().unwrap_or_else(|| {
            let verb = if self.is_plural { "are" } else { "is" };
            format!("{} {verb} worth having", self.noun_phrase)
        })
    }
}

/// Quotes a line, shortened at a word boundary if it is long.
fn quote(text: &str, max_chars: usize) -> String {
    let text: String = text.chars().filter(|letter| !"“”\"()[]".contains(*letter)).collect();
    if text.chars().count() <= max_chars {
        return format!("“{}”", text.trim());
    }
    let mut excerpt: String = text.chars().take(max_chars - 8).collect();
    if let Some(space) = excerpt.rfind(' ').filter(|space| *space > max_chars / 3) {
        excerpt.truncate(space);
    }
    format!("“{}…”", excerpt.trim_end_matches(|letter: char| !letter.is_alphanumeric()))
}

/// Returns true if the line is one short phrase in letters that the grammar supports.
fn is_supported(text: &str, words: &[&str]) -> bool {
    let bare = words.join(" ");
    let letters = bare.chars().filter(|letter| letter.is_alphabetic()).count();
    let latin = bare.chars().filter(|letter| letter.is_alphabetic() && *letter < '\u{250}').count();
    let has_plain_chars = bare.chars().all(|letter| letter.is_alphanumeric() || " ,.'-–/&%$€£+#".contains(letter));
    let is_one_sentence = !bare.replace(" vs. ", " vs ").contains(". ") && !bare.contains(" - ");
    let is_upper_case = words.len() > 2 && !bare.contains(char::is_lowercase);
    let is_short = bare.chars().count() <= MAX_QUOTE_CHARS;
    letters > 1
        && letters == latin
        && has_plain_chars
        && is_one_sentence
        && is_short
        && !is_upper_case
        && !is_foreign(text, words)
}

/// Returns true if the line is not in English.
fn is_foreign(text: &str, words: &[&str]) -> bool {
    let is_question = words.first().is_some_and(|word| starts_question(&word.to_lowercase()));
    let is_foreign_question = text.ends_with('?') && !words.iter().all(|word| word.is_ascii()) && !is_question;
    text.starts_with('¿') || is_foreign_question || verbs::is_foreign(words)
}

/// Returns true if a line that starts with this word is a question.
fn starts_question(word: &str) -> bool {
    // `May` and `might` start lines about months and about power more often than questions.
    is_interrogative(word) || is_auxiliary(&positive(word)) && !matches!(word, "may" | "might")
}

/// Returns true if a question follows a comma: `If robots work, will we?`
fn has_question(words: &[&str]) -> bool {
    words.windows(2).any(|pair| pair[0].ends_with(',') && is_auxiliary(pair[1]))
}

fn parse(words: &[&str]) -> Option<Topic> {
    let first = words.first()?.to_lowercase();
    if let Some(index) = words.iter().position(|word| word.ends_with(','))
        && (matches!(first.as_str(), "if" | "when" | "unless" | "once") || first == "even" && words[1] == "if")
    {
        return parse_conditional(&words[..=index], &words[index + 1..]);
    }
    if has_question(words) {
        return None;
    }
    if let Some(topic) = ["vs", "versus"].iter().find_map(|word| parse_choice(words, word)) {
        return topic;
    }
    match first.as_str() {
        _ if is_interrogative(&first) => wh_question::parse(&first, &words[1..]),
        "may"
            if words
                .get(1)
                .is_some_and(|word| is_determiner(word) || is_personal_pronoun(word) || nouns::is_plural(&[word])) =>
        {
            yes_no_question::parse("may", &words[1..])
        }
        _ if starts_question(&first) => yes_no_question::parse(&first, &words[1..]),
        _ => statement::parse(words),
    }
}

/// Parses a conditional question: `If robots work,`, `will people be happy` becomes the view that people will be
/// happy if robots work.
fn parse_conditional(condition: &[&str], rest: &[&str]) -> Option<Topic> {
    // The condition is moved to the end, so a pronoun would precede its noun.
    const PRONOUNS: &str = " they them their he him his she her it its this that these those ";
    let rest = rest.strip_prefix(&["then"]).unwrap_or(rest);
    if rest.iter().any(|word| verbs::has(PRONOUNS, word)) {
        return None;
    }
    let condition = [&[nouns::lowered(condition[0]).as_str()], &condition[1..]].concat().join(" ");
    Some(parse(rest)?.with_condition(condition.trim_end_matches(',')))
}

/// Parses a choice, `X vs Y` or `X or Y`; the inner option is `None` if there are not exactly two alternatives.
fn parse_choice(words: &[&str], separator: &str) -> Option<Option<Topic>> {
    let index = words.iter().position(|word| word.to_lowercase().trim_end_matches('.') == separator)?;
    let (first, second) = (&words[..index], &words[index + 1..]);
    let has_two_options = !first.is_empty() && !second.is_empty() && !words.iter().any(|word| word.ends_with(','));
    Some(
        (has_two_options && !second.contains(&"not") && !second.contains(&separator))
            .then(|| Topic::choice(first, second)),
    )
}

/// Returns the words of a text with meaning, in lower case, each once.
pub(super) fn content_words(text: &str) -> Vec<String> {
    const STOP_WORDS: &str = " a about after all also always an and any are as at be been being but by can could did do does \
    ever for from get had has have how if in into is it its just let like make may might more most must my no not of on \
    one only or other our over own really right shall should so some still such than that the their them then there \
    these they this those to too under up us very vs versus was we were what when where which while who why will with \
    would you your i good bad better worse between without within because ";
    let mut unique: Vec<String> = Vec::new();
    for word in text.split(|letter: char| !letter.is_alphanumeric() && letter != '-') {
        let word = word.trim_matches('-').to_lowercase();
        let is_stop_word = word.is_empty() || STOP_WORDS.contains(&format!(" {word} "));
        if !is_stop_word && !unique.contains(&word) {
            unique.push(word);
        }
    }
    unique
}

#[cfg(test)]
mod tests;
