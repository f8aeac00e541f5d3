//! The little English that a topic needs: verbs and their forms, numbers of nouns, names.
//!
//! Lists instead of a dictionary: a word that is not in them is left as it was written.

/// Verbs in their base form that a topic may turn on. None of them is more often a noun before another noun.
const VERBS: &str = " abandon abolish accept achieve adapt admit adopt affect afford allow amend apply arm arrest ask \
assume attend avoid ban be become beat begin believe belong benefit bomb borrow boycott break bring build buy call \
cancel care carry cause celebrate censor change charge cheat choose clone close collapse colonise colonize come \
compensate compete consider consume continue control cooperate cost count cover create criticise criticize cure cut \
damage deal decide declare decrease defend define defund delete demand deny depend deserve destroy develop die \
disappear discover disclose discourage dissolve divide do donate drink drive drop earn eat elect eliminate embrace emit enable \
encourage end enforce enjoy ensure enter evolve exclude exist expand expect expel experience explain explore exploit \
extend face fail favour favor fear feed feel fight find fire fix fly focus follow forbid force forget forgive fund \
gain get give go govern grow guarantee handle happen harm hate have heal help hide hire hold host hunt hurt ignore \
impose improve include increase influence inherit intervene introduce invent invest join judge justify keep kill know lead \
learn leave legalise legalize lend let lie limit listen live lose love lower lie lower make manage marry matter mean \
mine monitor move nationalise nationalize need negotiate obey offer open oppose outlaw outweigh own participate pay \
permit play pollute praise predict prefer prepare prevent print privatise privatize produce prohibit promote protect \
prove provide publish punish pursue put quit raise read recognise recognize recycle reduce reform refuse regulate \
reject rely remain remove replace represent require resign respect restrict retire return reward ruin rule run save see \
seek sell send serve settle share shop shut sleep solve speak spend spread stand start stay steal stop strike study \
subsidise subsidize succeed suffer support survive switch take talk tax teach tell tend think tolerate trade train \
travel treat trust try understand use vaccinate value vote wait want waste watch wear win withdraw work worry write ";

/// Verbs that a line may begin with as an order: `Ban cars`.
const ORDERS: &str = " abolish accept adopt allow avoid ban bring build buy cancel choose close colonise colonize \
create cut decriminalise decriminalize defund deny do eat eliminate encourage end expand fight fix forbid forgive give \
improve increase introduce invest keep kill learn legalise legalize let limit lower make nationalise nationalize pay \
privatise privatize prohibit protect punish put raise reduce reform regulate remove replace require restrict save \
sell send stop subsidise subsidize take tax teach use vaccinate ";

/// Participles that do not end in `ed`, with what they come from.
const PARTICIPLES: [(&str, &str); 53] = [
    ("beaten", "beat"),
    ("begun", "begin"),
    ("born", "bear"),
    ("bought", "buy"),
    ("broken", "break"),
    ("brought", "bring"),
    ("built", "build"),
    ("chosen", "choose"),
    ("cut", "cut"),
    ("done", "do"),
    ("drawn", "draw"),
    ("driven", "drive"),
    ("eaten", "eat"),
    ("fed", "feed"),
    ("felt", "feel"),
    ("forbidden", "forbid"),
    ("forgiven", "forgive"),
    ("forgotten", "forget"),
    ("fought", "fight"),
    ("found", "find"),
    ("given", "give"),
    ("grown", "grow"),
    ("heard", "hear"),
    ("held", "hold"),
    ("hidden", "hide"),
    ("kept", "keep"),
    ("known", "know"),
    ("left", "leave"),
    ("led", "lead"),
    ("lent", "lend"),
    ("let", "let"),
    ("lost", "lose"),
    ("made", "make"),
    ("paid", "pay"),
    ("put", "put"),
    ("read", "read"),
    ("run", "run"),
    ("seen", "see"),
    ("sent", "send"),
    ("set", "set"),
    ("shown", "show"),
    ("shut", "shut"),
    ("sold", "sell"),
    ("spent", "spend"),
    ("split", "split"),
    ("taken", "take"),
    ("taught", "teach"),
    ("told", "tell"),
    ("understood", "understand"),
    ("used", "use"),
    ("won", "win"),
    ("worn", "wear"),
    ("written", "write"),
];

/// Names that stay capital at the beginning of a line.
const NAMES: &str = " \
adidas africa amazon america american android apple arabic arsenal asia athens australia bach beatles beethoven \
berlin bible bitcoin boston brazil brexit britain british brussels buddhism california canada catholic chicago \
china chinese christian christianity christmas darwin december disney donald dutch easter einstein elon england \
english europe european facebook february finland france french freud friday gandhi german germany god google \
greece haskell hinduism hollywood ibm india indian instagram iran iraq ireland islam israel italian italy \
january japan japanese java javascript jesus jewish judaism june kant korea kubernetes latin lenin linux london \
mac march mars marx mercedes mexico microsoft mondays moscow mozart muslim napoleon netflix new nietzsche norway \
november october oxford pakistan paris plato poland portugal postgres putin python quebec russia russian rust \
sanskrit saturday scotland september shakespeare socrates spain spanish stalin starlink sunday sweden \
switzerland taiwan tesla texas thanksgiving thursday tiktok tokyo trump tuesday turkey twitter typescript \
ukraine venezuela vienna vietnam wales wednesday whatsapp wikipedia windows youtube zoom zurich ";

