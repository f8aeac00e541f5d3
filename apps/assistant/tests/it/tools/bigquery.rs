//! The BigQuery client, against a fake server on localhost.

use std::sync::{Arc, Mutex};

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use superstep::settings::Secret;
use superstep::tools::SharedTool;
use superstep_assistant::tools::query::bigquery::BigQuery;
use superstep_assistant::tools::{ToolSettings, tools};
use tokio::net::TcpListener;

use super::{call, caller, kind, shop};

/// Recorded requests, and responses that replace the default ones.
#[derive(Clone, Default)]
struct Fake(Arc<Mutex<FakeState>>);

#[derive(Default)]
struct FakeState {
    requests: Vec<Value>,
    error_response: Option<(u16, Value)>,
    bytes: u64,
    is_slow: bool,
    answer: Option<Value>,
}

impl Fake {
    fn answer(&self, request: Value, headers: &HeaderMap) -> (StatusCode, Json<Value>) {
        let mut state = self.0.lock().unwrap();
        let is_dry = request["dryRun"] == json!(true);
        state.requests.push(request);
        assert_eq!(headers["authorization"], "Bearer t0ken");
        if let Some((status, body)) = &state.error_response {
            return (StatusCode::from_u16(*status).unwrap(), Json(body.clone()));
        }
        let body = match (is_dry, state.is_slow) {
            (true, _) => json!({"totalBytesProcessed": state.bytes.to_string(), "jobComplete": true}),
            (false, true) => json!({"jobComplete": false, "jobReference": {"jobId": "job_1-a", "location": "EU"}}),
            (false, false) => state.answer.clone().unwrap_or_else(rows),
        };
        (StatusCode::OK, Json(body))
    }
}

fn rows() -> Value {
    let fields = json!([
        {"name": "id", "type": "INTEGER"}, {"name": "total", "type": "NUMERIC"}, {"name": "paid", "type": "BOOLEAN"},
        {"name": "at", "type": "TIMESTAMP"}, {"name": "tags", "type": "STRING", "mode": "REPEATED"},
        {"name": "who", "type": "RECORD", "fields": [{"name": "city", "type": "STRING"}]},
    ]);
    let cells = json!([
        {"v": "7"}, {"v": "44.9"}, {"v": "true"}, {"v": "1.7E9"}, {"v": [{"v": "a"}, {"v": "b"}]},
        {"v": {"f": [{"v": null}]}},
    ]);
    json!({"jobComplete": true, "totalRows": "2", "schema": {"fields": fields}, "rows": [{"f": cells}]})
}

