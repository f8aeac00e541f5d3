//! Merges the parse of a language model with that of the rules.
//!
//! The parse of the model is checked against the calendar and the clock like any other, and its confidence is limited
//! by the parts that were found. If model and rules disagree on a day or a time, the confidence is at most 0.69, so
//! that the user is asked. If the rules find several events, names or instances, the model does not choose among them.
//! The user is asked about changes and cancellations that only the model found, and about a selection of instances that
//! differs from that of the rules.

use jiff::civil::DateTime;
use superstep::Result;
use superstep::core::time::Time;

use super::confidence::{self, ConfidenceWeights};
use super::model_parse::{ModelParse, NameResolver, invalid_model_output, time};
use super::modify::past_time;
use super::{
    Ambiguity, EventEdit, LABEL, MissingField, ParseInput, ParsedRequest, ParsedSpan, SpanKind, UnknownName,
    compare_parses, interpret,
};
use crate::agents::can_see_details;
use crate::agents::format::format_date;
use crate::calendar::{Event, NEXT_INSTANCE_HORIZON_DAYS, TimeRange, validate_rrule};
use crate::models::{EventStatus, EventType, QueryType};
use crate::time_zone::NamedTimeZone;

/// Parse of the same message by the rules.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RuleParse<'a> {
    /// Parse of the whole conversation.
    pub(crate) full: &'a ParsedRequest,
    /// Parse of the last answer alone, if the user answered with text.
    pub(crate) last: Option<&'a ParsedRequest>,
    /// Id of the event that the user selected from a list.
    pub(crate) selected_event: Option<&'a str>,
}

impl<'a> RuleParse<'a> {
    /// Returns the parse of the last answer, if the answer contains a date or a time.
    pub(super) fn last_answer_with_time(self) -> Option<&'a ParsedRequest> {
        self.last.filter(|last| has_span(last, SpanKind::Date) || has_span(last, SpanKind::Time))
    }
}

/// Returns true if a part of this kind was found.
pub(super) fn has_span(parsed: &ParsedRequest, part: SpanKind) -> bool {
    parsed.spans.iter().any(|span| span.part == part)
}

/// Merges the model output with the parse of the rules.
///
/// # Errors
/// Returns `TypeMismatch` if the model output violates the form.
pub(crate) fn merge_parses(
    request: &ParseInput<'_>,
    model_parse: &ModelParse,
    rules: RuleParse<'_>,
    model: &str,
) -> Result<ParsedRequest> {
    let zone = NamedTimeZone::from_iana_name(&request.snapshot.family.zone)?;
    let parsed = interpret::empty();
    let mut merger = ParseMerger { request: *request, zone, model_parse, rules, parsed, series_question: None };
    merger.resolve_names();
    merger.choose_event()?;
    merger.set_time()?;
    merger.apply_rule_results();
    let weights = merger.weights();
    let ParseMerger { zone, mut parsed, series_question, .. } = merger;
    let (ambiguities, unknown) = (parsed.ambiguities.len(), parsed.unknown_names.len());
    let confidence = weights.confidence(ambiguities, unknown).at_most(model_parse.confidence.value());
    parsed.confidence = confidence;
    let is_same = parsed.data == rules.full.data;
    parsed.spans = if is_same { rules.full.spans.clone() } else { parsed_spans(&parsed, request, &zone) };
    let explanation = weights.explanation(ambiguities, unknown);
    let model_confidence = model_parse.confidence;
    parsed.reasoning = format!("language model {model} ({model_confidence}) with the {LABEL}: {explanation}");
    compare_parses::compare(&mut parsed, rules, request.snapshot, &zone);
    if let Some(ambiguity) = series_question {
        compare_parses::record_disagreement(&mut parsed, "the instances of the series", ambiguity);
    }
    if let (Some(start), Some(end)) = (parsed.data.start_time, parsed.data.end_time) {
        parsed.is_all_day &= is_whole_days(&TimeRange { start, end }, &zone);
    }
    Ok(parsed)
}

/// Returns true if a time range starts and ends at midnight.
fn is_whole_days(span: &TimeRange, zone: &NamedTimeZone) -> bool {
    [span.start, span.end].into_iter().all(|time| zone.to_local(time).time() == jiff::civil::Time::midnight())
}

