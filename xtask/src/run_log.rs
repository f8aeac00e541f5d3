//! Run log of the reliability tests in `testing/reliability/ledger.json`: entries are added and never changed.

use serde_json::Value;

use crate::process;
use crate::workspace::Workspace;

/// Path of the run log, relative to the workspace root.
const RUN_LOG: &str = "testing/reliability/ledger.json";

/// The commit of an entry.
pub(crate) struct Commit {
    pub(crate) hash: String,
    pub(crate) date: String,
}

impl Commit {
    /// Returns the commit at `HEAD`.
    ///
    /// # Errors
    /// Returns an error if there are uncommitted changes: the run could not be repeated.
    pub(crate) fn current(workspace: &Workspace) -> Result<Self, String> {
        if !git(workspace, &["status", "--porcelain"])?.is_empty() {
            return Err("there are uncommitted changes: commit them first, the run log names commits".to_owned());
        }
        let hash = git(workspace, &["rev-parse", "HEAD"])?;
        Ok(Self { hash, date: git(workspace, &["show", "-s", "--format=%cI"])? })
    }
}

/// Appends entries to the run log.
///
/// # Errors
/// Returns an error if the run log cannot be read or written.
pub(crate) fn add(workspace: &Workspace, entries: Vec<Value>) -> Result<(), String> {
    let path = workspace.root().join(RUN_LOG);
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{RUN_LOG}: {error}"))?;
    std::fs::write(&path, append_entries(&text, entries)?).map_err(|error| format!("{RUN_LOG}: {error}"))?;
    println!("added to {RUN_LOG}");
    Ok(())
}

/// Returns the run log with more entries; existing entries do not change.
fn append_entries(log: &str, new_entries: Vec<Value>) -> Result<String, String> {
    let mut entries: Vec<Value> = serde_json::from_str(log).map_err(|error| format!("{RUN_LOG}: {error}"))?;
    entries.extend(new_entries);
    let lines: Vec<String> = entries.iter().map(|entry| format!("  {entry}")).collect();
    Ok(format!("[\n{}\n]\n", lines.join(",\n")))
}

fn git(workspace: &Workspace, arguments: &[&str]) -> Result<String, String> {
    let command = format!("`git {}`", arguments.join(" "));
    let output = process::output(std::process::Command::new("git").current_dir(workspace.root()).args(arguments))?;
    if !output.status.success() {
        return Err(format!("{command} ended with {}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_run_log_only_grows() {
        let first = append_entries("[]\n", vec![json!({ "tool": "sim", "seed": 1 })]).unwrap();
        let second = append_entries(&first, vec![json!({ "tool": "other" }), json!({ "tool": "third" })]).unwrap();
        let entries: Vec<Value> = serde_json::from_str(&second).unwrap();
        assert_eq!((entries.len(), &entries[0]["tool"]), (3, &json!("sim")));
        assert!(second.starts_with(first.trim_end_matches("\n]\n")));
        assert!(append_entries("nonsense", vec![]).unwrap_err().starts_with("testing/reliability/ledger.json"));
    }
}
