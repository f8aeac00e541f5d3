//! Validation of posts.

use serde_json::{Value, json};
use superstep_suggestions::sources::{NewPost, SourceSettings, Sources, TimeToLive};
use superstep_suggestions::types::Mode;

fn violations_of(value: &Value) -> Vec<(String, String)> {
    let violations = NewPost::from_json(value).unwrap_err();
    violations.into_iter().map(|violation| (violation.pointer, violation.message)).collect()
}

fn pointers(value: &Value) -> Vec<String> {
    violations_of(value).into_iter().map(|(pointer, _)| pointer).collect()
}

/// R-SUG-40: a valid post is parsed, and missing fields have defaults.
#[test]
fn a_post_within_the_rules_is_read() {
    let post = NewPost::from_json(&json!({ "text": "Anyone for tea?" })).unwrap();
    assert_eq!((post.mode, post.ttl, post.tags.len()), (Mode::Question, TimeToLive::Day, 0));
    let full = json!({
        "text": "x".repeat(500), "tags": ["a", "b", "c", "d", "ä".repeat(20)], "mode": "event", "ttl": "7d",
        "authorId": "u1", "authorName": "Ann", "lat": 90, "lng": -180.0,
    });
    let post = NewPost::from_json(&full).unwrap();
    assert_eq!((post.mode, post.ttl, post.lat, post.lng), (Mode::Event, TimeToLive::Week, Some(90.0), Some(-180.0)));
    for (name, hours) in [("1h", 1), ("24h", 24), ("72h", 72), ("7d", 168)] {
        assert_eq!(TimeToLive::from_name(name).unwrap().micros(), hours * 3_600_000_000);
    }
}

/// R-SUG-40, R-SUG-50: every violation is listed with its pointer.
#[test]
fn every_broken_rule_is_listed() {
    let value = json!({
        "text": format!("One. Two. Three. Four {}", "x".repeat(500)), "tags": ["a", "A", "", 3, "x".repeat(21), "e", "f"],
        "mode": "shout", "ttl": "2h", "lat": 91, "lng": "east", "authorName": " ", "a/b~c": 1,
    });
    assert_eq!(
        pointers(&value),
        [
            "/a~1b~0c",
            "/tags/3",
            "/mode",
            "/ttl",
            "/lng",
            "/text",
            "/text",
            "/tags",
            "/tags/1",
            "/tags/2",
            "/tags/4",
            "/lat",
            "/authorName",
        ]
    );
    for (value, pointer) in [
        (json!({}), "/text"),
        (json!({ "text": " \n" }), "/text"),
        (json!({ "text": 5 }), "/text"),
        (json!({ "text": "x".repeat(501) }), "/text"),
        (json!({ "text": "One. Two. Three. Four." }), "/text"),
        (json!({ "text": "x", "tags": "tea" }), "/tags"),
        (json!({ "text": "x", "ttl": 24 }), "/ttl"),
        (json!("x"), ""),
    ] {
        assert_eq!(pointers(&value), [pointer], "{value}");
    }
    let (_, message) = &violations_of(&json!({ "text": "One. Two. Three. Four." }))[0];
    assert_eq!(message, "has 4 sentences; the maximum is 3");
}

/// R-SUG-40: periods in URLs, numbers, abbreviations and ellipses do not end sentences.
#[test]
fn addresses_and_ellipses_are_no_sentences() {
    let text = "See https://a.example/b.c.html, e.g. chapter 3.5... It is old. Who can help?";
    assert!(NewPost::from_json(&json!({ "text": text })).is_ok());
}

/// R-SUG-40, R-SUG-50: an invalid post is not created, whichever API is used.
#[tokio::test]
async fn a_post_that_breaks_rules_is_not_written() {
    let sources = Sources::open(&SourceSettings::default()).unwrap();
    let error = sources.posts().create(NewPost::new("")).await.unwrap_err();
    assert_eq!(error.code(), superstep::ErrorCode::InputInvalid);
    assert!(error.to_string().contains("/text"), "{error}");
    assert!(
        sources.posts().list(superstep_suggestions::sources::PostFilter::default()).await.unwrap().posts.is_empty()
    );
}