/// State of a merge.
struct ParseMerger<'a> {
    request: ParseInput<'a>,
    zone: NamedTimeZone,
    model_parse: &'a ModelParse,
    rules: RuleParse<'a>,
    parsed: ParsedRequest,
    /// Question if the model selects other instances of a series than the rules.
    series_question: Option<Ambiguity>,
}

impl ParseMerger<'_> {
    /// Returns true if the rules found the same intent.
    fn is_same_intent(&self) -> bool {
        self.rules.full.data.event_type == self.model_parse.event_type
    }

    fn resolve_names(&mut self) {
        let (model_parse, mut resolver) = (self.model_parse, NameResolver::new(self.request.snapshot));
        let data = &mut self.parsed.data;
        data.event_type = model_parse.event_type;
        data.title = model_parse.title.as_deref().map(str::trim).filter(|title| !title.is_empty()).map(str::to_owned);
        (data.priority, data.flexibility) = (model_parse.priority, model_parse.flexibility);
        data.participants = resolver.resolve_members(&model_parse.participants);
        data.resources = resolver.resolve_resources(&model_parse.resources);
        if model_parse.event_type == EventType::Modify {
            self.parsed.edit = EventEdit {
                add_people: resolver.resolve_members(&model_parse.edit.add_people),
                remove_people: resolver.resolve_members(&model_parse.edit.remove_people),
                add_resources: resolver.resolve_resources(&model_parse.edit.add_resources),
                remove_resources: resolver.resolve_resources(&model_parse.edit.remove_resources),
                title: model_parse.edit.title.clone().filter(|title| !title.trim().is_empty()),
            };
        }
        self.parsed.unknown_names = resolver.unknown;
        self.parsed.is_all_day = model_parse.is_all_day;
        self.parsed.minutes = self.rules.full.minutes;
        if model_parse.event_type == EventType::Query {
            let default_type = self.rules.full.query.unwrap_or(QueryType::EventLookup);
            let query = *self.parsed.query.insert(model_parse.query_type.unwrap_or(default_type));
            let is_other = query != QueryType::ConflictCheck || self.parsed.data.title.is_some();
            self.parsed.asks_existing_conflicts = self.rules.full.asks_existing_conflicts && !is_other;
        }
    }

    /// Chooses the event and the instances of a series.
    fn choose_event(&mut self) -> Result<()> {
        let snapshot = self.request.snapshot;
        let rule_events: &[String] = if self.is_same_intent() { &self.rules.full.event_ids } else { &[] };
        if !matches!(self.model_parse.event_type, EventType::Modify | EventType::Cancel) {
            self.parsed.event_ids = rule_events.to_vec();
            return Ok(());
        }
        let candidates = self.candidate_events(rule_events);
        let occurrence = time(self.model_parse.occurrence.as_ref(), "/occurrence", &self.zone)?.and_then(Result::ok);
        if let Some(event) = candidates.first().filter(|_| candidates.len() == 1).and_then(|id| snapshot.events.get(id))
        {
            let (is_same, is_series) = (rule_events == candidates, event.recurrence.is_some());
            let instance = self.instance(event, occurrence);
            let scope = self.model_parse.scope.or(occurrence.map(|_| super::SeriesScope::This));
            let (rules, parsed) = (self.rules.full, &mut self.parsed);
            // The time of a cancellation is its instance, which is compared with all other times.
            let keeps_rule_instance =
                is_same && (occurrence.is_none() || self.model_parse.event_type == EventType::Modify);
            parsed.instance = rules.instance.filter(|_| keeps_rule_instance).or(instance);
            parsed.scope = if is_same { rules.scope } else { scope }.filter(|_| is_series);
            if is_same && is_series {
                let model_selection = (scope, occurrence.and(instance));
                self.series_question = compare_parses::series_disagreement(parsed, model_selection, &self.zone);
            }
            parsed.data.title = parsed.edit.title.clone().or_else(|| Some(event.title.clone()));
            if let (None, Some(_), Some(at)) = (parsed.scope, &event.recurrence, parsed.instance) {
                let day = format_date(self.zone.to_local(at.start).date());
                parsed
                    .ambiguities
                    .push(Ambiguity::new(SpanKind::Scope, format!("Only the one on {day}, or all of them?")));
            }
        }
        self.parsed.event_ids = candidates;
        Ok(())
    }

    /// Returns the candidate events: the selected one, else those of model and rules.
    fn candidate_events(&self, rule_events: &[String]) -> Vec<String> {
        if let Some(id) = self.rules.selected_event.filter(|id| self.is_candidate(id)) {
            return vec![id.to_owned()];
        }
        // After an answer of the user, the model may choose among several events.
        let others = rule_events.iter().filter(|_| self.rules.last.is_none() || self.model_parse.events.is_empty());
        let mut candidates: Vec<String> = Vec::new();
        for id in self.model_parse.events.iter().chain(others).filter(|id| self.is_candidate(id)) {
            if !candidates.contains(id) {
                candidates.push(id.clone());
            }
        }
        candidates
    }

    /// Returns true if an event is confirmed and visible to the speaker.
    fn is_candidate(&self, id: &str) -> bool {
        let event = self.request.snapshot.events.get(id);
        let is_visible = |event: &Event| can_see_details(self.request.snapshot, self.request.user_id, event);
        event.is_some_and(|event| event.status == EventStatus::Confirmed && is_visible(event))
    }

    /// Returns the instance on the given day, else the next one.
    fn instance(&self, event: &std::sync::Arc<Event>, occurrence: Option<Time>) -> Option<TimeRange> {
        let now = self.request.now;
        let end = Time::from_unix_micros(now.as_unix_micros() + NEXT_INSTANCE_HORIZON_DAYS * 86_400_000_000).ok()?;
        let instances = self.request.snapshot.instances_of(event, &TimeRange::new(now, end)?).ok()?;
        let day = |time: Time| self.zone.to_local(time).date();
        let is_then = |at: &TimeRange| occurrence.is_none_or(|then| day(then) == day(at.start));
        instances.iter().map(|instance| instance.span).find(is_then)
    }

    /// Sets the time of the event, or the queried time range.
    fn set_time(&mut self) -> Result<()> {
        let mut problems = Vec::new();
        let mut read = |text: Option<&String>, pointer: &str| -> Result<Option<Time>> {
            Ok(match time(text, pointer, &self.zone)? {
                Some(Err(problem)) => {
                    problems.push(problem);
                    None
                }
                read => read.and_then(Result::ok),
            })
        };
        let model_parse = self.model_parse;
        let (start, end) =
            (read(model_parse.start_time.as_ref(), "/start_time")?, read(model_parse.end_time.as_ref(), "/end_time")?);
        let (from, to) =
            (read(model_parse.earliest.as_ref(), "/earliest")?, read(model_parse.latest.as_ref(), "/latest")?);
        if model_parse.start_time.is_none() && end.is_some() {
            return Err(invalid_model_output("/end_time", "`start_time` is missing"));
        }
        self.parsed.problems = problems;
        if model_parse.event_type == EventType::Cancel {
            let is_one = !matches!(self.parsed.scope, Some(super::SeriesScope::All | super::SeriesScope::Following));
            self.set_span(self.parsed.instance.filter(|_| is_one));
            return Ok(());
        }
        let start = self.set_recurrence(start);
        match start {
            Some(start) => {
                let end = end.filter(|_| model_parse.recurrence_rule.is_none() || end > Some(start));
                let span = TimeRange::new(start, end.or_else(|| self.end_after(start)).unwrap_or(start));
                self.check(span, "The end is before the start.");
            }
            None => self.set_window(from, to),
        }
        Ok(())
    }

    /// Sets the recurrence rule and returns the first start that matches it.
    fn set_recurrence(&mut self, start: Option<Time>) -> Option<Time> {
        let Some(rule) = self.model_parse.recurrence_rule.as_deref().filter(|rule| !rule.trim().is_empty()) else {
            return start;
        };
        let first = self.zone.to_local(start.unwrap_or(self.request.now));
        match validate_rrule(rule, first, &self.zone) {
            Ok(checked) => {
                self.parsed.data.recurrence_rule = Some(checked.rule);
                start.and_then(|_| self.zone.to_instant(checked.first).ok())
            }
            Err(error) => {
                self.parsed.problems.push(format!("The recurrence is not valid: {}.", error.message()));
                None
            }
        }
    }

    /// Returns the end of an event if only the start was given.
    fn end_after(&self, start: Time) -> Option<Time> {
        let of_instance = self.parsed.instance.filter(|_| self.model_parse.event_type == EventType::Modify);
        let preferred =
            self.request.snapshot.members.get(self.request.user_id).map(|member| member.preferences.default_minutes);
        let fallback = self.parsed.minutes.or(preferred).map_or(60, i64::from);
        let minutes = of_instance.map_or(fallback, |span| span.minutes());
        Time::from_unix_micros(start.as_unix_micros() + minutes * 60_000_000).ok().map(|end| self.in_zone(end))
    }

    fn in_zone(&self, time: Time) -> Time {
        self.zone.with_local_offset(time).unwrap_or(time)
    }

    /// Sets the time range if it is valid and not in the past.
    fn check(&mut self, span: Option<TimeRange>, otherwise: &str) {
        let Some(span) = span else { return self.parsed.problems.push(otherwise.to_owned()) };
        let is_planned = self.model_parse.event_type != EventType::Query && self.parsed.data.recurrence_rule.is_none();
        let last = if self.model_parse.is_all_day && is_whole_days(&span, &self.zone) { span.end } else { span.start };
        if is_planned && last < self.request.now {
            let (start, now): (DateTime, DateTime) =
                (self.zone.to_local(span.start), self.zone.to_local(self.request.now));
            return self.parsed.problems.push(past_time(start, now));
        }
        self.set_span(Some(span));
        if !self.model_parse.is_all_day && is_whole_days(&span, &self.zone) {
            self.set_open_range(span);
        }
    }

    /// Sets an open range: a query such as `Does a haircut fit on Saturday?` accepts any time in it.
    fn set_open_range(&mut self, span: TimeRange) {
        if self.parsed.query == Some(QueryType::ConflictCheck) && self.parsed.data.title.is_some() {
            self.parsed.time_window = Some(span);
        }
    }

    fn set_span(&mut self, span: Option<TimeRange>) {
        let data = &mut self.parsed.data;
        (data.start_time, data.end_time) = (span.map(|span| span.start), span.map(|span| span.end));
    }

    /// Sets a time range with one or both ends given. Default: from now, or until the end of the day.
    fn set_window(&mut self, from: Option<Time>, to: Option<Time>) {
        let day_end = |time: Time| {
            let next = self.zone.to_local(time).date().tomorrow().ok()?;
            self.zone.to_instant(next.to_datetime(jiff::civil::Time::midnight())).ok()
        };
        let (Some(from), Some(to)) = (from.or(to.map(|_| self.request.now)), to.or_else(|| from.and_then(day_end)))
        else {
            return;
        };
        match TimeRange::new(from, to) {
            Some(span) if self.model_parse.event_type == EventType::Query => {
                self.set_span(Some(span));
                self.set_open_range(span);
            }
            Some(span) if span.end > self.request.now => self.parsed.time_window = Some(span),
            Some(_) => self.parsed.problems.push("That time is in the past.".to_owned()),
            None => self.parsed.problems.push("The end is before the start.".to_owned()),
        }
    }

    /// Adds findings of the rules that the model cannot overrule.
    fn apply_rule_results(&mut self) {
        let (rules, parsed) = (self.rules.full, &mut self.parsed);
        let is_named = |id: &String| {
            let EventEdit { add_people, remove_people, add_resources, remove_resources, .. } = &parsed.edit;
            let named = [&parsed.data.participants, &parsed.data.resources];
            named
                .iter()
                .chain(&[add_people, remove_people, add_resources, remove_resources])
                .any(|ids| ids.contains(id))
        };
        let is_open = |unknown: &&UnknownName| {
            !unknown.near.iter().any(is_named)
                && !parsed.unknown_names.iter().any(|existing| existing.text == unknown.text)
        };
        let more: Vec<UnknownName> = rules.unknown_names.iter().filter(is_open).cloned().collect();
        parsed.unknown_names.extend(more);
        if self.rules.full.data.event_type != self.model_parse.event_type {
            return;
        }
        let problems = &self.rules.last_answer_with_time().unwrap_or(rules).problems;
        if !problems.is_empty() {
            parsed.problems.clone_from(problems);
        }
        // Dates and times were compared. The model cannot resolve other ambiguities that the rules found.
        let is_not_compared =
            |ambiguity: &&Ambiguity| !matches!(ambiguity.about, SpanKind::Intent | SpanKind::Date | SpanKind::Time);
        let is_new =
            |ambiguity: &&Ambiguity| !parsed.ambiguities.iter().any(|existing| existing.about == ambiguity.about);
        let ambiguities: Vec<Ambiguity> =
            rules.ambiguities.iter().filter(is_not_compared).filter(is_new).cloned().collect();
        parsed.ambiguities.extend(ambiguities);
    }

    /// Computes the confidence with the weights of the rules.
    fn weights(&mut self) -> ConfidenceWeights {
        let parsed = &mut self.parsed;
        let (data, mut weights) = (&parsed.data, ConfidenceWeights::default());
        let has_when = data.start_time.is_some() || parsed.time_window.is_some();
        let parts: Vec<(&'static str, i32, MissingField, bool)> = match data.event_type {
            EventType::Create => vec![
                ("title", 20, MissingField::Title, data.title.is_some()),
                ("date", 15, MissingField::Date, has_when || data.recurrence_rule.is_some()),
                ("time", 15, MissingField::Time, data.start_time.is_some()),
            ],
            EventType::Modify | EventType::Cancel => {
                let is_edited = parsed.edit != EventEdit::default() || data.recurrence_rule.is_some();
                let sets_attribute = data.priority.is_some() || data.flexibility.is_some();
                let has_change = data.event_type == EventType::Cancel || has_when || is_edited || sets_attribute;
                vec![
                    ("one matching event", 35, MissingField::Event, parsed.event_ids.len() == 1),
                    ("what to change", 15, MissingField::Change, has_change),
                ]
            }
            EventType::Query => {
                let is_about = !data.participants.is_empty() || !data.resources.is_empty() || data.title.is_some();
                vec![(
                    "range or subject",
                    25,
                    MissingField::Subject,
                    has_when || is_about || !parsed.event_ids.is_empty(),
                )]
            }
        };
        weights.add("intent", 15, true);
        if data.event_type == EventType::Query {
            weights.add("kind", 25, true);
        }
        for (name, hundredths, missing, is_present) in parts {
            weights.add(name, hundredths, is_present);
            parsed.missing.extend((!is_present).then_some(missing));
        }
        weights
    }
}

