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
        reading.intent.event_type = EventType::Modify;
    }
    if reading.intent.event_type == EventType::Query {
        intent::consume_fit_words(&mut reading.reader);
    }
    let changed = match reading.intent.event_type {
        EventType::Modify => Some(modify::modify(&reading)),
        EventType::Cancel => Some(modify::cancel(&reading)),
        EventType::Create | EventType::Query => None,
    };
    match changed {
        // `Make pancakes`: no event matches, so the sentence describes a new event.
        Some(changed) if reading.intent.modifier == VerbModifier::Weak && changed.candidates.is_empty() => {
            reading.intent.event_type = EventType::Create;
            reading.intent.is_negated |= reading.intent.is_weak_no();
            let verb = reading.intent.verb.clone();
            reading.reader.tokens[verb].iter_mut().for_each(|token| token.matched_as = None);
            create(&reading)
        }
        Some(changed) => modification(&reading, changed),
        None if reading.intent.event_type == EventType::Query => query(&reading),
        None => create(&reading),
    }
}

fn create(reading: &SentenceParse<'_>) -> ParsedRequest {
    let expressions = TimeExpressions::from_matches(&reading.findings, reading.today());
    let mut when =
        reading.local_clock(hint(reading)).create(&expressions, RecurrencePhrase::from_matches(&reading.findings));
    let unparsed_question =
        unparsed_time::for_new_event(&reading.reader, &reading.findings, (when.has_date, when.has_time));
    when.is_open |= unparsed_question.is_some();
    when.questions.extend(unparsed_question);
    let span = to_time_range(reading, &mut when);
    let title = title::title(&reading.reader);
    let is_sound = when.problems.is_empty();
    let (has_date, has_time) = (when.has_date && is_sound, when.has_time && is_sound);
    // A new event with a day or a time needs no verb: `Piano every Tuesday`. `Book club starts at half past six`
    // may be about an existing event.
    let day = Some(&expressions).filter(|_| when.has_date && when.rule.is_none());
    let is_new = reading.intent.is_explicit || reading.intent.is_negated || when.rule.is_some();
    let existing = (!is_new)
        .then(|| exact_title_match(&reading.reader, reading.request.snapshot, &reading.local_clock(None), day));
    let existing = existing.flatten();
    // `Book the car for Dad` needs no title, because the resource identifies the event.
    let is_called = title.is_some() || !reading.names.ids(false).is_empty();
    let is_plan = is_called && (when.has_date || when.has_time) && !reading.intent.is_negated && existing.is_none();
    let has_intent = reading.intent.is_explicit || is_plan;
    let mut weights = ConfidenceWeights::default();
    weights.add("intent", 15, has_intent);
    weights.add("title", 20, title.is_some() || (has_intent && is_called));
    weights.add("date", 15, has_date);
    // An ambiguous time was given, but does not count as understood.
    weights.add("time", 15, has_time && !when.is_open);
    let mut parsed = base(reading);
    let missing = [
        (MissingField::Intent, has_intent),
        (MissingField::Title, title.is_some()),
        (MissingField::Date, has_date),
        (MissingField::Time, has_time),
    ];
    parsed.missing = missing.into_iter().filter(|(_, is_present)| !is_present).map(|(missing, _)| missing).collect();
    parsed.data.title = title;
    parsed.minutes = minutes(&expressions);
    if let Some(existing) = &existing {
        let question = format!("Do you want to change {}, or plan something new?", existing.event.title);
        parsed.ambiguities.push(Ambiguity::new(SpanKind::Intent, question));
    }
    apply_time(reading, &mut parsed, when, span);
    finish(reading, parsed, weights)
}

