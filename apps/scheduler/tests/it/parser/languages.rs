//! German and Spanish sentences, and arbitrary text.

use proptest::prelude::*;
use superstep_scheduler::models::EventType;
use superstep_scheduler::parser::LABEL;
use superstep_scheduler::sample;

use super::{read, read_on};

/// R-FAM-113: dates, times and verbs in German and Spanish, by rules alone.
#[test]
fn german_and_spanish_are_parsed() {
    let rows = [
        ("Trag Fußball morgen um 14 Uhr ein", EventType::Create, "2026-01-09T14:00"),
        ("Fußball übermorgen um halb vier", EventType::Create, "2026-01-10T15:30"),
        ("Fußball nächsten Freitag um Viertel vor fünf", EventType::Create, "2026-01-16T16:45"),
        ("Fußball am 11.1. um 9.30 Uhr", EventType::Create, "2026-01-11T09:30"),
        ("Fußball am 3. März um 17 Uhr für anderthalb Stunden", EventType::Create, "2026-03-03T17:00"),
        ("Fußball Samstag um 8 Uhr abends", EventType::Create, "2026-01-10T20:00"),
        ("Verschiebe den Zahnarzt auf Freitag um 10 Uhr", EventType::Modify, "2026-01-09T10:00"),
        ("Sag den Zahnarzt ab", EventType::Cancel, "2026-01-14T15:30"),
        ("Fußball Freitagabend um 8", EventType::Create, "2026-01-09T20:00"),
        ("Was ist morgen los?", EventType::Query, "2026-01-09T00:00"),
        ("Programa fútbol mañana a las 2 de la tarde", EventType::Create, "2026-01-09T14:00"),
        ("Fútbol pasado mañana a las tres y media", EventType::Create, "2026-01-10T15:30"),
        ("Fútbol el próximo viernes a las cinco menos cuarto", EventType::Create, "2026-01-16T16:45"),
        ("Fútbol el 3 de marzo a las 17:00 durante dos horas", EventType::Create, "2026-03-03T17:00"),
        ("Mueve el dentista al viernes a las 10 de la mañana", EventType::Modify, "2026-01-09T10:00"),
        ("Cancela el dentista", EventType::Cancel, "2026-01-14T15:30"),
        ("¿Qué hay mañana?", EventType::Query, "2026-01-09T00:00"),
    ];
    for (text, intent, start) in rows {
        let parsed = read(text);
        let actual = parsed.data.start_time.map(|time| time.to_string()).unwrap_or_default();
        assert_eq!(parsed.data.event_type, intent, "{text}");
        assert!(actual.starts_with(start), "{text}: {actual} {parsed:?}");
        assert!(parsed.reasoning.starts_with(LABEL), "{text}");
    }
}

/// R-FAM-113: recurrence in German and Spanish.
#[test]
fn german_and_spanish_series_are_parsed() {
    let rows = [
        ("Klavier jeden Dienstag um 17 Uhr", "FREQ=WEEKLY;BYDAY=TU"),
        ("Klavier alle zwei Wochen am Freitag um 17 Uhr", "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR"),
        ("Klavier werktags um 17 Uhr", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
        ("Miete monatlich am 15. um 9 Uhr", "FREQ=MONTHLY;BYMONTHDAY=15"),
        ("Klavier jeden Dienstag um 17 Uhr bis Juni", "FREQ=WEEKLY;BYDAY=TU;UNTIL=20260601T035959Z"),
        ("Tabletten jeden zweiten Tag um 9 Uhr", "FREQ=DAILY;INTERVAL=2"),
        ("Tabletten jeden 2. Tag um 9 Uhr", "FREQ=DAILY;INTERVAL=2"),
        ("Miete jeden zweiten Monat um 9 Uhr", "FREQ=MONTHLY;INTERVAL=2"),
        ("Miete jeden 15. um 9 Uhr", "FREQ=MONTHLY;BYMONTHDAY=15"),
        ("Buchclub jeden ersten Montag um 19 Uhr", "FREQ=MONTHLY;BYDAY=1MO"),
        ("Spaziergang jeden Tag außer Sonntag um 9 Uhr", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR,SA"),
        ("Club cada primer lunes a las 19:00", "FREQ=MONTHLY;BYDAY=1MO"),
        ("Paseo todos los días menos el domingo a las 9:00", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR,SA"),
        ("Piano cada martes a las 17:00", "FREQ=WEEKLY;BYDAY=TU"),
        ("Piano todos los días a las 17:00", "FREQ=DAILY"),
        ("Piano los lunes y miércoles a las 17:00, 10 veces", "FREQ=WEEKLY;BYDAY=MO,WE;COUNT=10"),
        ("Alquiler el 15 de cada mes a las 9:00", "FREQ=MONTHLY;BYMONTHDAY=15"),
    ];
    for (text, rule) in rows {
        assert_eq!(read(text).data.recurrence_rule.as_deref(), Some(rule), "{text}");
    }
}

/// Generates known words in any order.
fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "schedule",
        "cancel",
        "move",
        "the",
        "dentist",
        "to",
        "from",
        "Saturday",
        "next",
        "every",
        "2pm",
        "at",
        "25:00",
        "99999999999",
        "30",
        "February",
        "until",
        "June",
        "for",
        "Emma",
        "'s",
        "with",
        "car",
        "in",
        "3",
        "days",
        "1st",
        "other",
        "week",
        "half",
        "past",
        "-",
        "?",
        "verschiebe",
        "auf",
        "Uhr",
        "halb",
        "jeden",
        "mañana",
        "a",
        "las",
        "remove",
        "add",
        "piano",
        "all",
        "an",
        "hour",
        "later",
        "rename",
        "31.2.",
        "1/32",
        "2026-99-99",
        "0pm",
        "times",
    ]);
    prop::collection::vec(word, 0..14).prop_map(|words| words.join(" "))
}

proptest! {
    /// R-FAM-102: for any text, the confidence is in range, times are ordered, and parsed spans occur in the text.
    #[test]
    fn any_text_gives_a_valid_parse(text in prop_oneof![words(), any::<String>()]) {
        for snapshot in [sample::empty_family(), sample::family()] {
            let parsed = read_on(&snapshot, &text);
            let confidence = parsed.confidence.value();
            prop_assert!((0.05..=0.99).contains(&confidence));
            if let (Some(start), Some(end)) = (parsed.data.start_time, parsed.data.end_time) {
                prop_assert!(start < end, "{start} {end}");
            }
            let is_in_text = |span: &superstep_scheduler::parser::ParsedSpan| span.part == superstep_scheduler::parser::SpanKind::Title || text.contains(&span.text);
            prop_assert!(parsed.spans.iter().all(is_in_text));
            // Parsing is deterministic.
            prop_assert_eq!(read_on(&snapshot, &text), parsed);
        }
    }
}
