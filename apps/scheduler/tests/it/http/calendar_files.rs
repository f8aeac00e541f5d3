//! Calendar files over HTTP: import and export.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use superstep::store::{OpResult, StoreOp};
use superstep::{MemoryStore, Store};
use superstep_scheduler::calendar::{Calendar, CalendarChange, Visibility};
use superstep_scheduler::sample;
use superstep_scheduler::store::StoreLocation;
use superstep_server::{ServerConfig, Storage};
use tokio::sync::Barrier;

use crate::test_server::{TestServer, settings, soccer, start_server, start_with_family, start_with_settings, sunday};

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

async fn import(family: &TestServer, query: &str, file: impl Into<reqwest::Body>) -> (u16, Value) {
    let response = family.import_file(query, file).await;
    let status = response.status().as_u16();
    (status, response.json().await.unwrap())
}

/// R-FAM-99, R-FAM-129: readable events are imported, others are reported with their line, and nothing is imported
/// twice.
#[tokio::test]
async fn a_calendar_file_is_imported_once() {
    let (family, day) = (start_server().await, sunday(3));
    let file = file(&day.to_string().replace('-', ""));
    let (status, report) = import(&family, "user_id=mom", file.clone()).await;
    assert_eq!((status, &report["created"], &report["updated"]), (200, &json!(1), &json!(0)), "{report}");
    let [skipped] = report["skipped"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!((&skipped["property"], &skipped["title"]), (&json!("DTSTART"), &json!("Broken")), "{skipped}");
    let line = usize::try_from(skipped["line"].as_u64().unwrap()).unwrap();
    assert_eq!(file.lines().nth(line - 1), Some("DTSTART:nonsense"));
    let (_, repeated) = import(&family, "user_id=mom&calendar=family", file.clone()).await;
    assert_eq!((&repeated["created"], &repeated["unchanged"]), (&json!(0), &json!(1)), "{repeated}");
    assert_eq!(family.events_on("dad", day).await.len(), 1);
    // Emma cannot update Mom's event; the rest of Emma's file is imported.
    let newer = file.replace("Flea market", "Market").replace("UID:market", "SEQUENCE:9\r\nUID:market");
    let newer = newer.replace("DTSTART:nonsense", &format!("DTSTART:{}T150000", day.to_string().replace('-', "")));
    let (status, report) = import(&family, "user_id=emma", newer).await;
    assert_eq!((status, &report["created"], &report["updated"]), (200, &json!(1), &json!(0)), "{report}");
    assert_eq!(report["skipped"][0]["title"], "Market", "{report}");
    assert!(
        report["skipped"][0]["reason"].as_str().unwrap().contains("do not have permission to change the event"),
        "{report}"
    );
    let titles: Vec<Value> = family.events_on("dad", day).await.iter().map(|event| event["title"].clone()).collect();
    assert_eq!(titles, ["Flea market", "Broken"]);
}

/// R-FAM-99, R-FAM-120, R-FAM-129: an import does not overbook a resource, not even with its own events; member
/// conflicts are imported and reported.
#[tokio::test]
async fn a_file_books_nothing_that_is_full() {
    let (family, day) = (start_server().await, sunday(3));
    family.plan("mom", &soccer(day)).await;
    let date = day.to_string().replace('-', "");
    let event = |title: &str, hour: u8, more: &str| {
        format!(
            "BEGIN:VEVENT\r\nUID:{title}\r\nDTSTART:{date}T{hour}0000\r\nDTEND:{date}T{hour}3000\r\nSUMMARY:{title}\r\n\
             {more}\r\nEND:VEVENT\r\n"
        )
    };
    let events = [
        event("Tour", 14, "RESOURCES:car"),
        event("Lesson", 14, "ATTENDEE;CN=Emma:mailto:emma@example.org"),
        event("Zoo", 16, "RESOURCES:car"),
        event("Aquarium", 16, "RESOURCES:car"),
    ];
    let file = format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//t//t//EN\r\n{}END:VCALENDAR\r\n", events.concat());
    let (status, report) = import(&family, "user_id=emma", file.clone()).await;
    assert_eq!((status, &report["created"]), (200, &json!(2)), "{report}");
    let skipped = report["skipped"].as_array().unwrap();
    let left_out: Vec<(&str, u64)> =
        skipped.iter().map(|one| (one["title"].as_str().unwrap(), one["line"].as_u64().unwrap())).collect();
    assert_eq!(left_out, [("Tour", 4), ("Aquarium", 25)], "{report}");
    for (index, by) in [(0, "Soccer practice"), (1, "Zoo")] {
        let reason = skipped[index]["reason"].as_str().unwrap();
        assert!(reason.contains(&format!("The car is taken by “{by}”")), "{reason}");
    }
    let [conflict] = report["conflicts"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!((&conflict["type"], &conflict["participants_affected"]), (&json!("time_conflict"), &json!(["emma"])));
    // After the car is free again, the import can book it.
    family.post("/undo", json!({ "user_id": "mom" })).await;
    let (_, report) = import(&family, "user_id=emma", file).await;
    assert_eq!((&report["created"], &report["unchanged"]), (&json!(1), &json!(2)), "{report}");
    assert_eq!(report["conflicts"], json!([]), "{report}");
}

/// R-FAM-99, R-FAM-120: a transparent event whose newer version is opaque does not overbook a resource.
#[tokio::test]
async fn a_newer_file_books_nothing_that_is_full() {
    let (family, day) = (start_server().await, sunday(3));
    family.plan("mom", &soccer(day)).await;
    let date = day.to_string().replace('-', "");
    let file = |more: &str| {
        let lines =
            ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//t//t//EN", "BEGIN:VEVENT", "UID:Tour", "SUMMARY:Tour"];
        let times = format!("DTSTART:{date}T140000\r\nDTEND:{date}T143000\r\nRESOURCES:car");
        format!("{}\r\n{times}\r\n{more}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n", lines.join("\r\n"))
    };
    let (_, report) = import(&family, "user_id=emma", file("TRANSP:TRANSPARENT")).await;
    assert_eq!((&report["created"], &report["skipped"]), (&json!(1), &json!([])), "{report}");
    let (_, report) = import(&family, "user_id=emma", file("TRANSP:OPAQUE\r\nSEQUENCE:1")).await;
    assert_eq!(report["updated"], 0, "{report}");
    let reason = report["skipped"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("The car is taken by “Soccer practice”"), "{reason}");
    let (_, report) = import(&family, "user_id=emma", file("TRANSP:TRANSPARENT\r\nSEQUENCE:2")).await;
    assert_eq!((&report["updated"], &report["skipped"]), (&json!(1), &json!([])), "{report}");
}

/// R-FAM-92, R-FAM-109: an import without a target calendar never writes to another member's calendar: new events go
/// to the family calendar or the importing member's own, or are rejected.
#[tokio::test]
async fn an_import_does_not_write_to_the_calendar_of_another_member() {
    let (day, mut snapshot) = (sunday(3), sample::empty_family());
    snapshot.calendars.clear();
    let (id, name, owner) = ("dads".to_owned(), "Dad's".to_owned(), Some("dad".to_owned()));
    snapshot.apply(CalendarChange::Calendar(Calendar { id, name, owner, visibility: Visibility::Private }));
    let family = start_with_family(snapshot).await;
    let file = file(&day.to_string().replace('-', ""));
    for user in ["mom", "emma"] {
        let (status, problem) = import(&family, &format!("user_id={user}"), file.clone()).await;
        assert!(
            status == 403 && problem["detail"].as_str().unwrap().contains("neither a family calendar nor"),
            "{problem}"
        );
        let response = family.send(user, &soccer(day)).await;
        assert_eq!(
            (&response["status"], &response["errors"][0]["retryable"]),
            (&json!("failed"), &json!(false)),
            "{response}"
        );
        assert!(response["explanation"].as_str().unwrap().contains("neither a family calendar nor"), "{response}");
    }
    let (_, response) =
        family.post("/query", json!({ "text": format!("Does {day} at 2pm work for Emma?"), "user_id": "emma" })).await;
    assert_eq!(response["status"], "completed", "to ask needs no calendar: {response}");
    assert_eq!(family.events_on("dad", day).await, Vec::<Value>::new());
    assert_eq!(family.plan("dad", &soccer(day)).await["calendar"], "dads");
    assert_eq!(import(&family, "user_id=dad", file).await.1["created"], 1);
}

/// R-FAM-129: a file that is not a calendar file, is too large or has an unknown target is rejected.
#[tokio::test]
async fn an_unusable_file_is_rejected() {
    let family = start_server().await;
    assert_eq!(import(&family, "user_id=mom", "hello").await.0, 422);
    assert_eq!(import(&family, "user_id=mom", "").await.0, 422);
    assert_eq!(import(&family, "user_id=mom&calendar=work", "x").await.0, 404);
    let most = superstep_scheduler::ics::MAX_BYTES;
    assert_eq!(import(&family, "user_id=mom", vec![b'x'; most]).await.0, 422, "this many are read");
    assert_eq!(import(&family, "user_id=mom", vec![b'x'; most + 1]).await.0, 413);
    assert_eq!(import(&family, "user_id=mom", vec![b'x'; most + 2]).await.0, 413);
}

/// R-FAM-99: the calendar feed can be read only with its secret URL.
#[tokio::test]
async fn the_feed_requires_its_secret_url() {
    let (family, day) = (start_server().await, sunday(3));
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

/// R-FAM-99: importing an export changes nothing.
#[tokio::test]
async fn importing_an_export_changes_nothing() {
    let family = start_with_family(sample::family()).await;
    let file = family.get("/calendar.ics?user_id=mom").await.1.as_str().unwrap().to_owned();
    let (status, report) = import(&family, "user_id=mom", file).await;
    assert_eq!((status, &report["created"], &report["updated"]), (200, &json!(0), &json!(0)), "{report}");
    assert_eq!((&report["unchanged"], &report["skipped"]), (&json!(21), &json!([])), "{report}");
}

/// A store on which the first two lookups of the secret both find nothing.
struct Together {
    store: MemoryStore,
    both: Barrier,
    reads: AtomicU32,
}

impl Store for Together {
    async fn batch(&self, operations: Vec<StoreOp>) -> superstep::Result<Vec<OpResult>> {
        let is_feed = |labels: &[String]| labels.iter().any(|label| label == "feed");
        let is_look = operations.iter().any(|operation| match operation {
            StoreOp::Get(get) => is_feed(get.namespace.labels()),
            StoreOp::Search(search) => is_feed(search.prefix.labels()),
            _ => false,
        });
        let answers = self.store.batch(operations).await?;
        if is_look && self.reads.fetch_add(1, Ordering::Relaxed) < 2 {
            self.both.wait().await;
        }
        Ok(answers)
    }

    async fn sweep_ttl(&self) -> superstep::Result<u64> {
        self.store.sweep_ttl().await
    }
}

/// R-FAM-99: two processes that start concurrently return valid feed URLs, and finally the same one.
#[tokio::test]
async fn concurrent_processes_return_the_same_feed_url() {
    let mut stores = Storage::memory();
    let items = Together { store: MemoryStore::new(), both: Barrier::new(2), reads: AtomicU32::new(0) };
    stores.store = items.into();
    let start = || {
        start_with_settings(settings(StoreLocation::Memory, sample::empty_family()), ServerConfig::new(stores.clone()))
    };
    let (one, other) = (start().await, start().await);
    let (first, second) = tokio::join!(one.get("/settings?user_id=mom"), other.get("/settings?user_id=mom"));
    for response in [&first.1, &second.1, &one.get("/settings?user_id=mom").await.1] {
        let feed = response["feed"].as_str().unwrap();
        for server in [&one, &other] {
            let status = server.client.get(server.server.url() + feed).send().await.unwrap().status();
            assert_eq!(status, 200, "{feed}");
        }
    }
    let [one, other] = [one.get("/settings?user_id=dad").await.1, other.get("/settings?user_id=dad").await.1];
    assert_eq!(one["feed"], other["feed"]);
}
