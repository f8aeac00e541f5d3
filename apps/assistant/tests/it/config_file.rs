//! Installations configured by a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::http::HeaderMap;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use superstep::models::{ScriptedModel, ScriptedReply};
use superstep_assistant::{AssistantSettings, ConfigFile};
use superstep_server::{ServerConfig, Storage};
use tokio::net::TcpListener;

use crate::support::plan;
use crate::test_server::{Folder, started};

const POLICY: &str = "[roles.clerk]\ntools = ['bq_query', 'list_tables', 'search_docs']\n";
const PROFILES: &str = r#"{ "ana": { "name": "Ana", "role": "clerk" } }"#;
const PATHS: &str = "data = 'tables'\nhandbook = 'rules'\npolicy = 'may.toml'\nprofiles = 'who.json'\n";

/// Creates a folder with everything that an installation needs, and its file.
fn folder(name: &str, file: &str) -> (Folder, PathBuf) {
    let folder = Folder::new(&format!("own-{name}"));
    for part in ["tables", "rules"] {
        fs::create_dir_all(folder.path().join(part)).unwrap();
    }
    let files = [
        ("tables/sales.csv", "id,city,amount\n1,Rome,10\n2,Oslo,32\n"),
        ("rules/returns.md", "# Returns\n\nA parcel may come back within 30 days.\n"),
        ("may.toml", POLICY),
        ("who.json", PROFILES),
        ("own.toml", file),
    ];
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let file = folder.path().join("own.toml");
    (folder, file)
}

fn variable(name: &str) -> Option<String> {
    (name == "BIGQUERY_TOKEN").then(|| "t0ken".to_owned())
}

async fn load_settings(file: &Path) -> AssistantSettings {
    ConfigFile::load(file, variable).unwrap().connect().await.unwrap()
}

/// R-PLN-53, R-PLN-54, R-PLN-25: custom tables, documents, policy and users are read from the configured paths.
#[tokio::test]
async fn paths_are_read_from_the_config_file() {
    let other_keys = "examples = ['What did Oslo buy?']\nkeep_facts = true\n";
    let (_folder, file) = folder("all", &format!("{PATHS}{other_keys}"));
    let settings = load_settings(&file).await;
    assert!(settings.remember_facts && !settings.is_sample);
    let script = ScriptedModel::new([
        plan(&[
            ("c1", "bq_query", json!({ "sql": "select sum(amount) as total from sales" }), &[]),
            ("c2", "search_docs", json!({ "query": "parcel back" }), &[]),
        ]),
        ScriptedReply::text("42 [1], and 30 days [2]."),
    ]);
    let server = started(settings, ServerConfig::new(Storage::memory()), script).await;
    let (_, response) = server.wait("How much, and how long?", json!({})).await;
    let outputs: Vec<&str> =
        response["plan"].as_array().unwrap().iter().map(|call| call["output"].as_str().unwrap_or_default()).collect();
    assert!(outputs[0].contains("[[42]]") && outputs[1].contains("30 days"), "{response}");
    let settings_json = server.json("/api/assistant/settings?userId=ana").await;
    assert_eq!((&settings_json["data"]["name"], &settings_json["documents"]), (&json!("tables"), &json!(1)));
    assert_eq!(settings_json["data"]["tables"][0]["name"], "sales");
    assert_eq!(settings_json["examples"], json!(["What did Oslo buy?"]));
    assert_eq!(settings_json["tools"].as_array().unwrap().len(), 3);
}

/// R-PLN-53: BigQuery replaces the tables, with the token that the file refers to.
#[tokio::test]
async fn bigquery_is_queried_where_the_file_names_it() {
    let received: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
    let recorder = received.clone();
    let answer = move |headers: HeaderMap, Json(request): Json<Value>| async move {
        let token = headers["authorization"].to_str().unwrap().to_owned();
        let is_dry = request["dryRun"] == true;
        recorder.lock().unwrap().push((token, request));
        Json(match is_dry {
            true => json!({ "totalBytesProcessed": "10", "jobComplete": true }),
            false => json!({
                "jobComplete": true, "totalRows": "1", "rows": [{ "f": [{ "v": "7" }] }],
                "schema": { "fields": [{ "name": "n", "type": "INTEGER" }] },
            }),
        })
    };
    let router = Router::new().route("/bigquery/v2/projects/acme/queries", post(answer));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let bigquery = format!(
        "[bigquery]\nproject = 'acme'\ndatasets = ['crm']\ntoken = 'env:BIGQUERY_TOKEN'\nmax_bytes = 100\naddress = 'http://{address}'\n"
    );
    let (_folder, file) = folder("bigquery", &format!("{PATHS}{bigquery}"));
    assert_eq!(ConfigFile::load(&file, variable).unwrap().network_keys(), ["bigquery"]);
    let script = ScriptedModel::new([
        plan(&[("c1", "bq_query", json!({ "sql": "select count(*) as n from people" }), &[])]),
        ScriptedReply::text("7 [1]."),
    ]);
    let server = started(load_settings(&file).await, ServerConfig::new(Storage::memory()), script).await;
    let (_, response) = server.wait("How many people?", json!({})).await;
    assert!(response["plan"][0]["output"].as_str().unwrap().contains("[[7]]"), "{response}");
    let received = received.lock().unwrap();
    assert!(received.len() == 2 && received.iter().all(|(token, _)| token == "Bearer t0ken"), "{received:?}");
    assert_eq!(received[1].1["maximumBytesBilled"], "100");
}

