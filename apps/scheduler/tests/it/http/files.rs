//! Calendar files over HTTP: brought along, taken away.

use serde_json::{Value, json};
use superstep_scheduler::sample;

use crate::served::{Served, served, soccer, sunday, with};

fn file(day: &str) -> String {
    let event = |uid: &str, lines: &[&str]| {
        let head = ["BEGIN:VEVENT".to_owned(), format!("UID:{uid}@example.org"), format!("DTSTAMP:{day}T000000Z")];
        let tail = lines.iter().map(|line| (*line).to_owned()).chain(["END:VEVENT".to_owned()]);
        head.into_iter().chain(tail).collect::<Vec<_>>().join("\r\n")
    };
    let market = format!("DTSTART:{day}T100000\r\nDTEND:{day}T110000");
    let good = event("market", &[&market, "SUMMARY:Flea market"]);
    let broken = event("broken", &["DTSTART:nonsense", "SUMMARY:Broken"]);
    ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//t//t//EN", &good, &broken, "END:VCALENDAR", ""].join("\r\n")
}

async fn brought(family: &Served, query: &str, file: impl Into<reqwest::Body>) -> (u16, Value) {
    let response = family.bring(query, file).await;
    let status = response.status().as_u16();
    (status, response.json().await.unwrap())
}

/// R-FAM-99, R-FAM-129: what can be read is taken, what cannot is reported with its line, and nothing is taken twice.
#[tokio::test]
async fn a_file_is_brought_along() {
    let (family, day) = (served().await, sunday(3));
    let file = file(&day.to_string().replace('-', ""));
    let (status, report) = brought(&family, "user_id=mom", file.clone()).await;
    assert_eq!((status, &report["created"], &report["updated"]), (200, &json!(1), &json!(0)), "{report}");
    let [skipped] = report["skipped"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!((&skipped["property"], &skipped["title"]), (&json!("DTSTART"), &json!("Broken")), "{skipped}");
    let line = usize::try_from(skipped["line"].as_u64().unwrap()).unwrap();
    assert_eq!(file.lines().nth(line - 1), Some("DTSTART:nonsense"));
    let (_, again) = brought(&family, "user_id=mom&calendar=family", file.clone()).await;
    assert_eq!((&again["created"], &again["unchanged"]), (&json!(0), &json!(1)), "{again}");
    assert_eq!(family.on("dad", day).await.len(), 1);
    // Of mom, so not for Emma to bring anew.
    let newer = file.replace("Flea market", "Market").replace("UID:market", "SEQUENCE:9\r\nUID:market");
    assert_eq!(brought(&family, "user_id=emma", newer).await.0, 403);
}

/// R-FAM-129: what is no calendar file, is too long or goes nowhere is refused.
#[tokio::test]
async fn a_file_that_cannot_be_brought_along() {
    let family = served().await;
    assert_eq!(brought(&family, "user_id=mom", "hello").await.0, 422);
    assert_eq!(brought(&family, "user_id=mom", "").await.0, 422);
    assert_eq!(brought(&family, "user_id=mom&calendar=work", "x").await.0, 404);
    let most = superstep_scheduler::ics::MOST_BYTES;
    assert_eq!(brought(&family, "user_id=mom", vec![b'x'; most]).await.0, 422, "this many are read");
    assert_eq!(brought(&family, "user_id=mom", vec![b'x'; most + 1]).await.0, 413);
    assert_eq!(brought(&family, "user_id=mom", vec![b'x'; most + 2]).await.0, 413);
}

/// R-FAM-99: whoever has the secret address reads the calendar, and nobody else.
#[tokio::test]
async fn the_calendar_is_taken_away() {
    let (family, day) = (served().await, sunday(3));
    family.plan("mom", &soccer(day)).await;
    let feed = family.get("/settings?user_id=emma").await.1["feed"].as_str().unwrap().to_owned();
    assert_eq!(family.get("/settings?user_id=dad").await.1["feed"], feed.as_str(), "there is one");
    let response = family.client.get(family.server.url() + &feed).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/calendar; charset=utf-8");
    let text = response.text().await.unwrap();
    assert!(text.starts_with("BEGIN:VCALENDAR\r\n") && text.contains("SUMMARY:Soccer practice"), "{text}");
    let own = family.client.get(family.url("/calendar.ics?user_id=mom")).send().await.unwrap();
    assert!(own.headers()["content-disposition"].to_str().unwrap().starts_with("attachment"));
    assert!(own.text().await.unwrap().contains("SUMMARY:Soccer practice"));
    for (query, status) in
        [("key=", 404), ("key=00000000000000000000000000000000", 404), ("", 422), ("key=1&user_id=mom", 422)]
    {
        assert_eq!(family.get(&format!("/calendar.ics?{query}")).await.0, status, "{query}");
    }
}

/// R-FAM-99: what is taken away can be brought back, and changes nothing.
#[tokio::test]
async fn what_is_taken_away_comes_back_as_it_was() {
    let family = with(sample::family()).await;
    let file = family.get("/calendar.ics?user_id=mom").await.1.as_str().unwrap().to_owned();
    let (status, report) = brought(&family, "user_id=mom", file).await;
    assert_eq!((status, &report["created"], &report["updated"]), (200, &json!(0), &json!(0)), "{report}");
    assert_eq!((&report["unchanged"], &report["skipped"]), (&json!(21), &json!([])), "{report}");
}
