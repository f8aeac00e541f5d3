//! What a sentence means when a language model and the rules both read it.
//!
//! The model's reading is held against the calendar and the clock as any other is, and is never surer than what was found
//! allows. Where the two readers disagree on a day or a time, confidence is at most 0.69, so that the family is asked.
//! Where the rules see several events, names or instances of a series, the model does not choose among them. What it alone
//! would change or cancel is asked about, and so is a series of which it reads more, less or another one than the rules.

use jiff::civil::DateTime;
use superstep::Result;
use superstep::core::time::Time;

use super::days::written;
use super::heard::{Heard, Named, time, unfit};
use super::score::{self, Weights};
use super::when::next_weekday;
use super::{Doubt, Edit, Found, LABEL, Missing, Part, Request, Understood, UnknownName, compared, draft};
use crate::agents::sees;
use crate::calendar::{Event, Span, check_rule};
use crate::models::{EventStatus, EventType, QueryType};
use crate::zone::Zone;

/// What the rules read of the same words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByRules<'a> {
    /// All that was said.
    pub(crate) whole: &'a Understood,
    /// The last answer alone, where one was given in words.
    pub(crate) last: Option<&'a Understood>,
    /// The event that was picked from a list.
    pub(crate) picked: Option<&'a str>,
}

impl<'a> ByRules<'a> {
    /// The last answer, if it says when it is.
    pub(super) fn last_on_time(self) -> Option<&'a Understood> {
        self.last.filter(|last| says(last, Part::Date) || says(last, Part::Time))
    }
}

/// Whether something of this part was found.
pub(super) fn says(understood: &Understood, part: Part) -> bool {
    understood.found.iter().any(|found| found.part == part)
}

/// What a sentence means to a model and to the rules.
///
/// # Errors
/// `TypeMismatch` when something the model said breaks the form.
pub(crate) fn joined(request: &Request<'_>, heard: &Heard, rules: ByRules<'_>, model: &str) -> Result<Understood> {
    let zone = Zone::named(&request.board.family.zone)?;
    let understood = draft::nothing();
    let mut joining = Joining { request: *request, zone, heard, rules, understood, other_than_rules: None };
    joining.name();
    joining.choose_event()?;
    joining.place()?;
    joining.keep_of_rules();
    let weights = joining.weights();
    let Joining { zone, mut understood, other_than_rules, .. } = joining;
    let (doubts, unknown) = (understood.doubts.len(), understood.unknown.len());
    let confidence = weights.confidence(doubts, unknown).at_most(heard.confidence.value());
    understood.confidence = confidence;
    let same = understood.data == rules.whole.data;
    understood.found = if same { rules.whole.found.clone() } else { found(&understood, request, &zone) };
    let how = weights.written(doubts, unknown);
    let sure = heard.confidence;
    understood.reasoning = format!("language model {model} ({sure}) beside the {LABEL}: {how}");
    compared::compare(&mut understood, rules, request.board, &zone);
    if let Some(doubt) = other_than_rules {
        compared::disagree(&mut understood, "which of a series", doubt);
    }
    if let (Some(start), Some(end)) = (understood.data.start_time, understood.data.end_time) {
        understood.is_all_day &= is_of_days(&Span { start, end }, &zone);
    }
    Ok(understood)
}

/// Whether a time begins and ends with a day.
fn is_of_days(span: &Span, zone: &Zone) -> bool {
    [span.start, span.end].into_iter().all(|time| zone.wall(time).time() == jiff::civil::Time::midnight())
}

/// A reading in the making.
struct Joining<'a> {
    request: Request<'a>,
    zone: Zone,
    heard: &'a Heard,
    rules: ByRules<'a>,
    understood: Understood,
    /// What to ask where the model reads another part of a series than the rules do.
    other_than_rules: Option<Doubt>,
}

