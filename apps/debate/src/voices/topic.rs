//! What a topic is about: a line of any kind becomes a phrase that stands inside a sentence.
//!
//! `Should AI be regulated?` becomes `regulating AI`, `Does money buy happiness?` the view that money buys happiness.
//! A line that is not understood is quoted, never guessed at.

mod asking;
mod grammar;
mod line;
mod nouns;
mod question;
mod split;
mod statement;
mod words;

use words::{is_asking, is_determiner, is_helper, is_personal, positive};

/// What a debate is about, in the forms that sentences need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Topic {
    /// A noun phrase: a thing, something that is done, or a view.
    pub(super) it: String,
    /// What the view says, where the topic is something that may be so or not.
    pub(super) view: Option<String>,
    /// Whether somebody wants it to be done, so that it is not there yet.
    pub(super) is_change: bool,
    /// Whether it is something that happened once, so that nothing goes on or recurs.
    pub(super) is_past: bool,
    /// Whether the phrase wants `are`.
    pub(super) is_plural: bool,
    /// The words of the line that carry its meaning.
    pub(super) words: Vec<String>,
    /// A shorter phrase with its number, for when the whole one has been heard.
    short: Option<(String, bool)>,
}

/// How long a line may be before it is quoted only in part.
const LONGEST: usize = 90;
/// How long it may be when it has been heard.
const SHORT: usize = 45;

impl Topic {
    /// Reads a line.
    pub(super) fn read(line: &str) -> Self {
        let text = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = line::words(&text);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let meaning = if is_plain(&text, &words) { understand(&words) } else { None };
        let mut topic = meaning.unwrap_or_else(|| Self::not_understood(&text, &words));
        topic.words = content_words(&text);
        topic
    }

    /// A thing, or something that people do.
    fn thing(it: String, is_plural: bool) -> Self {
        Self { it, view: None, is_change: false, is_past: false, is_plural, words: Vec::new(), short: None }
    }

    /// Something that somebody wants to be done.
    fn change(it: String) -> Self {
        Self { is_change: true, ..Self::thing(it, false) }
    }

    /// Something that may be so or not.
    fn view(claim: String) -> Self {
        Self { view: Some(claim.clone()), ..Self::thing(format!("the view that {claim}"), false) }
    }

    fn choice(first: &[&str], second: &[&str]) -> Self {
        let is_small = second.first().is_some_and(|word| word.starts_with(char::is_lowercase));
        let is_plural = nouns::is_plural(first);
        let is_action = first[0].len() > 5 && first[0].ends_with("ing");
        let first = match first {
            // One word with a capital is a name, unless the other side shows that only the line began with it.
            [word] if is_small => nouns::lowered(word),
            words => nouns::inside(words),
        };
        let second = nouns::inside(second);
        let whole = match is_action {
            true => format!("{first} rather than {second}"),
            false => format!("choosing {first} over {second}"),
        };
        Self::thing(whole, false).or_short(first, is_plural)
    }

    fn or_short(self, it: String, is_plural: bool) -> Self {
        Self { short: Some((it, is_plural)), ..self }
    }

    fn past(self, is_past: bool) -> Self {
        Self { is_past, ..self }
    }

    /// With a condition behind it.
    fn only(self, condition: &str) -> Self {
        let is_past = self.is_past;
        match self.view {
            Some(claim) => Self::view(format!("{claim} {condition}")).past(is_past),
            None => Self { it: format!("{} {condition}", self.it), short: None, ..self },
        }
    }

    /// The line itself in quotation marks, in a phrase that suits what kind of line it is.
    fn not_understood(text: &str, words: &[&str]) -> Self {
        let first = words.first().map(|word| word.to_lowercase()).unwrap_or_default();
        let asks = text.ends_with('?') && !text.trim_end_matches('?').contains(['?', '!']);
        let is_yes_or_no = is_opening(&first) || has_question(words);
        if is_foreign(text, words) || !(asks || is_opening(&first)) {
            if first == "i" && words.len() > 2 && !is_foreign(text, words) {
                let claim = format!("there is something to {}", quote(text, LONGEST));
                return Self { view: Some(claim), ..Self::quoted("the sentence", text) };
            }
            return Self::quoted("the idea behind", text);
        }
        if words.is_empty() {
            return Self::quoted("the idea behind", text);
        }
        if is_asking(&first) || words.contains(&"or") || !is_yes_or_no {
            return Self { is_change: true, ..Self::quoted("settling the question", text) };
        }
        let claim = format!("the answer to {} is yes", quote(text, LONGEST));
        Self { view: Some(claim), ..Self::quoted("a yes to", text) }
    }

    fn quoted(kind: &str, text: &str) -> Self {
        let short = format!("{kind} {}", quote(text, SHORT));
        Self::thing(format!("{kind} {}", quote(text, LONGEST)), false).or_short(short, false)
    }

    /// For when the whole phrase has been heard.
    pub(super) fn known(&self) -> Self {
        let Some((it, is_plural)) = self.short.clone() else { return self.clone() };
        Self { it, is_plural, ..self.clone() }
    }

    /// For right after the whole phrase. Only where one word stands for it in every place of a sentence.
    pub(super) fn pointed_at(&self) -> Self {
        if self.is_plural {
            return self.clone();
        }
        let view = self.view.as_ref().map(|_| "this is so".to_owned());
        Self { it: "it".to_owned(), view, ..self.clone() }
    }

