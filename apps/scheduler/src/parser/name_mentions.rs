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
    pub(super) place: (usize, usize),
    /// Question if the name is ambiguous.
    pub(super) doubt: Option<String>,
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
    whom: NameTarget,
}

#[derive(Clone, PartialEq)]
enum NameTarget {
    Member(String),
    Thing(String),
    Everyone,
    Of(MemberRole),
    Speaker,
    Us,
}

/// Finds all names and marks those that are not part of the title as matched.
pub(super) fn find_mentions(
    reader: &mut PhraseReader<'_>,
    board: &CalendarSnapshot,
    speaker: &str,
    is_question: bool,
) -> NameMentions {
    let known = known(reader, board);
    let mut found = NameMentions::default();
    let mut at = 0;
    while at < reader.tokens.len() {
        let Some((whom, end)) = name_at(reader, &known, at) else {
            at += 1;
            continue;
        };
        let mention = mention(board, speaker, &whom, (at, end));
        if is_named(reader, at, &whom, is_question) {
            mark(reader, &mention, &whom);
            found.mentions.push(mention);
        } else if matches!(whom[0], NameTarget::Speaker | NameTarget::Us) {
            reader.tokens[at].read_as = Some(SpanKind::Filler);
        }
        at = end;
    }
    found.unknown = unknown(reader, board, &found, is_question);
    found
}

fn known(reader: &PhraseReader<'_>, board: &CalendarSnapshot) -> Vec<KnownName> {
    let words = |text: &str| tokens(text).into_iter().map(|token| token.lower).collect::<Vec<_>>();
    let mut known = Vec::new();
    for member in board.members.values() {
        let names = std::iter::once(&member.name).chain(&member.aliases);
        known.extend(names.map(|name| KnownName { words: words(name), whom: NameTarget::Member(member.id.clone()) }));
    }
    for resource in board.resources.values() {
        let names = std::iter::once(&resource.name).chain(&resource.aliases);
        known.extend(names.map(|name| KnownName { words: words(name), whom: NameTarget::Thing(resource.id.clone()) }));
    }
    let lists = reader.language.words;
    let groups = [
        (lists.everyone, NameTarget::Everyone),
        (lists.kids, NameTarget::Of(MemberRole::Child)),
        (lists.parents, NameTarget::Of(MemberRole::Parent)),
        (lists.me, NameTarget::Speaker),
        (lists.we, NameTarget::Us),
    ];
    for (list, whom) in groups {
        known.extend(list.iter().map(|name| KnownName { words: words(name), whom: whom.clone() }));
    }
    known
}

/// Returns the possible targets of the longest name at a token, and the end of the name.
fn name_at(reader: &PhraseReader<'_>, known: &[KnownName], at: usize) -> Option<(Vec<NameTarget>, usize)> {
    let fits = |name: &&KnownName| {
        let there = reader.tokens.get(at..at + name.words.len());
        there.is_some_and(|there| there.iter().zip(&name.words).all(|(token, word)| is_it(token, word)))
    };
    let longest = known.iter().filter(fits).map(|name| name.words.len()).max().filter(|length| *length > 0)?;
    let mut whom: Vec<NameTarget> = Vec::new();
    for name in known.iter().filter(fits).filter(|name| name.words.len() == longest) {
        // `Mama` and `Mamá` are the same target.
        if !whom.contains(&name.whom) {
            whom.push(name.whom.clone());
        }
    }
    Some((whom, at + longest))
}

fn is_it(token: &Token, word: &str) -> bool {
    // `Emmas` is possessive in German, and a common typing error in English.
    let is_owned = || token.lower.strip_suffix('s').is_some_and(|owner| owner == word) && word.len() > 3;
    token.is_left() && (token.lower == word || (is_owned() && token.kind == TokenKind::Word))
}

