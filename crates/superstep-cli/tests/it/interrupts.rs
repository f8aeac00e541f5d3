//! Tests of interrupts: a form at a terminal, exit code 10 without a terminal.

use crate::support::{Folder, silent_provider, steady};
use crate::terminal::Terminal;

const RUN: [&str; 6] = ["run", "review", "--thread", "ann", "--input", r#"{"draft":"Dear Ann"}"#];

/// R-CLI-12, R-CLI-16: without a terminal the command ends with 10 and prints how to answer; the answer resumes the
/// run.
#[test]
fn a_question_without_a_terminal_ends_with_ten_and_the_command_that_answers() {
    let folder = Folder::new("waits");
    insta::assert_snapshot!(folder.run(&RUN).snapshot_text(), @r"
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
    let done = folder.run(&["resume", "ann", "--answer", "true", "--json"]);
    assert_eq!((done.code, &done.json()["output"]["approved"]), (0, &true.into()));
    let over = folder.run(&["resume", "ann"]);
    assert!(over.code == 65 && over.stderr.contains("the run has ended"), "{}", over.stderr);
}

/// R-CLI-16: at a terminal the schema of the answer becomes a form, prompted again until the input is valid.
#[test]
fn a_question_at_a_terminal_is_a_form() {
    let folder = Folder::new("form");
    let mut command = folder.command(&RUN);
    command.env("NO_COLOR", "1");
    let mut terminal = Terminal::start(command);
    terminal.until("[y/n]: ").types("perhaps\n").until("expected yes or no").types("y\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains(" ? Send this answer?\n   draft: Dear Ann\n   yes or no [y/n]: "), "{seen}");
    assert!(steady(&seen).ends_with("done · [time] · thread ann\n"), "{seen}");
    assert!(seen.contains("\"approved\": true"), "{seen}");
}

/// R-CLI-13, R-CLI-16: aborting a form leaves the interrupt open.
#[test]
fn aborting_a_form_leaves_the_interrupt_open() {
    let folder = Folder::new("leave");
    let mut terminal = Terminal::start(folder.command(&RUN));
    terminal.until("[y/n]: ").types("\u{4}");
    let (seen, code) = terminal.end();
    assert_eq!(code, 10, "{seen}");
    assert!(seen.contains("resume with: superstep resume ann --answer JSON"), "{seen}");
}

/// R-CLI-16: `--no-input` disables prompts.
#[test]
fn no_input_disables_prompts_at_a_terminal() {
    let folder = Folder::new("no-input");
    let words = [&RUN[..], &["--no-input"]].concat();
    let (seen, code) = Terminal::start(folder.command(&words)).end();
    assert_eq!(code, 10, "{seen}");
    assert!(!seen.contains("[y/n]"), "{seen}");
}

/// R-CLI-9: at a terminal a running node is redrawn, and cleared when it has finished.
#[test]
fn a_slow_node_is_drawn_while_it_runs() {
    let folder = Folder::new("live");
    let (_provider, model) = silent_provider();
    folder.set_far(&model);
    let mut terminal = Terminal::start(folder.command(&["run", "talk", "--input", r#"{"text":"hi"}"#]));
    // The spinner is only visible once it has been redrawn.
    terminal.until("\u{1b}[1A\u{1b}[J");
    assert!(terminal.seen().contains("say"), "{}", terminal.seen());
    terminal.interrupt();
    assert_eq!(terminal.end().1, 130);
}