/// Returns the parsed parts for display, if the result differs from that of the rules.
fn parsed_spans(parsed: &ParsedRequest, request: &ParseInput<'_>, zone: &NamedTimeZone) -> Vec<ParsedSpan> {
    let (data, snapshot) = (&parsed.data, request.snapshot);
    let span =
        |part: SpanKind, text: &str, value: &str| ParsedSpan { part, text: text.to_owned(), value: value.to_owned() };
    let intent = confidence::name(data.event_type);
    let mut spans = vec![span(SpanKind::Intent, intent, intent)];
    spans.extend(data.title.iter().map(|title| span(SpanKind::Title, title, title)));
    if let Some(start) = data.start_time.map(|start| zone.to_local(start)) {
        spans.push(span(SpanKind::Date, &format_date(start.date()), &start.date().to_string()));
        let clock = start.strftime("%-H:%M").to_string();
        spans.push(span(SpanKind::Time, &clock, &clock));
    }
    if let (None, Some(window)) = (data.start_time, &parsed.time_window) {
        let day = zone.to_local(window.start).date();
        spans.push(span(SpanKind::Date, &format_date(day), &day.to_string()));
    }
    spans.extend(data.recurrence_rule.iter().map(|rule| span(SpanKind::Repeat, rule, rule)));
    let people = data.participants.iter().filter_map(|id| snapshot.members.get(id));
    spans.extend(people.map(|member| span(SpanKind::Person, &member.name, &member.id)));
    let resources = data.resources.iter().filter_map(|id| snapshot.resources.get(id));
    spans.extend(resources.map(|resource| span(SpanKind::Resource, &resource.name, &resource.id)));
    spans
}
