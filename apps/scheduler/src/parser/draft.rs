//! From what was read to what it means: something new, a question, or a change.

use jiff::civil::DateTime;
use superstep::core::time::Time;

use super::change::{self, Changed};
use super::events::{Clue, by_whole_title, meant};
use super::hours::Hint;
use super::names::Mention;
use super::repeats::Repeat;
use super::said::Said;
use super::score::{self, Weights};
use super::sense::{Sense, Way};
use super::when::When;
use super::{Doubt, Edit, Found, Missing, Part, Reading, Understood, intent, titles, unread};
use crate::calendar::Span;
use crate::models::{EventType, NlParserData, QueryType};

/// What nothing means.
pub(super) fn nothing() -> Understood {
    let data = NlParserData {
        event_type: EventType::Create,
        title: None,
        start_time: None,
        end_time: None,
        participants: Vec::new(),
        resources: Vec::new(),
        recurrence_rule: None,
        priority: None,
        flexibility: None,
    };
    Understood {
        data,
        confidence: score::confidence(0),
        query: None,
        which: Vec::new(),
        instance: None,
        scope: None,
        edit: Edit::default(),
        within: None,
        minutes: None,
        is_all_day: false,
        missing: Vec::new(),
        doubts: Vec::new(),
        unknown: Vec::new(),
        problems: Vec::new(),
        is_about_clashes: false,
        either: Vec::new(),
        found: Vec::new(),
        reasoning: String::new(),
    }
}

/// What a sentence means.
pub(super) fn understood(mut reading: Reading<'_>) -> Understood {
    reading.edited = edited(&reading);
    if !reading.edited.is_empty() {
        reading.intent.wanted = EventType::Modify;
    }
    if reading.intent.wanted == EventType::Query {
        intent::read_fitting(&mut reading.reader);
    }
    let changed = match reading.intent.wanted {
        EventType::Modify => Some(change::modify(&reading)),
        EventType::Cancel => Some(change::cancel(&reading)),
        EventType::Create | EventType::Query => None,
    };
    match changed {
        // `Make pancakes`: nothing of that name is there to be changed.
        Some(changed) if reading.intent.way == Way::Weak && changed.which.is_empty() => {
            reading.intent.wanted = EventType::Create;
            reading.intent.is_negated |= reading.intent.is_weak_no();
            let verb = reading.intent.verb.clone();
            reading.reader.tokens[verb].iter_mut().for_each(|token| token.read_as = None);
            create(&reading)
        }
        Some(changed) => change_of(&reading, changed),
        None if reading.intent.wanted == EventType::Query => question(&reading),
        None => create(&reading),
    }
}

fn create(reading: &Reading<'_>) -> Understood {
    let said = Said::of(&reading.findings, reading.today());
    let mut when = reading.wall(hint(reading)).create(&said, Repeat::of(&reading.findings));
    let unread = unread::of_plan(&reading.reader, &reading.findings, (when.has_date, when.has_time));
    when.is_open |= unread.is_some();
    when.doubts.extend(unread);
    let span = landed(reading, &mut when);
    let title = titles::title(&reading.reader);
    let is_sound = when.problems.is_empty();
    let (has_date, has_time) = (when.has_date && is_sound, when.has_time && is_sound);
    // A plan with a day or a time needs no verb: `Piano every Tuesday`.
    // `Book club starts at half past six`: is it the one that is on the calendar?
    let day = Some(&said).filter(|_| when.has_date && when.rule.is_none());
    let is_new = reading.intent.is_said || reading.intent.is_negated || when.rule.is_some();
    let known = (!is_new).then(|| by_whole_title(&reading.reader, reading.request.board, &reading.wall(None), day));
    let known = known.flatten();
    // `Book the car for Dad` says what it is to who knows the car.
    let is_called = title.is_some() || !reading.names.ids(false).is_empty();
    let is_plan = is_called && (when.has_date || when.has_time) && !reading.intent.is_negated && known.is_none();
    let has_intent = reading.intent.is_said || is_plan;
    let mut weights = Weights::default();
    weights.add("intent", 15, has_intent);
    weights.add("title", 20, title.is_some() || (has_intent && is_called));
    weights.add("date", 15, has_date);
    // What is too doubtful was said, but not understood.
    weights.add("time", 15, has_time && !when.is_open);
    let mut understood = base(reading);
    let missing = [
        (Missing::Intent, has_intent),
        (Missing::Title, title.is_some()),
        (Missing::Date, has_date),
        (Missing::Time, has_time),
    ];
    understood.missing = missing.into_iter().filter(|(_, is_there)| !is_there).map(|(missing, _)| missing).collect();
    understood.data.title = title;
    understood.minutes = minutes(&said);
    if let Some(known) = &known {
        let question = format!("Is this a change of {}, or something new?", known.event.title);
        understood.doubts.push(Doubt::new(Part::Intent, question));
    }
    place(reading, &mut understood, when, span);
    finish(reading, understood, weights)
}

