//! Limits, formats, and arbitrary input.

use proptest::prelude::*;
use serde_json::{Value, json};
use superstep::core::types::FieldType;
use superstep::files::{FileFormat, GraphFile};

use super::samples::{Folder, assert_golden, path, sample};

fn text(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap()
}

fn first_problem(text: &str) -> String {
    let error = GraphFile::parse(text, FileFormat::Json).map(drop).unwrap_err();
    error.diagnostics().first().map(|problem| problem.message.clone()).unwrap_or_else(|| error.to_string())
}

fn many(nodes: usize, edges: usize) -> String {
    let set = json!({ "kind": "set", "values": { "a": 1 } });
    let names: Vec<String> = (0..nodes).map(|number| format!("n{number}")).collect();
    let mut all: Vec<Value> = vec![json!({ "from": "START", "to": names }), json!({ "from": names[0], "to": "END" })];
    all.extend(names.iter().skip(1).map(|name| json!({ "from": name, "to": "END" })));
    all.extend((all.len()..edges).map(|_| json!({ "from": "n0", "to": "n1" })));
    let nodes: serde_json::Map<String, Value> = names.into_iter().map(|name| (name, set.clone())).collect();
    json!({ "name": "many", "state": { "a": {} }, "nodes": nodes, "edges": all }).to_string()
}

/// R-FWK-96: files, prompts, nodes, edges and nesting have limits, each with its own message.
#[test]
fn limits_are_reported() {
    assert_eq!(first_problem(&" ".repeat(1024 * 1024 + 1)), "the file is longer than 1048576 bytes");
    assert_eq!(first_problem(&many(1001, 0)), "1001 nodes; the maximum is 1000");
    assert!(GraphFile::parse(&many(1000, 0), FileFormat::Json).is_ok());
    assert_eq!(first_problem(&many(2, 10_001)), "10002 edges; the maximum is 10000");
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(70), "]".repeat(70));
    assert_eq!(first_problem(&deep), "values are nested more than 64 levels deep");
    let long = json!({ "name": "t", "state": { "a": {} }, "edges": [{ "from": "START", "to": "a" }, { "from": "a", "to": "END" }],
        "nodes": { "a": { "kind": "interrupt", "prompt": "x".repeat(256 * 1024 + 1), "output": "a" } } });
    assert_eq!(first_problem(&long.to_string()), "the prompt is longer than 262144 bytes");
}

/// R-FWK-96: files on disk have the same limits, and must be text files.
#[test]
fn limits_apply_to_files_on_disk() {
    let folder = Folder::new("limits");
    let message = |path: &std::path::Path| {
        let error = GraphFile::open(path).map(drop).unwrap_err();
        error.to_string().replace(&*folder.0.to_string_lossy(), "")
    };
    let long = folder.write("long.toml", &" ".repeat(1024 * 1024 + 1));
    assert_eq!(message(&long), "error[SS-001]: failed to read graph file `/long.toml`: longer than 1048576 bytes");
    let other = folder.write("graph.yaml", "");
    assert_eq!(
        message(&other),
        "error[SS-001]: `/graph.yaml` has no file extension of a graph file\nhelp: use the extension `.toml` or `.json`"
    );
    std::fs::create_dir(folder.0.join("folder.toml")).unwrap();
    assert!(message(&folder.0.join("folder.toml")).contains("not a file"));
    std::fs::write(folder.0.join("bytes.toml"), [0xff, 0xfe]).unwrap();
    assert!(message(&folder.0.join("bytes.toml")).contains("not UTF-8"));
    assert!(message(&folder.0.join("gone.toml")).contains("No such file"));
}

/// R-FWK-96: many unknown names are reported quickly, a hundred of them in full.
#[test]
fn a_flood_of_problems_is_cut_off() {
    let invalid_edges: Vec<Value> =
        (0..5000).map(|number| json!({ "from": format!("x{number}"), "to": "y" })).collect();
    let file = json!({ "name": "t", "state": { "a": {} }, "nodes": { "a": { "kind": "set", "values": { "a": 1 } } }, "edges": invalid_edges });
    let error = GraphFile::parse(&file.to_string(), FileFormat::Json).map(drop).unwrap_err();
    assert_eq!(error.diagnostics().len(), 100);
}

