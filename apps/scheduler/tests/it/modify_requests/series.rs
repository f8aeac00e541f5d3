//! Changes of series in natural language: one occurrence, all, or this and following.

use super::*;

/// Creates a series: piano on Tuesdays at 5 pm, twenty times from December, with Christmas week excluded.
fn piano() -> Event {
    let recurrence = Recurrence {
        rule: "FREQ=WEEKLY;COUNT=20;BYDAY=TU".to_owned(),
        exdates: vec!["2025-12-23T17:00:00".parse().unwrap()],
        rdates: Vec::new(),
    };
    let first = event("piano", "Piano", ("2025-12-02T17:00:00-05:00", "2025-12-02T18:00:00-05:00"));
    Event { recurrence: Some(recurrence), ..first }
}

/// Creates an override that moves the lesson of the following week to Wednesday.
fn moved() -> Event {
    let replaced = RecurrenceOverride { series: "piano".to_owned(), start: "2026-01-13T17:00:00".parse().unwrap() };
    let event = event("moved", "Piano", ("2026-01-14T15:00:00-05:00", "2026-01-14T16:00:00-05:00"));
    Event { uid: "piano".to_owned(), recurrence_override: Some(replaced), ..event }
}

fn rule(event: &Event) -> &Recurrence {
    event.recurrence.as_ref().unwrap()
}

/// R-FAM-98: a moved lesson is cancelled alone.
#[tokio::test]
async fn cancelling_a_moved_lesson_affects_no_other() {
    let stage = Stage::new(vec![piano(), moved()]).await;
    check_done(&stage.send("Cancel piano on Wednesday").await.state);
    let snapshot = stage.snapshot().await;
    assert_eq!(snapshot.events.keys().collect::<Vec<_>>(), ["piano"]);
    let expected = ["2025-12-23T17:00:00", "2026-01-13T17:00:00"].map(|text| text.parse().unwrap());
    assert_eq!(rule(&snapshot.events["piano"]).exdates, expected);
    assert_eq!(snapshot.events["piano"].span, piano().span);
}

/// R-FAM-98: a moved lesson is moved again alone.
#[tokio::test]
async fn moving_a_moved_lesson_affects_no_other() {
    let stage = Stage::new(vec![piano(), moved()]).await;
    check_done(&stage.send("Move piano on Wednesday to 6pm").await.state);
    let snapshot = stage.snapshot().await;
    assert_eq!(*snapshot.events["piano"], piano());
    assert_eq!(snapshot.events["moved"].span, span("2026-01-14T18:00:00-05:00", "2026-01-14T19:00:00-05:00"));
    assert_eq!(snapshot.events["moved"].recurrence_override, moved().recurrence_override);
}

/// R-FAM-98: occurrences following a moved lesson get the requested time on their own day, and so does the moved
/// lesson.
#[tokio::test]
async fn following_occurrences_of_a_moved_lesson_keep_their_day() {
    let stage = Stage::new(vec![piano(), moved()]).await;
    check_done(&stage.send("Move piano on Wednesday and all following to 6pm").await.state);
    let snapshot = stage.snapshot().await;
    let weeks = span("2026-01-05T00:00:00-05:00", "2026-01-29T00:00:00-05:00");
    let mut all: Vec<String> = snapshot.events.keys().flat_map(|id| starts(&snapshot, id, &weeks)).collect();
    all.sort_unstable();
    let expected = [
        "2026-01-06T17:00:00-05:00",
        "2026-01-14T18:00:00-05:00",
        "2026-01-20T18:00:00-05:00",
        "2026-01-27T18:00:00-05:00",
    ];
    assert_eq!(all, expected);
    assert_eq!(
        snapshot.events["moved"].recurrence_override.as_ref().unwrap().start,
        "2026-01-13T18:00:00".parse().unwrap()
    );
}

