//! Whether two readers of a sentence mean the same day and time; where they do not, the family is asked which.

use std::collections::BTreeSet;

use super::joined::{ByRules, says};
use super::{Doubt, Part, Understood};
use crate::agents::words;
use crate::calendar::Span;
use crate::models::EventType;
use crate::workflow::SURE;
use crate::zone::Zone;

/// The most that one can be sure of what two readers disagree about.
const UNSURE: f64 = 0.69;

/// When something is: just then, or some time within.
#[derive(Clone, Copy)]
enum When {
    At(Span),
    Within(Span),
}

/// Compares a model's reading with that of the rules, and lowers how sure it is where they disagree. A time that only the
/// rules read is taken from them, to be asked about.
pub(super) fn compare(understood: &mut Understood, rules: ByRules<'_>, zone: &Zone) {
    let other = rules.whole;
    if understood.data.event_type != other.data.event_type {
        // Rules that did not understand the sentence have no say in what is wanted.
        if other.confidence.value() >= SURE {
            disagree(understood, "what is wanted", None);
        }
        return;
    }
    let last = rules.last_on_time();
    match (when(last.unwrap_or(other)), when(understood)) {
        (None, None) => {}
        (Some(theirs), Some(own)) => {
            let is_same = match last {
                Some(last) => is_same_in_part((theirs, own), last, zone),
                None => is_same((theirs, own), other, zone),
            };
            if !is_same {
                ask_which((theirs, own), understood, zone);
            }
        }
        (None, Some(own)) => disagree(understood, "when it is", Some(format!("Is it {}?", told(own, zone)))),
        (Some(theirs), None) => {
            take(understood, theirs);
            disagree(understood, "when it is", Some(format!("Is it {}?", told(theirs, zone))));
        }
    }
    let parts = |rule: &Option<String>| -> BTreeSet<String> {
        rule.iter().flat_map(|rule| rule.split(';')).map(str::to_owned).collect()
    };
    if parts(&understood.data.recurrence_rule) != parts(&other.data.recurrence_rule) {
        disagree(understood, "how it repeats", None);
    }
}

fn when(understood: &Understood) -> Option<When> {
    let data = &understood.data;
    let exact = data.start_time.zip(data.end_time).map(|(start, end)| When::At(Span { start, end }));
    exact.or(understood.within.map(When::Within))
}

/// Whether both are the same. How long it is counts where that was said: a length, or from when to when.
fn is_same((theirs, own): (When, When), rules: &Understood, zone: &Zone) -> bool {
    let (theirs, own) = match (theirs, own) {
        (When::At(theirs), When::At(own)) => (theirs, own),
        (When::Within(theirs), When::Within(own)) => return theirs.meets(&own),
        _ => return false,
    };
    let is_range = rules.found.iter().any(|found| found.part == Part::Time && found.value.contains(" - "));
    let is_long = !(is_range || says(rules, Part::Length)) || theirs.minutes() == own.minutes();
    // Where nothing is written, and no time of the day was said, the day decides.
    if rules.data.event_type == EventType::Query && !says(rules, Part::Time) {
        return zone.wall(theirs.start).date() == zone.wall(own.start).date();
    }
    theirs.start == own.start && is_long
}

/// The same for an answer that may say just one of them: a time alone says nothing of the day, nor a day of the time.
fn is_same_in_part((theirs, own): (When, When), last: &Understood, zone: &Zone) -> bool {
    let (When::At(theirs) | When::Within(theirs), When::At(own)) = (theirs, own) else {
        return is_same((theirs, own), last, zone);
    };
    let (there, here) = (zone.wall(theirs.start), zone.wall(own.start));
    let is_day = !says(last, Part::Date) || there.date() == here.date();
    is_day && (!says(last, Part::Time) || there.time() == here.time())
}

fn ask_which((theirs, own): (When, When), understood: &mut Understood, zone: &Zone) {
    if let (When::At(theirs), When::At(own)) = (theirs, own) {
        understood.either = vec![own, theirs];
    }
    let question = format!("Is it {}, or {}?", told(own, zone), told(theirs, zone));
    disagree(understood, "when it is", Some(question));
}

fn told(when: When, zone: &Zone) -> String {
    match when {
        When::At(span) => words::stretch(zone, &span),
        When::Within(span) => format!("some time on {}", words::day(zone.wall(span.start).date())),
    }
}

fn take(understood: &mut Understood, when: When) {
    match when {
        When::At(span) => {
            (understood.data.start_time, understood.data.end_time) = (Some(span.start), Some(span.end));
        }
        When::Within(span) => understood.within = Some(span),
    }
}

fn disagree(understood: &mut Understood, about: &str, question: Option<String>) {
    understood.confidence = understood.confidence.at_most(UNSURE);
    understood.reasoning += &format!("; the two disagree on {about}");
    if let Some(question) = question {
        understood.doubts.insert(0, Doubt::new(Part::Time, question));
    }
}