/// R-PLN-55: a server process receives the variables that the file refers to, from the environment and from files.
#[cfg(unix)]
#[tokio::test]
async fn a_program_has_the_variables_that_the_file_refers_to() {
    let program = "[[mcp_servers]]\nname = 'crm'\ncommand = 'sh'\nargs = ['-c', 'printf %s \"$KEY/$OTHER\" > \"$OUT\"']\n\
        env = { KEY = 'env:BIGQUERY_TOKEN', OTHER = 'file:other.key', OUT = 'file:out.path' }\n";
    let (folder, file) = folder("variables", &format!("{PATHS}{program}"));
    let out = folder.path().join("variables.txt");
    fs::write(folder.path().join("other.key"), "an0ther\n").unwrap();
    fs::write(folder.path().join("out.path"), out.to_str().unwrap()).unwrap();
    let result = ConfigFile::load(&file, variable).unwrap().connect().await;
    assert!(result.is_err(), "the program is not an MCP server");
    assert_eq!(fs::read_to_string(out).unwrap(), "t0ken/an0ther");
}

/// R-PLN-53, R-PLN-54, R-PLN-55: errors in a file name the key, all missing references are reported at once, and a
/// secret under a wrong key is not repeated.
#[test]
fn errors_of_a_config_file_name_their_key() {
    let server = "[[mcp_servers]]\nname = 'crm'\n";
    let rows: [(String, &[&str]); 18] = [
        ("dta = 'tables'".to_owned(), &["line 1", "`dta`", "unknown field"]),
        (format!("{PATHS}[web]\nhosts = 'example.com'\n"), &["line 6", "`web.hosts`", "expected a sequence"]),
        (format!("{PATHS}[web]\nhosts = [\n  'a',\n  7,\n]\n"), &["line 8", "`web.hosts`", "expected a string"]),
        (format!("{PATHS}[bigquery]\nproject = 'a'\n"), &["`bigquery", "missing field `datasets`"]),
        ("folder = 'nowhere'".to_owned(), &["policy", "profiles", "data", "nowhere"]),
        (format!("{PATHS}synonyms = 'none.txt'"), &["synonyms", "none.txt` not found"]),
        (
            format!("{PATHS}[bigquery]\nproject = 'a'\ndatasets = []\ntoken = 'MARKER'\n"),
            &["bigquery.datasets", "bigquery.token", "env:NAME"],
        ),
        (
            format!("{PATHS}[bigquery]\nproject = 'a'\ndatasets = ['d']\ntoken = 'env:NOT_SET'\n"),
            &["bigquery.token", "not set"],
        ),
        (format!("{PATHS}bigquery = 'MARKER'\n"), &["`bigquery`", "expected struct"]),
        (format!("{PATHS}{server}"), &["mcp_servers.0", "`command`", "`url`"]),
        (
            format!("{PATHS}{server}url = 'https://a.example'\n{server}command = 'b'\n"),
            &["mcp_servers.1.name", "another server"],
        ),
        (format!("{PATHS}[bigquery]\nprojct = 'a'\n"), &["`bigquery.projct`", "unknown field"]),
        (format!("{PATHS}[web]\nhost = []\n"), &["`web.host`", "unknown field"]),
        (format!("{PATHS}{server}comand = 'b'\n"), &["`mcp_servers.comand`", "unknown field"]),
        (
            format!("{PATHS}{server}command = 'b'\nenv = {{ KEY = 'MARKER', OTHER = 'env:NOT_SET' }}\n"),
            &["mcp_servers.0.env.KEY", "secrets are not allowed here", "servers.0.env.OTHER", "not set"],
        ),
        (
            format!("{PATHS}{server}command = 'b'\ntoken = 'env:BIGQUERY_TOKEN'\nallow = ['a']\n"),
            &["mcp_servers.0.token", "servers.0.allow", "cannot be combined with `command`"],
        ),
        (
            format!("{PATHS}{server}url = 'https://a.example'\nargs = ['MARKER']\nenv = {{ KEY = 'MARKER' }}\n"),
            &["mcp_servers.0.args", "servers.0.env", "cannot be combined with `url`"],
        ),
        (format!("{PATHS}{server}command = 'b'\nenv = {{ KEY = 7 }}\n"), &["`mcp_servers.env`", "expected a string"]),
    ];
    for (number, (text, expected)) in rows.iter().enumerate() {
        let (_folder, file) = folder(&format!("wrong-{number}"), text);
        let Err(error) = ConfigFile::load(&file, variable) else { panic!("{text}: was read") };
        let parts = error
            .diagnostics()
            .iter()
            .map(|diagnostic| format!("{} {} {:?}", diagnostic.pointer, diagnostic.message, diagnostic.help));
        let report = format!("{} {}", error.message(), parts.collect::<Vec<_>>().join("\n"));
        assert_eq!(error.code(), superstep::ErrorCode::ConfigInvalid, "{text}");
        assert!(expected.iter().all(|part| report.contains(part)), "{text}\n-> {report}");
        assert!(!report.contains("MARKER"), "{report}");
    }
}
