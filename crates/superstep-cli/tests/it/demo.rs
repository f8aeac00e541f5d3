//! Tests of the demos, against a graph file with the nodes of the application.

use crate::support::Folder;

const DEBATE: &str = r#"
name = "debate"
state.topic = { type = "string", required = true }
state.maxRounds = { type = "integer", default = 1 }
state.startTime = { type = "string" }
state.messages = { type = "messages" }
nodes.optimist = { kind = "model", model = "voices", prompt = "For: {{topic}}", messages = "messages" }
nodes.skeptic = { kind = "model", model = "voices", prompt = "Against: {{topic}}", messages = "messages" }
nodes.moderator = { kind = "model", model = "voices", prompt = "Sum up: {{topic}}", messages = "messages" }
edges = [
    { from = "START", to = "optimist" }, { from = "optimist", to = "skeptic" },
    { from = "skeptic", to = "moderator" }, { from = "moderator", to = "END" },
]
"#;

const REPLIES: &str =
    "Clear rules make room for trust: a clinic will use a tool it can answer for, and so will a school.
Who answers when the rule is older than the tool?
Trust against speed: nobody has won.
";

fn debate_folder(name: &str) -> Folder {
    let folder = Folder::empty(name);
    let settings = "graphs.debate.path = 'debate.toml'\nmodels.voices = { provider = 'scripted', model = 'voices.txt' }\nmodels.far = { provider = 'openai', model = 'gpt' }\n";
    [("superstep.toml", settings), ("debate.toml", DEBATE), ("voices.txt", REPLIES)]
        .iter()
        .for_each(|(file, text)| folder.write(file, text));
    folder
}