impl Joining<'_> {
    /// Whether the rules read the same intent.
    fn is_same_intent(&self) -> bool {
        self.rules.whole.data.event_type == self.heard.event_type
    }

    fn name(&mut self) {
        let (heard, mut named) = (self.heard, Named::new(self.request.board));
        let data = &mut self.understood.data;
        data.event_type = heard.event_type;
        data.title = heard.title.as_deref().map(str::trim).filter(|title| !title.is_empty()).map(str::to_owned);
        (data.priority, data.flexibility) = (heard.priority, heard.flexibility);
        data.participants = named.people(&heard.participants);
        data.resources = named.things(&heard.resources);
        if heard.event_type == EventType::Modify {
            self.understood.edit = Edit {
                add_people: named.people(&heard.edit.add_people),
                remove_people: named.people(&heard.edit.remove_people),
                add_resources: named.things(&heard.edit.add_resources),
                remove_resources: named.things(&heard.edit.remove_resources),
                title: heard.edit.title.clone().filter(|title| !title.trim().is_empty()),
            };
        }
        self.understood.unknown = named.unknown;
        self.understood.is_all_day = heard.is_all_day;
        self.understood.minutes = self.rules.whole.minutes;
        if heard.event_type == EventType::Query {
            let usual = self.rules.whole.query.unwrap_or(QueryType::EventLookup);
            let query = *self.understood.query.insert(heard.query_type.unwrap_or(usual));
            let is_other = query != QueryType::ConflictCheck || self.understood.data.title.is_some();
            self.understood.is_about_clashes = self.rules.whole.is_about_clashes && !is_other;
        }
    }

    /// Which event is meant, and which of a series.
    fn choose_event(&mut self) -> Result<()> {
        let board = self.request.board;
        let theirs: &[String] = if self.is_same_intent() { &self.rules.whole.which } else { &[] };
        if !matches!(self.heard.event_type, EventType::Modify | EventType::Cancel) {
            self.understood.which = theirs.to_vec();
            return Ok(());
        }
        let which = self.meant(theirs);
        let occurrence = time(self.heard.occurrence.as_ref(), "/occurrence", &self.zone)?.and_then(Result::ok);
        if let Some(event) = which.first().filter(|_| which.len() == 1).and_then(|id| board.events.get(id)) {
            let (is_same, is_series) = (theirs == which, event.recurrence.is_some());
            let instance = self.instance(event, occurrence);
            let said = self.heard.scope.or(occurrence.map(|_| super::Scope::This));
            let (rules, understood) = (self.rules.whole, &mut self.understood);
            // The time of a cancellation is its instance, and is compared with all other times.
            let is_theirs = is_same && (occurrence.is_none() || self.heard.event_type == EventType::Modify);
            understood.instance = rules.instance.filter(|_| is_theirs).or(instance);
            understood.scope = if is_same { rules.scope } else { said }.filter(|_| is_series);
            if is_same && is_series {
                let own = (said, occurrence.and(instance));
                self.other_than_rules = compared::other_of_series(understood, own, &self.zone);
            }
            understood.data.title = understood.edit.title.clone().or_else(|| Some(event.title.clone()));
            if let (None, Some(_), Some(at)) = (understood.scope, &event.recurrence, understood.instance) {
                let day = written(self.zone.wall(at.start).date());
                understood.doubts.push(Doubt::new(Part::Scope, format!("Only the one on {day}, or all of them?")));
            }
        }
        self.understood.which = which;
        Ok(())
    }

    /// The events that may be meant: the one that was picked, else those of both readers.
    fn meant(&self, theirs: &[String]) -> Vec<String> {
        if let Some(id) = self.rules.picked.filter(|id| self.can_be_meant(id)) {
            return vec![id.to_owned()];
        }
        // Once the family has answered, the model may say which of several it is.
        let others = theirs.iter().filter(|_| self.rules.last.is_none() || self.heard.events.is_empty());
        let mut which: Vec<String> = Vec::new();
        for id in self.heard.events.iter().chain(others).filter(|id| self.can_be_meant(id)) {
            if !which.contains(id) {
                which.push(id.clone());
            }
        }
        which
    }

    /// Whether an event is on the calendar, and the speaker knows of it.
    fn can_be_meant(&self, id: &str) -> bool {
        let event = self.request.board.events.get(id);
        let is_known = |event: &Event| sees(self.request.board, self.request.speaker, event);
        event.is_some_and(|event| event.status == EventStatus::Confirmed && is_known(event))
    }

    /// The instance on the day that was said, else the next one.
    fn instance(&self, event: &std::sync::Arc<Event>, occurrence: Option<Time>) -> Option<Span> {
        let now = self.request.now;
        let end = Time::from_unix_micros(now.as_unix_micros() + 400 * 86_400_000_000).ok()?;
        let coming = self.request.board.instances_of(event, &Span::new(now, end)?).ok()?;
        let day = |time: Time| self.zone.wall(time).date();
        let is_then = |at: &Span| occurrence.is_none_or(|then| day(then) == day(at.start));
        coming.iter().map(|one| one.span).find(is_then)
    }

    /// When it is to be, or which stretch of time is asked about.
    fn place(&mut self) -> Result<()> {
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
        let heard = self.heard;
        let (start, end) =
            (read(heard.start_time.as_ref(), "/start_time")?, read(heard.end_time.as_ref(), "/end_time")?);
        let (from, to) = (read(heard.earliest.as_ref(), "/earliest")?, read(heard.latest.as_ref(), "/latest")?);
        if heard.start_time.is_none() && end.is_some() {
            return Err(unfit("/end_time", "there is no `start_time`"));
        }
        self.understood.problems = problems;
        if heard.event_type == EventType::Cancel {
            let is_one = !matches!(self.understood.scope, Some(super::Scope::All | super::Scope::Following));
            self.put(self.understood.instance.filter(|_| is_one));
            return Ok(());
        }
        let start = self.repeat(start);
        match start {
            Some(start) => {
                let end = end.filter(|_| heard.recurrence_rule.is_none() || end > Some(start));
                let span = Span::new(start, end.or_else(|| self.end_after(start)).unwrap_or(start));
                self.check(span, "then it ends before it starts");
            }
            None => self.put_within(from, to),
        }
        Ok(())
    }

    /// The rule, and the first time that it falls on.
    fn repeat(&mut self, start: Option<Time>) -> Option<Time> {
        let Some(rule) = self.heard.recurrence_rule.as_deref().filter(|rule| !rule.trim().is_empty()) else {
            return start;
        };
        let first = self.zone.wall(start.unwrap_or(self.request.now));
        match check_rule(rule, first, &self.zone) {
            Ok(checked) => {
                self.understood.data.recurrence_rule = Some(checked.rule);
                start.and_then(|_| self.zone.instant(checked.first).ok())
            }
            Err(error) => {
                self.understood.problems.push(error.message().to_owned());
                None
            }
        }
    }

    /// When something ends of which only the start was said.
    fn end_after(&self, start: Time) -> Option<Time> {
        let of_instance = self.understood.instance.filter(|_| self.heard.event_type == EventType::Modify);
        let preferred = self.request.board.members.get(self.request.speaker).map(|one| one.preferences.default_minutes);
        let said = self.understood.minutes.or(preferred).map_or(60, i64::from);
        let minutes = of_instance.map_or(said, |span| span.minutes());
        Time::from_unix_micros(start.as_unix_micros() + minutes * 60_000_000).ok().map(|end| self.here(end))
    }

    fn here(&self, time: Time) -> Time {
        self.zone.written(time).unwrap_or(time)
    }

    /// Takes a time that can be.
    fn check(&mut self, span: Option<Span>, otherwise: &str) {
        let Some(span) = span else { return self.understood.problems.push(otherwise.to_owned()) };
        let is_planned = self.heard.event_type != EventType::Query && self.understood.data.recurrence_rule.is_none();
        let last = if self.heard.is_all_day && is_of_days(&span, &self.zone) { span.end } else { span.start };
        if is_planned && last < self.request.now {
            let (start, now): (DateTime, DateTime) = (self.zone.wall(span.start), self.zone.wall(self.request.now));
            let (day, next) = (written(start.date()), next_weekday(start.date(), now));
            let problem = format!("that was on {day} at {}; did you mean {next}?", start.strftime("%H:%M"));
            return self.understood.problems.push(problem);
        }
        self.put(Some(span));
        if !self.heard.is_all_day && is_of_days(&span, &self.zone) {
            self.put_open(span);
        }
    }

    /// `Does a haircut fit on Saturday?` asks for some time of the day, not for all of it.
    fn put_open(&mut self, span: Span) {
        if self.understood.query == Some(QueryType::ConflictCheck) && self.understood.data.title.is_some() {
            self.understood.within = Some(span);
        }
    }

    fn put(&mut self, span: Option<Span>) {
        let data = &mut self.understood.data;
        (data.start_time, data.end_time) = (span.map(|span| span.start), span.map(|span| span.end));
    }

    /// A stretch of time of which only one end was said is that day.
    fn put_within(&mut self, from: Option<Time>, to: Option<Time>) {
        let day_end = |time: Time| {
            let next = self.zone.wall(time).date().tomorrow().ok()?;
            self.zone.instant(next.to_datetime(jiff::civil::Time::midnight())).ok()
        };
        let (Some(from), Some(to)) = (from.or(to.map(|_| self.request.now)), to.or_else(|| from.and_then(day_end)))
        else {
            return;
        };
        match Span::new(from, to) {
            Some(span) if self.heard.event_type == EventType::Query => {
                self.put(Some(span));
                self.put_open(span);
            }
            Some(span) if span.end > self.request.now => self.understood.within = Some(span),
            Some(_) => self.understood.problems.push("that time is over".to_owned()),
            None => self.understood.problems.push("then it ends before it starts".to_owned()),
        }
    }

    /// What the rules found out that the model does not decide.
    fn keep_of_rules(&mut self) {
        let (rules, understood) = (self.rules.whole, &mut self.understood);
        let is_named = |id: &String| {
            let Edit { add_people, remove_people, add_resources, remove_resources, .. } = &understood.edit;
            let named = [&understood.data.participants, &understood.data.resources];
            named
                .iter()
                .chain(&[add_people, remove_people, add_resources, remove_resources])
                .any(|ids| ids.contains(id))
        };
        let is_open = |unknown: &&UnknownName| {
            !unknown.near.iter().any(is_named) && !understood.unknown.iter().any(|one| one.text == unknown.text)
        };
        let more: Vec<UnknownName> = rules.unknown.iter().filter(is_open).cloned().collect();
        understood.unknown.extend(more);
        if self.rules.whole.data.event_type != self.heard.event_type {
            return;
        }
        let problems = &self.rules.last_on_time().unwrap_or(rules).problems;
        if !problems.is_empty() {
            understood.problems.clone_from(problems);
        }
        // When it is was compared; what else the rules doubt, the model does not know better.
        let is_theirs = |doubt: &&Doubt| !matches!(doubt.about, Part::Intent | Part::Date | Part::Time);
        let is_new = |doubt: &&Doubt| !understood.doubts.iter().any(|one| one.about == doubt.about);
        let doubts: Vec<Doubt> = rules.doubts.iter().filter(is_theirs).filter(is_new).cloned().collect();
        understood.doubts.extend(doubts);
    }

    /// What was found and what was not, with the weights that the rules have.
    fn weights(&mut self) -> Weights {
        let understood = &mut self.understood;
        let (data, mut weights) = (&understood.data, Weights::default());
        let has_when = data.start_time.is_some() || understood.within.is_some();
        let parts: Vec<(&'static str, i32, Missing, bool)> = match data.event_type {
            EventType::Create => vec![
                ("title", 20, Missing::Title, data.title.is_some()),
                ("date", 15, Missing::Date, has_when || data.recurrence_rule.is_some()),
                ("time", 15, Missing::Time, data.start_time.is_some()),
            ],
            EventType::Modify | EventType::Cancel => {
                let is_edited = understood.edit != Edit::default() || data.recurrence_rule.is_some();
                let matters = data.priority.is_some() || data.flexibility.is_some();
                let has_change = data.event_type == EventType::Cancel || has_when || is_edited || matters;
                vec![
                    ("one matching event", 35, Missing::Event, understood.which.len() == 1),
                    ("what to change", 15, Missing::Change, has_change),
                ]
            }
            EventType::Query => {
                let is_about = !data.participants.is_empty() || !data.resources.is_empty() || data.title.is_some();
                vec![("range or subject", 25, Missing::Subject, has_when || is_about || !understood.which.is_empty())]
            }
        };
        weights.add("intent", 15, true);
        if data.event_type == EventType::Query {
            weights.add("kind", 25, true);
        }
        for (name, hundredths, missing, is_there) in parts {
            weights.add(name, hundredths, is_there);
            understood.missing.extend((!is_there).then_some(missing));
        }
        weights
    }
}