/// R-FAM-98, R-FAM-127: if all lessons are selected through a moved one, every lesson gets the requested time.
#[tokio::test]
async fn moving_all_through_a_moved_instance_sets_the_requested_time() {
    let later = Event { span: span("2026-01-13T18:00:00-05:00", "2026-01-13T19:00:00-05:00"), ..moved() };
    let recital = event("recital", "Piano", ("2026-01-17T10:00:00-05:00", "2026-01-17T11:00:00-05:00"));
    let stage = Stage::new(vec![piano(), later, recital.clone()]).await;
    let waits = stage.send("Move all piano lessons to 7pm").await;
    assert!(!waits.interrupts().is_empty(), "{:?}", waits.state.notes);
    check_done(&stage.answer(json!({ "fields": { "event_id": "moved" } })).await.state);
    let snapshot = stage.snapshot().await;
    assert_eq!(snapshot.events.keys().collect::<Vec<_>>(), ["piano", "recital"]);
    assert_eq!(snapshot.events["piano"].span, span("2025-12-02T19:00:00-05:00", "2025-12-02T20:00:00-05:00"));
    assert_eq!(*snapshot.events["recital"], recital);
}

/// R-FAM-98: all occurrences of a running series shift equally in local time, including past and excluded ones.
#[tokio::test]
async fn all_occurrences_of_a_running_series_shift_equally() {
    let stage = Stage::new(vec![piano(), moved()]).await;
    let done = stage.send("Move all piano lessons to 6pm").await;
    check_done(&done.state);
    assert_eq!(done.state.proposed_event.as_ref().unwrap().start_time, time("2026-01-20T18:00:00-05:00"));
    let snapshot = stage.snapshot().await;
    let series = &snapshot.events["piano"];
    assert_eq!(series.span, span("2025-12-02T18:00:00-05:00", "2025-12-02T19:00:00-05:00"));
    assert_eq!(rule(series).rule, "FREQ=WEEKLY;COUNT=20;BYDAY=TU");
    assert_eq!(rule(series).exdates, ["2025-12-23T18:00:00".parse().unwrap()]);
    let replaced = snapshot.events["moved"].recurrence_override.as_ref().unwrap();
    assert_eq!(replaced.start, "2026-01-13T18:00:00".parse().unwrap());
}

/// R-FAM-98: the result names the next regular occurrence of a moved series, not the first, which is overridden.
#[tokio::test]
async fn the_next_regular_occurrence_of_a_moved_series_is_reported() {
    let first = event("guitar", "Guitar", ("2026-01-15T17:00:00-05:00", "2026-01-15T18:00:00-05:00"));
    let recurrence = Recurrence { rule: "FREQ=WEEKLY;BYDAY=TH".to_owned(), exdates: Vec::new(), rdates: Vec::new() };
    let stage = Stage::new(vec![Event { recurrence: Some(recurrence), ..first }]).await;
    check_done(&stage.send("Move guitar on Thursday to 6pm").await.state);
    let done = stage.send("Move all guitar to 4pm").await.state;
    check_done(&done);
    let proposed = done.proposed_event.as_ref().unwrap();
    let snapshot = stage.snapshot().await;
    let days = span("2026-01-15T00:00:00-05:00", "2026-01-23T00:00:00-05:00");
    let mut all: Vec<String> = snapshot.events.keys().flat_map(|id| starts(&snapshot, id, &days)).collect();
    all.sort_unstable();
    assert_eq!(all, ["2026-01-15T18:00:00-05:00", "2026-01-22T16:00:00-05:00"]);
    assert_eq!(proposed.start_time.to_string(), "2026-01-22T16:00:00-05:00");
}

/// R-FAM-98: a participant added to all occurrences joins the series, whose times do not change.
#[tokio::test]
async fn adding_a_participant_to_a_series_moves_nothing() {
    let stage = Stage::new(vec![piano()]).await;
    check_done(&stage.send("Add Dad to all piano lessons").await.state);
    let snapshot = stage.snapshot().await;
    let series = &snapshot.events["piano"];
    let people: Vec<&str> = series.participants.iter().map(|one| one.member.as_str()).collect();
    assert_eq!(people, ["emma", "dad"]);
    assert_eq!((series.span, &series.recurrence), (piano().span, &piano().recurrence));
}