fn mention(board: &CalendarSnapshot, speaker: &str, whom: &[NameTarget], place: (usize, usize)) -> Mention {
    let everyone = || board.members.keys().cloned().collect::<Vec<_>>();
    let of = |role: MemberRole| {
        let members = board.members.values().filter(move |member| member.role == role);
        members.map(|member| member.id.clone()).collect::<Vec<_>>()
    };
    let (is_speaker, is_person) = (matches!(whom[0], NameTarget::Speaker), !matches!(whom[0], NameTarget::Thing(_)));
    let ids = match &whom[0] {
        NameTarget::Member(id) | NameTarget::Thing(id) => vec![id.clone()],
        NameTarget::Everyone | NameTarget::Us => everyone(),
        NameTarget::Of(role) => of(*role),
        NameTarget::Speaker => vec![speaker.to_owned()],
    };
    // If members share a name, the mention has no ids until the family has answered.
    let named = |whom: &NameTarget| match whom {
        NameTarget::Member(id) => board.members.get(id).map(|member| member.name.clone()),
        NameTarget::Thing(id) => board.resources.get(id).map(|resource| resource.name.clone()),
        _ => None,
    };
    let several: Vec<String> = whom.iter().filter_map(named).collect();
    let doubt = (several.len() > 1).then(|| format!("Which one is meant: {}?", several.join(" or ")));
    Mention { ids: if doubt.is_some() { Vec::new() } else { ids }, is_person, is_speaker, place, doubt }
}

/// True if a word really names a participant: not in `show me`, `can we move`, `Sarah's mom`.
fn is_named(reader: &PhraseReader<'_>, at: usize, whom: &[NameTarget], is_question: bool) -> bool {
    let lists = reader.language.words;
    let Some(before) = at.checked_sub(1).and_then(|at| reader.tokens.get(at)) else { return true };
    match whom[0] {
        NameTarget::Speaker | NameTarget::Us if before.is_in(lists.telling) => false,
        NameTarget::Speaker | NameTarget::Us if before.is_in(lists.polite) => is_question,
        NameTarget::Member(_) => !(before.is_owner && before.read_as.is_none() && before.is_capital && at > 1),
        _ => true,
    }
}

/// Marks a name and the words before it as matched, unless the name is part of the title: `pick up Emma`, `car
/// wash`.
fn mark(reader: &mut PhraseReader<'_>, mention: &Mention, whom: &[NameTarget]) {
    let lists = reader.language.words;
    let (mut from, to) = mention.place;
    let leads = if mention.is_person { lists.before_people } else { lists.before_things };
    let is_before = |reader: &PhraseReader<'_>, from: usize, list: &[&str]| {
        from > 0 && reader.tokens[from - 1].read_as.is_none() && reader.tokens[from - 1].is_in(list)
    };
    let is_owner = reader.tokens[to - 1].is_owner || matches!(whom[0], NameTarget::Speaker);
    let mut is_led = false;
    const MY: [&str; 9] = ["my", "mein", "meine", "meinen", "meinem", "meiner", "mi", "mis", "mine"];
    if reader.tokens[from].is_in(&MY) {
        reader.tokens[from].read_as = Some(SpanKind::Person);
        return;
    }
    for list in [lists.the, leads] {
        if is_before(reader, from, list) {
            from -= 1;
            is_led = true;
        }
    }
    // `a meeting with Emma's teacher` does not include Emma.
    if mention.is_person && is_led && reader.tokens[to - 1].is_owner && from > 0 && reader.tokens[from].is_in(leads) {
        return;
    }
    let is_first =
        mention.is_person && reader.tokens[..from].iter().all(|token| !token.is_left() || token.is_in(lists.stops));
    let is_group = !matches!(whom[0], NameTarget::Member(_) | NameTarget::Thing(_));
    if is_led || is_first || is_owner || is_group {
        let part = if mention.is_person { SpanKind::Person } else { SpanKind::Resource };
        reader.tokens[from..to].iter_mut().for_each(|token| token.read_as = Some(part));
    }
}

