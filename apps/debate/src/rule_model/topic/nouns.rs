//! Noun phrases inside a sentence: number, article, proper names.

use super::verbs::has;
use super::word_classes::is_preposition;

/// Names that stay capitalized.
const NAMES: &str = " \
adidas africa amazon america american android apple arabic arsenal asia athens australia bach beatles beethoven \
berlin bible bitcoin boston brazil brexit britain british brussels buddhism california canada catholic chicago \
china chinese christian christianity christmas darwin december disney donald dutch easter einstein elon england \
english europe european facebook february finland france french freud friday gandhi german germany god google \
greece haskell hinduism hollywood ibm india indian instagram iran iraq ireland islam israel italian italy \
january japan japanese java javascript jesus jewish judaism june kant korea kubernetes latin lenin linux london \
mac march mars marx mercedes mexico microsoft mondays moscow mozart muslim napoleon netflix new nietzsche norway \
november october oxford pakistan paris plato poland portugal postgres putin python quebec rome russia russian rust \
sanskrit saturday scotland september shakespeare socrates spain spanish stalin starlink sunday sweden \
switzerland taiwan tesla texas thanksgiving thursday tiktok tokyo trump tuesday turkey twitter typescript \
ukraine venezuela vienna vietnam wales wednesday whatsapp wikipedia windows youtube zoom zurich ";

/// Words that end in `ing` and start a noun phrase but name no action.
const NO_ACTIONS: &str = " during evening everything housing king living meaning morning nothing parking something \
spring string thing wedding ring building sibling offspring boxing advertising gaming marketing ";

/// Returns true if a phrase such as `banning cars` names an action.
pub(super) fn starts_with_action(words: &[&str]) -> bool {
    let first = words.first().copied().unwrap_or_default();
    words.len() > 1 && first.len() > 4 && first.to_lowercase().ends_with("ing") && !has(NO_ACTIONS, first)
}

/// Returns true if a noun phrase needs a plural verb.
pub(super) fn is_plural(words: &[&str]) -> bool {
    const BETWEEN: &str = " who that which versus ";
    const PLURAL: &str = " people children men women police media cattle teeth feet mice data ";
    const SINGULAR: &str = " news always series species politics economics ethics mathematics physics sports athletics \
    christmas yes analysis basis crisis thesis gas bus plus virus status bonus campus process this texas paris mars ";
    if starts_with_action(words) {
        return false;
    }
    let end = words
        .iter()
        .skip(1)
        .position(|word| has(BETWEEN, word) || is_preposition(word))
        .map_or(words.len(), |index| index + 1);
    if words[..end].iter().any(|word| word.eq_ignore_ascii_case("and")) {
        return true;
    }
    let noun = words[..end].last().map(|word| word.to_lowercase()).unwrap_or_default();
    if has(PLURAL, &noun) {
        return true;
    }
    let is_name = words[end.saturating_sub(1)].chars().filter(|letter| letter.is_uppercase()).count() > 1;
    let is_known_name = has(NAMES, &noun) && is_capital(words[end - 1]);
    noun.ends_with('s')
        && !has(SINGULAR, &noun)
        && !is_known_name
        && !["ss", "us", "is", "ics", "’s", "'s"].iter().any(|end| noun.ends_with(end))
        && (!is_name || noun.len() > 3 && words[end - 1].ends_with('s'))
}

/// Converts a noun phrase for use inside a sentence: `Remote work` to `remote work`, `Carbon tax` to `a carbon
/// tax`.
pub(super) fn in_sentence(words: &[&str]) -> String {
    const SMALL: &str = " a an the and of in on to for at by from with ";
    let mut phrase = words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let is_title = words.len() > 1 && words.iter().filter(|word| !has(SMALL, word)).all(|word| is_capital(word));
    let is_action = starts_with_action(words)
        || words.first().is_some_and(|word| word.ends_with("ing"))
            && words.get(1).is_some_and(|word| is_preposition(word));
    if let Some(first) = phrase.first_mut()
        && (!is_title || is_action)
        && (words.len() > 1 || is_common(first))
    {
        *first = lowered(first);
    }
    let text = phrase.join(" ");
    article(words, &text).map_or(text.clone(), |article| format!("{article} {text}"))
}