/// R-FAM-98, R-FAM-96: a split-off tail keeps the remaining count and days, without cancelled occurrences.
#[tokio::test]
async fn following_occurrences_keep_their_rule() {
    let mut series = piano();
    series.recurrence.as_mut().unwrap().exdates.push("2026-01-27T17:00:00".parse().unwrap());
    let stage = Stage::new(vec![series]).await;
    check_done(&stage.send("Move piano and all following to Wednesday at 6pm").await.state);
    let snapshot = stage.snapshot().await;
    let year = span("2025-11-01T00:00:00-04:00", "2026-11-01T00:00:00-04:00");
    let rest = snapshot.events.keys().find(|id| *id != "piano").unwrap();
    assert_eq!(starts(&snapshot, "piano", &year).len(), 5);
    // There were six Tuesdays before, one of them excluded; of the other fourteen one was cancelled.
    let following = starts(&snapshot, rest, &year);
    assert_eq!((following.len(), following[0].as_str()), (13, "2026-01-14T18:00:00-05:00"));
    assert_eq!(following[1..3], ["2026-01-21T18:00:00-05:00", "2026-02-04T18:00:00-05:00"]);
    assert_eq!(rule(&snapshot.events[rest]).rule, "FREQ=WEEKLY;COUNT=14;BYDAY=WE");
}

/// R-FAM-127, R-FAM-98: choosing a series from a list means its next occurrence, not all and not the first ever.
#[tokio::test]
async fn a_picked_series_means_its_next_occurrence() {
    let recital = event("recital", "Piano", ("2026-01-17T10:00:00-05:00", "2026-01-17T11:00:00-05:00"));
    let stage = Stage::new(vec![piano(), recital.clone()]).await;
    let waits = stage.send("Cancel piano").await;
    let details = waits.interrupts()[0].value["choices"].as_array().unwrap().iter().map(|one| &one["detail"]);
    let expected = ["Tuesday 13 January, 5:00 pm to 6:00 pm", "Saturday 17 January, 10:00 am to 11:00 am"];
    assert_eq!(details.collect::<Vec<_>>(), expected);
    check_done(&stage.answer(json!({ "fields": { "event_id": "piano" } })).await.state);
    let snapshot = stage.snapshot().await;
    let expected = ["2025-12-23T17:00:00", "2026-01-13T17:00:00"].map(|text| text.parse().unwrap());
    assert_eq!((snapshot.events.len(), rule(&snapshot.events["piano"]).exdates.as_slice()), (2, &expected[..]));

    let stage = Stage::new(vec![piano(), recital.clone()]).await;
    stage.send("Move piano to 6pm").await;
    check_done(&stage.answer(json!({ "fields": { "event_id": "piano" } })).await.state);
    let snapshot = stage.snapshot().await;
    assert_eq!((&*snapshot.events["piano"], &*snapshot.events["recital"]), (&piano(), &recital));
    let moved = snapshot.overrides_of("piano").next().unwrap();
    assert_eq!(moved.span, span("2026-01-13T18:00:00-05:00", "2026-01-13T19:00:00-05:00"));
}

/// R-FAM-98, R-FAM-83, R-FAM-102: "all" of a week means neither the series nor one occurrence: a question comes
/// first.
#[tokio::test]
async fn all_of_some_days_triggers_a_question() {
    let rows = [
        ("Cancel all piano lessons next week", "Only the one on Tuesday 13 January, or all of them?"),
        ("Cancel all piano lessons in March", "Only the one on Tuesday 3 March, or all of them?"),
        ("Move all piano lessons next week to 6pm", "Only the one on Tuesday 13 January, or all of them?"),
    ];
    for (words, question) in rows {
        let stage = Stage::new(vec![piano()]).await;
        let waits = stage.send(words).await;
        assert_eq!(waits.state.workflow_status, WorkflowStatus::AwaitingUser, "{words}");
        assert_eq!(waits.interrupts()[0].value["question"], question, "{words}");
        assert_eq!(*stage.snapshot().await.events["piano"], piano(), "{words}");
        check_done(&stage.answer(json!({ "text": "Cancel all piano lessons" })).await.state);
        assert!(stage.snapshot().await.events.is_empty(), "{words}");
    }
}