/// R-FWK-96: a file full of invalid values is rejected without scanning the text once for each of them.
#[test]
fn a_file_full_of_problems_is_rejected() {
    let full = |head: &str, item: &str, tail: &str| {
        let count = (1024 * 1024 - head.len() - tail.len()) / item.len();
        format!("{head}{}{tail}", item.repeat(count).trim_end_matches(','))
    };
    let text = full("{\"interrupt_before\":[", "1,", "]}");
    let error = GraphFile::parse(&text, FileFormat::Json).map(drop).unwrap_err();
    let problems = error.diagnostics();
    assert_eq!(problems.len(), 100);
    assert_eq!((&*problems[0].pointer, &*problems[99].pointer), ("<json>:1:22", "<json>:1:220"));
    assert!(error.help().is_some_and(|help| help.starts_with("and ") && help.ends_with(" more problems")), "{error}");
    let names: String = (0..90_000).map(|number| format!("\"{number:x}\":1,")).collect();
    let error = GraphFile::parse(&full("{\"state\":{", &names, "}}"), FileFormat::Json).map(drop).unwrap_err();
    assert_eq!(error.diagnostics().len(), 100);
    let error = GraphFile::parse(&full("{", "\"x\":1,", "}"), FileFormat::Json).map(drop).unwrap_err();
    assert_eq!(error.diagnostics()[0].pointer, "<json>:1:8");
    assert_eq!(error.diagnostics()[0].message, "duplicate key `x`");
}

/// R-FWK-96: TOML tables that are nested too deep for the stack are rejected, on every thread.
#[test]
fn deep_toml_is_rejected() {
    let first =
        |text: &str| GraphFile::parse(text, FileFormat::Toml).map(drop).unwrap_err().diagnostics()[0].message.clone();
    let nested = |levels: usize| format!("{}1{}", "a = { ".repeat(levels), " }".repeat(levels));
    assert_eq!(first(&nested(64).replace("{ 1 }", "1")), "values are nested more than 64 levels deep");
    assert_ne!(first(&nested(63).replace("{ 1 }", "1")), "values are nested more than 64 levels deep");
    let keys = vec!["a"; 79].join(".");
    let deep = format!("[{keys}]\n{}{keys} = 1{}", format!("{keys} = {{ ").repeat(78), " }".repeat(78));
    assert_eq!(first(&deep), "values are nested more than 64 levels deep");
    assert!(first(&format!("{deep}\n = ")).starts_with("not TOML"));
}

/// Returns a graph that references a graph file in `nodes` nodes; without any, it sets a field.
fn leads_to(file: &str, nodes: usize) -> String {
    let names: Vec<String> = (0..nodes.max(1)).map(|number| format!("n{number}")).collect();
    let node = match nodes {
        0 => json!({ "kind": "set", "values": { "a": 1 } }),
        _ => json!({ "kind": "subgraph", "file": file }),
    };
    let nodes: serde_json::Map<String, Value> = names.iter().map(|name| (name.clone(), node.clone())).collect();
    let edges = json!([{ "from": "START", "to": names }, { "from": names, "to": "END" }]);
    json!({ "name": "t", "state": { "a": {} }, "nodes": nodes, "edges": edges }).to_string()
}