/// Words with `ing` at their end that begin a noun phrase and are no action.
const NO_ACTIONS: &str = " during evening everything housing king living meaning morning nothing parking something \
spring string thing wedding ring building sibling offspring boxing advertising gaming marketing ";

fn has(list: &str, word: &str) -> bool {
    let word = word.to_lowercase();
    !word.contains(' ') && list.contains(&format!(" {word} "))
}

/// Whether a verb in its base form.
pub(super) fn is_verb(word: &str) -> bool {
    has(VERBS, word)
}

/// Whether a line that begins with it is an order.
pub(super) fn is_order(word: &str) -> bool {
    has(ORDERS, word)
}

/// Whether a word behind a plural is what those do: `games cause violence`.
pub(super) fn is_done_by_many(word: &str) -> bool {
    has(" cause deserve destroy harm have help hurt improve lead make matter need outweigh ruin ", word)
}

/// Whether a verb tells how things are and not what somebody does.
pub(super) fn is_state(verb: &str) -> bool {
    has(" belong deserve exist have know live matter mean own remain ", verb)
}

/// Whether nobody would argue for it as it stands, so that a debate about it is one about fighting it.
pub(super) fn is_evil(words: &[&str]) -> bool {
    const EVILS: &str = " addiction burnout cancer corruption crime disinformation homelessness hunger inequality loneliness \
    misinformation obesity plagiarism pollution poverty racism sexism spam terrorism unemployment violence war bullying ";
    let line = words.join(" ").to_lowercase();
    matches!(line.as_str(), "climate change" | "global warming" | "fake news" | "child labour" | "child labor")
        || words.last().is_some_and(|word| has(EVILS, word)) && words.len() <= 2
}

/// Whether a line has words that only other languages have.
pub(super) fn is_foreign(words: &[&str]) -> bool {
    const WORDS: &str = " der das und ist sind soll sollte sollten nicht wie warum wer le les une est faut doit devrait \
    pourquoi que el los las una es por para della gli il het een moet moeten zijn ";
    words.iter().any(|word| has(WORDS, word))
}

/// Whether a form such as `buys`, of a verb that is known.
pub(super) fn is_third_person(word: &str) -> bool {
    let word = word.to_lowercase();
    // Plurals of nouns that are verbs too say nothing.
    const NOUNS: &str = " taxes works trades changes costs uses needs plays fights limits votes values studies strikes \
    shares reforms rules runs returns rewards demands hosts hunts influences controls funds fires fears benefits \
    drinks drives drops ends calls charges damages deals cures covers cuts counts breaks apples trains travels \
    treats wants watches wins waits loves lies hates focuses forces experiences arms bombs bans beats mines prints \
    shops starts stops supports talks trusts aims moves offers ";
    !has(NOUNS, &word) && VERBS.split(' ').any(|verb| !verb.is_empty() && third_person(verb) == word)
}

/// `buy` to `buys`.
pub(super) fn third_person(verb: &str) -> String {
    match verb {
        "be" => "is".to_owned(),
        "have" => "has".to_owned(),
        "do" | "go" => format!("{verb}es"),
        _ if ["s", "x", "ch", "sh"].iter().any(|end| verb.ends_with(end)) => format!("{verb}es"),
        _ if ends_in_consonant_y(verb) => format!("{}ies", &verb[..verb.len() - 1]),
        _ => format!("{verb}s"),
    }
}

fn ends_in_consonant_y(verb: &str) -> bool {
    verb.ends_with('y') && !["ay", "ey", "oy", "uy"].iter().any(|end| verb.ends_with(end))
}

/// `ban` to `banning`.
pub(super) fn gerund(verb: &str) -> String {
    const DOUBLE: &str = " ban begin bet cut drop forbid forget get let put quit run set shop shut split stop win \
    control permit admit expel ";
    let lower = verb.to_lowercase();
    match lower.as_str() {
        "be" => "being".to_owned(),
        "die" | "lie" | "tie" => format!("{}ying", &lower[..1]),
        "see" | "free" | "agree" | "flee" | "dye" => format!("{lower}ing"),
        word if has(DOUBLE, word) => {
            let last = word.chars().last().unwrap_or_default();
            format!("{word}{last}ing")
        }
        word => format!("{}ing", word.strip_suffix('e').unwrap_or(word)),
    }
}

/// `banned` to `banning`; nothing where the word is no participle.
pub(super) fn gerund_of_participle(word: &str) -> Option<String> {
    let word = word.to_lowercase();
    if let Some((_, verb)) = PARTICIPLES.iter().find(|(participle, _)| *participle == word) {
        return Some(gerund(verb));
    }
    if !word.is_ascii() || word.len() < 5 || has(" naked sacred wicked hundred kindred indeed speed breed ", &word) {
        return None;
    }
    match (word.strip_suffix("ied"), word.strip_suffix("eed"), word.strip_suffix("ed")) {
        (Some(stem), _, _) => Some(format!("{stem}ying")),
        (_, Some(stem), _) => Some(format!("{stem}eeing")),
        (_, _, Some(stem)) => Some(format!("{stem}ing")),
        _ => None,
    }
}