/// Returns a word in lower case, unless it is a name.
pub(super) fn lowered(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().unwrap_or_default();
    let has_capitals = letters.clone().any(char::is_uppercase);
    let bare = word.trim_end_matches("'s").trim_end_matches("’s");
    if has_capitals || word == "I" || word.starts_with("I'") || has(NAMES, bare) || !word.is_ascii() {
        return word.to_owned();
    }
    first.to_lowercase().chain(letters).collect()
}

fn is_capital(word: &str) -> bool {
    word.chars().next().is_some_and(char::is_uppercase)
}

/// Returns true if a single capitalized word is a common noun.
pub(super) fn is_common(word: &str) -> bool {
    const COMMON: &str = " abortion art beauty beer capital cars cats censorship charity cheese coffee coal crime cricket \
    debt dogs drugs education energy exams fashion football freedom genius golf gold growth guns homework hope hunting \
    immigration inflation insurance internet jazz justice law love luck marriage math meat migration money music oil \
    patents peace pets philosophy pizza plastic poetry power prayer pride prison progress punishment religion rent \
    school science sex sleep smoking space sport strikes sugar surveillance taxes tea time tipping tourism tv vaccines \
    veganism voting war water wealth wine work zoos truth homeschooling ";
    const ENDS: [&str; 13] =
        ["ism", "tion", "sion", "ment", "ness", "ity", "ing", "ship", "acy", "ology", "ance", "ence", "hood"];
    let lower = word.to_lowercase();
    let is_plural = is_plural(&[word]) && lower.len() > 4;
    has(COMMON, &lower) || is_plural || ENDS.iter().any(|end| lower.ends_with(end) && lower.len() > end.len() + 2)
}

/// Returns the article that a countable noun lacks.
fn article(words: &[&str], text: &str) -> Option<&'static str> {
    const COUNTABLE: &str = " week tax penalty ban wage wall strike draft car vote law currency cap fee border state republic \
    union limit day exam grade loan subsidy licence license passport embargo quota boycott weekend ";
    const DETERMINERS: &str =
        " a an the my your our his her its their this that these those no some any every each all ";
    let first = words.first().copied().unwrap_or_default();
    let preposition = words.iter().position(|word| has(" in on of for at to with from as by under over ", word));
    let noun = words[..preposition.unwrap_or(words.len())].last().copied().unwrap_or_default();
    if !has(COUNTABLE, noun) || has(DETERMINERS, first) || starts_with_action(words) || is_plural(words) {
        return None;
    }
    if text.starts_with("death penalty") || text.starts_with("gender ") {
        return Some("the");
    }
    let starts_with_vowel = text.starts_with(['a', 'e', 'i', 'o', 'A', 'E', 'I', 'O']) && !text.starts_with("one");
    let has_vowel_sound =
        starts_with_vowel || (text.starts_with('u') && !text.starts_with("uni") && !text.starts_with("use"));
    Some(if has_vowel_sound { "an" } else { "a" })
}

/// Returns true if no one would argue for the topic as it is, so that the debate must be about fighting it.
pub(super) fn is_negative_topic(words: &[&str]) -> bool {
    const EVILS: &str = " addiction burnout cancer corruption crime disinformation homelessness hunger inequality loneliness \
    misinformation obesity plagiarism pollution poverty racism sexism spam terrorism unemployment violence war bullying ";
    let line = words.join(" ").to_lowercase();
    matches!(line.as_str(), "climate change" | "global warming" | "fake news" | "child labour" | "child labor")
        || words.last().is_some_and(|word| has(EVILS, word)) && words.len() <= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-DEB-41: noun phrases get their number and article, and names stay capitalized.
    #[test]
    fn noun_phrases_get_article_and_number() {
        let split = |text: &'static str| text.split(' ').collect::<Vec<_>>();
        for (text, expected, plural) in [
            ("Remote work", "remote work", false),
            ("School uniforms", "school uniforms", true),
            ("Pineapple on pizza", "pineapple on pizza", false),
            ("Carbon tax", "a carbon tax", false),
            ("Death penalty", "the death penalty", false),
            ("Four-day work week", "a four-day work week", false),
            ("Banning cars", "banning cars", false),
            ("Elon Musk", "Elon Musk", false),
            ("Europe", "Europe", false),
            ("Billionaires", "billionaires", true),
            ("Adidas", "Adidas", false),
            ("Democracy", "democracy", false),
            ("Cats and dogs", "cats and dogs", true),
            ("AI ethics", "AI ethics", false),
        ] {
            let words = split(text);
            assert_eq!((in_sentence(&words).as_str(), is_plural(&words)), (expected, plural), "{text}");
        }
    }
}