/// What was understood, piece by piece, where it is not what the rules read in the words.
fn found(understood: &Understood, request: &Request<'_>, zone: &Zone) -> Vec<Found> {
    let (data, board) = (&understood.data, request.board);
    let piece = |part: Part, text: &str, value: &str| Found { part, text: text.to_owned(), value: value.to_owned() };
    let intent = score::name(data.event_type);
    let mut found = vec![piece(Part::Intent, intent, intent)];
    found.extend(data.title.iter().map(|title| piece(Part::Title, title, title)));
    if let Some(start) = data.start_time.map(|start| zone.wall(start)) {
        found.push(piece(Part::Date, &written(start.date()), &start.date().to_string()));
        let clock = start.strftime("%-H:%M").to_string();
        found.push(piece(Part::Time, &clock, &clock));
    }
    if let (None, Some(within)) = (data.start_time, &understood.within) {
        let day = zone.wall(within.start).date();
        found.push(piece(Part::Date, &written(day), &day.to_string()));
    }
    found.extend(data.recurrence_rule.iter().map(|rule| piece(Part::Repeat, rule, rule)));
    let people = data.participants.iter().filter_map(|id| board.members.get(id));
    found.extend(people.map(|one| piece(Part::Person, &one.name, &one.id)));
    let things = data.resources.iter().filter_map(|id| board.resources.get(id));
    found.extend(things.map(|one| piece(Part::Resource, &one.name, &one.id)));
    found
}
