//! What a topic is about: a line of any kind becomes a phrase that stands inside a sentence.
//!
//! `Should AI be regulated?` becomes `regulating AI`, `Does money buy happiness?` the view that money buys happiness.
//! A line that is not understood is quoted, never guessed at.

mod grammar;
mod question;
mod statement;

/// What a debate is about, in the forms that sentences need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Topic {
    /// A noun phrase: a thing, something that is done, or a view.
    pub(super) it: String,
    /// What the view says, where the topic is something that may be so or not.
    pub(super) view: Option<String>,
    /// Whether somebody wants it to be done, so that it is not there yet.
    pub(super) is_change: bool,
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
        let bare = text.trim_matches(|letter: char| "?!.¿¡… ".contains(letter));
        let words: Vec<&str> = bare.split(' ').filter(|word| !word.is_empty()).collect();
        let is_other = text.starts_with('¿') || text.ends_with('?') && !text.is_ascii() || grammar::is_foreign(&words);
        let meaning = if is_plain(bare) && !is_other { understand(&words) } else { None };
        let mut topic = meaning.unwrap_or_else(|| Self::quoted(&text));
        topic.words = content_words(&text);
        topic
    }

    /// A thing, or something that people do.
    fn thing(it: String, is_plural: bool) -> Self {
        Self { it, view: None, is_change: false, is_plural, words: Vec::new(), short: None }
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
        let is_plural = grammar::is_plural(first);
        let first = match first {
            // One word with a capital is a name, unless the other side shows that only the line began with it.
            [word] if is_small => grammar::lowered(word),
            words => grammar::inside(words),
        };
        let whole = format!("choosing {first} over {}", grammar::inside(second));
        Self::thing(whole, false).or_short(first, is_plural)
    }

    fn or_short(self, it: String, is_plural: bool) -> Self {
        Self { short: Some((it, is_plural)), ..self }
    }

    fn quoted(text: &str) -> Self {
        let short = format!("the idea behind {}", quote(text, SHORT));
        Self::thing(format!("the idea behind {}", quote(text, LONGEST)), false).or_short(short, false)
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
fn is_plain(text: &str) -> bool {
    let letters = text.chars().filter(|letter| letter.is_alphabetic()).count();
    let latin = text.chars().filter(|letter| letter.is_alphabetic() && *letter < '\u{250}').count();
    let known = text.chars().all(|letter| letter.is_alphanumeric() || " ,.'’-–/&%$€£+#".contains(letter));
    let without_dots = text.replace(" vs. ", " vs ");
    let is_one = !without_dots.contains(". ") && !text.contains(" - ");
    letters > 1 && letters == latin && known && is_one && text.chars().count() <= LONGEST
}

fn understand(words: &[&str]) -> Option<Topic> {
    let first = words.first()?.to_lowercase();
    if let Some(topic) = versus(words, question::is_opening(&first)) {
        return Some(topic);
    }
    if question::is_opening(&first) {
        return question::read(&first, &words[1..]);
    }
    statement::read(words)
}

/// `X vs Y`, and `X or Y` where it is no question.
fn versus(words: &[&str], is_question: bool) -> Option<Topic> {
    let is_between = |word: &&str| {
        let word = word.to_lowercase();
        matches!(word.trim_end_matches('.'), "vs" | "versus") || (word == "or" && !is_question)
    };
    let place = words.iter().position(is_between)?;
    let (first, second) = (&words[..place], &words[place + 1..]);
    (!first.is_empty() && !second.is_empty() && !second.contains(&"not")).then(|| Topic::choice(first, second))
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
mod tests {
    use super::*;

    /// R-DEB-41: a topic of any kind becomes a phrase that stands inside a sentence.
    #[test]
    fn a_line_becomes_a_phrase() {
        for (line, expected) in [
            ("Should AI be regulated?", "regulating AI"),
            ("Should AI be heavily regulated?", "heavily regulating AI"),
            ("Should voting be mandatory?", "making voting mandatory"),
            ("Should we abolish zoos?", "abolishing zoos"),
            ("Shouldn't we tax sugar?", "taxing sugar"),
            (
                "Should children under 13 be allowed to use social media?",
                "allowing children under 13 to use social media",
            ),
            ("Should the government ban smoking in public parks?", "having the government ban smoking in public parks"),
            ("AI should be regulated.", "regulating AI"),
            ("Is it right to eat meat?", "eating meat"),
            ("Is it wrong to eat meat?", "the view that eating meat is wrong"),
            ("Is it fair for schools to ban phones?", "having schools ban phones"),
            ("Is nuclear energy safe?", "the view that nuclear energy is safe"),
            ("Is AI a threat to humanity?", "the view that AI is a threat to humanity"),
            ("Is there life on Mars?", "the view that there is life on Mars"),
            ("Are cats better than dogs?", "choosing cats over dogs"),
            ("Does money buy happiness?", "the view that money buys happiness"),
            ("Do violent games cause violence?", "the view that violent games cause violence"),
            ("Will robots take our jobs?", "the view that robots will take our jobs"),
            ("Has feminism gone too far?", "the view that feminism has gone too far"),
            ("Money can't buy happiness", "the view that money can't buy happiness"),
            ("Art is subjective", "the view that art is subjective"),
            ("How should cities deal with cars?", "finding a way for cities to deal with cars"),
            ("How can we stop climate change?", "finding a way to stop climate change"),
            ("How do vaccines work?", "knowing how vaccines work"),
            ("Should animals be used for testing?", "using animals for testing"),
            ("Should billionaires exist?", "the view that billionaires should exist"),
            ("Should I quit my job?", "quitting your job"),
            ("Can war ever be just?", "the view that war can sometimes be just"),
            ("Did the Romans invent concrete?", "the view that the Romans did invent concrete"),
            ("Video games cause violence", "the view that video games cause violence"),
            ("Is AI art real art?", "the view that AI art is real art"),
            ("Climate change", "fighting climate change"),
            ("Sollten Städte autofrei sein?", "the idea behind “Sollten Städte autofrei sein?”"),
            ("¿Por qué?", "the idea behind “¿Por qué?”"),
            ("How to fix democracy", "finding a way to fix democracy"),
            ("Why do people lie?", "knowing why people lie"),
            ("Who should pay for college?", "settling who should pay for college"),
            ("What is consciousness?", "defining consciousness"),
            ("What is the best programming language?", "finding the best programming language"),
            ("Remote work", "remote work"),
            ("Ban cars in cities", "banning cars in cities"),
            ("Tabs vs. spaces", "choosing tabs over spaces"),
            ("Cats or dogs?", "choosing cats over dogs"),
            ("To be or not to be", "the idea behind “To be or not to be”"),
            ("Why?", "settling the question “Why”"),
            ("東京オリンピック", "the idea behind “東京オリンピック”"),
            ("🍕🍕🍕", "the idea behind “🍕🍕🍕”"),
            ("Tax the rich! Or not? (Really)", "the idea behind “Tax the rich! Or not? Really”"),
        ] {
            assert_eq!(Topic::read(line).it, expected, "{line}");
        }
    }

    /// R-DEB-41: what was heard once gets a shorter name, with its own number.
    #[test]
    fn what_is_known_is_named_shortly() {
        for (line, expected) in [
            ("Cats are better than dogs", ("cats", true)),
            ("Basic income vs. income tax", ("basic income", false)),
            ("Should the government ban smoking in parks?", ("banning smoking in parks", false)),
            ("Should schools not require uniforms?", ("not requiring uniforms", false)),
            ("How should cities deal with cars?", ("dealing with cars", false)),
            ("Remote work", ("remote work", false)),
        ] {
            let known = Topic::read(line).known();
            assert_eq!((known.it.as_str(), known.is_plural), expected, "{line}");
        }
    }

    /// R-DEB-41: a long line is quoted in part, at a word.
    #[test]
    fn a_long_line_is_shortened() {
        let topic = Topic::read(&"Should every city of the world consider this? ".repeat(10));
        assert!(topic.it.chars().count() < 120 && topic.it.ends_with("…”"), "{}", topic.it);
    }
}