fn question(reading: &Reading<'_>) -> Understood {
    let said = Said::of(&reading.findings, reading.today());
    let mut when = reading.wall(hint(reading)).ask(&said);
    let span = landed(reading, &mut when);
    let has_thing =
        !reading.names.ids(false).is_empty() || reading.names.unknown.iter().any(|name| name.is_resource_like);
    let (query, is_kind_said) = intent::query(&reading.reader, &reading.intent, has_thing);
    let none = Said::default();
    let clue = Clue { words: &reading.reader.tokens, people: &[], said: &none, is_strict: false };
    let which = meant(&reading.reader, reading.request.board, &reading.wall(None), clue);
    let title = titles::title(&reading.reader);
    let is_about_clashes = which.is_empty()
        && title.is_none()
        && !when.has_time
        && !has_thing
        && intent::asks_for_clashes(&reading.reader);
    let is_about = !reading.names.mentions.is_empty() || !which.is_empty() || title.is_some() || is_about_clashes;
    let has_subject = when.problems.is_empty() && (when.span.is_some() || is_about);
    let mut weights = Weights::default();
    weights.add("intent", 15, reading.intent.is_said);
    weights.add("kind", 25, is_kind_said);
    weights.add("range or subject", 25, has_subject);
    let mut understood = base(reading);
    understood.query = Some(query);
    understood.is_about_clashes = is_about_clashes && query == QueryType::ConflictCheck;
    understood.which = which.iter().map(|meant| meant.event.id.clone()).collect();
    understood.data.title = match which.as_slice() {
        [one] => Some(one.event.title.clone()),
        _ => title.filter(|_| matches!(query, QueryType::EventLookup | QueryType::ConflictCheck)),
    };
    understood.missing.extend((!has_subject).then_some(Missing::Subject));
    if query == QueryType::ConflictCheck && understood.data.title.is_some() && !when.has_time {
        // `Does a haircut fit on Saturday?` asks for some time of the day, not for all of it.
        understood.within = span;
    }
    understood.minutes = minutes(&said);
    place(reading, &mut understood, When { is_vague: false, ..when }, span);
    finish(reading, understood, weights)
}

/// How long it is to be, if that was said.
fn minutes(said: &Said) -> Option<u32> {
    said.length.and_then(super::lengths::Length::as_minutes).and_then(|long| u32::try_from(long).ok())
}

fn change_of(reading: &Reading<'_>, mut changed: Changed) -> Understood {
    let edit = edit(reading, changed.title.clone());
    let span = changed.span.and_then(|span| lasting(reading, span, changed.length));
    if changed.span.is_some() && span.is_none() {
        changed.problems.push(NO_TIME.to_owned());
    }
    let titles: Vec<&str> = changed.which.iter().map(|one| one.event.title.as_str()).collect();
    if let Some(unread) =
        unread::of_change(&reading.reader, &reading.findings, &titles).filter(|_| reading.intent.way != Way::Rename)
    {
        let is_asked = changed.doubts.iter().any(|doubt| doubt.about == Part::Scope);
        changed.doubts.extend((!is_asked).then(|| Doubt::new(Part::Time, unread)));
        changed.is_open = true;
    }
    let matters = reading.findings.iter().any(|one| matches!(one.sense, Sense::Matters(_) | Sense::Moves(_)));
    let is_sound = changed.problems.is_empty();
    let has_change = (changed.has_change || edit != Edit::default() || matters) && is_sound;
    let mut weights = Weights::default();
    weights.add("intent", 15, reading.intent.is_said);
    weights.add("one matching event", 35, changed.is_matched);
    weights.add("what to change", 15, has_change && !changed.is_open);
    let mut understood = base(reading);
    let is_known = !changed.which.is_empty() && is_sound;
    let missing = [(Missing::Event, is_known), (Missing::Change, has_change)];
    understood.missing = missing.into_iter().filter(|(_, is_there)| !is_there).map(|(missing, _)| missing).collect();
    understood.data.title = match changed.which.as_slice() {
        [one] => Some(one.event.title.clone()),
        _ => titles::title(&reading.reader),
    };
    understood.data.title = edit.title.clone().or(understood.data.title);
    understood.data.recurrence_rule = changed.rule;
    understood.edit = edit;
    understood.scope = changed.scope;
    if changed.is_matched {
        understood.instance = changed.which[0].instance.and_then(|span| on_wall(reading, span));
    }
    understood.which = changed.which.iter().map(|meant| meant.event.id.clone()).collect();
    understood.either = changed.either.iter().filter_map(|span| on_wall(reading, *span)).collect();
    understood.within = changed.within.and_then(|span| on_wall(reading, span));
    if let Some(span) = span {
        (understood.data.start_time, understood.data.end_time) = (Some(span.start), Some(span.end));
    }
    understood.doubts.extend(changed.doubts);
    if is_sound && !has_change {
        // The event alone is no change, however sure it is which one is meant.
        understood.doubts.push(Doubt::new(Part::Change, "What shall be different?"));
    }
    understood.problems.extend(changed.problems);
    finish(reading, understood, weights)
}

