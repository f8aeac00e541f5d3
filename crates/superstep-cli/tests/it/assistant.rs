//! Tests of the assistant at the command line with own data, configured by a file.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::support::Folder;

const POLICY: &str = "[roles.clerk]\ntools = ['bq_query', 'list_tables', 'search_docs', 'fetch_url', 'library_*']\n";

/// Creates a folder with the files of an assistant in `own`; `extra_config` is appended to its configuration file.
fn folder_with_assistant(name: &str, extra_config: &str) -> Folder {
    let folder = Folder::new(name);
    for subfolder in ["own/tables", "own/handbook"] {
        std::fs::create_dir_all(folder.path().join(subfolder)).unwrap();
    }
    let files = [
        ("own/tables/orders.csv", "id,city,amount\n1,Rome,10\n2,Oslo,32\n3,Oslo,8\n"),
        ("own/handbook/returns.md", "# Returns\n\nA parcel may come back within 30 days.\n"),
        ("own/policy.toml", POLICY),
        ("own/who.json", r#"{ "ana": { "name": "Ana", "role": "clerk" } }"#),
    ];
    files.iter().for_each(|(file, text)| folder.write(file, text));
    folder.write("own/assistant.toml", &format!("data = 'tables'\nprofiles = 'who.json'\n{extra_config}"));
    folder
}

const FILE_ARGS: [&str; 2] = ["--assistant", "own/assistant.toml"];

/// R-CLI-3, R-PLN-53: the demo, a run and its resumption answer from own data, configured by flag and by variable.
#[test]
fn the_assistant_answers_from_own_data() {
    let folder = folder_with_assistant("assistant-own", "");
    let args = ["demo", "assistant", "--offline", "--ask", "How many orders are there?"];
    let flag = folder.run(&[&args[..], &FILE_ARGS].concat());
    assert_eq!(flag.code, 0, "{}", flag.stderr);
    assert!(flag.stdout.contains('3') && !flag.stdout.contains("904"), "{}", flag.stdout);
    let variable = folder.command(&args).env("SUPERSTEP_ASSISTANT", FILE_ARGS[1]).output().unwrap();
    assert_eq!(String::from_utf8(variable.stdout).unwrap(), flag.stdout);
    let sample = folder.run(&args);
    assert!(sample.stdout.contains("904"), "{}", sample.stdout);
    let input = json!({ "messages": [{ "role": "user", "content": "How many orders?" }], "user_id": "ana" });
    let args = ["run", "assistant", "--thread", "t1", "--json", "--input", &input.to_string()];
    let output = &folder.run(&[&args[..], &FILE_ARGS].concat()).json()["output"];
    assert!(output["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().contains('3'));
    let record = &folder.run(&["threads", "show", "t1", "--json"]).json()["thread"];
    assert_eq!((&record["title"], &record["options"]["userId"]), (&json!("How many orders?"), &json!("ana")));
}

/// R-CLI-5a, R-PLN-57: the evaluation counts correct answers, has a row for each question, and no answer is wrong.
#[test]
fn the_evaluation_counts_correct_answers() {
    let folder = Folder::new("assistant-eval");
    let output = folder.run(&["eval", "assistant"]);
    assert_eq!(output.code, 0, "{}{}", output.stdout, output.stderr);
    assert!(output.stdout.contains(" of 60 correct, 0 wrong"), "{}", output.stdout);
    let score = folder.run(&["eval", "assistant", "--json"]).json();
    assert_eq!((&score["wrong"], score["rows"].as_array().map(Vec::len)), (&json!(0), Some(60)));
}

/// R-CLI-3, R-PLN-23: a question without words is rejected with the reason.
#[test]
fn a_question_without_words_is_rejected_with_the_reason() {
    let folder = Folder::new("assistant-empty");
    let output = folder.run(&["demo", "assistant", "--offline", "--ask", ""]);
    assert!(output.code != 0 && output.stderr.contains("the message is empty"), "{} {}", output.code, output.stderr);
}

/// Requests JSON from a server that was just started.
fn get(address: &str, path: &str) -> Value {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    serde_json::from_str(response.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// R-CLI-6a, R-PLN-54, R-PLN-55: a server offers own tables, the web and the tools of an MCP server to permitted
/// users.
#[test]
fn a_server_offers_configured_tables_web_and_mcp_tools() {
    let program = env!("CARGO_BIN_EXE_superstep");
    let library =
        format!("[[mcp_servers]]\nname = 'library'\ncommand = '{program}'\nargs = ['mcp', 'serve', 'suggestions']\n");
    let folder = folder_with_assistant("assistant-serve", &format!("[web]\nhosts = ['example.org']\n{library}"));
    let mut child = folder.command(&[&["serve", "--port", "0"][..], &FILE_ARGS].concat()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let settings = url.trim().strip_prefix("http://").map(|address| get(address, "/api/assistant/settings?userId=ana"));
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    let settings = settings.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let names = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&settings["data"]["tables"]), ["orders"]);
    let tools = names(&settings["tools"]);
    for tool in ["bq_query", "search_docs", "fetch_url", "library_search_docs"] {
        assert!(tools.iter().any(|name| name == tool), "{tool} of {tools:?}");
    }
    assert!(!tools.iter().any(|name| name == "calculate"), "a tool that the policy does not name is offered");
}

/// R-CLI-10, R-CLI-17: errors in the file name its key; with `--offline` the file must not name anything on the
/// network.
#[test]
fn an_invalid_configuration_file_is_reported() {
    let folder = folder_with_assistant("assistant-wrong", "");
    let rows = [
        ("dta = 'tables'\n", 78, "line 1, `dta`: unknown field"),
        ("profiles = 'who.json'\ndata = 'nowhere'\n", 78, "data  `own/nowhere` not found"),
        ("profiles = 'who.json'\ndata = 7\n", 78, "line 2, `data`: expected"),
        (
            "profiles = 'who.json'\ndata = 'tables'\n[web]\nhosts = ['example.org']\n",
            77,
            "`web` of `own/assistant.toml`",
        ),
        (
            "profiles = 'who.json'\ndata = 'tables'\n[[mcp_servers]]\nname = 'library'\ncommand = './no-such-program'\n",
            69,
            "MCP server `library` of `mcp_servers`",
        ),
    ];
    for (text, code, expected) in rows {
        folder.write("own/assistant.toml", text);
        let output = folder.run(&[&["demo", "assistant", "--offline"][..], &FILE_ARGS].concat());
        assert!(output.code == code && output.stderr.contains(expected), "{text}: {} {}", output.code, output.stderr);
    }
    let missing = folder.run(&["serve", "--assistant", "none.toml"]);
    assert!(missing.code == 78 && missing.stderr.contains("`none.toml`"), "{}", missing.stderr);
    // Other graphs still run, and the variable is not a setting.
    let other = folder
        .command(&["run", "titles", "--input", r#"{"text":"x"}"#])
        .env("SUPERSTEP_ASSISTANT", "none.toml")
        .output();
    assert!(other.unwrap().status.success());
}
