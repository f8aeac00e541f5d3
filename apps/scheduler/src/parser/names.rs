//! Who and what is named: members, groups of them, things, and names that nobody knows.

use superstep::core::suggest::nearest;

use super::pattern::is_near;
use super::reader::Reader;
use super::token::{Kind, Token, fold, tokens};
use super::{Part, UnknownName};
use crate::calendar::{Board, Role};

/// Somebody or something that is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mention {
    /// Who or what.
    pub(super) ids: Vec<String>,
    /// Whether it is somebody.
    pub(super) is_person: bool,
    /// Whether it is who speaks, who is in every other sentence.
    pub(super) is_speaker: bool,
    /// Where, in tokens.
    pub(super) place: (usize, usize),
    /// What may be meant in two ways.
    pub(super) doubt: Option<String>,
}

/// All that is named.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Names {
    pub(super) mentions: Vec<Mention>,
    pub(super) unknown: Vec<UnknownName>,
}

impl Names {
    /// Ids of people or of things, each once, in the order they were named.
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

/// A name as it may be said.
struct Name {
    words: Vec<String>,
    whom: Whom,
}

#[derive(Clone, PartialEq)]
enum Whom {
    Member(String),
    Thing(String),
    Everyone,
    Of(Role),
    Speaker,
    Us,
}

/// Finds all names and marks those that are no part of a title as read.
pub(super) fn names(reader: &mut Reader<'_>, board: &Board, speaker: &str, is_question: bool) -> Names {
    let known = known(reader, board);
    let mut found = Names::default();
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
        } else if matches!(whom[0], Whom::Speaker | Whom::Us) {
            reader.tokens[at].read_as = Some(Part::Filler);
        }
        at = end;
    }
    found.unknown = unknown(reader, board, &found, is_question);
    found
}

fn known(reader: &Reader<'_>, board: &Board) -> Vec<Name> {
    let words = |text: &str| tokens(text).into_iter().map(|token| token.lower).collect::<Vec<_>>();
    let mut known = Vec::new();
    for member in board.members.values() {
        let names = std::iter::once(&member.name).chain(&member.aliases);
        known.extend(names.map(|name| Name { words: words(name), whom: Whom::Member(member.id.clone()) }));
    }
    for resource in board.resources.values() {
        let names = std::iter::once(&resource.name).chain(&resource.aliases);
        known.extend(names.map(|name| Name { words: words(name), whom: Whom::Thing(resource.id.clone()) }));
    }
    let lists = reader.language.words;
    let groups = [
        (lists.everyone, Whom::Everyone),
        (lists.kids, Whom::Of(Role::Child)),
        (lists.parents, Whom::Of(Role::Parent)),
        (lists.me, Whom::Speaker),
        (lists.we, Whom::Us),
    ];
    for (list, whom) in groups {
        known.extend(list.iter().map(|name| Name { words: words(name), whom: whom.clone() }));
    }
    known
}

/// Who the longest name at a token may be, and where it ends.
fn name_at(reader: &Reader<'_>, known: &[Name], at: usize) -> Option<(Vec<Whom>, usize)> {
    let fits = |name: &&Name| {
        let there = reader.tokens.get(at..at + name.words.len());
        there.is_some_and(|there| there.iter().zip(&name.words).all(|(token, word)| is_it(token, word)))
    };
    let longest = known.iter().filter(fits).map(|name| name.words.len()).max().filter(|length| *length > 0)?;
    let mut whom: Vec<Whom> = Vec::new();
    for name in known.iter().filter(fits).filter(|name| name.words.len() == longest) {
        // `Mama` and `Mamá` are one.
        if !whom.contains(&name.whom) {
            whom.push(name.whom.clone());
        }
    }
    Some((whom, at + longest))
}

fn is_it(token: &Token, word: &str) -> bool {
    // `Emmas` is an owner too, in German and in haste.
    let is_owned = || token.lower.strip_suffix('s').is_some_and(|owner| owner == word) && word.len() > 3;
    token.is_left() && (token.lower == word || (is_owned() && token.kind == Kind::Word))
}

fn mention(board: &Board, speaker: &str, whom: &[Whom], place: (usize, usize)) -> Mention {
    let everyone = || board.members.keys().cloned().collect::<Vec<_>>();
    let of = |role: Role| {
        let members = board.members.values().filter(move |member| member.role == role);
        members.map(|member| member.id.clone()).collect::<Vec<_>>()
    };
    let (is_speaker, is_person) = (matches!(whom[0], Whom::Speaker), !matches!(whom[0], Whom::Thing(_)));
    let ids = match &whom[0] {
        Whom::Member(id) | Whom::Thing(id) => vec![id.clone()],
        Whom::Everyone | Whom::Us => everyone(),
        Whom::Of(role) => of(*role),
        Whom::Speaker => vec![speaker.to_owned()],
    };
    // Two members may share a name; then nobody is meant until asked.
    let named = |whom: &Whom| match whom {
        Whom::Member(id) => board.members.get(id).map(|member| member.name.clone()),
        Whom::Thing(id) => board.resources.get(id).map(|resource| resource.name.clone()),
        _ => None,
    };
    let several: Vec<String> = whom.iter().filter_map(named).collect();
    let doubt = (several.len() > 1).then(|| format!("Which one is meant: {}?", several.join(" or ")));
    Mention { ids: if doubt.is_some() { Vec::new() } else { ids }, is_person, is_speaker, place, doubt }
}

