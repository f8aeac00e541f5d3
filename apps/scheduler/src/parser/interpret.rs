//! Builds the parsed request from the matched phrases: a new event, a query or a change.

use jiff::civil::DateTime;
use superstep::core::time::Time;

use super::clock_time::DayHalfHint;
use super::confidence::{self, ConfidenceWeights};
use super::event_match::{EventClue, best_matches, exact_title_match};
use super::modify::{self, ModifyParse};
use super::name_mentions::Mention;
use super::phrase_meaning::{PhraseMeaning, VerbModifier};
use super::recurrence::RecurrencePhrase;
use super::resolve_time::ResolvedTime;
use super::time_expressions::TimeExpressions;
use super::{
    Ambiguity, EventEdit, MissingField, ParsedRequest, ParsedSpan, SentenceParse, SpanKind, intent, title,
    unparsed_time,
};
use crate::calendar::TimeRange;
use crate::models::{EventType, NlParserData, QueryType};

/// Returns an empty parsed request.
pub(super) fn empty() -> ParsedRequest {
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
    ParsedRequest {
        data,
        confidence: confidence::confidence(0),
        query: None,
        event_ids: Vec::new(),
        instance: None,
        scope: None,
        edit: EventEdit::default(),
        time_window: None,
        minutes: None,
        is_all_day: false,
        missing: Vec::new(),
        ambiguities: Vec::new(),
        unknown_names: Vec::new(),
        problems: Vec::new(),
        asks_existing_conflicts: false,
        time_options: Vec::new(),
        spans: Vec::new(),
        reasoning: String::new(),
    }
}