/// R-CLI-3: a debate as text: kind of model, rounds, agents, summary.
#[test]
fn a_debate_is_printed_by_rounds_and_agents() {
    let output = debate_folder("debate").run(&["demo", "debate", "--rounds", "1", "--topic", "Rules for AI?"]);
    insta::assert_snapshot!(output.snapshot_text(), @r"
    debate · rule-based voices, no language model · thread debate-[id]

    round 1 of 1
      optimist   Clear rules make room for trust: a clinic will use a tool it can
                 answer for, and so will a school.
      skeptic    Who answers when the rule is older than the tool?

    summary
      moderator  Trust against speed: nobody has won.

    ---
    threads are stored in .superstep/superstep.db; set `storage.checkpointer` to change the location
    done · [time] · [tokens] · thread debate-[id]
    [exit 0]
    ");
}

/// R-CLI-3, R-CLI-17: an unknown model, and a network model with `--offline`, are rejected.
#[test]
fn a_debate_is_rejected_with_an_unavailable_model() {
    let folder = debate_folder("voices");
    let unknown = folder.run(&["demo", "debate", "--model", "fra"]);
    assert!(unknown.code == 78 && unknown.stderr.contains("did you mean `far`?"), "{}", unknown.stderr);
    let offline = folder.run(&["demo", "debate", "--model", "far", "--offline"]);
    assert!(offline.code == 77 && offline.stderr.starts_with("error[SS-026]"), "{}", offline.stderr);
}

/// R-CLI-3, R-CLI-11: this binary cannot run weights; the error names the build that can, before anything is
/// created.
#[test]
fn a_debate_with_weights_needs_another_build() {
    let folder = Folder::empty("weights");
    folder.write("superstep.toml", "models.own = { provider = 'local/weights', model = 'own.gguf' }\n");
    for (name, resolved) in [("weights", "local/weights"), ("local/weights", "local/weights"), ("own", "own")] {
        let output = folder.run(&["demo", "debate", "--model", name]);
        assert_eq!((output.code, output.stdout.as_str()), (78, ""), "{}", output.stderr);
        let message =
            format!("error[SS-027]: model `{resolved}` needs local weights, which this build does not support\n");
        assert!(output.stderr.starts_with(&message), "{}", output.stderr);
        assert!(output.stderr.contains("-p superstep-weights-cli -- demo debate --model weights"), "{}", output.stderr);
    }
    assert!(!folder.path().join(".superstep").exists());
}

/// R-CLI-7: a debate as JSON Lines has events, then the result.
#[test]
fn a_debate_is_printed_as_lines_of_json() {
    let lines = debate_folder("debate-lines").run(&["demo", "debate", "--rounds", "1", "--jsonl"]).lines();
    assert_eq!(lines.last().unwrap()["status"], "finished");
    assert!(lines.iter().any(|line| line["event"] == "on_chat_model_stream"));
}

/// R-CLI-3, R-CLI-9a, R-CLI-13: at a terminal the current agent is shown with the progress of the debate; Ctrl-C
/// stops the debate and prints how to resume it.
#[cfg(unix)]
#[test]
fn a_terminal_debate_shows_the_current_agent_and_stops() {
    let folder = debate_folder("debate-live");
    let (_provider, model) = crate::support::silent_provider();
    folder.write("superstep.toml", &format!("graphs.debate.path = 'debate.toml'\nmodels.voices = {model}\n"));
    let mut terminal = crate::terminal::Terminal::start(folder.command(&["demo", "debate", "--rounds", "1"]));
    terminal.wait_for("^C stop");
    assert!(terminal.output().contains("  optimist"), "{}", terminal.output());
    assert!(terminal.output().contains("1/3 · "), "{}", terminal.output());
    terminal.interrupt();
    let (output, code) = terminal.end();
    assert_eq!(code, 130, "{output}");
    assert!(output.contains("resume with: superstep resume debate-"), "{output}");
}

/// R-CLI-3, R-CLI-16: a debate that waits for approval prompts with the question of the interrupt, field by field.
#[cfg(unix)]
#[test]
fn a_debate_that_waits_is_answered_at_the_terminal() {
    let folder = debate_folder("debate-asks");
    let approval = r#"nodes.approval = { kind = "interrupt", prompt = "Shall the debate go on?", output = "answer", resume_type = { schema = { type = "object", required = ["approved"], properties = { approved = { type = "boolean" }, note = { type = "string" } } } } }
state.answer = { type = "object" }
edges = [
    { from = "START", to = "optimist" }, { from = "optimist", to = "skeptic" }, { from = "skeptic", to = "approval" },
    { from = "approval", to = "moderator" }, { from = "moderator", to = "END" },
]
"#;
    let nodes = DEBATE.split("edges = ").next().unwrap();
    folder.write("debate.toml", &format!("{nodes}{approval}"));
    let mut terminal = crate::terminal::Terminal::start(folder.command(&["demo", "debate", "--rounds", "1"]));
    terminal.wait_for("Shall the debate go on?").wait_for("approved, yes or no [y/n]: ").type_text("y\n");
    terminal.wait_for("note, text, optional: ").type_text("\n");
    let (output, code) = terminal.end();
    assert_eq!(code, 0, "{output}");
    assert!(output.contains("moderator  Trust against speed"), "{output}");
}

/// R-CLI-3: the built-in debate needs no project, no key and no network.
#[test]
fn a_debate_needs_nothing_but_the_binary() {
    let output = Folder::empty("debate-alone").run(&["demo", "debate", "--rounds", "1", "--seed", "3", "--offline"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    for part in [
        "rule-based voices, no language model",
        "round 1 of 1",
        "  optimist   ",
        "  skeptic    ",
        "\nsummary\n  moderator  ",
    ] {
        assert!(output.stdout.contains(part), "{part}: {}", output.stdout);
    }
}

/// R-CLI-3: a debate that is run as a graph has the same title and options in lists as any other debate.
#[test]
fn a_debate_run_as_a_graph_has_the_same_annotations() {
    let folder = Folder::empty("debate-noted");
    let annotations = |thread: &str| {
        let record = &folder.run(&["threads", "show", thread, "--json"]).json()["thread"];
        (record["title"].clone(), record["options"]["maxRounds"].clone(), record["options"]["approval"].clone())
    };
    let expected = ("Remote work".into(), 1.into(), "off".into());
    let input = r#"{"topic": " Remote work ", "maxRounds": 1}"#;
    let output = folder.run(&["run", "debate", "--thread", "t1", "--input", input, "--offline"]);
    assert_eq!((output.code, annotations("t1")), (0, expected.clone()), "{}", output.stderr);
    let demo = folder.run(&["demo", "debate", "--topic", " Remote work ", "--rounds", "1", "--json", "--offline"]);
    let thread = demo.json()["thread"].as_str().unwrap().to_owned();
    assert_eq!(annotations(&thread), expected);
    // The annotations of the first run stay.
    let repeated = folder.run(&["run", "debate", "--thread", &thread, "--input", r#"{"topic": "Remote work"}"#]);
    assert_eq!((repeated.code, annotations(&thread)), (0, expected), "{}", repeated.stderr);
}
