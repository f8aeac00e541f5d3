//! Finds names in a sentence: members, groups of members, resources, and unknown names.

use superstep::core::suggest::nearest;

use super::phrase_pattern::is_near;
use super::phrase_reader::PhraseReader;
use super::token::{Token, TokenKind, fold, tokens};
use super::{SpanKind, UnknownName};
use crate::calendar::{CalendarSnapshot, MemberRole};

/// A named member, group or resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mention {
    /// Ids of the members or resources.
    pub(super) ids: Vec<String>,
    /// True for members, false for resources.
    pub(super) is_person: bool,
    /// True for the speaker, who occurs in many sentences.
    pub(super) is_speaker: bool,
    /// Token range.
    pub(super) token_range: (usize, usize),
    /// Question if the name is ambiguous.
    pub(super) question: Option<String>,
}

/// All names of a sentence.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct NameMentions {
    pub(super) mentions: Vec<Mention>,
    pub(super) unknown: Vec<UnknownName>,
}

impl NameMentions {
    /// Returns the ids of members or of resources, without duplicates, in order of occurrence.
    pub(super) fn ids(&self, is_person: bool) -> Vec<String> {
        let mut ids: Vec<String> = Vec::new();
        for id in self.mentions.iter().filter(|mention| mention.is_person == is_person).flat_map(|mention| &mention.ids)
        {
            if !ids.contains(id) {
                ids.push(id.clone());
            }
        }
        ids
    }
}

/// A known name or alias.
struct KnownName {
    words: Vec<String>,
    target: NameTarget,
}

#[derive(Clone, PartialEq)]
enum NameTarget {
    Member(String),
    Resource(String),
    Everyone,
    Of(MemberRole),
    Speaker,
    Us,
}

/// Finds all names and marks those that are not part of the title as matched.
pub(super) fn find_mentions(
    reader: &mut PhraseReader<'_>,
    snapshot: &CalendarSnapshot,
    speaker: &str,
    is_question: bool,
) -> NameMentions {
    let known_names = collect_known_names(reader, snapshot);
    let mut name_mentions = NameMentions::default();
    let mut index = 0;
    while index < reader.tokens.len() {
        let Some((targets, end)) = name_at(reader, &known_names, index) else {
            index += 1;
            continue;
        };
        let mention = mention(snapshot, speaker, &targets, (index, end));
        if is_named(reader, index, &targets, is_question) {
            mark_matched(reader, &mention, &targets);
            name_mentions.mentions.push(mention);
        } else if matches!(targets[0], NameTarget::Speaker | NameTarget::Us) {
            reader.tokens[index].matched_as = Some(SpanKind::Filler);
        }
        index = end;
    }
    name_mentions.unknown = find_unknown(reader, snapshot, &name_mentions, is_question);
    name_mentions
}

fn collect_known_names(reader: &PhraseReader<'_>, snapshot: &CalendarSnapshot) -> Vec<KnownName> {
    let words = |text: &str| tokens(text).into_iter().map(|token| token.lower).collect::<Vec<_>>();
    let mut known_names = Vec::new();
    for member in snapshot.members.values() {
        let names = std::iter::once(&member.name).chain(&member.aliases);
        known_names
            .extend(names.map(|name| KnownName { words: words(name), target: NameTarget::Member(member.id.clone()) }));
    }
    for resource in snapshot.resources.values() {
        let names = std::iter::once(&resource.name).chain(&resource.aliases);
        known_names.extend(
            names.map(|name| KnownName { words: words(name), target: NameTarget::Resource(resource.id.clone()) }),
        );
    }
    let lists = reader.language.words;
    let groups = [
        (lists.everyone, NameTarget::Everyone),
        (lists.kids, NameTarget::Of(MemberRole::Child)),
        (lists.parents, NameTarget::Of(MemberRole::Parent)),
        (lists.me, NameTarget::Speaker),
        (lists.we, NameTarget::Us),
    ];
    for (list, target) in groups {
        known_names.extend(list.iter().map(|name| KnownName { words: words(name), target: target.clone() }));
    }
    known_names
}

/// Returns the possible targets of the longest name at a token, and the end of the name.
fn name_at(reader: &PhraseReader<'_>, known_names: &[KnownName], index: usize) -> Option<(Vec<NameTarget>, usize)> {
    let fits = |name: &&KnownName| {
        let tokens = reader.tokens.get(index..index + name.words.len());
        tokens.is_some_and(|tokens| tokens.iter().zip(&name.words).all(|(token, word)| matches_word(token, word)))
    };
    let longest = known_names.iter().filter(fits).map(|name| name.words.len()).max().filter(|length| *length > 0)?;
    let mut targets: Vec<NameTarget> = Vec::new();
    for name in known_names.iter().filter(fits).filter(|name| name.words.len() == longest) {
        // `Mama` and `Mamá` are the same target.
        if !targets.contains(&name.target) {
            targets.push(name.target.clone());
        }
    }
    Some((targets, index + longest))
}