/// Whether the words really name somebody: not in `show me`, `can we move`, `Sarah's mom`.
fn is_named(reader: &Reader<'_>, at: usize, whom: &[Whom], is_question: bool) -> bool {
    let lists = reader.language.words;
    let Some(before) = at.checked_sub(1).and_then(|at| reader.tokens.get(at)) else { return true };
    match whom[0] {
        Whom::Speaker | Whom::Us if before.is_in(lists.telling) => false,
        Whom::Speaker | Whom::Us if before.is_in(lists.polite) => is_question,
        Whom::Member(_) => !(before.is_owner && before.read_as.is_none() && before.is_capital && at > 1),
        _ => true,
    }
}

/// Marks a name as read, with the words that lead to it, unless it is a part of the title: `pick up Emma`, `car wash`.
fn mark(reader: &mut Reader<'_>, mention: &Mention, whom: &[Whom]) {
    let lists = reader.language.words;
    let (mut from, to) = mention.place;
    let leads = if mention.is_person { lists.before_people } else { lists.before_things };
    let is_before = |reader: &Reader<'_>, from: usize, list: &[&str]| {
        from > 0 && reader.tokens[from - 1].read_as.is_none() && reader.tokens[from - 1].is_in(list)
    };
    let is_owner = reader.tokens[to - 1].is_owner || matches!(whom[0], Whom::Speaker);
    let mut is_led = false;
    const MY: [&str; 9] = ["my", "mein", "meine", "meinen", "meinem", "meiner", "mi", "mis", "mine"];
    if reader.tokens[from].is_in(&MY) {
        reader.tokens[from].read_as = Some(Part::Person);
        return;
    }
    for list in [lists.the, leads] {
        if is_before(reader, from, list) {
            from -= 1;
            is_led = true;
        }
    }
    // `a meeting with Emma's teacher` is not with Emma.
    if mention.is_person && is_led && reader.tokens[to - 1].is_owner && from > 0 && reader.tokens[from].is_in(leads) {
        return;
    }
    let is_first =
        mention.is_person && reader.tokens[..from].iter().all(|token| !token.is_left() || token.is_in(lists.stops));
    let is_group = !matches!(whom[0], Whom::Member(_) | Whom::Thing(_));
    if is_led || is_first || is_owner || is_group {
        let part = if mention.is_person { Part::Person } else { Part::Resource };
        reader.tokens[from..to].iter_mut().for_each(|token| token.read_as = Some(part));
    }
}

/// Names after `for` and `with` that nobody has, and things that the family does not share.
fn unknown(reader: &Reader<'_>, board: &Board, names: &Names, is_question: bool) -> Vec<UnknownName> {
    let lists = reader.language.words;
    let asks_who = is_question && reader.tokens.iter().any(|token| token.is_in(lists.availability));
    let mut found: Vec<UnknownName> = Vec::new();
    for (at, token) in reader.tokens.iter().enumerate().skip(1) {
        let is_mention = names.mentions.iter().any(|mention| (mention.place.0..mention.place.1).contains(&at));
        if !token.is_left() || token.kind != Kind::Word || is_mention || token.is_owner {
            continue;
        }
        let before = &reader.tokens[at - 1];
        let is_led = is_lead(reader, at - 1) || (asks_who && before.is_in(lists.openers));
        let lead =
            if before.is_in(lists.the) { at.checked_sub(2).map_or(before, |at| &reader.tokens[at]) } else { before };
        let is_thing_led = lead.is_in(lists.before_things) || lead.read_as == Some(Part::Intent);
        let near = near(board, &token.lower, true);
        let text = reader.text[token.place.0..token.place.1].to_owned();
        // German writes every noun with a capital letter.
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

/// Whether a name comes next. After `and` only where one came before: `arts and crafts`.
fn is_lead(reader: &Reader<'_>, at: usize) -> bool {
    let (token, lists) = (&reader.tokens[at], reader.language.words);
    let before = at.checked_sub(1).and_then(|before| reader.tokens.get(before));
    let is_list = || before.is_some_and(|before| before.read_as == Some(Part::Person));
    let is_word = token.is_in(lists.before_people)
        && token.kind == Kind::Word
        && !matches!(token.lower.as_str(), "to" | "a" | "de");
    is_word && (!token.is_in(lists.ands) || is_list())
}

fn is_like_member(board: &Board, token: &Token) -> bool {
    let mut names = board.members.values().flat_map(|member| std::iter::once(&member.name).chain(&member.aliases));
    token.lower.len() >= 3 && names.any(|name| is_like(&token.lower, name))
}

fn is_like_thing(board: &Board, token: &Token) -> bool {
    let mut names = board.resources.values().flat_map(|one| std::iter::once(&one.name).chain(&one.aliases));
    token.lower.len() >= 4 && names.any(|name| name.len() >= 5 && is_like(&token.lower, name))
}

fn is_like(word: &str, name: &str) -> bool {
    let name = fold(name);
    word.chars().next() == name.chars().next() && is_near(word, &name)
}

/// The members or things whose name is nearest.
pub(super) fn near(board: &Board, word: &str, is_person: bool) -> Vec<String> {
    let names: Vec<(String, String)> = match is_person {
        true => board.members.values().map(|member| (fold(&member.name), member.id.clone())).collect(),
        false => board.resources.values().map(|resource| (fold(&resource.name), resource.id.clone())).collect(),
    };
    let best = nearest(word, names.iter().map(|(name, _)| name.as_str()));
    names.iter().filter(|(name, _)| Some(name.as_str()) == best).map(|(_, id)| id.clone()).collect()
}