fn query(reading: &SentenceParse<'_>) -> ParsedRequest {
    let expressions = TimeExpressions::from_matches(&reading.findings, reading.today());
    let mut when = reading.local_clock(hint(reading)).resolve_query(&expressions);
    let span = to_time_range(reading, &mut when);
    let has_resource =
        !reading.names.ids(false).is_empty() || reading.names.unknown.iter().any(|name| name.is_resource_like);
    let (query, is_kind_explicit) = intent::query(&reading.reader, &reading.intent, has_resource);
    let none = TimeExpressions::default();
    let clue = EventClue { words: &reading.reader.tokens, people: &[], expressions: &none, is_strict: false };
    let candidates = best_matches(&reading.reader, reading.request.snapshot, &reading.local_clock(None), clue);
    let title = title::title(&reading.reader);
    let is_about_conflicts = candidates.is_empty()
        && title.is_none()
        && !when.has_time
        && !has_resource
        && intent::asks_existing_conflicts(&reading.reader);
    let is_about =
        !reading.names.mentions.is_empty() || !candidates.is_empty() || title.is_some() || is_about_conflicts;
    let has_subject = when.problems.is_empty() && (when.span.is_some() || is_about);
    let mut weights = ConfidenceWeights::default();
    weights.add("intent", 15, reading.intent.is_explicit);
    weights.add("kind", 25, is_kind_explicit);
    weights.add("range or subject", 25, has_subject);
    let mut parsed = base(reading);
    parsed.query = Some(query);
    parsed.asks_existing_conflicts = is_about_conflicts && query == QueryType::ConflictCheck;
    parsed.event_ids = candidates.iter().map(|candidate| candidate.event.id.clone()).collect();
    parsed.data.title = match candidates.as_slice() {
        [candidate] => Some(candidate.event.title.clone()),
        _ => title.filter(|_| matches!(query, QueryType::EventLookup | QueryType::ConflictCheck)),
    };
    parsed.missing.extend((!has_subject).then_some(MissingField::Subject));
    if query == QueryType::ConflictCheck && parsed.data.title.is_some() && !when.has_time {
        // `Does a haircut fit on Saturday?` asks for any time of the day, not for the whole day.
        parsed.time_window = span;
    }
    parsed.minutes = minutes(&expressions);
    apply_time(reading, &mut parsed, ResolvedTime { is_vague: false, ..when }, span);
    finish(reading, parsed, weights)
}

/// Returns the given duration in minutes.
fn minutes(expressions: &TimeExpressions) -> Option<u32> {
    expressions
        .length
        .and_then(super::durations::SpokenDuration::as_minutes)
        .and_then(|minutes| u32::try_from(minutes).ok())
}

fn modification(reading: &SentenceParse<'_>, mut changed: ModifyParse) -> ParsedRequest {
    let edit = edit(reading, changed.title.clone());
    let span = changed.span.and_then(|span| exact_range(reading, span, changed.length));
    if changed.span.is_some() && span.is_none() {
        changed.problems.push(NO_TIME.to_owned());
    }
    let titles: Vec<&str> = changed.candidates.iter().map(|candidate| candidate.event.title.as_str()).collect();
    if let Some(unparsed_question) = unparsed_time::for_modification(&reading.reader, &reading.findings, &titles)
        .filter(|_| reading.intent.modifier != VerbModifier::Rename)
    {
        let is_scope_open = changed.ambiguities.iter().any(|ambiguity| ambiguity.about == SpanKind::Scope);
        changed.ambiguities.extend((!is_scope_open).then(|| Ambiguity::new(SpanKind::Time, unparsed_question)));
        changed.is_open = true;
    }
    let sets_attribute = reading
        .findings
        .iter()
        .any(|finding| matches!(finding.meaning, PhraseMeaning::Priority(_) | PhraseMeaning::Flexibility(_)));
    let is_sound = changed.problems.is_empty();
    let has_change = (changed.has_change || edit != EventEdit::default() || sets_attribute) && is_sound;
    let mut weights = ConfidenceWeights::default();
    weights.add("intent", 15, reading.intent.is_explicit);
    weights.add("one matching event", 35, changed.is_matched);
    weights.add("what to change", 15, has_change && !changed.is_open);
    let mut parsed = base(reading);
    let is_known = !changed.candidates.is_empty() && is_sound;
    let missing = [(MissingField::Event, is_known), (MissingField::Change, has_change)];
    parsed.missing = missing.into_iter().filter(|(_, is_present)| !is_present).map(|(missing, _)| missing).collect();
    parsed.data.title = match changed.candidates.as_slice() {
        [candidate] => Some(candidate.event.title.clone()),
        _ => title::title(&reading.reader),
    };
    parsed.data.title = edit.title.clone().or(parsed.data.title);
    parsed.data.recurrence_rule = changed.rule;
    parsed.edit = edit;
    parsed.scope = changed.scope;
    if changed.is_matched {
        parsed.instance = changed.candidates[0].instance.and_then(|span| instant_range(reading, span));
    }
    parsed.event_ids = changed.candidates.iter().map(|candidate| candidate.event.id.clone()).collect();
    parsed.time_options = changed.time_options.iter().filter_map(|span| instant_range(reading, *span)).collect();
    parsed.time_window = changed.time_window.and_then(|span| instant_range(reading, span));
    if let Some(span) = span {
        (parsed.data.start_time, parsed.data.end_time) = (Some(span.start), Some(span.end));
    }
    parsed.ambiguities.extend(changed.ambiguities);
    if is_sound && !has_change {
        // A known event without a change is not a request, so the change is asked for.
        parsed.ambiguities.push(Ambiguity::new(SpanKind::Change, "What should change?"));
    }
    parsed.problems.extend(changed.problems);
    finish(reading, parsed, weights)
}