/// Starts a server, and returns tools that use it.
async fn served(fake: &Fake) -> Vec<SharedTool> {
    let handle_query = |State(fake): State<Fake>, headers: HeaderMap, Json(request): Json<Value>| async move {
        fake.answer(request, &headers)
    };
    let wait = |State(fake): State<Fake>, Path(job): Path<String>| async move {
        fake.0.lock().unwrap().requests.push(json!({ "job": job }));
        Json(rows())
    };
    let router = Router::new()
        .route("/bigquery/v2/projects/acme/queries", post(handle_query))
        .route("/bigquery/v2/projects/acme/queries/{job}", get(wait))
        .with_state(fake.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let bigquery = BigQuery::new("acme", vec!["sales".to_owned(), "crm".to_owned()], Secret::new("t0ken")).unwrap();
    let bigquery = Some(Arc::new(bigquery.address(address).max_bytes(1_000)));
    tools(&ToolSettings { bigquery, ..ToolSettings::new(shop()) }).unwrap()
}

/// R-PLN-53: the cost is estimated first, then the query runs, and values get their types.
#[tokio::test]
async fn the_cost_is_estimated_before_the_query() {
    let fake = Fake::default();
    let tools = served(&fake).await;
    let answer = call(&tools, "bq_query", json!({"sql": "SELECT id FROM orders", "max_rows": 1}), &caller(&[], &[]))
        .await
        .unwrap();
    let row = json!([[7, 44.9, true, "2023-11-14T22:13:20Z", ["a", "b"], {"city": null}]]);
    assert_eq!((&answer["rows"], &answer["truncated"]), (&row, &json!(true)));
    let requests = std::mem::take(&mut fake.0.lock().unwrap().requests);
    assert_eq!((&requests[0]["dryRun"], requests.len()), (&json!(true), 2));
    assert_eq!(requests[1]["dryRun"], Value::Null);
    assert_eq!((&requests[1]["useLegacySql"], &requests[1]["maxResults"]), (&json!(false), &json!(1)));
    assert_eq!(requests[1]["maximumBytesBilled"], "1000");
    assert_eq!(requests[1]["defaultDataset"], json!({"projectId": "acme", "datasetId": "sales"}));

    let local =
        call(&tools, "bq_query", json!({"sql": "SELECT count(*) FROM orders", "dataset": "shop"}), &caller(&[], &[]))
            .await;
    assert_eq!(local.unwrap()["rows"], json!([[904]]));
    assert!(fake.0.lock().unwrap().requests.is_empty(), "the query runs on the local data");
    let other = call(&tools, "bq_query", json!({"sql": "SELECT 1", "dataset": "secret"}), &caller(&[], &[])).await;
    assert_eq!(kind(&other), "unknown_table");
}

/// R-PLN-53, R-PLN-69: queries that cost too much, write, or read denied columns are never run by the service.
#[tokio::test]
async fn rejected_queries_are_not_sent() {
    let fake = Fake::default();
    fake.0.lock().unwrap().bytes = 1_001;
    let tools = served(&fake).await;
    let costly = call(&tools, "bq_query", json!({"sql": "SELECT id FROM orders"}), &caller(&[], &[])).await;
    assert_eq!(kind(&costly), "refused");
    assert!(costly.unwrap_err().contains("1001 bytes"));
    assert_eq!(fake.0.lock().unwrap().requests.len(), 1, "only the cost estimate was requested");
    let ana = caller(&["salaries"], &["customers.email"]);
    for (sql, expected) in [
        ("DELETE FROM orders WHERE true", "refused"),
        ("SELECT * FROM salaries", "forbidden"),
        ("SELECT * FROM customers", "forbidden"),
        ("SELECT id FROM other.orders", "refused"),
    ] {
        assert_eq!(kind(&call(&tools, "bq_query", json!({ "sql": sql }), &ana).await), expected, "{sql}");
    }
    assert_eq!(fake.0.lock().unwrap().requests.len(), 1);
}

/// R-PLN-69, R-PLN-53: the service receives only the checked query and nothing else of the text, for the estimate
/// and for the run; it also receives the time after which the call gives up.
#[tokio::test]
async fn only_the_checked_query_is_sent() {
    let fake = Fake::default();
    let tools = served(&fake).await;
    let sam = caller(&[], &["customers.email"]);
    let sql = "SELECT 1 AS a -- \r, email FROM customers";
    call(&tools, "bq_query", json!({ "sql": sql }), &sam).await.unwrap();
    let requests = std::mem::take(&mut fake.0.lock().unwrap().requests);
    assert_eq!(requests.iter().map(|request| &request["query"]).collect::<Vec<_>>(), ["SELECT 1 AS a"; 2]);
    assert_eq!(requests[1]["jobTimeoutMs"], "9000");
}

/// R-PLN-53: a number that would lose digits stays a string, and a truncated result says so.
#[tokio::test]
async fn values_are_not_misread() {
    let fake = Fake::default();
    let tools = served(&fake).await;
    let job_response = |kind: &str, values: Vec<String>| {
        let rows: Vec<Value> = values.iter().map(|value| json!({"f": [{"v": value}]})).collect();
        json!({"jobComplete": true, "schema": {"fields": [{"name": "n", "type": kind}]}, "rows": rows})
    };
    for (kind, value, expected) in [
        ("NUMERIC", "44.9", json!(44.9)),
        ("NUMERIC", "-100", json!(-100.0)),
        ("NUMERIC", "12345678901234567890.123456789", json!("12345678901234567890.123456789")),
        ("BIGNUMERIC", "0.10000000000000000000001", json!("0.10000000000000000000001")),
        ("FLOAT", "1.0E-5", json!(0.00001)),
    ] {
        fake.0.lock().unwrap().answer = Some(job_response(kind, vec![value.to_owned()]));
        let answer = call(&tools, "bq_query", json!({"sql": "SELECT n FROM orders"}), &caller(&[], &[])).await.unwrap();
        assert_eq!(answer["rows"], json!([[expected]]), "{kind} {value}");
    }
    fake.0.lock().unwrap().answer = Some(job_response("STRING", vec!["x".repeat(1_000_000); 5]));
    let long = call(&tools, "bq_query", json!({"sql": "SELECT n FROM orders"}), &caller(&[], &[])).await;
    assert!(long.as_ref().is_err_and(|message| message.contains("too large")), "{:.200}", format!("{long:?}"));
}

/// R-PLN-53: the client waits for a slow job.
#[tokio::test]
async fn a_slow_job_is_polled_until_it_completes() {
    let fake = Fake::default();
    fake.0.lock().unwrap().is_slow = true;
    let tools = served(&fake).await;
    let answer = call(&tools, "bq_query", json!({"sql": "SELECT id FROM orders"}), &caller(&[], &[])).await.unwrap();
    assert_eq!(answer["count"], 1);
    assert_eq!(fake.0.lock().unwrap().requests[2], json!({"job": "job_1-a"}));
}

/// R-PLN-34: failures of the service are distinguished, and only transient ones are retried.
#[tokio::test]
async fn failures_are_distinguished() {
    let fake = Fake::default();
    let tools = served(&fake).await;
    let error = |reason: &str| json!({"error": {"message": "said\u{7} so", "errors": [{"reason": reason}]}});
    for (status, reason, expected, is_retryable) in [
        (400, "invalidQuery", "invalid", false),
        (401, "authError", "unavailable", false),
        (403, "accessDenied", "forbidden", false),
        (403, "rateLimitExceeded", "unavailable", true),
        (404, "notFound", "unknown_table", false),
        (429, "", "unavailable", true),
        (500, "", "unavailable", true),
        (503, "", "unavailable", true),
    ] {
        fake.0.lock().unwrap().error_response = Some((status, error(reason)));
        let Value::Object(args) = json!({"sql": "SELECT 1"}) else { unreachable!() };
        let failed = tools[0].call(caller(&[], &[]).invocation("c1", args)).await.unwrap_err();
        assert_eq!((failed.message.split(':').next().unwrap(), failed.retryable), (expected, is_retryable), "{status}");
        assert!(!failed.message.contains("t0ken") && !failed.message.contains('\u{7}'), "{failed}");
    }
}

/// R-PLN-53, R-PLN-25: a query that might read a denied column is not sent to BigQuery, whatever names the query
/// defines.
#[tokio::test]
async fn a_cte_name_does_not_reveal_a_hidden_column() {
    let fake = Fake::default();
    let tools = served(&fake).await;
    let sam = caller(&[], &["customers.email"]);
    for sql in [
        "WITH customers AS (SELECT 1 AS x) SELECT email FROM sales.customers",
        "SELECT email FROM customers WHERE EXISTS (WITH customers AS (SELECT 1 AS x) SELECT x FROM customers)",
        "WITH customers AS (SELECT email FROM customers) SELECT email FROM customers",
    ] {
        let outcome = call(&tools, "bq_query", json!({ "sql": sql }), &sam).await;
        assert_eq!(kind(&outcome), "forbidden", "{sql}: {outcome:?}");
    }
    assert!(fake.0.lock().unwrap().requests.is_empty());
}
