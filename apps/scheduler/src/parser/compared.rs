//! Whether two readers of a sentence mean the same; where they do not, the family is asked which.

use std::collections::BTreeSet;

use super::days::written;
use super::joined::{ByRules, says};
use super::{Doubt, Part, Scope, Understood};
use crate::agents::words;
use crate::calendar::{Board, Span};
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
pub(super) fn compare(understood: &mut Understood, rules: ByRules<'_>, board: &Board, zone: &Zone) {
    let other = rules.whole;
    let (wanted, is_same_intent) = (understood.data.event_type, understood.data.event_type == other.data.event_type);
    let is_change = matches!(wanted, EventType::Modify | EventType::Cancel);
    let is_alone = is_change && understood.which.len() == 1 && !(is_same_intent && other.which == understood.which);
    if is_alone {
        // A title that somebody else wrote may have talked the model into it. The question tells the time as well.
        return disagree(understood, "which event is meant", Doubt::new(Part::Event, whether(understood, board, zone)));
    }
    // A question writes nothing, so that rules that did not understand it need not agree on when.
    if is_same_intent || wanted != EventType::Query {
        compare_times(understood, rules, zone);
    }
    // `All lessons next week` is for the family to tell, not for a model.
    let is_open = other.doubts.iter().any(|doubt| doubt.about == Part::Scope) && other.confidence.value() < SURE;
    if is_same_intent && is_open && rules.last.is_none() {
        understood.confidence = understood.confidence.at_most(UNSURE);
    }
    // Rules that did not understand the sentence have no say in what is wanted.
    if !is_same_intent && other.confidence.value() >= SURE {
        disagree(understood, "what is wanted", Doubt::new(Part::Intent, whether(understood, board, zone)));
    }
}

/// Asks whether that is wanted of which the rules read nothing.
fn whether(understood: &Understood, board: &Board, zone: &Zone) -> String {
    let event = understood.which.first().and_then(|id| board.events.get(id));
    let title = event.map(|event| event.title.as_str()).or(understood.data.title.as_deref());
    let name = title.map_or_else(|| "something".to_owned(), words::quoted);
    let one = understood.instance.map(|at| format!("{name} on {}", words::stretch(zone, &at)));
    let one = one.unwrap_or_else(|| name.clone());
    let which = match understood.scope {
        Some(Scope::All) => format!("all of {name}"),
        Some(Scope::Following) => format!("{one} and all that follow"),
        Some(Scope::This) | None => one,
    };
    let to = when(understood).map(|when| told(when, zone));
    match (understood.data.event_type, to) {
        (EventType::Create, Some(to)) => format!("Shall I plan {name} for {to}?"),
        (EventType::Create, None) => format!("Shall I plan {name}?"),
        (EventType::Modify, Some(to)) => format!("Shall I change {which}, to {to}?"),
        (EventType::Modify, None) => format!("Shall I change {which}?"),
        (EventType::Cancel, _) => format!("Shall I cancel {which}?"),
        (EventType::Query, _) => "Do you want to know something about the calendar?".to_owned(),
    }
}

/// What to ask where a model reads another part of a series than the rules, whose reading stands: one, all or those that
/// follow, or another one.
pub(super) fn other_of_series(
    understood: &Understood,
    (scope, instance): (Option<Scope>, Option<Span>),
    zone: &Zone,
) -> Option<Doubt> {
    let at = understood.instance?;
    let day = written(zone.wall(at.start).date());
    if scope.is_none_or(|scope| scope == understood.scope.unwrap_or(Scope::This)) {
        let is_other = instance.is_some_and(|instance| instance != at);
        return is_other.then(|| Doubt::new(Part::Event, format!("Is the one on {day} meant?")));
    }
    let question = match understood.scope {
        None => format!("Only the one on {day}, or all of them?"),
        Some(Scope::This) => format!("Is only the one on {day} meant?"),
        Some(Scope::Following) => format!("Is the one on {day} meant, with all that follow?"),
        Some(Scope::All) => "Are all of them meant?".to_owned(),
    };
    Some(Doubt::new(Part::Scope, question))
}

fn compare_times(understood: &mut Understood, rules: ByRules<'_>, zone: &Zone) {
    let (other, last) = (rules.whole, rules.last_on_time());
    let is_it = |when: When| Doubt::new(Part::Time, format!("Is it {}?", told(when, zone)));
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
        (None, Some(own)) => disagree(understood, "when it is", is_it(own)),
        (Some(theirs), None) => {
            take(understood, theirs);
            disagree(understood, "when it is", is_it(theirs));
        }
    }
    let parts = |rule: &Option<String>| -> BTreeSet<String> {
        rule.iter().flat_map(|rule| rule.split(';')).map(str::to_owned).collect()
    };
    if parts(&understood.data.recurrence_rule) != parts(&other.data.recurrence_rule) {
        let question = match &understood.data.recurrence_rule {
            Some(rule) => format!("Does it repeat ({rule})?"),
            None => "Is it only once?".to_owned(),
        };
        disagree(understood, "how it repeats", Doubt::new(Part::Repeat, question));
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
    disagree(understood, "when it is", Doubt::new(Part::Time, question));
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
            if understood.data.event_type == EventType::Cancel {
                understood.instance = Some(span);
            }
        }
        When::Within(span) => understood.within = Some(span),
    }
}

/// Lowers how sure it is, and asks this first.
pub(super) fn disagree(understood: &mut Understood, about: &str, doubt: Doubt) {
    understood.confidence = understood.confidence.at_most(UNSURE);
    understood.reasoning += &format!("; the two disagree on {about}");
    understood.doubts.retain(|one| *one != doubt);
    understood.doubts.insert(0, doubt);
}