/// Returns the participants and resources to add or remove: directly after `add` or `remove`, and before the event.
fn edited(reading: &SentenceParse<'_>) -> Vec<Mention> {
    let adds_or_removes = matches!(reading.intent.modifier, VerbModifier::Add | VerbModifier::Remove);
    let is_timed = !TimeExpressions::from_matches(&reading.findings, reading.today()).is_empty();
    if !adds_or_removes || is_timed {
        return Vec::new();
    }
    let (reader, lists) = (&reading.reader, reading.reader.language.words);
    let mut index = reading.intent.verb.end;
    let mut edited = Vec::new();
    loop {
        while reader.tokens.get(index).is_some_and(|token| token.is_in(lists.the) || token.is_in(lists.ands)) {
            index += 1;
        }
        let Some(mention) = reading.names.mentions.iter().find(|mention| mention.token_range.0 == index) else { break };
        if reader.tokens[mention.token_range.1 - 1].is_owner {
            return Vec::new();
        }
        index = mention.token_range.1;
        edited.push(mention.clone());
    }
    const BORDERS: [&str; 12] = ["to", "from", "on", "off", "out", "zu", "zum", "von", "a", "al", "de", "del"];
    let is_border = reader.tokens.get(index).is_some_and(|token| token.is_in(&BORDERS));
    let none = TimeExpressions::default();
    let words = reader.tokens.get(index..).unwrap_or_default();
    let clue = EventClue { words, people: &[], expressions: &none, is_strict: false };
    let has_event = || !best_matches(reader, reading.request.snapshot, &reading.local_clock(None), clue).is_empty();
    if is_border && !edited.is_empty() && has_event() { edited } else { Vec::new() }
}

fn edit(reading: &SentenceParse<'_>, title: Option<String>) -> EventEdit {
    let ids = |is_person: bool| {
        let mentions = reading.edited.iter().filter(|mention| mention.is_person == is_person);
        mentions.flat_map(|mention| mention.ids.clone()).collect::<Vec<_>>()
    };
    match reading.intent.modifier {
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
        tokens.iter().any(|token| list.iter().any(|ending| token.is_unmatched() && token.lower.ends_with(ending)))
    };
    match (ends(lists.morning), ends(lists.evening)) {
        (true, false) => Some(DayHalfHint::Morning),
        (false, true) => Some(DayHalfHint::Later),
        _ => None,
    }
}

/// Builds the parts that all requests have in common.
fn base(reading: &SentenceParse<'_>) -> ParsedRequest {
    let mut parsed = empty();
    let data = &mut parsed.data;
    data.event_type = reading.intent.event_type;
    data.participants = reading.names.ids(true);
    data.resources = reading.names.ids(false);
    for finding in &reading.findings {
        match finding.meaning {
            PhraseMeaning::Priority(priority) => data.priority = Some(priority),
            PhraseMeaning::Flexibility(flexibility) => data.flexibility = Some(flexibility),
            _ => {}
        }
    }
    parsed.unknown_names.clone_from(&reading.names.unknown);
    let ambiguities = reading.names.mentions.iter().filter_map(|mention| {
        let about = if mention.is_person { SpanKind::Person } else { SpanKind::Resource };
        Some(Ambiguity::new(about, mention.question.clone()?))
    });
    parsed.ambiguities = ambiguities.collect();
    if reading.intent.is_negated {
        parsed.ambiguities.push(Ambiguity::new(SpanKind::Intent, "You said what not to do. What should I do?"));
    } else if reading.intent.is_weak_no() {
        parsed.ambiguities.push(Ambiguity::new(SpanKind::Intent, "Do you want to cancel it?"));
    }
    parsed
}

/// Error for a time range that a clock change skips.
const NO_TIME: &str = "This time does not exist on that day.";