/// People and things that come or leave: right after `add` or `remove`, and before the event.
fn edited(reading: &Reading<'_>) -> Vec<Mention> {
    let is_way = matches!(reading.intent.way, Way::Add | Way::Remove);
    let is_timed = !Said::of(&reading.findings, reading.today()).is_empty();
    if !is_way || is_timed {
        return Vec::new();
    }
    let (reader, lists) = (&reading.reader, reading.reader.language.words);
    let mut at = reading.intent.verb.end;
    let mut edited = Vec::new();
    loop {
        while reader.tokens.get(at).is_some_and(|token| token.is_in(lists.the) || token.is_in(lists.ands)) {
            at += 1;
        }
        let Some(mention) = reading.names.mentions.iter().find(|mention| mention.place.0 == at) else { break };
        if reader.tokens[mention.place.1 - 1].is_owner {
            return Vec::new();
        }
        at = mention.place.1;
        edited.push(mention.clone());
    }
    const BORDERS: [&str; 12] = ["to", "from", "on", "off", "out", "zu", "zum", "von", "a", "al", "de", "del"];
    let is_border = reader.tokens.get(at).is_some_and(|token| token.is_in(&BORDERS));
    let none = Said::default();
    let words = reader.tokens.get(at..).unwrap_or_default();
    let clue = Clue { words, people: &[], said: &none, is_strict: false };
    let has_event = || !meant(reader, reading.request.board, &reading.wall(None), clue).is_empty();
    if is_border && !edited.is_empty() && has_event() { edited } else { Vec::new() }
}

fn edit(reading: &Reading<'_>, title: Option<String>) -> Edit {
    let ids = |is_person: bool| {
        let mentions = reading.edited.iter().filter(|mention| mention.is_person == is_person);
        mentions.flat_map(|mention| mention.ids.clone()).collect::<Vec<_>>()
    };
    match reading.intent.way {
        Way::Remove => Edit { remove_people: ids(true), remove_resources: ids(false), title, ..Edit::default() },
        _ => Edit { add_people: ids(true), add_resources: ids(false), title, ..Edit::default() },
    }
}

/// What words such as `dinner` say about the half of the day.
fn hint(reading: &Reading<'_>) -> Option<Hint> {
    let lists = reading.reader.language.words;
    let ends = |list: &[&str]| {
        let tokens = &reading.reader.tokens;
        tokens.iter().any(|token| list.iter().any(|ending| token.is_left() && token.lower.ends_with(ending)))
    };
    match (ends(lists.morning), ends(lists.evening)) {
        (true, false) => Some(Hint::Morning),
        (false, true) => Some(Hint::Later),
        _ => None,
    }
}

