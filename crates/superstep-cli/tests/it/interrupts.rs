//! Tests of interrupts: a form at a terminal, exit code 10 without a terminal.

use crate::support::{Folder, normalize, silent_provider};
use crate::terminal::Terminal;

const RUN_ARGS: [&str; 6] = ["run", "review", "--thread", "ann", "--input", r#"{"draft":"Dear Ann"}"#];

/// R-CLI-12, R-CLI-16: without a terminal the command ends with 10 and prints how to answer; the answer resumes the
/// run.
#[test]
fn an_interrupt_without_a_terminal_exits_with_10_and_prints_the_resume_command() {
    let folder = Folder::new("waits");
    insta::assert_snapshot!(folder.run(&RUN_ARGS).snapshot_text(), @r"
    ---
    threads are stored in .superstep/superstep.db; set `storage.checkpointer` to change the location
     ? review    interrupted, waiting for input  [time]
     ? Send this answer?
       draft: Dear Ann
    interrupted, waiting for input · [time] · thread ann
    resume with: superstep resume ann --answer JSON
    [exit 10]
    ");
    let paused = folder.run(&["resume", "ann", "--json"]);
    assert_eq!((paused.code, &paused.json()["questions"][0]["text"]), (10, &"Send this answer?".into()));
    let invalid = folder.run(&["resume", "ann", "--answer", "maybe"]);
    assert_eq!(invalid.code, 65);
    assert!(invalid.stderr.starts_with("error[SS-019]: expected yes or no"), "{}", invalid.stderr);
    let resumed = folder.run(&["resume", "ann", "--answer", "true", "--json"]);
    assert_eq!((resumed.code, &resumed.json()["output"]["approved"]), (0, &true.into()));
    let ended = folder.run(&["resume", "ann"]);
    assert!(ended.code == 65 && ended.stderr.contains("the run has ended"), "{}", ended.stderr);
}

/// R-CLI-16: at a terminal the schema of the answer becomes a form, prompted again until the input is valid.
#[test]
fn an_interrupt_at_a_terminal_is_a_form() {
    let folder = Folder::new("form");
    let mut command = folder.command(&RUN_ARGS);
    command.env("NO_COLOR", "1");
    let mut terminal = Terminal::start(command);
    terminal.wait_for("[y/n]: ").type_text("perhaps\n").wait_for("expected yes or no").type_text("y\n");
    let (output, code) = terminal.end();
    assert_eq!(code, 0, "{output}");
    assert!(output.contains(" ? Send this answer?\n   draft: Dear Ann\n   yes or no [y/n]: "), "{output}");
    assert!(normalize(&output).ends_with("done · [time] · thread ann\n"), "{output}");
    assert!(output.contains("\"approved\": true"), "{output}");
}

/// R-CLI-13, R-CLI-16: aborting a form leaves the interrupt open.
#[test]
fn aborting_a_form_leaves_the_interrupt_open() {
    let folder = Folder::new("leave");
    let mut terminal = Terminal::start(folder.command(&RUN_ARGS));
    terminal.wait_for("[y/n]: ").type_text("\u{4}");
    let (output, code) = terminal.end();
    assert_eq!(code, 10, "{output}");
    assert!(output.contains("resume with: superstep resume ann --answer JSON"), "{output}");
}

/// R-CLI-16: `--no-input` disables prompts.
#[test]
fn no_input_disables_prompts_at_a_terminal() {
    let folder = Folder::new("no-input");
    let args = [&RUN_ARGS[..], &["--no-input"]].concat();
    let (output, code) = Terminal::start(folder.command(&args)).end();
    assert_eq!(code, 10, "{output}");
    assert!(!output.contains("[y/n]"), "{output}");
}

/// R-CLI-9a: at a terminal a running node is redrawn, and cleared when it has finished.
#[test]
fn a_slow_node_is_drawn_while_it_runs() {
    let folder = Folder::new("live");
    let (_provider, model) = silent_provider();
    folder.set_far(&model);
    let mut terminal = Terminal::start(folder.command(&["run", "talk", "--input", r#"{"text":"hi"}"#]));
    // The spinner is only visible once it has been redrawn.
    terminal.wait_for("\u{1b}[1A\u{1b}[J");
    assert!(terminal.output().contains("say"), "{}", terminal.output());
    terminal.interrupt();
    assert_eq!(terminal.end().1, 130);
}