fn instant_range(reading: &SentenceParse<'_>, (start, end): (DateTime, DateTime)) -> Option<TimeRange> {
    TimeRange::new(reading.zone.to_instant(start).ok()?, reading.zone.to_instant(end).ok()?)
}

/// Converts a local time range to instants. If a duration under a day was given, the duration is exact even across
/// a clock change.
fn exact_range(
    reading: &SentenceParse<'_>,
    (start, end): (DateTime, DateTime),
    minutes: Option<i64>,
) -> Option<TimeRange> {
    let Some(minutes) = minutes.filter(|minutes| *minutes < 24 * 60) else {
        return instant_range(reading, (start, end));
    };
    let start = reading.zone.to_instant(start).ok()?;
    let end = Time::from_unix_micros(start.as_unix_micros().checked_add(minutes * 60_000_000)?).ok()?;
    TimeRange::new(start, reading.zone.with_local_offset(end).ok()?)
}

/// Converts the resolved time to instants in the time zone of the family, and reports an error if a clock change
/// skips the time.
fn to_time_range(reading: &SentenceParse<'_>, when: &mut ResolvedTime) -> Option<TimeRange> {
    let span = exact_range(reading, when.span?, when.length);
    if span.is_none() {
        when.problems.push(NO_TIME.to_owned());
    }
    span
}

fn apply_time(reading: &SentenceParse<'_>, parsed: &mut ParsedRequest, when: ResolvedTime, span: Option<TimeRange>) {
    parsed.time_options = when.time_options.iter().filter_map(|span| instant_range(reading, *span)).collect();
    match span {
        Some(span) if when.is_vague => parsed.time_window = Some(span),
        Some(span) => (parsed.data.start_time, parsed.data.end_time) = (Some(span.start), Some(span.end)),
        None => {}
    }
    parsed.is_all_day = when.is_all_day;
    parsed.data.recurrence_rule = when.rule;
    parsed.ambiguities.extend(when.questions.into_iter().map(|text| Ambiguity::new(SpanKind::Time, text)));
    parsed.problems.extend(when.problems);
}

fn finish(reading: &SentenceParse<'_>, mut parsed: ParsedRequest, weights: ConfidenceWeights) -> ParsedRequest {
    parsed.spans = parsed_spans(reading, &parsed);
    let (ambiguities, unknown) = (parsed.ambiguities.len(), parsed.unknown_names.len());
    parsed.confidence = weights.confidence(ambiguities, unknown);
    let language = reading.reader.language.words.name;
    parsed.reasoning = format!("{}, {language}: {}", super::LABEL, weights.explanation(ambiguities, unknown));
    parsed
}

fn parsed_spans(reading: &SentenceParse<'_>, parsed: &ParsedRequest) -> Vec<ParsedSpan> {
    let text = |from: usize, to: usize| {
        let tokens = &reading.reader.tokens;
        let end = tokens[..to].last().map_or(0, |token| token.byte_range.1);
        reading.request.text[tokens[from].byte_range.0..end].to_owned()
    };
    let mut spans = Vec::new();
    if !reading.intent.verb.is_empty() {
        let value = confidence::name(reading.intent.event_type).to_owned();
        spans.push(ParsedSpan {
            part: SpanKind::Intent,
            text: text(reading.intent.verb.start, reading.intent.verb.end),
            value,
        });
    }
    if let Some(title) = &parsed.data.title {
        spans.push(ParsedSpan { part: SpanKind::Title, text: title.clone(), value: title.clone() });
    }
    for finding in &reading.findings {
        let part = reading.reader.tokens[finding.from].matched_as.unwrap_or(SpanKind::Filler);
        if part == SpanKind::Filler {
            continue;
        }
        let values: Vec<String> = finding.values.iter().filter_map(modify::display_value).collect();
        let value = match part {
            SpanKind::Repeat => parsed.data.recurrence_rule.clone().unwrap_or_default(),
            _ => values.join(" - "),
        };
        spans.push(ParsedSpan { part, text: text(finding.from, finding.to), value });
    }
    for mention in &reading.names.mentions {
        let part = if mention.is_person { SpanKind::Person } else { SpanKind::Resource };
        spans.push(ParsedSpan {
            part,
            text: text(mention.token_range.0, mention.token_range.1),
            value: mention.ids.join(", "),
        });
    }
    spans
}
