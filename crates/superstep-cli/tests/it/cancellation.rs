//! Tests of Ctrl-C and of processes that die: runs are saved and can be resumed.

use std::io::{BufRead, BufReader};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Folder, normalize, silent_provider};

/// Replaces the model `far` by one that responds from a file.
fn use_scripted_model(folder: &Folder) {
    folder.set_far("{ provider = \"scripted\", model = \"replies.txt\" }");
}

const RUN_ARGS: [&str; 6] = ["run", "talk", "--thread", "t1", "--input", r#"{"text":"hi"}"#];

/// R-CLI-12, R-CLI-13: one Ctrl-C stops and saves the run, ends with 130 and prints the command that resumes it;
/// that command continues after the finished nodes.
#[test]
fn one_interrupt_stops_saves_and_prints_how_to_resume() {
    let folder = Folder::new("stop");
    let (provider, model) = silent_provider();
    folder.set_far(&model);
    let mut child = folder.command(&RUN_ARGS).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let progress = lines.find(|line| line.contains("note")).unwrap();
    assert_eq!(normalize(&progress), " ✓ note      text: hi, please  [time]");
    // From here on the run waits for its model.
    let connection = provider.accept().unwrap();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let remaining: Vec<String> = lines.collect();
    drop(connection);
    insta::assert_snapshot!(normalize(&remaining.join("\n")), @r"
    stopping; press Ctrl-C again to exit immediately
     - say       [time]
    stopped and saved · [time] · thread t1
    resume with: superstep resume t1
    ");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(folder.run(&["threads"]).stdout.contains("stopped"));
    use_scripted_model(&folder);
    let resumed = folder.run(&["resume", "t1", "--json"]);
    assert_eq!((resumed.code, &resumed.json()["output"]["said"]), (0, &"Foxes and dogs".into()));
    assert!(!resumed.stderr.contains("note"), "a finished node ran again: {}", resumed.stderr);
}

/// R-CLI-13: a second Ctrl-C does not wait for the run to be saved, ends with 130 and prints nothing more; the run
/// resumes from what was saved before.
#[test]
fn a_second_interrupt_exits_immediately() {
    let rows: [(&str, &[&str]); 2] = [("run-twice", &RUN_ARGS), ("demo-twice", &["demo", "debate", "--model", "far"])];
    for (name, args) in rows {
        let folder = Folder::new(name);
        let (provider, model) = silent_provider();
        folder.set_far(&model);
        let mut child = folder.command(args).spawn().unwrap();
        let _connection = provider.accept().unwrap();
        // Nothing can be saved while another connection holds the write lock.
        let other = rusqlite::Connection::open(folder.path().join(".superstep/superstep.db")).unwrap();
        other.busy_timeout(Duration::from_secs(20)).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        assert!(lines.any(|line| line == "stopping; press Ctrl-C again to exit immediately"));
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{name}");
        let remaining: Vec<String> = lines.collect();
        assert!(!remaining.iter().any(|line| line.contains("saved") || line.contains("error")), "{remaining:?}");
        other.execute_batch("ROLLBACK").unwrap();
        let listed = folder.run(&["threads"]).stdout;
        assert!(listed.contains("running"), "{listed}");
        if args == RUN_ARGS {
            use_scripted_model(&folder);
            let resumed = folder.run(&["resume", "t1", "--json"]);
            assert_eq!((resumed.code, &resumed.json()["output"]["said"]), (0, &"Foxes and dogs".into()));
        }
    }
}

/// R-CLI-4a: the thread of a killed process can be resumed.
#[test]
fn a_crashed_run_is_resumed() {
    let folder = Folder::new("died");
    let (provider, model) = silent_provider();
    folder.set_far(&model);
    let mut child = folder.command(&RUN_ARGS).spawn().unwrap();
    let connection = provider.accept().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    drop(connection);
    assert!(folder.run(&["threads"]).stdout.contains("running"));
    use_scripted_model(&folder);
    let resumed = folder.run(&["resume", "t1", "--json"]);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    assert_eq!(resumed.json()["output"]["said"], "Foxes and dogs");
}