fn matches_word(token: &Token, word: &str) -> bool {
    // `Emmas` is possessive in German, and a common typing error in English.
    let is_owned = || token.lower.strip_suffix('s').is_some_and(|owner| owner == word) && word.len() > 3;
    token.is_unmatched() && (token.lower == word || (is_owned() && token.kind == TokenKind::Word))
}

fn mention(snapshot: &CalendarSnapshot, speaker: &str, targets: &[NameTarget], token_range: (usize, usize)) -> Mention {
    let everyone = || snapshot.members.keys().cloned().collect::<Vec<_>>();
    let with_role = |role: MemberRole| {
        let members = snapshot.members.values().filter(move |member| member.role == role);
        members.map(|member| member.id.clone()).collect::<Vec<_>>()
    };
    let (is_speaker, is_person) =
        (matches!(targets[0], NameTarget::Speaker), !matches!(targets[0], NameTarget::Resource(_)));
    let ids = match &targets[0] {
        NameTarget::Member(id) | NameTarget::Resource(id) => vec![id.clone()],
        NameTarget::Everyone | NameTarget::Us => everyone(),
        NameTarget::Of(role) => with_role(*role),
        NameTarget::Speaker => vec![speaker.to_owned()],
    };
    // If members share a name, the mention has no ids until the user has answered.
    let display_name = |target: &NameTarget| match target {
        NameTarget::Member(id) => snapshot.members.get(id).map(|member| member.name.clone()),
        NameTarget::Resource(id) => snapshot.resources.get(id).map(|resource| resource.name.clone()),
        _ => None,
    };
    let several: Vec<String> = targets.iter().filter_map(display_name).collect();
    let question = (several.len() > 1).then(|| format!("Which one do you mean: {}?", several.join(" or ")));
    Mention { ids: if question.is_some() { Vec::new() } else { ids }, is_person, is_speaker, token_range, question }
}

/// Returns true if a word really names a participant: not in `show me`, `can we move`, `Sarah's mom`.
fn is_named(reader: &PhraseReader<'_>, index: usize, targets: &[NameTarget], is_question: bool) -> bool {
    let lists = reader.language.words;
    let Some(before) = index.checked_sub(1).and_then(|index| reader.tokens.get(index)) else { return true };
    match targets[0] {
        NameTarget::Speaker | NameTarget::Us if before.is_in(lists.show_verbs) => false,
        NameTarget::Speaker | NameTarget::Us if before.is_in(lists.polite) => is_question,
        NameTarget::Member(_) => !(before.is_owner && before.matched_as.is_none() && before.is_capital && index > 1),
        _ => true,
    }
}

/// Marks a name and the words before it as matched, unless the name is part of the title: `pick up Emma`, `car
/// wash`.
fn mark_matched(reader: &mut PhraseReader<'_>, mention: &Mention, targets: &[NameTarget]) {
    let lists = reader.language.words;
    let (mut from, to) = mention.token_range;
    let lead_words = if mention.is_person { lists.before_people } else { lists.before_resources };
    let is_before = |reader: &PhraseReader<'_>, from: usize, list: &[&str]| {
        from > 0 && reader.tokens[from - 1].matched_as.is_none() && reader.tokens[from - 1].is_in(list)
    };
    let is_owner = reader.tokens[to - 1].is_owner || matches!(targets[0], NameTarget::Speaker);
    let mut is_led = false;
    const POSSESSIVES: [&str; 9] = ["my", "mein", "meine", "meinen", "meinem", "meiner", "mi", "mis", "mine"];
    if reader.tokens[from].is_in(&POSSESSIVES) {
        reader.tokens[from].matched_as = Some(SpanKind::Person);
        return;
    }
    for list in [lists.the, lead_words] {
        if is_before(reader, from, list) {
            from -= 1;
            is_led = true;
        }
    }
    // `a meeting with Emma's teacher` does not include Emma.
    if mention.is_person
        && is_led
        && reader.tokens[to - 1].is_owner
        && from > 0
        && reader.tokens[from].is_in(lead_words)
    {
        return;
    }
    let is_first = mention.is_person
        && reader.tokens[..from].iter().all(|token| !token.is_unmatched() || token.is_in(lists.stops));
    let is_group = !matches!(targets[0], NameTarget::Member(_) | NameTarget::Resource(_));
    if is_led || is_first || is_owner || is_group {
        let part = if mention.is_person { SpanKind::Person } else { SpanKind::Resource };
        reader.tokens[from..to].iter_mut().for_each(|token| token.matched_as = Some(part));
    }
}

