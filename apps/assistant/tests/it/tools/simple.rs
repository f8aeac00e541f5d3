//! Tools with few dependencies: documents, calculator, clock.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use superstep::testing::ManualClock;
use superstep_assistant::tools::{ToolSettings, tools};
use superstep_documents::Documents;

use super::{call, caller, kind, plain, shop};

/// R-PLN-54: documents are searched, and passages contain their sources.
#[tokio::test]
async fn documents_are_searched() {
    let handbook = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample/handbook");
    let documents = Some(Arc::new(Documents::open(&handbook).unwrap()));
    let tools = tools(&ToolSettings { documents, ..ToolSettings::new(shop()) }).unwrap();
    let ana = caller(&[], &[]);
    let result =
        call(&tools, "search_docs", json!({"query": "vacation days full-time", "limit": 2}), &ana).await.unwrap();
    let passages = result["passages"].as_array().unwrap();
    assert!(passages.len() <= 2);
    assert!(passages[0]["source"].as_str().unwrap().starts_with("vacation.md#"), "{result}");
    assert!(passages.iter().any(|passage| passage["text"].as_str().unwrap().contains("29")), "{result}");
    let nothing = call(&tools, "search_docs", json!({"query": "zebra"}), &ana).await.unwrap();
    assert_eq!(nothing, json!({"passages": []}));
    assert_eq!(kind(&call(&tools, "search_docs", json!({"query": " "}), &ana).await), "invalid");
}

/// R-PLN-54: the calculator returns exact results, with units, and reports rounding.
#[tokio::test]
async fn the_calculator_is_exact() {
    let ana = caller(&[], &[]);
    for (expression, expected) in [
        ("0.1 + 0.2", json!({"expression": "0.1 + 0.2", "result": "0.3"})),
        (
            "convert 12 miles to km",
            json!({"expression": "convert 12 miles to km", "result": "19.312128", "unit": "km"}),
        ),
        ("1 / 3", json!({"expression": "1 / 3", "result": "0.3333333333333333333333333333", "rounded": true})),
    ] {
        let result = call(&plain(), "calculate", json!({ "expression": expression }), &ana).await.unwrap();
        assert_eq!(result, expected);
    }
    let zero = call(&plain(), "calculate", json!({"expression": "1 / 0"}), &ana).await;
    assert_eq!(zero.unwrap_err(), "invalid: division by zero");
}

/// R-PLN-54: the clock returns UTC, and the local time of the user or of the requested time zone.
#[tokio::test]
async fn the_clock_supports_time_zones() {
    let clock = ManualClock::new();
    clock.advance(Duration::from_micros(1_782_900_000_500_000));
    let tools = tools(&ToolSettings { clock: Arc::new(clock), ..ToolSettings::new(shop()) }).unwrap();
    let ana = caller(&[], &[]);
    let user_time = call(&tools, "now", json!({}), &ana).await.unwrap();
    let expected =
        json!({"utc": "2026-07-01T10:00:00Z", "local": "2026-07-01T12:00:00+02:00", "zone": "Europe/Berlin"});
    assert_eq!(user_time, expected);
    let other = call(&tools, "now", json!({"zone": "America/New_York"}), &ana).await.unwrap();
    assert_eq!(other["local"], "2026-07-01T06:00:00-04:00");
    assert_eq!(kind(&call(&tools, "now", json!({"zone": "Mars/Base"}), &ana).await), "invalid");
}
