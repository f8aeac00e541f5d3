//! Test fixture: `superstep serve` with a family whose calendar is empty, on a free port.

use std::io::BufReader;
use std::net::TcpStream;
use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use superstep_scheduler::calendar::CalendarSnapshot;
use superstep_scheduler::store::CalendarStore;
use tokio::runtime::{Builder, Runtime};

use crate::server_process::{HttpResponse, ServerProcess};
use crate::support::Folder;

const FAMILY: &str = "smith";
const ZONE: &str = "America/New_York";

/// Creates a folder with the family of the end-to-end tests.
pub(super) fn family_folder(name: &str) -> Folder {
    let folder = Folder::empty(name);
    let family = json!({
        "family": { "id": FAMILY, "name": "The Smiths", "zone": ZONE },
        "members": [
            { "id": "mom", "name": "Mom", "role": "parent" },
            { "id": "dad", "name": "Dad", "role": "parent" },
            { "id": "emma", "name": "Emma", "role": "child" },
        ],
        "resources": [
            { "id": "car", "name": "car", "type": "vehicle", "capacity": 1 },
            { "id": "kitchen", "name": "kitchen", "type": "room", "capacity": 3 },
        ],
    });
    folder.write("family.json", &family.to_string());
    folder
}

/// The calendar in its file, read while the server runs. The resources of an event are read from its reservations.
pub(super) struct CalendarReader(Runtime, CalendarStore);

impl CalendarReader {
    /// Opens the calendar, once a server has created it.
    pub(super) fn open(folder: &Folder) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let path = folder.path().join(".superstep/scheduler.db");
        let calendars = runtime.block_on(CalendarStore::open_sqlite(path)).unwrap();
        Self(runtime, calendars)
    }

    pub(super) fn snapshot(&self) -> Arc<CalendarSnapshot> {
        self.0.block_on(self.1.snapshot(FAMILY)).unwrap()
    }

    /// Returns the revision of the calendar.
    pub(super) fn revision(&self) -> u64 {
        self.snapshot().revision
    }
}

/// Returns the date in the family's time zone, counted in days from the day on which the tests started: midnight may
/// pass while they run.
pub(super) fn days_ahead(days: i32) -> Date {
    static TODAY: LazyLock<Date> = LazyLock::new(|| Timestamp::now().to_zoned(TimeZone::get(ZONE).unwrap()).date());
    TODAY.checked_add(jiff::Span::new().days(days)).unwrap()
}

/// Returns the name of the weekday.
pub(super) fn weekday(day: Date) -> String {
    day.strftime("%A").to_string()
}

/// Formats a local time of the family as the API does.
pub(super) fn at(day: Date, hour: i8, minute: i8) -> String {
    let time = day.at(hour, minute, 0, 0).in_tz(ZONE).unwrap();
    time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// A server process with the scheduler; killed when dropped.
pub(super) struct Family(ServerProcess);

impl Family {
    /// Starts the server in a folder.
    pub(super) fn start(folder: &Folder) -> Self {
        let family = Self(ServerProcess::start(folder, &["--offline", "--family", "family.json"]));
        // After this response the calendar exists, and old proposals have been searched for.
        assert_eq!(family.get("/settings?user_id=mom").0, 200);
        family
    }

    /// Sends a request without waiting for the response.
    pub(super) fn send(&self, method: &str, path: &str, body: &str) -> BufReader<TcpStream> {
        let content_type = if path.starts_with("/import") { "text/calendar" } else { "application/json" };
        self.0.request(&format!("{method} /api/scheduler{path}"), &format!("Content-Type: {content_type}\r\n"), body)
    }

    pub(super) fn request(&self, method: &str, path: &str, body: &str) -> HttpResponse {
        HttpResponse::read(self.send(method, path, body))
    }

    pub(super) fn get(&self, path: &str) -> (u16, Value) {
        let response = self.request("GET", path, "");
        (response.status, response.json())
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let response = self.request("POST", path, &body.to_string());
        (response.status, response.json())
    }

    /// Sends a text request, which must be accepted.
    pub(super) fn send_text(&self, user: &str, text: &str) -> Value {
        let (status, response) = self.post("/events", &json!({ "text": text, "user_id": user }));
        assert_eq!(status, 200, "{text}: {response}");
        response
    }

    /// Sends a text request that completes at once, and returns the event.
    pub(super) fn create_event(&self, user: &str, text: &str) -> Value {
        let response = self.send_text(user, text);
        assert_eq!(response["status"], "completed", "{text}: {response}");
        response["result"]["event"].clone()
    }

    /// Resumes the open interrupt of a conversation as mom.
    pub(super) fn resume(&self, paused: &Value, resume_value: &Value) -> (u16, Value) {
        let path = format!("/threads/{}/answer", paused["workflow_id"].as_str().unwrap());
        let question = &paused["waiting"]["question_id"];
        self.post(&path, &json!({ "user_id": "mom", "question_id": question, "answer": resume_value }))
    }

    /// Returns the state of a conversation of mom.
    pub(super) fn thread(&self, id: &str) -> (u16, Value) {
        self.get(&format!("/threads/{id}?user_id=mom"))
    }

    /// Lists the events between two days, the first included.
    pub(super) fn events_between(&self, from: Date, to: Date) -> Vec<Value> {
        let time = |day: Date| at(day, 0, 0).replace('+', "%2B");
        let (status, body) = self.get(&format!("/events?user_id=mom&from={}&to={}", time(from), time(to)));
        assert_eq!(status, 200, "{body}");
        body["events"].as_array().unwrap().clone()
    }

    /// Lists the events of a day.
    pub(super) fn events_on(&self, day: Date) -> Vec<Value> {
        self.events_between(day, day.tomorrow().unwrap())
    }
}

/// Collects the values of one key.
pub(super) fn values_of<'a>(list: &'a [Value], key: &str) -> Vec<&'a str> {
    list.iter().map(|item| item[key].as_str().unwrap_or_else(|| panic!("no {key}: {item}"))).collect()
}