/// Returns unknown names after `for` and `with`, and resources that the family does not have.
fn find_unknown(
    reader: &PhraseReader<'_>,
    snapshot: &CalendarSnapshot,
    names: &NameMentions,
    is_question: bool,
) -> Vec<UnknownName> {
    let lists = reader.language.words;
    let asks_who = is_question && reader.tokens.iter().any(|token| token.is_in(lists.availability));
    let mut unknown_names: Vec<UnknownName> = Vec::new();
    for (index, token) in reader.tokens.iter().enumerate().skip(1) {
        let is_mention =
            names.mentions.iter().any(|mention| (mention.token_range.0..mention.token_range.1).contains(&index));
        if !token.is_unmatched() || token.kind != TokenKind::Word || is_mention || token.is_owner {
            continue;
        }
        let before = &reader.tokens[index - 1];
        let is_led = is_lead(reader, index - 1) || (asks_who && before.is_in(lists.openers));
        let lead = if before.is_in(lists.the) {
            index.checked_sub(2).map_or(before, |index| &reader.tokens[index])
        } else {
            before
        };
        let is_resource_led = lead.is_in(lists.before_resources) || lead.matched_as == Some(SpanKind::Intent);
        let near = near(snapshot, &token.lower, true);
        let text = reader.text[token.byte_range.0..token.byte_range.1].to_owned();
        // Capital letters are no sign of a name in German, where all nouns have them.
        let is_name =
            token.is_capital && lists.name != "German" && !reader.language.vocabulary.contains(token.lower.as_str());
        if is_led && !token.is_in(lists.outsiders) && (is_name || is_like_member(snapshot, token)) {
            unknown_names.push(UnknownName { text, near, is_resource_like: false });
        } else if is_resource_led && (token.is_in(lists.shared_resources) || is_like_resource(snapshot, token)) {
            let near = self::near(snapshot, &token.lower, false);
            unknown_names.push(UnknownName { text, near, is_resource_like: true });
        }
    }
    unknown_names
}

/// Returns true if a name may follow the token. After `and` only if a name precedes: `arts and crafts`.
fn is_lead(reader: &PhraseReader<'_>, index: usize) -> bool {
    let (token, lists) = (&reader.tokens[index], reader.language.words);
    let before = index.checked_sub(1).and_then(|before| reader.tokens.get(before));
    let is_list = || before.is_some_and(|before| before.matched_as == Some(SpanKind::Person));
    let is_word = token.is_in(lists.before_people)
        && token.kind == TokenKind::Word
        && !matches!(token.lower.as_str(), "to" | "a" | "de");
    is_word && (!token.is_in(lists.ands) || is_list())
}

fn is_like_member(snapshot: &CalendarSnapshot, token: &Token) -> bool {
    let mut names = snapshot.members.values().flat_map(|member| std::iter::once(&member.name).chain(&member.aliases));
    token.lower.len() >= 3 && names.any(|name| is_like(&token.lower, name))
}

fn is_like_resource(snapshot: &CalendarSnapshot, token: &Token) -> bool {
    let mut names =
        snapshot.resources.values().flat_map(|resource| std::iter::once(&resource.name).chain(&resource.aliases));
    token.lower.len() >= 4 && names.any(|name| name.len() >= 5 && is_like(&token.lower, name))
}

fn is_like(word: &str, name: &str) -> bool {
    let name = fold(name);
    word.chars().next() == name.chars().next() && is_near(word, &name)
}

/// Returns the ids of the members or resources with the most similar name.
pub(super) fn near(snapshot: &CalendarSnapshot, word: &str, is_person: bool) -> Vec<String> {
    let names: Vec<(String, String)> = match is_person {
        true => snapshot.members.values().map(|member| (fold(&member.name), member.id.clone())).collect(),
        false => snapshot.resources.values().map(|resource| (fold(&resource.name), resource.id.clone())).collect(),
    };
    let best = nearest(word, names.iter().map(|(name, _)| name.as_str()));
    names.iter().filter(|(name, _)| Some(name.as_str()) == best).map(|(_, id)| id.clone()).collect()
}