/// Whether a phrase such as `banning cars` names an action.
pub(super) fn begins_with_action(words: &[&str]) -> bool {
    let first = words.first().copied().unwrap_or_default();
    words.len() > 1 && first.len() > 4 && first.to_lowercase().ends_with("ing") && !has(NO_ACTIONS, first)
}

/// Whether a noun phrase wants `are`.
pub(super) fn is_plural(words: &[&str]) -> bool {
    const BETWEEN: &str = " in on of for at to with from as by under over versus without against about after before \
    during between among into through than who that which ";
    const PLURAL: &str = " people children men women police media cattle teeth feet mice data ";
    const SINGULAR: &str = " news always series species politics economics ethics mathematics physics sports athletics \
    christmas yes analysis basis crisis thesis gas bus plus virus status bonus campus process this texas paris mars ";
    if begins_with_action(words) {
        return false;
    }
    let head = words.iter().skip(1).position(|word| has(BETWEEN, word)).map_or(words.len(), |place| place + 1);
    if words[..head].iter().any(|word| word.eq_ignore_ascii_case("and")) {
        return true;
    }
    let noun = words[..head].last().map(|word| word.to_lowercase()).unwrap_or_default();
    if has(PLURAL, &noun) {
        return true;
    }
    let is_name = words[head.saturating_sub(1)].chars().filter(|letter| letter.is_uppercase()).count() > 1;
    let is_known_name = has(NAMES, &noun) && is_capital(words[head - 1]);
    noun.ends_with('s')
        && !has(SINGULAR, &noun)
        && !is_known_name
        && !["ss", "us", "is", "ics", "’s", "'s"].iter().any(|end| noun.ends_with(end))
        && (!is_name || noun.len() > 3 && words[head - 1].ends_with('s'))
}

/// A noun phrase as it stands inside a sentence: `Remote work` to `remote work`, `Carbon tax` to `a carbon tax`.
pub(super) fn inside(words: &[&str]) -> String {
    const SMALL: &str = " a an the and of in on to for at by from with ";
    let mut phrase = words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let is_title = words.len() > 1 && words.iter().filter(|word| !has(SMALL, word)).all(|word| is_capital(word));
    if let Some(first) = phrase.first_mut()
        && !is_title
        && (words.len() > 1 || is_common(first))
    {
        *first = lowered(first);
    }
    let text = phrase.join(" ");
    article(words, &text).map_or(text.clone(), |article| format!("{article} {text}"))
}

/// A word without its capital, unless it is a name.
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

/// Whether one word alone, written with a capital, is a common noun.
fn is_common(word: &str) -> bool {
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

/// The article that a noun which is counted lacks.
fn article(words: &[&str], text: &str) -> Option<&'static str> {
    const COUNTED: &str = " week tax penalty ban wage wall strike draft car vote law currency cap fee border state republic \
    union limit day exam grade loan subsidy licence license passport embargo quota boycott weekend ";
    const DETERMINERS: &str =
        " a an the my your our his her its their this that these those no some any every each all ";
    let first = words.first().copied().unwrap_or_default();
    let counted = words.iter().position(|word| has(" in on of for at to with from as by under over ", word));
    let head = words[..counted.unwrap_or(words.len())].last().copied().unwrap_or_default();
    if !has(COUNTED, head) || has(DETERMINERS, first) || begins_with_action(words) || is_plural(words) {
        return None;
    }
    if text.starts_with("death penalty") || text.starts_with("gender ") {
        return Some("the");
    }
    let sounds_open = text.starts_with(['a', 'e', 'i', 'o', 'A', 'E', 'I', 'O']) && !text.starts_with("one");
    let is_open = sounds_open || (text.starts_with('u') && !text.starts_with("uni") && !text.starts_with("use"));
    Some(if is_open { "an" } else { "a" })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-DEB-41: verbs of a topic take the form that a sentence needs.
    #[test]
    fn verbs_take_their_forms() {
        for (verb, expected) in [("ban", "banning"), ("regulate", "regulating"), ("lie", "lying"), ("see", "seeing")] {
            assert_eq!(gerund(verb), expected);
        }
        for (word, expected) in [("banned", "banning"), ("taught", "teaching"), ("carried", "carrying")] {
            assert_eq!(gerund_of_participle(word).as_deref(), Some(expected));
        }
        assert_eq!(gerund_of_participle("mandatory"), None);
        assert_eq!(
            (third_person("buy"), third_person("teach"), third_person("carry")),
            ("buys".into(), "teaches".into(), "carries".into())
        );
        assert!(is_third_person("buys") && !is_third_person("taxes"));
    }

    /// R-DEB-41: noun phrases know their number, their article and whether they are names.
    #[test]
    fn noun_phrases_stand_inside_a_sentence() {
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
            assert_eq!((inside(&words).as_str(), is_plural(&words)), (expected, plural), "{text}");
        }
    }
}