/// Returns unknown names after `for` and `with`, and resources that the family does not have.
fn unknown(
    reader: &PhraseReader<'_>,
    board: &CalendarSnapshot,
    names: &NameMentions,
    is_question: bool,
) -> Vec<UnknownName> {
    let lists = reader.language.words;
    let asks_who = is_question && reader.tokens.iter().any(|token| token.is_in(lists.availability));
    let mut found: Vec<UnknownName> = Vec::new();
    for (at, token) in reader.tokens.iter().enumerate().skip(1) {
        let is_mention = names.mentions.iter().any(|mention| (mention.place.0..mention.place.1).contains(&at));
        if !token.is_left() || token.kind != TokenKind::Word || is_mention || token.is_owner {
            continue;
        }
        let before = &reader.tokens[at - 1];
        let is_led = is_lead(reader, at - 1) || (asks_who && before.is_in(lists.openers));
        let lead =
            if before.is_in(lists.the) { at.checked_sub(2).map_or(before, |at| &reader.tokens[at]) } else { before };
        let is_thing_led = lead.is_in(lists.before_things) || lead.read_as == Some(SpanKind::Intent);
        let near = near(board, &token.lower, true);
        let text = reader.text[token.place.0..token.place.1].to_owned();
        // Capital letters are no sign of a name in German, where all nouns have them.
        let is_name =
            token.is_capital && lists.name != "German" && !reader.language.known.contains(token.lower.as_str());
        if is_led && !token.is_in(lists.outsiders) && (is_name || is_like_member(board, token)) {
            found.push(UnknownName { text, near, is_resource_like: false });
        } else if is_thing_led && (token.is_in(lists.things) || is_like_thing(board, token)) {
            let near = self::near(board, &token.lower, false);
            found.push(UnknownName { text, near, is_resource_like: true });
        }
    }
    found
}

/// True if a name may follow the token. After `and` only if a name precedes: `arts and crafts`.
fn is_lead(reader: &PhraseReader<'_>, at: usize) -> bool {
    let (token, lists) = (&reader.tokens[at], reader.language.words);
    let before = at.checked_sub(1).and_then(|before| reader.tokens.get(before));
    let is_list = || before.is_some_and(|before| before.read_as == Some(SpanKind::Person));
    let is_word = token.is_in(lists.before_people)
        && token.kind == TokenKind::Word
        && !matches!(token.lower.as_str(), "to" | "a" | "de");
    is_word && (!token.is_in(lists.ands) || is_list())
}

fn is_like_member(board: &CalendarSnapshot, token: &Token) -> bool {
    let mut names = board.members.values().flat_map(|member| std::iter::once(&member.name).chain(&member.aliases));
    token.lower.len() >= 3 && names.any(|name| is_like(&token.lower, name))
}

fn is_like_thing(board: &CalendarSnapshot, token: &Token) -> bool {
    let mut names = board.resources.values().flat_map(|one| std::iter::once(&one.name).chain(&one.aliases));
    token.lower.len() >= 4 && names.any(|name| name.len() >= 5 && is_like(&token.lower, name))
}

fn is_like(word: &str, name: &str) -> bool {
    let name = fold(name);
    word.chars().next() == name.chars().next() && is_near(word, &name)
}

/// Returns the ids of the members or resources with the most similar name.
pub(super) fn near(board: &CalendarSnapshot, word: &str, is_person: bool) -> Vec<String> {
    let names: Vec<(String, String)> = match is_person {
        true => board.members.values().map(|member| (fold(&member.name), member.id.clone())).collect(),
        false => board.resources.values().map(|resource| (fold(&resource.name), resource.id.clone())).collect(),
    };
    let best = nearest(word, names.iter().map(|(name, _)| name.as_str()));
    names.iter().filter(|(name, _)| Some(name.as_str()) == best).map(|(_, id)| id.clone()).collect()
}