/// Builds the parsed request of a sentence.
pub(super) fn interpret(mut reading: SentenceParse<'_>) -> ParsedRequest {
    reading.edited = edited(&reading);
    if !reading.edited.is_empty() {
        reading.intent.wanted = EventType::Modify;
    }
    if reading.intent.wanted == EventType::Query {
        intent::consume_fit_words(&mut reading.reader);
    }
    let changed = match reading.intent.wanted {
        EventType::Modify => Some(modify::modify(&reading)),
        EventType::Cancel => Some(modify::cancel(&reading)),
        EventType::Create | EventType::Query => None,
    };
    match changed {
        // `Make pancakes`: no event matches, so the sentence describes a new event.
        Some(changed) if reading.intent.way == VerbModifier::Weak && changed.which.is_empty() => {
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

fn create(reading: &SentenceParse<'_>) -> ParsedRequest {
    let said = TimeExpressions::from_matches(&reading.findings, reading.today());
    let mut when = reading.wall(hint(reading)).create(&said, RecurrencePhrase::from_matches(&reading.findings));
    let unread = unparsed_time::for_new_event(&reading.reader, &reading.findings, (when.has_date, when.has_time));
    when.is_open |= unread.is_some();
    when.doubts.extend(unread);
    let span = to_time_range(reading, &mut when);
    let title = title::title(&reading.reader);
    let is_sound = when.problems.is_empty();
    let (has_date, has_time) = (when.has_date && is_sound, when.has_time && is_sound);
    // A new event with a day or a time needs no verb: `Piano every Tuesday`. `Book club starts at half past six`
    // may be about an existing event.
    let day = Some(&said).filter(|_| when.has_date && when.rule.is_none());
    let is_new = reading.intent.is_said || reading.intent.is_negated || when.rule.is_some();
    let known =
        (!is_new).then(|| exact_title_match(&reading.reader, reading.request.snapshot, &reading.wall(None), day));
    let known = known.flatten();
    // `Book the car for Dad` needs no title, because the resource identifies the event.
    let is_called = title.is_some() || !reading.names.ids(false).is_empty();
    let is_plan = is_called && (when.has_date || when.has_time) && !reading.intent.is_negated && known.is_none();
    let has_intent = reading.intent.is_said || is_plan;
    let mut weights = ConfidenceWeights::default();
    weights.add("intent", 15, has_intent);
    weights.add("title", 20, title.is_some() || (has_intent && is_called));
    weights.add("date", 15, has_date);
    // An ambiguous time was given, but does not count as understood.
    weights.add("time", 15, has_time && !when.is_open);
    let mut understood = base(reading);
    let missing = [
        (MissingField::Intent, has_intent),
        (MissingField::Title, title.is_some()),
        (MissingField::Date, has_date),
        (MissingField::Time, has_time),
    ];
    understood.missing = missing.into_iter().filter(|(_, is_there)| !is_there).map(|(missing, _)| missing).collect();
    understood.data.title = title;
    understood.minutes = minutes(&said);
    if let Some(known) = &known {
        let question = format!("Is this a change of {}, or something new?", known.event.title);
        understood.ambiguities.push(Ambiguity::new(SpanKind::Intent, question));
    }
    place(reading, &mut understood, when, span);
    finish(reading, understood, weights)
}

fn question(reading: &SentenceParse<'_>) -> ParsedRequest {
    let said = TimeExpressions::from_matches(&reading.findings, reading.today());
    let mut when = reading.wall(hint(reading)).resolve_query(&said);
    let span = to_time_range(reading, &mut when);
    let has_thing =
        !reading.names.ids(false).is_empty() || reading.names.unknown.iter().any(|name| name.is_resource_like);
    let (query, is_kind_said) = intent::query(&reading.reader, &reading.intent, has_thing);
    let none = TimeExpressions::default();
    let clue = EventClue { words: &reading.reader.tokens, people: &[], said: &none, is_strict: false };
    let which = best_matches(&reading.reader, reading.request.snapshot, &reading.wall(None), clue);
    let title = title::title(&reading.reader);
    let is_about_clashes = which.is_empty()
        && title.is_none()
        && !when.has_time
        && !has_thing
        && intent::asks_existing_conflicts(&reading.reader);
    let is_about = !reading.names.mentions.is_empty() || !which.is_empty() || title.is_some() || is_about_clashes;
    let has_subject = when.problems.is_empty() && (when.span.is_some() || is_about);
    let mut weights = ConfidenceWeights::default();
    weights.add("intent", 15, reading.intent.is_said);
    weights.add("kind", 25, is_kind_said);
    weights.add("range or subject", 25, has_subject);
    let mut understood = base(reading);
    understood.query = Some(query);
    understood.asks_existing_conflicts = is_about_clashes && query == QueryType::ConflictCheck;
    understood.event_ids = which.iter().map(|meant| meant.event.id.clone()).collect();
    understood.data.title = match which.as_slice() {
        [one] => Some(one.event.title.clone()),
        _ => title.filter(|_| matches!(query, QueryType::EventLookup | QueryType::ConflictCheck)),
    };
    understood.missing.extend((!has_subject).then_some(MissingField::Subject));
    if query == QueryType::ConflictCheck && understood.data.title.is_some() && !when.has_time {
        // `Does a haircut fit on Saturday?` asks for any time of the day, not for the whole day.
        understood.time_window = span;
    }
    understood.minutes = minutes(&said);
    place(reading, &mut understood, ResolvedTime { is_vague: false, ..when }, span);
    finish(reading, understood, weights)
}

/// Returns the given duration in minutes.
fn minutes(said: &TimeExpressions) -> Option<u32> {
    said.length.and_then(super::durations::SpokenDuration::as_minutes).and_then(|long| u32::try_from(long).ok())
}

fn change_of(reading: &SentenceParse<'_>, mut changed: ModifyParse) -> ParsedRequest {
    let edit = edit(reading, changed.title.clone());
    let span = changed.span.and_then(|span| lasting(reading, span, changed.length));
    if changed.span.is_some() && span.is_none() {
        changed.problems.push(NO_TIME.to_owned());
    }
    let titles: Vec<&str> = changed.which.iter().map(|one| one.event.title.as_str()).collect();
    if let Some(unread) = unparsed_time::for_modification(&reading.reader, &reading.findings, &titles)
        .filter(|_| reading.intent.way != VerbModifier::Rename)
    {
        let is_asked = changed.doubts.iter().any(|doubt| doubt.about == SpanKind::Scope);
        changed.doubts.extend((!is_asked).then(|| Ambiguity::new(SpanKind::Time, unread)));
        changed.is_open = true;
    }
    let matters =
        reading.findings.iter().any(|one| matches!(one.sense, PhraseMeaning::Matters(_) | PhraseMeaning::Moves(_)));
    let is_sound = changed.problems.is_empty();
    let has_change = (changed.has_change || edit != EventEdit::default() || matters) && is_sound;
    let mut weights = ConfidenceWeights::default();
    weights.add("intent", 15, reading.intent.is_said);
    weights.add("one matching event", 35, changed.is_matched);
    weights.add("what to change", 15, has_change && !changed.is_open);
    let mut understood = base(reading);
    let is_known = !changed.which.is_empty() && is_sound;
    let missing = [(MissingField::Event, is_known), (MissingField::Change, has_change)];
    understood.missing = missing.into_iter().filter(|(_, is_there)| !is_there).map(|(missing, _)| missing).collect();
    understood.data.title = match changed.which.as_slice() {
        [one] => Some(one.event.title.clone()),
        _ => title::title(&reading.reader),
    };
    understood.data.title = edit.title.clone().or(understood.data.title);
    understood.data.recurrence_rule = changed.rule;
    understood.edit = edit;
    understood.scope = changed.scope;
    if changed.is_matched {
        understood.instance = changed.which[0].instance.and_then(|span| on_wall(reading, span));
    }
    understood.event_ids = changed.which.iter().map(|meant| meant.event.id.clone()).collect();
    understood.time_options = changed.either.iter().filter_map(|span| on_wall(reading, *span)).collect();
    understood.time_window = changed.within.and_then(|span| on_wall(reading, span));
    if let Some(span) = span {
        (understood.data.start_time, understood.data.end_time) = (Some(span.start), Some(span.end));
    }
    understood.ambiguities.extend(changed.doubts);
    if is_sound && !has_change {
        // A known event without a change is not a request, so the change is asked for.
        understood.ambiguities.push(Ambiguity::new(SpanKind::Change, "What shall be different?"));
    }
    understood.problems.extend(changed.problems);
    finish(reading, understood, weights)
}

/// Returns the participants and resources to add or remove: directly after `add` or `remove`, and before the event.
fn edited(reading: &SentenceParse<'_>) -> Vec<Mention> {
    let is_way = matches!(reading.intent.way, VerbModifier::Add | VerbModifier::Remove);
    let is_timed = !TimeExpressions::from_matches(&reading.findings, reading.today()).is_empty();
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
    let none = TimeExpressions::default();
    let words = reader.tokens.get(at..).unwrap_or_default();
    let clue = EventClue { words, people: &[], said: &none, is_strict: false };
    let has_event = || !best_matches(reader, reading.request.snapshot, &reading.wall(None), clue).is_empty();
    if is_border && !edited.is_empty() && has_event() { edited } else { Vec::new() }
}

fn edit(reading: &SentenceParse<'_>, title: Option<String>) -> EventEdit {
    let ids = |is_person: bool| {
        let mentions = reading.edited.iter().filter(|mention| mention.is_person == is_person);
        mentions.flat_map(|mention| mention.ids.clone()).collect::<Vec<_>>()
    };
    match reading.intent.way {
        VerbModifier::Remove => {
            EventEdit { remove_people: ids(true), remove_resources: ids(false), title, ..EventEdit::default() }
        }
        _ => EventEdit { add_people: ids(true), add_resources: ids(false), title, ..EventEdit::default() },
    }
}

/// Returns the half of the day that words such as `dinner` imply.
fn hint(reading: &SentenceParse<'_>) -> Option<DayHalfHint> {
    let lists = reading.reader.language.words;
    let ends = |list: &[&str]| {
        let tokens = &reading.reader.tokens;
        tokens.iter().any(|token| list.iter().any(|ending| token.is_left() && token.lower.ends_with(ending)))
    };
    match (ends(lists.morning), ends(lists.evening)) {
        (true, false) => Some(DayHalfHint::Morning),
        (false, true) => Some(DayHalfHint::Later),
        _ => None,
    }
}

/// Builds the parts that all requests have in common.
fn base(reading: &SentenceParse<'_>) -> ParsedRequest {
    let mut understood = empty();
    let data = &mut understood.data;
    data.event_type = reading.intent.wanted;
    data.participants = reading.names.ids(true);
    data.resources = reading.names.ids(false);
    for finding in &reading.findings {
        match finding.sense {
            PhraseMeaning::Matters(priority) => data.priority = Some(priority),
            PhraseMeaning::Moves(flexibility) => data.flexibility = Some(flexibility),
            _ => {}
        }
    }
    understood.unknown_names.clone_from(&reading.names.unknown);
    let doubts = reading.names.mentions.iter().filter_map(|mention| {
        let about = if mention.is_person { SpanKind::Person } else { SpanKind::Resource };
        Some(Ambiguity::new(about, mention.doubt.clone()?))
    });
    understood.ambiguities = doubts.collect();
    if reading.intent.is_negated {
        understood.ambiguities.push(Ambiguity::new(SpanKind::Intent, "Is there anything to be done?"));
    } else if reading.intent.is_weak_no() {
        understood.ambiguities.push(Ambiguity::new(SpanKind::Intent, "Is it to be cancelled?"));
    }
    understood
}

/// Error for a time range that a clock change skips.
const NO_TIME: &str = "there is no such time on that day";

fn on_wall(reading: &SentenceParse<'_>, (start, end): (DateTime, DateTime)) -> Option<TimeRange> {
    TimeRange::new(reading.zone.to_instant(start).ok()?, reading.zone.to_instant(end).ok()?)
}

/// Converts a local time range to instants. If a duration under a day was given, the duration is exact even across
/// a clock change.
fn lasting(reading: &SentenceParse<'_>, (start, end): (DateTime, DateTime), minutes: Option<i64>) -> Option<TimeRange> {
    let Some(minutes) = minutes.filter(|minutes| *minutes < 24 * 60) else { return on_wall(reading, (start, end)) };
    let start = reading.zone.to_instant(start).ok()?;
    let end = Time::from_unix_micros(start.as_unix_micros().checked_add(minutes * 60_000_000)?).ok()?;
    TimeRange::new(start, reading.zone.with_local_offset(end).ok()?)
}

/// Converts the resolved time to instants in the time zone of the family, and reports an error if a clock change
/// skips the time.
fn to_time_range(reading: &SentenceParse<'_>, when: &mut ResolvedTime) -> Option<TimeRange> {
    let span = lasting(reading, when.span?, when.length);
    if span.is_none() {
        when.problems.push(NO_TIME.to_owned());
    }
    span
}

fn place(reading: &SentenceParse<'_>, understood: &mut ParsedRequest, when: ResolvedTime, span: Option<TimeRange>) {
    understood.time_options = when.either.iter().filter_map(|span| on_wall(reading, *span)).collect();
    match span {
        Some(span) if when.is_vague => understood.time_window = Some(span),
        Some(span) => (understood.data.start_time, understood.data.end_time) = (Some(span.start), Some(span.end)),
        None => {}
    }
    understood.is_all_day = when.is_all_day;
    understood.data.recurrence_rule = when.rule;
    understood.ambiguities.extend(when.doubts.into_iter().map(|doubt| Ambiguity::new(SpanKind::Time, doubt)));
    understood.problems.extend(when.problems);
}

fn finish(reading: &SentenceParse<'_>, mut understood: ParsedRequest, weights: ConfidenceWeights) -> ParsedRequest {
    understood.spans = found(reading, &understood);
    let (doubts, unknown) = (understood.ambiguities.len(), understood.unknown_names.len());
    understood.confidence = weights.confidence(doubts, unknown);
    let language = reading.reader.language.words.name;
    understood.reasoning = format!("{}, {language}: {}", super::LABEL, weights.explanation(doubts, unknown));
    understood
}

fn found(reading: &SentenceParse<'_>, understood: &ParsedRequest) -> Vec<ParsedSpan> {
    let text = |from: usize, to: usize| {
        let tokens = &reading.reader.tokens;
        let end = tokens[..to].last().map_or(0, |token| token.place.1);
        reading.request.text[tokens[from].place.0..end].to_owned()
    };
    let mut found = Vec::new();
    if !reading.intent.verb.is_empty() {
        let value = confidence::name(reading.intent.wanted).to_owned();
        found.push(ParsedSpan {
            part: SpanKind::Intent,
            text: text(reading.intent.verb.start, reading.intent.verb.end),
            value,
        });
    }
    if let Some(title) = &understood.data.title {
        found.push(ParsedSpan { part: SpanKind::Title, text: title.clone(), value: title.clone() });
    }
    for finding in &reading.findings {
        let part = reading.reader.tokens[finding.from].read_as.unwrap_or(SpanKind::Filler);
        if part == SpanKind::Filler {
            continue;
        }
        let values: Vec<String> = finding.values.iter().filter_map(modify::display_value).collect();
        let value = match part {
            SpanKind::Repeat => understood.data.recurrence_rule.clone().unwrap_or_default(),
            _ => values.join(" - "),
        };
        found.push(ParsedSpan { part, text: text(finding.from, finding.to), value });
    }
    for mention in &reading.names.mentions {
        let part = if mention.is_person { SpanKind::Person } else { SpanKind::Resource };
        found.push(ParsedSpan { part, text: text(mention.place.0, mention.place.1), value: mention.ids.join(", ") });
    }
    found
}