/// What every sentence may say.
fn base(reading: &Reading<'_>) -> Understood {
    let mut understood = nothing();
    let data = &mut understood.data;
    data.event_type = reading.intent.wanted;
    data.participants = reading.names.ids(true);
    data.resources = reading.names.ids(false);
    for finding in &reading.findings {
        match finding.sense {
            Sense::Matters(priority) => data.priority = Some(priority),
            Sense::Moves(flexibility) => data.flexibility = Some(flexibility),
            _ => {}
        }
    }
    understood.unknown.clone_from(&reading.names.unknown);
    let doubts = reading.names.mentions.iter().filter_map(|mention| {
        let about = if mention.is_person { Part::Person } else { Part::Resource };
        Some(Doubt::new(about, mention.doubt.clone()?))
    });
    understood.doubts = doubts.collect();
    if reading.intent.is_negated {
        understood.doubts.push(Doubt::new(Part::Intent, "Is there anything to be done?"));
    } else if reading.intent.is_weak_no() {
        understood.doubts.push(Doubt::new(Part::Intent, "Is it to be cancelled?"));
    }
    understood
}

/// What is told of a time of which nothing is left, as where clocks skip it.
const NO_TIME: &str = "there is no such time on that day";

fn on_wall(reading: &Reading<'_>, (start, end): (DateTime, DateTime)) -> Option<Span> {
    Span::new(reading.zone.instant(start).ok()?, reading.zone.instant(end).ok()?)
}

/// The same, where how long it is was said: half an hour is one on any night. Days are those of the wall.
fn lasting(reading: &Reading<'_>, (start, end): (DateTime, DateTime), minutes: Option<i64>) -> Option<Span> {
    let Some(minutes) = minutes.filter(|minutes| *minutes < 24 * 60) else { return on_wall(reading, (start, end)) };
    let start = reading.zone.instant(start).ok()?;
    let end = Time::from_unix_micros(start.as_unix_micros().checked_add(minutes * 60_000_000)?).ok()?;
    Span::new(start, reading.zone.written(end).ok()?)
}

/// When it is, in the family's zone. That there is no such time is a problem.
fn landed(reading: &Reading<'_>, when: &mut When) -> Option<Span> {
    let span = lasting(reading, when.span?, when.length);
    if span.is_none() {
        when.problems.push(NO_TIME.to_owned());
    }
    span
}

fn place(reading: &Reading<'_>, understood: &mut Understood, when: When, span: Option<Span>) {
    understood.either = when.either.iter().filter_map(|span| on_wall(reading, *span)).collect();
    match span {
        Some(span) if when.is_vague => understood.within = Some(span),
        Some(span) => (understood.data.start_time, understood.data.end_time) = (Some(span.start), Some(span.end)),
        None => {}
    }
    understood.is_all_day = when.is_all_day;
    understood.data.recurrence_rule = when.rule;
    understood.doubts.extend(when.doubts.into_iter().map(|doubt| Doubt::new(Part::Time, doubt)));
    understood.problems.extend(when.problems);
}

fn finish(reading: &Reading<'_>, mut understood: Understood, weights: Weights) -> Understood {
    understood.found = found(reading, &understood);
    let (doubts, unknown) = (understood.doubts.len(), understood.unknown.len());
    understood.confidence = weights.confidence(doubts, unknown);
    let language = reading.reader.language.words.name;
    understood.reasoning = format!("{}, {language}: {}", super::LABEL, weights.written(doubts, unknown));
    understood
}

fn found(reading: &Reading<'_>, understood: &Understood) -> Vec<Found> {
    let text = |from: usize, to: usize| {
        let tokens = &reading.reader.tokens;
        let end = tokens[..to].last().map_or(0, |token| token.place.1);
        reading.request.text[tokens[from].place.0..end].to_owned()
    };
    let mut found = Vec::new();
    if !reading.intent.verb.is_empty() {
        let value = score::name(reading.intent.wanted).to_owned();
        found.push(Found { part: Part::Intent, text: text(reading.intent.verb.start, reading.intent.verb.end), value });
    }
    if let Some(title) = &understood.data.title {
        found.push(Found { part: Part::Title, text: title.clone(), value: title.clone() });
    }
    for finding in &reading.findings {
        let part = reading.reader.tokens[finding.from].read_as.unwrap_or(Part::Filler);
        if part == Part::Filler {
            continue;
        }
        let values: Vec<String> = finding.values.iter().filter_map(change::shown).collect();
        let value = match part {
            Part::Repeat => understood.data.recurrence_rule.clone().unwrap_or_default(),
            _ => values.join(" - "),
        };
        found.push(Found { part, text: text(finding.from, finding.to), value });
    }
    for mention in &reading.names.mentions {
        let part = if mention.is_person { Part::Person } else { Part::Resource };
        found.push(Found { part, text: text(mention.place.0, mention.place.1), value: mention.ids.join(", ") });
    }
    found
}
