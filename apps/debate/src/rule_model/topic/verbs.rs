//! The subset of English grammar that topics need: verbs and their forms.
//!
//! Word lists instead of a dictionary: an unknown word stays as it is.

/// Verbs in base form on which a topic may be based. None of them is more often a noun before another noun.
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
travel treat trust try understand use vaccinate value vote wait want waste watch wear win withdraw work worry write \
accelerate address apologise apologize arrive attract bear blame boost burn catch clean climb commit \
contribute cook cry dance delay deliver deport deter disappoint dominate educate employ exceed expire fall \
finance finish hang identify imagine innovate inspire invade kneel laugh launch maintain meet merge migrate \
mislead pass perform pray preserve push recite recover register rescue resist respond restore reveal revive \
ride rise rob scare secede sing sit skip smoke strengthen submit suck sue surrender suspend swear swim tackle \
thrive throw tolerate transform unite vanish visit walk warn weaken welcome worship conquer regret repeat post rent ";

/// Verbs with which a line may start as an imperative: `Ban cars`.
const IMPERATIVES: &str = " abolish accept adopt allow avoid ban bring build buy cancel choose close colonise colonize \
create cut decriminalise decriminalize defund deny do eat eliminate encourage end expand fight fix forbid forgive give \
improve increase introduce invest keep kill learn legalise legalize let limit lower make nationalise nationalize pay \
privatise privatize prohibit protect punish put raise reduce reform regulate remove replace require restrict save \
sell send stop subsidise subsidize take tax teach use vaccinate ";

/// Irregular participles, with their base forms.
const PARTICIPLES: [(&str, &str); 54] = [
    ("beaten", "beat"),
    ("begun", "begin"),
    ("born", "bear"),
    ("bought", "buy"),
    ("broken", "break"),
    ("brought", "bring"),
    ("built", "build"),
    ("chosen", "choose"),
    ("cut", "cut"),
    ("died", "die"),
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

/// Returns true if a word is in a list whose words are surrounded by spaces.
pub(super) fn has(list: &str, word: &str) -> bool {
    let word = word.to_lowercase();
    !word.contains(' ') && list.contains(&format!(" {word} "))
}

/// Returns true for a verb in base form.
pub(super) fn is_verb(word: &str) -> bool {
    has(VERBS, word)
}

/// Returns true if a line that starts with this word is an imperative.
pub(super) fn is_imperative(word: &str) -> bool {
    has(IMPERATIVES, word)
}

/// Returns the verbs of which a word may be a form.
fn verbs_like(word: &str) -> impl Iterator<Item = &'static str> {
    let first = word.chars().next();
    VERBS.split(' ').filter(move |verb| first.is_some_and(|first| verb.starts_with(first)))
}

/// Returns true for a gerund such as `taking` of a known verb.
pub(super) fn is_gerund_of_verb(word: &str) -> bool {
    let word = word.to_lowercase();
    verbs_like(&word).any(|verb| gerund(verb) == word)
}

/// Returns true if a verb is also a noun, and rarely a verb after another noun.
pub(super) fn is_also_noun(word: &str) -> bool {
    const NOUNS: &str = " change charge control cost cover cut deal demand drink drive end experience fear fire focus force \
    fund harm hunt influence limit love mine need offer play print reform return reward rule run shop strike study support \
    switch tax trade train travel trust use value vote waste walk watch work ";
    has(NOUNS, word)
}

/// Returns true if a word after a noun is its verb: `games cause violence`, `size matters`.
pub(super) fn is_common_verb(word: &str, is_plural: bool) -> bool {
    const SINGULAR: &str = " died dies exists failed fails fell hurts kills lies matters pays rocks rules sells sucks talks wins won works ";
    const PLURAL: &str = " died exist fail failed fell harm hurt kill lie matter need pay rock suck win won work ";
    match is_plural {
        true => has(PLURAL, word) || is_verb(word) && !is_also_noun(word),
        false => has(SINGULAR, word),
    }
}

/// Returns true for a stative verb.
pub(super) fn is_stative(verb: &str) -> bool {
    has(" belong cost deserve exist have know live matter mean own remain ", verb)
}

/// Returns true if a line has words that only other languages have.
pub(super) fn is_foreign(words: &[&str]) -> bool {
    const WORDS: &str = " der das und ist sind soll sollte sollten nicht wie warum wer wir ein eine für auf mehr brauchen les \
    une est faut doit devrait nous vous pourquoi que las una es por para della gli il che het een moet moeten zijn ";
    // These also occur in names that are common in English.
    const SHARED: &str = " le la el los de del di du da al en den dem ";
    let parts = || words.iter().flat_map(|word| word.split('-'));
    parts().any(|word| has(WORDS, word)) || parts().filter(|word| has(SHARED, word)).count() > 1
}

/// Returns true for a form such as `buys` of a known verb.
pub(super) fn is_third_person(word: &str) -> bool {
    let word = word.to_lowercase();
    // Plurals of nouns that are also verbs prove nothing.
    const NOUNS: &str = " taxes works trades changes costs uses needs plays fights limits votes values studies strikes \
    shares reforms rules runs returns rewards demands hosts hunts influences controls funds fires fears benefits \
    drinks drives drops ends calls charges damages deals cures covers cuts counts breaks apples trains travels \
    treats wants watches wins waits loves lies hates focuses forces experiences arms bombs bans beats mines prints \
    shops starts stops supports talks trusts aims moves offers ";
    !has(NOUNS, &word) && may_be_third_person(&word)
}

/// Returns true for a form such as `buys` or `taxes`, which may also be a noun.
pub(super) fn may_be_third_person(word: &str) -> bool {
    verbs_like(word).any(|verb| third_person(verb) == word)
}

/// Converts `buy` to `buys`.
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

/// Converts `ban` to `banning`.
pub(super) fn gerund(verb: &str) -> String {
    const DOUBLE: &str = " ban begin bet cut drop forbid forget get let put quit run set shop shut split stop win \
    control permit admit expel rob sit swim skip submit deter commit ";
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

/// Converts `banned` to `banning`; `None` if the word is not a participle.
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
}