/// R-FWK-96: graph files that reference graph files are counted as often as they are named, so that loading ends.
#[test]
fn the_number_of_referenced_graph_files_is_limited() {
    let folder = Folder::new("many");
    let message = |path: &std::path::Path| {
        GraphFile::open(path).map(drop).map_err(|error| error.diagnostics()[0].message.clone())
    };
    let too_many = Err("graph files refer to more than 1000 files".to_owned());
    folder.write("7.json", &leads_to("", 0));
    for level in (0..7).rev() {
        folder.write(&format!("{level}.json"), &leads_to(&format!("{}.json", level + 1), 30));
    }
    assert_eq!(message(&folder.0.join("0.json")), too_many);
    // Thirty graphs with thirty references each are 930 files.
    let file = GraphFile::open(folder.0.join("5.json")).unwrap();
    let names: Vec<_> = file.files().iter().filter_map(|file| file.file_name()?.to_str()).collect();
    assert_eq!(names, ["5.json", "6.json", "7.json"]);
    assert!(file.build(&superstep::files::Components::new()).is_ok());
    assert_eq!(message(&folder.write("most.json", &leads_to("7.json", 1000))), Ok(()));
    assert_eq!(message(&folder.write("8.json", &leads_to("most.json", 1))), too_many);
}

/// R-FWK-96: a graph that was loaded before does not exceed the nesting limit either.
#[test]
fn the_nesting_of_graph_files_is_limited() {
    let folder = Folder::new("deep");
    folder.write("9.json", &leads_to("", 0));
    for level in (0..9).rev() {
        folder.write(&format!("{level}.json"), &leads_to(&format!("{}.json", level + 1), 1));
    }
    assert!(GraphFile::open(folder.0.join("2.json")).is_ok());
    let deep = "graph files are nested more than 8 levels deep";
    let error = GraphFile::open(folder.0.join("1.json")).map(drop).unwrap_err();
    assert_eq!(error.diagnostics()[0].message, deep);
    let both = leads_to("4.json", 2).replacen("4.json", "2.json", 1);
    assert!(GraphFile::open(folder.write("shallow.json", &both.replace("2.json", "3.json"))).is_ok());
    let error = GraphFile::open(folder.write("both.json", &both)).map(drop).unwrap_err();
    assert_eq!(error.diagnostics()[0].message, deep);
}

/// R-FWK-96: a pipe is rejected without waiting for its content.
#[cfg(unix)]
#[test]
fn a_pipe_is_rejected() {
    let folder = Folder::new("pipe");
    for name in ["pipe.json", "pipe.md"] {
        let status = std::process::Command::new("mkfifo").arg(folder.0.join(name)).status().unwrap();
        assert!(status.success());
    }
    let error = GraphFile::open(folder.0.join("pipe.json")).map(drop).unwrap_err();
    assert!(
        error.message().starts_with("failed to read graph file `")
            && error.message().ends_with("/pipe.json`: not a file"),
        "{error}"
    );
    let error = GraphFile::open(folder.write("graph.json", &leads_to("pipe.json", 1))).map(drop).unwrap_err();
    assert_eq!(error.diagnostics()[0].message, "failed to read `pipe.json`: not a file");
    let interrupt_file = leads_to("", 0).replace("\"set\"", "\"interrupt\"");
    let interrupt_file = interrupt_file.replace("\"values\":{\"a\":1}", "\"prompt_file\":\"pipe.md\",\"output\":\"a\"");
    let error = GraphFile::open(folder.write("ask.json", &interrupt_file)).map(drop).unwrap_err();
    assert_eq!(error.diagnostics()[0].message, "failed to read `pipe.md`: not a file");
}

