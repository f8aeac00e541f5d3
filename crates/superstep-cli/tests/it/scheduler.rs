//! Tests of the scheduler at the command line: demo, evaluation, own family.

use serde_json::json;

use crate::support::Folder;

mod bad_input;
mod end_to_end;
mod family;
mod races;
#[cfg(unix)]
mod server_kill;
mod store_outage;

/// R-CLI-3, R-FAM-113, R-FAM-118: the demo needs only the binary, and stores the calendar next to the threads.
#[test]
fn the_demo_answers_from_the_sample_family() {
    let folder = Folder::empty("scheduler");
    let output = folder.run(&["demo", "scheduler", "--offline"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert!(output.stdout.contains("Free: ") || output.stdout.contains("no free time in common"), "{}", output.stdout);
    assert!(folder.path().join(".superstep/scheduler.db").exists());
    let result = folder.run(&["demo", "scheduler", "--say", "Is the kitchen free tomorrow at 10am?", "--json"]).json();
    assert_eq!((&result["status"], &result["graph"]), (&json!("finished"), &json!("scheduler")), "{result}");
    assert_eq!(result["output"]["workflow_status"], "completed");
}

/// R-CLI-12, R-FAM-122, R-FAM-123: an empty request is a usage error; an unknown user is rejected with the exit code of
/// `PolicyRefused`.
#[test]
fn failed_requests_set_the_exit_code() {
    let folder = Folder::empty("scheduler-refused");
    let silent = folder.run(&["demo", "scheduler", "--say", ""]);
    assert!(silent.code == 64 && silent.stderr.contains("--say"), "{}", silent.stderr);
    for format in [&[][..], &["--json"]] {
        let unknown = folder.run(&[&["demo", "scheduler", "--user", "bob"][..], format].concat());
        assert_eq!(unknown.code, 77, "{}", unknown.stderr);
        assert!(unknown.stdout.contains("unknown family member `bob`"), "{}", unknown.stdout);
    }
}

/// R-CLI-12, R-CLI-16, R-FAM-86: a clarification ends with exit code 10, and the answer completes the request in
/// another process.
#[test]
fn a_clarification_is_answered_later() {
    let folder = Folder::empty("scheduler-asks");
    let paused = folder.run(&["demo", "scheduler", "--say", "Do the thing with grandma", "--json"]);
    assert_eq!(paused.code, 10, "{}", paused.stderr);
    let thread = paused.json()["thread"].as_str().unwrap().to_owned();
    let resume_value = r#"{"text": "dinner with grandma on 2035-01-07 at 18:00"}"#;
    let resumed = folder.run(&["resume", &thread, "--answer", resume_value, "--json"]);
    assert_eq!(
        (resumed.code, &resumed.json()["output"]["workflow_status"]),
        (0, &json!("completed")),
        "{}",
        resumed.stderr
    );
}

/// R-FAM-103: the evaluation counts the sentences that are understood, with a line for each sentence.
#[test]
fn the_check_counts_parsed_sentences() {
    let folder = Folder::empty("scheduler-eval");
    let output = folder.run(&["eval", "scheduler"]);
    assert_eq!(output.code, 0, "{}{}", output.stdout, output.stderr);
    assert!(output.stdout.contains(" of 200 understood, 0 wrong with high confidence"), "{}", output.stdout);
    assert!(output.stderr.starts_with("passed: "), "{}", output.stderr);
    let score = folder.run(&["eval", "scheduler", "--json"]).json();
    assert_eq!((&score["of"], score["rows"].as_array().unwrap().len()), (&json!(200), 200));
}

/// R-FAM-95, R-CLI-10: an own family replaces the sample; errors in its file are reported, and do not prevent other
/// graphs from running.
#[test]
fn a_custom_family_replaces_the_sample() {
    let folder = Folder::new("scheduler-own");
    let family = json!({
        "family": { "id": "berg", "name": "The Bergs", "zone": "Europe/Berlin" },
        "members": [{ "id": "ann", "name": "Ann", "role": "parent" }, { "id": "tim", "name": "Tim", "role": "child" }],
    });
    folder.write("family.json", &family.to_string());
    let family_args = ["--family", "family.json"];
    let args = ["demo", "scheduler", "--user", "ann", "--say", "When is Tim free this weekend?"];
    assert_eq!(folder.run(&[&args[..], &family_args].concat()).code, 0);
    let variable = folder.command(&args).env("SUPERSTEP_FAMILY", "family.json").output().unwrap();
    assert!(variable.status.success());
    folder.write("family.json", &family.to_string().replace("parent", "other"));
    let invalid = folder.run(&[&args[..], &family_args].concat());
    assert!(
        invalid.code == 78 && invalid.stderr.contains("`family.json`: /members has no `parent`"),
        "{}",
        invalid.stderr
    );
    let run_titles = ["run", "titles", "--input", r#"{"text":"a"}"#];
    assert_eq!(folder.run(&[&run_titles[..], &family_args].concat()).code, 0);
}

/// R-FAM-110, R-CLI-10: a model parses in addition to the rules; its failure is tolerated, and an unknown model is
/// rejected by name.
#[test]
fn a_model_parses_in_addition_to_the_rules() {
    let folder = Folder::empty("scheduler-model");
    folder.write("superstep.toml", "models.far = { provider = 'scripted', model = 'answers.txt' }\n");
    let args = ["demo", "scheduler", "--say", "When is everyone free this weekend?", "--json", "--model"];
    let run_with = |model_response: &str| {
        folder.write("answers.txt", model_response);
        folder.run(&[&args[..], &["far"]].concat())
    };
    let alone = run_with("Whenever you like!");
    assert_eq!(alone.code, 0, "{}", alone.stderr);
    let reasoning = |result: &serde_json::Value| {
        result["output"]["agent_outputs"]["nl_parser"]["reasoning"].as_str().unwrap_or_default().to_owned()
    };
    assert!(reasoning(&alone.json()).contains("language model not used"), "{}", alone.json());
    // A time range found only by the rules needs a clarification.
    let paused = run_with(r#"{"event_type": "query", "query_type": "availability", "confidence": 0.9}"#);
    assert_eq!(paused.code, 10, "{}{}", paused.stdout, paused.stderr);
    let unknown = folder.run(&[&args[..], &["fra"]].concat());
    assert!(unknown.code != 0 && unknown.stderr.contains("did you mean `far`?"), "{}", unknown.stderr);
}

/// R-FAM-130, R-FAM-89: a model with an out-of-range confidence is asked again, then the request fails with an
/// error and leaves nothing.
#[test]
fn an_invalid_model_response_fails_the_request() {
    let folder = Folder::empty("scheduler-model-unsure");
    folder.write("superstep.toml", "models.far = { provider = 'scripted', model = 'answers.txt' }\n");
    let model_response =
        json!({ "event_type": "create", "title": "Chess", "start_time": "2035-01-07T10:00", "confidence": 1.5 });
    folder.write("answers.txt", &vec![model_response.to_string(); 4].join("\n"));
    let args = ["demo", "scheduler", "--say", "Chess on 2035-01-07 at 10am", "--json", "--model", "far"];
    let failed = folder.run(&args);
    assert_eq!(failed.code, 70, "{}{}", failed.stdout, failed.stderr);
    let output = failed.json()["output"].clone();
    assert_eq!(output["workflow_status"], "failed", "{output}");
    let errors = output["errors"].as_array().unwrap();
    let is_confidence_error = |error: &serde_json::Value| {
        error["error_type"] == "TypeMismatch" && error["message"].as_str().unwrap().contains("`/confidence`")
    };
    assert!(errors.len() == 4 && errors.iter().all(is_confidence_error), "{output}");
    let calendar = folder.run(&["demo", "scheduler", "--say", "What is on 2035-01-07?", "--json"]).json();
    assert!(!calendar["output"].to_string().contains("Chess"), "{calendar}");
}
