//! Tests of the doctor's report, and of the printed settings.

use crate::support::Folder;

/// R-CLI-6a: everything is checked; the report contains variable names and never values.
#[test]
fn the_doctor_reports_without_secrets() {
    let folder = Folder::new("doctor");
    folder.set_far("{ provider = \"openai\", model = \"gpt\", api_key = \"env:MY_KEY\" }");
    let output = folder.command(&["doctor", "--set", "server.port=0"]).env("MY_KEY", "MARKER").output().unwrap();
    let (report, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{stderr}");
    assert!(!report.contains("MARKER") && !stderr.contains("MARKER"));
    let temp_dir = std::env::temp_dir();
    assert!(!report.contains(&*temp_dir.to_string_lossy()), "{report}");
    for line in [
        "good clock",
        "good store: .superstep/superstep.db, created by the first run",
        "good graph: titles",
        "good model: far (openai): key in the settings",
        "good model: small (scripted): needs no key",
    ] {
        assert!(report.contains(line), "{line}\n{report}");
    }
    assert!(report.starts_with("```text\n") && report.ends_with("```\n"));
}

/// R-CLI-6a: weights that this build cannot run are noted, without the path of their file.
#[test]
fn the_doctor_notes_unavailable_weights() {
    let folder = Folder::new("doctor-weights");
    folder.set_far("{ provider = \"local/weights\", model = \"MARKER.gguf\" }");
    let output = folder.run(&["doctor", "--set", "server.port=0"]);
    assert!(
        output.code == 0 && output.stdout.contains("note model: far (local/weights): not available"),
        "{}",
        output.stdout
    );
    assert!(!output.stdout.contains("MARKER"));
}

/// R-CLI-6a: a failed check is named and leads to exit code 1.
#[test]
fn a_failed_check_sets_exit_code_1() {
    let folder = Folder::new("sick");
    folder.write("titles.toml", "name = 3");
    let output = folder.run(&["doctor", "--json"]);
    let report = output.json();
    assert_eq!((output.code, &report["ok"]), (1, &serde_json::json!(false)));
    let broken: Vec<_> =
        report["looks"].as_array().unwrap().iter().filter(|check| check["health"] == "broken").collect();
    assert_eq!(broken.len(), 1);
    assert_eq!(broken[0]["says"], "titles: failed with SS-001");
}

/// R-CLI-6a: a report with failed checks contains no path; stderr has the full error.
#[test]
fn a_report_with_failed_checks_contains_no_path() {
    let folder = Folder::new("sick-paths");
    let directory = folder.path().to_string_lossy().into_owned();
    let settings = format!("graphs.gone.path = \"{directory}/gone.toml\"\n");
    folder.write("graphs.toml", &settings);
    let rows =
        [("graphs.toml", "broken graph: gone: failed with SS-"), ("none.toml", "broken settings: failed with SS-")];
    for (file, broken) in rows {
        let config = format!("{directory}/{file}");
        let output = folder.run(&["doctor", "--config", &config]);
        assert_eq!(output.code, 1, "{}", output.stdout);
        assert!(output.stdout.contains(broken), "{file}: {}", output.stdout);
        assert!(!output.stdout.contains(&directory), "{}", output.stdout);
        assert!(output.stderr.contains(&directory), "{}", output.stderr);
        let json = folder.run(&["doctor", "--json", "--config", &config]);
        assert!(json.code == 1 && !json.stdout.contains(&directory), "{}", json.stdout);
    }
}

/// R-CLI-6a: storage that cannot be written to is detected.
#[test]
fn the_doctor_writes_to_the_storage() {
    let folder = Folder::new("store");
    folder.write("file", "");
    let output = folder.run(&["doctor", "--set", "storage.checkpointer=sqlite:file/threads.db"]);
    assert_eq!(output.code, 1);
    assert!(output.stdout.contains("broken store: sqlite: failed with SS-029"), "{}", output.stdout);
}

/// R-CLI-6a: settings are printed with their sources; secrets are hidden.
#[test]
fn settings_are_shown_with_their_origin_and_without_secrets() {
    let folder = Folder::new("config");
    folder.set_far("{ provider = \"openai\", model = \"gpt\", api_key = \"env:MY_KEY\" }");
    let mut command = folder.command(&["config", "show", "--set", "server.port=9", "--json"]);
    let output = command.env("MY_KEY", "MARKER").output().unwrap();
    let rows: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    let row = |key: &str| rows.iter().find(|row| row["key"] == key).unwrap();
    assert_eq!(row("server.port")["from"], "flag `server.port`");
    assert_eq!(row("models.far.api_key")["value"], "***");
    assert_eq!(row("graphs.titles.path")["value"], "titles.toml");
}