    /// What the view says; for everything else, that there is something to be said for it.
    pub(super) fn claim(&self) -> String {
        self.view.clone().unwrap_or_else(|| {
            let verb = if self.is_plural { "are" } else { "is" };
            format!("{} {verb} worth having", self.it)
        })
    }
}

/// The line in quotation marks, shortened at a word when it is long.
fn quote(text: &str, longest: usize) -> String {
    let text: String = text.chars().filter(|letter| !"“”\"()[]".contains(*letter)).collect();
    if text.chars().count() <= longest {
        return format!("“{}”", text.trim());
    }
    let mut kept: String = text.chars().take(longest - 8).collect();
    if let Some(space) = kept.rfind(' ').filter(|space| *space > longest / 3) {
        kept.truncate(space);
    }
    format!("“{}…”", kept.trim_end_matches(|letter: char| !letter.is_alphanumeric()))
}

/// Whether the line is one short phrase in letters that the grammar knows.
fn is_plain(text: &str, words: &[&str]) -> bool {
    let bare = words.join(" ");
    let letters = bare.chars().filter(|letter| letter.is_alphabetic()).count();
    let latin = bare.chars().filter(|letter| letter.is_alphabetic() && *letter < '\u{250}').count();
    let known = bare.chars().all(|letter| letter.is_alphanumeric() || " ,.'-–/&%$€£+#".contains(letter));
    let is_one = !bare.replace(" vs. ", " vs ").contains(". ") && !bare.contains(" - ");
    let is_loud = words.len() > 2 && !bare.contains(char::is_lowercase);
    let is_short = bare.chars().count() <= LONGEST;
    letters > 1 && letters == latin && known && is_one && is_short && !is_loud && !is_foreign(text, words)
}

/// Whether the line is in another language than the grammar.
fn is_foreign(text: &str, words: &[&str]) -> bool {
    let opens = words.first().is_some_and(|word| is_opening(&word.to_lowercase()));
    let is_other = text.ends_with('?') && !words.iter().all(|word| word.is_ascii()) && !opens;
    text.starts_with('¿') || is_other || grammar::is_foreign(words)
}

/// Whether a line that begins with this word is a question.
fn is_opening(word: &str) -> bool {
    // `May` and `might` begin lines about months and about power more often than questions.
    is_asking(word) || is_helper(&positive(word)) && !matches!(word, "may" | "might")
}

/// Whether a question follows a comma: `If robots work, will we?`
fn has_question(words: &[&str]) -> bool {
    words.windows(2).any(|pair| pair[0].ends_with(',') && is_helper(pair[1]))
}

fn understand(words: &[&str]) -> Option<Topic> {
    let first = words.first()?.to_lowercase();
    if let Some(place) = words.iter().position(|word| word.ends_with(','))
        && (matches!(first.as_str(), "if" | "when" | "unless" | "once") || first == "even" && words[1] == "if")
    {
        return conditional(&words[..=place], &words[place + 1..]);
    }
    if has_question(words) {
        return None;
    }
    if let Some(topic) = ["vs", "versus"].iter().find_map(|word| between(words, word)) {
        return topic;
    }
    match first.as_str() {
        _ if is_asking(&first) => asking::read(&first, &words[1..]),
        "may"
            if words
                .get(1)
                .is_some_and(|word| is_determiner(word) || is_personal(word) || nouns::is_plural(&[word])) =>
        {
            question::read("may", &words[1..])
        }
        _ if is_opening(&first) => question::read(&first, &words[1..]),
        _ => statement::read(words),
    }
}

/// `If robots work,`, `will people be happy` to the view that people will be happy if robots work.
fn conditional(condition: &[&str], rest: &[&str]) -> Option<Topic> {
    // Behind the rest, these would come before what they stand for.
    const POINTING: &str = " they them their he him his she her it its this that these those ";
    let rest = rest.strip_prefix(&["then"]).unwrap_or(rest);
    if rest.iter().any(|word| grammar::has(POINTING, word)) {
        return None;
    }
    let condition = [&[nouns::lowered(condition[0]).as_str()], &condition[1..]].concat().join(" ");
    Some(understand(rest)?.only(condition.trim_end_matches(',')))
}

/// `X vs Y`, `X or Y`: a choice, where there is one of two.
fn between(words: &[&str], mark: &str) -> Option<Option<Topic>> {
    let place = words.iter().position(|word| word.to_lowercase().trim_end_matches('.') == mark)?;
    let (first, second) = (&words[..place], &words[place + 1..]);
    let is_two = !first.is_empty() && !second.is_empty() && !words.iter().any(|word| word.ends_with(','));
    Some((is_two && !second.contains(&"not") && !second.contains(&mark)).then(|| Topic::choice(first, second)))
}

/// The words that carry the meaning of a text, in small letters, each once.
pub(super) fn content_words(text: &str) -> Vec<String> {
    const EMPTY: &str = " a about after all also always an and any are as at be been being but by can could did do does \
    ever for from get had has have how if in into is it its just let like make may might more most must my no not of on \
    one only or other our over own really right shall should so some still such than that the their them then there \
    these they this those to too under up us very vs versus was we were what when where which while who why will with \
    would you your i good bad better worse between without within because ";
    let mut found: Vec<String> = Vec::new();
    for word in text.split(|letter: char| !letter.is_alphanumeric() && letter != '-') {
        let word = word.trim_matches('-').to_lowercase();
        let is_empty = word.is_empty() || EMPTY.contains(&format!(" {word} "));
        if !is_empty && !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

#[cfg(test)]
mod tests;