/// R-FAM-83, R-FAM-92: the confirmation of a cancellation says whether it covers the complete series.
#[tokio::test]
async fn a_cancellation_question_names_its_scope() {
    let rows = [
        ("Cancel all piano lessons", "Shall I cancel all of “Piano”?"),
        ("Cancel piano on Tuesday", "Shall I cancel “Piano” on Tuesday 13 January, 5:00 pm to 6:00 pm?"),
    ];
    for (words, question) in rows {
        let stage = Stage::new(vec![piano()]).await;
        ask_always(&stage).await;
        assert_eq!(stage.send(words).await.interrupts()[0].value["question"], question, "{words}");
    }
}

/// R-FAM-98, R-FAM-86: the time in the form selects the lesson to cancel; without a match nothing is cancelled.
#[tokio::test]
async fn the_lesson_of_the_form_is_cancelled() {
    let stage = Stage::new(vec![piano()]).await;
    let at = |start: &str| json!({ "fields": { "start_time": start } });
    let waits = stage.send("Cancel piano on Wednesday").await;
    assert_eq!(waits.state.workflow_status, WorkflowStatus::AwaitingUser);
    let waits = stage.answer(at("2026-01-21T17:00:00")).await;
    let expected = "There is no “Piano” on Wednesday 21 January, 5:00 pm. Please give another time.";
    assert_eq!(waits.interrupts()[0].value["question"], expected);
    assert_eq!(*stage.snapshot().await.events["piano"], piano());
    check_done(&stage.answer(at("2026-01-20T17:00:00")).await.state);
    let expected = ["2025-12-23T17:00:00", "2026-01-20T17:00:00"].map(|text| text.parse().unwrap());
    assert_eq!(rule(&stage.snapshot().await.events["piano"]).exdates, expected);
}

/// R-FAM-96, R-FAM-86: if the time in the form is not on a day of the series, the series starts on the next matching
/// day.
#[tokio::test]
async fn a_series_starts_on_one_of_its_days() {
    let stage = Stage::new(Vec::new()).await;
    assert!(!stage.send("Schedule piano for Zoe every Tuesday").await.interrupts().is_empty());
    let done = stage.answer(json!({ "fields": { "ignore": ["Zoe"], "start_time": "2026-01-14T17:00:00" } })).await;
    check_done(&done.state);
    let message = done.state.messages.last().unwrap().text().into_owned();
    assert!(message.contains("first on Tuesday 20 January, 5:00 pm to 6:00 pm"), "{message}");
    let snapshot = stage.snapshot().await;
    let id = snapshot.events.keys().next().unwrap();
    let january = span("2026-01-01T00:00:00-05:00", "2026-02-01T00:00:00-05:00");
    assert_eq!(starts(&snapshot, id, &january), ["2026-01-20T17:00:00-05:00", "2026-01-27T17:00:00-05:00"]);
}

/// R-FAM-91: if the reference occurrence of a shift no longer exists, nothing is moved.
#[tokio::test]
async fn a_series_moved_by_another_member_is_not_moved_twice() {
    let stage = Stage::new(vec![piano()]).await;
    ask_always(&stage).await;
    assert!(!stage.send("Move all piano lessons to 6pm").await.interrupts().is_empty());
    let later = |snapshot: &CalendarSnapshot| {
        let first = span("2025-12-02T17:30:00-05:00", "2025-12-02T18:30:00-05:00");
        Ok(vec![CalendarChange::Event(Box::new(Event { span: first, ..(*snapshot.events["piano"]).clone() }))])
    };
    stage.context.store.change(&stage.context.family_id, "dad", "edit", later).await.unwrap();
    let done = stage.answer(json!({ "confirm": true })).await;
    assert_eq!(done.state.workflow_status, WorkflowStatus::Failed);
    assert_eq!(stage.snapshot().await.events["piano"].span.start, time("2025-12-02T17:30:00-05:00"));
}