/// R-FWK-96: TOML and JSON describe the same graph.
#[test]
fn toml_and_json_are_two_forms_of_one_graph() {
    let toml: Value = toml_value(&text("triage.toml"));
    let folder = Folder::new("forms");
    folder.write("prompts/write.md", &text("prompts/write.md"));
    // The order of nodes is the order of the text, which a table of values does not keep.
    let order = |file: &GraphFile| {
        let mut lines: Vec<String> = file.to_rust().lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let json = GraphFile::open(folder.write("triage.json", &serde_json::to_string_pretty(&toml).unwrap())).unwrap();
    assert_eq!(order(&json), order(&sample("triage.toml")));
    let small = "name = \"t\"\n[state]\na = { type = \"integer\" }\n[nodes.a]\nkind = \"set\"\nvalues = { a = 1 }\n[[edges]]\nfrom = \"START\"\nto = \"a\"\n[[edges]]\nfrom = \"a\"\nto = \"END\"\n";
    let toml = GraphFile::parse(small, FileFormat::Toml).unwrap();
    let json = GraphFile::parse(&toml_value(small).to_string(), FileFormat::Json).unwrap();
    assert_eq!(toml, json);
    assert_ne!(toml, GraphFile::parse(&small.replace("a = 1", "a = 2"), FileFormat::Toml).unwrap());
}

fn toml_value(text: &str) -> Value {
    toml::from_str(text).unwrap()
}

/// R-FWK-96: the JSON Schema for editors is the committed one, and accepts all samples.
#[test]
fn the_json_schema_is_committed_and_takes_the_samples() {
    let schema = GraphFile::json_schema();
    assert_golden("graph.schema.json", &format!("{}\n", serde_json::to_string_pretty(&schema).unwrap()));
    let schema = FieldType::schema(schema).unwrap();
    for (name, value) in [
        ("triage.toml", toml_value(&text("triage.toml"))),
        ("inner/inner.toml", toml_value(&text("inner/inner.toml"))),
        ("everything.json", serde_json::from_str(&text("everything.json")).unwrap()),
    ] {
        assert_eq!(schema.check(&value), Ok(()), "{name}");
    }
    let mut invalid = toml_value(&text("triage.toml"));
    invalid["nodes"]["sort"]["modle"] = "x".into();
    assert!(schema.check(&invalid).is_err());
}

/// R-FWK-96: the book lists every key.
#[test]
fn the_book_lists_every_key() {
    let book = std::fs::read_to_string(path("../../../../../book/src/guides/graph-files.md")).unwrap();
    let reference = GraphFile::reference();
    assert!(book.contains(&reference), "the reference at the end of the guide should be:\n\n{reference}");
}

fn assert_read_or_rejected(text: &str) {
    for format in [FileFormat::Toml, FileFormat::Json] {
        match GraphFile::parse(text, format) {
            Ok(file) => assert!(!file.to_rust().is_empty()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// R-FWK-96: any text is parsed or rejected without a panic.
    #[test]
    fn any_text_is_parsed_or_rejected(text in ".{0,200}") {
        assert_read_or_rejected(&text);
    }

    /// R-FWK-96: a file with something removed, doubled or replaced is parsed or rejected.
    #[test]
    fn a_mutated_file_is_parsed_or_rejected(
        name in prop::sample::select(vec!["triage.toml", "everything.json", "inner/inner.toml"]),
        at in 0.0..1.0f64, length in 0usize..60, put in ".{0,12}",
    ) {
        let text = text(name);
        let letters: Vec<char> = text.chars().collect();
        let start = ((letters.len() as f64) * at) as usize;
        let end = (start + length).min(letters.len());
        let mutated: String = letters[..start].iter().chain(&put.chars().collect::<Vec<_>>()).chain(&letters[end..]).collect();
        assert_read_or_rejected(&mutated);
    }

    /// R-FWK-96: text that `serde_json` accepts is parsed equally, and text that it rejects is rejected.
    #[test]
    fn json_is_read_as_serde_json_reads_it(text in r#"[\[\]{}:,"\\ \n0-9aeé.+-]{0,30}|"[^"]{0,10}"|-?[0-9]{1,20}(\.[0-9]{1,5})?(e-?[0-9]{1,3})?"#) {
        // The name of the file may be any text, so a value in its place shows how it was parsed.
        let file = format!("{{\"name\": {text}, \"x\": 1}}");
        let error = GraphFile::parse(&file, FileFormat::Json).map(drop).unwrap_err();
        let is_json = serde_json::from_str::<Value>(&file).is_ok();
        let is_rejected = error.diagnostics()[0].message.starts_with("not JSON");
        prop_assert!(is_json != is_rejected, "{file}: {error}");
    }
}
