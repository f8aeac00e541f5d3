//! The fault tests as a program, at a small size.

use std::process::Command;

/// R-FWK-45: after a kill at any moment a thread opens with the last saved state and continues without repeating
/// finished tasks. `cargo xtask torture` runs a hundred and more kills.
#[test]
fn a_killed_run_continues_without_repeating_finished_tasks() {
    let program = env!("CARGO_BIN_EXE_superstep-torture");
    let output = Command::new(program).args(["--only", "kill", "--kills", "12", "--json"]).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    let reports: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let report = &reports[0];
    let count = |name: &str| report["counts"][name].as_u64().or_else(|| report[name].as_u64());
    assert_eq!(count("violations"), Some(0), "{report}");
    assert!(count("kills").unwrap() >= 12, "{report}");
}
